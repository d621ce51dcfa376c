"""Charts as Vega-Lite specifications, for programs that draw or change them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fathom.report.charts import (
    SAYS,
    Area,
    Axis,
    Chart,
    Labels,
    Layer,
    LayerChart,
    Line,
    Names,
    Points,
    Records,
    Rule,
    Series,
    Size,
    Ticks,
    Tiles,
)
from fathom.report.colours import GHOST, GRID, INK, MUTED, PAPER

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
CONFIG: Mapping[str, object] = {
    "font": "sans-serif",
    "padding": 4,
    "view": {"stroke": None},
    "axis": {"labelColor": MUTED.light, "labelFontSize": 11, "gridColor": GRID.light, "tickColor": GHOST.light},
    "legend": {
        **{"labelColor": INK.light, "labelFontSize": 12, "symbolOpacity": 1},
        **{"titleColor": MUTED.light, "titleFontSize": 11, "titleFontWeight": "normal", "titleLimit": 600},
    },
    "title": {
        **{"color": INK.light, "fontSize": 13, "anchor": "start", "offset": 12},
        **{"subtitleColor": MUTED.light, "subtitleFontSize": 11},
    },
}
_QUIET = {"titleColor": MUTED.light, "titleFontSize": 11, "titleFontWeight": "normal"}
_Spec = dict[str, Any]


def vega_lite(chart: Chart) -> _Spec:
    """The specification of a chart.

    Returns:
        Plain values. Records are in ``datasets``, each once.
    """
    names: dict[int, str] = {}
    datasets: _Spec = {}

    def dataset(records: Records) -> str:
        if id(records) not in names:
            names[id(records)] = f"data-{len(names) + 1}"
            datasets[names[id(records)]] = [dict(record) for record in records]
        return names[id(records)]

    if isinstance(chart, LayerChart):
        spec = _layered(chart, dataset)
    else:
        spec = {"concat": [_layered(each, dataset) for each in chart.concat], "columns": chart.columns}
        spec |= {"spacing": chart.spacing}
        if chart.title:
            spec |= {"title": {**_heading(chart.title, chart.note), "fontSize": 14, "offset": 16}}
            spec |= {"description": chart.title}
        if chart.shared:
            spec["resolve"] = {"scale": {"color": "shared", "shape": "shared", "strokeDash": "shared"}}
    return {"$schema": SCHEMA, **spec, "datasets": datasets}


def _heading(title: str, note: Sequence[str]) -> _Spec:
    return {"text": title} | ({"subtitle": list(note)} if note else {})


def _layered(chart: LayerChart, dataset: Callable[[Records], str]) -> _Spec:
    layers = [
        {"data": {"name": dataset(layer.records)}, "mark": _mark(layer), "encoding": _encoding(layer, chart)}
        for layer in chart.layers
    ]
    spec: _Spec = {"layer": layers, "width": chart.size.width, "height": chart.size.height}
    if len({layer["data"]["name"] for layer in layers}) == 1:
        spec["data"] = layers[0]["data"]
        layers = [{name: value for name, value in layer.items() if name != "data"} for layer in layers]
        spec["layer"] = layers
    if chart.title or chart.note:
        heading = _heading(chart.title, chart.note) | ({"frame": "group"} if chart.aligned else {})
        spec["title"] = heading if len(heading) > 1 else chart.title
    if chart.frame:
        spec["view"] = {"stroke": chart.frame}
    return spec


def _mark(layer: Layer) -> _Spec:
    """The mark with what is the same for all records."""
    match layer:
        case Line():
            mark: _Spec = {"type": "line", "strokeWidth": layer.width, "color": layer.colour}
            mark |= {"strokeDash": list(layer.dash) or None}
        case Area():
            mark = {"type": "area", "opacity": layer.opacity}
        case Rule():
            mark = {"type": "rule", "strokeWidth": layer.width, "opacity": layer.opacity, "color": layer.colour}
            mark |= {"strokeDash": list(layer.dash) or None}
        case Points():
            mark = {"type": "point", "filled": not layer.hollow, "opacity": layer.opacity, "shape": layer.shape}
            mark |= {"color": layer.colour, "size": None if isinstance(layer.size, str) else layer.size}
            mark |= {"fill": PAPER.light, "strokeWidth": layer.width} if layer.hollow else {}
            mark |= {"stroke": PAPER.light, "strokeWidth": 0.8} if layer.outlined else {}
        case Ticks():
            mark = {"type": "tick", "thickness": layer.width, "size": layer.length, "opacity": layer.opacity}
            mark |= {"color": layer.colour, "orient": "vertical"}
        case Tiles():
            mark = {"type": "rect", "stroke": PAPER.light, "strokeWidth": layer.gap}
        case Labels():
            mark = {"type": "text", "fontSize": layer.font, "align": "left" if layer.left else "center"}
            mark |= {"dx": layer.dx, "dy": layer.dy, "text": layer.fixed, "limit": layer.limit or None}
            mark |= {"color": "" if layer.hue else layer.colour}
    return {name: value for name, value in mark.items() if value not in (None, "")}


def _encoding(layer: Layer, chart: LayerChart) -> _Spec:
    """The fields of a layer."""
    x: _Spec = _channel(chart.x, layer.x, chart.size.width)
    encoding: _Spec = {"x": x, "tooltip": {"field": SAYS}}
    if not any(SAYS in record for record in layer.records) or isinstance(layer, Line | Area | Rule):
        del encoding["tooltip"]
    match layer:
        case Area():
            encoding |= {"y": _channel(chart.y, layer.low, 0), "y2": {"field": layer.high}}
        case Rule(x=""):
            encoding["x"] = _channel(chart.x, layer.low, 0)
            encoding |= {"y": _channel(chart.y, layer.y, 0), "x2": {"field": layer.high}}
        case Rule(low=low) if low:
            encoding |= {"y": _channel(chart.y, low, 0), "y2": {"field": layer.high}}
        case Labels(y=""):
            encoding["y"] = {"value": 0}
        case Line() | Points() | Ticks() | Tiles() | Labels():
            encoding["y"] = _channel(chart.y, layer.y, 0)
    for end in ("x2", "y2", "x"):
        if end in encoding and not encoding[end].get("field"):
            del encoding[end]
    in_rows = isinstance(layer, Points | Ticks | Rule) and "y" in encoding
    if in_rows and isinstance(chart.y, Names) and chart.y.rows and chart.series:
        encoding["yOffset"] = _within(chart.y, chart.series, chart.size)
    return encoding | _looks(layer, chart.series)


def _channel(axis: Axis, name: str, size: int) -> _Spec:
    if isinstance(axis, Names):
        shown = _axis(axis.top, axis.title, axis.font)
        shown |= {"labelLimit": axis.widest, "labelOverlap": "greedy", "grid": bool(axis.rows)}
        shown |= {"labelAngle": 0} if size else {}
        shown |= {"tickBand": "extent"} if axis.rows else {}
        if axis.labels is not None:
            shown |= {"values": list(axis.labels)} if axis.labels else {"labelExpr": "''"}
        scale: _Spec = {"domain": list(dict.fromkeys(axis.names)), "padding": 0}
        return {"field": name, "type": "nominal", "scale": scale, "axis": shown}
    ends = [axis.low, axis.high]
    scale = {"domain": sorted(ends), "nice": False, "zero": False}
    scale |= {"type": "log", "base": 2} if axis.log else {}
    scale |= {"reverse": True} if axis.low > axis.high else {}
    channel: _Spec = {"field": name, "type": "quantitative", "scale": scale, "axis": None}
    if axis.ticks:
        labels = ", ".join(f"{_text(f'{value:.12g}')}: {_text(label)}" for value, label in axis.ticks)
        channel["axis"] = _axis(axis.top, axis.title, axis.font) | {
            "values": [value for value, _ in axis.ticks],
            # Vega writes a typographic minus.
            "labelExpr": f"{{{labels}}}[replace(format(datum.value, '.12~g'), '−', '-')]",
            **{"labelOverlap": "greedy", "grid": axis.grid, "ticks": axis.marks, "tickSize": 4},
        }
    return channel


def _axis(top: bool, title: str, font: int) -> _Spec:
    axis: _Spec = {"title": title or None, "ticks": False, "domain": False, "labelPadding": 6, "labelFontSize": font}
    return axis | (_QUIET if title else {}) | ({"orient": "top"} if top else {})


def _text(text: str) -> str:
    """A text within an expression of Vega."""
    return "'" + json.dumps(text)[1:-1].replace("'", "\\'").replace('\\"', '"') + "'"


def _within(axis: Names, series: Series, size: Size) -> _Spec:
    row = (size.height / max(1, len(axis.names)) - axis.gap) / len(axis.rows)
    return {
        "field": series.field,
        "type": "nominal",
        "scale": {"domain": list(axis.rows), "paddingOuter": axis.gap / row / 2},
    }


def _looks(layer: Layer, series: Series | None) -> _Spec:
    """Colours, dashes, markers and texts by fields."""
    looks: _Spec = {}
    match layer:
        case Tiles(heat=heat) if heat:
            return {"fill": {"field": heat, "type": "nominal", "scale": None}}
        case Labels():
            if layer.hue:
                looks["color"] = {"field": layer.hue, "type": "nominal", "scale": None}
            return looks | ({"text": {"field": layer.text}} if layer.text else {})
        case Points(size=str(name)):
            looks["size"] = {"field": name, "type": "quantitative", "scale": None}
        case Line():
            looks |= {"detail": {"field": layer.detail, "type": "nominal"}} if layer.detail else {}
            looks |= {"order": {"field": layer.order, "type": "quantitative"}} if layer.order else {}
    if series is None or (not isinstance(layer, Area | Tiles) and layer.colour):
        return looks
    legend = _legend(series)
    styles = series.styles.values()
    colours = [style.colour.light for style in styles]
    looks["color"] = _by_series(series, colours, legend)
    if isinstance(layer, Line):
        if series.dashed and not layer.dash:
            looks["strokeDash"] = _by_series(series, (list(style.dash) for style in styles), None)
    elif isinstance(layer, Points) and not layer.shape:
        looks["shape"] = _by_series(series, (style.shape for style in styles), legend)
    return looks


def _by_series(series: Series, values: Iterable[object], legend: _Spec | None) -> _Spec:
    scale = {"domain": list(series.styles), "range": list(values)}
    return {"field": series.field, "type": "nominal", "scale": scale, "legend": legend}


def _legend(series: Series) -> _Spec | None:
    if not series.columns:
        return None
    legend: _Spec = {"title": series.title or None, "orient": "bottom", "columns": series.columns}
    return legend | {"labelLimit": 600, "symbolSize": 60, "symbolStrokeWidth": 0}


def specification(chart: Chart, background: str = "transparent") -> _Spec:
    """The Vega-Lite specification of a chart, with the look that all figures share.

    Args:
        background: Colour behind it.
    """
    return vega_lite(chart) | {"config": dict(CONFIG), "background": background}
