"""How far random subsets of a benchmark order models as the whole does (MiniLongBench, section 2 and figure 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fathom.compress.matrix import Floats, ScoreMatrix
from fathom.types import FathomError

AT_ONCE = 200
"""Draws that are held in memory at once."""


def redundancy(
    matrix: ScoreMatrix, ratios: Sequence[float], *, draws: int = 10_000, top: float = 1.0, seed: int = 0
) -> pl.DataFrame:
    """Rank correlations between random subsets of each category and the whole category.

    Args:
        matrix: Scores of all models on all items, without gaps.
        ratios: Shares of items that are left out, for instance .99, .98 and .95.
        draws: Subsets for each category and ratio.
        top: Share of the subsets that is kept, those with the highest correlation. The paper keeps three quarters of
            its 10,000, which hides the worst subsets; by default all are kept.
        seed: Seed of the draws.

    Returns:
        Columns ``category``, ``ratio``, ``items``, ``draw`` and ``spearman``, from the highest correlation down.

    Raises:
        FathomError: A ratio or ``top`` is no share, there are fewer than two models, or a model has gaps.
    """
    if wrong := [value for value in ratios if not 0 <= value < 1]:
        raise FathomError(f"a ratio of {wrong[0]:g}: expected a share of items to leave out, for instance 0.95")
    if not 0 < top <= 1 or draws < 1:
        raise FathomError(f"{draws:,} draws of which {top:g} are kept: expected 1 or more, and a share above 0")
    if len(matrix.models) < 2 or np.isnan(matrix.scores).any():
        raise FathomError("random subsets need scores of two models or more on all items, without gaps")
    rng = np.random.default_rng(seed)
    labels = np.array(matrix.categories)
    frames = []
    for category in dict.fromkeys(matrix.categories):
        inside = np.flatnonzero(labels == category)
        weights = matrix.weights[inside]
        if weights.sum() == 0:
            continue
        for ratio in ratios:
            kept = max(1, int((1 - ratio) * len(inside) + 1e-9))
            found = _correlations(matrix.scores[:, inside], weights, kept, draws, rng)
            best = np.sort(found)[::-1][: max(1, int(top * draws))]
            columns = {"draw": np.arange(len(best)), "spearman": best}
            frames.append(
                pl.DataFrame(columns).select(
                    pl.lit(category).alias("category"),
                    pl.lit(float(ratio)).alias("ratio"),
                    pl.lit(kept, dtype=pl.Int64).alias("items"),
                    pl.all(),
                )
            )
    return pl.concat(frames)


def _correlations(scores: Floats, weights: Floats, kept: int, draws: int, rng: np.random.Generator) -> Floats:
    """Spearman correlations with the whole of so many random subsets; 0 where a subset tells no models apart."""
    whole = _standard_ranks((scores @ weights)[:, None])[:, 0]
    found = []
    for start in range(0, draws, AT_ONCE):
        count = min(AT_ONCE, draws - start)
        order = np.argpartition(rng.random((count, len(weights))), kept - 1, axis=1)[:, :kept]
        chosen = np.zeros((count, len(weights)))
        np.put_along_axis(chosen, order, weights[order], axis=1)
        means = scores @ (chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1e-300)).T
        found.append(whole @ _standard_ranks(means))
    return np.concatenate(found)


def _standard_ranks(values: Floats) -> Floats:
    """Ranks down each column, with mean 0 and length 1."""
    from scipy.stats import rankdata

    ranks = rankdata(values.round(12), axis=0)
    ranks = ranks - ranks.mean(axis=0)
    lengths = np.sqrt((ranks**2).sum(axis=0))
    return np.asarray(ranks / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)
