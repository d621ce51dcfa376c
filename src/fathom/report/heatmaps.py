"""Heat maps by length: score by depth, score by task, LongScore by model."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fathom.analysis import CurvePoint, DepthRecovery, LongScore, PositionPoint
from fathom.report import words
from fathom.report.charts import Labels, LayerChart, Names, Size, Tiles
from fathom.report.colours import CHANGE, GRID, HEAT, change_step, heat_step
from fathom.report.results import System, system_of

ANOMALY = 1.0
"""A change above this is not taken as a gain: the base is small."""
HARDLY = 3.0
"""A base whose interval spans this factor or more is too uncertain."""
MANY = 25
"""Rows of a heat map beyond which the names of its columns are above it."""
ANOMALOUS = (
    "Grey, with the figure in brackets: anomalous, because it is above +100% or relative to a base that is known only "
    f"within a factor of {HARDLY:g} or more"
)


def position_chart(
    points: Iterable[PositionPoint], lengths: Sequence[int], size: Size, *, title: str = ""
) -> LayerChart:
    """Score by depth and length as a heat map, for one system on one task; cells that were not measured are blank.

    Args:
        lengths: Lengths from left to right, also those without a point.
        size: Plotting area in pixels.
        title: A heading, "" for none.

    Returns:
        A chart: length to the right, depth downwards, scores in percent without decimals.
    """
    points = sorted(points, key=lambda point: (point.length, point.depth_low))
    cells = [scored_tile(words.tokens(point.length), depth_name(point), point.mean) for point in points]
    depths = [depth_name(point) for point in sorted(points, key=lambda point: (point.depth_low, point.depth_high))]
    return heat_map(cells, [words.tokens(length) for length in lengths], depths, size, title=title)


def score_chart(
    points: Iterable[CurvePoint], lengths: Sequence[int], tasks: Sequence[str], size: Size, *, title: str = ""
) -> LayerChart:
    """Score by task and length as a heat map, for one system; cells without a score are blank.

    Args:
        lengths: Lengths from left to right, also those without a point.
        tasks: Tasks from top to bottom.
        size: Plotting area in pixels.
        title: A heading, "" for none.
    """
    cells = [
        scored_tile(words.tokens(point.length), point.task, point.mean)
        for point in points
        if point.mean is not None and point.task in tasks
    ]
    return heat_map(cells, [words.tokens(length) for length in lengths], tasks, size, title=title)


def longscore_map(
    scores: Iterable[LongScore],
    systems: Sequence[System],
    lengths: Sequence[int],
    size: Size,
    *,
    title: str = "",
    widest: int = 220,
) -> LayerChart:
    """LongScore by model and length as a heat map, for one task: losses in one hue and gains in another.

    Args:
        scores: LongScores of one task, or of ``all``.
        systems: Models from top to bottom.
        lengths: Lengths from left to right, also those without a point.
        size: Plotting area in pixels.
        title: A heading, "" for none.
        widest: Maximum width of names of models, in pixels; longer ones are shortened.

    Returns:
        A chart with changes in percent without decimals. Undefined and anomalous changes are grey, the latter with the
        figure in brackets (see ``ANOMALOUS``; figure 8 of the paper greys such cells); cells that were not measured
        are blank.
    """
    cells = []
    for score in scores:
        for point in score.points:
            text = "undef." if point.value is None else words.change(round(point.value, 2)).removesuffix(".0")
            fill = GRID if point.value is None else CHANGE[change_step(point.value)]
            if point.value is not None and is_anomalous(score, point.value):
                text, fill = f"({text})", GRID
            cells.append(Tile(words.tokens(point.length), system_of(score).name, fill.light, text))
    columns = [words.tokens(length) for length in lengths]
    return heat_map(cells, columns, [system.name for system in systems], size, title=title, widest=widest)


def is_anomalous(score: LongScore, value: float | None = None) -> bool:
    """Whether a value, or any of all values, is above +100% or relative to a base that is too uncertain."""
    values = [point.value or 0.0 for point in score.points] if value is None else [value]
    return any(each > ANOMALY for each in values) or (score.base_factor or 1.0) >= HARDLY


class Tile(NamedTuple):
    """One tile of a heat map: its column and row, its colour, and its text."""

    column: str
    line: str
    heat: str
    label: str


def scored_tile(column: str, line: str, mean: float) -> Tile:
    """A tile with a score in [0, 1]: its colour, and the score in percent without decimals."""
    return Tile(column, line, HEAT[heat_step(mean)].light, f"{100 * mean:.0f}")


def heat_map(
    tiles: Iterable[Tile],
    columns: Sequence[str],
    lines: Sequence[str],
    size: Size,
    *,
    title: str = "",
    note: Sequence[str] = (),
    widest: int = 220,
) -> LayerChart:
    """Tiles in columns and rows; places without a tile are blank.

    Args:
        columns: Names of the columns from left to right.
        lines: Names of the rows from top to bottom.
        size: Plotting area in pixels.
        title: A heading, "" for none.
        note: Lines in small type under the heading.
        widest: Maximum width of names of rows, in pixels; longer ones are shortened.
    """
    records = [
        {**tile._asdict(), "says": f"{tile.line}, {tile.column}: {tile.label}{'%' * tile.label[-1:].isdigit()}"}
        for tile in tiles
    ]
    return LayerChart(
        layers=[
            Tiles(records=records, x="column", y="line", heat="heat"),
            Labels(records=records, x="column", y="line", text="label", font=10, left=False),
        ],
        size=size,
        # With more rows than fit on a screen, the names of columns are above.
        x=Names(names=columns, top=len(set(lines)) > MANY),
        y=Names(names=lines, widest=widest),
        title=title,
        note=note,
    )


def depth_name(point: PositionPoint | DepthRecovery) -> str:
    """A depth, or a range of depths, in percent of the context: "40%", "20–40%"."""
    low, high = round(100 * point.depth_low), round(100 * point.depth_high)
    return f"{low}%" if low == high else f"{low}–{high}%"
