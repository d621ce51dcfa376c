"""Differences of scores: their intervals and p-values, from replicates that several scores share.

Every question has the same weight in a replicate whatever model it was put to, so that what is hard for all cancels in
a difference. Interval and p-value come from the same replicates of the Bayesian bootstrap (``fathom.stats.intervals``):
p is the level up to which the equal-tailed interval holds 0, so that the 95% interval leaves 0 out exactly where p is
below .05. Replicates depend on the questions, the seed and the name of each score alone, so that a difference is the
same in every table and on every page that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import Floats, Interval, generator, interval_of, means_of_sums, resampled_sums

PAIRED_REPLICATES = 10_000
"""Replicates of a difference; no p-value is below 2 / (this number + 1)."""
_ROUNDING = 1e-12  # equal scores may differ by so much, by the order in which they are added up
PSEUDO_ITEMS = 2.0
"""Those in a difference of two scores, one for each. With one in all, right and wrong of 15 to 20 questions differ by
chance at p < .05 in 7% of cases."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean difference.

    Attributes:
        difference: Mean of first less mean of second.
        interval: Its 95% interval.
        p_value: Two-sided; below .05 exactly where the interval does not hold 0.
    """

    difference: float
    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Resampled sums of one score on one task, which share their weights with others (:func:`shared_sums`).

    Attributes:
        scored: Weighted sums of scores, replicates x columns.
        mass: Sums of the weights that they had.
        seed: Seed of the analysis.
        name: Of the task and the score, for what is drawn for it alone.
    """

    scored: Floats
    mass: Floats
    seed: int
    name: str

    def at(self, columns: Sequence[int]) -> Sums:
        """Those in some columns."""
        chosen = list(columns)
        return replace(self, scored=self.scored[:, chosen], mass=self.mass[:, chosen])


def system_key(model: str, variant: str) -> str:
    """The name by which replicates of a model and variant are drawn."""
    return f"{model}\x1f{variant}"


def shared_sums(
    tables: Mapping[str, tuple[Sequence[str], Floats]],
    task: str,
    seed: int,
    *,
    replicates: int = PAIRED_REPLICATES,
) -> dict[str, Sums]:
    """Resampled sums of several scores on one task; a question has the same weight in all of them.

    Args:
        tables: By the name of the score: names of its items, and their scores in [0, 1], items x columns, NaN where
            there is none.
        task: Name of the task.
        seed: Seed of the analysis.
        replicates: Number of replicates.
    """
    names = sorted({name for own, _ in tables.values() for name in own})
    place = {name: line for line, name in enumerate(names)}
    wide = []
    for own, scores in tables.values():
        table = np.full((len(names), scores.shape[1]), np.nan)
        table[[place[name] for name in own]] = scores
        wide.append(table)
    scored, mass = resampled_sums(np.concatenate(wide, axis=1), generator(seed, task), replicates=replicates)
    ends = np.cumsum([table.shape[1] for table in wide])[:-1]
    parts = zip(tables, np.split(scored, ends, axis=1), np.split(mass, ends, axis=1), strict=True)
    return {name: Sums(own, weights, seed, f"{task}\x1f{name}") for name, own, weights in parts}


def drawn_means(tasks: Sequence[Sums], columns: Sequence[int], pseudo: float = PSEUDO_ITEMS) -> Floats:
    """Replicates of the mean of a score over some columns, then over tasks, with equal weights.

    Args:
        tasks: Its sums on each task.
        columns: Which columns; they mean the same in all tasks.
        pseudo: Weight of the pseudo-items that the mean holds in all.

    Returns:
        One value for each replicate.
    """
    prior = pseudo / (len(tasks) * len(columns))
    means: Floats = np.mean([drawn_columns(one, columns, prior).mean(axis=1) for one in tasks], axis=0)
    return means


