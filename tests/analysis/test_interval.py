from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta

from fathom.stats import intervals
from fathom.stats.intervals import (
    Interval,
    Scored,
    generator,
    interval_of,
    kept_draws,
    mean_interval,
    means_of_sums,
    resampled_means,
    resampled_sums,
    resampled_together,
)
from fathom.types import FathomError


def scores(right: int, wrong: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([1.0] * right + [0.0] * wrong)


@pytest.mark.parametrize(("right", "wrong"), [(50, 0), (0, 50), (1, 0), (0, 1), (3, 0)])
def test_all_equal_scores_have_a_width(right: int, wrong: int) -> None:
    point, interval = mean_interval(scores(right, wrong), generator(0, "kv"))
    assert interval.low <= point <= interval.high
    assert interval.high - interval.low > 0.5 / (right + wrong + 1)
    assert interval.low >= 0
    assert interval.high <= 1


@pytest.mark.parametrize(("right", "items"), [(500, 500), (480, 500), (250, 500), (7, 500)])
def test_interval_of_0_1_scores_is_that_of_jeffreys(right: int, items: int) -> None:
    _, interval = mean_interval(scores(right, items - right), generator(1, "kv"), replicates=40_000)
    low, high = beta.ppf([0.025, 0.975], right + 0.5, items - right + 0.5)
    width = high - low
    assert interval.low == pytest.approx(low, abs=0.05 * width)
    assert interval.high == pytest.approx(max(high, right / items), abs=0.05 * width)


@pytest.mark.slow
def test_coverage_is_near_its_level() -> None:
    # performance/coverage.py has the whole table; 300 simulations have a standard error of 1.3 points.
    rng = np.random.default_rng(5)
    for truth, items in ((0.5, 20), (0.9, 30), (0.97, 50)):
        held = 0
        for _ in range(300):
            sample = (rng.random(items) < truth).astype(np.float64)
            _, interval = mean_interval(sample, rng, replicates=400)
            held += interval.low <= truth <= interval.high
        assert 0.91 <= held / 300 <= 0.995


@pytest.mark.slow
def test_mean_of_tasks_with_few_items_is_covered() -> None:
    rng = np.random.default_rng(6)
    tasks, items, truth, held = 8, 10, 0.9, 0
    for _ in range(300):
        parts = [(rng.random((items, 1)) < truth).astype(np.float64) for _ in range(tasks)]
        draws = np.mean([resampled_means(part, rng, replicates=400, prior=1 / tasks) for part in parts], axis=0)[:, 0]
        interval = interval_of(draws, float(np.mean(parts)))
        held += interval.low <= truth <= interval.high
    assert 0.91 <= held / 300 <= 0.995


def test_columns_are_paired() -> None:
    rng = np.random.default_rng(2)
    easy = rng.random((40, 1))
    draws = resampled_means(np.concatenate([easy, easy * 0.9], axis=1), rng)
    assert np.corrcoef(draws.T)[0, 1] > 0.9
    assert (draws[:, 0] - draws[:, 1]).std() < draws[:, 0].std() / 2


def test_missing_scores_are_left_out() -> None:
    table = np.array([[1.0, np.nan], [1.0, np.nan], [np.nan, np.nan], [0.0, np.nan]])
    draws = resampled_means(table, generator(0, "kv"), replicates=20_000, prior=0.0)
    assert np.nanmean(draws[:, 0]) == pytest.approx(2 / 3, abs=0.02)
    assert np.isnan(draws[:, 1]).all()


def test_a_prior_of_zero_leaves_a_fact_as_it_is() -> None:
    draws = resampled_means(np.full((10, 1), 0.25), generator(0, "kv"), prior=0.0)
    assert draws == pytest.approx(0.25)


def test_the_same_seed_gives_the_same_interval_and_another_task_another() -> None:
    sample = scores(7, 13)
    first = mean_interval(sample, generator(3, "kv"))
    assert mean_interval(sample, generator(3, "kv")) == first
    assert mean_interval(sample, generator(3, "passkey")) != first
    assert mean_interval(sample, generator(3, "问答\ud800")) != first


def test_memory_is_bounded_for_many_items() -> None:
    draws = resampled_means(np.ones((30_000, 1)), generator(0, "kv"), replicates=300)
    assert draws.shape == (300, 1)
    assert draws.min() > 0.999


def test_a_seed_below_0_is_refused() -> None:
    with pytest.raises(FathomError, match="seed -1: expected a whole number from 0"):
        generator(-1, "kv")


def test_streams_are_the_same_in_every_version() -> None:
    """Published intervals can be computed again: the stream of a seed and a stratum never changes."""
    assert generator(3, "kv").integers(0, 1000, 4).tolist() == [691, 637, 672, 531]
    assert generator(3, "问答").integers(0, 1000, 4).tolist() == [105, 400, 161, 495]
    assert generator(0, "kv").integers(0, 1000, 4).tolist() == [125, 788, 934, 874]


# ------------------------------------------------------------------------------------------------------- closed forms


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


def test_the_interval_of_a_mean_is_that_of_its_replicates() -> None:
    sample = np.array([0.2, math.nan, 0.9, 0.4])
    point, interval = mean_interval(sample, generator(0, "kv"), replicates=300, level=0.8)
    draws = resampled_means(sample[:, None], generator(0, "kv"), replicates=300)
    assert draws.shape == (300, 1)
    assert point == pytest.approx(0.5)
    assert interval == interval_of(draws[:, 0], point, 0.8)


@pytest.mark.parametrize("items", [2, 3, 40, 401])
def test_replicates_of_a_mean_have_the_unbiased_variance_of_a_mean(items: int) -> None:
    sample = np.random.default_rng(items).random(items)
    draws = resampled_means(sample[:, None], generator(1, "kv"), replicates=20_000, prior=0.0)[:, 0]
    # Of two items no weights do it: the most uneven ones that are drawn give a third less.
    expected = sample.var(ddof=1) / items * (2 / 3 if items == 2 else 1)
    assert draws.mean() == pytest.approx(sample.mean(), abs=4 * math.sqrt(expected / 20_000))
    assert draws.var() == pytest.approx(expected, rel=0.06)


def test_one_item_has_all_the_weight() -> None:
    assert resampled_means(np.array([[0.3]]), generator(1, "kv"), prior=0.0) == pytest.approx(0.3)


def test_a_pseudo_item_is_right_or_wrong_at_random_and_each_column_can_have_its_own_weight() -> None:
    """Beside 4 items that are all right, weights of shape 2: a beta variate of 2 + p / 2 and p / 2."""
    sums = resampled_sums(np.ones((4, 3)), generator(2, "kv"), replicates=20_000)
    draws = means_of_sums(sums, generator(2, "prior"), prior=np.array([1.0, 0.2, 0.0]))
    for column, prior in enumerate((1.0, 0.2)):
        truth = beta(2 + prior / 2, prior / 2)
        assert draws[:, column].mean() == pytest.approx(truth.mean(), abs=0.005)
        assert draws[:, column].var() == pytest.approx(truth.var(), rel=0.1)
    assert (draws[:, 2] == 1).all()


def test_every_replicate_is_drawn_however_many_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(3).random((7, 2))
    whole = resampled_sums(table, generator(0, "kv"), replicates=10)
    for block in (1, 7, 21, 70):
        monkeypatch.setattr("fathom.stats.intervals._BLOCK", block)
        parts = resampled_sums(table, generator(0, "kv"), replicates=10)
        assert parts[0] == pytest.approx(whole[0])
        assert parts[1] == pytest.approx(whole[1])


def test_no_item_leaves_nothing() -> None:
    assert np.isnan(resampled_means(np.empty((0, 2)), generator(0, "kv"), replicates=5)).all()


# ------------------------------------------------------------------------------------------ several tables at once


def test_tables_of_the_same_questions_are_paired_and_those_of_others_are_not() -> None:
    rng = np.random.default_rng(4)
    easy = rng.random((40, 1))
    names = tuple(f"q{number}" for number in range(40))
    tables = [
        Scored("kv", names, easy),
        Scored("qa", names, easy),
        Scored("kv", names, np.concatenate([0.9 * easy, rng.random((40, 1))], axis=1)),
        Scored("kv", tuple(f"other {name}" for name in names), easy),
    ]
    found = dict(resampled_together(tables, 5))
    assert [number for number, _ in resampled_together(tables, 5)] == [0, 2, 1, 3]
    assert [found[number].shape for number in range(4)] == [(2000, 1), (2000, 1), (2000, 2), (2000, 1)]
    assert np.corrcoef(found[0][:, 0], found[2][:, 0])[0, 1] > 0.85
    assert abs(np.corrcoef(found[0][:, 0], found[1][:, 0])[0, 1]) < 0.1
    for number, table in enumerate(tables):
        ((_, alone),) = resampled_together([table], 5)
        assert alone == pytest.approx(found[number])  # the same in every company
        assert found[number].mean(axis=0) == pytest.approx((table.values.sum(axis=0) + 0.5) / 41, abs=0.01)


def test_other_seeds_draw_other_replicates() -> None:
    table = Scored("kv", ("a", "b", "c"), np.array([[0.1], [0.5], [0.6]]))
    (first,), (second,) = ([draws for _, draws in resampled_together([table], seed)] for seed in (1, 2))
    assert not np.isclose(first, second).any()


def test_draws_that_are_kept_are_those_that_would_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> tuple[list[float], float]:
        rng = generator(2, "kv")
        return resampled_means(np.eye(3), rng, replicates=5).ravel().tolist(), rng.random()

    alone = drawn()
    for room in (10**6, 200, 0):
        monkeypatch.setattr(intervals, "ROOM", room)
        with kept_draws():
            assert drawn() == drawn() == alone
    assert drawn() == alone
