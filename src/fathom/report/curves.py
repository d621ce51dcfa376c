"""Score against length: one line per system, with bands, grey lines of other systems and the chance level."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fathom.analysis import CurvePoint
from fathom.report import words
from fathom.report.charts import Area, Labels, Layer, LayerChart, Line, Points, Rule
from fathom.report.colours import GHOST, MUTED
from fathom.report.drawing import Size, length_axis, length_domain, names_at_ends, score_axis, series_of
from fathom.report.results import System, system_of

# With more lines than this, bands hide each other.
BANDS = 5
CHANCE = "chance"
AT_ENDS = -1
"""In place of the columns of a legend: names at the ends of their lines."""
NAMES = 170  # pixels


class Level(NamedTuple):
    """A level to compare scores with, drawn as a thin grey line: its name, its dashes, and its value at each length."""

    name: str
    dash: tuple[int, ...]
    at: Mapping[int, float]


def curve_chart(
    points: Iterable[CurvePoint],
    systems: Sequence[System],
    size: Size,
    *,
    focus: System | None = None,
    legend: int = 0,
    title: str = "",
    levels: Sequence[Level] = (),
    bases: Iterable[CurvePoint] = (),
) -> LayerChart:
    """Score against length, one line per system, with interval bands and the chance level.

    Args:
        points: Points of one task, or of ``all``; points without a mean are left out.
        systems: All systems of the report, in the order of their colours.
        size: Plotting area in pixels.
        focus: Draws this system in colour and the others in grey; None draws all in colour.
        legend: Columns of the chart's legend; 0 for no legend, ``AT_ENDS`` for names at the ends of the lines.
        title: A heading, "" for none.
        levels: Other levels to compare with, explained outside the chart.
        bases: Scores that have no length of their own (a base given in a table of scores), drawn to the left of all
            lengths, under the label ``base``; their ``length`` is not read.

    Returns:
        A chart; hollow markers are means without some task.
    """
    points = [point for point in points if point.mean is not None]
    given = [point for point in bases if point.mean is not None] if points else []
    at = max(1, min(point.length for point in points) // 2) if given else 0
    points = [*(replace(point, length=at) for point in given), *sorted(points, key=lambda point: point.length)]
    lengths = {point.length for point in points}
    lines = [_line_record(point, at) for point in points if focus in (None, system_of(point))]
    ghosts = [_line_record(point, at) for point in points if focus not in (None, system_of(point))]
    banded = focus is not None or len({line["system"] for line in lines}) <= BANDS
    layers: list[Layer] = []
    if ghosts:
        layers.append(Line(records=ghosts, x="length", y="mean", colour=GHOST.light, width=1, detail="system"))
    for level in (_chance(points), *levels):
        layers.extend(_level_layers(level, lengths, labelled=legend > 0 and level.name == CHANCE))
    layers.extend(_series_layers(lines, thin=not banded and len(systems) > BANDS + 1, banded=banded))
    series = series_of([system.name for system in systems], columns=max(0, legend), dashed=True)
    if legend == AT_ENDS and lines:
        last = {system.name: point.mean for system in systems for point in points if system_of(point) == system}
        ends = {name: mean for name, mean in last.items() if mean is not None}
        end = ("length", length_domain(lengths)[1])
        layers.append(names_at_ends(ends, end, score_axis(), size, series.styles, limit=NAMES, numbered=False))
    return LayerChart(
        layers=layers,
        size=size,
        x=length_axis(lengths, size, base=at),
        y=score_axis(),
        series=series,
        title=title,
    )


def _line_record(point: CurvePoint, base: int) -> dict[str, object]:
    low, high = (point.interval.low, point.interval.high) if point.interval else (point.mean, point.mean)
    name, at = system_of(point).name, "base" if base and point.length == base else words.length(point.length)
    incomplete = "" if point.complete else "; without some task"
    return {
        "system": name,
        "length": point.length,
        "mean": point.mean,
        "low": low,
        "high": high,
        "complete": point.complete,
        "says": f"{name}, {at}: {words.scored(point.mean, point.interval)}{incomplete}",
    }


def _chance(points: Sequence[CurvePoint]) -> Level:
    levels: dict[int, list[float]] = {}
    for point in points:
        if point.chance is not None:
            levels.setdefault(point.length, []).append(point.chance)
    return Level(CHANCE, (3, 3), {length: sum(known) / len(known) for length, known in levels.items()})


def _level_layers(level: Level, lengths: set[int], *, labelled: bool) -> list[Layer]:
    records: list[dict[str, float]] = [{"length": length, "level": at} for length, at in sorted(level.at.items())]
    if not records:
        return []
    # One length gives one point, which draws no line: carry the level across the plot.
    low, high = length_domain(lengths)
    records = [{**records[0], "length": low}, *records, {**records[-1], "length": high}]
    line = Line(records=records, x="length", y="level", colour=MUTED.light, dash=level.dash, width=1.2)
    label = Labels(records=records[:1], x="length", y="level", fixed=level.name, colour=MUTED.light, dy=-7)
    return [line, label] if labelled else [line]


def _series_layers(lines: list[dict[str, object]], *, thin: bool, banded: bool) -> list[Layer]:
    counts = Counter(line["system"] for line in lines)
    layers: list[Layer] = [Area(records=lines, x="length", low="low", high="high")] if banded else []
    if alone := [line for line in lines if counts[line["system"]] == 1]:
        layers.append(Rule(records=alone, x="length", low="low", high="high"))
    layers.append(Line(records=lines, x="length", y="mean", width=1.2 if thin else 2))
    for complete in (True, False):
        if chosen := [line for line in lines if line["complete"] is complete]:
            layers.append(Points(records=chosen, x="length", y="mean", size=22 if thin else 34, hollow=not complete))
    return layers