def drawn_columns(task: Sums, columns: Sequence[int], prior: float) -> Floats:
    """Replicates of the mean of a score in each of some columns of one task.

    Args:
        task: Its sums.
        columns: Which columns.
        prior: Weight of the pseudo-item of each.

    Returns:
        Replicates x columns.
    """
    chosen = task.at(columns)
    rng = generator(task.seed, f"{task.name}\x1f{list(columns)}")
    return means_of_sums((chosen.scored, chosen.mass), rng, prior=prior)


def gap_of(draws: Floats, point: float) -> Gap:
    """A difference with the interval and the p-value that its replicates give.

    Args:
        draws: Replicates of the difference, shape (replicates,); NaN ones are left out.
        point: The difference itself.
    """
    return Gap(point, interval_of(draws, point), p_value(draws, point))


def p_value(draws: Floats, point: float) -> float:
    """The two-sided p-value of a difference: the level up to which its intervals hold 0.

    Args:
        draws: Replicates of the difference, shape (replicates,); NaN ones are left out.
        point: The difference itself. Intervals always hold it, so that p is 1 where it lies at 0, or on the other side
            of 0 than most replicates do.
    """
    known = draws[~np.isnan(draws)]
    count = len(known)
    if count < 2:
        return 1.0
    # The largest share whose quantile is not above 0, and the smallest whose quantile is not below 0.
    not_above = _share_at_zero(known, known <= 0)
    not_below = _share_at_zero(known, known < 0)
    positive = not_above < 1 - not_below
    if abs(point) < _ROUNDING or (point > 0) != positive:
        return 1.0
    return min(1.0, max(2 * min(not_above, 1 - not_below), 2 / (count + 1)))


def _share_at_zero(draws: Floats, before: NDArray[np.bool_]) -> float:
    """The share at which ``numpy.quantile`` gives 0, if it comes after the values that are marked."""
    place = int(before.sum())
    if place in (0, len(draws)):
        return float(place > 0)
    below, above = draws[before].max(), draws[~before].min()
    return float((place - 1 - below / (above - below)) / (len(draws) - 1))


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """How much higher one score is than another, of the same items, on one task or on several.

    Attributes:
        first: Sums of the first score on each task.
        second: Those of the second.
        gaps: Mean difference on each task, tasks x columns.
    """

    first: tuple[Sums, ...]
    second: tuple[Sums, ...]
    gaps: Floats

    def gap(self, columns: Sequence[int]) -> Gap:
        """The mean difference over some columns and all tasks."""
        draws = drawn_means(self.first, columns) - drawn_means(self.second, columns)
        return gap_of(draws, float(self.gaps[:, list(columns)].mean()))

    def at(self, columns: Sequence[int]) -> Differences:
        """Those in some columns."""
        first, second = (tuple(one.at(columns) for one in own) for own in (self.first, self.second))
        return Differences(first, second, self.gaps[:, list(columns)])

    def __add__(self, other: Differences) -> Differences:
        """Over the tasks of both."""
        return Differences(
            self.first + other.first, self.second + other.second, np.concatenate([self.gaps, other.gaps])
        )


def paired(
    names: Sequence[str],
    first: Floats,
    second: Floats,
    task: str,
    seed: int,
    *,
    called: tuple[str, str] = ("first", "second"),
    replicates: int = PAIRED_REPLICATES,
) -> Differences:
    """Pairs two tables of scores.

    Args:
        names: Names of the items.
        first: Scores in [0, 1], items x columns; NaN where either score is absent.
        second: The scores to compare them with, NaN in the same cells; every column has an item.
        task: Name of the task.
        seed: Seed of the analysis.
        called: Names of the two scores.
        replicates: Number of replicates.
    """
    known = ~np.isnan(first)
    gaps = np.where(known, first - second, 0.0).sum(axis=0) / known.sum(axis=0)
    one, other = called
    sums = shared_sums({one: (names, first), other: (names, second)}, task, seed, replicates=replicates)
    return Differences((sums[one],), (sums[other],), gaps[None, :])
