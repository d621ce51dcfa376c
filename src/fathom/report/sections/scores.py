"""The section on scores: task by length for each model, coloured by score."""

from dataclasses import replace

from fathom.analysis import AverageScore, Counts, CurvePoint
from fathom.report import words
from fathom.report.charts import LayerChart, Size
from fathom.report.colours import heat_step
from fathom.report.heatmaps import score_chart
from fathom.report.results import ALL, Results, System, task_title
from fathom.report.section import TILE, Chart, Section
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import (
    BOUNDS,
    CHANCE,
    SCORED,
    bounds_note,
    chance_cell,
    failed,
    other_score,
    replies_of,
    scored_cell,
)

MANY = 0.9
"""Share of the items of another length below which scores are over noticeably different questions."""
FEW = 3
"""Models up to which the page shows the section unfolded."""
ABOUT = (
    "Mean score in percent, with its 95% interval, by task and length. A dash means that there is no score, which is "
    "different from 0."
)
NOT_ASKED = "not asked"


# Tables


def _table(results: Results, system: System) -> Table:
    """Task by length for one model."""
    columns = (
        Column("Task", number=False),
        *(Column(words.length(length), group="Length in tokens") for length in results.lengths),
        Column("All lengths"),
        CHANCE,
        SCORED,
    )
    rows = tuple(
        (
            Cell(task_title(task)),
            *(_score_cell(results, system, task, length) for length in results.lengths),
            average_cell(results, results.average.get((system, task))),
            chance_cell(results, system, task),
            scored_cell(results, system, task),
        )
        for task in (*results.tasks, *([ALL] if len(results.tasks) > 1 else []))
    )
    name = f"scores-{results.systems.index(system) + 1}"
    return Table(name, "", system.name, "", columns, rows, denominator="scored")


def average_cell(results: Results, average: AverageScore | None, note: str = "") -> Cell:
    """An average score with what belongs below it; ``note`` is added to its own."""
    if average is None:
        return Cell()
    blank = average.bounds if average.mean is None else None
    why = bounds_note(blank, "Bounds for the missing replies, without a rank")
    together = words.independent(average.items, average.clusters, average.design_effect, average.effective_items)
    notes = " ".join(filter(None, (words.sentence(average.note), note, why, together)))
    below = other_score(results, average.mean, average.other)
    if blank:
        return Cell(words.between(blank), BOUNDS, notes, below=below)
    return Cell(words.percent(average.mean), words.bounds(average.interval), notes, below=below)


def _score_cell(results: Results, system: System, task: str, length: int) -> Cell:
    made = _scored_cell(results, system, task, length)
    asked = task == ALL or (system, task, length) in results.by_cell
    return replace(made, replies=replies_of(system, task, length)) if asked else made


def _scored_cell(results: Results, system: System, task: str, length: int) -> Cell:
    point = results.curve.get((system, task, length))
    counted = results.by_cell.get((system, task, length))
    if point is None or point.mean is None:
        if counted.not_asked == counted.replies if counted else task != ALL:
            return Cell(NOT_ASKED)
        if point is not None and point.gap:
            below = other_score(results, None, point.other)
            if point.bounds:
                note = bounds_note(point.bounds, point.gap if task != ALL else _lost(point, counted))
                return Cell(words.between(point.bounds), BOUNDS, note, below=below)
            return Cell(note=f"Not measured: {point.gap}.", below=below)
        if counted is not None and counted.scored:
            return Cell(note="Every question here was excluded as answered closed-book.")
        reason = failed(counted) if counted else ""
        return Cell(note=f"No reply was scored: {reason}." if reason else "")
    note = f"This score is not used in any mean: {point.gap}." if point.gap else ""
    if point.bounds and not note:
        note = bounds_note(point.bounds, _lost(point, counted))
    if not point.complete and not note:
        note = "Some tasks have no score here: do not compare with the other lengths."
    most = max(results.curve[key].items for key in results.curve if key[:2] == (system, task))
    fewer = point.items < MANY * most
    if fewer and not note and not point.note:
        note = "Fewer items than at another length: the questions are not all the same."
    below = (
        *other_score(results, point.mean, point.other),
        *([words.several(point.items, "item")] if fewer else []),
    )
    return Cell(words.percent(point.mean), words.bounds(point.interval), note, heat_step(point.mean), below=below)


def _lost(point: CurvePoint, counted: Counts | None) -> str:
    """How many replies of a point have no score: "2 of 90 replies have no score"."""
    lost = point.missing + point.scorer_error
    of = f" of {words.count(counted.replies)}" if counted else ""
    return f"{words.count(lost)}{of} replies {'has' if lost == 1 else 'have'} no score"


# The section


def _draw(results: Results) -> list[LayerChart]:
    tasks = (*results.tasks, ALL)
    size = Size(TILE.width * len(results.lengths), TILE.height * len(tasks))
    charts = []
    for system in results.systems:
        points = [point for (own, _, _), point in results.curve.items() if own == system]
        if any(point.mean is not None for point in points):
            charts.append(score_chart(points, results.lengths, tasks, size, title=system.name))
    return charts


def _finding(results: Results) -> str:
    first = results.systems[0]
    points = [point for (system, task, _), point in results.curve.items() if system == first and task != ALL]
    scored = [point for point in points if point.mean is not None]
    if not scored:
        return "No score."
    worst = min(scored, key=lambda point: point.mean or 0.0)
    at = f"{worst.task} at {words.length(worst.length)}"
    return f"Lowest{results.of_system(first)}: {words.percent(worst.mean)} on {at}."


SECTION = Section(
    name="scores",
    title="Scores",
    finding=_finding,
    about=ABOUT,
    tables=lambda results: [_table(results, system) for system in results.systems],
    tables_class="heat",
    opened=lambda results: len(results.systems) <= FEW,
    charts=(Chart(kind="scores", draw=_draw),),
)
