"""What all charts share: sizes, styles of systems, axes, layers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from fathom.report.colours import GHOST, GRID, INK, MUTED, SERIES, Colour

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3))
SHAPES: tuple[str, ...] = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "triangle-right",
    "triangle-left",
)
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


class Size(NamedTuple):
    """Size of a chart's plotting area, in pixels."""

    width: int
    height: int


class Style(NamedTuple):
    """Style of one system. Colours repeat after six and markers after eight, so that both repeat only after 24.

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
        SHAPES[number % len(SHAPES)],
    )


def score_axis(field: str = "mean") -> alt.Y:
    """Scores from 0 to 100%."""
    axis = axis_of(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=True)
    return alt.Y(f"{field}:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)


class Looks(NamedTuple):
    """How lines or points look by their names: colour, dash and marker, each in the style of its place."""

    colour: alt.Color
    dash: alt.StrokeDash
    shape: alt.Shape


def looks_of(
    names: Sequence[str], field: str = "system", *, key: alt.Legend | None = None, styles: Sequence[Style] = ()
) -> Looks:
    """The looks of the values of a field.

    Args:
        names: All values, in the order of their styles.
        field: The field.
        key: Its legend, None for none.
        styles: Their styles; by default those of their places.
    """
    styles = styles or [style(number) for number in range(len(names))]

    def scale(values: Iterable[Any]) -> alt.Scale:
        return alt.Scale(domain=list(names), range=list(values))

    return Looks(
        alt.Color(f"{field}:N", scale=scale(look.colour.light for look in styles), legend=key),
        alt.StrokeDash(f"{field}:N", scale=scale(list(look.dash) for look in styles), legend=None),
        alt.Shape(f"{field}:N", scale=scale(look.shape for look in styles), legend=key),
    )


def chart_of_records(records: Sequence[Mapping[str, object]]) -> alt.Chart:
    """A chart over records."""
    # A plain mapping, because Altair would check every value of its data class against the schema.
    return alt.Chart({"values": [dict(record) for record in records]})


def axis_of(**options: Any) -> alt.Axis:
    """An axis without title, ticks and line by default."""
    return alt.Axis(title=None, **{"ticks": False, "domain": False, "labelPadding": 6, **options})


def layered(layers: Sequence[alt.Chart], size: Size, title: str = "", note: str | Sequence[str] = "") -> alt.LayerChart:
    """Layers in one plotting area, with an optional heading and optional lines in small type."""
    chart = alt.LayerChart(layer=list(layers), width=size.width, height=size.height)
    if not title and not note:
        return chart
    subtitle = note if isinstance(note, str) else list(note)
    return chart.properties(title=alt.TitleParams(title, subtitle=subtitle) if note else title)


def legend_of(columns: int, size: Size, title: str | None = None) -> alt.Legend | None:
    """Names of the systems below the chart, in this many columns; None for 0 columns."""
    if not columns:
        return None
    limit = max(160, size.width) if columns > 1 else 600
    legend = alt.Legend(title=title, orient="bottom", columns=columns, labelLimit=limit, symbolSize=60)
    legend["symbolStrokeWidth"] = 0  # a dashed outline would eat into the marker
    return legend


def length_domain(tested: Iterable[int]) -> tuple[float, float]:
    """Ends of the axis of lengths in tokens, slightly beyond the tested lengths."""
    lengths = list(tested) or [1024]
    low, high = max(1, min(lengths)), max(1, *lengths)
    margin = 2 ** (0.02 * math.log2(high / low)) if high > low else 2.0
    return low / margin, high * margin


def length_axis(tested: Iterable[int], size: Size, *, base: int = 0) -> alt.X:
    """The field ``length`` on a logarithmic scale, with labels at the tested lengths.

    Args:
        tested: The lengths in tokens.
        size: Plotting area.
        base: The place that stands for the base, which has no length of its own, and is labelled so; 0 for none.
    """
    lengths = sorted(set(tested))
    # Vega drops labels that would touch. With little room, powers of two are kept first.
    room = max(2, size.width // 38)
    powers = [length for length in lengths if _is_power(length) or (length % 1000 == 0 and _is_power(length // 1000))]
    shown = lengths if len(lengths) <= room or not powers else powers
    label = (f"datum.value == {base} ? 'base' : " if base else "") + (
        "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + 'M' : "
        "datum.value >= 1000 && datum.value % 1000 == 0 ? format(datum.value / 1000, 'd') + 'k' : "
        "datum.value >= 1000 ? format(datum.value / 1024, '.3~r') + 'k' : format(datum.value, '~r')"
    )
    axis = axis_of(values=shown, labelExpr=label, labelOverlap="greedy", grid=False, tickSize=4, ticks=True)
    scale = alt.Scale(type="log", base=2, domain=list(length_domain(lengths)), nice=False)
    return alt.X("length:Q", scale=scale, axis=axis)


def _is_power(number: int) -> bool:
    """Whether it is a power of two."""
    return number & (number - 1) == 0
