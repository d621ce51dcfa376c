"""Compared is what is shared: entries with other tasks, lengths or questions, against plain loops over their rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import polars as pl
import pytest

from fathom.board.differences import OVERALL, Difference
from fathom.board.measured import measured
from fathom.board.results import Batch
from fathom.board.table import Table, table
from fathom.rows.table import RowsTable
from fathom.types.boards import Board
from made_results_board import BOARD, QUESTIONS, TASKS, made_rows

LENGTHS = (1024, 2048)
COUNTED = replace(BOARD, counted=dict.fromkeys(TASKS, LENGTHS))
WHOLE = made_rows({"a": 0.3}, items=12, lengths=LENGTHS, seed=5)
CUTS: Mapping[str, pl.Expr] = {
    "without the longer length": pl.col("length") == LENGTHS[0],
    "without half the items": pl.col("item").str.ends_with("0") | pl.col("item").str.ends_with("1"),
    "without a task": pl.col("task") != "find",
    "with one item less at one length": ~((pl.col("item") == "find/003") & (pl.col("length") == LENGTHS[1])),
}
ANYWHERE = pl.lit(value=True)


def shown(rows: pl.DataFrame, board: Board = COUNTED) -> Table:
    entries = measured([board], Batch(RowsTable(rows))).entries[board.id]
    return table(board, entries, {entry.model: entry.model for entry in entries})


def cut(rows: pl.DataFrame, model: str, kept: pl.Expr) -> pl.DataFrame:
    """The kept rows, as those of another model."""
    return rows.filter(kept).with_columns(model=pl.lit(model))


def difference(found: Table, first: str, second: str, name: str = OVERALL) -> Difference:
    """The first minus the second; the interval is turned if the board has it the other way."""
    places = {one.entry.model: place for place, one in enumerate(found.entries)}
    pairs = found.ranking.between[name]
    if places[first] < places[second]:
        return pairs[places[first], places[second]]
    turned = pairs[places[second], places[first]]
    low, high = -turned.gap.interval.high, -turned.gap.interval.low
    interval = replace(turned.gap.interval, low=low, high=high)
    return replace(turned, gap=replace(turned.gap, difference=-turned.gap.difference, interval=interval))


def items(rows: pl.DataFrame) -> int:
    return rows.select("task", "item").n_unique()


@pytest.mark.parametrize("name", CUTS)
def test_one_run_cut_in_two_has_one_rank_and_no_difference(name: str) -> None:
    part = cut(WHOLE, "b", CUTS[name])
    found = shown(pl.concat([WHOLE, part]))
    assert {entry.entry.model: entry.rank for entry in found.entries} == {"a": (1, 1), "b": None}
    twins = difference(found, "a", "b")
    assert (twins.gap.difference, twins.gap.p_value, twins.shared) == (0.0, 1.0, items(part))
    assert twins.gap.interval.low < 0 < twins.gap.interval.high
    for task in part["task"].unique():
        own = difference(found, "a", "b", task)
        assert (own.gap.difference, own.gap.p_value) == (0.0, 1.0)
        assert own.shared == items(part.filter(pl.col("task") == task))


@pytest.mark.slow
def test_twins_have_one_rank_whatever_else_is_on_the_board() -> None:
    others = made_rows({"a": 0.3, "c": 1.5, "d": -1.0}, items=12, lengths=LENGTHS, seed=5)
    parts = [cut(WHOLE, f"b{place}", kept) for place, kept in enumerate(CUTS.values())]
    found = shown(pl.concat([others.filter(pl.col("model") != "a"), WHOLE, *parts]))
    ranked = [entry.entry.model for entry in found.entries if entry.rank]
    assert sorted(ranked) == ["a", "c", "d"]
    for place in range(len(CUTS)):
        assert difference(found, "a", f"b{place}").gap.difference == 0.0
    alike = shown(pl.concat([WHOLE, cut(WHOLE, "b", ANYWHERE)]))
    assert [entry.rank for entry in alike.entries] == [(1, 2), (1, 2)]
    assert difference(alike, "a", "b").gap.p_value == 1.0


@pytest.mark.slow
def test_lengths_that_do_not_count_change_no_difference() -> None:
    two = made_rows({"a": 0.8, "b": 0.2}, items=12, lengths=(512, *LENGTHS), seed=3)
    fewer = two.filter(~((pl.col("length") == 512) & (pl.col("model") == "b")))
    for rows in (two, fewer):
        assert difference(shown(rows), "a", "b") == difference(shown(two.filter(pl.col("length") > 512)), "a", "b")


def test_nothing_in_common_is_no_difference() -> None:
    """Other lengths of the same task are another task; other questions at the same lengths are independent."""
    lengths = [cut(WHOLE, f"at {length}", pl.col("length") == length) for length in LENGTHS]
    tasks = [cut(WHOLE, "find", pl.col("task") == "find"), cut(WHOLE, "count", pl.col("task") == "count")]
    for first, second in (lengths, tasks):
        found = shown(pl.concat([first, second]))
        apart = difference(found, first["model"][0], second["model"][0])
        assert (apart.gap.p_value, apart.shared) == (1.0, 0)
        assert (apart.gap.interval.low, apart.gap.interval.high) == (-1.0, 1.0)
    other = made_rows({"b": -2.0}, items=12, lengths=LENGTHS, seed=6).with_columns(target=pl.lit("other"))
    found = shown(pl.concat([WHOLE, other]))
    scores = {entry.entry.model: entry.standing.overall for entry in found.entries}
    assert scores["a"] is not None
    assert scores["b"] is not None
    independent = difference(found, "a", "b")
    assert independent.gap.difference == pytest.approx(scores["a"].value - scores["b"].value)
    assert independent.gap.p_value < 0.05
    assert independent.shared == 0


# The same by loops


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


Scores = dict[tuple[str, int, str], float]


def scores_of(rows: pl.DataFrame, model: str) -> Scores:
    repeats: dict[tuple[str, int, str], list[float]] = {}
    for row in rows.filter(pl.col("model") == model).iter_rows(named=True):
        repeats.setdefault((row["task"], row["length"], row["item"]), []).append(row["value"])
    return {cell: mean(values) for cell, values in repeats.items()}


def task_score(scores: Scores, task: str) -> float:
    by_length: dict[int, list[float]] = {}
    for (name, length, _), value in scores.items():
        if name == task:
            by_length.setdefault(length, []).append(value)
    return mean([mean(values) for values in by_length.values()])


def overall_score(scores: Scores) -> float:
    """Mean of the categories of ``BOARD``: of the parts of each, of the tasks of each."""
    asked = {task for task, _, _ in scores}
    categories = []
    for category in BOARD.categories:
        parts = [[task_score(scores, task) for task in part.tasks if task in asked] for part in category.parts]
        if any(parts):
            categories.append(mean([mean(part) for part in parts if part]))
    return mean(categories)


def by_questions(scores: Scores) -> float:
    """All items have equal weight, each with the mean of its task over lengths."""
    asked = {(task, item) for task, _, item in scores}
    return mean([task_score(scores, task) for task, _ in asked])


@pytest.mark.parametrize(("board", "whole"), [(COUNTED, overall_score), (QUESTIONS, by_questions)])
def test_scores_and_differences_are_those_of_plain_loops(board: Board, whole: Callable[[Scores], float]) -> None:
    rows = made_rows({"a": 0.8, "b": 0.2, "c": -0.5}, items=9, lengths=LENGTHS, seed=3)
    lacking = [("b", "count/004", 2048), ("b", "find/001", 1024), ("c", "order/000", 2048), ("c", "count/004", 2048)]
    for model, item, length in lacking:
        rows = rows.filter(~((pl.col("model") == model) & (pl.col("item") == item) & (pl.col("length") == length)))
    rows = rows.filter(~((pl.col("model") == "c") & (pl.col("task") == "find")))
    rows = pl.concat(
        [
            rows,
            rows.filter(pl.col("item") == "order/002").with_columns(
                epoch=pl.lit(2, pl.Int64), value=1 - pl.col("value")
            ),
        ]
    )
    found, scores = shown(rows, board), {model: scores_of(rows, model) for model in "abc"}
    for entry in found.entries:
        assert entry.standing.overall is not None
        assert entry.standing.overall.value == pytest.approx(whole(scores[entry.entry.model]))
        for task, source in entry.standing.tasks.items():
            assert source.score.value == pytest.approx(task_score(scores[entry.entry.model], task))
    for first, second in ("ab", "ac", "bc"):
        cells = scores[first].keys() & scores[second].keys()
        own, other = ({cell: scores[model][cell] for cell in cells} for model in (first, second))
        gap = difference(found, first, second)
        if board is COUNTED:
            assert gap.gap.difference == pytest.approx(whole(own) - whole(other))
        assert gap.shared == len({(task, item) for task, _, item in cells})
        for task in {task for task, _, _ in cells}:
            gap = difference(found, first, second, task)
            assert gap.gap.difference == pytest.approx(task_score(own, task) - task_score(other, task))
            assert gap.shared == len({item for name, _, item in cells if name == task})
