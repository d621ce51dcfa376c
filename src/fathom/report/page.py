"""The report as one self-contained HTML page."""

import base64
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from fathom.analysis import PositionPoint
from fathom.parallel.units import MOST_PROCESSES, cores, run_units
from fathom.printing import pieces, printable
from fathom.report import words
from fathom.report.answers import answers_views
from fathom.report.colours import css_variables
from fathom.report.curves import curve_chart
from fathom.report.drawing import Size, style
from fathom.report.figure import SMALL, Figure, Group, drawn
from fathom.report.findings import finding
from fathom.report.group_figures import map_figures, trend_figures
from fathom.report.heatmaps import position_chart
from fathom.report.hundred import view
from fathom.report.lengths import DEFINITIONS
from fathom.report.position import by_system, length_styles, lengths_of, line_figures, needle_groups, pooled
from fathom.report.results import ALL, Results, System, system_of
from fathom.report.setup_charts import view as setups_view
from fathom.report.summary import WHOLE, summary
from fathom.report.table import Replies, Table
from fathom.report.tables import tables_of
from fathom.report.tally import replies_of
from fathom.report.truncation import truncation_figures
from fathom.types import FathomError
from fathom.types.denominators import DENOMINATORS

TITLE = "Long-context reliability"
WIDE, NARROW, TILE = Size(560, 175), Size(290, 210), Size(230, 130)
TOGETHER = 6
"""Models that share one chart."""
UNMEASURED = 5
"""Sentences on what was not measured that are not folded."""
MANY_DRAWINGS = 100
"""Drawings of positions from which several processes are worth their start; each drawing takes 40 ms."""
FEW = 3
"""Models up to which the scores by task and length are not folded."""

ABOUT = {
    "setups": "Setups of one model on the same questions: methods for positions, for the KV cache, and systems around "
    "the model. Setups with unchanged weights and trained ones are never ranked against each other.",
    "scores": "Mean score in percent, with its 95% interval, by task and length. A dash means that there is no score, "
    "which is different from 0.",
    "curves": "Mean score in percent against the length of the whole prompt in tokens, on a logarithmic scale. Bands "
    "are 95% intervals over items; the dashed line is chance. A hollow marker is a mean without some task.",
    "hundred": "The figures of the paper, except scores against length, which are above.",
    "position": "Score in percent by the position of the answer. Heat maps: depth downwards, from the start of the "
    "context to its end; length to the right; blank cells were not measured.",
    "answers": "Tasks whose answer is one of several or an order of segments: how often models give a valid answer, "
    "how often they copy the example in the instructions, and what shortcuts would score. In percent, with 95% "
    "intervals; the dashed line in a chart of copies is the expected share.",
}
LINES = (
    " Line charts: the same scores with 95% intervals over items, depth to the right, one line per length.",
    " In a grid of many lengths each cell is one item or a few.",
)
KINDS = {
    "setups": "setups",
    "scores": "heat",
    "categories": "heat",
    "breakdown": "heat even",
    "known": "counts",
    "counts": "counts",
}
"""Classes of the tables of a section."""
TITLES = {
    "setups": "Setups compared",
    "scores": "Scores",
    "curves": "Score against length by task",
    "categories": "Categories",
    "breakdown": "Breakdown",
    "thinking": "Thinking",
    "repeats": "Repeats",
    "longscore": "LongScore",
    "effective": "Effective context length",
    "hundred": "100-LongBench",
    "position": "Position",
    "answers": "Answers",
    "truncation": "Truncation",
    "known": "Closed-book questions",
    "graders": "Graders",
    "counts": "Counts",
    "settings": "Settings",
    "reading": "How to read this page",
}
"""Sections below the summary, in their order."""
MORE = {
    "position": "Differences between positions",
    "counts": "By task and by length",
    "breakdown": "By secondary task",
    "setups": "Hyper-parameters tried, and published figures",
}
"""Headings of folded tables; "Task by task" for others."""


class Section(NamedTuple):
    """A section of the page, which is folded to its title and one line."""

    name: str
    title: str
    finding: str
    about: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    open: bool

    @property
    def id(self) -> str:
        """Unique on the page."""
        return f"section-{self.name}"

    @property
    def kind(self) -> str:
        """Classes of its tables."""
        return KINDS.get(self.name, "")

    @property
    def more(self) -> str:
        """Heading of its folded tables."""
        return MORE.get(self.name, "Task by task")


