"""Marks of the figures of smaller benchmarks: dots with intervals in rows, lines with draws, ranks."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple, TypeAlias

import altair as alt

from fathom.report.colours import GHOST, GRID, INK, MUTED, PAPER, SERIES
from fathom.report.drawing import Size, axis_of, chart_of_records, layered, legend_of, looks_of

Records: TypeAlias = Sequence[Mapping[str, object]]
SIDE = 240
"""Width in pixels of panels in one row."""
ROW = 14
"""Pixels for one dot within a row."""
GAP = 12
"""Pixels between rows."""


def rows_height(rows: int, series: int) -> int:
    """Height in pixels of this many rows with this many dots each."""
    return rows * (series * ROW + GAP)


class _Rows(NamedTuple):
    """Encodings of rows and series."""

    y: alt.Y
    within: alt.YOffset
    colour: alt.Color
    shape: alt.Shape


def dots(
    records: Records,
    rows: Sequence[str],
    series: Sequence[str],
    size: Size,
    axis: alt.X,
    *,
    draws: Records = (),
    title: str = "",
    names: bool = True,
    guides: Sequence[float] = (),
) -> alt.LayerChart:
    """Values in rows, one dot for each series, with bars if they are known.

    Args:
        records: Each with ``row``, ``series`` and ``value``; optional ``low`` and ``high`` are the ends of a thin bar,
            ``inner`` and ``outer`` those of a thick one.
        rows: From top to bottom.
        series: From top to bottom within a row; they determine colours and markers.
        size: Plotting area in pixels, see ``rows_height``.
        axis: The axis of values, over the field ``value``.
        draws: Single draws, drawn as faint ticks; each with ``row``, ``series`` and ``value``.
        title: A heading, "" for none.
        names: Whether the names of rows are shown at the left.
        guides: Values of thin dashed lines.
    """
    looks = _rows(rows, series, size, names)
    place = {"y": looks.y, "yOffset": looks.within, "color": looks.colour}
    layers = []
    if guides:
        across = chart_of_records([{"value": at} for at in guides])
        layers.append(across.mark_rule(color=MUTED.light, strokeDash=[3, 3], strokeWidth=1.2).encode(x=axis))
    if draws:
        ticks = chart_of_records(draws).mark_tick(thickness=1.2, size=ROW - 3, opacity=0.45, aria=False)
        layers.append(ticks.encode(x=axis, **place))
    for low, high, width in (("low", "high", 1.5), ("inner", "outer", 4.5)):
        if known := [record for record in records if record.get(low) is not None and record.get(high) is not None]:
            bar = chart_of_records(known).mark_rule(strokeWidth=width)
            layers.append(bar.encode(x=alt.X(f"{low}:Q"), x2=f"{high}:Q", **place))
    marks = chart_of_records(records).mark_point(size=52, filled=True, opacity=1, stroke=PAPER.light, strokeWidth=0.8)
    layers.append(marks.encode(x=axis, shape=looks.shape, **place))
    return _headed(layers, size, title)


def _rows(rows: Sequence[str], series: Sequence[str], size: Size, names: bool) -> _Rows:
    looks = looks_of(series, "series", key=legend_of(len(series), size))
    # Axes without labels would have other bounds, and their headings another height.
    labels = {} if names else {"labelExpr": "''"}
    shown = axis_of(grid=True, tickBand="extent", labelLimit=260, labelFontSize=12, **labels)
    return _Rows(
        alt.Y("row:N", scale=alt.Scale(domain=list(rows), padding=0), axis=shown),
        alt.YOffset("series:N", scale=alt.Scale(domain=list(series), paddingOuter=GAP / ROW / 2)),
        looks.colour,
        looks.shape,
    )


def lines(
    records: Records,
    series: Sequence[str],
    size: Size,
    x: alt.X,
    y: alt.Y,
    *,
    title: str = "",
    note: str = "",
) -> alt.LayerChart:
    """Lines through the medians of draws, one a series, with every draw as a faint marker.

    Args:
        records: Each with ``x``, ``series`` and ``value``, one for each draw.
        series: They determine colours and markers.
        size: Plotting area in pixels.
        x: The axis over the field ``x``.
        y: The axis over the field ``value``.
        title: A heading, "" for none.
        note: A line under the heading, "" for none.
    """
    middle = medians(records, "x")
    looks = looks_of(series, "series", key=legend_of(len(series), size))
    layers = [chart_of_records(middle).mark_line(strokeWidth=2).encode(x=x, y=y, color=looks.colour)]
    if len(records) > len(middle):
        draws = chart_of_records(records).mark_point(size=16, strokeWidth=1, opacity=0.55, aria=False)
        layers.append(draws.encode(x=x, y=y, color=looks.colour, shape=looks.shape))
    points = chart_of_records(middle).mark_point(filled=True, size=44, opacity=1)
    layers.append(points.encode(x=x, y=y, color=looks.colour, shape=looks.shape))
    return _headed(layers, size, title, note)


def ranks(records: Records, stages: Sequence[str], size: Size, *, title: str) -> alt.LayerChart:
    """Ranks of models in several stages, one line each; models that keep their rank are grey.

    Args:
        records: Each with ``model``, ``stage``, ``rank`` (from 1) and ``moved`` (whether any rank differs).
        stages: From left to right; names of models are at the right.
        size: Plotting area in pixels.
        title: A heading.
    """
    x = alt.X(
        "stage:N",
        scale=alt.Scale(domain=list(stages), padding=0.15),
        axis=axis_of(grid=False, orient="top", labelAngle=0, labelFontSize=11),
    )
    most = max((float(str(record["rank"])) for record in records), default=1.0)
    y = alt.Y(
        "rank:Q",
        scale=alt.Scale(domain=[0.6, most + 0.4], reverse=True, nice=False, zero=False),
        axis=axis_of(grid=False, values=list(range(1, int(most) + 1)), format="d"),
    )
    layers: list[alt.Chart] = []
    looks = ((False, GHOST.light, MUTED.light, 1.6), (True, SERIES[0].light, SERIES[0].light, 2.2))
    for moved, line, mark, width in looks:
        if lines := [record for record in records if record["moved"] is moved]:
            chart = chart_of_records(lines)
            layers.append(chart.mark_line(color=line, strokeWidth=width).encode(x=x, y=y, detail="model:N"))
            layers.append(chart.mark_point(filled=True, size=34, opacity=1, color=mark).encode(x=x, y=y))
    last = chart_of_records([record for record in records if record["stage"] == stages[-1]])
    named = last.mark_text(align="left", dx=9, fontSize=11, color=INK.light, limit=190)
    layers.append(named.encode(x=x, y=y, text="model:N"))
    return _headed(layers, size, title)


def plane(
    records: Records, size: Size, spans: Mapping[str, Sequence[float]], *, title: str, note: str = ""
) -> alt.LayerChart:
    """Points in a plane whose axes have no unit; the chosen ones are highlighted.

    Args:
        records: Each with ``x``, ``y`` and ``chosen``.
        size: Plotting area in pixels.
        spans: Minimum and maximum of ``x`` and ``y``, the same in every panel.
        title: A heading.
        note: A line under the heading, "" for none.
    """
    scales = {name: alt.Scale(domain=list(span), nice=False, zero=False) for name, span in spans.items()}
    x, y = alt.X("x:Q", scale=scales["x"], axis=None), alt.Y("y:Q", scale=scales["y"], axis=None)
    others = chart_of_records([record for record in records if not record["chosen"]])
    chosen = chart_of_records([record for record in records if record["chosen"]])
    frame = alt.Chart({"values": [{}]}).mark_rect(fill="transparent", stroke=GRID.light)
    layers = [
        frame,
        others.mark_point(filled=True, size=9, opacity=0.45, color=MUTED.light, aria=False).encode(x=x, y=y),
        chosen.mark_point(
            filled=True, size=60, opacity=1, shape="diamond", color=SERIES[1].light, stroke=PAPER.light, strokeWidth=0.8
        ).encode(x=x, y=y),
    ]
    return _headed(layers, size, title, note)


def medians(records: Records, place: str = "row") -> list[dict[str, object]]:
    """Median value of each place and series.

    Args:
        records: Each with ``series``, ``value`` and the place.
        place: The field of the place: ``row`` or ``x``.
    """
    groups: dict[tuple[object, object], list[float]] = {}
    for record in records:
        groups.setdefault((record[place], record["series"]), []).append(float(str(record["value"])))
    return [{place: at, "series": series, "value": median(values)} for (at, series), values in groups.items()]


def value_axis(
    records: Sequence[Mapping[str, object]], *, unit: bool = True, zero: bool = False, signed: bool = False
) -> alt.X:
    """An axis that contains all values and their bars; for correlations, 1 too."""
    ends = [float(str(record[name])) for record in records for name in ("low", "value", "high") if name in record]
    low, high = bounds(ends) if unit else _with_zero(ends)
    axis = axis_of(
        grid=True,
        format="+.1f" if signed else ".2f" if unit else ".1f",
        tickCount=5,
        labelOverlap="greedy",
        labelFlush=False,
    )
    return alt.X("value:Q", scale=alt.Scale(domain=[low, high], nice=False, zero=zero), axis=axis)


def _with_zero(values: Sequence[float]) -> tuple[float, float]:
    low, high = min([*values, 0.0]), max([*values, 0.0])
    margin = 0.05 * ((high - low) or 1.0)
    return (low - margin if low else 0.0), (high + margin if high else 0.0)


def bounds(values: Sequence[float]) -> tuple[float, float]:
    """From a round number below all values to slightly above 1, so that markers at 1 are not clipped."""
    low = min([*values, 0.95])
    step = 0.05 if low > 0.5 else 0.1
    begin = math.floor(low / step - 1e-9) * step
    return round(begin, 2), 1 + 0.02 * (1 - begin)


def together(
    charts: Sequence[alt.LayerChart], title: str, subtitle: str | list[str], *, columns: int | None = None
) -> alt.TopLevelMixin:
    """Panels with one heading and one legend.

    Args:
        charts: The panels.
        title: What the figure shows; also its description for screen readers.
        subtitle: Lines under the heading, in small type.
        columns: Panels in a row; by default all.
    """
    heading = alt.TitleParams(title, subtitle=subtitle, fontSize=14, offset=16)
    made: alt.ConcatChart = alt.ConcatChart(
        concat=list(charts), columns=columns or len(charts), spacing=24, title=heading, description=title
    )
    shared: alt.ConcatChart = made.resolve_scale(color="shared", shape="shared")
    return shared


def _headed(layers: Sequence[alt.Chart], size: Size, title: str, note: str = "") -> alt.LayerChart:
    """Layers with a heading aligned to the plotting area."""
    chart = layered(layers, size)
    return chart.properties(title=alt.TitleParams(title, subtitle=note, frame="group")) if title else chart
