"""Ranks of scores, as ranges: which differences are significant, which ranks each score can have, and who is tied.

The rank of a score is 1 plus the number of truly higher scores. Its range contains the true rank with 95% confidence.
It comes from testing the score against each other one in both directions with Holm's step-down method (Holm 1979), for
any dependence between the tests: with 95% confidence all rejected differences of a score are real, so that at least as
many scores are higher, and lower, as were found. That is the marginal confidence set of Mogstad, Romano, Shaikh and
Wilhelm (2024), "Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement across
Countries", The Review of Economic Studies 91, section 3.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.stats.differences import Gap, pairwise
from fathom.stats.intervals import LEVEL, Floats, Interval


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Ranks of some scores, all in the order of the scores.

    Attributes:
        best: Best rank of each range, from 1.
        worst: Worst rank of each range.
        groups: Tie groups, from 1: a new one begins at a score that differs significantly from any score of the group
            above it. Scores of different groups may still be indistinguishable; see ``best`` and ``worst``.
        significant: Whether the score of the row differs from that of the column, by the tests of the row together.
    """

    best: NDArray[np.int64]
    worst: NDArray[np.int64]
    groups: NDArray[np.int64]
    significant: NDArray[np.bool_]


def ranks_of(differences: Floats, p_values: Floats, level: float = LEVEL) -> Ranks:
    """Ranks from the differences of every two scores.

    Args:
        differences: Score of the row minus that of the column, shape (scores, scores); scores are in descending order.
        p_values: Their two-sided p-values.
        level: Confidence of each score's range.
    """
    found = _significant(p_values, level)
    return Ranks(
        best=1 + (found & (differences < 0)).sum(axis=1),
        worst=len(differences) - (found & (differences > 0)).sum(axis=1),
        groups=_tie_groups(found),
        significant=found,
    )


def gaps_of(scores: Floats, draws: Floats) -> list[list[Gap]]:
    """The difference of every two scores: that of the row minus that of the column.

    Args:
        scores: Shape (scores,).
        draws: Their replicates from the same weights, shape (scores, replicates).
    """
    found = [[Gap(0.0, Interval(0.0, 0.0), 1.0)] * len(scores) for _ in scores]
    for (row, column), gap in pairwise(scores.tolist(), draws).items():
        found[row][column], found[column][row] = gap, _turned(gap)
    return found


def _turned(gap: Gap) -> Gap:
    return Gap(-gap.difference, Interval(-gap.interval.high, -gap.interval.low, gap.interval.level), gap.p_value)


def _significant(p_values: Floats, level: float) -> NDArray[np.bool_]:
    """Significant differences of each row, by Holm's step-down method over both directions of all of them."""
    scores = len(p_values)
    if scores < 2:
        return np.zeros(p_values.shape, dtype=np.bool_)
    one_sided = p_values / 2
    np.fill_diagonal(one_sided, 1.0)
    # One of the two directions of each pair has this p-value, the other one more than one half.
    return holm(one_sided, tests=2 * (scores - 1)) <= 1 - level


def holm(p_values: Floats, tests: int) -> Floats:
    """P-values adjusted by Holm's step-down method: at most alpha exactly for the tests that it rejects at alpha.

    Args:
        p_values: The smallest p-values of each family, families x tests or those of one family.
        tests: Size of a family; tests that are not among ``p_values`` have larger p-values.
    """
    order = np.argsort(p_values, axis=-1, kind="stable")
    steps = np.take_along_axis(p_values, order, axis=-1) * (tests - np.arange(p_values.shape[-1]))
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(steps, axis=-1), 1.0), axis=-1)
    return adjusted


def _tie_groups(significant: NDArray[np.bool_]) -> NDArray[np.int64]:
    first, group = 0, 1
    groups = []
    for score in range(len(significant)):
        # Of any score, not only the first: a very uncertain one differs significantly from none below it.
        if significant[first:score, score].any():
            first, group = score, group + 1
        groups.append(group)
    return np.array(groups, dtype=np.int64)
