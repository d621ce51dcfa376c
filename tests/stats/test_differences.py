"""Differences against closed forms, and the promise that a difference is the same on every page."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fathom.stats.differences import Differences, Resampler, gap_of, gaps_between, gaps_over, paired, pseudo_streams
from fathom.stats.flips import flip_p_value
from fathom.stats.intervals import interval_of

Floats = NDArray[np.float64]
REPLICATES = 400


# --------------------------------------------------------------------------------------------------------- p-values


def p_value(draws: Floats, point: float) -> float:
    return gap_of(draws, point).p_value


def test_p_value_of_normal_replicates_is_that_of_a_two_sided_test() -> None:
    shares = (np.arange(20_000) + 0.5) / 20_000
    for distance in (0.0, 0.5, 1.0, 1.96, 3.0):
        draws = distance + scipy.stats.norm.ppf(shares)
        assert p_value(draws, distance) == pytest.approx(2 * scipy.stats.norm.sf(distance), abs=2e-4)
        assert p_value(-draws, -distance) == pytest.approx(p_value(draws, distance))


def test_no_p_value_is_below_what_the_replicates_can_tell() -> None:
    assert p_value(np.linspace(1, 2, 99), 1.5) == 2 / 100
    assert p_value(np.linspace(-2, -1, 99), -1.5) == 2 / 100


def test_replicates_of_0_are_in_intervals_that_reach_them() -> None:
    draws = np.repeat([0.0, 1.0], 5)
    assert p_value(draws, 0.5) == p_value(-draws, -0.5) == pytest.approx(2 * 4 / 9)


def test_p_value_is_1_where_the_interval_is_stretched_to_its_difference() -> None:
    draws = np.linspace(0.5, 1.5, 99)
    assert p_value(draws, 0.0) == p_value(-draws, 0.0) == 1
    assert p_value(draws, -0.1) == 1
    assert gap_of(draws, -0.1).interval.low == -0.1
    assert p_value(np.zeros(99), 0.0) == 1
    assert p_value(np.linspace(-1, 1.1, 99), 2e-17) == 1  # a 0 that was added up in another order
    assert p_value(np.full(5, math.nan), 0.3) == 1


@given(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=60),
    st.sampled_from([-0.4, 0.0, 0.3]),
    st.sampled_from([0.5, 0.8, 0.95]),
)
def test_p_value_is_where_the_interval_begins_to_hold_0(values: list[float], point: float, level: float) -> None:
    draws = np.array(values)
    interval = interval_of(draws, point, level)
    holds, p = interval.low <= 0 <= interval.high, p_value(draws, point)
    if p <= 2 / (len(draws) + 1):  # the least that is told: the true one may be lower
        assert not holds or 1 - level <= p + 1e-9
    else:
        assert holds == (p >= 1 - level - 1e-9)


# ------------------------------------------------------------------------------------------------------ differences


def scores(seed: int, items: int, columns: int = 1) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.random((items, columns)), rng.random((items, columns))


def of(first: Floats, second: Floats, seed: int = 0, replicates: int = REPLICATES, task: str = "task") -> Differences:
    return paired(first, second, task, Resampler(seed, replicates))


@given(st.integers(0, 99), st.integers(2, 30), st.integers(1, 3))
def test_order_of_the_two_turns_the_sign_only(seed: int, items: int, columns: int) -> None:
    first, second = scores(seed, items, columns)
    chosen = list(range(columns))
    gap, turned = of(first, second).gap(chosen), of(second, first).gap(chosen)
    assert turned.difference == pytest.approx(-gap.difference)
    assert turned.interval.low == pytest.approx(-gap.interval.high)
    assert turned.interval.high == pytest.approx(-gap.interval.low)
    assert turned.p_value == gap.p_value


@given(st.integers(0, 99), st.integers(2, 20))
def test_a_difference_is_the_same_whatever_was_compared_before(seed: int, items: int) -> None:
    first, second = scores(seed, items)
    third, _ = scores(seed + 1, items)
    shared = Resampler(0, REPLICATES)
    for other in (third, first):
        paired(first, other, "u", shared).gap([0])
    assert paired(first, second, "t", shared).gap([0]) == of(first, second).gap([0])


def test_equal_scores_differ_by_0_and_not_for_sure() -> None:
    """As many items can be truly different by chance: each side has a pseudo-cluster of its own."""
    same = np.ones((10, 2))
    gap = of(same, same, replicates=10_000).gap([0, 1])
    assert (gap.difference, gap.p_value) == (0.0, 1.0)
    assert gap.interval.low == pytest.approx(-gap.interval.high, abs=0.01)
    assert 0.1 < gap.interval.high < 0.35
    assert pseudo_streams([5, 5, 7, 5]) == [7, 8, 9, 9]


def test_replicates_of_a_difference_have_the_variance_of_paired_scores() -> None:
    """The textbook's s^2 / n of the differences, and two pseudo-clusters that are right or wrong at random."""
    rng = np.random.default_rng(2)
    first = rng.random(300)
    second = np.clip(first + rng.normal(0, 0.1, 300), 0, 1)
    one, other = of(first[:, None], second[:, None], replicates=10_000).sides([0])
    draws = one - other
    of_scores = (first - second).var(ddof=1) / 300
    of_priors = 2 * 0.5 * (first.mean() ** 2 + (1 - first.mean()) ** 2) / 301**2
    assert draws.var() == pytest.approx(of_scores + of_priors, rel=0.06)
    assert draws.mean() == pytest.approx((first - second).mean(), abs=0.001)


