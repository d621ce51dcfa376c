"""Draws charts as SVG, without other programs: text widths are those of Helvetica, with room for wider fonts."""

import math
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape
from itertools import accumulate
from typing import NamedTuple

from markupsafe import Markup

from fathom.printing import printable
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
    Numbers,
    Points,
    Records,
    Rule,
    Series,
    Style,
    Ticks,
    Tiles,
)
from fathom.report.colours import GHOST, GRID, INK, MUTED, NAMES, PAPER

_WIDTHS = {
    letter: width
    for width, letters in {
        **{
            191: "'",
            222: "ijl",
            260: "|",
            278: " !,./:;I[\\]ft",
            333: "()-`r",
            334: "{}",
            355: '"',
            389: "*",
            469: "^",
        },
        **{500: "Jcksvxyz", 556: "#$?0123456789_Labdeghnopqu", 584: "+<=>~", 611: "FTZ", 667: "&ABEKPSVXY"},
        **{722: "CDHNRUw", 778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1015: "@"},
    }.items()
    for letter in letters
}
"""Advance widths of Helvetica, in thousandths of the size of the font."""
WIDER = 1.15
"""The fonts of pages may be so much wider than Helvetica."""
EDGE = 4
"""Pixels around a drawing."""
_LABEL, _TICK, _LINE, _BOLD = 6, 4, 1.3, 1.25
_KEY, _KEY_LINED, _KEY_ALONE, _KEY_LINE = 12, 26, 12, 18
_VARIABLES = {colour.light: f"var(--{name}, {colour.light})" for name, colour in NAMES.items()}
_Say = Callable[[str], str]


class Drawing(NamedTuple):
    """The content of an ``<svg>`` element and its size in pixels."""

    width: float
    height: float
    content: str


class _Room(NamedTuple):
    """Pixels around a plotting area."""

    left: float
    top: float
    right: float
    bottom: float


def draw(chart: Chart, *, themed: bool) -> Drawing:
    """Draws a chart.

    Args:
        themed: Whether colours are CSS variables, with the light colours where these are not set.

    Returns:
        The drawing. Texts are escaped; marks with a text for the pointer have it as their ``<title>``.
    """
    paint: _Say = (lambda colour: _VARIABLES.get(colour, colour)) if themed else str
    if isinstance(chart, LayerChart):
        room = _room(chart, legend=True)
        content = _panel(chart, room, paint, legend=True)
        width, height = room.left + chart.size.width + room.right, room.top + chart.size.height + room.bottom
        return Drawing(width + 2 * EDGE, height + 2 * EDGE, _moved(EDGE + room.left, EDGE + room.top, content))
    chart = replace(chart, concat=[_fitted(each) for each in chart.concat])
    rooms = [_room(each, legend=not chart.shared) for each in chart.concat]
    columns = [_column(chart.concat[at :: chart.columns], rooms[at :: chart.columns]) for at in range(chart.columns)]
    heading = "".join(_heading(chart.title, chart.note, 14, paint))
    across = _heading_width(chart.title, chart.note, 14)
    y = float(EDGE + (_heading_height(chart.title, chart.note, 14) + 6 if heading else 0))
    content = _moved(EDGE, EDGE, heading) if heading else ""
    for start in range(0, len(chart.concat), chart.columns):
        some = range(start, min(start + chart.columns, len(chart.concat)))
        above, height = max(rooms[at].top for at in some), max(chart.concat[at].size.height for at in some)
        x = float(EDGE)
        for at in some:
            left, wide = columns[at - start]
            room = rooms[at]._replace(left=left, top=above)
            panel = _panel(chart.concat[at], room, paint, legend=not chart.shared)
            content += _moved(x + left, y + above, panel)
            x += wide + chart.spacing
        y += above + height + max(rooms[at].bottom for at in some) + chart.spacing
    width = sum(wide for _, wide in columns) + chart.spacing * (len(columns) - 1)
    if chart.shared and (key := _Key.of(chart.concat[0], width)):
        content += _moved(EDGE + columns[0][0], y - chart.spacing + 10, "".join(key.drawn(paint)))
        y += 10 + key.height
    return Drawing(max(width, across) + 2 * EDGE, y - chart.spacing + EDGE, content)