def page(results: Results, *, title: str = TITLE, link: Callable[[Replies], str] | None = None) -> str:
    """The page as HTML text. All text from the rows is escaped; a content security policy forbids loading anything.

    Args:
        results: What was measured.
        title: Title of the page.
        link: Gives the address of the replies behind a figure; None without links.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fathom.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["soft"] = soft
    environment.filters["tokens"] = words.tokens
    environment.filters["address"] = lambda replies: link(replies) if link and replies else ""
    script = Markup(_resource(environment, "theme.js"))
    shown = {
        "systems": [(system.name, *style(number)[1:]) for number, system in enumerate(results.systems)],
        "positions": _positions(results),
        "grids": needle_groups(results),
        "answers": answers_views(results),
        "truncation": truncation_figures(results),
        "hundred": view(results),
        "setups": setups_view(results.setups),
    }
    there = {
        "reading",
        *(name for name, value in shown.items() if value),
        *(["position"] if shown["positions"] or shown["grids"] else []),
    }
    text = environment.get_template("page.html.j2").render(
        **shown,
        title=printable(title),
        summary=summary(results),
        most=UNMEASURED,
        whole=WHOLE,
        curve=_curve(results),
        sections=_sections(results, there),
        line_key=length_styles(lengths_of(pooled(results))),
        maps=map_figures(results.by_question),
        trends=trend_figures(results.by_question),
        definitions=list(DEFINITIONS.values()),
        denominators=DENOMINATORS,
        linked=link is not None,
        light=Markup(css_variables("light")),
        dark=Markup(css_variables("dark")),
        style=Markup(_resource(environment, "style.css")),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    # The template's macros leave line ends before the page.
    return text.lstrip()


def _sections(results: Results, there: Collection[str]) -> list[Section]:
    """The sections with tables or figures.

    Args:
        results: What was measured.
        there: Those with figures of their own.
    """
    tables: dict[str, list[Table]] = {}
    for table in tables_of(results):
        tables.setdefault(table.section, []).append(table)
    curves = _curves(results)
    made = []
    for name, title in TITLES.items():
        own = tables.get(name, [])
        if own or name in there or (name == "curves" and curves):
            about = ABOUT.get(name) or (own[0].about if own else "")
            if name == "position":
                about += LINES[0] * bool(pooled(results)) + LINES[1] * bool(needle_groups(results))
            made.append(
                Section(
                    name=name,
                    title=title,
                    finding=finding(name, results),
                    about=about,
                    tables=tuple(own),
                    figures=curves if name == "curves" else (),
                    open=name == "setups" or (name == "scores" and len(results.systems) <= FEW),
                )
            )
    return made


def soft(text: str) -> Markup:
    """Escapes a name and allows line breaks at its separators, for narrow screens."""
    return Markup("<wbr>").join(pieces(text))


def _resource(environment: jinja2.Environment, name: str) -> str:
    if environment.loader is None:
        raise FathomError("The templates of the report are missing: reinstall fathom.")
    return environment.loader.get_source(environment, name)[0]


def _curve(results: Results) -> Figure | None:
    """The one chart of the summary: the models with the highest ranks."""
    task = ALL if len(results.tasks) != 1 else results.tasks[0]
    systems = results.systems[:TOGETHER]
    points = [point for key, point in results.curve.items() if key[1] == task and key[0] in systems]
    if not any(point.mean is not None for point in points):
        return None
    label = f"Score against length, {'all tasks' if task == ALL else task}; figures in the table of scores"
    wide, narrow = (drawn(curve_chart(points, systems, size), label) for size in (WIDE, NARROW))
    rest = len(results.systems) - len(systems)
    others = f" The other {words.several(rest, 'model')} are below." if rest else ""
    note = "Mean over tasks with its 95% interval; the dashed line is chance; hollow: without some task."
    return Figure("", wide, narrow, note + others)


def _curves(results: Results) -> tuple[Figure, ...]:
    """Small charts: one for each task and, of many models, one for each model with the others in grey."""
    made = []
    if len(results.systems) > TOGETHER:
        task = ALL if len(results.tasks) != 1 else results.tasks[0]
        points = [point for key, point in results.curve.items() if key[1] == task]
        for system in results.systems:
            if any(system_of(point) == system and point.mean is not None for point in points):
                chart = curve_chart(points, results.systems, SMALL, focus=system)
                made.append(Figure(system.name, drawn(chart, f"Score against length of {system.name}")))
    for task in results.tasks if len(results.tasks) > 1 else ():
        points = [point for key, point in results.curve.items() if key[1] == task]
        if any(point.mean is not None for point in points):
            chart = curve_chart(points, results.systems, SMALL)
            made.append(Figure(task, drawn(chart, f"Score against length on {task}")))
    return tuple(made)


def _positions(results: Results) -> tuple[Group, ...]:
    shown = pooled(results)
    own = by_system(shown)
    units = {str(n): (system, own[system]) for n, system in enumerate(results.systems) if system in own}
    draw = partial(_group, lengths=results.lengths, lines=lengths_of(shown))
    drawings = 2 * sum(map(len, own.values()))
    return tuple(run_units(units, draw, workers=cores(MOST_PROCESSES) if drawings >= MANY_DRAWINGS else 1))


def _group(
    one: tuple[System, Mapping[str, Sequence[PositionPoint]]], *, lengths: Sequence[int], lines: Sequence[int]
) -> Group:
    system, tasks = one
    return Group(system.name, (*_position_figures(system, tasks, lengths), *line_figures(system, tasks, lines)))


def _position_figures(
    system: System, tasks: Mapping[str, Sequence[PositionPoint]], lengths: Sequence[int]
) -> list[Figure]:
    return [
        Figure(
            "all tasks" if task == ALL else task,
            drawn(position_chart(points, lengths, TILE), f"Score of {system.name} by depth and length"),
            replies=replies_of(system, task),
        )
        for task, points in tasks.items()
    ]
