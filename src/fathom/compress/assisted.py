"""Estimates from a probability sample, assisted by known models, with intervals.

The estimate is ``prediction + trust * correction``. The prediction uses observed scores where available and
expected ones (``abilities``) elsewhere; the correction adds the observed errors of the expectation, weighted by the
inverse of the items' probabilities. With a trust of 1 that is the difference estimator, unbiased for any model
(Särndal, Swensson and Wretman 1992, chapter 6). A smaller trust trades variance for some bias; the best trust, and the
width of the intervals, are learned by leaving out one known model after the other. The idea of tuning the
correction is that of power-tuned prediction-powered inference (Angelopoulos et al. 2023, arXiv:2311.01453).

New models that score above all known ones could not have been left out: they get a trust of 1.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.compress.abilities import Abilities, expected, learn
from fathom.compress.matrix import Floats
from fathom.compress.sampling import draw, inclusion, likeness_tree
from fathom.parallel.units import one_thread

Z = 1.959963984540054  # of the normal distribution, for differences and for methods without known models
FEWEST = 5  # known models needed to learn from leaving one out
REPEATS = 2  # samples for each known model that is left out
BELIEF = 10.0  # weight of the nominal interval, in left-out models
PRIOR_NOISE = 4.0  # weight of the noise among known models in the variance of an estimate, in items
PRIOR_COIN = 0.5  # weight of a fair binary score, in items
COIN = 0.25  # variance of a fair binary score


@dataclass(frozen=True)
class Estimates:
    """Estimated scores of M models for T targets, such as the whole benchmark and its categories; NaN without one.

    Attributes:
        values: Shape (M, T).
        low: Lower ends of 95% intervals, shape (M, T); NaN also for a target without any asked items, which is
            only predicted.
        high: Upper ends, shape (M, T).
    """

    values: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Calibration:
    """What leaving out known models shows, for each of T targets.

    Attributes:
        trust: Weight of the correction, in [0, 1], shape (T,).
        stretch: Factor on the standard error, shape (T,).
        least: Lowest score of a known model, shape (T,).
        most: Highest, shape (T,).
    """

    trust: Floats
    stretch: Floats
    least: Floats
    most: Floats


@dataclass(frozen=True)
class _Pieces:
    """Prediction, correction and standard error of M models for T targets, each of shape (M, T)."""

    prediction: Floats
    correction: Floats
    error: Floats


def stretched(targets: Floats, stretch: float = 1.0) -> Calibration:
    """Full trust in the correction, and nominal intervals times a factor, if no known models could be left out."""
    ones = np.ones(len(targets))
    return Calibration(ones, stretch * ones, -np.inf * ones, np.inf * ones)


@one_thread("scipy.cluster.hierarchy")
def calibrate(
    scores: Floats,
    strata: NDArray[np.int64],
    targets: Floats,
    groups: Sequence[Sequence[Hashable]],
    budget: float,
    rng: np.random.Generator,
    costs: Floats | None = None,
) -> Calibration:
    """Learns trust and stretch by treating each known model as new.

    Args:
        scores: Scores of known models, shape (M, N), without gaps.
        strata: Number of each item's stratum, shape (N,).
        targets: Share of each item in each target, shape (T, N), rows summing to 1; the first is the whole benchmark,
            for which the design is made.
        groups: Groups of each item, see ``likeness_tree``.
        budget: Number of items, or their total cost.
        costs: Cost of each item, for a budget of costs.

    Returns:
        The calibration; ``stretched`` by 1 with fewer than five models.
    """
    if len(scores) < FEWEST:
        return stretched(targets)
    truth = scores @ targets.T
    pieces: list[_Pieces] = []
    for left_out in range(len(scores)):
        others = np.delete(scores, left_out, axis=0)
        known = learn(others, strata)
        chances = inclusion(targets[0] * known.spread, budget, costs)
        tree = likeness_tree(others.T, groups)  # without the model, whose own scores would bias the result
        for _ in range(REPEATS):
            seen = draw(chances, tree, rng)
            pieces.append(_pieces(known, targets, seen, chances[seen], scores[left_out : left_out + 1, seen]))
    prediction, correction, error = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("prediction", "correction", "error")
    )
    gap = np.repeat(truth, REPEATS, axis=0) - prediction
    power = (correction**2).sum(axis=0)
    trust = np.clip(np.divide((correction * gap).sum(axis=0), power, out=np.ones_like(power), where=power > 0), 0, 1)
    missed = gap - trust * correction
    standard = np.divide(missed, error, out=np.zeros_like(missed), where=error > 0)
    stretch = np.sqrt(((standard**2).sum(axis=0) / REPEATS + BELIEF) / (len(scores) + BELIEF))
    return Calibration(trust, stretch, truth.min(axis=0), truth.max(axis=0))


def estimated(
    known: Abilities,
    targets: Floats,
    seen: NDArray[np.int64],
    chances: Floats,
    scores: Floats,
    calibration: Calibration,
) -> Estimates:
    """Estimates the scores of new models.

    Args:
        known: Statistics from known models.
        targets: Share of each item in each target, shape (T, N).
        seen: Numbers of the n drawn items.
        chances: Their probabilities, shape (n,).
        scores: The models' scores on them, shape (M, n); NaN without a score. Such items are taken as missing at
            random: the others of their stratum represent them.
        calibration: See ``calibrate``.

    Returns:
        Estimates for M models and T targets; NaN for a model without a score.
    """
    shape = (len(scores), len(targets))
    values, low, high = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    scored = ~np.isnan(scores)
    for pattern in np.unique(scored, axis=0):
        rows = np.flatnonzero((scored == pattern).all(axis=1))
        if not pattern.any():
            continue
        answered = answered_share(known.strata[seen], pattern)
        part = _pieces(known, targets, seen[pattern], (chances * answered)[pattern], scores[np.ix_(rows, pattern)])
        unbiased = part.prediction + part.correction
        inside = (calibration.least <= unbiased) & (unbiased <= calibration.most)
        values[rows] = np.where(inside, part.prediction + calibration.trust * part.correction, unbiased)
        half = _quantile(targets[:, seen[pattern]]) * calibration.stretch * part.error
        low[rows], high[rows] = values[rows] - half, values[rows] + half
    # Scores are between 0 and 1, and so are estimates.
    return Estimates(np.clip(values, 0, 1), np.clip(low, 0, 1), np.clip(high, 0, 1))


def _quantile(shares: Floats) -> Floats:
    """97.5% quantile of Student's distribution by the number of items that count for each target, shape (T,)."""
    from scipy.special import stdtrit

    count = (shares > 0).sum(axis=1)
    quantile: Floats = stdtrit(count + PRIOR_NOISE, 0.975)
    return quantile


