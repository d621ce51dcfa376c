"""What an unfinished run says of the part that was asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_suites import make_suite

from engine_calls import run
from fathom.api import compare
from fathom.rows import unfinished
from fathom.runfile.part import OF_SUITE, RANDOM, asked_so_far, order_of


def stopped(tmp_path: Path, **how: Any) -> Path:
    """A run of 100 samples that has 40 replies."""
    suite, out = make_suite(tmp_path, 100), tmp_path / "run"
    run(suite, "fathom/first", out=out, max_connections=1, **how)
    with closing(sqlite3.connect(out / "replies.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE rowid > 40")
    return out


def test_a_run_that_stopped_early_says_how_much_was_asked_and_that_its_order_is_random(tmp_path: Path) -> None:
    folder = stopped(tmp_path, enough=lambda folder: "")
    assert asked_so_far(folder) == f"asked was 40% of every task and length, {RANDOM}"
    (sentence,) = unfinished([folder])
    assert RANDOM in sentence
    assert "intervals are for one look" in sentence
    run(tmp_path / "suite", "fathom/first", out=folder)
    assert asked_so_far(folder) == ""
    assert unfinished([folder]) == []


def test_a_run_that_was_cut_off_says_that_its_order_need_not_be_random(tmp_path: Path) -> None:
    folder = stopped(tmp_path)
    assert asked_so_far(folder) == f"asked was 40% of every task and length, {OF_SUITE}"
    run(tmp_path / "suite", "fathom/lexical", out=tmp_path / "whole")
    remark = compare([folder, tmp_path / "whole"]).remarks[0]
    assert "is unfinished: 40 of 100 replies so far" in remark
    assert remark.endswith(f"{OF_SUITE}; intervals are for one look.")


@pytest.mark.parametrize(("connections", "words"), [(0, RANDOM), (20, RANDOM)])
def test_requests_that_overlap_do_not_hide_the_order(connections: int, words: str) -> None:
    begun = np.arange(300) < 100
    begun[100 : 100 + connections : 2], begun[100 - connections : 100 : 2] = True, False
    assert order_of(begun.tolist()) == words


def test_a_spread_part_is_not_called_random_and_few_items_are_called_nothing() -> None:
    spread = [place % 3 == 0 for place in range(300)]
    assert order_of(spread) == OF_SUITE
    assert order_of([True] * 9 + [False] * 20) == ""
    assert order_of([True] * 300) == ""
