"""Marks of the figures of smaller benchmarks: dots with intervals in rows, lines with draws, ranks."""

import math
from collections.abc import Mapping, Sequence
from statistics import median

from fathom.report.charts import (
    ConcatChart,
    Labels,
    Layer,
    LayerChart,
    Line,
    Names,
    Numbers,
    Points,
    Records,
    Rule,
    Size,
    Ticks,
)
from fathom.report.colours import GHOST, GRID, MUTED, SERIES
from fathom.report.drawing import round_numbers, series_of
from fathom.report.words import minus

SIDE = 240
"""Width in pixels of panels in one row."""
ROW = 14
"""Pixels for one dot within a row."""
GAP = 12
"""Pixels between rows."""


def rows_height(rows: int, series: int) -> int:
    """Height in pixels of this many rows with this many dots each."""
    return rows * (series * ROW + GAP)


def dots(
    records: Records,
    rows: Sequence[str],
    series: Sequence[str],
    size: Size,
    axis: Numbers,
    *,
    draws: Records = (),
    title: str = "",
    names: bool = True,
    guides: Sequence[float] = (),
) -> LayerChart:
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
    layers: list[Layer] = []
    if guides:
        across = [{"value": at} for at in guides]
        layers.append(Rule(records=across, x="value", colour=MUTED.light, dash=(3, 3), width=1.2))
    if draws:
        layers.append(Ticks(records=draws, x="value", y="row", length=ROW - 3, opacity=0.45))
    for low, high, width in (("low", "high", 1.5), ("inner", "outer", 4.5)):
        if known := [record for record in records if record.get(low) is not None and record.get(high) is not None]:
            layers.append(Rule(records=known, y="row", low=low, high=high, width=width))
    says = [{**record, "says": f"{record['row']}, {record['series']}: {_value(record)}"} for record in records]
    layers.append(Points(records=says, x="value", y="row", size=52, outlined=True))
    return LayerChart(
        layers=layers,
        size=size,
        x=axis,
        y=Names(names=rows, labels=None if names else (), widest=260, font=12, rows=series, gap=GAP),
        series=series_of(series, "series", columns=len(series)),
        title=title,
        aligned=True,
    )


def _value(record: Mapping[str, object], name: str = "value") -> str:
    return minus(f"{float(str(record[name])):.3f}")


def lines(
    records: Records,
    series: Sequence[str],
    size: Size,
    x: Numbers,
    y: Numbers,
    *,
    title: str = "",
    note: str = "",
) -> LayerChart:
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
    records = sorted(records, key=lambda record: float(str(record["x"])))
    middle = medians(records, "x")
    layers: list[Layer] = [Line(records=middle, x="x", y="value")]
    if len(records) > len(middle):
        layers.append(Points(records=records, x="x", y="value", size=16, width=1, opacity=0.55, hollow=True))
    labels = dict(x.ticks)
    says = [
        {**record, "says": f"{record['series']}, {labels.get(float(str(record['x'])))}: {_value(record)}"}
        for record in middle
    ]
    layers.append(Points(records=says, x="x", y="value", size=44))
    return LayerChart(
        layers=layers,
        size=size,
        x=x,
        y=y,
        series=series_of(series, "series", columns=len(series)),
        title=title,
        note=(note,) if note else (),
        aligned=True,
    )


def ranks(records: Records, stages: Sequence[str], size: Size, *, title: str) -> LayerChart:
    """Ranks of models in several stages, one line each; models that keep their rank are grey.

    Args:
        records: Each with ``model``, ``stage``, ``rank`` (from 1) and ``moved`` (whether any rank differs).
        stages: From left to right; names of models are at the right.
        size: Plotting area in pixels.
        title: A heading.
    """
    most = max((float(str(record["rank"])) for record in records), default=1.0)
    records = [
        {
            **record,
            "place": stages.index(str(record["stage"])),
            "says": f"{record['model']}, {record['stage']}: rank {float(str(record['rank'])):g}",
        }
        for record in records
    ]
    layers: list[Layer] = []
    looks = ((False, GHOST.light, MUTED.light, 1.6), (True, SERIES[0].light, SERIES[0].light, 2.2))
    for moved, line, mark, width in looks:
        if own := [record for record in records if record["moved"] is moved]:
            layers.append(Line(records=own, x="place", y="rank", colour=line, width=width, detail="model"))
            layers.append(Points(records=own, x="place", y="rank", colour=mark))
    last = [record for record in records if record["stage"] == stages[-1]]
    layers.append(Labels(records=last, x="place", y="rank", text="model", dx=9, limit=190))
    return LayerChart(
        layers=layers,
        size=size,
        x=Numbers(low=-0.15, high=len(stages) - 0.85, ticks=[*enumerate(stages)], top=True),
        y=Numbers(low=most + 0.4, high=0.6, ticks=[(rank, str(rank)) for rank in range(1, int(most) + 1)]),
        title=title,
        aligned=True,
    )


def plane(
    records: Records, size: Size, spans: Mapping[str, Sequence[float]], *, title: str, note: str = ""
) -> LayerChart:
    """Points in a plane whose axes have no unit; the chosen ones are highlighted.

    Args:
        records: Each with ``x``, ``y`` and ``chosen``.
        size: Plotting area in pixels.
        spans: Minimum and maximum of ``x`` and ``y``, the same in every panel.
        title: A heading.
        note: A line under the heading, "" for none.
    """
    others = [record for record in records if not record["chosen"]]
    chosen = [record for record in records if record["chosen"]]
    return LayerChart(
        layers=[
            Points(records=others, x="x", y="y", size=9, opacity=0.45, colour=MUTED.light, shape="circle"),
            Points(records=chosen, x="x", y="y", size=60, shape="diamond", colour=SERIES[1].light, outlined=True),
        ],
        size=size,
        x=Numbers(low=spans["x"][0], high=spans["x"][1]),
        y=Numbers(low=spans["y"][0], high=spans["y"][1]),
        title=title,
        note=(note,) if note else (),
        aligned=True,
        frame=GRID.light,
    )


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


def value_axis(records: Sequence[Mapping[str, object]], *, unit: bool = True, signed: bool = False) -> Numbers:
    """An axis that contains all values and their bars; for correlations, 1 too."""
    ends = [float(str(record[name])) for record in records for name in ("low", "value", "high") if name in record]
    low, high = bounds(ends) if unit else _with_zero(ends)
    places = round_numbers(low, high, 5)
    digits = 2 if unit or any(round(10 * place, 6) % 1 for place in places) else 1
    ticks = [(place, minus(f"{place:{'+' if signed and place else ''}.{digits}f}")) for place in places]
    return Numbers(low=low, high=high, ticks=ticks, grid=True)


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
    charts: Sequence[LayerChart], title: str, note: Sequence[str], *, columns: int | None = None
) -> ConcatChart:
    """Panels with one heading and one legend.

    Args:
        title: What the figure shows; also its description for screen readers.
        note: Lines under the heading, in small type.
        columns: Panels in a row; by default all.
    """
    return ConcatChart(concat=charts, columns=columns or len(charts), title=title, note=note, shared=True)
