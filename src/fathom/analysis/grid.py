"""Grids: the scores of one model on one task, items x lengths.

Rows with several epochs, or several depths of one item at one length, are averaged within the item first, so that an
item counts once however often it was asked; so are several questions over one context.

Questions that were asked without their long context, or over a prompt that was cut (``is_side_row``), are no point of
any curve: they are dropped here once for every analysis (:func:`scored_rows`). Only the base of the released code looks
at the first (``Grid.alone``), and the truncation study at the others. In logs of other harnesses a length of 0 says
something else: that the length is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.columns import facet, item_name
from fathom.analysis.interval import Floats
from fathom.analysis.side_rows import is_side_row
from fathom.types import FathomError

Unscored: TypeAlias = Literal["drop", "zero"]
ALL = "all"
COUNTED_WRONG = ("overflow", "refused", "incomplete")
"""Statuses that ``unscored="zero"`` counts as wrong: the model's own doing. ``error`` is the connection's."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Scores of one model on one task: items x lengths, epochs averaged, NaN where nothing was scored.

    ``alone`` and ``alone_chance`` are those over the gold document alone, one for each item.
    """

    model: str
    variant: str
    task: str
    lengths: NDArray[np.int64]
    names: tuple[str, ...]
    scores: Floats
    chance: Floats
    items: NDArray[np.int64]
    alone: Floats
    alone_chance: Floats


def scored_rows(rows: pl.DataFrame, unscored: Unscored = "drop") -> pl.DataFrame:
    """The rows of questions over their whole context, with NaN scores made absent and, for ``zero``, failures made 0.

    Args:
        rows: A rows table.
        unscored: ``drop``: a mean is over scored rows. ``zero``: a prompt that did not fit, a refusal and a reply that
            was cut count as wrong. A failed request (``error``) is never counted.
    """
    return _valued(rows.filter(~is_side_row()), unscored)


def _valued(rows: pl.DataFrame, unscored: Unscored) -> pl.DataFrame:
    if unscored not in ("drop", "zero"):
        raise FathomError(f"unscored is {unscored!r}, expected 'drop' or 'zero'.")
    value = pl.col("value").fill_nan(None)
    if unscored == "zero":
        value = pl.when(value.is_null() & pl.col("status").is_in(COUNTED_WRONG)).then(0.0).otherwise(value)
    return rows.with_columns(value.alias("value"), pl.col("chance").fill_nan(None))


def grids(rows: pl.DataFrame, unscored: Unscored = "drop") -> list[Grid]:
    """Scores per model, variant and task, in the order in which the rows name them.

    Suites may share a task: their items are then kept apart (an item is named by suite and item) and averaged
    together. Analyse suites apart where that is not wanted.

    Raises:
        FathomError: A task has the reserved name ``all``.
    """
    cells = _cells(scored_rows(rows, unscored), "length")
    if (cells["task"] == ALL).any():
        raise FathomError(f"A task is named {ALL!r}, which stands for the mean over tasks. Rename it in the rows.")
    alone = _cells(_valued(rows.filter(is_side_row(), facet("context") == "alone"), unscored))
    keys = ["model", "variant", "task"]
    parts = cells.partition_by(keys, maintain_order=True, as_dict=True)
    beside = alone.partition_by(keys, as_dict=True)
    return [
        _grid(str(key[0]), str(key[1]), str(key[2]), part, beside.get(key, alone.clear()))
        for key, part in parts.items()
    ]


def _cells(rows: pl.DataFrame, *also: str) -> pl.DataFrame:
    """Mean score and chance level of each item (named by suite and item), in the order of the rows."""
    named = rows.with_columns(item_name())
    return named.group_by("model", "variant", "task", "name", *also, maintain_order=True).agg(
        pl.col("value").mean(), pl.col("chance").mean()
    )


def _grid(model: str, variant: str, task: str, cells: pl.DataFrame, alone: pl.DataFrame) -> Grid:
    lengths, column = np.unique(cells["length"].to_numpy(), return_inverse=True)
    names = cells["name"].unique().sort()
    # Items in the order of their names: the same item then has the same weights for every model of equal items.
    line = cells["name"].cast(pl.Enum(names)).to_physical().to_numpy()
    scores = np.full((len(names), len(lengths)), np.nan)
    chance = scores.copy()
    scores[line, column] = cells["value"].to_numpy()
    chance[line, column] = cells["chance"].to_numpy()
    chance[np.isnan(scores)] = np.nan
    items = np.bincount(column, minlength=len(lengths))
    beside = names.to_frame("name").join(alone, on="name", how="left", maintain_order="left")
    return Grid(
        model=model,
        variant=variant,
        task=task,
        lengths=lengths.astype(np.int64),
        names=tuple(names),
        scores=scores,
        chance=chance,
        items=items.astype(np.int64),
        alone=beside["value"].to_numpy().astype(np.float64),
        alone_chance=beside["chance"].to_numpy().astype(np.float64),
    )
