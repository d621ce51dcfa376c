"""Paired differences: two scores for each item, their mean difference with its interval, and a sign-flip p-value.

The p-value is that of a permutation test: if there were no difference, each item's own would as well have come out with
the other sign (Dror et al. 2018, "The Hitchhiker's Guide to Testing Statistical Significance in Natural Language
Processing", section 3.2, approximate randomisation). An item's differences in all columns are flipped together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import Floats, Interval, interval_of, resampled_means

PERMUTATIONS = 10_000


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean difference.

    Attributes:
        difference: Mean of first less mean of second.
        interval: Its 95% interval.
        p_value: Two-sided sign-flip permutation p-value.
    """

    difference: float
    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True)
class Differences:
    """How much higher one score is than another, by column: of one task, or averaged over tasks.

    Attributes:
        gaps: Mean difference, by column.
        first: Means of the first scores in every replicate, replicates x columns.
        second: Those of the second scores.
        flips: Mean differences with flipped signs, permutations x columns; no row where scores are not paired.
        items: Items in each column.
        at_any: Items in any column.
    """

    gaps: Floats
    first: Floats
    second: Floats
    flips: Floats
    items: NDArray[np.int64]
    at_any: int

    def gap(self, weights: Floats) -> Gap:
        """The weighted mean of the differences over columns; its p-value is 1 where scores are not paired."""
        point = float(self.gaps @ weights)
        # The slack counts permutations that are the same sum in another order.
        extreme = int((np.abs(self.flips @ weights) >= abs(point) - 1e-12).sum())
        interval = interval_of((self.first - self.second) @ weights, point)
        return Gap(point, interval, (extreme + 1) / (len(self.flips) + 1))


def paired(
    first: Floats,
    second: Floats,
    rng: np.random.Generator,
    *,
    prior: float = 1.0,
    permutations: int = PERMUTATIONS,
) -> Differences:
    """Pairs two tables of scores.

    Args:
        first: Scores in [0, 1], items x columns; NaN where either score is absent.
        second: The scores to compare them with, NaN in the same cells; every column has an item.
        rng: Source of weights and signs.
        prior: Weight of the pseudo-item, see ``fathom.stats.intervals``.
        permutations: Number of random sign flips; the smallest p-value is 1 / (permutations + 1).
    """
    known = ~np.isnan(first)
    counted = known.sum(axis=0)
    gaps = np.where(known, first - second, 0.0)
    columns = first.shape[1]
    draws = resampled_means(np.concatenate([first, second], axis=1), rng, prior=prior)
    signs = np.array([-1.0, 1.0])
    flips = [rng.choice(signs, (size, len(gaps))) @ gaps / counted for size in _blocks(permutations, len(gaps))]
    return Differences(
        gaps=gaps.sum(axis=0) / counted,
        first=draws[:, :columns],
        second=draws[:, columns:],
        flips=np.concatenate(flips),
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
        first=np.mean([part.first for part in parts], axis=0),
        second=np.mean([part.second for part in parts], axis=0),
        flips=np.mean([part.flips for part in parts], axis=0),
        items=np.sum([part.items for part in parts], axis=0),
        at_any=sum(part.at_any for part in parts),
    )


def _blocks(count: int, items: int) -> list[int]:
    """Sizes of blocks of permutations whose signs take at most 32 MB at once."""
    step = max(1, 4_000_000 // max(items, 1))
    return [min(step, count - start) for start in range(0, count, step)]
