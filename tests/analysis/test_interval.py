from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from fathom.stats.intervals import (
    Clusters,
    Interval,
    clusters_of,
    design_of,
    exact_interval,
    generator,
    interval_of,
    intervals_of,
    jeffreys_interval,
    kept_draws,
    mean_interval,
    replicates_for,
    resampled_means,
    resampled_sums,
    shuffled,
    sums_of_means,
)
from fathom.types import FathomError

Floats = NDArray[np.float64]


def scores(right: int, wrong: int) -> Floats:
    return np.array([1.0] * right + [0.0] * wrong)


# ------------------------------------------------------------------------------------------------------ exact intervals


@pytest.mark.parametrize(("right", "items"), [(5, 5), (0, 5), (1, 1), (0, 1), (50, 50), (24, 25), (250, 500), (7, 500)])
def test_interval_of_0_1_scores_is_that_of_jeffreys(right: int, items: int) -> None:
    point, interval = mean_interval(scores(right, items - right), 1)
    low, high = scipy.stats.beta.ppf([0.025, 0.975], right + 0.5, items - right + 0.5)
    assert point == right / items
    assert interval.low == pytest.approx(min(low, point), abs=1e-10)
    assert interval.high == pytest.approx(max(high, point), abs=1e-10)
    assert (
        interval
        == jeffreys_interval(right, items)
        == exact_interval(clusters_of(scores(right, items - right)[:, None]))
    )


def test_five_of_five_right() -> None:
    _, interval = mean_interval(np.ones(5), 0)
    assert (round(interval.low, 3), interval.high) == (0.621, 1.0)
    _, wrong = mean_interval(np.zeros(5), 0)
    assert (wrong.low, round(wrong.high, 3)) == (0.0, 0.379)
    assert mean_interval(np.ones(5), 0, level=0.8)[1].low == pytest.approx(scipy.stats.beta.ppf(0.1, 5.5, 0.5))


def test_items_that_are_entirely_right_or_wrong_are_exact_however_often_they_were_asked() -> None:
    table = np.array([[1.0, 1, 1]] * 7 + [[0.0, 0, 0]] * 2)
    assert exact_interval(clusters_of(table)) == jeffreys_interval(7, 9)
    assert exact_interval(clusters_of(table, ["a", "a", "b", "b", "c", "d", "e", "f", "g"])) is None  # other numbers
    assert exact_interval(clusters_of(table[:8], ["a", "a", "b", "b", "c", "c", "d", "d"])) is None  # d: one of each
    assert exact_interval(clusters_of(table[:6], ["a", "a", "b", "b", "c", "c"])) == jeffreys_interval(3, 3)
    assert exact_interval(clusters_of(np.array([[1.0, 1.0], [1.0, math.nan]]))) is None
    assert exact_interval(clusters_of(np.array([[1.0], [math.nan]]))) == jeffreys_interval(1, 1)
    assert exact_interval(clusters_of(np.array([[1.0], [0.5]]))) is None
    assert exact_interval(clusters_of(np.empty((0, 1)))) is None
    # Three means of 1/10 each, summed, are not exactly .3; an item of such a mean is entirely right all the same.
    assert exact_interval(Clusters(np.array([[0.1 + 0.2]]), np.array([[0.3]]))) == jeffreys_interval(1, 1)


# ---------------------------------------------------------------------------------------------------------- replicates


@pytest.mark.slow
def test_coverage_is_near_its_level() -> None:
    # performance/coverage.py has the whole table; 300 simulations have a standard error of 1.3 points.
    rng = np.random.default_rng(5)
    for shape, items in ((1.0, 20), (4.0, 30)):
        held = 0
        for _ in range(300):
            _, interval = mean_interval(rng.beta(shape, 1, items), 0, replicates=1000)
            held += interval.low <= shape / (shape + 1) <= interval.high
        assert 0.91 <= held / 300 <= 0.995


def test_columns_are_paired() -> None:
    easy = np.random.default_rng(2).random((40, 1))
    draws = resampled_means(clusters_of(np.concatenate([easy, easy * 0.9], axis=1)), 0)
    assert np.corrcoef(draws.T)[0, 1] > 0.9
    assert (draws[:, 0] - draws[:, 1]).std() < draws[:, 0].std() / 2