def _fitted(chart: LayerChart) -> LayerChart:
    """A panel whose heading is not much wider than it: long names would push the panels of all columns apart."""
    room = 1.5 * chart.size.width
    note = tuple(shortened(line, 11, room) for line in chart.note)
    return replace(chart, title=shortened(chart.title, 13, room / _BOLD), note=note)


def _column(charts: Sequence[LayerChart], rooms: Sequence[_Room]) -> tuple[float, float]:
    """Pixels to the left of the plotting areas of a column, and its whole width."""
    left = max((room.left for room in rooms), default=0.0)
    right = max((chart.size.width + room.right for chart, room in zip(charts, rooms, strict=True)), default=0.0)
    return left, left + right


# ---------------------------------------------------------------------------------------------------------------- text


@lru_cache(maxsize=4096)
def text_width(text: str, font: float) -> float:
    """Width of a text in Helvetica in pixels, at this size of the font."""
    return sum(map(_advance, text)) * font / 1000


def _advance(letter: str) -> int:
    if (width := _WIDTHS.get(letter)) is not None:
        return width
    if unicodedata.combining(letter):
        return 0
    return 1000 if unicodedata.east_asian_width(letter) in "WF" else 556


def shortened(text: str, font: float, limit: float) -> str:
    """A text that is at most ``limit`` pixels wide, with an ellipsis where it was longer; 0 for no limit."""
    if not limit or _wide(text, font) <= limit:
        return text
    widths = accumulate(_advance(letter) * font / 1000 * WIDER for letter in text)
    return f"{text[: sum(1 for width in widths if width + font <= limit)]}…"


def _wide(text: str, font: float) -> float:
    return text_width(text, font) * WIDER


