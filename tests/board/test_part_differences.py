"""Differences of two entries by category and at single lengths."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fathom.analysis import compare
from fathom.board.board_data import board_files
from fathom.board.differences import Pairs
from fathom.board.means import bounded
from fathom.board.measured import measured
from fathom.board.model import Cell, Entry, Estimate, Origin
from fathom.board.results import Batch
from fathom.board.table import Table, table
from fathom.rows.table import RowsTable
from fathom.types.boards import Board, Category, Part
from made_results_board import BOARD, TASKS, made_rows

ROWS = made_rows({"good": 1.0, "poor": -0.5}, items=12)
EQUAL = replace(BOARD, categories=tuple(Category(task, task, (Part((task,)),)) for task in TASKS))
"""A board whose tasks have equal weight, as in comparisons."""
PAPER = Origin("published", "a paper")


def table_of(*rows: pl.DataFrame, others: tuple[Entry, ...] = (), board: Board = BOARD) -> Table:
    made = measured([board], Batch(RowsTable(pl.concat(rows)))).entries[board.id] if rows else []
    entries = [*made, *others]
    return table(board, entries, {entry.model: entry.model for entry in entries})


def printed(value: float, model: str, n: int = 40) -> Entry:
    cells: dict[Cell, Estimate | None] = {
        (task, length): bounded(Estimate(value, n=n), task, model) for task in TASKS for length in BOARD.lengths
    }
    return Entry(model, "", PAPER, cells)


def difference(parts: Mapping[str, Pairs], name: str) -> tuple[float, float, float]:
    gap = parts[name][0, 1].gap
    return gap.difference, gap.interval.low, gap.interval.high


def test_a_difference_at_a_length_is_that_of_compare() -> None:
    parts = table_of(ROWS, board=EQUAL).parts
    wanted = {own.length: own for own in compare(ROWS, "good", "poor") if own.task == "all" and own.length}
    assert sorted(wanted) == list(BOARD.lengths)
    for length, own in wanted.items():
        found = difference(parts, f"length/{length}")
        assert found[0] == pytest.approx(own.difference)
        assert found[1:] == pytest.approx((own.interval.low, own.interval.high), abs=5e-3)  # other pseudo-items


def test_a_difference_by_category_is_over_its_tasks_and_lengths() -> None:
    parts, both = table_of(ROWS).parts, ROWS.filter(pl.col("task").is_in(["find", "count"]))
    (own,) = [own for own in compare(both, "good", "poor") if own.task == "all" and own.length is None]
    assert difference(parts, "category/look") == pytest.approx(
        (own.difference, own.interval.low, own.interval.high), abs=1e-9
    )


def test_a_category_of_one_task_has_the_difference_of_the_task() -> None:
    made = table_of(ROWS)
    assert made.parts["category/think"] is made.ranking.between["order"]


def test_entries_that_were_asked_other_questions_are_compared_on_those_of_both() -> None:
    number = pl.col("item").str.extract(r"(\d+)$").cast(pl.Int64)
    both = ROWS.filter(number >= 4)
    part = pl.concat([ROWS.filter(model="good"), both.filter(model="poor")])
    pairs = table_of(part, board=EQUAL).parts
    wanted = {own.length: own for own in compare(both, "good", "poor") if own.task == "all"}
    found = pairs["length/2048"][0, 1]
    assert found.gap.difference == pytest.approx(wanted[2048].difference)
    assert found.shared == 3 * 8


def test_scores_without_common_questions_are_independent() -> None:
    made = table_of(others=(printed(0.8, "a"), printed(0.6, "b")))
    low, high = (made.entries[n].standing.lengths[1024] for n in (0, 1))
    assert low.interval is not None
    assert high.interval is not None
    difference_, least, most = difference(made.parts, "length/1024")
    assert difference_ == pytest.approx(0.2)
    assert least == pytest.approx(0.2 - math.hypot(low.value - low.interval.low, high.interval.high - high.value))
    assert most == pytest.approx(0.2 + math.hypot(low.interval.high - low.value, high.value - high.interval.low))
    assert made.parts["length/1024"][0, 1].shared == 0


def test_a_part_that_one_entry_lacks_has_no_difference() -> None:
    some = replace(
        printed(0.6, "b"), cells={cell: own for cell, own in printed(0.6, "b").cells.items() if cell[1] != 2048}
    )
    parts = table_of(others=(printed(0.8, "a"), some)).parts
    assert len(parts["length/2048"]) == 0
    assert len(parts["length/1024"]) == 1


def test_the_file_of_an_entry_has_a_row_for_every_category_and_length_without_p() -> None:
    files: dict[str, Any] = dict(board_files(table_of(ROWS)))
    rows = files["pairs/made/good"]["parts"]["poor"]
    assert [len(row) for row in rows] == [4] * (len(BOARD.categories) + len(BOARD.lengths))


@pytest.mark.slow
def test_entries_far_apart_on_a_large_board_have_no_difference() -> None:
    """Printed scores lie between those that have single scores."""
    rows = made_rows({"good": 3.0, "poor": -3.0}, items=3)
    others = tuple(printed(0.4 + 0.001 * number, f"printed {number}", n=400) for number in range(201))
    gaps = table_of(rows, others=others).parts["length/2048"].gaps
    assert gaps.reach < len(gaps.places) - 1