def test_missing_scores_are_left_out() -> None:
    clusters = clusters_of(np.array([[1.0, np.nan], [1.0, np.nan], [np.nan, np.nan], [0.0, np.nan]]))
    draws = resampled_means(clusters, 0, replicates=20_000, prior=0.0)
    assert clusters.means[0] == pytest.approx(2 / 3)
    assert np.isnan(clusters.means[1])
    assert draws[:, 0].mean() == pytest.approx(2 / 3, abs=0.02)
    assert np.isnan(draws[:, 1]).all()
    assert np.isnan(resampled_means(clusters, 0, replicates=9)[:, 1]).all()
    assert clusters.contributions.tolist() == [[1 / 3, 0], [1 / 3, 0], [0, 0], [0, 0]]
    sample = np.array([1.0, math.nan, 0.25])
    assert mean_interval(sample, 0) == mean_interval(np.array([1.0, 0.25]), 0)
    assert mean_interval(sample, 0, groups=["a", "b", "c"]) == mean_interval(np.array([1.0, 0.25]), 0)


def test_a_prior_of_zero_leaves_a_fact_as_it_is() -> None:
    assert resampled_means(clusters_of(np.full((10, 1), 0.25)), 0, prior=0.0) == pytest.approx(0.25)


def test_equal_scores_have_equal_intervals_and_another_seed_others() -> None:
    sample = np.random.default_rng(0).random(20)
    first = mean_interval(sample, 3)
    assert mean_interval(sample, 3) == first
    assert mean_interval(sample, 4)[1] != first[1]
    assert mean_interval(sample, 3, groups=[f"b{number:02}" for number in range(20)]) == first


def test_memory_is_bounded_for_many_items() -> None:
    draws = resampled_means(clusters_of(np.ones((30_000, 1))), 0, replicates=300)
    assert draws.shape == (300, 1)
    assert draws.min() > 0.999


def test_a_seed_below_0_is_refused() -> None:
    with pytest.raises(FathomError, match="seed -1: expected a whole number from 0"):
        generator(-1, "kv")


def test_streams_are_the_same_in_every_version() -> None:
    """Published intervals can be computed again: the stream of a seed and a name never changes."""
    assert generator(3, "kv").integers(0, 1000, 4).tolist() == [691, 637, 672, 531]
    assert generator(3, "问答").integers(0, 1000, 4).tolist() == [105, 400, 161, 495]
    assert generator(0, "kv").integers(0, 1000, 4).tolist() == [125, 788, 934, 874]
    assert generator(3, "问答\ud800").random() != generator(3, "问答").random()
    assert (
        generator(0, [0, 5]).integers(0, 1000, 4).tolist()
        == np.random.default_rng([0, 0, 5]).integers(0, 1000, 4).tolist()
    )


def test_ends_are_quantiles_and_stretch_to_the_figure() -> None:
    draws = np.append(np.arange(101.0), math.nan)
    usual, narrow = interval_of(draws, 50.0), interval_of(draws, 50.0, 0.9)
    assert (usual.low, usual.high) == pytest.approx((2.5, 97.5))
    assert (narrow.low, narrow.high) == pytest.approx((5.0, 95.0))
    assert (usual.level, narrow.level) == (0.95, 0.9)
    assert interval_of(draws, 1.0, 0.5) == Interval(1.0, 75.0, 0.5)
    assert interval_of(draws, 99.0, 0.5) == Interval(25.0, 99.0, 0.5)
    assert interval_of(np.array([4.0]), 4.0) == Interval(4.0, 4.0)
    assert interval_of(np.full(3, math.nan), 0.3, 0.9) == Interval(-math.inf, math.inf, 0.9)


def test_ends_are_those_of_numpy_bit_for_bit() -> None:
    draws = np.random.default_rng(1).random((3, 777))
    for level in (0.5, 0.8, 0.95, 0.99):
        tail = (1 - level) / 2
        for row, interval in zip(draws, intervals_of(draws, [0.5] * 3, level), strict=True):
            assert (interval.low, interval.high) == tuple(np.quantile(row, [tail, 1 - tail]))


def test_the_interval_of_a_mean_is_that_of_its_replicates() -> None:
    sample = np.array([0.2, math.nan, 0.9, 0.4])
    point, interval = mean_interval(sample, 0, replicates=300, level=0.8)
    draws = resampled_means(clusters_of(sample[[0, 2, 3], None]), 0, replicates=300)
    assert draws.shape == (300, 1)
    assert point == pytest.approx(0.5)
    assert interval == interval_of(draws[:, 0], point, 0.8)


@pytest.mark.parametrize("items", [2, 3, 40, 400, 401])
def test_replicates_of_a_mean_have_the_unbiased_variance_of_a_mean(items: int) -> None:
    sample = np.random.default_rng(items).random(items)
    draws = resampled_means(clusters_of(sample[:, None]), 1, replicates=20_000, prior=0.0)[:, 0]
    # Of two items no weights do it: the most uneven ones that are drawn give a third less.
    expected = sample.var(ddof=1) / items * (2 / 3 if items == 2 else 1)
    assert draws.mean() == pytest.approx(sample.mean(), abs=4 * math.sqrt(expected / 20_000))
    assert draws.var() == pytest.approx(expected, rel=0.06)


