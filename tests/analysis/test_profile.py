"""Profiles and what is made of them, against closed forms: means, replicates, what is paired, bases, LongScore."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from simulated import LENGTHS, row, table

from fathom.analysis import average_scores, longscore
from fathom.analysis.profile import Profile, at_columns, mean_draws, profiles, shared_draws
from fathom.rows import to_frame

Floats = NDArray[np.float64]
ITEMS = 60


def spread(scores: Floats, prior: float = 1.0) -> float:
    """Variance of replicates of a mean of items: s^2 / n, and that of a pseudo-item, right or wrong at random."""
    n, mean = len(scores), float(scores.mean())
    pseudo = prior / 2 * (mean**2 + (1 - mean) ** 2) / (n + prior) ** 2
    return float(scores.var(ddof=1)) * n / (n + prior) ** 2 + pseudo


@pytest.fixture(scope="module")
def scores() -> Floats:
    rng = np.random.default_rng(7)
    ease = rng.normal(0, 0.15, (ITEMS, 1))
    found: Floats = np.clip(0.5 + ease + rng.normal(0, 0.1, (ITEMS, 3)), 0, 1)
    return found


@pytest.fixture(scope="module")
def one(scores: Floats) -> Profile:
    return profiles(table(scores.tolist()), replicates=20_000)[0]


def test_means_and_counts(one: Profile, scores: Floats) -> None:
    assert one.lengths.tolist() == list(LENGTHS[:3])
    assert one.means == pytest.approx(scores.mean(axis=0))
    assert one.items.tolist() == one.scored.tolist() == [ITEMS] * 3
    assert one.complete.all()


def test_replicates_have_the_mean_and_the_variance_of_a_mean(one: Profile, scores: Floats) -> None:
    for column in range(3):
        assert one.draws[:, column].mean() == pytest.approx(scores[:, column].mean(), abs=0.002)
        assert one.draws[:, column].var() == pytest.approx(spread(scores[:, column]), rel=0.05)


def test_lengths_are_paired_within_items(one: Profile, scores: Floats) -> None:
    gap = one.draws[:, 0] - one.draws[:, 1]
    apart = scores[:, 0] - scores[:, 1]
    unpaired = scores[:, 0].var(ddof=1) / ITEMS + scores[:, 1].var(ddof=1) / ITEMS
    priors = 2 * 0.5 / (ITEMS + 1) ** 2  # one at each length, whatever stands there
    assert gap.var() < 0.6 * unpaired
    assert gap.var() == pytest.approx(apart.var(ddof=1) / ITEMS + priors / 2, rel=0.15)


def test_a_mean_over_lengths_holds_one_pseudo_item(one: Profile, scores: Floats) -> None:
    every = np.ones(3, dtype=np.bool_)
    means = scores.mean(axis=1)
    # Three of a third each: what they add is a third of what one whole item adds.
    pseudo = spread(np.repeat(means.mean(), ITEMS), 1) / 3
    found = mean_draws(one, every)
    assert found.var() == pytest.approx(float(means.var(ddof=1)) / ITEMS + pseudo, rel=0.06)
    assert shared_draws(one, every).shape == (20_000, 3)
    whole = one.draws.mean(axis=1)  # each length with an item of its own: three in all, which pull to one half
    assert abs(found.mean() - means.mean()) < abs(whole.mean() - means.mean()) + 0.001


def test_tasks_have_equal_weight_and_share_one_pseudo_item() -> None:
    rng = np.random.default_rng(8)
    few, many = rng.random((20, 1)), rng.random((200, 1)) * 0.5
    rows = pl.concat([table(few.tolist(), task="a"), table(many.tolist(), task="b")])
    *_, whole = profiles(rows, replicates=20_000)
    assert whole.task == "all"
    assert whole.tasks == ("a", "b")
    assert whole.means[0] == pytest.approx((few.mean() + many.mean()) / 2)
    assert whole.draws[:, 0].var() == pytest.approx((spread(few[:, 0], 0.5) + spread(many[:, 0], 0.5)) / 4, rel=0.06)
    assert whole.items.tolist() == [220]


def test_many_tasks_of_few_items_are_not_pulled_to_one_half() -> None:
    """Weights of four items sum to a gamma variate of shape 2; ten pseudo-items, one a task, would give 2.5 / 3."""
    rows = pl.concat([table([[1]] * 4, task=f"t{number}") for number in range(10)])
    *_, whole = profiles(rows)
    assert whole.draws.mean() == pytest.approx(2.05 / 2.1, abs=0.002)


def test_a_length_that_one_task_lacks_is_not_complete_and_in_no_average() -> None:
    rows = pl.concat([table([[1, 0], [1, 1]], task="a"), table([[0], [0]], task="b")])
    *_, whole = profiles(rows, replicates=50)
    assert whole.complete.tolist() == [True, False]
    assert whole.means.tolist() == [0.5, 0.5]  # over both tasks; over the one that there is
    average = average_scores(rows)[-1]
    assert (average.mean, average.lengths) == (0.5, (LENGTHS[0],))


def test_some_lengths_of_a_profile_are_those_lengths(one: Profile) -> None:
    part = at_columns(one, np.array([True, False, True]))
    assert part.lengths.tolist() == [LENGTHS[0], LENGTHS[2]]
    assert part.means.tolist() == one.means[[0, 2]].tolist()
    assert (part.draws == one.draws[:, [0, 2]]).all()
    assert (part.sums[0][0] == one.sums[0][0][:, [0, 2]]).all()
    assert len(part.gaps) == len(part.tallies) == 2


def test_chance_is_a_fact_without_a_prior() -> None:
    rows = to_frame(row(1.0, item=item, chance=0.25) for item in range(5))
    (task, _) = profiles(rows, replicates=50)
    assert task.chance.tolist() == [0.25]
    assert task.chance_draws.ravel() == pytest.approx(np.full(50, 0.25))


# ------------------------------------------------------------------------------------------------------- LongScore


def test_longscore_is_the_mean_of_the_changes_from_the_base() -> None:
    levels = np.array([0.9, 0.7, 0.8, 0.4, 0.6, 0.2])  # 2k, 4k, 6k; 8k, 16k, 32k
    rows = table([(levels + shift).tolist() for shift in (-0.1, 0.0, 0.1)])
    (found, _) = longscore(rows)
    assert found.base == pytest.approx(0.8)
    assert [point.value for point in found.points] == pytest.approx([-0.5, -0.25, -0.75])
    assert [point.length for point in found.points] == list(LENGTHS[3:])
    assert found.average == pytest.approx(-0.5)
    assert found.base_lengths == LENGTHS[:3]


def test_the_interval_of_longscore_is_that_of_a_direct_bootstrap_of_the_ratio() -> None:
    rng = np.random.default_rng(9)
    ease = rng.normal(0, 0.2, (150, 1))
    levels = np.array([0.7, 0.7, 0.7, 0.5, 0.4, 0.3])
    scores = np.clip(levels + ease + rng.normal(0, 0.1, (150, 6)), 0, 1)
    (found, _) = longscore(table(scores.tolist()))
    drawn = []
    for _ in range(4000):  # the plain bootstrap: items drawn with replacement, at all lengths together
        own = scores[rng.integers(0, 150, 150)].mean(axis=0)
        drawn.append(own[3:].mean() / own[:3].mean() - 1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.average_interval is not None
    assert found.average_interval.low == pytest.approx(low, abs=0.1 * (high - low))
    assert found.average_interval.high == pytest.approx(high, abs=0.1 * (high - low))


def test_the_base_of_the_code_pools_scores_and_does_not_average_lengths() -> None:
    rows = table([[1, 1, 1, 0.5], [1, None, None, 0.5], [0, None, None, 0.5]]).drop_nulls("value")
    paper, code = longscore(rows)[0], longscore(rows, base="code")[0]
    assert paper.base == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert code.base == pytest.approx(4 / 5)
