"""Ranks of scores, as ranges that hold together: which differences are significant among all, and who is tied.

The rank of a score is 1 plus the number of truly higher scores. With 95% confidence the ranges of all scores contain
their true ranks. They come from the studentised differences of every two scores, t = difference / standard error, and
the 95% quantile c of the largest |t| of all of them in replicates without a true difference: with 95% confidence all
differences with |t| > c are real, whatever the dependence between them, so that at least as many scores are higher, and
lower, as were found (max-T: Westfall and Young 1993, "Resampling-Based Multiple Testing"; for ranks Mogstad, Romano,
Shaikh and Wilhelm 2024, "Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic
Achievement across Countries", The Review of Economic Studies 91, section 3). Replicates of scores of the same clusters
are sums with random signs, as for the p-value of one difference (``fathom.stats.flips``): of two scores alone exactly
those with p < .05 differ significantly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import LEVEL, Floats

_ROUNDED = 1e-5  # error of sums with four bytes: of five clusters all signs are equal as often as 1 time in 16


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Ranks of some scores, all in the order of the scores.

    Attributes:
        best: Best rank of each range, from 1.
        worst: Worst rank of each range.
        groups: Tie groups, from 1: a new one begins at a score that differs significantly from any score of the group
            above it. Scores of different groups may still be indistinguishable; see ``best`` and ``worst``.
        significant: Whether the score of the row differs significantly from that of the column.
    """

    best: NDArray[np.int64]
    worst: NDArray[np.int64]
    groups: NDArray[np.int64]
    significant: NDArray[np.bool_]


def ranks_of(differences: Floats, significant: NDArray[np.bool_]) -> Ranks:
    """Ranks from the differences of every two scores.

    Args:
        differences: Score of the row minus that of the column, shape (scores, scores); scores are in the order of their
            ranks. NaN if the two cannot be compared.
        significant: Which of them are significant in one test of all.
    """
    return Ranks(
        best=1 + (significant & (differences < 0)).sum(axis=1),
        worst=len(differences) - (significant & (differences > 0)).sum(axis=1),
        groups=_tie_groups(significant),
        significant=significant,
    )


class MaxT:
    """The largest studentised deviation of many differences, replicate by replicate; see the head of this file."""

    def __init__(self) -> None:
        """Without any difference."""
        self.largest: Floats | None = None
        """The largest deviation in each replicate; None without any difference."""

    def add(self, noise: Floats) -> Floats:
        """Takes differences into account.

        Args:
            noise: What they would be without a true difference, shape (differences, replicates): with random signs, or
                replicates less their mean; none of them NaN.

        Returns:
            Their standard errors, shape (differences,).
        """
        sizes = np.abs(noise)
        errors: Floats = np.sqrt(np.einsum("dr,dr->d", sizes, sizes) / sizes.shape[1])
        sizes /= np.maximum(errors, np.finfo(np.float64).tiny)[:, None]
        self.merge(sizes.max(axis=0))
        return errors

    def merge(self, largest: Floats) -> None:
        """Takes the largest deviations of other differences into account, shape (replicates,)."""
        self.largest = largest if self.largest is None else np.maximum(self.largest, largest)

    def critical(self, level: float = LEVEL) -> float:
        """The value that |difference| / error must exceed to be significant; infinite without any difference."""
        return float("inf") if self.largest is None else (1 + _ROUNDED) * float(np.quantile(self.largest, level))


def holm(p_values: Floats, tests: int, weights: Floats | None = None) -> Floats:
    """P-values adjusted by Holm's step-down method: at most alpha exactly for the tests that it rejects at alpha.

    Args:
        p_values: The smallest p-values of each family, families x tests or those of one family.
        tests: Size of a family; tests that are not among ``p_values`` have larger p-values.
        weights: Share of the error of each test, if they are not equal, summing to 1; of one family with all its tests.
    """
    if weights is not None:
        order = np.argsort(p_values / weights, kind="stable")
        left = np.cumsum(weights[order][::-1])[::-1]  # what the tests that are not rejected yet share
        steps = (p_values / weights)[order] * left
        adjusted = np.empty_like(p_values)
        adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
        return adjusted
    order = np.argsort(p_values, axis=-1, kind="stable")
    steps = np.take_along_axis(p_values, order, axis=-1) * (tests - np.arange(p_values.shape[-1]))
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(steps, axis=-1), 1.0), axis=-1)
    return adjusted


def adjusted(p_values: Sequence[float]) -> list[float]:
    """The p-values of one table, adjusted by Holm's method for all of them."""
    return [float(p_value) for p_value in holm(np.array(p_values, dtype=np.float64), len(p_values))]


class Tested(Protocol):
    """A dataclass with a p-value, which may be None, and the field ``p_adjusted``."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def p_value(self) -> float | None:
        """The p-value by itself."""


Result = TypeVar("Result", bound=Tested)


def with_adjusted(table: Sequence[Result]) -> list[Result]:
    """The results of one table with their p-values adjusted for all of them; those without one are unchanged."""
    p_values = iter(adjusted([result.p_value for result in table if result.p_value is not None]))
    return [result if result.p_value is None else replace(result, p_adjusted=next(p_values)) for result in table]


def _tie_groups(significant: NDArray[np.bool_]) -> NDArray[np.int64]:
    first, group = 0, 1
    groups = []
    for score in range(len(significant)):
        # Of any score, not only the first: a very uncertain one differs significantly from none below it.
        if significant[first:score, score].any():
            first, group = score, group + 1
        groups.append(group)
    return np.array(groups, dtype=np.int64)
