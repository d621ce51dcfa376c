"""Benchmarks of one file: used when it is named, found again by its bytes, and never run because a manifest says so."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from command_line import Call
from fathom import api
from fathom.plugins import discovery, loading
from fathom.storage.checksums import with_checksum
from fathom.suites.registry import get_task, suites, tasks
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError

GUIDE = Path(__file__).parents[1] / "docs" / "how-to" / "adding-a-task.md"
SMALL = ("--lengths", "1k,2k", "--items", "2")


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    another_process(monkeypatch)


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_IN_USE", {})
    monkeypatch.setattr(loading, "_READ", set())
    monkeypatch.setattr(discovery, "_FOUND", {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The example of the guide, with a suite and a board of its own."""
    text = re.search(r"# lost_umbrella.py\n.*?(?=```)", GUIDE.read_text("utf-8"), re.DOTALL)
    assert text is not None
    path = tmp_path / "lost_umbrella.py"
    path.write_text(
        text[0]
        + """
from fathom.types import Suite
from fathom.types.boards import Board, Category, Part

SUITES = (Suite("umbrellas", ("lost_umbrella",), (1024, 2048), "lost things", items=2),)
BOARDS = (
    Board("umbrellas", "Lost umbrellas", ("umbrellas",), "Lost things.", "mean",
          (Category("lost", "Lost", (Part(("lost_umbrella",)),)),)),
)
""",
        "utf-8",
    )
    return path


