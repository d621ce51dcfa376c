"""Differences and ranks against closed forms, and the promise that a difference is the same in every company."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import beta, norm

from fathom.stats.differences import Gap, drawn_means, gap_of, paired, shared_sums
from fathom.stats.intervals import Interval, interval_of
from fathom.stats.ranks import gaps_of, ranks_of

Floats = NDArray[np.float64]
REPLICATES = 400


# --------------------------------------------------------------------------------------------------------- p-values


def p_value(draws: Floats, point: float) -> float:
    return gap_of(draws, point).p_value


def test_p_value_of_normal_replicates_is_that_of_a_two_sided_test() -> None:
    shares = (np.arange(20_000) + 0.5) / 20_000
    for distance in (0.0, 0.5, 1.0, 1.96, 3.0):
        draws = distance + norm.ppf(shares)
        assert p_value(draws, distance) == pytest.approx(2 * norm.sf(distance), abs=2e-4)
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


def scores(seed: int, models: int, items: int, columns: int = 1) -> dict[str, tuple[list[str], Floats]]:
    rng = np.random.default_rng(seed)
    names = [f"q{number:03d}" for number in range(items)]
    return {f"m{model}": (names, rng.random((items, columns))) for model in range(models)}


@given(st.integers(0, 99), st.integers(2, 5), st.integers(2, 30), st.integers(1, 3))
def test_a_difference_is_the_same_in_every_company(seed: int, models: int, items: int, columns: int) -> None:
    tables = scores(seed, models, items, columns)
    every = shared_sums(tables, "task", seed, replicates=REPLICATES)
    names, first = tables["m0"]
    second = tables["m1"][1]
    alone = paired(names, first, second, "task", seed, called=("m0", "m1"), replicates=REPLICATES)
    chosen = list(range(columns))
    draws = drawn_means([every["m0"]], chosen) - drawn_means([every["m1"]], chosen)
    assert gap_of(draws, float((first - second).mean())).p_value == pytest.approx(alone.gap(chosen).p_value)
    turned = paired(names, second, first, "task", seed, called=("m1", "m0"), replicates=REPLICATES).gap(chosen)
    assert turned.difference == pytest.approx(-alone.gap(chosen).difference)
    assert turned.interval.low == pytest.approx(-alone.gap(chosen).interval.high)


def test_the_order_of_items_does_not_matter() -> None:
    names, first = scores(1, 1, 20)["m0"]
    second = np.clip(first + 0.1, 0, 1)
    order = np.random.default_rng(0).permutation(20)
    mixed = paired([names[at] for at in order], first[order], second[order], "task", 0, replicates=REPLICATES)
    assert mixed.gap([0]) == paired(names, first, second, "task", 0, replicates=REPLICATES).gap([0])


def test_replicates_of_a_difference_have_the_variance_of_paired_scores() -> None:
    """The textbook's s^2 / n of the differences, and two pseudo-items that are right or wrong at random."""
    rng = np.random.default_rng(2)
    first = rng.random(300)
    second = np.clip(first + rng.normal(0, 0.1, 300), 0, 1)
    names = [f"q{number:03d}" for number in range(300)]
    found = paired(names, first[:, None], second[:, None], "task", 0)
    draws = drawn_means(found.first, [0]) - drawn_means(found.second, [0])
    of_scores = (first - second).var(ddof=1) / 300
    of_priors = 2 * (first.mean() ** 2 + (1 - first.mean()) ** 2) / 302**2
    assert draws.var() == pytest.approx(of_scores + of_priors, rel=0.06)
    assert draws.mean() == pytest.approx((first - second).mean(), abs=0.001)


def test_items_of_one_model_alone_make_its_difference_less_sure() -> None:
    names, first = scores(3, 1, 60)["m0"]
    second = np.clip(first - 0.05, 0, 1)
    both = shared_sums({"a": (names, first), "b": (names, second)}, "task", 0)
    others = shared_sums({"a": (names, first), "b": ([f"other {name}" for name in names], second)}, "task", 0)
    spread = [float((drawn_means([one["a"]], [0]) - drawn_means([one["b"]], [0])).std()) for one in (both, others)]
    assert spread[1] > 2 * spread[0]


# ------------------------------------------------------------------------------------------------------------ ranks


def of(values: list[float], p: dict[tuple[int, int], float]) -> tuple[list[int], list[int], list[int]]:
    """Best, worst and groups of scores of which some pairs have these p-values, and all others 1."""
    points = np.array(values)
    table = np.ones((len(points), len(points)))
    for (row, column), one in p.items():
        table[row, column] = table[column, row] = one
    ranks = ranks_of(points[:, None] - points[None, :], table)
    return ranks.best.tolist(), ranks.worst.tolist(), ranks.groups.tolist()


