"""What intervals, comparisons and ranks promise: an item is one witness, and equal data have equal ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import LENGTHS, row, table

from fathom.analysis import (
    AverageScore,
    Comparison,
    Interval,
    average_scores,
    breakdown,
    categories,
    compare,
    curve,
    longscore,
    neighbours,
    repeats,
)
from fathom.analysis.grid import grids
from fathom.analysis.ranking import Ranked, ranking_of
from fathom.rows import to_frame
from fathom.types import Row

FIVE_OF_FIVE = 0.6206228577009606
ONE = pytest.approx((FIVE_OF_FIVE, 1.0), abs=1e-9)
"""Jeffreys' interval of 5 of 5: [.621, 1]."""


def ends(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None
    return interval.low, interval.high


def average_of(rows: pl.DataFrame, task: str = "kv") -> AverageScore:
    (found,) = [score for score in average_scores(rows) if score.task == task]
    return found


def ranks(rows: pl.DataFrame) -> list[Ranked]:
    return ranking_of(grids(rows), average_scores(rows))


def compared(rows: pl.DataFrame, length: int | None = None, task: str = "all") -> Comparison:
    (found,) = [one for one in compare(rows, "a", "b") if (one.task, one.length) == (task, length)]
    return found


# -------------------------------------------------------------------------------------------- an item is one witness


@pytest.mark.parametrize("lengths", [1, 2, 5])
def test_five_of_five_right_have_one_interval_however_many_lengths(lengths: int) -> None:
    rows = table([[1.0] * lengths] * 5)
    assert [ends(point.interval) for point in curve(rows)] == [ONE] * 2 * lengths
    assert [ends(score.interval) for score in average_scores(rows)] == [ONE, ONE]
    assert [ends(one.interval) for one in neighbours(rows)] == [ONE]
    assert [ends(one.interval) for one in ranks(rows)] == [ONE]
    assert [ends(one.interval) for one in breakdown(rows, by=["overall"])] == [ONE]
    assert [ends(score.base_interval) for score in longscore(rows)] == [ONE, ONE]
    assert scipy.stats.beta.ppf(0.025, 5.5, 0.5) == pytest.approx(FIVE_OF_FIVE, abs=1e-12)


def several(values: Sequence[float], times: int, change: Callable[[Row, int], Row]) -> pl.DataFrame:
    """Items with these scores, each asked several times with the same score."""
    return to_frame(
        change(row(value, item=item), number) for item, value in enumerate(values) for number in range(times)
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda one, number: replace(one, length=LENGTHS[number], sample=f"{one.item}@{LENGTHS[number]}"),
        lambda one, number: replace(one, epoch=number + 1),
        lambda one, number: replace(one, sample=f"{one.sample}/{number}", facets={"depth": number / 3}),
        lambda one, number: replace(one, sample=f"{one.sample}/{number}", facets={"question": number}),
    ],
    ids=["lengths", "epochs", "positions", "questions"],
)
@pytest.mark.parametrize("values", [[1, 1, 1, 1, 0], [0.5, 0.25, 1.0, 0.0, 0.75, 0.3]], ids=["right", "shares"])
def test_an_item_asked_several_times_is_as_sure_as_asked_once(
    values: Sequence[float], change: Callable[[Row, int], Row]
) -> None:
    once, often = (several(values, times, change) for times in (1, 4))
    studies: tuple[Callable[[pl.DataFrame], Sequence[Any]], ...]
    studies = (average_scores, neighbours, lambda rows: breakdown(rows, by=["overall"]))
    for found in studies:
        for first, second in zip(found(once), found(often), strict=True):
            assert ends(first.interval) == pytest.approx(ends(second.interval))
    rows = [
        pl.concat(
            [part.with_columns(model=pl.lit("a")), part.with_columns(model=pl.lit("b"), value=1 - pl.col("value"))]
        )
        for part in (once, often)
    ]
    alone, together = (compared(part) for part in rows)
    assert together.p_value == alone.p_value
    assert ends(together.interval) == pytest.approx(ends(alone.interval), abs=0.02)
    assert together.difference == pytest.approx(alone.difference)


