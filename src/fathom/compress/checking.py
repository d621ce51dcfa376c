"""Score matrices whose parts have been checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fathom.compress.matrix import Floats, ScoreMatrix, balanced
from fathom.types import FathomError


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
    """A matrix whose parts have been checked.

    Args:
        source: Where it came from, for messages.
        models: Names, M of them; none for a benchmark without scores.
        items: Names, N of them.
        scores: Shape (M, N); NaN for gaps.
        tasks: Task of each item.
        categories: Category of each item.
        lengths: Length of each item in tokens; by default unknown.
        costs: Cost of each item; by default 1.
        weights: Share of each item, in any unit; by default ``balanced``.

    Raises:
        FathomError: A name stands twice, a score is outside [0, 1], nothing is there, or a weight or cost cannot be.
    """
    for kind, names in (("item", items), ("model", models)):
        if kind == "item" and not names:
            raise FathomError(f"{source}: no item in it")
        if len(set(names)) < len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise FathomError(f"{source}: {kind} {double!r} stands there {names.count(double)} times; keep one of them")
    _check_scores(source, models, items, scores)
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


def _check_scores(source: str, models: Sequence[str], items: Sequence[str], scores: Floats) -> None:
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
        raise FathomError(f"{source}: {models[int(empty[0])]} has no score at all; leave that column out")
