"""The command ``judge``, and ``run --judge``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fathom.cli import main
from judged_runs import Judge, install_tasks, make_run, sample


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> Judge:
    import fathom.run  # noqa: F401  # so that its modules are there to be patched

    install_tasks(monkeypatch)
    one = Judge()
    monkeypatch.setattr(sys.modules["fathom.run.cases.model"], "open_client", lambda settings, tokenizer: one)
    return one


def call(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["fathom", *map(str, words)])
    try:
        main()
    except SystemExit as end:
        return int(str(end.code or 0))
    return 0


@pytest.mark.slow
def test_judge_says_what_is_ahead_and_what_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: Judge
) -> None:
    runs = [make_run(tmp_path / name, [(sample(n), f"It is {n}.") for n in range(3)]) for name in ("a", "b")]
    words = ("judge", *runs, "--judge", "openai/gpt-4o-mini")
    assert call(monkeypatch, *words) == 2
    printed = capsys.readouterr()
    assert "3 replies to be judged by openai/gpt-4o-mini: about 3 requests" in printed.err
    assert "$0.00 to $0.00" in printed.err
    assert "give --yes in non-interactive use" in printed.err
    assert there.prompts == []
    assert call(monkeypatch, *words, "--yes") == 0
    *lines, answer, following = capsys.readouterr().out.splitlines()
    assert lines == [
        f"{run}: 3 judged, 0 unreadable, 0 missing; the judge read 300 and wrote 30 tokens, $0.0001" for run in runs
    ]
    assert answer.endswith("All 3 replies scored.")
    assert following == f"next: fathom report {runs[0]} {runs[1]}"
    out = tmp_path / "rows.csv"
    assert call(monkeypatch, "rows", runs[0], "--judge", "none", "--rule", "official", "-o", out) == 0
    assert "hundred/qa_f1" in out.read_text()
    for more in (["report", *runs, "-o", tmp_path / "page.html", "-q"], ["analyze", "counts", *runs]):
        assert call(monkeypatch, *more, "--judge", "none") == 0


@pytest.mark.slow
def test_run_judges_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, "run", "passkey", "-m", "fathom/guess", "--judge", "nobody/x", "--quiet") == 2
    assert "model 'nobody/x'" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
    build = ["--lengths", "1k", "--items", "2", "--languages", "en", "--quiet"]
    assert call(monkeypatch, "run", "passkey", "-m", "fathom/guess", "--judge", "fathom/guess", *build) == 0
    printed = capsys.readouterr()
    assert "0 judged, 0 unreadable, 0 missing" in printed.out
    assert "no task has a rubric" in printed.err
