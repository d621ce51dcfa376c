"""What has changed between two sites, and whether the reason is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from fathom.board.build import SiteSettings, build_site
from fathom.board.changes import (
    UNKNOWN,
    Change,
    Changes,
    Snapshot,
    changes,
    counted,
    read_snapshot,
    sentences,
    snapshot,
)
from fathom.board.downloads import downloads
from fathom.board.measured import measured
from fathom.board.model import Entry
from fathom.board.results import About, Batch
from fathom.board.table import model_keys, table
from fathom.rows.table import RowsTable
from fathom.suites.registry import get_board
from fathom.types import FathomError, Json
from fathom.types.boards import Board
from made_results_board import BOARD, made_rows

pytestmark = pytest.mark.slow  # all look at what takes long to make

ADA = get_board("ada")

Rows = Callable[[pl.DataFrame], pl.DataFrame]
ABILITIES = {"good": 2.0, "fair": 0.0, "poor": -2.0}
ROWS = made_rows(ABILITIES, items=40)


def site(*batches: Batch, board: Board = BOARD, built: str = "2026-01-01") -> Snapshot:
    entries: list[Entry] = [entry for batch in batches for entry in measured([board], batch).entries[board.id]]
    made = table(board, entries, model_keys({board.id: entries}))
    return snapshot(downloads([made], built)["all.json"])


def batch(rows: pl.DataFrame = ROWS, fingerprint: str = "a" * 64, **settings: Json) -> Batch:
    labels = rows.select("suite", "model", "variant").unique().rows()
    return Batch(RowsTable(rows), about={label: (About(settings, fingerprint),) for label in labels})


@cache
def before() -> Snapshot:
    """The site of these rows, as nothing has changed yet."""
    return site(batch())


def scores(found: Changes, model: str, figure: str = "task") -> list[Change]:
    return [
        change
        for change in found.changes
        if change.kind == "score" and change.line.startswith(model) and change.figure == figure
    ]


def halved(rows: pl.DataFrame, model: str = "fair", task: str = "find") -> pl.DataFrame:
    """The rows with other scores of one model on one task."""
    here = (pl.col("model") == model) & (pl.col("task") == task)
    return rows.with_columns(pl.when(here).then(pl.col("value") / 2).otherwise("value").alias("value"))


def test_equal_sites_have_no_changes() -> None:
    found = changes(before(), site(batch()))
    assert found.changes == ()
    assert sentences(found) == []


def test_models_that_came_and_went_are_named() -> None:
    without = ROWS.filter(pl.col("model") != "good")
    found = changes(before(), site(batch(without)))
    (gone,) = [change for change in found.changes if change.kind == "line gone"]
    assert gone.line == "good (measured)"
    assert isinstance(gone.old, float)
    moved = {change.line: change for change in found.changes if change.kind == "rank"}
    assert moved["fair (measured)"].old == "2"
    assert moved["fair (measured)"].new == "1"
    assert moved["fair (measured)"].why == ("1 entry removed",)
    back = changes(site(batch(without)), before())
    assert [change.kind for change in back.changes if change.figure] == ["new line"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: rows.with_columns(task_version=pl.lit(2, pl.Int64)), "task version: 1, now 2"),
        (lambda rows: rows.with_columns(fathom_version=pl.lit("9.9")), "asked by fathom: none, now 9.9"),
        (lambda rows: rows.with_columns(rule=pl.lit("official")), "rule: strict, now official"),
        (lambda rows: rows.with_columns(grader=pl.lit("a judge")), "grader: none, now a judge"),
        (lambda rows: rows, UNKNOWN),
    ],
)
def test_the_reason_of_a_moved_score_is_found_in_versions_and_rules(change: Rows, reason: str) -> None:
    found = changes(before(), site(batch(change(halved(ROWS)))))
    told = scores(found, "fair")
    assert {(one.name, one.length) for one in told} == {("find", None), ("find", 1024), ("find", 2048)}
    assert all(reason in one.why for one in told)
    assert scores(found, "good") == []
    (overall,) = scores(found, "fair", "overall")
    assert f"find: {reason}" in overall.why


def test_a_new_data_revision_is_told_from_more_questions() -> None:
    other = made_rows(ABILITIES, items=40, seed=1).with_columns(target=pl.lit("other"))
    told = scores(changes(before(), site(batch(other, "b" * 64))), "fair")
    assert told
    assert all(one.why[0] == f"new data: suite: made {'a' * 16}, now made {'b' * 16}" for one in told)
    more = scores(changes(before(), site(batch(made_rows(ABILITIES, items=60, seed=2)))), "fair")
    assert more
    assert all(one.why == ("other questions of the same suite were asked", "questions: 40, now 60") for one in more)


def test_another_version_of_the_scorers_is_a_reason() -> None:
    before, now = (batch(rows, versions={"scored by": name}) for rows, name in ((ROWS, "1"), (halved(ROWS), "2")))
    told = scores(changes(site(before), site(now)), "fair")
    assert {one.why for one in told} == {("scored by fathom: 1, now 2",)}


def test_other_settings_are_a_reason() -> None:
    told = scores(changes(site(batch(window=8192)), site(batch(halved(ROWS), window=4096))), "fair")
    assert all(one.why == ("window: 8192, now 4096",) for one in told)
    assert told


def test_scores_that_were_lost_are_told() -> None:
    lost = ROWS.with_columns(
        value=pl.when(pl.col("model") == "good", pl.col("task") == "find").then(None).otherwise("value")
    )
    found = changes(before(), site(batch(lost)))
    told = scores(found, "good")
    assert {one.new for one in told} == {None}
    assert all("there is no score now" in one.why for one in told)
    (rank,) = [change for change in found.changes if change.kind == "rank" and change.line.startswith("good")]
    assert (rank.old, rank.new) == ("1", None)


def test_differences_of_rounding_are_no_changes() -> None:
    old = before()
    board = old.boards["made"]
    lines = {
        who: replace(line, figures={which: replace(one, value=one.value + 9e-6) for which, one in line.figures.items()})
        for who, line in board.entries.items()
    }
    new = Snapshot(old.built, {"made": replace(board, entries=lines)})
    assert changes(old, new).changes == ()


def test_boards_come_and_go() -> None:
    old, new = before(), site(Batch(RowsTable(made_rows(ABILITIES, tasks=ADA.tasks, suite="ada"))), board=ADA)
    assert [(change.board, change.kind) for change in changes(old, new).changes] == [
        ("ada", "new board"),
        ("made", "board gone"),
    ]


def test_lines_of_one_name_are_kept_apart() -> None:
    twice = (batch(), Batch(RowsTable(ROWS), "submitted"), Batch(RowsTable(halved(ROWS)), "submitted"))
    found = site(*twice)
    assert len(found.boards["made"].entries) == 9
    assert changes(found, site(*twice)).changes == ()


def test_sentences_are_about_lines_and_end_somewhere() -> None:
    found = changes(before(), site(batch(halved(ROWS), window=1)))
    told = sentences(found)
    assert any("fair (measured)" in one and "window: none, now 1" in one for one in told)
    assert counted(found.changes)["score"] > len(told)
    less = changes(before(), site(batch(ROWS.filter(pl.col("model") == "fair"))))
    assert len(sentences(less)) == 3
    assert sentences(less, 1) == [sentences(less)[0], "... and 2 more"]


# --------------------------------------------------------------------------------------------------- files


def test_a_site_is_read_from_its_folder_or_its_file(tmp_path: Path) -> None:
    build_site(SiteSettings(boards=("ada",), examples=False), tmp_path / "site")
    whole = read_snapshot(tmp_path / "site")
    assert whole == read_snapshot(tmp_path / "site" / "downloads" / "all.json")
    assert list(whole.boards) == ["ada"]
    assert whole.boards["ada"].entries


def test_a_site_tells_what_has_changed_since_another(tmp_path: Path) -> None:
    build_site(SiteSettings(boards=("ada",), examples=False), tmp_path / "old")
    build_site(SiteSettings(boards=("ada", "hundred"), since=tmp_path / "old", examples=False), tmp_path / "new")
    assert "hundred: new board" in (tmp_path / "new" / "data" / "site.js").read_text("ascii")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 1, "built": "", "boards": [{"id": 1}]}',
     '{"format": 1, "built": "", "boards": [{"id": "a", "title": "", "lines": [{"model": "m"}]}]}', "[" * 100_000],
)  # fmt: skip
def test_files_that_are_no_downloads_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "all.json").write_text(text, "utf-8")
    with pytest.raises(FathomError, match="not the downloads of a site"):
        read_snapshot(tmp_path / "all.json")
    with pytest.raises(FathomError, match="cannot be read"):
        read_snapshot(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"format": 2, "built": "", "boards": []}', "checksum does not match its content"),
        ('{"format": 3, "built": "", "boards": []}', "written by a newer fathom .format 3; this one reads up to 2"),
    ],
)
def test_downloads_that_were_changed_or_are_newer_are_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "all.json").write_text(text, "utf-8")
    with pytest.raises(FathomError, match=why):
        read_snapshot(tmp_path / "all.json")
