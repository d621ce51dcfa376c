"""How well methods estimate the scores of models they have never seen: splits of models into known and new ones.

Three kinds of split: ``random`` halves, many of them; ``extrapolation``, in which the weakest half is known and the
strongest half is new, as when new models are better than all before; and ``published``, the split of MiniLongBench.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.compress.matrix import Floats, ScoreMatrix
from fathom.compress.methods import METHODS, Plan, has_published
from fathom.compress.ranks import spearman
from fathom.compress.targets import targets_of
from fathom.names import unknown
from fathom.types import FathomError

ROUNDING = 1e-9  # a sum of the same scores in another order is the same score
FIXED = ("published",)
"""Methods whose items never change: one draw says all."""


@dataclass(frozen=True)
class Split:
    """Which models are known and which are new.

    Attributes:
        kind: ``random``, ``extrapolation`` or ``published``.
        number: Number within the kind; also the seed of the draw.
        known: Numbers of the known models.
        new: Numbers of the new ones.
    """

    kind: str
    number: int
    known: tuple[int, ...]
    new: tuple[int, ...]


def splits_of(
    matrix: ScoreMatrix, count: int, *, seed: int = 0, published: tuple[Sequence[int], Sequence[int]] | None = None
) -> list[Split]:
    """All splits of a validation.

    Args:
        matrix: Scores of the models; models without a full score cannot be new ones and are left out.
        count: Random splits; the other kinds are repeated as often, with other draws of the items.
        seed: Seed of the splits.
        published: Known and new models of a published split.

    Raises:
        FathomError: There are fewer than four models with full scores.
    """
    full = matrix.totals()
    models = np.flatnonzero(~np.isnan(full))
    if len(models) < 4:
        raise FathomError(
            f"{len(models)} models have a score on every item that counts: a validation needs 4, two known and two new"
        )
    half = len(models) // 2
    ordered = models[np.argsort(full[models], kind="stable")]
    found = []
    for number in range(count):
        mixed = np.random.default_rng([seed, number]).permutation(models)
        found.append(_split("random", number, mixed[:half], mixed[half:]))
    found += [_split("extrapolation", number, ordered[:half], ordered[half:]) for number in range(count)]
    if published is not None:
        known, new = (np.array([one for one in part if one in models]) for part in published)
        found += [_split("published", number, known, new) for number in range(count)]
    return found


def validate(
    matrix: ScoreMatrix,
    budgets: Sequence[int],
    *,
    methods: Sequence[str] | None = None,
    splits: Sequence[Split],
    embeddings: Floats | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Try methods on splits.

    Args:
        matrix: Scores of models; every new model has a score on every item that counts.
        budgets: Items to choose.
        methods: Names from ``METHODS``; by default all that these scores allow.
        splits: See ``splits_of``.
        embeddings: A vector for each item, shape (N, F), for methods that use texts.
        progress: Called with (draws made, draws in all).

    Returns:
        One line for each method, budget, split and target (``overall`` and the categories): ``spearman``, mean absolute
        ``error``, ``bias`` (estimate less truth), ``coverage`` and ``half_width`` of the 95% intervals (null where a
        method has none), ``items``, ``cost_share`` (of the whole benchmark) and ``seconds``.

    Raises:
        FathomError: A method is not known, or a budget does not suit it.
    """
    if methods is None:
        methods = [name for name in METHODS if name != "published" or has_published(matrix, budgets)]
    for name in methods:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
    for budget in budgets:
        if not 1 <= budget <= len(matrix.items):
            raise FathomError(f"a budget of {budget:,}: expected 1 to {len(matrix.items):,} items")
    cases = [
        (budget, name, split)
        for budget in budgets
        for name in methods
        for split in splits
        if not (name in FIXED and split.kind != "random" and split.number)
    ]
    lines: list[dict[str, object]] = []
    for done, (budget, name, split) in enumerate(cases):
        lines += _tried(matrix, budget, name, split, embeddings)
        if progress is not None:
            progress(done + 1, len(cases))
    return pl.DataFrame(lines, infer_schema_length=None)


def summary(found: pl.DataFrame) -> pl.DataFrame:
    """Means over the draws of ``validate``: one line for each kind of split, budget, method and target.

    Each figure has the standard error of its mean over the draws beside it where there are several: ``spearman_se``
    and ``error_se``.
    """
    deviation = [(pl.col(name).std() / pl.len().sqrt()).alias(f"{name}_se") for name in ("spearman", "error")]
    figures = ("spearman", "error", "bias", "coverage", "half_width", "items", "cost_share", "seconds")
    return found.group_by(["split", "budget", "target", "method"], maintain_order=True).agg(
        pl.len().alias("draws"), *(pl.col(name).mean() for name in figures), *deviation
    )


def _tried(
    matrix: ScoreMatrix, budget: int, name: str, split: Split, embeddings: Floats | None
) -> Iterator[dict[str, object]]:
    new = matrix.of_models(split.new)
    targets = targets_of(matrix)
    started = time.perf_counter()
    plan: Plan = METHODS[name](matrix.of_models(split.known), budget, split.number, embeddings)
    found = plan.estimate(new.scores[:, plan.items])
    seconds = time.perf_counter() - started
    truth = np.where(np.isnan(new.scores), 0.0, new.scores) @ targets.shares.T
    spent = float(matrix.costs[plan.items].sum() / matrix.costs.sum())
    for place, target in enumerate(targets.names):
        values, low, high = (part[:, place] for part in (found.values, found.low, found.high))
        apart = values - truth[:, place]
        with_interval = ~np.isnan(low)
        held = (low - ROUNDING <= truth[:, place]) & (truth[:, place] <= high + ROUNDING)
        yield {
            "split": split.kind,
            "number": split.number,
            "budget": budget,
            "target": target,
            "method": name,
            "spearman": _or_none(spearman(values, truth[:, place])),
            "error": _or_none(float(np.abs(apart).mean())),
            "bias": _or_none(float(apart.mean())),
            "coverage": float(held.mean()) if with_interval.all() else None,
            "half_width": float(((high - low) / 2).mean()) if with_interval.all() else None,
            "items": len(plan.items),
            "cost_share": spent,
            "seconds": seconds,
        }


def _split(kind: str, number: int, known: NDArray[np.int64], new: NDArray[np.int64]) -> Split:
    return Split(kind, number, tuple(map(int, known)), tuple(map(int, new)))


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