def test_failing_the_same_items_at_all_lengths_is_no_more_evidence_than_at_one() -> None:
    """A right on 25 of 25, B not on 3 of them: the exact test on three items gives .25."""
    a = table([[1.0] * 5] * 25, model="a")
    rows = pl.concat([a, table([[1.0] * 5] * 22 + [[0.0] * 5] * 3, model="b")])
    found = compare(rows, "a", "b")
    assert len(found) == 12
    assert [one.p_value for one in found] == pytest.approx([0.25] * 12)
    assert {one.p_adjusted for one in found} == {1.0}
    assert all(one.interval.low < 0 < one.interval.high for one in found)
    first, second = ranks(rows)
    assert (first.best, first.worst, second.best, second.worst) == (1, 2, 1, 2)
    gap = first.gaps[1]
    assert gap is not None
    assert gap.p_value == pytest.approx(0.25)
    assert neighbours(rows)[0].p_value == pytest.approx(0.25)


def documents(groups: int) -> pl.DataFrame:
    """40 items whose scores are nearly those of their document."""
    rng = np.random.default_rng(6)
    levels = rng.random(8).repeat(5)
    values = np.clip(levels + 0.05 * rng.normal(size=40), 0, 1)
    return to_frame(
        row(float(value), item=item, facets={"cluster": f"book {item // (40 // groups):02}"} if groups else {})
        for item, value in enumerate(values)
    )


@pytest.mark.slow
def test_a_cluster_for_each_item_changes_nothing() -> None:
    alone, named = documents(0), documents(40)
    studies: tuple[Callable[[pl.DataFrame], Sequence[Any]], ...] = (average_scores, curve, neighbours, repeats)
    for analysis in studies:
        for first, second in zip(analysis(alone), analysis(named), strict=True):
            if hasattr(first, "interval"):
                # Clusters are in the order of their names, which is another one.
                assert ends(first.interval) == pytest.approx(ends(second.interval), abs=0.01)
                mean = first.score if hasattr(first, "score") else first.mean
                assert mean == (second.score if hasattr(second, "score") else second.mean)


@pytest.mark.slow
def test_items_that_share_a_document_widen_the_interval() -> None:
    """Eight books of five items that are alike: nearly as wide as of eight items."""
    alone, shared = documents(0), documents(8)
    studies: tuple[Callable[[pl.DataFrame], Sequence[Any]], ...] = (
        average_scores,
        curve,
        neighbours,
        lambda rows: breakdown(rows, by=["overall"]),
    )
    for analysis in studies:
        for first, second in zip(analysis(alone), analysis(shared), strict=True):
            narrow, wide = (one.interval.high - one.interval.low for one in (first, second))
            assert wide > 1.7 * narrow
    other = [part.with_columns(model=pl.lit("b"), value=pl.lit(0.5)) for part in (alone, shared)]
    both = [
        compared(pl.concat([part.with_columns(model=pl.lit("a")), second]))
        for part, second in zip((alone, shared), other, strict=True)
    ]
    assert both[1].interval.high - both[1].interval.low > 1.5 * (both[0].interval.high - both[0].interval.low)
    assert both[1].difference == pytest.approx(both[0].difference)


# ------------------------------------------------------------------------------------------- equal data, equal ends


scores_of_items = st.lists(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=2), min_size=2, max_size=12
)


@pytest.mark.slow
@given(scores_of_items, st.permutations(["kv", "qa", "a task", "zebra"]), st.sampled_from(["m", "o1", "模型"]))
@settings(max_examples=6)
def test_equal_scores_have_equal_ends_whatever_their_names(
    scores: list[list[float]], tasks: list[str], model: str
) -> None:
    """Tasks of equal scores have equal ends, models and runs too, and items of other names."""
    first = pl.concat([table(scores, task=task) for task in sorted(tasks[:2])])
    parts = [table(scores, task=task, model=model) for task in sorted(tasks[2:])]
    second = pl.concat(parts).with_columns(item="other " + pl.col("item"), suite=pl.lit("another"))
    studies: tuple[Callable[[pl.DataFrame], Sequence[Any]], ...] = (average_scores, curve)
    for analysis in studies:
        own, other = (analysis(part) for part in (first, second))
        assert [(one.mean, one.interval) for one in own] == [(one.mean, one.interval) for one in other]
        tasks_only = [[one.interval for one in own if one.task == task] for task in sorted(tasks[:2])]
        assert tasks_only[0] == tasks_only[1]
    both = [(one.score, one.interval) for part in (first, second) for one in neighbours(part)]
    assert both[0] == both[1]
    together = average_scores(pl.concat([first, second.with_columns(model=pl.lit("twin"))]))
    assert [one.interval for one in together[:3]] == [one.interval for one in together[3:]]