def test_clusters_make_a_difference_less_sure() -> None:
    first, second = scores(3, 20)
    groups = [f"g{number // 4:02}" for number in range(80)]
    repeated = np.repeat(first, 4, axis=0), np.repeat(second, 4, axis=0)
    alone = paired(*repeated, "t", Resampler(0, 2000)).gap([0])
    together = paired(*repeated, "t", Resampler(0, 2000), groups).gap([0])
    assert together.difference == pytest.approx(alone.difference)
    width, narrow = (gap.interval.high - gap.interval.low for gap in (together, alone))
    assert width == pytest.approx(2 * narrow, rel=0.15)
    assert together.p_value == pytest.approx(of(first, second).gap([0]).p_value)


def test_scores_that_are_absent_have_no_weight() -> None:
    nan = math.nan
    first = np.array([[0.5, nan], [1.0, 0.25], [nan, 0.75]])
    second = np.array([[0.25, nan], [0.0, 0.5], [nan, 0.75]])
    found = of(first, second)
    assert found.gap([0]).difference == 0.625
    assert found.gap([1]).difference == -0.125
    assert found.gap([0, 1]).difference == 0.25
    assert found.contributions([0]).tolist() == [0.125, 0.5, 0]
    assert found.contributions([0, 1]).tolist() == [0.0625, 0.1875, 0]
    assert found.gap([0, 1]).p_value == 0.5
    assert found.sides([0, 1])[0].shape == (REPLICATES,)


def test_differences_on_several_tasks_are_averaged_with_equal_weight() -> None:
    few, many = of(*scores(6, 5, 2), task="a"), of(*scores(7, 50, 2), task="b")
    whole = few + many
    alone = [part.gap([1]).difference for part in (few, many)]
    assert whole.gap([1]).difference == pytest.approx(sum(alone) / 2)
    first, second = whole.sides([1])
    gap = whole.gap([1])
    assert gap.interval == gap_of(first - second, gap.difference).interval
    assert (first - second).mean() == pytest.approx(gap.difference, abs=0.03)
    assert whole.contributions([1]).sum() == pytest.approx(gap.difference)
    assert whole.contributions([1])[:5] == pytest.approx(few.contributions([1]) / 2)
    assert gap.p_value == flip_p_value(whole.contributions([1]))
    assert (many + few).gap([1]).interval.low == pytest.approx(gap.interval.low)  # tasks in another order
    part = whole.at([1])
    assert part.gap([0]).difference == pytest.approx(gap.difference)
    assert part.gap([0]).p_value == gap.p_value
    assert few.at([0, 1]).tasks[0] is few.tasks[0]


