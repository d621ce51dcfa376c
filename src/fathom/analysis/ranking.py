"""Ranks of models by their average score, with the differences that they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.average import AverageScore, average_scores, comparable
from fathom.analysis.grid import ALL, Grid, grids
from fathom.stats.differences import PAIRED_REPLICATES, Gap, Sums, drawn_means, shared_sums
from fathom.stats.intervals import Floats
from fathom.stats.outcomes import Unanswered
from fathom.stats.ranks import gaps_of, ranks_of


@dataclass(frozen=True, slots=True)
class Ranked:
    """A model among others.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is one only.
        mean: Average score, as :func:`average_scores` has it for ``all``.
        best: Best rank that the data allow, from 1.
        worst: Worst rank that the data allow.
        group: Tie group, from 1 (``fathom.stats.ranks``).
        gaps: Its average less that of every ranked model, in the order of the ranks; its own is 0.
        significant: Whether it differs significantly from every ranked model, by Holm's step-down over all its gaps.
    """

    model: str
    variant: str
    mean: float
    best: int
    worst: int
    group: int
    gaps: tuple[Gap, ...]
    significant: tuple[bool, ...]


def ranking(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[Ranked]:
    """Models and variants by their average score, the highest first.

    Args:
        rows: A rows table (``fathom.rows``); may be empty.
        unanswered: How replies count that were not answered, see ``fathom.stats.outcomes``.
        seed: Seed of the replicates.

    Returns:
        Those whose averages are over the same tasks and lengths (:func:`fathom.analysis.average.comparable`).
    """
    averages = average_scores(rows, unanswered=unanswered, seed=seed)
    return ranking_of(grids(rows, unanswered), averages, seed=seed)


def ranking_of(
    tables: Sequence[Grid],
    averages: Sequence[AverageScore],
    *,
    seed: int = 0,
    replicates: int = PAIRED_REPLICATES,
) -> list[Ranked]:
    """The same from grids and averages that are there already."""
    alike = comparable(one for one in averages if one.task == ALL)
    ordered = sorted(alike, key=lambda one: -(one.mean or 0.0))
    if not ordered:
        return []
    lengths = ordered[0].lengths
    sums: dict[str, list[Sums]] = {_key(one.model, one.variant): [] for one in ordered}
    for task in ordered[0].tasks:
        own = {_key(grid.model, grid.variant): grid for grid in tables if grid.task == task}
        found = shared_sums(
            {name: (own[name].names, _at(own[name], lengths)) for name in sums}, task, seed, replicates=replicates
        )
        for name, parts in sums.items():
            parts.append(found[name])
    columns = list(range(len(lengths)))
    draws = np.array([drawn_means(parts, columns) for parts in sums.values()])
    means = np.array([one.mean for one in ordered], dtype=np.float64)
    gaps = gaps_of(means, draws)
    p_values = np.array([[gap.p_value for gap in own] for own in gaps])
    ranks = ranks_of(means[:, None] - means[None, :], p_values)
    return [
        Ranked(
            model=one.model,
            variant=one.variant,
            mean=float(means[number]),
            best=int(ranks.best[number]),
            worst=int(ranks.worst[number]),
            group=int(ranks.groups[number]),
            gaps=tuple(gaps[number]),
            significant=tuple(ranks.significant[number].tolist()),
        )
        for number, one in enumerate(ordered)
    ]


def _key(model: str, variant: str) -> str:
    return f"{model}\x1f{variant}"


def _at(grid: Grid, lengths: Sequence[int]) -> Floats:
    return grid.scores[:, np.searchsorted(grid.lengths, lengths)]
