"""What is estimated: the score of a benchmark and of its categories, and the strata in which items are alike."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.compress.abilities import numbered
from fathom.compress.matrix import Floats, ScoreMatrix

OVERALL = "overall"


@dataclass(frozen=True)
class Targets:
    """The scores that are estimated: T weighted means over items.

    Attributes:
        names: ``overall``, then the categories (where there are two or more).
        shares: Share of each item in each of them, shape (T, N), rows summing to 1.
    """

    names: tuple[str, ...]
    shares: Floats


def targets_of(matrix: ScoreMatrix) -> Targets:
    """The whole benchmark, and each category that has a share in it."""
    labels = np.array(matrix.categories)
    weights = {name: float(matrix.weights[labels == name].sum()) for name in dict.fromkeys(matrix.categories)}
    categories = [name for name, weight in weights.items() if weight > 0] if len(weights) > 1 else []
    rows = [matrix.weights, *(np.where(labels == name, matrix.weights, 0.0) / weights[name] for name in categories)]
    return Targets((OVERALL, *categories), np.array(rows))


def strata_of(matrix: ScoreMatrix) -> NDArray[np.int64]:
    """Number of each item's stratum: its task at its length, where lengths are known."""
    return numbered(list(zip(matrix.categories, matrix.tasks, matrix.lengths.tolist(), strict=True)))


def groups_of(matrix: ScoreMatrix) -> list[tuple[Hashable, ...]]:
    """Groups of each item, the widest first: category, task, length."""
    return list(zip(matrix.categories, matrix.tasks, matrix.lengths.tolist(), strict=True))
