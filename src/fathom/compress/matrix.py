"""Score matrices: what several models scored on every item of a benchmark, and how the items make up its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fathom.stats.outcomes import COUNTED

Floats = NDArray[np.float64]
ENDED = ("replies", *COUNTED)


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of models on items.

    Attributes:
        models: Names, M of them.
        items: Names, N of them, each once.
        scores: Scores in [0, 1], shape (M, N); NaN where a model was not scored on an item.
        tasks: Task of each item; "" where there are none.
        categories: Category of each item's task; "" where there are none.
        lengths: Length of each item in tokens, shape (N,); 0 where it is not known or makes no stratum.
        weights: Share of each item in the score of the benchmark, shape (N,), summing to 1. See ``balanced``.
        costs: What asking for an item costs, shape (N,), all positive; ones where all cost the same.
        other: Scores by the other choice of ``unanswered`` (``fathom.stats.outcomes``), shape (M, N); None for tables.
        ended: Replies behind each score, and how many of them were not answered, cut, too long or missing
            (``ENDED``), shape (M, N, 5); None for tables.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    scores: Floats
    tasks: tuple[str, ...]
    categories: tuple[str, ...]
    lengths: NDArray[np.int64]
    weights: Floats
    costs: Floats
    other: Floats | None = None
    ended: NDArray[np.int64] | None = None

    def of_models(self, models: Sequence[int]) -> ScoreMatrix:
        """The rows of some models, by their numbers."""
        rows = list(models)
        return replace(
            self,
            models=tuple(self.models[row] for row in rows),
            scores=self.scores[rows],
            other=None if self.other is None else self.other[rows],
            ended=None if self.ended is None else self.ended[rows],
        )

    def totals(self) -> Floats:
        """The benchmark's score of each model, shape (M,); NaN where an item that counts is missing."""
        return np.where(self.weights > 0, self.scores, 0.0) @ self.weights


def balanced(tasks: Sequence[str], categories: Sequence[str]) -> Floats:
    """Weights of items by which all items of a task, all tasks of a category and all categories count alike.

    Args:
        tasks: Task of each item.
        categories: Category of each item.

    Returns:
        Weights that sum to 1, shape (N,). LongBench's overall score is the mean of its six categories' means over
        their tasks, and MiniLongBench's balance weights are N times these.
    """
    pairs = list(zip(categories, tasks, strict=True))
    sizes = {pair: pairs.count(pair) for pair in dict.fromkeys(pairs)}
    tasks_in = {category: sum(held == category for held, _ in sizes) for category in dict.fromkeys(categories)}
    return np.array([1.0 / (len(tasks_in) * tasks_in[category] * sizes[category, task]) for category, task in pairs])