def test_a_column_of_few_clusters_has_the_unbiased_variance_too() -> None:
    """Six of forty clusters in the second column: their weights are as uneven as those of six."""
    rng = np.random.default_rng(3)
    table = np.full((40, 2), math.nan)
    table[:, 0], table[:6, 1] = rng.random(40), rng.random(6)
    draws = resampled_means(clusters_of(table), 1, replicates=20_000, prior=0.0)
    assert draws[:, 1].var() == pytest.approx(table[:6, 1].var(ddof=1) / 6, rel=0.06)
    mostly = table.copy()
    mostly[:, 1] = table[:, 0]
    mostly[30:, 1] = math.nan  # 30 of 40 are fewer than 4 in 5
    mostly[:8, 1], full = math.nan, mostly[8:30, 1]
    draws = resampled_means(clusters_of(mostly), 1, replicates=20_000, prior=0.0)
    assert draws[:, 1].var() == pytest.approx(full.var(ddof=1) / len(full), rel=0.06)


def test_a_mean_over_clusters_of_unequal_size_has_the_variance_of_a_ratio() -> None:
    """The linearised variance of sum w A / sum w N, with n / (n - 1)."""
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 9, 80)
    groups = [f"g{number:02}" for number, size in enumerate(sizes) for _ in range(size)]
    values = np.concatenate([np.clip(rng.random() + 0.1 * rng.normal(size=size), 0, 1) for size in sizes])
    clusters = clusters_of(values[:, None], groups)
    errors = clusters.totals[:, 0] - values.mean() * clusters.counts[:, 0]
    draws = resampled_means(clusters, 0, replicates=20_000, prior=0.0)[:, 0]
    assert draws.var() == pytest.approx(float((errors**2).sum()) * 80 / 79 / len(values) ** 2, rel=0.08)


def test_one_item_has_all_the_weight() -> None:
    assert resampled_means(clusters_of(np.array([[0.3]])), 1, prior=0.0) == pytest.approx(0.3)


def test_the_pseudo_cluster_is_right_or_wrong_at_random() -> None:
    """Beside 4 items that are all right, weights of shape 2: a beta variate of 2 + p / 2 and p / 2."""
    sums = resampled_sums(clusters_of(np.ones((4, 2))), 2, replicates=20_000)
    for prior in (1.0, 0.2):
        draws, truth = sums.means(2, prior), scipy.stats.beta(2 + prior / 2, prior / 2)
        assert draws[:, 0].mean() == pytest.approx(truth.mean(), abs=0.005)
        assert draws[:, 0].var() == pytest.approx(truth.var(), rel=0.1)
        assert (draws[:, 0] == draws[:, 1]).all()  # one split for all lengths
    assert (sums.means(2, 0) == 1).all()


def test_the_pseudo_cluster_is_asked_as_often_as_clusters_are() -> None:
    once, thrice = (resampled_sums(clusters_of(np.ones((4 * size, 1)), [*"abcd"] * size), 2) for size in (1, 3))
    assert (once.often.tolist(), thrice.often.tolist()) == ([1.0], [3.0])
    assert thrice.means(0) == pytest.approx(once.means(0))
    gaps = clusters_of(np.array([[1.0, math.nan], [1.0, 0.5], [math.nan, math.nan]]), ["a", "a", "b"])
    assert resampled_sums(gaps, 0, replicates=2).often.tolist() == [2.0, 1.0]


def test_streams_split_the_pseudo_cluster_independently_and_leave_the_weights() -> None:
    sums = resampled_sums(clusters_of(np.ones((4, 1))), 2)
    splits = [sums.means(2, 1.0, stream)[:, 0] for stream in (0, 1, 2, 3)]
    for number, split in enumerate(splits):
        assert split.mean() == pytest.approx(2.5 / 3, abs=0.01)
        for other in splits[number + 1 :]:
            assert abs(np.corrcoef(split, other)[0, 1]) < 0.8  # they have the weights of the items in common
            assert (split != other).all()
    assert (sums.means(2, 1.0, 3)[:, 0] == splits[3]).all()


def test_every_replicate_is_drawn_however_many_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = clusters_of(np.random.default_rng(3).random((7, 2)))
    whole = resampled_sums(table, 0, replicates=10)
    for block in (1, 7, 21, 70):
        monkeypatch.setattr("fathom.stats.intervals._BLOCK", block)
        parts = resampled_sums(table, 0, replicates=10)
        assert parts.scored == pytest.approx(whole.scored)
        assert parts.mass == pytest.approx(whole.mass)


def test_no_item_leaves_nothing() -> None:
    assert np.isnan(resampled_means(clusters_of(np.empty((0, 2))), 0, replicates=5)).all()


