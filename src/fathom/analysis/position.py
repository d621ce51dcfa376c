"""Score by position: is the middle of the context used as well as its ends?

Position is the facet ``depth``: the position of the gold text in the context, 0 for its start and 1 for its end. Source
of the plot: "Lost in the Middle" (Liu et al. 2024), with intervals.

Contrasts compare front, middle and end of the context, as differences with intervals. For chosen depths
(``fathom build --depths front,middle,end``) each item is compared with itself. For random depths, each third of the
context has other items, and the differences are unpaired.

A depth grid has a few evenly spaced depths, each at every length, as in "needle in a haystack" (Kamradt 2023) and
LongLeader's Needle (table 3: 11 depths at 16 and at 64 lengths). A cell has one item or few and therefore no interval;
``position`` pools depths to give intervals.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.stats.columns import cluster_name, facet, item_name, mean_of
from fathom.stats.differences import PAIRED_REPLICATES, Differences, Gap, Resampler, paired, unpaired_gap
from fathom.stats.intervals import Floats, Interval, clusters_of, interval_at, resampled_means
from fathom.stats.outcomes import over_suites, scored_rows
from fathom.stats.ranks import with_adjusted
from fathom.types import FathomError

SWEPT_AT_MOST = 21
"""More different depths than this are taken as random."""
Place: TypeAlias = Literal["front", "middle", "rear"]
PAIRS: tuple[tuple[Place, Place], ...] = (("front", "middle"), ("rear", "middle"), ("front", "rear"))
LEAST_DEPTHS = 3
"""Minimum number of depths; two need no picture."""
_ROUNDED = 0.001  # rounding of depths in rows


@dataclass(frozen=True, slots=True)
class PositionPoint:
    """Mean score at one range of depths (0 = start of the context, 1 = end).

    ``depth_low == depth_high`` for chosen depths; otherwise the bin is ``[depth_low, depth_high)`` and the last bin
    includes its upper end. ``items`` counts scored items.
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
    """Mean score by depth per model, variant, task and length, if depths vary.

    Chosen depths (few values, each with several items) are separate points; random depths are grouped into ``bins``
    equal parts. Epochs are averaged within an item first. An item asked at several depths has the same weight in all
    of them.

    Args:
        bins: Number of equal parts of [0, 1], 1 or more.

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
    """The scored rows that have a depth, with it as ``depth``, their item as ``name``, and ``cluster``."""
    depth = facet("depth").cast(pl.Float64, strict=False)
    return (
        over_suites(scored_rows(rows))
        .with_columns(depth.round(3).alias("depth"), item_name(), cluster_name())
        .filter(pl.col("depth").is_between(0, 1) & pl.col("value").is_not_null())
    )


def _points(group: pl.DataFrame, bins: int, seed: int) -> list[PositionPoint]:
    """Points of one model and task: one column of scores per length and bin, resampled together."""
    ranges: list[tuple[int, float, float]] = []
    parts: list[pl.DataFrame] = []
    for (length,), cell in group.sort("length", maintain_order=True).group_by("length", maintain_order=True):
        lows, highs, places = depth_bins(cell, bins)
        if len(lows):
            parts.append(cell.select("name", "value").with_columns(pl.Series("column", places + len(ranges))))
            ranges += [(int(str(length)), low, high) for low, high in zip(lows, highs, strict=True)]
    if not parts:
        return []
    means = pl.concat(parts).group_by("name", "column").agg(pl.col("value").mean())
    names = means["name"].unique().sort()
    scores = np.full((len(names), len(ranges)), np.nan)
    scores[means["name"].cast(pl.Enum(names)).to_physical().to_numpy(), means["column"].to_numpy()] = means["value"]
    clusters = clusters_of(scores, _clusters(group, names.to_list()))
    draws = resampled_means(clusters, seed)
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
                interval=interval_at(clusters, draws, column, mean),
                items=int((~np.isnan(scores[:, column])).sum()),
            )
        )
    return points


def _clusters(group: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """The cluster of each item."""
    known = dict(group.select("name", "cluster").unique("name", keep="last").iter_rows())
    return [known[name] for name in names]


def depth_bins(cell: pl.DataFrame, bins: int) -> tuple[list[float], list[float], NDArray[np.int64]]:
    """Lower and upper ends of the bins of one length, and the bin of each row; no bins if depth does not vary.

    Args:
        cell: Rows of one length, with item (``name``) and ``depth``.
        bins: Number of equal parts, if depths are random.
    """
    depths = cell["depth"].to_numpy()
    values = np.unique(depths)
    if len(values) < 2:
        return [], [], np.zeros(len(depths), dtype=np.int64)
    if is_swept(cell, values):
        return values.tolist(), values.tolist(), np.searchsorted(values, depths)
    lows, highs = [part / bins for part in range(bins)], [(part + 1) / bins for part in range(bins)]
    return lows, highs, np.minimum((depths * bins).astype(np.int64), bins - 1)


def is_swept(cell: pl.DataFrame, values: Floats) -> bool:
    """Whether the depths of one length were chosen (a few values with several items each) instead of random.

    Args:
        cell: Rows of one length, with item (``name``) and ``depth``.
        values: The different depths among them.
    """
    return len(values) <= SWEPT_AT_MOST and len(cell.select("name", "depth").unique()) >= 2 * len(values)


@dataclass(frozen=True, slots=True)
class PositionContrast:
    """Mean score at one position in the context minus that at another, at one length or over several.

    Attributes:
        task: Name of the task.
        length: Length in tokens; None for the mean over the lengths.
        first: ``front``, ``middle`` or ``rear`` (the end). Of chosen depths these are the least, the one nearest to
            0.5 and the greatest; of random ones the thirds of the context.
        second: The position that it is compared with.
        first_depth: The chosen depth, or the middle of the third.
        second_depth: Likewise.
        difference: Mean score at ``first`` minus mean score at ``second``.
        interval: Its 95% interval.
        p_value: Two-sided p-value: of the sign-flip test (``fathom.stats.flips``), or of the replicates if unpaired.
        paired: Whether depths were chosen, and the difference is over items asked at both positions. Otherwise each
            position has other items, whose difficulty widens the interval.
        items: Items asked at both positions; if unpaired, items at either.
        p_adjusted: The p-value adjusted by Holm's method for all contrasts of the table: some of them are below .05 in
            at most 5% of tables without a true difference.
    """

    model: str
    variant: str
    task: str
    length: int | None
    first: Place
    second: Place
    first_depth: float
    second_depth: float
    difference: float
    interval: Interval
    p_value: float
    paired: bool
    items: int
    p_adjusted: float = 1.0


def position_contrasts(
    rows: pl.DataFrame, *, seed: int = 0, replicates: int = PAIRED_REPLICATES
) -> list[PositionContrast]:
    """Differences between front, middle and end, per model, variant, task and length, and over the lengths.

    Returns:
        Contrasts by model, task, pair of positions and length, the mean over lengths (None) last if all lengths have
        the same depths, are all paired or all unpaired, and have a score (``fathom.stats.outcomes``); none if a
        position has no scored item.
    """
    lost = scored_rows(rows).filter("blank").select("model", "variant", "task").unique().rows()
    contrasts: list[PositionContrast] = []
    resampler = Resampler(seed, replicates)  # of all pairs: each position is in two of them
    for _, group in placed_rows(rows).group_by("model", "variant", "task", maintain_order=True):
        cells = list(_cells(group))
        names = {name: line for line, name in enumerate(group["name"].unique().sort())}
        scores = {cell.length: cell.scores(names) for cell in cells}
        for first, second in PAIRS:
            sides = {
                cell: (scores[cell.length][first], scores[cell.length][second])
                for cell in cells
                if {first, second} <= set(cell.depths)
            }
            for controlled in (True, False):
                # A single item that is at both positions by chance must not represent all others.
                alike = [cell for cell, side in sides.items() if (cell.swept and _share_items(*side)) is controlled]
                pair = first, second
                contrasts += _contrasts(group, alike, sides, pair, controlled, tuple(names), resampler)
    systems = ((contrast, (contrast.model, contrast.variant, contrast.task)) for contrast in contrasts)
    return with_adjusted([contrast for contrast, key in systems if contrast.length is not None or key not in lost])


def _share_items(first: Floats, second: Floats) -> bool:
    """Whether any item was asked at both positions."""
    return not np.isnan(first + second).all()


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """One length: whether depths were chosen, the depth of each position, and the mean score of each item there."""

    length: int
    swept: bool
    depths: dict[Place, float]
    means: pl.DataFrame

    def scores(self, names: dict[str, int]) -> dict[Place, Floats]:
        """Scores of all items of the task at each position, NaN without a score."""
        table = {place: np.full(len(names), np.nan) for place in self.depths}
        for name, place, value in self.means.iter_rows():
            table[place][names[name]] = value
        return table


def _cells(group: pl.DataFrame) -> Iterator[_Cell]:
    """The lengths of one model and task at which depth varies."""
    for (length,), cell in group.sort("length", maintain_order=True).group_by("length", maintain_order=True):
        values = np.unique(cell["depth"].to_numpy())
        if len(values) < 2:
            continue
        depths: dict[Place, float]
        swept = is_swept(cell, values)
        if swept:
            depths = {"front": float(values[0]), "rear": float(values[-1])}
            if len(values) > 2:
                depths["middle"] = float(values[1 + np.abs(values[1:-1] - 0.5).argmin()])
            place = pl.col("depth").replace_strict({depth: name for name, depth in depths.items()}, default=None)
        else:
            third = pl.when(pl.col("depth") < 1 / 3).then(pl.lit("front"))
            place = third.when(pl.col("depth") < 2 / 3).then(pl.lit("middle")).otherwise(pl.lit("rear"))
            depths = {"front": 1 / 6, "middle": 1 / 2, "rear": 5 / 6}
        means = (
            cell.with_columns(place=place.cast(pl.String))
            .filter(pl.col("place").is_not_null())
            .group_by("name", "place", maintain_order=True)
            .agg(pl.col("value").mean())
        )
        present = set(means["place"])
        yield _Cell(int(str(length)), swept, {name: depth for name, depth in depths.items() if name in present}, means)


def _contrasts(
    group: pl.DataFrame,
    cells: list[_Cell],
    sides: Mapping[_Cell, tuple[Floats, Floats]],
    pair: tuple[Place, Place],
    controlled: bool,
    names: tuple[str, ...],
    resampler: Resampler,
) -> list[PositionContrast]:
    """One pair of positions at lengths that are all paired or all not, and over them if all have the same depths."""
    if not cells:
        return []
    first, second = (np.stack([sides[cell][side] for cell in cells], axis=1) for side in (0, 1))
    scored = ~np.isnan(first + second) if controlled else ~np.isnan(first) | ~np.isnan(second)
    asked = np.asarray(scored.any(axis=1))
    first, second = (np.where(scored, side, np.nan)[asked] for side in (first, second))
    names = tuple(name for name, here in zip(names, asked.tolist(), strict=True) if here)
    differences = paired(first, second, "position", resampler, _clusters(group, names))
    # With lengths of the other kind it would not be the mean over all lengths.
    columns = _columns(cells, pair, scored, over_lengths=len(cells) == len(sides))
    return [
        PositionContrast(
            model=str(group["model"][0]),
            variant=str(group["variant"][0]),
            task=str(group["task"][0]),
            length=column.length,
            first=pair[0],
            second=pair[1],
            first_depth=column.depths[0],
            second_depth=column.depths[1],
            difference=gap.difference,
            interval=gap.interval,
            p_value=gap.p_value,
            paired=controlled,
            items=column.items,
        )
        for column in columns
        for gap in [differences.gap(column.chosen) if controlled else _unpaired(differences, column.chosen)]
    ]


def _unpaired(differences: Differences, columns: Sequence[int]) -> Gap:
    """A difference between positions that have other items."""
    (task,) = differences.tasks
    means, clusters = [], []
    for side in (task.first.at(columns), task.second.at(columns)):
        means.append(float(side.means.mean()))
        clusters.append(int((side.counts > 0).any(axis=1).sum()))
    first, second = differences.sides(columns)
    return unpaired_gap(first - second, means[0] - means[1], min(clusters) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """What a contrast is over: one length, or all of them with equal weight; and the depths of its two positions."""

    length: int | None
    chosen: list[int]
    items: int
    depths: tuple[float, float]


def _columns(
    cells: Sequence[_Cell], pair: tuple[Place, Place], scored: NDArray[np.bool_], *, over_lengths: bool
) -> list[_Column]:
    depths = [(cell.depths[pair[0]], cell.depths[pair[1]]) for cell in cells]
    columns = [
        _Column(cell.length, [number], int(items), depths[number])
        for number, (cell, items) in enumerate(zip(cells, scored.sum(axis=0), strict=True))
    ]
    if over_lengths and len(cells) > 1 and len(set(depths)) == 1:
        columns.append(_Column(None, list(range(len(cells))), int(scored.any(axis=1).sum()), depths[0]))
    return columns


@dataclass(frozen=True, slots=True)
class DepthCell:
    """Mean score of a model on a task at one depth (0 = start of the context, 1 = end) and length, over ``items``."""

    model: str
    variant: str
    task: str
    length: int
    depth: float
    mean: float
    items: int


def depth_grid(rows: pl.DataFrame) -> list[DepthCell]:
    """Scores by depth and length of every model on every task whose depths are a grid.

    Epochs are averaged within an item first.

    Returns:
        Cells by model and task (as the rows name them), length and depth; none of tasks with depths drawn at random, or
        with a single length.
    """
    cells: list[DepthCell] = []
    for _, group in placed_rows(rows).group_by("model", "variant", "task", maintain_order=True):
        if group["length"].n_unique() > 1 and are_even(group["depth"].unique().to_list()):
            cells += _grid_cells(group)
    return cells


def are_even(depths: Sequence[float]) -> bool:
    """Whether depths are a few values that divide the context into equal parts.

    Args:
        depths: Different depths in [0, 1], rounded to three decimals or more.
    """
    if not LEAST_DEPTHS <= len(depths) <= SWEPT_AT_MOST:
        return False
    return any(
        all(abs(depth * parts - round(depth * parts)) <= _ROUNDED * parts for depth in depths)
        for parts in range(LEAST_DEPTHS - 1, SWEPT_AT_MOST)
    )


def _grid_cells(group: pl.DataFrame) -> list[DepthCell]:
    places = ["length", "depth"]
    means = (
        group.group_by("name", *places)
        .agg(mean_of("value"))
        .group_by(places)
        .agg(mean_of("value"), pl.len().alias("items"))
        .sort(places)
    )
    model, variant, task = (str(group[name][0]) for name in ("model", "variant", "task"))
    return [
        DepthCell(model, variant, task, int(length), float(depth), float(mean), int(items))
        for length, depth, mean, items in means.iter_rows()
    ]