def _number(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _moved(x: float, y: float, content: str) -> str:
    return f'<g transform="translate({_number(x)},{_number(y)})">{content}</g>'


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(
        f' {name}="{_number(value) if isinstance(value, int | float) else escape(str(value))}"'
        for name, value in values.items()
        if value not in (None, "")
    )


def _text(text: str, x: float, y: float, **values: object) -> str:
    names = {name.replace("_", "-"): value for name, value in values.items()}
    return f'<text x="{_number(x)}" y="{_number(y)}"{_attributes(names)}>{escape(printable(text), quote=False)}</text>'


# -------------------------------------------------------------------------------------------------------------- places


class _Scales:
    """Where the values of a chart are, in pixels of its plotting area."""

    def __init__(self, chart: LayerChart) -> None:
        self.x = _places(chart.x, 0, chart.size.width)
        vertical = (0, chart.size.height) if isinstance(chart.y, Names) else (chart.size.height, 0)
        self.y = _places(chart.y, *vertical)
        self.rows: dict[object, float] = {}
        if isinstance(chart.y, Names) and chart.y.rows:
            rows = list(chart.y.rows)
            each = (chart.size.height / max(1, len(chart.y.names)) - chart.y.gap) / len(rows)
            self.rows = {name: each * (number - (len(rows) - 1) / 2) for number, name in enumerate(rows)}
            self.field = chart.series.field if chart.series else ""

    def at(self, record: Mapping[str, object], x: str, y: str) -> tuple[float, float]:
        """The place of a record."""
        return self.x(record[x]) if x else 0, self.y(record[y]) + self.row(record) if y else 0

    def row(self, record: Mapping[str, object]) -> float:
        """The place of a record within its band."""
        return self.rows.get(record.get(self.field), 0) if self.rows else 0


def _places(axis: Axis, start: float, end: float) -> Callable[[object], float]:
    if isinstance(axis, Names):
        names = list(dict.fromkeys(axis.names))
        step = (end - start) / max(1, len(names))
        bands = {name: start + step * (number + 0.5) for number, name in enumerate(names)}
        return lambda name: bands[str(name)]
    # What has no place on a logarithmic axis, such as an unknown length, is at its beginning.
    of: Callable[[float], float] = (lambda value: math.log(max(value, axis.low))) if axis.log else float
    low, high = of(axis.low), of(axis.high)
    factor = (end - start) / ((high - low) or 1)
    return lambda value: start + (of(float(str(value))) - low) * factor


def _labels(axis: Axis, place: Callable[[object], float]) -> list[tuple[float, str]]:
    """Places and labels of an axis."""
    if isinstance(axis, Numbers):
        return [(place(value), label) for value, label in axis.ticks]
    names = axis.names if axis.labels is None else axis.labels
    return [(place(name), shortened(name, axis.font, axis.widest)) for name in dict.fromkeys(names)]


def _apart(labels: Iterable[tuple[float, str]], room: Callable[[str], float]) -> list[tuple[float, str]]:
    """The labels that do not touch the one before."""
    kept: list[tuple[float, str]] = []
    for place, label in labels:
        if not kept or abs(place - kept[-1][0]) >= (room(label) + room(kept[-1][1])) / 2:
            kept.append((place, label))
    return kept


def _across(chart: LayerChart, scales: _Scales) -> list[tuple[float, str]]:
    return _apart(_labels(chart.x, scales.x), lambda label: _wide(label, chart.x.font) + 3)


def _down(chart: LayerChart, scales: _Scales) -> list[tuple[float, str]]:
    return _apart(_labels(chart.y, scales.y), lambda label: chart.y.font + 1)


def _room(chart: LayerChart, *, legend: bool) -> _Room:
    """What stands around the plotting area."""
    scales, width = _Scales(chart), chart.size.width
    across, down = _across(chart, scales), _down(chart, scales)
    left = max((_wide(label, chart.y.font) for _, label in down), default=0.0) + _LABEL if down else 0.0
    left += 18 if chart.y.title else 0
    left = max([left, *(_wide(label, chart.x.font) / 2 - place for place, label in across[:1])])
    right = max([0.0, *(place + _wide(label, chart.x.font) / 2 - width for place, label in across)])
    line = chart.x.font + _LABEL + (_TICK if isinstance(chart.x, Numbers) and chart.x.marks else 0) + 3
    top, bottom = (float(line), 0.0) if chart.x.top else (0.0, float(line))
    top, bottom = (top, bottom) if across else (0.0, 0.0)
    bottom += 17 if chart.x.title else 0
    top = max(top, 6.0 if down else 0.0)
    for x, y, text, layer in _texts(chart, scales):
        end = x + _wide(text, layer.font) / (1 if layer.left else 2)
        right, top = max(right, end - width), max(top, layer.font - y)
    if chart.title or chart.note:
        top += _heading_height(chart.title, chart.note, 13) + 4
        begin = 0 if chart.aligned else -left
        right = max(right, begin + _heading_width(chart.title, chart.note, 13) - width)
    if legend and (key := _Key.of(chart, width)):
        bottom, right = bottom + 10 + key.height, max(right, key.width - width)
    return _Room(left, top, right, bottom)


# ----------------------------------------------------------------------------------------------- headings and legends


def _heading_height(title: str, note: Sequence[str], font: float) -> float:
    return (font * _LINE if title else 0) + 11 * _LINE * len(note) + 8


def _heading_width(title: str, note: Sequence[str], font: float) -> float:
    # Headings are bold, which takes more room, in DejaVu Sans most.
    return max([0.0, _wide(title, font) * _BOLD, *(_wide(line, 11) for line in note)])


def _heading(title: str, note: Sequence[str], font: float, paint: _Say) -> Iterator[str]:
    """A heading with its lines, which begins at the origin."""
    y = 0.0
    if title:
        y = font
        yield _text(title, 0, y, font_size=font, font_weight="bold", fill=paint(INK.light))
    for line in note:
        y += 11 * _LINE
        yield _text(line, 0, y)


class _Key(NamedTuple):
    """A legend: series, whether they have lines, their names as shown, and the widths of its columns."""

    series: Series
    lined: bool
    names: Mapping[str, str]
    columns: Sequence[float]

    @classmethod
    def of(cls, chart: LayerChart, room: float) -> "_Key | None":
        """The legend of a chart, None if it has none; ``room`` is the width in pixels of what is above it."""
        series = chart.series
        if series is None or not series.columns:
            return None
        limit = max(160, room) if series.columns > 1 else 600
        names = {name: shortened(name, _KEY, limit) for name in series.styles}
        lined = any(isinstance(layer, Line) for layer in chart.layers)
        widths = [_wide(name, _KEY) + (_KEY_LINED if lined else _KEY_ALONE) + 20 for name in names.values()]
        columns = [max(widths[at :: series.columns]) for at in range(min(series.columns, len(widths)))]
        return cls(series, lined, names, columns)

    @property
    def width(self) -> float:
        return max(sum(self.columns), _wide(self.series.title, 11))

    @property
    def height(self) -> float:
        return math.ceil(len(self.names) / self.series.columns) * _KEY_LINE + (17 if self.series.title else 0)

    def drawn(self, paint: _Say) -> Iterator[str]:
        """Markers, on lines if the chart has any, with names; from the origin downwards."""
        first = 0.0
        if self.series.title:
            yield _text(self.series.title, 0, 11)
            first = 17.0
        symbol = _KEY_LINED if self.lined else _KEY_ALONE
        for number, (name, style) in enumerate(self.series.styles.items()):
            row, column = divmod(number, self.series.columns)
            x, y = sum(self.columns[:column]), first + (row + 0.5) * _KEY_LINE
            colour = paint(style.colour.light)
            if self.lined:
                dash = _dash(style.dash) if self.series.dashed else ""
                line = {"stroke": colour, "stroke-width": 2, "stroke-dasharray": dash}
                yield f'<path d="M{_number(x)} {_number(y)}h{symbol}"{_attributes(line)}/>'
            hollow = name in self.series.hollow
            inside = {"fill": paint(PAPER.light) if hollow else colour, "stroke": colour if hollow else ""}
            marker = _marker(style.shape, x + symbol / 2, y, 120 if style.shape == "tile" else 60)
            yield f"<g{_attributes(inside)}>{marker}</g>"
            yield _text(self.names[name], x + symbol + 6, y + 4, font_size=_KEY, fill=paint(INK.light))


# --------------------------------------------------------------------------------------------------------------- marks


def _marker(shape: str, x: float, y: float, area: float, title: str = "") -> str:
    """A marker of this area; shapes are those of Vega."""
    r = math.sqrt(area) / 2
    if shape == "circle":
        tag, place = "circle", f'cx="{_number(x)}" cy="{_number(y)}" r="{_number(r)}"'
    else:
        tag, place = "path", f'd="M{_number(x)} {_number(y)}{_outline(shape, round(r, 2))}"'
    return f"<{tag} {place}>{title}</{tag}>" if title else f"<{tag} {place}/>"


@lru_cache(maxsize=256)
def _outline(shape: str, r: float) -> str:
    h, s = r * math.sqrt(3) / 2, r / 2.5
    steps: Mapping[str, Sequence[tuple[float, float]]] = {
        "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "tile": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "diamond": ((-r, 0), (0, -r), (r, 0), (0, r)),
        "triangle-up": ((0, -h), (-r, h), (r, h)),
        "triangle-down": ((0, h), (-r, -h), (r, -h)),
        "triangle-right": ((h, 0), (-h, -r), (-h, r)),
        "triangle-left": ((-h, 0), (h, -r), (h, r)),
        "cross": (
            *((-r, -s), (-s, -s), (-s, -r), (s, -r), (s, -s), (r, -s)),
            *((r, s), (s, s), (s, r), (-s, r), (-s, s), (-r, s)),
        ),
    }
    corners = steps[shape]
    moves = [(x - a, y - b) for (x, y), (a, b) in zip(corners, [(0.0, 0.0), *corners], strict=False)]
    first, *others = [f"{_number(x)} {_number(y)}" for x, y in moves]
    return f"m{first}l{' '.join(others)}z"


def _dash(dash: Sequence[int]) -> str:
    return "" if not dash or 0 in dash else ",".join(map(str, dash))


def _title(record: Mapping[str, object]) -> str:
    text = record.get(SAYS)
    return f"<title>{escape(printable(str(text)), quote=False)}</title>" if text else ""


def _groups(records: Records, series: Series | None, colour: str) -> Iterator[tuple[str, Style | None, Records]]:
    """Records by series with the colour and style of each; all together if the layer has a colour of its own."""
    if colour or series is None:
        yield colour, None, records
        return
    parts: dict[str, list[Mapping[str, object]]] = {name: [] for name in series.styles}
    for record in records:
        parts[str(record[series.field])].append(record)
    for name, own in parts.items():
        if own:
            yield series.styles[name].colour.light, series.styles[name], own


def _texts(chart: LayerChart, scales: _Scales) -> Iterator[tuple[float, float, str, Labels]]:
    """Texts in the plotting area with their places."""
    for layer in chart.layers:
        if isinstance(layer, Labels):
            for record in layer.records:
                x, y = scales.at(record, layer.x, layer.y)
                text = layer.fixed or str(record[layer.text])
                yield x + layer.dx, y + layer.dy, shortened(text, layer.font, layer.limit), layer


class _Pen:
    """Draws the layers of one chart."""

    def __init__(self, chart: LayerChart, paint: _Say) -> None:
        self.chart, self.paint, self.scales = chart, paint, _Scales(chart)

    def layer(self, layer: Layer) -> Iterator[str]:
        """The elements of a layer."""
        if isinstance(layer, Tiles):
            yield from self.tiles(layer)
        elif isinstance(layer, Labels):
            yield from self.labels(layer)
        else:
            colour = "" if isinstance(layer, Area) else layer.colour
            for hue, style, records in _groups(layer.records, self.chart.series, colour):
                if isinstance(layer, Points):
                    yield self.points(layer, records, hue, style)
                elif isinstance(layer, Area):
                    yield self.area(layer, records, hue)
                elif isinstance(layer, Line):
                    yield from self.lines(layer, records, hue, style)
                else:
                    yield self.strokes(layer, records, hue)

    def lines(self, layer: Line, records: Records, hue: str, style: Style | None) -> Iterator[str]:
        dashed = self.chart.series is not None and self.chart.series.dashed
        dash = _dash(layer.dash or (style.dash if style is not None and dashed else ()))
        look = {"fill": "none", "stroke": self.paint(hue), "stroke-width": layer.width, "stroke-dasharray": dash}
        parts: dict[object, list[str]] = {}
        for record in records:
            x, y = self.scales.at(record, layer.x, layer.y)
            parts.setdefault(record[layer.detail] if layer.detail else "", []).append(f"{_number(x)} {_number(y)}")
        path = "".join(f"M{'L'.join(part)}" for part in parts.values() if len(part) > 1)
        if path:
            yield f'<path d="{path}"{_attributes(look)}/>'

    def area(self, layer: Area, records: Records, hue: str) -> str:
        upper = [self.scales.at(record, layer.x, layer.high) for record in records]
        lower = [self.scales.at(record, layer.x, layer.low) for record in reversed(records)]
        path = "L".join(f"{_number(x)} {_number(y)}" for x, y in (*upper, *lower))
        return f'<path d="M{path}z" fill="{self.paint(hue)}" fill-opacity="{layer.opacity}"/>'

    def strokes(self, layer: Rule | Ticks, records: Records, hue: str) -> str:
        """Straight lines as one path."""
        path = "".join(self._stroke(layer, record) for record in records)
        look = {"stroke": self.paint(hue), "stroke-width": layer.width}
        dash = _dash(layer.dash) if isinstance(layer, Rule) else ""
        faint = f' stroke-opacity="{layer.opacity}"' if layer.opacity < 1 else ""
        return f'<path d="{path}"{_attributes({**look, "stroke-dasharray": dash})}{faint}/>'

    def _stroke(self, layer: Rule | Ticks, record: Mapping[str, object]) -> str:
        width, height = self.chart.size
        x, y = self.scales.at(record, layer.x, layer.y)
        if isinstance(layer, Ticks):
            return f"M{_number(x)} {_number(y - layer.length / 2)}v{_number(layer.length)}"
        if layer.x:
            ends = (self.scales.y(record[layer.low]), self.scales.y(record[layer.high])) if layer.low else (height, 0)
            return f"M{_number(x)} {_number(ends[0])}V{_number(ends[1])}"
        ends = (self.scales.x(record[layer.low]), self.scales.x(record[layer.high])) if layer.low else (0, width)
        return f"M{_number(ends[0])} {_number(y)}H{_number(ends[1])}"

    def points(self, layer: Points, records: Records, hue: str, style: Style | None) -> str:
        """Markers; those without a text are dots of one path, which is shorter."""
        shape = layer.shape or (style.shape if style else "circle")
        places = [self.scales.at(record, layer.x, layer.y) for record in records]
        faint = f' opacity="{layer.opacity}"' if layer.opacity < 1 else ""
        plain = not any(SAYS in record for record in records) and not (layer.hollow or layer.outlined)
        if plain and shape == "circle" and isinstance(layer.size, int | float):
            path = "".join(f"M{_number(x)} {_number(y)}h0" for x, y in places)
            look = {"stroke": self.paint(hue), "stroke-width": math.sqrt(layer.size), "stroke-linecap": "round"}
            return f'<path d="{path}"{_attributes(look)}{faint}/>'
        inside, edge, width = self.paint(hue), "", 0.0
        if layer.hollow:
            inside, edge, width = self.paint(PAPER.light), self.paint(hue), layer.width
        elif layer.outlined:
            edge, width = self.paint(PAPER.light), 0.8
        look = {"fill": inside, "stroke": edge, "stroke-width": width or ""}
        markers = "".join(
            _marker(
                shape,
                x,
                y,
                float(str(record[layer.size])) if isinstance(layer.size, str) else layer.size,
                _title(record),
            )
            for record, (x, y) in zip(records, places, strict=True)
        )
        return f"<g{_attributes(look)}{faint}>{markers}</g>"

    def tiles(self, layer: Tiles) -> Iterator[str]:
        x_names, y_names = self.chart.x, self.chart.y
        wide = self.chart.size.width / _bands(x_names)
        high = self.chart.size.height / _bands(y_names)
        yield f"<g{_attributes({'stroke': self.paint(PAPER.light), 'stroke-width': layer.gap})}>"
        series = self.chart.series
        for record in layer.records:
            x, y = self.scales.at(record, layer.x, layer.y)
            hue = str(record[layer.heat]) if layer.heat else ""
            if series is not None and not hue:
                hue = series.styles[str(record[series.field])].colour.light
            path = f"M{_number(x - wide / 2)} {_number(y - high / 2)}h{_number(wide)}v{_number(high)}h{_number(-wide)}z"
            title = _title(record)
            yield f'<path d="{path}" fill="{self.paint(hue)}"' + (f">{title}</path>" if title else "/>")
        yield "</g>"

    def labels(self, layer: Labels) -> Iterator[str]:
        look = {"font-size": layer.font if layer.font != 11 else "", "fill": self.paint(layer.colour)}
        look |= {"text-anchor": "" if layer.left else "middle", "pointer-events": "none"}
        yield f"<g{_attributes(look)}>"
        for record in layer.records:
            x, y = self.scales.at(record, layer.x, layer.y)
            text = shortened(layer.fixed or str(record[layer.text]), layer.font, layer.limit)
            hue = self.paint(str(record[layer.hue])) if layer.hue else ""
            yield _text(text, x + layer.dx, y + layer.dy + layer.font * 0.35, fill=hue)
        yield "</g>"


def _bands(axis: Axis) -> int:
    return max(1, len(dict.fromkeys(axis.names))) if isinstance(axis, Names) else 1


# --------------------------------------------------------------------------------------------------------------- panel


def _panel(chart: LayerChart, room: _Room, paint: _Say, *, legend: bool) -> str:
    """A chart with its axes, heading and legend; its plotting area begins at the origin."""
    pen = _Pen(chart, paint)
    parts = [*_grid(chart, pen.scales, paint)]
    for layer in chart.layers:
        parts += pen.layer(layer)
    parts += _axes(chart, pen.scales, room)
    if chart.title or chart.note:
        begin = 0 if chart.aligned else -room.left
        parts.append(_moved(begin, -room.top, "".join(_heading(chart.title, chart.note, 13, paint))))
    if legend and (key := _Key.of(chart, chart.size.width)):
        parts.append(_moved(0, chart.size.height + room.bottom - key.height, "".join(key.drawn(paint))))
    return "".join(parts)


def _grid(chart: LayerChart, scales: _Scales, paint: _Say) -> Iterator[str]:
    """Grid lines, marks of axes and the frame."""
    size, lines, marks = chart.size, "", ""
    if isinstance(chart.x, Numbers):
        places = [scales.x(value) for value, _ in chart.x.ticks]
        lines += "".join(f"M{_number(x)} 0v{size.height}" for x in places) if chart.x.grid else ""
        marks = "".join(f"M{_number(x)} {size.height}v{_TICK}" for x in places) if chart.x.marks else ""
    if isinstance(chart.y, Numbers):
        places = [scales.y(value) for value, _ in chart.y.ticks]
        lines += "".join(f"M0 {_number(y)}h{size.width}" for y in places) if chart.y.grid else ""
    elif chart.y.rows:
        each = size.height / max(1, len(chart.y.names))
        lines += "".join(f"M0 {_number(each * row)}h{size.width}" for row in range(len(chart.y.names) + 1))
    if chart.frame:
        yield f'<path d="M0 0h{size.width}v{size.height}h-{size.width}z" fill="none" stroke="{paint(chart.frame)}"/>'
    for path, colour in ((lines, GRID), (marks, GHOST)):
        if path:
            yield f'<path d="{path}" stroke="{paint(colour.light)}"/>'


def _axes(chart: LayerChart, scales: _Scales, room: _Room) -> Iterator[str]:
    """Labels and titles of axes."""
    size, x, y = chart.size, chart.x, chart.y
    marked = _TICK if isinstance(x, Numbers) and x.marks else 0
    base = -_LABEL - marked if x.top else size.height + _LABEL + marked + x.font * 0.8
    if across := _across(chart, scales):
        font = f' font-size="{x.font}"' if x.font != 11 else ""
        yield f'<g text-anchor="middle"{font}>' + "".join(_text(label, place, base) for place, label in across) + "</g>"
    if down := _down(chart, scales):
        font = f' font-size="{y.font}"' if y.font != 11 else ""
        yield f'<g text-anchor="end"{font}>'
        yield "".join(_text(label, -_LABEL, place + y.font * 0.35) for place, label in down) + "</g>"
    if x.title:
        yield _text(x.title, size.width / 2, base + 17, text_anchor="middle")
    if y.title:
        turned = f'<g transform="translate({_number(11 - room.left)},{_number(size.height / 2)}) rotate(-90)">'
        yield f"{turned}{_text(y.title, 0, 0, text_anchor='middle')}</g>"


# ---------------------------------------------------------------------------------------------------------------- files


def document(chart: Chart, background: str = PAPER.light) -> str:
    """A chart as an SVG document of its own, in the light colours.

    Args:
        background: Colour behind it.
    """
    drawing = draw(chart, themed=False)
    width, height = _number(drawing.width), _number(drawing.height)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    type_ = f'font-family="Helvetica, Arial, sans-serif" font-size="11" fill="{MUTED.light}"'
    behind = f'<path d="M0 0h{width}v{height}h-{width}z" fill="{background}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {type_}>{behind}{drawing.content}</svg>'


def element(chart: Chart, label: str, *, whole: bool = False) -> str:
    """A chart as an element of a page, which has the size and the font that the page gives it.

    Args:
        label: What it shows, for screen readers.
        whole: Whether it keeps its size on narrow screens and scrolls instead.
    """
    drawing = draw(chart, themed=True)
    room = f"max-width:{round(1.35 * drawing.width)}px"
    if whole:
        room += f";min-width:{round(drawing.width)}px"
    box = f"0 0 {_number(drawing.width)} {_number(drawing.height)}"
    values = {"viewBox": box, "font-size": 11, "fill": _VARIABLES[MUTED.light], "role": "img", "style": room}
    values["aria-label"] = printable(label)
    return f"<svg{_attributes(values)}>{drawing.content}</svg>"


def image(chart: Chart, label: str) -> Markup:
    """A chart as an image within HTML: notebooks remove drawings from HTML that they do not trust, and keep images.

    Args:
        label: What it shows, for screen readers.
    """
    data = b64encode(document(chart).encode()).decode()
    return Markup('<img alt="{}" src="data:image/svg+xml;base64,{}">').format(label, data)
