"""Grids: the scores of one model on one task, items x lengths.

Rows with several epochs, or several depths of one item at one length, are averaged within the item first, so that every
item has the same weight however often it was asked; the same holds for several questions with one context.

Closed-book questions and truncated prompts (``is_side_row``) are not points of any curve: they are dropped here for all
analyses (``fathom.stats.outcomes.scored_rows``). Only the base of the released code uses the former
(``Grid.alone``), and the truncation study the latter. In logs of other harnesses a length of 0 means that the length is
unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.stats.columns import cluster_name, facet, item_name
from fathom.stats.intervals import Floats
from fathom.stats.outcomes import Unanswered, Unmeasured, counted, over_suites, scored_rows, tallies, unmeasured
from fathom.stats.side_rows import is_side_row
from fathom.types import FathomError

ALL = "all"
Cell: TypeAlias = tuple[str, int]
"""A task and a length."""
Means: TypeAlias = frozenset[tuple[str, int | None]]
"""Tasks (``all`` too) and lengths (None for the mean over them)."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Scores of one model on one task: items x lengths, epochs averaged, NaN without a score.

    ``groups`` are the clusters of the items (``fathom.stats.intervals``): an item alone, unless the suite says more.
    ``other`` are the scores under the other choice of ``unanswered``. ``gaps`` has for each length the reason why its
    scores cannot be used, None for most, and ``tallies`` how many replies were unanswered, truncated or missing
    (``fathom.stats.outcomes``). ``low`` and ``high`` are the means at each length with all missing replies
    wrong and with all of them right, NaN if the length does not fit. ``alone`` and ``alone_chance`` are those with the
    gold document alone, one per item; ``alone_gap`` is the reason why they cannot be used, or None.
    """

    model: str
    variant: str
    task: str
    lengths: NDArray[np.int64]
    names: tuple[str, ...]
    groups: tuple[str, ...]
    scores: Floats
    other: Floats
    gaps: tuple[Unmeasured | None, ...]
    tallies: tuple[Mapping[str, int], ...]
    chance: Floats
    items: NDArray[np.int64]
    low: Floats
    high: Floats
    alone: Floats
    alone_chance: Floats
    alone_gap: Unmeasured | None


def of_scores(grid: Grid) -> Grid:
    """The grid without what a ranking does not need: eight bytes for each item and length."""
    empty = np.empty((0, 0))
    return replace(grid, other=empty, chance=empty, alone=empty, alone_chance=empty)


def grids(rows: pl.DataFrame, unanswered: Unanswered = "zero") -> list[Grid]:
    """Scores per model, variant and task, in the order in which the rows name them.

    Suites may share a task: their items are distinct (an item is named by suite and item) and averaged together.
    To avoid that, analyse the suites separately.

    Raises:
        FathomError: A task has the reserved name ``all``.
    """
    scored = scored_rows(rows, unanswered)
    gaps = {(cell.model, cell.variant, cell.task, cell.length): cell for cell in unmeasured(scored)}
    numbers = tallies(scored, ("model", "variant", "task", "length"))
    cells = _cells(over_suites(scored), "length")
    if (cells["task"] == ALL).any():
        raise FathomError(f"A task is named {ALL!r}, the reserved name of the mean over tasks. Rename it in the rows.")
    documents = (facet("context") == "alone") & facet("evidence").ne_missing("needles")
    over_gold = counted(rows.filter(is_side_row(), documents), unanswered)
    alone = _cells(over_suites(over_gold))
    lost: dict[tuple[object, ...], Unmeasured]
    lost = {(cell.model, cell.variant, cell.task): cell for cell in unmeasured(over_gold)}
    keys = ["model", "variant", "task"]
    parts = cells.partition_by(keys, maintain_order=True, as_dict=True)
    gold_alone = alone.partition_by(keys, as_dict=True)
    return [
        _grid((model, variant, task), part, gold_alone.get(key, alone.clear()), gaps, numbers, lost.get(key))
        for key, part in parts.items()
        for model, variant, task in [map(str, key)]
    ]


def _cells(rows: pl.DataFrame, *also: str) -> pl.DataFrame:
    """Mean scores and chance level of each item (named by suite and item), in the order of the rows."""
    named = rows.with_columns(item_name(), cluster_name())
    return named.group_by("model", "variant", "task", "name", *also, maintain_order=True).agg(
        pl.col("value", "other", "chance", "lowest", "highest").mean(), pl.col("cluster").first()
    )


def _grid(
    key: tuple[str, str, str],
    cells: pl.DataFrame,
    alone: pl.DataFrame,
    gaps: Mapping[tuple[str, str, str, int], Unmeasured],
    numbers: Mapping[tuple[object, ...], Mapping[str, int]],
    alone_gap: Unmeasured | None,
) -> Grid:
    model, variant, task = key
    lengths, column = np.unique(cells["length"].to_numpy(), return_inverse=True)
    items_of = cells.unique("name", keep="first").sort("name")
    names = items_of["name"]
    # Items sorted by name, so that the same item has the same weights for every model with the same items.
    line = cells["name"].cast(pl.Enum(names)).to_physical().to_numpy()
    scores = np.full((len(names), len(lengths)), np.nan)
    other, chance = scores.copy(), scores.copy()
    scores[line, column] = cells["value"].to_numpy()
    other[line, column] = cells["other"].to_numpy()
    chance[line, column] = cells["chance"].to_numpy()
    chance[np.isnan(scores)] = np.nan
    items = np.bincount(column, minlength=len(lengths))
    gold_alone = names.to_frame("name").join(alone.drop("cluster"), on="name", how="left", maintain_order="left")
    return Grid(
        model=model,
        variant=variant,
        task=task,
        lengths=lengths.astype(np.int64),
        names=tuple(names),
        groups=tuple(items_of["cluster"]),
        scores=scores,
        other=other,
        gaps=tuple(gaps.get((*key, length)) for length in lengths.tolist()),
        tallies=tuple(numbers[*key, length] for length in lengths.tolist()),
        chance=chance,
        items=items.astype(np.int64),
        low=_means(cells["lowest"], column, len(lengths)),
        high=_means(cells["highest"], column, len(lengths)),
        alone=gold_alone["value"].to_numpy().astype(np.float64),
        alone_chance=gold_alone["chance"].to_numpy().astype(np.float64),
        alone_gap=alone_gap,
    )


def _means(values: pl.Series, column: NDArray[np.int64], lengths: int) -> Floats:
    """Mean of the values of each length, NaN without one.

    Args:
        values: One for each item at a length, null if unknown.
    """
    known = values.is_not_null().to_numpy()
    counts = np.bincount(column[known], minlength=lengths)
    means = np.full(lengths, np.nan)
    np.divide(np.bincount(column[known], values.drop_nulls().to_numpy(), lengths), counts, out=means, where=counts > 0)
    return means


def blank_cells(rows: pl.DataFrame) -> dict[Cell, bool]:
    """The cells of one system, and whether each has replies without a score.

    Args:
        rows: Its counted rows (``fathom.stats.outcomes``).
    """
    keys = ["task", "length"]
    cells = rows.group_by(keys, maintain_order=True).agg(pl.col("blank").any())
    return {(task, length): blank for task, length, blank in cells.iter_rows()}


def blank_means(first: Mapping[Cell, bool], second: Mapping[Cell, bool]) -> Means:
    """Tasks and lengths, and means over them, with a cell without a score of one of two systems.

    Args:
        first: Whether each cell of one system is blank (``blank_cells``).
        second: Those of the other. A cell that only one of them was asked is part of no comparison.
    """
    lost = [cell for cell, blank in first.items() if cell in second and (blank or second[cell])]
    return frozenset(pair for task, length in lost for name in (task, ALL) for pair in ((name, length), (name, None)))
