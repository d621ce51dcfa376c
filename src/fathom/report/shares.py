"""Scores by length with the share of samples at each, and the mean over all: 100-LongBench's figures 1, 9 to 12."""

from collections.abc import Iterable, Sequence

from fathom.analysis import CurvePoint
from fathom.report import words
from fathom.report.charts import LayerChart, Line, Points, Rule, Size
from fathom.report.drawing import length_axis, score_axis, series_of
from fathom.report.results import System, grouped, system_of

AREA = 420
"""Area of the marker of a length with all samples, in square pixels."""
LEAST = 14
"""Area of the smallest marker."""
CAPTION = (
    "The area of a marker is the share of the samples at its length, a dashed line the mean over all samples. Where "
    "each sample has one length, lengths are compared over different samples."
)


def share_chart(
    points: Iterable[CurvePoint], systems: Sequence[System], size: Size, *, title: str = "", legend: int = 0
) -> LayerChart:
    """Score of one task against length, one line per system.

    Args:
        points: Points of the task; those without a mean are left out.
        systems: All systems of the report, in the order of their colours.
        size: Plotting area in pixels.
        title: A heading, "" for none.
        legend: Columns of the legend, 0 for none.

    Returns:
        A chart: markers whose area is the share of the items at their length, and the mean over all items as a dashed
        line.
    """
    known = sorted((point for point in points if point.mean is not None), key=lambda point: point.length)
    lines, means = [], []
    for system, own in grouped(known, system_of).items():
        items = sum(point.items for point in own)
        mean = sum((point.mean or 0.0) * point.items for point in own) / items
        over = f"{system.name}, mean over {words.count(items)} samples: {words.percent(mean)}"
        means.append({"system": system.name, "mean": mean, "says": over})
        for point in own:
            share = point.items / items
            of_all = f"{words.percent(share)}% of the samples"
            shown = f"{system.name}, {words.length(point.length)}: {words.scored(point.mean, point.interval)}; {of_all}"
            lines.append({
                **{"system": system.name, "length": point.length, "mean": point.mean},
                **{"area": max(LEAST, AREA * share), "share": share, "says": shown},
            })  # fmt: skip
    return LayerChart(
        layers=[
            Rule(records=means, y="mean", dash=(5, 4), width=1.2),
            Line(records=lines, x="length", y="mean", width=1.4),
            Points(records=lines, x="length", y="mean", size="area", opacity=0.8, outlined=True),
        ],
        size=size,
        x=length_axis({point.length for point in known}, size),
        y=score_axis(),
        series=series_of([system.name for system in systems], columns=legend),
        title=title,
    )