@pytest.mark.slow
def test_a_file_builds_its_suite_and_runs_and_boards_find_it_again(
    call: Call, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("build", "./lost_umbrella.py", "--out", "suite", "--quiet")[0] == 0
    manifest = open_suite(Path("suite")).manifest
    (recorded,) = manifest["plugins"]
    assert (manifest["suite"], recorded["path"]) == ("umbrellas", str(file.resolve()))
    assert manifest["inputs"]["plugins"] == [recorded["sha256"]]
    another_process(monkeypatch)
    assert "umbrellas" not in suites()
    assert call("run", "suite", "--model", "fathom/lexical", "--out", "run", "--quiet", "--yes")[0] == 0
    assert json.loads(Path("run/run.json").read_text())["suite"]["plugins"] == [recorded]
    another_process(monkeypatch)
    rows = api.rows(["run"])
    assert len(rows) == 4
    assert rows["value"].null_count() == 0
    another_process(monkeypatch)
    built = api.board_build(["run"], "site", published=False, examples=False)
    assert [(board["id"], board["title"]) for board in built.boards] == [("umbrellas", "Lost umbrellas")]
    assert built.notes == ()  # no reply is missing: without an official rule the task's own scorer counts


def test_a_manifest_alone_runs_nothing(call: Call, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(file.read_text() + "\nwith open('was-run', 'a') as log:\n    log.write('x')\n")
    api.build(str(file), "suite")
    assert Path("was-run").read_text() == "x"
    Path("home/.config/fathom/plugins.json").unlink()  # as on another computer
    another_process(monkeypatch)
    for words in (
        ("run", "suite", "--model", "fathom/lexical", "--out", "run", "--yes"),
        ("board", "check", "suite/manifest.json", "--suite", "suite"),
    ):
        code, _, err = call(*words)
        assert code == 2
        assert "never named on this computer; if you trust it, name it: fathom --plugin FILE" in err
        assert str(file) in err
    assert call("show", "suite")[0] == 0
    assert Path("was-run").read_text() == "x"
    assert call("--plugin", file, "run", "suite", "--model", "fathom/lexical", "--out", "run", "--yes")[0] == 0
    assert Path("was-run").read_text() == "xx"


def test_a_manifest_that_names_other_bytes_at_a_known_path_runs_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.build(str(file), "suite")
    manifest = json.loads(Path("suite/manifest.json").read_text())
    Path("evil.py").write_text("with open('was-run', 'w'):\n    TASKS = ()\n")
    manifest["plugins"] = [{"path": str(Path("evil.py").resolve()), "sha256": "0" * 64}, "nonsense"]
    manifest.pop("checksum", None)
    Path("suite/manifest.json").write_text(json.dumps(with_checksum(manifest)))
    another_process(monkeypatch)
    with pytest.raises(FathomError, match="never named on this computer"):
        api.run("suite", "fathom/lexical", out="run")
    assert not Path("was-run").exists()


@pytest.mark.parametrize(
    ("gone", "message"), [(True, "cannot be read .* restore it, or name it"), (False, "has changed since; .* name it")]
)
def test_a_file_that_is_gone_or_has_changed_is_named_with_what_to_do(
    file: Path, monkeypatch: pytest.MonkeyPatch, gone: bool, message: str
) -> None:
    api.build(str(file), "suite")
    api.run("suite", "fathom/lexical", out="run")
    text = file.read_text()
    file.unlink()
    if not gone:
        file.write_text(text.replace("float(found in sample.targets)", "float(False)"))
    another_process(monkeypatch)
    with pytest.raises(FathomError, match=message):
        api.rows(["run"])
    file.write_text(text.replace("float(found in sample.targets)", "float(False)"))
    api.use_plugin(file)  # as it is now, because the user says so
    assert set(api.rows(["run"])["value"]) == {0.0}


def test_the_environment_names_files(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("other.py").write_text(file.read_text().replace("umbrella", "glove"))
    monkeypatch.setenv(loading.VARIABLE, os.pathsep.join(["lost_umbrella.py", "other.py"]))
    assert {"lost_umbrella", "lost_glove"} <= {*tasks()}


def test_a_file_of_the_environment_that_is_not_there_is_told_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(loading.VARIABLE, "nowhere.py")
    for _ in range(2):
        with pytest.raises(FathomError, match=r"nowhere\.py: cannot be read"):
            tasks()


def test_an_edited_file_is_used_anew_and_its_suite_built_anew(file: Path) -> None:
    first = api.build(str(file), "suite")
    assert not api.build(str(file), "suite").fresh
    file.write_text(file.read_text().replace("COUNTERS = 50", "COUNTERS = 9"))
    second = api.build(str(file), "suite", force=True)
    assert second.fresh
    assert second.manifest["fingerprint"] != first.manifest["fingerprint"]
    assert {int(sample.targets[0]) for sample in open_suite(Path("suite")).samples()} <= {*range(1, 10)}
    assert get_task("lost_umbrella").max_output_tokens == 32


def test_a_suite_of_other_tasks_records_no_file_that_happens_to_be_in_use(file: Path) -> None:
    before = api.build("passkey", "before", lengths=[1024], items=1).manifest
    api.use_plugin(file)
    after = api.build("passkey", "after", lengths=[1024], items=1).manifest
    assert before == after


def test_a_file_without_a_suite_builds_its_tasks_and_one_with_several_asks_which(file: Path) -> None:
    text = file.read_text()
    file.write_text(text.split("from fathom.types import Suite")[0])
    assert api.build(str(file), "suite", lengths=[1024], items=1).manifest["suite"] == "lost_umbrella"
    file.write_text(text.replace("SUITES = (", "SUITES = (Suite('more', ('lost_umbrella',), (1024,), ''), "))
    with pytest.raises(FathomError, match=r"several suites; name one: fathom --plugin .* build more"):
        api.build(str(file), "several")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "declares none of TASKS, SUITES"),
        ("TASKS = 5", "TASKS must be a tuple"),
        ("TASKS = ('passkey',)", "TASKS holds a value of type str, expected Task"),
        ("x = 1\n1 / 0", "line 2: cannot be used: ZeroDivisionError"),
        ("def", "SyntaxError"),
        ("raise SystemExit(3)", "line 1: cannot be used: SystemExit"),
        ("METRICS = ()", "neither SUITES nor TASKS"),
        ("METRICS = (1,)", "METRICS holds a value of type int, expected Metric"),
        ("RUBRICS = ('x',)", "RUBRICS holds a value of type str, expected Rubric"),
        ("raise type('Other', (BaseException,), {})('no')", "line 1: cannot be used: Other: no"),
        ("from fathom.types import Task\nTask(5, print, print, '', 1, '', '')", "line 2: .*task 5: name cannot be 5"),
        ("from fathom.types import Task\nTask('a', 7, print, '', 1, '', '')", "line 2: .*task 'a': plan cannot be 7"),
        (
            "from fathom.types.boards import Board\nBoard('../evil', '', (), '', '', ())",
            "line 2: .*the id of a board is '../evil'",
        ),
    ],
)
def test_files_that_are_no_benchmark_are_refused(text: str, message: str) -> None:
    Path("bad.py").write_text(text)
    with pytest.raises(FathomError, match=message):
        api.build("bad.py", "suite")
    with pytest.raises(FathomError, match="cannot be read"):
        api.use_plugin("nowhere.py")


def test_a_file_that_was_renamed_and_changed_is_used_where_it_is_named(file: Path, call: Call) -> None:
    api.build(str(file), "suite")
    moved = file.rename(file.with_name("moved.py"))
    run = ("run", "suite", "--model", "fathom/guess", "--out", "run", "--quiet", "--yes")
    assert call("--plugin", moved, *run)[0] == 0
    moved.write_text(moved.read_text() + "# changed\n")
    assert call("--plugin", moved, "rows", "run", "--out", "rows.parquet")[0] == 0


def test_a_plugin_that_fails_later_is_named_with_its_line(file: Path, call: Call) -> None:
    file.write_text(file.read_text().replace("return", "1 / 0; return"))
    code, _, err = call("build", file, "--out", "suite", *SMALL)
    assert code == 2
    assert re.search(r"lost_umbrella.py, line \d+: ZeroDivisionError", err)


def test_a_home_that_cannot_be_written_is_no_failure(file: Path) -> None:
    Path("home").write_text("a file")
    assert api.build(str(file), "suite").fresh
