"""The report as one self-contained HTML page."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import jinja2
import polars as pl
from markupsafe import Markup

from fathom.analysis import Filtered, PositionPoint
from fathom.atomic import whole_file
from fathom.printing import pieces, printable
from fathom.report import words
from fathom.report.answers import answers_views
from fathom.report.colours import css_variables
from fathom.report.curves import curve_chart
from fathom.report.drawing import Size, style
from fathom.report.figure import SMALL, Figure, Group, drawn
from fathom.report.group_figures import map_figures, trend_figures
from fathom.report.heatmaps import position_chart
from fathom.report.hundred import view
from fathom.report.lengths import DEFINITIONS
from fathom.report.position import length_styles, lengths_of, line_figures, needle_groups, pooled
from fathom.report.results import ALL, Results, System, measure, system_of
from fathom.report.summary import summary
from fathom.report.table import Table
from fathom.report.tables import tables_of
from fathom.report.truncation import truncation_figures
from fathom.stats.outcomes import Unanswered
from fathom.types import FathomError

TITLE = "Long-context reliability"
WIDE, NARROW, TILE = Size(880, 330), Size(290, 250), Size(230, 130)
# Up to this many models share one chart; beyond, each has its own chart with the others in grey.
TOGETHER = 6
LONG = 12
"""Models beyond which all tables of the breakdown but the first are folded."""
OPTIONAL = (
    *("categories", "breakdown", "thinking", "ranks", "repeats"),
    *("known", "graders", "position", "truncation"),
)
"""Sections that not every page has."""


def report(
    rows: pl.DataFrame | Filtered,
    out: Path,
    *,
    title: str = TITLE,
    seed: int = 0,
    unanswered: Unanswered = "zero",
    notes: Sequence[str] = (),
) -> tuple[Table, ...]:
    """Writes a report on rows as one self-contained HTML page.

    Args:
        rows: A rows table (``fathom.rows``), or the result of the closed-book filter.
        out: The file to write; missing folders are created.
        title: Title of the page.
        seed: Seed of the bootstrap; the same rows and seed give the same page, byte for byte.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).
        notes: Caveats about the rows, such as unfinished runs; they come first in the first paragraph.

    Returns:
        The tables of the page, for showing them elsewhere without measuring again.

    Raises:
        FathomError: There are no rows, or the file cannot be written.
    """
    results = replace(measure(rows, seed=seed, unanswered=unanswered), notes=tuple(map(printable, notes)))
    text = page(results, title=title)
    with whole_file(out) as stream:
        stream.write(text)
    return tables_of(results)


def page(results: Results, *, title: str = TITLE) -> str:
    """The page as HTML text. All text from the rows is escaped; a content security policy forbids loading anything."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fathom.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["soft"] = soft
    environment.filters["tokens"] = words.tokens
    script = Markup(_resource(environment, "theme.js"))
    sections: dict[str, list[Table]] = {name: [] for name in OPTIONAL}
    for table in tables_of(results):
        sections.setdefault(table.section, []).append(table)
    text = environment.get_template("page.html.j2").render(
        title=printable(title),
        summary=summary(results),
        systems=[(system.name, *style(number)[1:]) for number, system in enumerate(results.systems)],
        sections=sections,
        curves=_curves(results),
        apart=_apart(results),
        together=len(results.systems) <= TOGETHER,
        tasks=_task_curves(results),
        positions=_positions(results),
        grids=needle_groups(results),
        line_key=length_styles(lengths_of(pooled(results))),
        answers=answers_views(results),
        truncation=truncation_figures(results),
        hundred=view(results),
        long=LONG,
        long_tables=len(results.by_question.systems) > LONG,
        maps=map_figures(results.by_question),
        trends=trend_figures(results.by_question),
        definitions=list(DEFINITIONS.values()),
        unfolded=0 < len(results.systems) <= 3,
        light=Markup(css_variables("light")),
        dark=Markup(css_variables("dark")),
        style=Markup(_resource(environment, "style.css")),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    # The template's macros leave line ends before the page.
    return text.lstrip()


def soft(text: str) -> Markup:
    """Escapes a name and allows line breaks at its separators, for narrow screens."""
    return Markup("<wbr>").join(pieces(text))


def _resource(environment: jinja2.Environment, name: str) -> str:
    if environment.loader is None:
        raise FathomError("The templates of the report are missing: reinstall fathom.")
    return environment.loader.get_source(environment, name)[0]


def _curves(results: Results) -> tuple[Figure, ...]:
    task = ALL if len(results.tasks) != 1 else results.tasks[0]
    points = [point for key, point in results.curve.items() if key[1] == task]
    if not any(point.mean is not None for point in points):
        return ()
    systems = results.systems
    if len(systems) <= TOGETHER:
        label = f"Score against length, {'all tasks' if task == ALL else task}; figures in the table of scores"
        charts = [drawn(curve_chart(points, systems, size), label) for size in (WIDE, NARROW)]
        return (Figure("", charts[0], charts[1]),)
    return tuple(
        Figure(
            system.name,
            drawn(curve_chart(points, systems, SMALL, focus=system), f"Score against length of {system.name}"),
        )
        for system in systems
        if any(system_of(point) == system and point.mean is not None for point in points)
    )


def _apart(results: Results) -> str:
    """Caveats about the curves; "" if none."""
    notes = dict.fromkeys(point.note for point in results.curve.values() if point.note)
    return " ".join(map(words.sentence, notes))


def _task_curves(results: Results) -> tuple[Figure, ...]:
    if len(results.tasks) < 2:
        return ()
    made = []
    for task in results.tasks:
        points = [point for key, point in results.curve.items() if key[1] == task]
        if any(point.mean is not None for point in points):
            chart = curve_chart(points, results.systems, SMALL)
            made.append(Figure(task, drawn(chart, f"Score against length on {task}")))
    return tuple(made)


def _positions(results: Results) -> tuple[Group, ...]:
    own: dict[System, dict[str, list[PositionPoint]]] = {}
    for point in pooled(results):
        own.setdefault(system_of(point), {}).setdefault(point.task, []).append(point)
    return tuple(
        Group(
            system.name,
            (
                *_position_figures(system, own[system].items(), results.lengths),
                *line_figures(results, system),
            ),
        )
        for system in results.systems
        if system in own
    )


def _position_figures(
    system: System, tasks: Iterable[tuple[str, list[PositionPoint]]], lengths: Sequence[int]
) -> list[Figure]:
    return [
        Figure(
            "all tasks" if task == ALL else task,
            drawn(position_chart(points, lengths, TILE), f"Score of {system.name} by depth and length"),
        )
        for task, points in tasks
    ]
