"""Score matrices: scores of several models on every item of a benchmark, and the weights of the items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fathom.plugins.names import unknown
from fathom.stats.outcomes import COUNTED
from fathom.types import FathomError

Floats = NDArray[np.float64]
ENDED = ("replies", *COUNTED)


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of models on items.

    Attributes:
        models: Names, M of them.
        items: Names, N of them, unique.
        scores: Scores in [0, 1], shape (M, N); NaN without a score.
        tasks: Task of each item; "" without one.
        categories: Category of each item's task; "" without one.
        lengths: Length of each item in tokens, shape (N,); 0 if unknown or not a stratum.
        weights: Share of each item in the score of the benchmark, shape (N,), summing to 1. See ``balanced``.
        costs: Cost of each item, shape (N,), all positive; ones if all cost the same.
        other: Scores under the other choice of ``unanswered`` (``fathom.stats.outcomes``), shape (M, N); None for
            tables.
        ended: Number of replies of each score, and of unanswered, truncated, too long and missing ones and of scorer
            errors (``ENDED``), shape (M, N, 6); None for tables.
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

    def numbers(self, names: Iterable[str]) -> tuple[int, ...]:
        """The numbers of some models, each once.

        Raises:
            FathomError: There are no scores of one.
        """
        places = {name: number for number, name in enumerate(self.models)}
        wanted = tuple(dict.fromkeys(names))
        for name in wanted:
            if name not in places:
                raise unknown("model", name, places)
        return tuple(places[name] for name in wanted)

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
        """The benchmark's score of each model, shape (M,); NaN if an item that counts is missing."""
        return np.where(self.weights > 0, self.scores, 0.0) @ self.weights


def balanced(tasks: Sequence[str], categories: Sequence[str]) -> Floats:
    """Weights of items that give all items of a task, all tasks of a category and all categories equal weight.

    Returns:
        Weights that sum to 1, shape (N,). LongBench's overall score is the mean of its six categories' means over
        their tasks, and MiniLongBench's balance weights are N times these.
    """
    pairs = list(zip(categories, tasks, strict=True))
    sizes = {pair: pairs.count(pair) for pair in dict.fromkeys(pairs)}
    tasks_in = {category: sum(owner == category for owner, _ in sizes) for category in dict.fromkeys(categories)}
    return np.array([1.0 / (len(tasks_in) * tasks_in[category] * sizes[category, task]) for category, task in pairs])


def checked_matrix(
    source: str,
    models: Sequence[str],
    items: Sequence[str],
    scores: Floats,
    *,
    tasks: Sequence[str],
    categories: Sequence[str],
    lengths: NDArray[np.int64] | None = None,
    costs: Floats | None = None,
    weights: Floats | None = None,
) -> ScoreMatrix:
    """A matrix with checked parts.

    Args:
        source: Its source, for messages.
        models: Names, M of them; none for a benchmark without scores.
        items: Names, N of them.
        scores: Shape (M, N); NaN for gaps.
        tasks: Task of each item.
        categories: Category of each item.
        lengths: Length of each item in tokens; by default unknown.
        costs: Cost of each item; by default 1.
        weights: Share of each item, in any unit; by default ``balanced``.

    Raises:
        FathomError: A name is duplicate, a score is outside [0, 1], nothing is given, or a weight or cost is invalid.
    """
    for kind, names in (("item", items), ("model", models)):
        if kind == "item" and not names:
            raise FathomError(f"{source}: it has no items")
        if len(set(names)) < len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise FathomError(f"{source}: {kind} {double!r} occurs {names.count(double)} times; keep one of them")
    check_scores(source, models, items, scores)
    shares = balanced(tasks, categories) if weights is None else np.asarray(weights, dtype=np.float64)
    if not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
        raise FathomError(f"{source}: weights must be 0 or more, and not all 0")
    spent = np.ones(len(items)) if costs is None else np.asarray(costs, dtype=np.float64)
    if not np.isfinite(spent).all() or spent.min() <= 0:
        wrong = int(np.flatnonzero(~(spent > 0) | ~np.isfinite(spent))[0])
        raise FathomError(f"{source}: item {items[wrong]!r} costs {spent[wrong]:g}, expected a number above 0")
    sizes = np.zeros(len(items), dtype=np.int64) if lengths is None else np.asarray(lengths, dtype=np.int64)
    if sizes.min() < 0:
        wrong = int(np.argmin(sizes))
        raise FathomError(f"{source}: item {items[wrong]!r} has length {sizes[wrong]}, expected 0 or more tokens")
    return ScoreMatrix(
        models=tuple(models),
        items=tuple(items),
        scores=scores,
        tasks=tuple(tasks),
        categories=tuple(categories),
        lengths=sizes,
        weights=shares / shares.sum(),
        costs=spent,
    )


def as_matrix(
    scores: ScoreMatrix | Floats, *, cost: Floats | None = None, strata: Sequence[str] | None = None
) -> ScoreMatrix:
    """A matrix from a plain array, or one with other costs or strata.

    Args:
        scores: A matrix; or scores of M models on N items, shape (M, N), NaN for gaps.
        cost: Cost of each item, shape (N,).
        strata: Stratum of each item, shape (N,), as its task and category.

    Raises:
        FathomError: Shapes do not match, or see ``checked_matrix``.
    """
    if not isinstance(scores, ScoreMatrix):
        plain = np.asarray(scores, dtype=np.float64)
        if plain.ndim != 2:
            raise FathomError(f"scores of shape {plain.shape}: expected (models, items)")
        models, items = (list(map(str, range(size))) for size in plain.shape)
        scores = checked_matrix("scores", models, items, plain, tasks=[""] * len(items), categories=[""] * len(items))
    for name, values in (("cost", cost), ("strata", strata)):
        if values is not None and len(values) != len(scores.items):
            raise FathomError(f"{name} of {len(values):,} items for {len(scores.items):,}: expected one for each")
    if cost is None and strata is None:
        return scores
    labels = list(scores.tasks if strata is None else map(str, strata))
    return checked_matrix(
        "scores",
        scores.models,
        scores.items,
        scores.scores,
        tasks=labels,
        categories=list(scores.categories) if strata is None else labels,
        lengths=scores.lengths,
        costs=scores.costs if cost is None else cost,
        weights=scores.weights if strata is None else None,
    )


def check_scores(source: str, models: Sequence[str], items: Sequence[str], scores: Floats) -> None:
    """Checks that scores are fractions, and that every model has some.

    Args:
        source: Their source, for messages.
        scores: Shape (M, N); NaN for gaps.

    Raises:
        FathomError: A score is invalid; the message names the model, the item and the value.
    """
    wrong = np.argwhere((scores < 0) | (scores > 1) | np.isinf(scores))
    if len(wrong):
        model, item = (int(place) for place in wrong[0])
        value = scores[model, item]
        hint = "; scores in percent must be divided by 100" if 1 < value <= 100 else ""
        raise FathomError(
            f"{source}: {models[model]}, item {items[item]!r}: a score of {value:g} is not between 0 and 1{hint} "
            f"({len(wrong):,} such scores)"
        )
    empty = np.flatnonzero(np.isnan(scores).all(axis=1))
    if len(empty):
        raise FathomError(f"{source}: {models[int(empty[0])]} has no score at all; leave it out")
