"""Suites in which each question stands at one length: lengths are compared over different questions, and say so."""

from __future__ import annotations

import polars as pl
import pytest
from simulated import row

from fathom.analysis import average_scores, curve, effective_length, longscore, steady
from fathom.analysis.ability import APART
from fathom.analysis.average import OVER_LENGTHS
from fathom.analysis.profile import profiles
from fathom.report.measure import measure
from fathom.report.page import page
from fathom.rows import to_frame

LENGTHS = (2048, 4096, 8192)


def rows_of(task: str, *, everywhere: bool) -> pl.DataFrame:
    """Twelve questions: each at every length, or each at one."""
    return to_frame(
        [
            row(float(number % 4 > 0), task=task, item=number, length=length)
            for number in range(12)
            for place, length in enumerate(LENGTHS)
            if everywhere or number % 3 == place
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("everywhere", [True, False])
def test_curves_and_what_is_made_of_them_say_so(everywhere: bool) -> None:
    frame = rows_of("natural", everywhere=everywhere)
    said = {
        "curve": [APART in one.note for one in curve(frame)],
        "longscore": [APART in one.note for one in longscore(frame)],
        "effective": [APART in one.note for one in effective_length(frame)],
        "steady": [APART in one.note for one in steady(frame)],
        "average": [one.note == OVER_LENGTHS for one in average_scores(frame)],
    }
    assert all(set(found) == {not everywhere} for found in said.values())


def test_the_mean_over_tasks_says_so_if_one_of_them_has_to() -> None:
    frame = pl.concat([rows_of("a", everywhere=True), rows_of("b", everywhere=False)])
    assert {one.task: one.apart for one in profiles(frame)} == {"a": False, "b": True, "all": True}


def test_one_length_alone_is_compared_with_nothing() -> None:
    assert not profiles(rows_of("natural", everywhere=False).filter(length=2048))[0].apart


@pytest.mark.slow
def test_the_page_says_so_in_its_first_paragraph() -> None:
    said = "stands at one length only"
    assert "Every question has one length only" in page(measure(rows_of("a", everywhere=False)))
    assert said not in page(measure(rows_of("a", everywhere=True)))
    both = pl.concat([rows_of("a", everywhere=True), rows_of("b", everywhere=False)])
    assert "Every question of b has one length only" in page(measure(both))
