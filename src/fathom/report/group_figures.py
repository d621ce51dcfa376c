"""The figures of what counts every question alike, for files and for the page."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt

from fathom.report.by_question import ByQuestion
from fathom.report.drawing import Size
from fathom.report.figure import Figure, drawn
from fathom.report.group_maps import group_map
from fathom.report.labels import title
from fathom.report.results import Results
from fathom.report.trends import TITLES as TRENDS
from fathom.report.trends import left_out, trend_chart

MAPPED = {
    "lengths-heatmap": "length",
    "tasks-heatmap": "primary_task",
    "requirement-heatmap": "contextual_requirement",
}
"""Kinds of heat maps, and what their questions are grouped by."""
LINED = {"best-of-n": "best_of", "pass-at-n": "pass_at"}
"""Kinds of lines, and what they show."""
WIDE, NARROW = Size(300, 280), Size(110, 260)


def group_charts() -> dict[str, Callable[[Results], list[alt.LayerChart]]]:
    """How each kind is drawn as a figure of its own."""
    maps = {kind: _mapped(dimension) for kind, dimension in MAPPED.items()}
    return maps | {kind: _lined(measure) for kind, measure in LINED.items()}


def _mapped(dimension: str) -> Callable[[Results], list[alt.LayerChart]]:
    def made(results: Results) -> list[alt.LayerChart]:
        chart = group_map(results.by_question, dimension, title=True)
        return [chart] if chart is not None else []

    return made


def _lined(measure: str) -> Callable[[Results], list[alt.LayerChart]]:
    def made(results: Results) -> list[alt.LayerChart]:
        chart = trend_chart(results.by_question, measure, WIDE, title=True)
        return [chart] if chart is not None else []

    return made


def map_figures(found: ByQuestion) -> tuple[Figure, ...]:
    """The heat maps for the page, where there are models to compare."""
    if len(found.systems) < 2:
        return ()
    charts = {dimension: group_map(found, dimension) for dimension in MAPPED.values()}
    return tuple(
        Figure(title(dimension), drawn(chart, f"{title(dimension)}; figures in the tables above", whole=True))
        for dimension, chart in charts.items()
        if chart is not None
    )


def trend_figures(found: ByQuestion) -> tuple[Figure, ...]:
    """Best of n and pass at n for the page."""
    made = []
    for measure in LINED.values():
        wide, narrow = (trend_chart(found, measure, size) for size in (WIDE, NARROW))
        if wide is not None and narrow is not None:
            said = left_out(found, measure)
            about = f"{TRENDS[measure]}; figures in the table"
            made.append(Figure(TRENDS[measure], drawn(wide, about), drawn(narrow, about), f"{said}." if said else ""))
    return tuple(made)
