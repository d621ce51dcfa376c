from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from fathom.stats.intervals import generator, interval_of, mean_interval, resampled_means
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
    with pytest.raises(FathomError, match="seed -1: expected a whole number from 0 on"):
        generator(-1, "kv")
