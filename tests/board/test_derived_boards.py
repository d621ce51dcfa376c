"""Boards of suites that declare none."""

from __future__ import annotations

import polars as pl
import pytest

from fathom.board.derived import LONGEST, derived
from fathom.board.measured import measured
from fathom.board.results import Batch
from fathom.board.table import table
from fathom.rows import to_frame
from fathom.rows.table import RowsTable
from fathom.suites.registry import boards, get_board, get_suite
from fathom.types.boards import Board
from made_results_board import BOARD, TASKS, made_rows, row


def one(rows: pl.DataFrame) -> Board:
    (board,) = derived([RowsTable(rows)], tuple(boards().values()))
    return board


def test_a_board_has_the_tasks_and_lengths_of_the_rows() -> None:
    board = one(made_rows({"m": 0.0}, lengths=(2048, 1024), suite="lost_umbrella"))
    assert (board.id, board.title, board.suites) == ("lost-umbrella", "Lost umbrella", ("lost_umbrella",))
    assert board.tasks == TASKS
    assert [(category.id, category.title) for category in board.categories] == [(t, t.title()) for t in TASKS]
    assert board.lengths == (1024, 2048)
    assert board.counted == dict.fromkeys(TASKS, (1024, 2048))


def test_tasks_of_a_suite_that_is_installed_stand_in_its_order() -> None:
    suite = get_suite("starter")
    board = one(made_rows({"m": 0.0}, tasks=[*reversed(suite.tasks), "another"], items=1, suite="starter"))
    assert board.tasks == (*suite.tasks, "another")
    assert board.about.lower() == f"{suite.description}."
    assert board.categories[0].title == "KV retrieval"


def test_tasks_named_one_by_one_are_a_suite_with_a_title_of_bounded_length() -> None:
    assert one(made_rows({"m": 0.0}, items=1, suite="kv_retrieval,passkey")).title == "KV retrieval, Passkey"
    long = one(made_rows({"m": 0.0}, items=1, suite=",".join(get_suite("pro").tasks)))
    assert len(long.title) == LONGEST


def test_suites_that_a_board_is_made_of_get_none_and_ids_are_not_taken_twice() -> None:
    rows = [made_rows({"m": 0.0}, items=1, suite=suite) for suite in ("made", "made#ab", "MADE", "")]
    rows.append(made_rows({"m": 0.0}, tasks=get_suite("pro").tasks[:2], items=1, suite="pro"))
    found = derived(map(RowsTable, rows), (BOARD, *boards().values()))
    assert [board.suites for board in found] == [("MADE",), ("",)]
    assert len({"made", *(board.id for board in found)}) == 3
    assert [board.title for board in found] == ["MADE, own results", "(no name)"]


def test_tasks_that_are_on_no_board_have_one_beside_those_that_are() -> None:
    rows = made_rows({"m": 0.0}, tasks=("nolima_onehop", "nolima_published_onehop"), items=1, suite="nolima")
    board = one(rows)
    assert (board.tasks, board.title) == (("nolima_onehop",), "Nolima, own results")
    assert board.id != "nolima"
    shown = measured([get_board("nolima"), board], Batch(RowsTable(rows))).entries
    assert {name: {task for task, _ in entry.cells} for name, (entry,) in shown.items()} == {
        "nolima": {"nolima_published_onehop"},
        board.id: {"nolima_onehop"},
    }


def test_a_board_of_none_of_its_tasks_does_not_keep_a_suite_from_having_one() -> None:
    assert one(made_rows({"m": 0.0}, items=1, suite="pro")).tasks == TASKS


def test_questions_without_context_and_cut_prompts_are_no_lengths() -> None:
    beside = (
        row("find", "a", 1.0, 0, suite="own", facets={"context": "none"}),
        row("find", "a", 1.0, 512, suite="own", facets={"cut_from": 1024}),
    )
    assert one(to_frame([row("find", "a", 1.0, suite="own"), *beside])).lengths == (1024,)


@pytest.mark.slow
def test_lines_are_ranked_by_the_mean_of_tasks_and_one_at_other_lengths_has_no_rank() -> None:
    every = made_rows({"good": 4.0, "bad": -4.0, "short": 0.0}, suite="own")
    rows = every.filter((pl.col("model") != "short") | (pl.col("length") == 1024))
    board = one(rows)
    shown = table(
        board, measured([board], Batch(RowsTable(rows))).entries[board.id], {m: m for m in ("good", "bad", "short")}
    )
    assert [(line.entry.model, line.rank) for line in shown.entries] == [
        ("good", (1, 1)),
        ("bad", (2, 2)),
        ("short", None),
    ]
    good = shown.entries[0].standing.overall
    assert good is not None
    means = rows.filter(model="good").group_by("task").agg(pl.col("value").mean())["value"]
    assert abs(good.value - float(means.to_numpy().mean())) < 1e-12


def test_a_bundle_cannot_put_markup_or_control_characters_into_a_title() -> None:
    assert "\x1b" not in one(made_rows({"m": 0.0}, items=1, suite="\x1b[31m<b>")).title
