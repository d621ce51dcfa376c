"""The section on curves: score against length by task, and for each of many models."""

from collections.abc import Sequence

import altair as alt

from fathom.analysis import CurvePoint
from fathom.report import parts, words
from fathom.report.curves import curve_chart
from fathom.report.drawing import Size
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.model_tables import BOUNDS, PERCENT, study_tables
from fathom.report.results import ALL, Results, system_of, task_title
from fathom.report.section import COLUMNS, PANEL, Chart, Section, legend_columns
from fathom.report.table import Cell, Column, Table

ABOUT = (
    "Mean score in percent against the length of the whole prompt in tokens, on a logarithmic scale. Bands are 95% "
    "intervals over items; the dashed line is chance. A hollow marker is a mean without some task."
)
WIDE, NARROW = Size(560, 175), Size(290, 210)
TOGETHER = 6
"""Models that share one chart."""


# Figures


def first_figure(results: Results) -> Figure | None:
    """The one chart of the summary: the models with the highest ranks; None without a score."""
    task = results.with_mean[-1]
    systems = results.systems[:TOGETHER]
    points = [point for point in results.points(task) if system_of(point) in systems]
    if not any(point.mean is not None for point in points):
        return None
    label = f"Score against length, {task_title(task)}; figures in the table of scores"
    wide, narrow = (drawn(curve_chart(points, systems, size), label) for size in (WIDE, NARROW))
    rest = len(results.systems) - len(systems)
    others = f" The other {words.several(rest, 'model')} are below." if rest else ""
    note = "Mean over tasks with its 95% interval; the dashed line is chance; hollow: without some task."
    return Figure("", wide, narrow, note + others)


def _figures(results: Results) -> list[Figure]:
    """Small charts: one for each task and, of many models, one for each model with the others in grey."""
    figures = []
    points = results.points(results.with_mean[-1])
    for system in results.systems if len(results.systems) > TOGETHER else ():
        if any(system_of(point) == system and point.mean is not None for point in points):
            chart = curve_chart(points, results.systems, SMALL, focus=system)
            figures.append(Figure(system.name, drawn(chart, f"Score against length of {system.name}")))
    for task in results.tasks if len(results.tasks) > 1 else ():
        points = results.points(task)
        if any(point.mean is not None for point in points):
            chart = curve_chart(points, results.systems, SMALL)
            figures.append(Figure(task, drawn(chart, f"Score against length on {task}")))
    return figures


def _curve(results: Results) -> list[alt.LayerChart]:
    points = [point for point in results.points(ALL) if point.mean is not None]
    legend, bases = legend_columns(results, 2), _given_bases(results, ALL)
    title = "Score against length, mean over tasks" if len(results.tasks) > 1 else "Score against length"
    chart = curve_chart(points, results.systems, Size(560, 300), legend=legend, title=title, bases=bases)
    return [chart] if points else []


def _task_curves(results: Results) -> list[alt.LayerChart]:
    legend = legend_columns(results, COLUMNS)
    return [
        curve_chart(
            results.points(task),
            results.systems,
            PANEL,
            legend=legend,
            title=task_title(task),
            bases=_given_bases(results, task),
        )
        for task in results.with_mean
        if any(point.mean is not None for point in results.points(task))
    ]


def _given_bases(results: Results, task: str) -> list[CurvePoint]:
    """Bases of one task that a table of scores gives without lengths; others are means of lengths that are drawn."""
    return [
        CurvePoint(score.model, score.variant, task, 0, score.base, score.base_interval, 0, 0, score.chance)
        for score in results.longscores(task)
        if score.base is not None and not score.base_lengths
    ]


# Studies


def curve_tables(points: Sequence[CurvePoint]) -> list[Table]:
    """Score at each length, and chance."""
    lengths = sorted({point.length for point in points})

    def cells(own: Sequence[CurvePoint]) -> list[Cell]:
        at = {point.length: _score(point) for point in own}
        chance = Cell(words.span(point.chance for point in own))
        return [*(at.get(length, Cell()) for length in lengths), chance]

    columns = [*(Column(words.tokens(length)) for length in lengths), Column("Chance")]
    return study_tables(points, columns, cells, PERCENT)


def _score(point: CurvePoint) -> Cell:
    note = f"Not measured: {point.gap}." if point.gap else ""
    if point.mean is None and point.bounds:
        return Cell(words.between(point.bounds), BOUNDS, f"Not measured: {point.gap}.")
    return Cell(words.percent(point.mean), words.bounds(point.interval), note)


# The section


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    figures = _figures(results)
    return [parts.key_of_models(results), parts.Figures(figures)] if figures else []


def _finding(results: Results) -> str:
    tasks = len(results.tasks)
    return f"Charts of {words.several(tasks, 'task') if tasks > 1 else words.several(len(results.systems), 'model')}."


SECTION = Section(
    name="curves",
    title="Score against length by task",
    finding=_finding,
    about=ABOUT,
    page=_page,
    charts=(
        Chart(kind="curve", draw=_curve),
        Chart(kind="task-curves", draw=_task_curves, heading="Score against length"),
    ),
    studies={CurvePoint: curve_tables},
)
