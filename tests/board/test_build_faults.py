"""What people do to ``board build`` by mistake: results twice, damaged ones, and folders that are none of ours."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import made_bundles
from command_line import Call
from fathom.board.bundles.bundling import bundle_of
from fathom.board.changes import read_snapshot
from fathom.board.published import read_published
from fathom.board.results import NAMELESS, read_results
from fathom.board.table import model_keys
from fathom.rows import to_frame, write_rows
from fathom.suites.registry import get_board
from fathom.types import FathomError
from made_results_board import made_entry, made_rows, row

ADA = get_board("ada")

LENGTHS = (1024, 2048, 4096, 6144, 8192, 12288, 16384)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    write_rows(made_rows({"first": 1.0}, tasks=ADA.tasks, lengths=LENGTHS, items=3, suite="ada"), path)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_bundles.make_run(tmp_path / "run", made_bundles.make_suite(tmp_path / "suite"))


def built(call: Call, rows: Path, out: Path | str = "site") -> tuple[int, str, str]:
    return call("board", "build", rows, "--out", out, "--no-published", "--no-examples", "--quiet")


# -------------------------------------------------------------------------------------------------- folders


def test_a_link_to_the_site_stays_one(call: Call, rows: Path, tmp_path: Path) -> None:
    (tmp_path / "www").mkdir()
    (tmp_path / "site").symlink_to("www")
    for _ in range(2):
        assert built(call, rows)[0] == 0
        assert (tmp_path / "site").is_symlink()
        assert (tmp_path / "www" / "index.html").is_file()
        assert not list(tmp_path.glob(".*.old"))


def test_nobody_loses_the_folder_that_they_are_in(call: Call, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("site").mkdir()
    monkeypatch.chdir("site")
    code, _, err = built(call, rows, ".")
    assert (code, list(Path().iterdir())) == (2, [])
    assert "this is the current folder" in err


@pytest.mark.parametrize("name", ["n" * 300, "loop"])
def test_a_folder_that_cannot_be_is_said_so(call: Call, rows: Path, name: str) -> None:
    Path("loop").symlink_to("loop")
    code, _, err = built(call, rows, name)
    assert (code, "choose another folder" in err) == (2, True)


# -------------------------------------------------------------------------------------------------- results


@pytest.mark.slow
def test_a_reply_counts_once_however_it_comes(call: Call, run: Path, tmp_path: Path) -> None:
    for name, logs in (("a.zip", "--logs"), ("b.zip", "--no-logs")):
        assert call("board", "bundle", run, "--out", name, logs)[0] == 0
    shutil.copy("a.zip", "c.zip")
    assert [result.provenance for result in read_results([Path("a.zip"), Path("b.zip"), Path("c.zip")])] == [
        "submitted"
    ]
    assert [result.provenance for result in read_results([run, Path("a.zip")])] == ["measured"]


@pytest.mark.slow
def test_other_replies_of_the_same_model_are_another_line(call: Call, run: Path, tmp_path: Path) -> None:
    some = [made_bundles.sample("passkey", number) for number in range(4)]
    other = made_bundles.make_run(tmp_path / "other", tmp_path / "suite", some[::-1])
    for folder in (run, other):
        assert call("board", "bundle", folder, "--out", f"{folder.name}.zip")[0] == 0
    assert len(list(read_results([Path("run.zip"), Path("other.zip")], "strict"))) == 2


def test_a_bundle_that_is_refused_is_named(tmp_path: Path) -> None:
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / "bad.zip").write_bytes(b"PK")
    with pytest.raises(FathomError, match=r"bundles/bad\.zip: this is not a zip archive"):
        list(read_results([tmp_path / "bundles"]))


def test_a_name_that_is_empty_gets_words(tmp_path: Path) -> None:
    write_rows(to_frame([row("find", "1", 1.0, model=" ")]), tmp_path / "rows.csv")
    (batch,) = read_results([tmp_path / "rows.csv"])
    assert batch.rows.read()["model"].to_list() == [NAMELESS]


def test_the_rows_of_one_model_are_chosen_before_others_are_changed(tmp_path: Path) -> None:
    """Otherwise all columns of a large table are decoded again for every model: 4 GB of ten million rows."""
    write_rows(to_frame([row("find", "1", 1.0, model=name) for name in ("a", "b")]), tmp_path / "rows.parquet")
    (batch,) = read_results([tmp_path / "rows.parquet"])
    steps = batch.rows.rows.filter(pl.col("model") == "a").explain()  # the last one first
    assert steps.index("WITH_COLUMNS") < steps.index("FILTER")


@pytest.mark.parametrize(
    "change",
    [
        {"generation": {"temperature": float("nan")}},
        {"model_args": {"x": float("inf")}},
        {"model": "half a \ud83d"},
        {"versions": ["one"]},
    ],
)
def test_runs_that_hold_what_json_cannot_are_refused(call: Call, run: Path, change: dict[str, Any]) -> None:
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    for words in (("build", run, "--no-examples"), ("bundle", run, "--out", "a.zip")):
        code, _, err = call("board", *words)
        assert code == 2
        assert str(path) in err


def test_settings_without_end_are_refused(call: Call, run: Path) -> None:
    (run / "run.json").write_text("[" * 100_000, "utf-8")
    assert call("board", "bundle", run, "--out", "a.zip")[0] == 2


@pytest.mark.slow
def test_an_answer_with_half_a_character_is_in_no_bundle(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made_bundles.make_run(tmp_path / "run", made_bundles.make_suite(tmp_path / "suite"), judge=False)
    made = bundle_of([run])
    broken = replace(made, settings=dict(made.settings) | {"model_args": {"x": "\ud83d"}})
    monkeypatch.setattr("fathom.board.bundles.bundling.bundle_of", lambda *_, **__: broken)
    code, _, err = call("board", "bundle", run, "--out", "a.zip")
    assert (code, "half a character" in err, os.path.lexists("a.zip")) == (2, True, False)


def test_results_without_rows_are_said_so(call: Call, tmp_path: Path) -> None:
    write_rows(to_frame([]), tmp_path / "none.csv")
    code, _, err = built(call, tmp_path / "none.csv")
    assert (code, "have no rows" in err) == (2, True)


# ------------------------------------------------------------------------------------- papers, and other sites


def test_who_submits_takes_no_key_of_a_paper() -> None:
    """Not even where the board of the submission comes first, and the names differ in signs only."""
    paper = made_entry({}, "GPT-5", origin="published")
    sent = made_entry({}, "gpt 5", origin="submitted")
    keys = model_keys({"leader-32k": [sent], "pro": [paper]})
    assert keys["GPT-5"] == "gpt-5"
    assert keys["gpt 5"].startswith("gpt-5-")


@pytest.mark.parametrize("text", ["title = " + "[" * 5000, 'title = "A"\ndate = "2026-99"'])
def test_sources_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "paper.csv").write_text("board,model,task,value\n", "utf-8")
    (tmp_path / "paper.toml").write_text(text, "utf-8")
    with pytest.raises(FathomError, match=r"paper\.toml"):
        read_published(tmp_path / "paper.csv")


@pytest.mark.parametrize("rank", ["[1]", "[1e999, 2]"])
def test_ranks_that_are_none_are_refused(call: Call, rows: Path, rank: str) -> None:
    assert built(call, rows)[0] == 0
    path = Path("site/downloads/all.json")
    whole = json.loads(path.read_text("ascii"))
    whole["boards"][0]["lines"][0]["rank"] = "RANK"
    del whole["checksum"]  # of a site that an earlier version made
    path.write_text(json.dumps(whole | {"format": 1}).replace('"RANK"', rank), "ascii")
    with pytest.raises(FathomError, match="not the downloads of a site"):
        read_snapshot(Path("site"))


def test_changes_of_names_that_are_no_text_are_written(call: Call, rows: Path) -> None:
    assert built(call, rows)[0] == 0
    path = Path("site/downloads/all.json")
    renamed = json.loads(path.read_text("ascii").replace('"first"', '"\\ud83d"'))
    del renamed["checksum"]  # of a site that an earlier version made
    Path("new.json").write_text(json.dumps(renamed | {"format": 1}), "ascii")
    assert call("board", "diff", "site", "new.json", "--out", "changes.json")[0] == 0
    assert "\ud83d (measured)" in {
        one["line"] for one in json.loads(Path("changes.json").read_text("utf-8"))["changes"]
    }
