"""Commands ``fathom board build`` and ``diff``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import Call
from fathom.rows import write_rows
from fathom.suites.registry import get_board
from made_results_board import made_rows

ADA = get_board("ada")

LENGTHS = (1024, 2048, 4096, 6144, 8192, 12288, 16384)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    write_rows(made_rows({"first": 1.0, "second": -1.0}, tasks=ADA.tasks, lengths=LENGTHS, items=5, suite="ada"), path)
    return path


@pytest.mark.slow
def test_a_site_is_built_and_told_of(call: Call, rows: Path) -> None:
    code, out, err = call("board", "build", rows, "--out", "site", "--board", "ada", "--no-examples", "--title", "Ours")
    assert code == 0
    assert err == (
        "note: runs are scored by the rule official, not strict as in score, rows and reports, because published "
        "entries are beside them: --rule strict scores them strictly\n"
    )
    assert "Ada-LEval" in out
    assert "site/index.html" in out
    assert '"title":"Ours"' in Path("site/data/site.js").read_text("ascii")
    assert Path("site/index.html").is_file()


def test_the_summary_is_json(call: Call, rows: Path) -> None:
    words = ("board", "build", rows, "-o", "site", "--no-published", "--no-examples", "--date", "2026-05-04", "--json")
    code, out, _ = call(*words)
    assert code == 0
    said = json.loads(out)
    assert said["built"] == "2026-05-04"
    assert [(board["id"], board["lines"], board["measured"]) for board in said["boards"]] == [("ada", 2, 2)]
    files = [path for path in Path("site").rglob("*") if path.is_file()]
    assert said["files"] == len(files)
    assert said["bytes"] == sum(path.stat().st_size for path in files)


def test_further_published_results_are_added(call: Call) -> None:
    Path("paper.csv").write_text("board,model,task,length,value,n\nada,Mine,tsort,2048,50.0,100\n", "utf-8")
    Path("paper.toml").write_text('title = "A paper"\ndate = "2026-02"\nurl = "https://example.org"\n', "utf-8")
    code, out, err = call("board", "build", "--published", "paper.csv", "--no-published", "--no-examples", "--json")
    assert (code, err) == (0, "")
    assert [board["lines"] for board in json.loads(out)["boards"]] == [1]
    assert json.loads(out)["built"] == "2026-02-01"


@pytest.mark.slow
def test_a_suite_of_ones_own_has_a_board_and_what_is_on_no_wanted_board_is_noted(
    call: Call, rows: Path, tmp_path: Path
) -> None:
    write_rows(made_rows({"m": 0.0}, suite="homemade"), tmp_path / "other.parquet")
    words = ("board", "build", rows, tmp_path / "other.parquet", "--no-published", "--no-examples", "--json")
    code, out, err = call(*words)
    assert (code, err) == (0, "")
    assert [(board["id"], board["title"]) for board in json.loads(out)["boards"]] == [
        ("ada", "Ada-LEval"),
        ("homemade", "Homemade"),
    ]
    code, out, err = call(*words, "--board", "homemade")
    assert (code, [board["id"] for board in json.loads(out)["boards"]]) == (0, ["homemade"])
    assert "suite 'ada' is on no board" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing",), "no such run folder, rows file or bundle"),
        (("--board", "adda"), "did you mean ada"),
        (("--date", "today"), "YYYY-MM-DD"),
        (("--no-published",), "no results were given, and there are no published results"),
        (("--since", "nowhere"), "expected the folder of a site"),
        (("--out", "."), "the folder has other files and no site of fathom"),
    ],
)
def test_mistakes_are_told(call: Call, rows: Path, words: tuple[str, ...], message: str) -> None:
    code, _, err = call("board", "build", *words, "--no-examples")
    assert code == 2
    assert message in err


@pytest.mark.slow
def test_changes_are_printed_and_written(call: Call, rows: Path) -> None:
    call("board", "build", "--board", "ada", "--no-examples", "--out", "old")
    call("board", "build", rows, "--board", "ada", "--no-examples", "--out", "new", "--since", "old")
    code, out, _ = call("board", "diff", "old", "new", "--out", "changes.json")
    assert code == 0
    assert "new line: 2" in out
    assert "ada: new: first (measured)" in out
    written = json.loads(Path("changes.json").read_text("utf-8"))
    code, out, _ = call("board", "diff", "old", "new", "--json")
    assert json.loads(out) == written
    assert [change["line"] for change in written["changes"] if change["kind"] == "new line"] == [
        "first (measured)",
        "second (measured)",
    ]
    assert "first (measured)" in Path("new/data/site.js").read_text("ascii")
    code, out, _ = call("board", "diff", "new", "new")
    assert (code, "nothing has changed" in out) == (0, True)
