"""Paired differences: two scores for each item, their mean difference with its interval and its p-value.

Both come from the same replicates of the Bayesian bootstrap (``fathom.stats.intervals``): p is the level at which the
equal-tailed interval begins to hold 0, so that the 95% interval leaves 0 out exactly where p is below .05.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import Floats, Interval, interval_of, means_of_sums, resampled_sums

PAIRED_REPLICATES = 10_000
"""Replicates of a difference; no p-value is below 2 / (this number + 1)."""


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


@dataclass(frozen=True, slots=True)
class Differences:
    """How much higher one score is than another, by column: of one task, or averaged over tasks.

    Attributes:
        gaps: Mean difference, by column.
        draws: Its replicates, replicates x columns.
        first: Means of the first scores in every replicate, replicates x columns, for figures of one score.
        second: Those of the second scores.
        items: Items in each column.
        at_any: Items in any column.
    """

    gaps: Floats
    draws: Floats
    first: Floats
    second: Floats
    items: NDArray[np.int64]
    at_any: int

    def gap(self, weights: Floats) -> Gap:
        """The weighted mean of the differences over columns."""
        return gap_of(self.draws @ weights, float(self.gaps @ weights))


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
    ordered = np.sort(draws[~np.isnan(draws)])
    count = len(ordered)
    if count < 2:
        return 1.0
    # The largest share whose quantile is not above 0, and the smallest whose quantile is not below 0.
    not_above = _share_at_zero(ordered, int(np.searchsorted(ordered, 0.0, side="right")))
    not_below = _share_at_zero(ordered, int(np.searchsorted(ordered, 0.0, side="left")))
    positive = not_above < 1 - not_below
    if point == 0 or (point > 0) != positive:
        return 1.0
    return min(1.0, max(2 * min(not_above, 1 - not_below), 2 / (count + 1)))


def _share_at_zero(ordered: Floats, place: int) -> float:
    """The share at which ``numpy.quantile`` gives 0, if it comes before the value at a place."""
    if place in (0, len(ordered)):
        return float(place > 0)
    below, above = ordered[place - 1], ordered[place]
    return float((place - 1 - below / (above - below)) / (len(ordered) - 1))


def paired(
    first: Floats,
    second: Floats,
    rng: np.random.Generator,
    *,
    prior: float = 1.0,
    replicates: int = PAIRED_REPLICATES,
) -> Differences:
    """Pairs two tables of scores.

    Args:
        first: Scores in [0, 1], items x columns; NaN where either score is absent.
        second: The scores to compare them with, NaN in the same cells; every column has an item.
        rng: Source of the weights.
        prior: Weight of the pseudo-item of one score, see ``fathom.stats.intervals``. A difference of two scores holds
            two: with one, scores of 0 and 1 of 15 to 20 items differ by chance at p < .05 in 7% of cases.
        replicates: Number of replicates.
    """
    known = ~np.isnan(first)
    counted = known.sum(axis=0)
    columns = first.shape[1]
    sums = resampled_sums(np.concatenate([first, second], axis=1), rng, replicates=replicates)
    means = means_of_sums(sums, rng, prior=prior)
    cautious = means_of_sums(sums, rng, prior=2 * prior)
    return Differences(
        gaps=np.where(known, first - second, 0.0).sum(axis=0) / counted,
        draws=cautious[:, :columns] - cautious[:, columns:],
        first=means[:, :columns],
        second=means[:, columns:],
        items=counted,
        at_any=int(known.any(axis=1).sum()),
    )


def averaged(parts: Sequence[Differences]) -> Differences:
    """The mean over tasks with equal weight; items are added up.

    Args:
        parts: At least one, with the same columns; each drawn with a prior of 1 over their number.
    """
    return Differences(
        gaps=np.mean([part.gaps for part in parts], axis=0),
        draws=np.mean([part.draws for part in parts], axis=0),
        first=np.mean([part.first for part in parts], axis=0),
        second=np.mean([part.second for part in parts], axis=0),
        items=np.sum([part.items for part in parts], axis=0),
        at_any=sum(part.at_any for part in parts),
    )
