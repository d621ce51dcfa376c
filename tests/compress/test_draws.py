"""Draws of a validation: the same in any number of processes, and kept for the same scores only."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from fathom.compress.validate import reach, splits_of, validate
from fathom.types import FathomError
from made_scores import made_scores

MATRIX = made_scores(8, 40, seed=2)
SPLITS = splits_of(MATRIX, 2)
METHODS = ("random", "sampled")


def draws(kept: Path | None = None, workers: int | None = 1, matrix: object = MATRIX) -> pl.DataFrame:
    return validate(
        matrix,  # type: ignore[arg-type]
        [12],
        methods=METHODS,
        splits=SPLITS,
        workers=workers,
        kept=kept,
    ).drop("seconds")


@pytest.mark.slow
def test_processes_change_no_figure() -> None:
    assert_frame_equal(draws(workers=2), draws())
    assert_frame_equal(reach(MATRIX, 0.1, splits=SPLITS, workers=2), reach(MATRIX, 0.1, splits=SPLITS))


def test_a_line_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "draws.part"
    whole = draws(path)
    content = path.read_bytes()
    assert len(content.splitlines()) == 1 + len(METHODS) * len(SPLITS)
    path.write_bytes(content[: len(content) // 2])
    assert_frame_equal(draws(path), whole)


@pytest.mark.slow
def test_budgets_share_fits_and_change_no_figure() -> None:
    methods, splits = ("minilongbench", "sampled"), SPLITS[:1]
    together, *apart = (
        validate(MATRIX, budgets, methods=methods, splits=splits).drop("seconds") for budgets in ([12, 20], [12], [20])
    )
    assert_frame_equal(together, pl.concat(apart))


def test_splits_that_reached_a_width_are_kept(tmp_path: Path) -> None:
    path, told = tmp_path / "reach.part", list[tuple[int, int]]()
    first = reach(MATRIX, 0.1, splits=SPLITS[:2], kept=path)
    again = reach(MATRIX, 0.1, splits=SPLITS[:2], kept=path, progress=lambda *done: told.append(done))
    assert_frame_equal(again, first)
    assert told == [(2, 2)]


def test_draws_of_other_scores_are_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "draws.part"
    other = made_scores(8, 40, seed=3)
    first = draws(path)
    second = draws(path, matrix=other)
    assert_frame_equal(second, draws(matrix=other))
    assert not first.equals(second)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.part").mkdir()
    with pytest.raises(FathomError, match=r"folder\.part: cannot be read"):
        draws(tmp_path / "folder.part")
    (tmp_path / "file").touch()
    with pytest.raises(FathomError, match=r"file"):
        draws(tmp_path / "file" / "draws.part")
    assert_frame_equal(draws(tmp_path / "new" / "draws.part"), draws())
