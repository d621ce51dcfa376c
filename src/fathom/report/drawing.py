"""What all charts share: sizes, styles of systems, axes and their labels."""

import math
from collections.abc import Iterable, Mapping, Sequence

from fathom.report.charts import Labels, Layer, Line, Numbers, Points, Records, Rule, Series
from fathom.report.charts import Names as Names
from fathom.report.charts import Size as Size
from fathom.report.charts import Style as Style
from fathom.report.colours import SERIES
from fathom.report.words import minus

LINE = 14
"""Pixels of a name at the end of a line."""
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


def style(number: int) -> Style:
    """The style of the system with this number, from 0."""
    return Style(
        SERIES[number % len(SERIES)],
        f"series-{number % len(SERIES)}",
        DASHES[number // len(SERIES) % len(DASHES)],
        SHAPES[number % len(SHAPES)],
    )


def styles_of(names: Sequence[str]) -> Mapping[str, Style]:
    """The style of each name, by its place."""
    return {name: style(number) for number, name in enumerate(names)}


def series_of(names: Sequence[str], field: str = "system", *, columns: int = 0, dashed: bool = False) -> Series:
    """Series in the styles of their places.

    Args:
        names: All names, in the order of their styles.
        field: The field of records with the name.
        columns: Columns of the legend, 0 for none.
        dashed: Whether lines have the dashes of their style.
    """
    return Series(field=field, styles=styles_of(names), columns=columns, dashed=dashed)


def interval_lines(records: Records) -> list[Layer]:
    """A line through the means of each series, with markers and upright 95% intervals.

    Args:
        records: With ``at``, ``mean``, ``low`` and ``high``, in the order of ``at``.
    """
    return [
        Rule(records=records, x="at", low="low", high="high", width=1.2, opacity=0.55),
        Line(records=records, x="at", y="mean"),
        Points(records=records, x="at", y="mean"),
    ]


def score_axis() -> Numbers:
    """Scores from 0 to 100%."""
    return Numbers(low=0, high=1, ticks=percents((0, 0.25, 0.5, 0.75, 1)), grid=True)


def percents(values: Iterable[float], sign: str = "") -> list[tuple[float, str]]:
    """Fractions with their labels in percent: "25%", or with the sign ``+`` "+25%" and "0%"."""
    return [(value, minus(f"{value:{sign if value else ''}.0%}")) for value in values]


def round_numbers(low: float, high: float, count: int) -> list[float]:
    """About so many round numbers from ``low`` to ``high``: multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / max(1, count) or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next((factor for factor, most in ((1, 1.5), (2, 3.5), (5, 7.5)) if rough / power < most), 10)
    return [round(step * at, 12) for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def length_domain(tested: Iterable[int]) -> tuple[float, float]:
    """Ends of the axis of lengths in tokens, slightly beyond the tested ones; an unknown one is half the least."""
    tested = list(tested)
    lengths = [length for length in tested if length > 0] or [1024]
    low, high = min(lengths) / (2 if 0 in tested else 1), max(lengths)
    margin = 2 ** (0.02 * math.log2(high / low)) if high > low else 2.0
    return low / margin, high * margin


def length_axis(tested: Iterable[int], size: Size, *, base: int = 0) -> Numbers:
    """Lengths on a logarithmic scale, with labels at the tested lengths.

    Args:
        tested: The lengths in tokens.
        size: Plotting area.
        base: The place that stands for the base, which has no length of its own, and is labelled so; 0 for none.
    """
    lengths = sorted(set(tested))
    # Labels that would touch are left out. With little room, powers of two are kept first.
    room = max(2, size.width // 38)
    powers = [length for length in lengths if _is_power(length) or (length % 1000 == 0 and _is_power(length // 1000))]
    shown = lengths if len(lengths) <= room or not powers else powers
    low, high = length_domain(lengths)
    labels = {length: length_label(length) for length in shown} | {0: "unknown"} | ({base: "base"} if base else {})
    ticks = [(max(length, low), labels[length]) for length in shown]
    return Numbers(low=low, high=high, ticks=ticks, log=True, marks=True)


def length_label(length: float) -> str:
    """A length on an axis: "512", "8k", "2.06k", "1M"; multiples of 1,000 below 1,048,576 too are "32k"."""
    if length >= 2**20:
        return f"{length / 2**20:.6g}M"
    if length >= 1000:
        return f"{length / 1000:.0f}k" if length % 1000 == 0 else f"{length / 1024:.3g}k"
    return f"{length:g}"


def _is_power(number: int) -> bool:
    """Whether it is a power of two."""
    return number & (number - 1) == 0


def names_at_ends(
    ends: Mapping[str, float],
    at: tuple[str, float],
    y: Numbers,
    size: Size,
    styles: Mapping[str, Style],
    *,
    limit: float,
    numbered: bool = True,
) -> Labels:
    """Names at the right, as near to the ends of their lines as possible without overlap.

    Args:
        ends: The last value of each line.
        at: The field of the horizontal axis, and where the names are on it.
        y: The vertical axis.
        size: Plotting area.
        styles: Of each name, for its colour.
        limit: Pixels of a name.
        numbered: Whether the value stands before the name.
    """
    order = sorted(ends, key=lambda name: -ends[name])
    each = (y.high - y.low) / size.height
    places = apart([(y.high - ends[name]) / each for name in order], LINE, size.height)
    records = [
        {
            at[0]: at[1],
            "label": f"{100 * ends[name]:.1f}  {name}" if numbered else name,
            "place": y.high - place * each,
            "hue": styles[name].colour.light,
        }
        for name, place in zip(order, places, strict=True)
    ]
    return Labels(records=records, x=at[0], y="place", text="label", hue="hue", dx=8, limit=limit)


def apart(places: Sequence[float], least: float, height: float) -> list[float]:
    """Moves positions in pixels so that no two are nearer than ``least``, within ``height`` if possible.

    Args:
        places: Wanted positions, ascending.
        least: The minimum distance.
        height: The lower end of the room; the upper end is 0.
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + least) if moved else max(place, 0.0))
    limit = max(height, least * (len(moved) - 1))
    for number in range(len(moved) - 1, -1, -1):
        moved[number] = min(moved[number], limit)
        limit = moved[number] - least
    return moved
