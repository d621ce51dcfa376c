"""What is estimated: the score of a benchmark and of its categories, and the strata in which items are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.compress.abilities import numbered
from fathom.compress.matrix import Floats, ScoreMatrix

OVERALL = "overall"
SHARED = 2  # items of a length, in the mean of a task, for lengths to be strata: exact lengths of single texts are not


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
    """Number of each item's stratum: its task at its length, where items share lengths."""
    return numbered(groups_of(matrix))


def groups_of(matrix: ScoreMatrix) -> list[tuple[Hashable, ...]]:
    """Groups of each item, the widest first: category, task, length (0 where the task's items do not share lengths)."""
    tasks = list(zip(matrix.categories, matrix.tasks, strict=True))
    lengths = matrix.lengths.tolist()
    items = Counter(tasks)
    different = Counter(task for task, _ in set(zip(tasks, lengths, strict=True)))
    shared = {task for task in items if items[task] >= SHARED * different[task]}
    return [(*task, length if task in shared else 0) for task, length in zip(tasks, lengths, strict=True)]