def test_two_scores_have_ranks_of_their_own_from_p_below_05_on() -> None:
    # Two directions are tested: of one pair, the one-sided p is compared with .05 / 2, as the two-sided with .05.
    assert of([0.9, 0.1], {(0, 1): 0.0499}) == ([1, 2], [1, 2], [1, 2])
    assert of([0.9, 0.1], {(0, 1): 0.0501}) == ([1, 1], [2, 2], [1, 1])


def test_more_scores_need_smaller_p_values_step_by_step() -> None:
    # Of three scores, four one-sided tests a score: .05 / 4 first, then .05 / 3.
    assert of([0.9, 0.5, 0.1], {(0, 2): 0.0249, (0, 1): 0.0332}) == ([1, 1, 2], [1, 3, 3], [1, 2, 2])
    assert of([0.9, 0.5, 0.1], {(0, 2): 0.0251, (0, 1): 0.0332}) == ([1, 1, 1], [3, 3, 3], [1, 1, 1])
    assert of([0.9, 0.5, 0.1], {(0, 2): 0.0249, (0, 1): 0.0334}) == ([1, 1, 2], [2, 3, 3], [1, 1, 2])


def test_a_tie_group_ends_where_any_of_its_scores_differs() -> None:
    """Of the first score nothing is known; the third differs from the second."""
    assert of([0.9, 0.8, 0.1], {(1, 2): 1e-9})[2] == [1, 1, 2]


def test_one_score_and_none() -> None:
    assert of([0.5], {}) == ([1], [1], [1])
    assert of([], {}) == ([], [], [])


def test_gaps_of_all_pairs_are_those_of_each() -> None:
    rng = np.random.default_rng(4)
    points, draws = np.array([0.8, 0.5, 0.4]), rng.normal([[0.8], [0.5], [0.4]], 0.05, (3, 500))
    gaps = gaps_of(points, draws)
    for row in range(3):
        assert (gaps[row][row].difference, gaps[row][row].p_value) == (0.0, 1.0)
        for column in range(3):
            if row != column:
                own = gap_of(draws[row] - draws[column], float(points[row] - points[column]))
                assert gaps[row][column].difference == pytest.approx(own.difference)
                assert gaps[row][column].p_value == pytest.approx(own.p_value)
                assert gaps[row][column].interval.low == pytest.approx(own.interval.low)


# ------------------------------------------------------------------------------------------ closed forms, simulations


def test_a_mean_over_tasks_and_columns_weighs_all_alike_and_holds_two_pseudo_items() -> None:
    """All right: of every task and column weights of shape n - 2, and a share of the pseudo-items."""
    names = [f"q{number}" for number in range(6)]
    tasks = [shared_sums({"m": (names, np.ones((6, 3)))}, task, 0, replicates=20_000)["m"] for task in ("a", "b")]
    truth = beta(4 + 0.25, 0.25)  # two pseudo-items over two tasks and two columns: half an item each
    draws = drawn_means(tasks, [0, 2])
    assert draws.mean() == pytest.approx(truth.mean(), abs=0.003)
    # The weights of the six are those of both columns, but the pseudo-items are drawn for each.
    assert truth.var() / 4 < draws.var() < truth.var() / 2
    (one,) = tasks[:1]
    assert drawn_means([one], [1]).mean() == pytest.approx(5 / 6, abs=0.003)
    assert drawn_means([one], [1], pseudo=0.0) == pytest.approx(1.0)


def test_pseudo_items_are_drawn_for_each_score_task_and_choice_of_columns() -> None:
    names, first = scores(5, 1, 12, 2)["m0"]
    tables = {"a": (names, first), "b": (names, first)}
    sums = {task: shared_sums(tables, task, 0, replicates=REPLICATES) for task in ("t", "u")}
    assert (sums["t"]["a"].scored == sums["t"]["b"].scored).all()
    assert (sums["t"]["a"].mass == sums["t"]["b"].mass).all()
    assert not np.isclose(sums["t"]["a"].mass, sums["u"]["a"].mass).any()
    drawn = [drawn_means([sums["t"]["a"]], [0]), drawn_means([sums["t"]["b"]], [0]), drawn_means([sums["t"]["a"]], [1])]
    assert not np.isclose(drawn[0], drawn[1]).any()
    assert drawn_means([sums["t"]["a"]], [0]) == pytest.approx(drawn[0])
    again = shared_sums(tables, "t", 1, replicates=REPLICATES)["a"]
    assert not np.isclose(again.mass, sums["t"]["a"].mass).any()


