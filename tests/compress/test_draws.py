"""Draws of a validation: processes, and what is kept when one ends in the middle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from fathom.compress.draws import Kept, made, one_thread
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


def test_what_was_made_is_not_made_again(tmp_path: Path) -> None:
    path, asked = tmp_path / "draws.part", list[int]()

    def draw(number: int) -> list[dict[str, object]]:
        asked.append(number)
        if number == 2 and len(asked) == 3:
            raise KeyboardInterrupt
        return [{"number": number}]

    numbers = {f"draw {number}": (number,) for number in range(4)}
    with pytest.raises(KeyboardInterrupt):
        made(draw, numbers, kept=Kept(path, "these"))
    told: list[tuple[int, int]] = []
    found = made(draw, numbers, kept=Kept(path, "these"), progress=lambda *done: told.append(done))
    assert found == [[{"number": number}] for number in range(4)]
    assert asked == [0, 1, 2, 2, 3]
    assert told == [(2, 4), (3, 4), (4, 4)]


def test_a_line_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "draws.part"
    whole = draws(path)
    lines = path.read_bytes().split(b"\n")
    assert len(lines) == 1 + len(METHODS) * len(SPLITS) + 1
    for end in range(0, len(path.read_bytes()), 97):
        path.write_bytes(b"\n".join(lines)[:end])
        assert_frame_equal(draws(path), whole)
        assert {tuple(json.loads(line)) for line in path.read_bytes().splitlines()} == {("of",), ("name", "rows")}


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


def test_linear_algebra_has_one_thread_and_others_afterwards() -> None:
    from threadpoolctl import threadpool_info

    def threads() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    assert np.ones((2, 2)) @ np.ones(2) == pytest.approx([2, 2])
    before = threads()
    with one_thread():
        assert threads() == [1] * len(before)
    assert threads() == before
