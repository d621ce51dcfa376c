"""Which comparisons of two systems have no figures, because a cell of one of them is not measured."""

from __future__ import annotations

from typing import TypeAlias

import polars as pl

from fathom.analysis.grid import ALL

Means: TypeAlias = frozenset[tuple[str, int | None]]
"""Tasks (``all`` too) and lengths (None for the mean over them)."""


def blank_means(first: pl.DataFrame, second: pl.DataFrame) -> Means:
    """Tasks and lengths, and means over them, with a cell that is not measured of one of two systems.

    Args:
        first: The counted rows of one system (``fathom.stats.outcomes``).
        second: Those of the other. A cell that only one of them was asked is part of no comparison.
    """
    keys = ["task", "length"]
    one, other = (rows.select(*keys, "blank").unique() for rows in (first, second))
    shared = [one.join(other, on=keys, how="semi"), other.join(one, on=keys, how="semi")]
    lost = pl.concat(shared).filter("blank").select(keys).rows()
    return frozenset(pair for task, length in lost for name in (task, ALL) for pair in ((name, length), (name, None)))
