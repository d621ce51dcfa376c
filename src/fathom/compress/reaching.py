"""How many items it takes until intervals are as narrow as wanted: fixed designs and adaptive evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl

from fathom.compress import adaptive
from fathom.compress.assisted import Estimates
from fathom.compress.design import ADAPTIVE, Design, design
from fathom.compress.matrix import Floats, ScoreMatrix
from fathom.compress.methods import METHODS
from fathom.compress.targets import strata_of
from fathom.compress.validate import Split
from fathom.types import FathomError

FIXED = ("stratified", "sampled")
GUARANTEE = 0.95  # share of models for which a fixed design must reach the width, to compare with adaptive stops


def reach(
    matrix: ScoreMatrix,
    width: float,
    *,
    splits: Sequence[Split],
    budget: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Items until the 95% interval of the whole score has a wanted half-width.

    Args:
        matrix: Scores of models.
        width: The half-width.
        splits: Known and new models, see ``validate.splits_of``.
        budget: Most items of an adaptive evaluation; by default all.
        progress: Called with (splits done, splits in all).

    Returns:
        One line for each split and method: ``mean_items``, the items with which the mean half-width over the new models
        is the wanted one (for ``adaptive``: the mean over models of the items at the stop), ``most_items``, with which
        95% of the new models have it (for ``adaptive``: which 95% of them did not exceed), and at ``mean_items`` the
        ``coverage``, mean absolute ``error`` and ``bias``.

    Raises:
        FathomError: The width is not between 0 and 0.5.
    """
    if not 0 < width < 0.5:
        raise FathomError(f"a half-width of {width:g}: expected more than 0 and less than 0.5, for instance 0.02")
    lines: list[dict[str, object]] = []
    for done, split in enumerate(splits):
        for method in FIXED:
            lines.append({**_named(split, method), **_fixed(matrix, split, method, width)})
        lines.append({**_named(split, ADAPTIVE), **_adaptive(matrix, split, width, budget or len(matrix.items))})
        if progress is not None:
            progress(done + 1, len(splits))
    return pl.DataFrame(lines)


def _named(split: Split, method: str) -> dict[str, object]:
    return {"split": split.kind, "number": split.number, "method": method}


def _fixed(matrix: ScoreMatrix, split: Split, method: str, width: float) -> dict[str, object]:
    new = matrix.of_models(split.new)
    known = matrix.of_models(split.known)
    tried: dict[int, tuple[Estimates, Floats]] = {}

    def widths(items: int) -> Floats:
        if items not in tried:
            plan = METHODS[method](known, items, split.number, None)
            found = plan.estimate(new.scores[:, plan.items])
            tried[items] = found, (found.high[:, 0] - found.low[:, 0]) / 2
        return tried[items][1]

    least = int(strata_of(matrix).max()) + 1
    mean = _fewest(lambda items: float(widths(items).mean()) <= width, least, len(matrix.items))
    most = _fewest(lambda items: float(np.quantile(widths(items), GUARANTEE)) <= width, mean, len(matrix.items))
    widths(mean)
    return {"mean_items": float(mean), "most_items": float(most), **_quality(tried[mean][0], new.totals())}


def _fewest(enough: Callable[[int], bool], least: int, most: int) -> int:
    """The fewest items that are enough, to 2%."""
    while most - least > max(1, least // 50):
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle + 1, most)
    return most


def _adaptive(matrix: ScoreMatrix, split: Split, width: float, budget: int) -> dict[str, object]:
    made = design(matrix.of_models(split.known), min(budget, len(matrix.items)), seed=split.number)
    stretch = adaptive.stretch(made, width=width, budget=budget)
    ends = list(_ends(matrix, split, made, width, budget, stretch))
    counts = np.array([len(end.items) for end in ends], dtype=np.float64)
    found = [adaptive.current(made, end, stretch) for end in ends]
    together = Estimates(*(np.concatenate([getattr(one, part) for one in found]) for part in ("values", "low", "high")))
    quality = _quality(together, matrix.of_models(split.new).totals())
    return {"mean_items": float(counts.mean()), "most_items": float(np.quantile(counts, GUARANTEE)), **quality}


def _ends(
    matrix: ScoreMatrix, split: Split, made: Design, width: float, budget: int, stretch: float
) -> Iterator[adaptive.Progress]:
    for model in split.new:
        ask = matrix.scores[model].__getitem__
        rng = np.random.default_rng([split.number, model])
        yield adaptive.drive(adaptive.rounds(made, width=width, budget=budget, stretch=stretch, rng=rng), ask)


def _quality(found: Estimates, truth: Floats) -> dict[str, object]:
    apart = found.values[:, 0] - truth
    held = (found.low[:, 0] <= truth) & (truth <= found.high[:, 0])
    return {"coverage": float(held.mean()), "error": float(np.abs(apart).mean()), "bias": float(apart.mean())}
