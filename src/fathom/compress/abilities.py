"""Expected scores of a new model on unseen items: an ability for each task, learned from known models.

Each task (or other stratum) has one ability for each model: the difference of the model's mean to the mean of the known
models. An item's score is its mean plus its slope times that ability. Slopes are shrunk towards 1 as far as chance
explains their spread over the task's items (empirical Bayes); abilities of a new model are inferred from its observed
scores, with the known models' covariance over tasks as a wide prior.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.compress.matrix import Floats

PRIOR_ITEMS = 6.0  # weight of a task's mean spread against an item's own, in known models
PRIOR_STRATA = 1.0  # weight of the mean spread of all tasks against a task's own, in known models
WIDER = 2.0  # factor by which new models may differ more from known ones than these from each other
ALIKE = 0.7  # weight of the known covariance between tasks
_LEAST = 1e-4
_NO_TASK_LEFT = 1e-6


@dataclass(frozen=True)
class Abilities:
    """Statistics of items and tasks, learned from known models.

    Attributes:
        strata: Number of the stratum of each item, shape (N,), from 0 to S - 1.
        means: Mean score of each item, shape (N,).
        slopes: How much an item's score rises with the ability in its stratum, shape (N,).
        noise: Variance of a score around that, shape (N,).
        spread: Standard deviation of a score around the mean of item and stratum, shape (N,), as needed by a design.
        covariance: Prior covariance of a new model's abilities, shape (S, S).
    """

    strata: NDArray[np.int64]
    means: Floats
    slopes: Floats
    noise: Floats
    spread: Floats
    covariance: Floats


def learn(scores: Floats, strata: NDArray[np.int64]) -> Abilities:
    """Learn from known models.

    Args:
        scores: Scores of known models, shape (M, N), in [0, 1]; see ``without_gaps``. M may be 0.
        strata: Number of each item's stratum, shape (N,), from 0 without gaps.

    Returns:
        The statistics; with one or two models all slopes are 1. With one, the spread in a stratum is that of a binary
        score with the stratum's mean (by the rule of succession, so that it is never 0); with none, every mean is 0.5.
    """
    models, items = scores.shape
    count = int(strata.max(initial=-1)) + 1
    means = scores.mean(axis=0) if models else np.full(items, 0.5)
    slopes, noise, spread = np.ones(items), np.empty(items), np.empty(items)
    abilities = np.empty((models, count))
    for stratum in range(count):
        inside = np.flatnonzero(strata == stratum)
        apart = scores[:, inside] - means[inside]
        ability = apart.mean(axis=1) if models else np.zeros(0)
        abilities[:, stratum] = ability
        if len(inside) == 1:  # a stratum of one item: the differences between models are all of its spread
            spread[inside] = np.sqrt(_shrunk(_variance(apart, means[inside], models), models))
            noise[inside] = spread[inside] ** 2
            continue
        spread[inside] = np.sqrt(_shrunk(_variance(apart - ability[:, None], means[inside], models), models))
        slopes[inside] = _slopes(apart, ability)
        left = _variance(apart - ability[:, None] * slopes[inside], means[inside], models)
        noise[inside] = _shrunk(left, models)
    spread = np.sqrt(_levelled(spread**2, strata, models))
    return Abilities(strata, means, slopes, noise, spread, _covariance(abilities))


def expected(known: Abilities, seen: NDArray[np.int64], scores: Floats) -> Floats:
    """Expected scores of new models on all items.

    Args:
        known: Statistics from known models.
        seen: Numbers of the n items that the models were asked.
        scores: Their scores there, shape (M, n).

    Returns:
        Shape (M, N), within [0, 1]; also for the observed items.
    """
    if not len(seen):
        return np.tile(known.means, (len(scores), 1))
    count = len(known.covariance)
    loadings = np.zeros((count, len(seen)))
    loadings[known.strata[seen], np.arange(len(seen))] = known.slopes[seen]
    weighted = loadings / known.noise[seen]
    gain = np.linalg.solve(np.linalg.inv(known.covariance) + weighted @ loadings.T, weighted)
    abilities = (scores - known.means[seen]) @ gain.T
    clipped: Floats = np.clip(known.means + abilities[:, known.strata] * known.slopes, 0.0, 1.0)
    return clipped


def without_gaps(scores: Floats, strata: NDArray[np.int64]) -> Floats:
    """Scores with gaps filled: the item's mean plus the model's deviation in the stratum.

    Args:
        scores: Shape (M, N); NaN for gaps.

    Returns:
        Scores without gaps, within [0, 1]. An item without any score has the mean of its stratum, and a stratum
        without any score 0.5.
    """
    if not np.isnan(scores).any():
        return scores
    filled = scores.copy()
    for stratum in range(int(strata.max(initial=-1)) + 1):
        inside = np.flatnonzero(strata == stratum)
        part = scores[:, inside]
        scored = ~np.isnan(part)
        overall = part[scored].mean() if scored.any() else 0.5
        counts = scored.sum(axis=0)
        means = np.where(counts > 0, np.where(scored, part, 0.0).sum(axis=0) / np.maximum(counts, 1), overall)
        apart = np.where(scored, part - means, 0.0).sum(axis=1) / np.maximum(scored.sum(axis=1), 1)
        filled[:, inside] = np.where(scored, part, np.clip(means + apart[:, None], 0.0, 1.0))
    return filled


def numbered(labels: Sequence[object]) -> NDArray[np.int64]:
    """Labels as numbers from 0, in the order of their first occurrence."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], dtype=np.int64)


def _variance(apart: Floats, means: Floats, models: int) -> Floats:
    if models < 2:
        mean = (means.sum() + 1) / (len(means) + 2)
        return np.full(len(means), mean * (1 - mean))
    variance: Floats = (apart**2).sum(axis=0) / (models - 1)
    return variance


def _shrunk(variances: Floats, models: int) -> Floats:
    """Variances shrunk towards their mean, because few models say little about one item."""
    own = max(models - 1, 0)
    shrunk: Floats = (variances * own + variances.mean() * PRIOR_ITEMS) / (own + PRIOR_ITEMS) + _LEAST
    return shrunk


def _levelled(variances: Floats, strata: NDArray[np.int64], models: int) -> Floats:
    """Variances of strata shrunk towards the overall variance: new models may differ where known ones do not."""
    own = max(models - 1, 0)
    of_strata = np.bincount(strata, weights=variances) / np.bincount(strata)
    wanted = (of_strata * own + variances.mean() * PRIOR_STRATA) / (own + PRIOR_STRATA)
    levelled: Floats = variances * (wanted / of_strata)[strata]
    return levelled


def _slopes(apart: Floats, ability: Floats) -> Floats:
    models, items = apart.shape
    total = float(ability @ ability)
    if models < 3 or total < _NO_TASK_LEFT:
        return np.ones(items)
    plain = ability @ apart / total
    noise = ((apart - ability[:, None] * plain) ** 2).sum(axis=0) / (models - 2)
    noise = _shrunk(noise, models)
    between = max(float(((plain - 1) ** 2).mean() - noise.mean() / total), 1e-3)
    slopes: Floats = (total * plain / noise + 1 / between) / (total / noise + 1 / between)
    return slopes


def _covariance(abilities: Floats) -> Floats:
    models, count = abilities.shape
    sample_covariance = abilities.T @ abilities / max(models - 1, 1)
    if models < 2:
        sample_covariance = np.eye(count) * 0.1
    own = np.diag(np.diag(sample_covariance))
    wide: Floats = WIDER * (ALIKE * sample_covariance + (1 - ALIKE) * own) + _NO_TASK_LEFT * np.eye(count)
    return wide
