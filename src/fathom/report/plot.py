"""One figure as a file, for a paper or a slide."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import altair as alt
import polars as pl

from fathom.analysis import CurvePoint, Filtered, Profile
from fathom.report.answers import LINES, answers_charts
from fathom.report.curves import curve_chart
from fathom.report.drawing import Size
from fathom.report.figure import check_format, save
from fathom.report.group_figures import group_charts
from fathom.report.heatmaps import ANOMALOUS, longscore_map, position_chart, score_chart
from fathom.report.hundred import abilities, height_of, longscore_lines, span_of, task_dots, without_score
from fathom.report.position import lengths_of, needle_charts, position_lines
from fathom.report.results import ALL, Results, System, measure, measure_profiles, system_of
from fathom.report.truncation import truncation_charts
from fathom.stats.outcomes import Unanswered
from fathom.types import FathomError
from fathom.types.choices import Figure

KINDS: tuple[Figure, ...] = get_args(Figure)
SMALL = Size(230, 160)
CELL = Size(46, 26)
# Columns of small multiples, and of wider charts.
COLUMNS = 3
LONG_NAME, LEGEND_LINES = 30, 8
"""Characters of a name that two columns of a legend do not hold in every font, and lines of a legend."""
COLUMNS_OF: dict[str, int] = {"needle": 1}


def plot(
    source: pl.DataFrame | Filtered | Sequence[Profile],
    kind: Figure,
    out: Path,
    *,
    models: Sequence[str] = (),
    seed: int = 0,
    unanswered: Unanswered = "zero",
) -> Path:
    """Draws one figure.

    Args:
        source: A rows table (``fathom.rows``), the result of the closed-book filter, or the profiles of a
            published table of scores.
        kind: ``curve``: score against length with bands; ``task-curves``: the same, task by task; ``scores``: heat maps
            of task by length; ``position``: heat maps of depth by length; ``position-lines``: score against
            depth with intervals, one line per length; ``needle``: heat maps of depth by length, cell by cell, if
            depths are a grid; ``answers``: accuracy with chance and shortcuts, validity and
            copied examples against length, task by task; ``truncation``: score against the length that prompts were
            truncated to, up to the whole prompt, task by task; ``tasks``: average score per task;
            ``longscore``: LongScore against length, task by task; ``longscore-heatmap``: LongScore by model and length;
            ``lengths-heatmap``, ``tasks-heatmap`` and ``requirement-heatmap``: scores of models by length, by primary
            task, and by how much of the context is needed; ``best-of-n`` and ``pass-at-n``: against the number of
            replies to each question. The last five take published averages too.
        out: A ``.svg``, ``.png``, ``.pdf`` or ``.html`` file, or ``.json`` for the Vega-Lite specification.
        models: Only these models, in this order; by default all, for ``best-of-n`` and ``pass-at-n`` the highest.
        seed: Seed of the bootstrap.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).

    Returns:
        ``out``.

    Raises:
        FathomError: Unknown kind, format or model, nothing to draw, or the file cannot be written.
    """
    if kind not in KINDS:
        raise FathomError(f"Unknown kind of figure {kind!r}: choose one of {', '.join(KINDS)}.")
    check_format(out)
    if isinstance(source, pl.DataFrame | Filtered):
        results = measure(source, seed=seed, unanswered=unanswered)
    else:
        results = measure_profiles(source)
    return save(chart_of(chosen(results, models) if models else results, kind), out)


def chosen(results: Results, models: Sequence[str]) -> Results:
    """The results of some models, in the order in which they are named.

    Raises:
        FathomError: A model is not in the results.
    """
    known = dict.fromkeys((*results.systems, *(System(*system) for system in results.by_question.systems)))
    systems: list[System] = []
    for name in models:
        found = [system for system in known if name in (system.model, system.name)]
        if not found:
            raise FathomError(f"there is no model {name!r}: choose from {', '.join(one.name for one in known)}")
        systems += [system for system in found if system not in systems]
    return replace(
        results,
        systems=tuple(system for system in systems if system in results.systems),
        average={key: one for key, one in results.average.items() if key[0] in systems},
        curve={key: one for key, one in results.curve.items() if key[0] in systems},
        longscore={key: one for key, one in results.longscore.items() if key[0] in systems},
        position=tuple(one for one in results.position if system_of(one) in systems),
        depths=tuple(one for one in results.depths if system_of(one) in systems),
        answers=tuple(one for one in results.answers if system_of(one) in systems),
        truncation=tuple(one for one in results.truncation if system_of(one) in systems),
        by_question=results.by_question.only(systems),
    )


def chart_of(results: Results, kind: Figure) -> alt.TopLevelMixin:
    """The chart of one kind, over all that was measured."""
    charts = DRAWN[kind](results)
    if not charts:
        raise FathomError(f"Nothing to draw for {kind!r}: {LACKING.get(kind, 'no reply has a score')}.")
    if len(charts) == 1:
        return charts[0]
    columns = min(COLUMNS_OF.get(kind, COLUMNS), len(charts))
    if kind not in MULTIPLES:
        return alt.ConcatChart(concat=charts, columns=columns, spacing=28)
    heading = alt.TitleParams(MULTIPLES[kind], subtitle=CAPTIONS.get(kind, ""), fontSize=14, offset=16)
    together: alt.ConcatChart = alt.ConcatChart(concat=charts, columns=columns, spacing=24, title=heading)
    shared: alt.ConcatChart = together.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return shared


def _curve(results: Results) -> list[alt.LayerChart]:
    points = [point for (_, task, _), point in results.curve.items() if task == ALL and point.mean is not None]
    legend, bases = _columns(results, 2), _given_bases(results, ALL)
    title = "Score against length, mean over tasks" if len(results.tasks) > 1 else "Score against length"
    chart = curve_chart(points, results.systems, Size(560, 300), legend=legend, title=title, bases=bases)
    return [chart] if points else []


def _given_bases(results: Results, task: str) -> list[CurvePoint]:
    """Bases of one task that a table of scores gives without lengths; others are means of lengths that are drawn."""
    return [
        CurvePoint(one.model, one.variant, task, 0, one.base, one.base_interval, 0, 0, one.chance)
        for (_, name), one in results.longscore.items()
        if name == task and one.base is not None and not one.base_lengths
    ]


def _task_curves(results: Results) -> list[alt.LayerChart]:
    made = []
    for task in _titles(results):
        points = [point for (_, name, _), point in results.curve.items() if name == task]
        if any(point.mean is not None for point in points):
            legend = _columns(results, COLUMNS)
            bases = _given_bases(results, task)
            made.append(curve_chart(points, results.systems, SMALL, legend=legend, title=_title(task), bases=bases))
    return made


def _scores(results: Results) -> list[alt.LayerChart]:
    tasks = (*results.tasks, ALL)
    size = Size(CELL.width * len(results.lengths), CELL.height * len(tasks))
    made = []
    for system in results.systems:
        points = [point for (name, _, _), point in results.curve.items() if name == system]
        if any(point.mean is not None for point in points):
            made.append(score_chart(points, results.lengths, tasks, size, title=system.name))
    return made


def _position(results: Results) -> list[alt.LayerChart]:
    size = Size(CELL.width * len(results.lengths), 130)
    made = []
    for system in results.systems:
        for task in results.tasks:
            points = [point for point in results.position if system_of(point) == system and point.task == task]
            if points:
                made.append(position_chart(points, results.lengths, size, title=f"{system.name}: {task}"))
    return made


def _position_lines(results: Results) -> list[alt.LayerChart]:
    made = []
    for system in results.systems:
        for task in results.tasks:
            points = [point for point in results.position if system_of(point) == system and point.task == task]
            if points:
                title = f"{system.name}: {task}" if len(results.systems) > 1 else task
                made.append(position_lines(points, lengths_of(results.position), SMALL, title=title, legend=COLUMNS))
    return made


def _truncation(results: Results) -> list[alt.LayerChart]:
    legend = _columns(results, COLUMNS)
    charts = truncation_charts(results.truncation, results.systems, SMALL, legend=legend, titled=True)
    return [chart for _, chart in charts]


def _answers(results: Results) -> list[alt.LayerChart]:
    made = []
    for task in results.tasks:
        points = [point for point in results.answers if point.task == task]
        if points:
            legend = _columns(results, COLUMNS)
            made += [chart for _, chart in answers_charts(points, results.systems, SMALL, legend=legend, title=task)]
    return made


def _tasks(results: Results) -> list[alt.LayerChart]:
    tasks = [task for task in _titles(results) if any(one.mean is not None for one in _averages(results, task))]
    if not tasks:
        return []
    size = Size(460, height_of(len(results.systems), len(tasks)))
    names = [_title(task) for task in tasks]
    legend, title = _columns(results, 2), "Average score"
    return [task_dots(results.average.values(), results.systems, tasks, size, names=names, legend=legend, title=title)]


def _averages(results: Results, task: str) -> list[Any]:
    return [one for (_, name), one in results.average.items() if name == task]


def _longscore(results: Results) -> list[alt.LayerChart]:
    steps, span = abilities(results), span_of(results.longscore.values())
    made = []
    for task in _titles(results):
        scores = [one for (_, name), one in results.longscore.items() if name == task]
        if any(one.points for one in scores):
            lacking, legend = without_score(scores), _columns(results, COLUMNS)
            note = f"undefined: {', '.join(lacking)}" if lacking else ""
            title = _title(task)
            made.append(
                longscore_lines(scores, results.systems, steps, span, SMALL, title=title, note=note, legend=legend)
            )
    return made


def _longscore_heatmap(results: Results) -> list[alt.LayerChart]:
    lengths = sorted({point.length for one in results.longscore.values() for point in one.points})
    size = Size(CELL.width * len(lengths), CELL.height * len(results.systems))
    made = []
    for task in _titles(results):
        scores = [one for (_, name), one in results.longscore.items() if name == task]
        if any(one.points for one in scores):
            made.append(longscore_map(scores, results.systems, lengths, size, title=_title(task)))
    return made


def _columns(results: Results, most: int) -> int:
    """Columns of a legend: one for few models, and for up to eight if a name is long."""
    several = len(results.systems)
    wide = max((len(system.name) for system in results.systems), default=0) > LONG_NAME
    return 1 if several <= COLUMNS or (wide and several <= LEGEND_LINES) else most


def _titles(results: Results) -> list[str]:
    """The tasks, and their mean if there are several."""
    return [*results.tasks, ALL] if len(results.tasks) != 1 else list(results.tasks)


def _title(task: str) -> str:
    return "all tasks" if task == ALL else task


DRAWN: dict[str, Callable[[Results], list[alt.LayerChart]]] = {
    "curve": _curve,
    "scores": _scores,
    "position": _position,
    "position-lines": _position_lines,
    "needle": needle_charts,
    "answers": _answers,
    "truncation": _truncation,
    "tasks": _tasks,
    "task-curves": _task_curves,
    "longscore": _longscore,
    "longscore-heatmap": _longscore_heatmap,
    **group_charts(),
}
MULTIPLES: dict[Figure, str] = {
    "position-lines": "Score against depth",
    "needle": "Score by depth and length",
    "answers": "Answers against length",
    "truncation": "Score against the length that prompts were truncated to",
    "task-curves": "Score against length",
    "longscore": "LongScore: change from base ability against length",
    "longscore-heatmap": "LongScore: change from base ability, percent",
}
CAPTIONS: dict[Figure, str] = {
    "position-lines": "0% is the start of the context, 100% its end; bars are 95% intervals",
    "needle": "0% is the start of the context, 100% its end; figures are percent",
    "answers": LINES,
    "truncation": "The last point is the whole prompt; bands are 95% intervals",
    "longscore-heatmap": ANOMALOUS,
}
LACKING: dict[Figure, str] = {
    "position": "no depth varies in these rows",
    "position-lines": "no depth varies in these rows",
    "needle": "no task has its gold text at a few evenly spaced depths, at several lengths",
    "truncation": "no prompt of these rows was truncated (`fathom build --truncate`)",
    "answers": "no task has a chance level or an example in its instructions",
    "longscore": "no score beyond the base lengths",
    "longscore-heatmap": "no score beyond the base lengths",
    "lengths-heatmap": "no rows can be grouped by the length of questions (those of LongBench Pro can)",
    "tasks-heatmap": "no question has a primary task (those of LongBench Pro have)",
    "requirement-heatmap": "no question names the context that it needs (those of LongBench Pro do)",
    "best-of-n": "no question was asked more than once (`fathom run --epochs 3`)",
    "pass-at-n": "no question was asked more than once (`fathom run --epochs 3`)",
}