def test_scores_that_are_absent_have_no_weight() -> None:
    nan = math.nan
    first = np.array([[0.5, nan], [1.0, 0.25], [nan, 0.75]])
    second = np.array([[0.25, nan], [0.0, 0.5], [nan, 0.75]])
    found = paired(["x", "y", "z"], first, second, "task", 0, replicates=REPLICATES)
    assert found.gaps.tolist() == [[0.625, -0.125]]
    assert found.gap([0]).difference == 0.625
    assert found.gap([0, 1]).difference == 0.25
    assert found.first[0].scored.shape == (REPLICATES, 2)
    names, only = ["y", "z"], first[1:]
    assert shared_sums({"m": (names, only)}, "task", 0, replicates=1)["m"].mass.shape == (1, 2)


def test_differences_on_several_tasks_are_averaged_with_equal_weight() -> None:
    few, many = scores(6, 2, 5), scores(7, 2, 50)
    parts = [
        paired(one["m0"][0], one["m0"][1], one["m1"][1], task, 0, replicates=REPLICATES)
        for one, task in ((few, "a"), (many, "b"))
    ]
    whole = parts[0] + parts[1]
    assert whole.gaps.shape == (2, 1)
    assert whole.gap([0]).difference == pytest.approx((parts[0].gaps[0, 0] + parts[1].gaps[0, 0]) / 2)
    draws = drawn_means(whole.first, [0]) - drawn_means(whole.second, [0])
    assert whole.gap([0]) == gap_of(draws, whole.gap([0]).difference)
    assert draws.mean() == pytest.approx(whole.gap([0]).difference, abs=0.02)


@pytest.mark.slow
def test_intervals_of_a_difference_hold_the_truth_as_often_as_they_say() -> None:
    """25 questions, right or wrong, easier or harder for both; performance/coverage.py has the whole table."""
    rng, held, significant = np.random.default_rng(10), 0, 0
    names = [f"q{number}" for number in range(25)]
    for seed in range(300):
        ease = rng.beta(2, 2, 25)
        first, second, same = (
            (rng.random(25) < p).astype(float)[:, None] for p in (0.4 + 0.6 * ease, 0.6 * ease, 0.6 * ease)
        )
        found = paired(names, first, second, "task", seed, replicates=REPLICATES).gap([0])
        held += found.interval.low <= 0.4 <= found.interval.high
        significant += paired(names, same, second, "task", seed, replicates=REPLICATES).gap([0]).p_value < 0.05
    assert 0.91 <= held / 300 <= 0.99
    assert significant / 300 <= 0.08


def test_ranges_of_ranks_hold_the_true_ranks_as_often_as_they_say() -> None:
    """Scores with normal errors, two of them truly equal: the true rank is 1 and the number of those truly higher."""
    rng, truth, held, told = np.random.default_rng(11), np.array([0.7, 0.6, 0.6, 0.5]), np.zeros(4), 0
    true_ranks = np.array([1, 2, 2, 4])
    for _ in range(200):
        found = rng.normal(truth, 0.03)
        order = np.argsort(-found)
        draws = found[order, None] + rng.normal(0, 0.03, (4, 1000))
        gaps = gaps_of(found[order], draws)
        table = np.array([[gap.p_value for gap in row] for row in gaps])
        ranks = ranks_of(found[order][:, None] - found[order][None, :], table)
        held[order] += (ranks.best <= true_ranks[order]) & (true_ranks[order] <= ranks.worst)
        told += ranks.worst[list(order).index(0)] < 4
    assert (held / 200 >= 0.92).all()
    assert told > 150  # that the best is better than the worst is seen nearly always


def test_gaps_of_pairs_turn_round_with_their_scores() -> None:
    points, draws = np.array([0.8, 0.5]), np.random.default_rng(4).normal([[0.8], [0.5]], 0.05, (2, 500))
    (same, down), (up, _) = gaps_of(points, draws)
    assert down == gap_of(draws[0] - draws[1], 0.8 - 0.5)
    assert up == Gap(-down.difference, Interval(-down.interval.high, -down.interval.low, 0.95), down.p_value)
    assert same == Gap(0.0, Interval(0.0, 0.0), 1.0)


def test_what_is_significant_is_said_of_each_pair() -> None:
    points, p = np.array([0.9, 0.5, 0.1]), np.ones((3, 3))
    p[0, 2] = p[2, 0] = 0.001
    ranks = ranks_of(points[:, None] - points[None, :], p)
    assert ranks.significant.tolist() == [[False, False, True], [False, False, False], [True, False, False]]
    # At another level the same p-values are not enough.
    assert not ranks_of(points[:, None] - points[None, :], p, level=0.999).significant.any()


def test_a_p_value_at_its_limit_is_significant() -> None:
    """As in Holm's procedure; .5 is a limit that is no other number in binary."""
    points, p = np.array([0.9, 0.1]), np.full((2, 2), 0.5)
    assert ranks_of(points[:, None] - points[None, :], p, level=0.5).worst.tolist() == [1, 2]
    assert ranks_of(points[:, None] - points[None, :], p + 1e-9, level=0.5).worst.tolist() == [2, 2]
