"""Depth by length: which tasks have a grid, and what its cells are."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.analysis import depth_grid
from fathom.analysis.position import are_even
from fathom.rows.schema import to_frame
from fathom.types import Row, Status


def row(item: str, length: int, depth: float, value: float | None, epoch: int = 1) -> Row:
    status: Status = "overflow" if value is None else "ok"
    return Row(
        suite="made", task="needle", item=item, sample=f"{item}@{length}", model="lab/one", length=length,
        value=value, valid=value is not None, status=status, epoch=epoch, facets={"depth": depth},
    )  # fmt: skip


def table(depths: tuple[float, ...], lengths: tuple[int, ...] = (2000, 4000)) -> pl.DataFrame:
    return to_frame([row(f"i{n}", length, depth, n / 10) for n, depth in enumerate(depths) for length in lengths])


def test_every_cell_of_a_grid_is_there() -> None:
    cells = depth_grid(table((0.0, 0.5, 1.0)))
    assert [(cell.length, cell.depth, cell.items) for cell in cells] == [
        (length, depth, 1) for length in (2000, 4000) for depth in (0.0, 0.5, 1.0)
    ]
    assert [cell.mean for cell in cells] == pytest.approx([0.0, 0.1, 0.2] * 2)


def test_epochs_count_once_within_their_item_and_prompts_that_did_not_fit_are_wrong() -> None:
    rows = [row("a", 2000, 0.0, 1.0), row("a", 2000, 0.0, 0.0, epoch=2), row("b", 2000, 0.0, 1.0)]
    rows += [row("c", 2000, 0.5, 1.0), row("d", 2000, 1.0, None), row("e", 4000, 1.0, 1.0)]
    cells = {(cell.length, cell.depth): cell for cell in depth_grid(to_frame(rows))}
    assert cells[2000, 0.0].mean == pytest.approx(0.75)
    assert cells[2000, 0.0].items == 2
    assert cells[2000, 1.0].mean == 0


def test_a_length_that_does_not_fit_has_no_cell() -> None:
    rows = [row(f"i{n}", length, depth, 1.0) for n, depth in enumerate((0.0, 0.5, 1.0)) for length in (1, 2, 3)]
    rows[2] = row("i0", 3, 0.0, None)
    assert {cell.length for cell in depth_grid(to_frame(rows))} == {1, 2}


def test_tasks_without_a_grid_have_no_cells() -> None:
    assert depth_grid(table((0.0, 1.0))) == []
    assert depth_grid(table((0.0, 0.5, 1.0), (2000,))) == []
    assert depth_grid(table((0.137, 0.42, 0.911, 0.733))) == []
    assert depth_grid(to_frame([])) == []


@given(st.integers(2, 20), st.data())
def test_marks_of_one_ruler_are_even(parts: int, data: st.DataObject) -> None:
    marks = data.draw(st.lists(st.integers(0, parts), min_size=3, max_size=parts + 1, unique=True))
    assert are_even([round(mark / parts, 3) for mark in marks])
