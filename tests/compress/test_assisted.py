"""Assisted estimates: without bias for any model, intervals that hold the truth, and what happens to missing scores."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fathom.compress.abilities import Abilities
from fathom.compress.assisted import Calibration, Z, calibrate, estimated, stretched
from fathom.compress.design import Design, design
from fathom.compress.matrix import Floats, checked_matrix
from made_scores import made_scores


def without_abilities(means: Floats) -> Abilities:
    """Items of one stratum whose expected scores do not move with what is seen."""
    ones = np.ones(len(means))
    return Abilities(np.zeros(len(means), dtype=np.int64), means, ones, ones, ones, np.eye(1) * 1e-12)


def draws_of(made: Design, count: int) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return [replace(made, seed=seed).sample() for seed in range(count)]


# ------------------------------------------------------------------------------------------------------ the formula


def test_the_estimate_by_hand() -> None:
    known = without_abilities(np.array([0.5, 0.4, 0.3, 0.8]))
    shares = np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 3 / 7, 4 / 7]])
    seen, chances, scores = np.array([1, 3]), np.array([0.25, 0.5]), np.array([[1.0, 0.6]])
    found = estimated(known, shares, seen, chances, scores, stretched(shares))
    expected = 0.05 + 0.08 + 0.09 + 0.32  # of all items, and then what was missed over the probability
    assert found.values[0, 0] == pytest.approx(expected + 0.2 * 0.6 / 0.25 - 0.4 * 0.2 / 0.5)
    assert found.values[0, 1] == pytest.approx(0.9 / 7 + 3.2 / 7 - 4 / 7 * 0.2 / 0.5)
    heavy = np.array([(0.2 / 0.25) ** 2 * 0.75, (0.4 / 0.5) ** 2 * 0.5])
    observed = 2 * (heavy[0] * 0.6**2 + heavy[1] * 0.2**2)
    variance = (2 * observed + 4 * heavy.sum() + 0.5 * 0.25 * heavy.sum()) / (2 + 4 + 0.5)  # the noise is 1
    wide = estimated(known, shares, seen, chances, scores, stretched(shares, 0.01))
    student = 2.446912  # 97.5% quantile with 6 degrees of freedom
    assert wide.high[0, 0] - wide.values[0, 0] == pytest.approx(0.01 * student * math.sqrt(variance))
    predicted = estimated(known, shares, seen, chances, scores, calibration_of(trust=0.0, most=1.0))
    assert predicted.values[0, 0] == pytest.approx(expected + 0.2 * 0.6 - 0.4 * 0.2)


def test_items_that_happen_to_be_guessed_well_prove_little() -> None:
    made = design(made_scores(6, 120), 90)
    items = made.sample()
    guessed = made.known.means[items]  # not an error in sight
    found = made.estimate(items, guessed[None], stretched(made.targets.shares))
    unasked = np.setdiff1d(np.arange(120), items)
    least = (made.targets.shares[0, unasked] ** 2 * made.known.noise[unasked]).sum()
    assert (found.high - found.low)[0, 0] / 2 > Z * math.sqrt(least)
    zeros = design(
        checked_matrix(
            "zeros",
            ["a", "b"],
            [str(n) for n in range(120)],
            np.zeros((2, 120)),
            tasks=["t"] * 120,
            categories=[""] * 120,
        ),
        30,
    )
    items = zeros.sample()
    nothing = zeros.estimate(items, np.zeros((1, len(items))), stretched(zeros.targets.shares))
    assert nothing.high[0, 0] > 0.01


def calibration_of(trust: float, most: float) -> Calibration:
    return Calibration(np.full(2, trust), np.ones(2), np.zeros(2), np.full(2, most))


def test_a_model_beyond_all_known_ones_is_not_predicted() -> None:
    known = without_abilities(np.full(10, 0.3))
    shares = np.full((1, 10), 0.1)
    seen, chances = np.arange(5), np.full(5, 0.5)
    scores = np.array([[0.9] * 5, [0.4] * 5])
    calibration = Calibration(np.array([0.25]), np.ones(1), np.array([0.1]), np.array([0.5]))
    found = estimated(known, shares, seen, chances, scores, calibration).values[:, 0]
    assert found[0] == pytest.approx(0.3 + 0.6)  # full trust, whatever the known models taught
    assert found[1] == pytest.approx(0.3 + 0.1 * 0.5 + 0.25 * 0.1 * 0.5)


# --------------------------------------------------------------------------------------------- over repeated draws


@pytest.mark.parametrize("kind", ["opposite", "shuffled", "perfect"])
def test_estimates_are_without_bias_for_models_unlike_all_known_ones(kind: str) -> None:
    known = made_scores(12, seed=1)
    made = design(known, 40)
    scores = {
        "opposite": 1 - known.scores.mean(axis=0),
        "shuffled": np.random.default_rng(0).permutation((known.scores[0] > 0.5).astype(np.float64)),
        "perfect": np.ones(120) - 0.05 * (np.arange(120) % 3),
    }[kind]
    truth = float(scores @ known.weights)
    trusted = stretched(made.targets.shares)
    found = np.array([made.estimate(s, scores[None, s], trusted).values[0, 0] for s in draws_of(made, 300)])
    assert abs(found.mean() - truth) < 4 * found.std() / math.sqrt(300) + 0.004
    blind = replace(trusted, trust=np.zeros(len(trusted.trust)))
    if kind != "perfect":  # the mere prediction is far off: the correction is what the test is about
        off = np.mean([made.estimate(s, scores[None, s], blind).values[0, 0] for s in draws_of(made, 50)]) - truth
        assert abs(off) > 0.012


@pytest.mark.parametrize("binary", [False, True])
def test_intervals_hold_the_truth_of_new_models(binary: bool) -> None:
    held, widths, errors = [], [], []
    for seed in range(6):
        world = made_scores(40, 160, seed=seed, binary=binary)
        made = design(world.of_models(range(12)), 48, seed=seed)
        calibration = made.calibration()
        assert ((calibration.trust >= 0) & (calibration.trust <= 1)).all()
        assert (calibration.stretch > 0.5).all()
        new = world.of_models(range(12, 40))
        for seen in draws_of(made, 3):
            found = made.estimate(seen, new.scores[:, seen], calibration)
            held.append((found.low[:, 0] <= new.totals()) & (new.totals() <= found.high[:, 0]))
            widths.append((found.high - found.low)[:, 0] / 2)
            errors.append(np.abs(found.values[:, 0] - new.totals()))
    assert 0.89 <= np.mean(held) <= 0.985
    assert 2 <= np.mean(widths) / np.mean(errors) <= 3.2  # 2.46 for a normal law


def test_trust_and_range_are_learned_from_models_left_out() -> None:
    rng = np.random.default_rng(0)
    scores = np.clip(np.linspace(0.2, 0.7, 12)[:, None] + rng.normal(0, 0.02, (12, 100)), 0, 1)
    groups, strata, shares = [("t",)] * 100, np.zeros(100, dtype=np.int64), np.full((1, 100), 0.01)
    found = calibrate(scores, strata, shares, groups, 20, np.random.default_rng(1))
    assert 0 <= found.trust[0] < 0.9  # abilities say nearly all, so that corrections are mostly chance
    assert (found.least[0], found.most[0]) == pytest.approx((0.2, 0.7), abs=0.02)
    few = calibrate(scores[:4], strata, shares, groups, 20, np.random.default_rng(1))
    assert (few.trust.tolist(), few.stretch.tolist()) == ([1.0], [1.0])  # four are too few to leave one out
    assert (few.least.tolist(), few.most.tolist()) == ([-np.inf], [np.inf])


# -------------------------------------------------------------------------------------------- scores that are not there


def test_missing_scores_are_stood_in_for() -> None:
    world = made_scores(20, 160, seed=5)
    made = design(world.of_models(range(12)), 80)
    trusted = stretched(made.targets.shares)
    new = world.of_models(range(12, 20))
    seen = made.sample()
    rng = np.random.default_rng(0)
    apart, wider = [], []
    for _ in range(40):
        scores = new.scores[:, seen].copy()
        scores[0, rng.random(len(seen)) < 0.3] = np.nan
        scores[1] = np.nan
        found = made.estimate(seen, scores, trusted)
        apart.append(found.values[0, 0] - made.estimate(seen, new.scores[:, seen], trusted).values[0, 0])
        wider.append(found.high[0, 0] - found.low[0, 0])
        assert np.isnan([found.values[1], found.low[1], found.high[1]]).all()  # no score, no estimate
        whole = made.estimate(seen, new.scores[2:, seen], trusted)
        assert found.values[2:] == pytest.approx(whole.values)  # nobody else's estimate changes
    full = made.estimate(seen, new.scores[:1, seen], trusted)
    assert abs(np.mean(apart)) < 4 * np.std(apart) / math.sqrt(40) + 0.002
    assert np.mean(wider) > 1.05 * (full.high[0, 0] - full.low[0, 0])


def test_a_category_of_which_nothing_was_asked_has_no_interval() -> None:
    world = made_scores(9, seed=6)
    made = design(world.of_models(range(8)), 20)
    first = np.flatnonzero(np.array(world.categories) == "a")[::6]
    found = made.estimate(first, world.scores[8:, first], made.calibration())
    assert made.targets.names == ("overall", "a", "b")
    assert np.isfinite(found.values).all()
    assert np.isnan(found.low[0]).tolist() == [False, False, True]
    assert np.isnan(found.high[0]).tolist() == [False, False, True]
