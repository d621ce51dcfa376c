"""The commands about replies: what ``run`` passes on, what ``status`` says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fathom.cli import main
from fathom.run import RunStatus
from made import write_corpus


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["fathom", *words])
    try:
        main()
    except SystemExit as end:
        return int(str(end.code or 0))
    return 0


def test_a_suite_that_is_run_by_name_takes_the_options_of_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = str(write_corpus(tmp_path, 60))
    build = ["--corpus", corpus, "--lengths", "1k", "--items", "3", "--languages", "en", "--depths", "0,1", "--exact"]
    assert call(monkeypatch, "run", "passkey", "-m", "fathom/guess", "--quiet", *build) == 0
    (path,) = (tmp_path / "builds").glob("*/manifest.json")
    manifest = json.loads(path.read_text())
    assert (manifest["depths"], manifest["exact"], manifest["languages"]) == ([0.0, 1.0], True, ["en"])
    assert "of 6 replies" in capsys.readouterr().out
    assert call(monkeypatch, "run", str(path.parent), "-m", "fathom/guess", "--exact") == 2
    assert "--exact cannot be changed" in capsys.readouterr().err
    for words, message in [
        (["--tasks", "paskey"], "did you mean passkey?"),
        (["--lengths", "4k"], "was built at 1k"),
        (["--temperature", "nan"], "--temperature nan: expected"),
        (["--retries", "-1"], "--retries -1: expected"),
        (["--timeout", "0"], "--timeout 0: expected"),
        (["-G", "temperature=0.5"], "--generation temperature: use --temperature"),
    ]:
        assert call(monkeypatch, "run", str(path.parent), "-m", "fathom/guess", *words) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_run_folders_are_named_after_the_folder_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    build = ["--corpus", str(write_corpus(tmp_path, 60)), "--lengths", "1k", "--items", "1"]
    assert call(monkeypatch, "build", "passkey", "-o", "mine", *build, "--quiet") == 0
    run = ["run", "mine", "-m", "fathom/guess", "--quiet"]

    def place(*words: str) -> str:
        capsys.readouterr()
        assert call(monkeypatch, *words) == 0
        return capsys.readouterr().out.partition(":")[0]

    assert place(*run) == "runs/mine/fathom-guess"
    # Earlier releases named them after the suite: such a run is resumed, if it is of the same suite.
    Path("runs/mine").rename("runs/passkey")
    assert place(*run) == "runs/passkey/fathom-guess"
    assert not Path("runs/mine").exists()
    assert call(monkeypatch, "build", "passkey", "-o", "other", *build, "--seed", "1", "--quiet") == 0
    assert place("run", "other", *run[2:]) == "runs/other/fathom-guess"
    # A suite that is built for the run has no folder that its user named.
    assert place("run", "passkey", *run[2:], "-o", "x", *build) == "x"
    assert place("run", "kv_retrieval", *run[2:], *build) == "runs/kv_retrieval/fathom-guess"


@pytest.mark.parametrize(
    ("cost", "unpriced", "words"),
    [
        (None, 3, "unknown"),
        (0.5, 0, "$0.5000"),
        (0.5, 3, "$0.5000, and 3 replies of unknown price"),
        (0.0, 0, "$0.0000"),
    ],
)
def test_status_says_what_is_known_of_the_cost(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cost: float | None,
    unpriced: int,
    words: str,
) -> None:
    found = RunStatus(Path("run"), "lab/m", "tiny", 0, 3, 3, {"ok": 3}, 10, 10, cost, None, None, None, unpriced)
    monkeypatch.setattr("fathom.run.status", lambda folder: found)
    monkeypatch.setattr("fathom.rows.scorer_failures", lambda folder, seconds: ())
    assert call(monkeypatch, "status", "run") == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert ["cost", words] in [[part.strip() for part in line] for line in lines]
    assert call(monkeypatch, "status", "run", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["cost"], record["unpriced"]) == (cost, unpriced)
