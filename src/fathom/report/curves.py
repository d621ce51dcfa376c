"""Score against length: one line per system, with bands, grey lines of other systems and the chance level."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import altair as alt

from fathom.analysis import CurvePoint
from fathom.report.colours import GHOST, MUTED, PAPER
from fathom.report.drawing import (
    Size,
    chart_of_records,
    layered,
    legend_of,
    length_axis,
    length_domain,
    score_axis,
    style,
)
from fathom.report.results import System, system_of

# With more lines than this, bands hide each other.
BANDS = 5
CHANCE = "chance"


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
) -> alt.LayerChart:
    """Score against length, one line per system, with interval bands and the chance level.

    Args:
        points: Points of one task, or of ``all``; points without a mean are left out.
        systems: All systems of the report, in the order of their colours.
        size: Plotting area in pixels.
        focus: Draws this system in colour and the others in grey; None draws all in colour.
        legend: Columns of the chart's legend; 0 for no legend.
        title: A heading, "" for none.
        levels: Other levels to compare with, explained outside the chart.
        bases: Scores that have no length of their own (a base given in a table of scores), drawn to the left of all
            lengths, under the label ``base``; their ``length`` is not read.

    Returns:
        A chart; hollow markers are means without some task.
    """
    points = [point for point in points if point.mean is not None]
    given = [point for point in bases if point.mean is not None] if points else []
    at = max(1, min(_lengths(points)) // 2) if given else 0
    points = [*(replace(point, length=at) for point in given), *points]
    names = {system: system.name for system in systems}
    lines = [_line_record(point, names) for point in points if focus in (None, system_of(point))]
    ghosts = [_line_record(point, names) for point in points if focus not in (None, system_of(point))]
    banded = focus is not None or len({line["system"] for line in lines}) <= BANDS
    layers: list[alt.Chart] = []
    if ghosts:
        base = chart_of_records(ghosts).mark_line(color=GHOST.light, strokeWidth=1)
        x = length_axis(_lengths(points), size, base=at)
        layers.append(base.encode(x=x, y=score_axis(), detail="system:N"))
    for level in (_chance(points), *levels):
        labelled = bool(legend) and level.name == CHANCE
        layers.extend(_level_layers(level, length_axis(_lengths(points), size, base=at), _lengths(points), labelled))
    x = length_axis(_lengths(points), size, base=at)
    layers.extend(_series_layers(lines, x, systems, banded=banded, key=legend_of(legend, size)))
    return layered(layers, size, title)


def _lengths(points: Iterable[CurvePoint]) -> set[int]:
    return {point.length for point in points}


def _line_record(point: CurvePoint, names: Mapping[System, str]) -> dict[str, object]:
    low, high = (point.interval.low, point.interval.high) if point.interval else (point.mean, point.mean)
    return {
        "system": names[system_of(point)],
        "length": point.length,
        "mean": point.mean,
        "low": low,
        "high": high,
        "complete": point.complete,
    }


def _chance(points: Sequence[CurvePoint]) -> Level:
    levels: dict[int, list[float]] = {}
    for point in points:
        if point.chance is not None:
            levels.setdefault(point.length, []).append(point.chance)
    return Level(CHANCE, (3, 3), {length: sum(known) / len(known) for length, known in levels.items()})


def _level_layers(level: Level, x: alt.X, lengths: set[int], labelled: bool) -> list[alt.Chart]:
    records: list[dict[str, float]] = [{"length": length, "level": at} for length, at in sorted(level.at.items())]
    if not records:
        return []
    # One length gives one point, which draws no line: carry the level across the plot.
    low, high = length_domain(lengths)
    records = [{**records[0], "length": low}, *records, {**records[-1], "length": high}]
    y = alt.Y("level:Q", scale=alt.Scale(domain=[0, 1]))
    line = chart_of_records(records).mark_line(color=MUTED.light, strokeDash=list(level.dash), strokeWidth=1.2)
    label = chart_of_records(records[:1]).mark_text(
        text=level.name, color=MUTED.light, fontSize=11, align="left", dy=-7
    )
    return [line.encode(x=x, y=y), *([label.encode(x=x, y=y)] if labelled else [])]


def _series_layers(
    lines: list[dict[str, object]],
    x: alt.X,
    systems: Sequence[System],
    *,
    banded: bool,
    key: alt.Legend | None,
) -> list[alt.Chart]:
    styles = [style(number) for number in range(len(systems))]
    domain = [system.name for system in systems]
    colour = alt.Color(
        "system:N", scale=alt.Scale(domain=domain, range=[look.colour.light for look in styles]), legend=key
    )
    dash = alt.StrokeDash("system:N", scale=alt.Scale(domain=domain, range=[list(look.dash) for look in styles]))
    shape = alt.Shape("system:N", scale=alt.Scale(domain=domain, range=[look.shape for look in styles]), legend=key)
    y = score_axis()
    chart = chart_of_records(lines)
    alone = {line["system"] for line in lines if sum(other["system"] == line["system"] for other in lines) == 1}
    spread = {"x": x, "y": alt.Y("low:Q"), "y2": alt.Y2("high:Q"), "color": colour}
    made = []
    if banded:
        made.append(chart.mark_area(opacity=0.13, interpolate="linear").encode(**spread))
    if alone:
        made.append(
            chart_of_records([line for line in lines if line["system"] in alone])
            .mark_rule(strokeWidth=1.5)
            .encode(**spread)
        )
    thin = not banded and len(systems) > BANDS + 1
    line = chart.mark_line(strokeWidth=1.2 if thin else 2)
    made.append(line.encode(x=x, y=y, color=colour, strokeDash=dash.legend(None)))
    marks: dict[str, Any] = {"size": 22 if thin else 34, "opacity": 1, "strokeWidth": 1.5}
    looks: tuple[tuple[bool, dict[str, Any]], ...] = (
        (True, {"filled": True}),
        (False, {"filled": False, "fill": PAPER.light}),
    )
    for complete, look in looks:
        if chosen := [line for line in lines if line["complete"] is complete]:
            markers = chart_of_records(chosen).mark_point(**look, **marks)
            made.append(markers.encode(x=x, y=y, color=colour, shape=shape))
    return made