def test_models_of_equal_scores_have_equal_differences_to_a_third() -> None:
    scores = [[0.5, 1.0], [0.25, 0.0], [1.0, 1.0], [0.5, 0.75]]
    third = table([[0.0, 0.5], [0.5, 0.25], [1.0, 0.0], [0.25, 0.25]], model="b")
    found = [compare(pl.concat([table(scores, model=name), third]), name, "b") for name in ("a", "z")]
    assert [(one.difference, one.interval, one.p_value) for one in found[0]] == [
        (one.difference, one.interval, one.p_value) for one in found[1]
    ]


@pytest.mark.slow
@given(scores_of_items, scores_of_items)
@settings(max_examples=15)
def test_models_in_another_order_turn_the_sign_only(first: list[list[float]], second: list[list[float]]) -> None:
    rows = pl.concat([table(first, model="a"), table(second, model="b")])
    for swapped in (rows, rows.reverse()):
        for one, other in zip(compare(rows, "a", "b"), compare(swapped, "b", "a"), strict=True):
            assert one.difference == pytest.approx(-other.difference)
            assert one.p_value == other.p_value
            if one.difference != 0:  # of equal scores each side has a pseudo-cluster of its own
                assert ends(one.interval) == pytest.approx((-other.interval.high, -other.interval.low))


@pytest.mark.slow
@given(scores_of_items, scores_of_items, st.booleans())
@settings(max_examples=10)
def test_a_difference_is_the_same_in_compare_and_in_ranks(
    first: list[list[float]], second: list[list[float]], two: bool
) -> None:
    tasks = ["kv", "qa"] if two else ["kv"]
    rows = pl.concat([table(s, model=m, task=t) for t in tasks for m, s in (("a", first), ("b", second))])
    found = {one.model: one for one in ranks(rows)}
    place = list(found).index("b")
    gap, one = found["a"].gaps[place], compared(rows)
    assert gap is not None
    assert gap.difference == pytest.approx(one.difference)
    assert gap.p_value == pytest.approx(one.p_value)
    if len(first) == len(second) and first != second:
        assert ends(gap.interval) == pytest.approx(ends(one.interval))


# ------------------------------------------------------------------------------------------------------------- twins


def cut_lengths(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("length") <= LENGTHS[1])


def cut_items(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("item").str.ends_with("0") | pl.col("item").str.ends_with("3"))


def cut_task(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("task") == "kv")


def cut_cell(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter((pl.col("task") == "kv") | (pl.col("length") <= LENGTHS[2]))


@pytest.mark.slow
@pytest.mark.parametrize("cut", [cut_lengths, cut_items, cut_task, cut_cell])
@pytest.mark.parametrize("name", ["b", "0"])
def test_one_run_cut_in_two_never_gives_two_ranks(cut: Callable[[pl.DataFrame], pl.DataFrame], name: str) -> None:
    rng = np.random.default_rng(2)
    falling = np.array([0.95, 0.9, 0.5, 0.1])
    whole = pl.concat(
        [
            table((rng.random((8, 4)) < falling).astype(float).tolist(), task="kv"),
            table((rng.random((8, 4)) < falling - 0.1).astype(float).tolist(), task="qa"),
        ]
    ).with_columns(model=pl.lit("a"))
    twin = cut(whole).with_columns(model=pl.lit(name))
    for rows in (pl.concat([whole, twin]), pl.concat([twin, whole])):
        for pair in (("a", name), (name, "a")):
            found = compare(rows, *pair)
            assert found
            for one in found:
                assert (one.difference, one.p_value, one.p_adjusted) == (0.0, 1.0, 1.0)
                assert one.interval.low <= 0 <= one.interval.high
        ranked = ranks(rows)
        assert [(one.best, one.worst) for one in ranked] == [(1, 2), (1, 2)]
        gap, overlap = ranked[0].gaps[1], ranked[0].overlaps[1]
        assert gap is not None
        assert (gap.difference, gap.p_value, overlap.partial) == (0.0, 1.0, True)
        first, second = neighbours(rows)
        assert (first.gap, first.p_value, first.tied) == (0.0, 1.0, True)
        assert [(one.best, one.worst) for one in (first, second)] == [(1, 2), (1, 2)]
        assert first.gap_questions == len(twin)


def test_groups_of_a_category_have_one_interval_however_often_items_were_asked() -> None:
    own = [row(1.0, item=item, length=length, facets={"category": "c"}) for item in range(5) for length in LENGTHS]
    for one in categories(to_frame(own)):
        assert ends(one.interval) == ONE
