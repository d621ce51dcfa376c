"""Charts: pure functions from measures to Altair charts, drawn in the light colours of ``colours``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from fathom.analysis import CurvePoint, PositionPoint
from fathom.report import words
from fathom.report.colours import GHOST, GRID, HEAT, INK, MUTED, PAPER, SERIES, Colour, heat_step
from fathom.report.results import System, system_of

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3))
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
CONFIG: Mapping[str, object] = {
    "font": "sans-serif",
    "padding": 4,
    "view": {"stroke": None},
    "axis": {"labelColor": MUTED.light, "labelFontSize": 11, "gridColor": GRID.light, "tickColor": GHOST.light},
    "legend": {"labelColor": INK.light, "labelFontSize": 12, "symbolStrokeWidth": 2, "symbolOpacity": 1},
    "title": {"color": INK.light, "fontSize": 13, "anchor": "start", "offset": 12},
}
# Beyond this many lines, bands hide one another more than they show.
BANDS = 5


class Size(NamedTuple):
    """Size of a chart's plotting area, in pixels."""

    width: int
    height: int


class Style(NamedTuple):
    """How one system is drawn: colours repeat after six, so markers and dashes shift then.

    ``name`` is the colour's name in ``colours.NAMES``.
    """

    colour: Colour
    name: str
    dash: tuple[int, ...]
    shape: str


