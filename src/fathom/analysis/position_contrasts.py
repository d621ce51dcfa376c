"""Front, middle and rear of the context against each other: position bias as differences with intervals.

Where depths were swept (``fathom build --depth front,middle,rear``) each item is its own control. Where they were drawn
at random, other items lie in each third of the context, and the differences are unpaired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.position import is_swept, placed_rows
from fathom.stats.differences import PAIRED_REPLICATES, Differences, shared_sums
from fathom.stats.intervals import Floats, Interval
from fathom.stats.outcomes import scored_rows

Place: TypeAlias = Literal["front", "middle", "rear"]
PAIRS: tuple[tuple[Place, Place], ...] = (("front", "middle"), ("rear", "middle"), ("front", "rear"))


@dataclass(frozen=True, slots=True)
class PositionContrast:
    """Mean score at one place in the context less that at another, at one length or over several.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is one only.
        task: Name of the task.
        length: Length in tokens; None for the mean over the lengths.
        first: ``front``, ``middle`` or ``rear``. Of swept depths these are the least, the one nearest to 0.5 and the
            greatest; of random ones the thirds of the context.
        second: The place that it is compared with.
        first_depth: The depth swept, or the middle of the third.
        second_depth: Likewise.
        difference: Mean score at ``first`` less mean score at ``second``.
        interval: Its 95% interval.
        p_value: Two-sided p-value, which agrees with the interval; None where not paired.
        paired: Whether depths were swept, and it is over items asked at both places. Else other items lie at each
            place, so that the interval is wider and the items' own difficulty is in it.
        items: Items asked at both places; where not paired, items at either.
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
    p_value: float | None
    paired: bool
    items: int


def position_contrasts(
    rows: pl.DataFrame, *, seed: int = 0, replicates: int = PAIRED_REPLICATES
) -> list[PositionContrast]:
    """Front, middle and rear against each other, per model, variant, task and length, and over the lengths.

    Args:
        rows: A rows table; may be empty.
        seed: Seed of intervals and p-values.
        replicates: Number of replicates.

    Returns:
        Contrasts by model, task, pair of places and length, the mean over lengths (None) last, where all lengths have
        the same depths, are paired or not alike, and are measured (``fathom.stats.outcomes``); none where a place has
        no scored item.
    """
    lost = scored_rows(rows).filter("blank").select("model", "variant", "task").unique().rows()
    found: list[PositionContrast] = []
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
                # A single item that chance put at both places must not stand for all others.
                alike = [cell for cell, side in sides.items() if (cell.swept and _share_items(*side)) is controlled]
                found += _contrasts(group, alike, sides, (first, second), controlled, tuple(names), seed, replicates)
    return [one for one in found if one.length is not None or (one.model, one.variant, one.task) not in lost]


def _share_items(first: Floats, second: Floats) -> bool:
    """Whether any item was asked at both places."""
    return not np.isnan(first + second).all()


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """One length: whether depths were swept, the depth of each place, and the mean score of each item there."""

    length: int
    swept: bool
    depths: dict[Place, float]
    means: pl.DataFrame

    def scores(self, names: dict[str, int]) -> dict[Place, Floats]:
        """Scores of all items of the task at each place, NaN where an item has none."""
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
        there = set(means["place"])
        yield _Cell(int(str(length)), swept, {name: depth for name, depth in depths.items() if name in there}, means)


def _contrasts(
    group: pl.DataFrame,
    cells: list[_Cell],
    sides: Mapping[_Cell, tuple[Floats, Floats]],
    pair: tuple[Place, Place],
    controlled: bool,
    names: tuple[str, ...],
    seed: int,
    replicates: int,
) -> list[PositionContrast]:
    """One pair of places at lengths that are all paired or all not; and over them where all have the same depths."""
    if not cells:
        return []
    first, second = (np.stack([sides[cell][side] for cell in cells], axis=1) for side in (0, 1))
    there = ~np.isnan(first + second) if controlled else ~np.isnan(first) | ~np.isnan(second)
    asked = np.asarray(there.any(axis=1))
    first, second = (np.where(there, side, np.nan)[asked] for side in (first, second))
    names = tuple(name for name, here in zip(names, asked.tolist(), strict=True) if here)
    task = f"{group['task'][0]} {' '.join(pair)} {controlled}"
    sums = shared_sums({"first": (names, first), "second": (names, second)}, task, seed, replicates=replicates)
    gaps = np.nanmean(first, axis=0) - np.nanmean(second, axis=0)
    found = Differences((sums["first"],), (sums["second"],), gaps[None, :])
    # Beside lengths of the other kind it would not be the mean over the lengths.
    columns = _columns(cells, pair, there, over_lengths=len(cells) == len(sides))
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
            p_value=gap.p_value if controlled else None,
            paired=controlled,
            items=column.items,
        )
        for column in columns
        for gap in [found.gap(column.chosen)]
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """What a contrast is over: one length, or all of them with equal weight; and the depths of its two places."""

    length: int | None
    chosen: list[int]
    items: int
    depths: tuple[float, float]


def _columns(
    cells: Sequence[_Cell], pair: tuple[Place, Place], there: NDArray[np.bool_], *, over_lengths: bool
) -> list[_Column]:
    depths = [(cell.depths[pair[0]], cell.depths[pair[1]]) for cell in cells]
    columns = [
        _Column(cell.length, [number], int(there[:, number].sum()), depths[number]) for number, cell in enumerate(cells)
    ]
    if over_lengths and len(cells) > 1 and len(set(depths)) == 1:
        columns.append(_Column(None, list(range(len(cells))), int(there.any(axis=1).sum()), depths[0]))
    return columns