def test_some_columns_of_sums_and_clusters() -> None:
    clusters = clusters_of(np.random.default_rng(3).random((7, 3)))
    assert (clusters.at([2, 0]).totals == clusters.totals[:, [2, 0]]).all()
    sums = resampled_sums(clusters, 0, replicates=10)
    assert (sums.at([2, 0]).means(0) == sums.means(0)[:, [2, 0]]).all()


def test_clusters_are_in_the_order_of_their_names_and_summed() -> None:
    clusters = clusters_of(np.array([[0.5, math.nan], [0.25, 1.0], [1.0, 0.0]]), ["b", "a", "b"])
    assert clusters.totals.tolist() == [[0.25, 1.0], [1.5, 0.0]]
    assert clusters.counts.tolist() == [[1, 1], [2, 1]]
    assert clusters.means.tolist() == [1.75 / 3, 0.5]
    assert clusters.key == clusters_of(np.array([[0.25, 1.0], [0.5, 0.0], [1.0, math.nan]]), ["x", "y", "y"]).key
    single = clusters_of(np.array([[0.5], [0.25]]), ["b", "a"])
    assert (single.totals.tolist(), single.counts.tolist()) == ([[0.25], [0.5]], [[1.0], [1.0]])
    assert single.key != clusters.key


def test_shuffled_replicates_are_the_same_ones_in_another_order() -> None:
    draws: Floats = np.arange(100, dtype=np.float64)
    assert (shuffled(draws, 0) == draws).all()
    first, second = shuffled(draws, 1), shuffled(draws, 2)
    assert (first != draws).any()
    assert (first != second).any()
    assert (np.sort(first) == draws).all()
    table = np.stack([draws, draws], axis=1)
    assert (shuffled(table, 1) == np.stack([first, first], axis=1)).all()


def test_sums_of_published_means_are_those_of_zeros_and_ones() -> None:
    sums = sums_of_means([0.8, 0.5], [40, 10], np.random.default_rng(1), replicates=20_000)
    draws = sums.means(0, 0.0)
    for column, (mean, count) in enumerate(((0.8, 40), (0.5, 10))):
        assert draws[:, column].mean() == pytest.approx(mean, abs=0.01)
        assert draws[:, column].var() == pytest.approx(mean * (1 - mean) / (count - 1), rel=0.06)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.05
    assert sums.often.tolist() == [1, 1]


def test_draws_that_are_kept_are_those_that_would_be_drawn() -> None:
    table = clusters_of(np.eye(3))

    def drawn() -> list[list[float]]:
        return [resampled_means(table, seed, replicates=5).ravel().tolist() for seed in (2, 2, 3)]

    alone = drawn()
    assert alone[0] == alone[1] != alone[2]
    for room in (10**6, 200, 0):
        with kept_draws(room):
            assert drawn() == drawn() == alone
            with kept_draws():
                assert drawn() == alone
            assert drawn() == alone
    assert drawn() == alone


# ------------------------------------------------------------------------------------------------------- design effect


def test_design_effect_of_items_that_belong_together() -> None:
    one = design_of(np.array([1.0, 0, 1, 0, math.nan]), ["a", "b", "c", "d", "e"])
    assert (one.scores, one.clusters) == (4, 4)
    assert one.effect == pytest.approx(1)
    assert one.effective == pytest.approx(4)
    # Each of them twice in its cluster: as much information as four, of which eight are counted.
    twice = design_of(np.array([1.0, 1, 0, 0, 1, 1, 0, 0]), [*"aabbccdd"])
    assert (twice.scores, twice.clusters) == (8, 4)
    assert twice.effect == pytest.approx(2 * (4 / 3) / (8 / 7))
    assert twice.effective == pytest.approx(8 / twice.effect)
    for values, groups in (([1.0, 1.0], "ab"), ([1.0, 0.0], "aa"), ([1.0], "a"), ([], "")):
        nothing = design_of(np.array(values), [*groups])
        assert nothing.scores == len(values)
        assert math.isnan(nothing.effect)
        assert math.isnan(nothing.effective)
    opposite = design_of(np.array([1.0, 0, 0, 1]), [*"aabb"])  # clusters are all alike
    assert (opposite.effect, math.isnan(opposite.effective)) == (0, True)


@pytest.mark.parametrize(
    ("clusters", "expected"), [(1, 10_000), (400, 10_000), (401, 9_975), (1_000, 4_000), (2_000, 2_000), (9_999, 2_000)]
)
def test_many_clusters_have_fewer_replicates(clusters: int, expected: int) -> None:
    assert replicates_for(clusters) == expected
    assert isinstance(replicates_for(clusters), int)