def style(number: int) -> Style:
    """The style of the system with this number, from 0."""
    return Style(
        SERIES[number % len(SERIES)],
        f"series-{number % len(SERIES)}",
        DASHES[number // len(SERIES) % len(DASHES)],
        SHAPES[(number + number // len(SERIES)) % len(SHAPES)],
    )


def curve_chart(
    points: Iterable[CurvePoint],
    systems: Sequence[System],
    size: Size,
    *,
    focus: System | None = None,
    legend: bool = False,
) -> alt.LayerChart:
    """Score against length, one line a system, with interval bands and the chance level.

    Args:
        points: Points of one task, or of ``all``; points without a mean are left out.
        systems: All systems of the report, in the order that settles their colours.
        size: Plotting area in pixels.
        focus: Draws this system alone in colour and the others as ghosts behind it; None draws all alike.
        legend: Whether the chart names its lines itself.

    Returns:
        A chart; hollow markers stand for means in which some task is missing.
    """
    points = [point for point in points if point.mean is not None]
    names = {system: system.name for system in systems}
    lines = [_line_record(point, names) for point in points if focus in (None, system_of(point))]
    ghosts = [_line_record(point, names) for point in points if focus not in (None, system_of(point))]
    banded = focus is not None or len({line["system"] for line in lines}) <= BANDS
    layers: list[alt.Chart] = []
    if ghosts:
        base = _chart(ghosts).mark_line(color=GHOST.light, strokeWidth=1)
        layers.append(base.encode(x=_length_axis(points, size), y=_score_axis(), detail="system:N"))
    layers.extend(_chance_layers(points, size, labelled=legend))
    layers.extend(_series_layers(lines, points, systems, size, banded=banded, legend=legend))
    return _layered(layers, size)


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


def _chance_layers(points: Sequence[CurvePoint], size: Size, *, labelled: bool) -> list[alt.Chart]:
    levels: dict[int, list[float]] = {}
    for point in points:
        if point.chance is not None:
            levels.setdefault(point.length, []).append(point.chance)
    if not levels:
        return []
    records = [{"length": length, "chance": sum(known) / len(known)} for length, known in sorted(levels.items())]
    # One length gives one point, which draws no line: carry the level across the plot.
    low, high = _length_domain(points)
    records = [{**records[0], "length": low}, *records, {**records[-1], "length": high}]
    x, y = _length_axis(points, size), alt.Y("chance:Q", scale=alt.Scale(domain=[0, 1]))
    line = _chart(records).mark_line(color=MUTED.light, strokeDash=[3, 3], strokeWidth=1.2)
    label = _chart(records[:1]).mark_text(text="chance", color=MUTED.light, fontSize=11, align="left", dy=-7)
    return [line.encode(x=x, y=y), *([label.encode(x=x, y=y)] if labelled else [])]


def _series_layers(
    lines: list[dict[str, object]],
    points: Sequence[CurvePoint],
    systems: Sequence[System],
    size: Size,
    *,
    banded: bool,
    legend: bool,
) -> list[alt.Chart]:
    styles = [style(number) for number in range(len(systems))]
    domain = [system.name for system in systems]
    key = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=size.width) if legend else None
    colour = alt.Color(
        "system:N", scale=alt.Scale(domain=domain, range=[one.colour.light for one in styles]), legend=key
    )
    dash = alt.StrokeDash("system:N", scale=alt.Scale(domain=domain, range=[list(one.dash) for one in styles]))
    shape = alt.Shape("system:N", scale=alt.Scale(domain=domain, range=[one.shape for one in styles]), legend=key)
    x, y = _length_axis(points, size), _score_axis()
    chart = _chart(lines)
    alone = {line["system"] for line in lines if sum(other["system"] == line["system"] for other in lines) == 1}
    spread = {"x": x, "y": alt.Y("low:Q"), "y2": alt.Y2("high:Q"), "color": colour}
    made = []
    if banded:
        made.append(chart.mark_area(opacity=0.13, interpolate="linear").encode(**spread))
    if alone:
        made.append(
            _chart([line for line in lines if line["system"] in alone]).mark_rule(strokeWidth=1.5).encode(**spread)
        )
    thin = not banded and len(systems) > BANDS + 1
    line = chart.mark_line(strokeWidth=1.2 if thin else 2)
    made.append(line.encode(x=x, y=y, color=colour, strokeDash=dash.legend(key)))
    marks: dict[str, Any] = {"size": 14 if thin else 34, "opacity": 1, "strokeWidth": 1.5}
    looks: tuple[tuple[bool, dict[str, Any]], ...] = (
        (True, {"filled": True}),
        (False, {"filled": False, "fill": PAPER.light}),
    )
    for complete, look in looks:
        if chosen := [one for one in lines if one["complete"] is complete]:
            markers = _chart(chosen).mark_point(**look, **marks)
            made.append(markers.encode(x=x, y=y, color=colour, shape=shape))
    return made


def position_chart(
    points: Iterable[PositionPoint], lengths: Sequence[int], size: Size, *, title: str = ""
) -> alt.LayerChart:
    """Score by depth and length as a heat map, for one system on one task; what was not measured stays blank.

    Args:
        points: Points of one system and one task.
        lengths: Lengths from left to right, also those without a point.
        size: Plotting area in pixels.
        title: A heading, "" for none.

    Returns:
        A chart: length to the right, depth downwards, the score in each cell in percent without decimals.
    """
    points = sorted(points, key=lambda point: (point.length, point.depth_low))
    cells = [(words.tokens(point.length), depth_name(point), point.mean) for point in points]
    depths = [depth_name(point) for point in sorted(points, key=lambda point: (point.depth_low, point.depth_high))]
    return _heat_map(cells, lengths, depths, size, title)


def score_chart(
    points: Iterable[CurvePoint], lengths: Sequence[int], tasks: Sequence[str], size: Size, *, title: str = ""
) -> alt.LayerChart:
    """Score by task and length as a heat map, for one system; what was not scored stays blank.

    Args:
        points: Points of one system.
        lengths: Lengths from left to right, also those without a point.
        tasks: Tasks from top to bottom.
        size: Plotting area in pixels.
        title: A heading, "" for none.
    """
    cells = [
        (words.tokens(point.length), point.task, point.mean)
        for point in points
        if point.mean is not None and point.task in tasks
    ]
    return _heat_map(cells, lengths, tasks, size, title)


def _heat_map(
    cells: Iterable[tuple[str, str, float]], lengths: Sequence[int], lines: Sequence[str], size: Size, title: str
) -> alt.LayerChart:
    records = [
        {"column": column, "line": line, "heat": HEAT[heat_step(mean)].light, "score": f"{100 * mean:.0f}"}
        for column, line, mean in cells
    ]
    columns, lines = [words.tokens(length) for length in lengths], list(dict.fromkeys(lines))
    x = alt.X(
        "column:N", scale=alt.Scale(domain=columns), axis=_axis(None, grid=False, labelAngle=0, labelOverlap="greedy")
    )
    y = alt.Y("line:N", scale=alt.Scale(domain=lines), axis=_axis(None, grid=False, labelLimit=220))
    chart = _chart(records)
    tiles = chart.mark_rect(stroke=PAPER.light, strokeWidth=1.5).encode(x=x, y=y, fill=alt.Fill("heat:N", scale=None))
    figures = chart.mark_text(fontSize=10, color=INK.light).encode(x=x, y=y, text="score:N")
    return _layered([tiles, figures], size, title)


def depth_name(point: PositionPoint) -> str:
    """A depth, or a range of depths, in percent of the context: "40%", "20–40%"."""
    low, high = round(100 * point.depth_low), round(100 * point.depth_high)
    return f"{low}%" if low == high else f"{low}–{high}%"


# ------------------------------------------------------------------------------------------- shared drawing


def _chart(records: Sequence[Mapping[str, object]]) -> alt.Chart:
    # A plain mapping: Altair would check every value of its own data class against the schema.
    return alt.Chart({"values": [dict(record) for record in records]})


def _length_domain(points: Sequence[CurvePoint]) -> tuple[float, float]:
    lengths = [point.length for point in points] or [1024]
    low, high = max(1, min(lengths)), max(1, *lengths)
    margin = 2 ** (0.02 * math.log2(high / low)) if high > low else 2.0
    return low / margin, high * margin


def _length_axis(points: Sequence[CurvePoint], size: Size) -> alt.X:
    lengths = sorted({point.length for point in points})
    # Vega drops labels that would touch; the powers of two come first in what is kept where room is short.
    room = max(2, size.width // 38)
    powers = [length for length in lengths if length & (length - 1) == 0]
    shown = lengths if len(lengths) <= room or not powers else powers
    label = (
        "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + 'M' : "
        "datum.value >= 1000 ? format(datum.value / 1024, '.3~r') + 'k' : format(datum.value, '~r')"
    )
    axis = _axis(None, values=shown, labelExpr=label, labelOverlap="greedy", grid=False, tickSize=4, ticks=True)
    scale = alt.Scale(type="log", base=2, domain=list(_length_domain(points)), nice=False)
    return alt.X("length:Q", scale=scale, axis=axis)


def _score_axis() -> alt.Y:
    axis = _axis(None, values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=True)
    return alt.Y("mean:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)


def _axis(title: str | None, **options: Any) -> alt.Axis:
    return alt.Axis(title=title, **{"ticks": False, "domain": False, "labelPadding": 6, **options})


def _layered(layers: Sequence[alt.Chart], size: Size, title: str = "") -> alt.LayerChart:
    chart = alt.LayerChart(layer=list(layers), width=size.width, height=size.height)
    return chart.properties(title=title) if title else chart