def answered_share(strata: NDArray[np.int64], scored: NDArray[np.bool_]) -> Floats:
    """Share of the drawn items of a stratum that have a score.

    Args:
        strata: Number of each drawn item's stratum, shape (n,).
        scored: Whether it has a score, shape (n,).

    Returns:
        For each drawn item, shape (n,); the share over all strata where none of its stratum has a score.
    """
    drawn = np.bincount(strata)
    have = np.bincount(strata, weights=scored)
    share = np.divide(have, drawn, out=np.zeros(len(drawn)), where=drawn > 0)
    share[share == 0] = scored.mean()
    shares: Floats = share[strata]
    return shares


def _pieces(known: Abilities, targets: Floats, seen: NDArray[np.int64], chances: Floats, scores: Floats) -> _Pieces:
    guess = expected(known, seen, scores)
    missed = scores - guess[:, seen]
    own = targets[:, seen]
    heavier = own / chances - own
    error = np.sqrt(_variance(known, targets, seen, chances, missed))
    return _Pieces(
        prediction=guess @ targets.T + missed @ own.T,
        correction=missed @ heavier.T,
        error=np.where(own.any(axis=1), error, np.nan),
    )


def _variance(known: Abilities, targets: Floats, seen: NDArray[np.int64], chances: Floats, missed: Floats) -> Floats:
    """Variance of the estimates, shape (M, T).

    It combines the weighted observed errors with a few items' worth of the variance that known models suggest and half
    an item of a fair binary score, because a few items that happen to be predicted well prove little. It is never below
    the noise of the unobserved scores.
    """
    own = targets[:, seen]
    spread = (own / chances) ** 2 * (1 - chances)
    count = (spread > 0).sum(axis=1)
    observed = count / np.maximum(count - 1, 1) * (missed**2 @ spread.T)  # as for the variance of any mean
    believed = PRIOR_NOISE * (spread @ known.noise[seen]) + PRIOR_COIN * COIN * spread.sum(axis=1)
    mixed = (count * observed + believed) / (count + PRIOR_NOISE + PRIOR_COIN)
    unasked = np.ones(targets.shape[1], dtype=bool)
    unasked[seen] = False
    least = (targets**2 * known.noise)[:, unasked].sum(axis=1)
    variance: Floats = np.maximum(mixed, least)
    return variance