def test_tasks_are_independent() -> None:
    """Tasks with as many items have the same weights, in another order of the replicates."""
    first, second = scores(8, 60)
    one = of(first, second, replicates=10_000)
    both = one + of(first, second, replicates=10_000, task="other")
    single, double = one.sides([0]), both.sides([0])
    assert np.var(double[0] - double[1]) == pytest.approx(np.var(single[0] - single[1]) / 2, rel=0.1)


def test_a_difference_to_a_margin_is_tested_by_its_interval() -> None:
    first, second = scores(9, 40)
    both = of(first, second)
    shifted = both.gap([0], null=-0.3)
    one, other = both.sides([0])
    assert (shifted.difference, shifted.interval) == (both.gap([0]).difference, both.gap([0]).interval)
    assert shifted.p_value == gap_of(one - other + 0.3, shifted.difference + 0.3).p_value < 0.01


def test_differences_that_are_asked_for_together_are_those_of_each() -> None:
    first, second = of(*scores(9, 12, 2)), of(*scores(10, 7, 2), task="other")
    asked = [(first, [0]), (second, [0, 1]), (first + second, [1])]
    assert gaps_over(asked) == [own.gap(columns) for own, columns in asked]
    assert gaps_over(asked, 0.2) == [own.gap(columns, null=0.2) for own, columns in asked]
    assert gaps_over([]) == []


def test_gaps_of_nearest_scores_are_those_of_each() -> None:
    rng = np.random.default_rng(4)
    points, draws = [0.8, 0.5, 0.4, 0.1], rng.normal([[0.8], [0.5], [0.4], [0.1]], 0.05, (4, 500))
    rows: list[None] = []
    every = gaps_between([3, 5, 6, 9], points, draws, done=lambda: rows.append(None))
    assert list(every) == [(3, 5), (3, 6), (3, 9), (5, 6), (5, 9), (6, 9)]
    assert (len(every), len(rows)) == (6, 3)
    for first, second in every:
        one, other = every.places.index(first), every.places.index(second)
        assert every[first, second] == gap_of(draws[one] - draws[other], points[one] - points[other])
    near = gaps_between([3, 5, 6, 9], points, draws, reach=2)
    assert list(near) == [(3, 5), (3, 6), (5, 6), (5, 9), (6, 9)]
    assert all(near[pair] == every[pair] for pair in near)
    for pair in ((0, 3), (1, 1), (2, 1), (-1, 0), (3, 4)):
        with pytest.raises(KeyError):
            near.at(*pair)
    assert list(gaps_between([1], [0.5], draws[:1])) == list(gaps_between([], [], draws[:0])) == []


@pytest.mark.slow
@pytest.mark.long
def test_intervals_of_a_difference_hold_the_truth_as_often_as_they_say() -> None:
    """25 questions, right or wrong, easier or harder for both; performance/coverage.py has the whole table."""
    rng, held, significant = np.random.default_rng(10), 0, 0
    for _ in range(300):
        ease = rng.beta(2, 2, 25)
        first, second, same = (
            (rng.random(25) < p).astype(float)[:, None] for p in (0.4 + 0.6 * ease, 0.6 * ease, 0.6 * ease)
        )
        gap = of(first, second).gap([0])
        held += gap.interval.low <= 0.4 <= gap.interval.high
        significant += of(same, second).gap([0]).p_value < 0.05
    assert 0.91 <= held / 300 <= 0.99
    assert significant / 300 <= 0.08
