"""Score by position: does a model read the middle as well as the ends?

Position is the facet ``depth``: where in the context the gold text lies, 0 for its start and 1 for its end. Source of
the plot: "Lost in the Middle" (Liu et al. 2024), with intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.stats.columns import facet, item_name
from fathom.stats.intervals import Floats, Interval, generator, interval_of, resampled_means
from fathom.stats.outcomes import over_suites, scored_rows
from fathom.types import FathomError

SWEPT_AT_MOST = 21
"""More different depths than this were drawn at random."""


@dataclass(frozen=True, slots=True)
class PositionPoint:
    """Mean score at one range of depths (0 = start of the context, 1 = end).

    ``depth_low == depth_high`` where depths were swept over fixed values; otherwise the bin is
    ``[depth_low, depth_high)`` and the last bin holds its upper end. ``items`` counts scored items.
    """

    model: str
    variant: str
    task: str
    length: int
    depth_low: float
    depth_high: float
    mean: float
    interval: Interval
    items: int


def position(rows: pl.DataFrame, *, bins: int = 5, seed: int = 0) -> list[PositionPoint]:
    """Mean score by depth per model, variant, task and length, where depths vary.

    Depths that were swept (few values, each with several items) are points of their own; depths that were drawn at
    random fall into ``bins`` equal parts. Epochs are averaged within an item first. An item asked at several depths has
    one weight in all of them.

    Args:
        rows: A rows table; may be empty.
        bins: Number of equal parts of [0, 1], 1 or more.
        seed: Seed of the intervals.

    Returns:
        Points by model, task, length (as the rows name them) and depth, for bins with a scored item.

    Raises:
        FathomError: ``bins`` is less than 1.
    """
    if bins < 1:
        raise FathomError(f"bins is {bins}, expected 1 or more parts of the context")
    points: list[PositionPoint] = []
    for _, group in placed_rows(rows).group_by("model", "variant", "task", maintain_order=True):
        points += _points(group, bins, seed)
    return points


def placed_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The scored rows that have a depth, with it as ``depth`` and their item as ``name``."""
    depth = facet("depth").cast(pl.Float64, strict=False)
    return (
        over_suites(scored_rows(rows))
        .with_columns(depth.round(3).alias("depth"), item_name())
        .filter(pl.col("depth").is_between(0, 1) & pl.col("value").is_not_null())
    )


def _points(group: pl.DataFrame, bins: int, seed: int) -> list[PositionPoint]:
    """Points of one model and task: one column of scores per length and bin, resampled together."""
    ranges: list[tuple[int, float, float]] = []
    parts: list[pl.DataFrame] = []
    for (length,), cell in group.sort("length", maintain_order=True).group_by("length", maintain_order=True):
        lows, highs, places = _bins(cell, bins)
        if len(lows):
            parts.append(cell.select("name", "value").with_columns(pl.Series("column", places + len(ranges))))
            ranges += [(int(str(length)), low, high) for low, high in zip(lows, highs, strict=True)]
    if not parts:
        return []
    means = pl.concat(parts).group_by("name", "column").agg(pl.col("value").mean())
    names = means["name"].unique().sort()
    scores = np.full((len(names), len(ranges)), np.nan)
    scores[means["name"].cast(pl.Enum(names)).to_physical().to_numpy(), means["column"].to_numpy()] = means["value"]
    draws = resampled_means(scores, generator(seed, str(group["task"][0])))
    points = []
    for column in np.flatnonzero(~np.isnan(scores).all(axis=0)):
        length, low, high = ranges[column]
        mean = float(np.nanmean(scores[:, column]))
        points.append(
            PositionPoint(
                model=str(group["model"][0]),
                variant=str(group["variant"][0]),
                task=str(group["task"][0]),
                length=length,
                depth_low=low,
                depth_high=high,
                mean=mean,
                interval=interval_of(draws[:, column], mean),
                items=int((~np.isnan(scores[:, column])).sum()),
            )
        )
    return points


def _bins(cell: pl.DataFrame, bins: int) -> tuple[list[float], list[float], NDArray[np.int64]]:
    """Lower and upper ends of the bins of one length, and the bin of each row; no bins where depth does not vary."""
    depths = cell["depth"].to_numpy()
    values = np.unique(depths)
    if len(values) < 2:
        return [], [], np.zeros(len(depths), dtype=np.int64)
    if is_swept(cell, values):
        return values.tolist(), values.tolist(), np.searchsorted(values, depths)
    lows, highs = [part / bins for part in range(bins)], [(part + 1) / bins for part in range(bins)]
    return lows, highs, np.minimum((depths * bins).astype(np.int64), bins - 1)


def is_swept(cell: pl.DataFrame, values: Floats) -> bool:
    """Whether the depths of one length were chosen, a few values with several items each, and not drawn at random.

    Args:
        cell: Rows of one length, with item (``name``) and ``depth``.
        values: The different depths among them.
    """
    return len(values) <= SWEPT_AT_MOST and len(cell.select("name", "depth").unique()) >= 2 * len(values)
