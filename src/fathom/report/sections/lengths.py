"""The sections on lengths: score against length, LongScore, and effective context lengths."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from fathom.analysis import CurvePoint, Definition, EffectiveLength, LongScore, Steady
from fathom.analysis.effective import Reach
from fathom.analysis.steady import Estimate
from fathom.printing import printable
from fathom.report import parts, words
from fathom.report.charts import LayerChart, Size
from fathom.report.curves import AT_ENDS, BANDS, curve_chart
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.results import ALL, OfSystem, Results, System, grouped, system_of, task_title
from fathom.report.section import COLUMNS, PANEL, Chart, Section, legend_columns
from fathom.report.shares import CAPTION, share_chart
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import BOUNDS, CHANCE, SCORED, chance_cell, scored_cell

NAMED = 3
"""Models that the line on a section names."""


# ------------------------------------------------------------------- tables with a row for each model, or for each task


class OfTask(OfSystem, Protocol):
    """A value of a model on a task, such as a score."""

    @property
    def task(self) -> str:
        """Name of the task, or ``all``."""


Measured = TypeVar("Measured", bound=OfTask)


def filled(
    table: Table, results: Results, system: System | None, measured: Callable[[System, str], Sequence[Cell]]
) -> Table:
    """A table with a row for each model or, for one model, each task.

    Args:
        table: The table without rows, and with the columns between those of chance and of scored replies.
        results: What was measured.
        system: The one model; None for all.
        measured: Gives the cells of these columns, of a model on a task.
    """
    if system is None:
        lines = [(own, ALL, Cell(own.name, series=number)) for number, own in enumerate(results.systems)]
    else:
        lines = [(system, task, Cell(task)) for task in results.tasks]
        number = results.systems.index(system) + 1
        table = replace(table, name=f"{table.name}-{number}", title=system.name, about="", detail=True)
    return replace(
        table,
        columns=(Column("Task" if system else "Model", number=False), CHANCE, *table.columns, SCORED),
        rows=tuple(
            (heading, chance_cell(results, own, task), *measured(own, task), scored_cell(results, own, task))
            for own, task, heading in lines
        ),
    )


def study_tables(
    measured: Sequence[Measured],
    columns: Sequence[Column],
    cells: Callable[[Sequence[Measured]], list[Cell]],
    about: str,
) -> list[Table]:
    """The mean over tasks model by model, then each model task by task; one table for a single task.

    Args:
        measured: Results of a study.
        columns: Those after the first.
        cells: Makes the cells of the results of one model on one task.
        about: A sentence above the first table.
    """
    groups = grouped(measured, lambda result: (system_of(result), result.task))
    tasks = list(dict.fromkeys(task for _, task in groups))
    # With one task the mean over tasks is the same.
    overall = tasks[0] if len([task for task in tasks if task != ALL]) == 1 else ALL
    parts = [("all tasks" if overall == ALL else overall, "Model", [key for key in groups if key[1] == overall])]
    if overall == ALL:
        for system in dict.fromkeys(system for system, _ in groups):
            parts.append((system.name, "Task", [key for key in groups if key[0] == system and key[1] != ALL]))
    return [
        Table(
            name=f"study-{number}",
            section="",
            title=printable(title),
            about="" if number else about,
            columns=(Column(heading, number=False), *columns),
            rows=tuple(
                (Cell(system.name if heading == "Model" else printable(task)), *cells(groups[system, task]))
                for system, task in keys
            ),
            denominator="scored",
        )
        for number, (title, heading, keys) in enumerate(part for part in parts if part[2])
    ]


def with_undefined(parts: Sequence[str], undefined: int) -> str:
    """A sentence on models, and on how many of them have no such figure."""
    also = [f"undefined for {words.several(undefined, 'model')}"] if undefined else []
    return words.sentence(", ".join([*parts, *also]))


# ------------------------------------------------------------------------------------------------ score against length

ABOUT_CURVES = (
    "Mean score in percent against the length of the whole prompt in tokens, on a logarithmic scale. Bands are 95% "
    "intervals over items; the dashed line is chance. A hollow marker is a mean without some task."
)
WIDE, NARROW = Size(430, 170), Size(290, 210)
TOGETHER = 6
"""Models that share one chart."""


def first_figure(results: Results) -> Figure | None:
    """The one chart of the summary: the models with the highest ranks; None without a score."""
    task = results.with_mean[-1]
    systems = results.systems[:TOGETHER]
    points = [point for point in results.points(task) if system_of(point) in systems]
    if not any(point.mean is not None for point in points):
        return None
    label = f"Score against length, {task_title(task)}; figures in the table of scores"
    wide = drawn(curve_chart(points, systems, WIDE, legend=AT_ENDS), label)
    narrow = drawn(curve_chart(points, systems, NARROW), label)
    rest = len(results.systems) - len(systems)
    lines = {system_of(point) for point in points if point.mean is not None}
    banded = " with its 95% interval" if len(lines) <= BANDS else ""
    note = f"Mean over tasks{banded}; the dashed line is chance; hollow: without some task."
    others = f" {words.several(rest, 'more model')} {'is' if rest == 1 else 'are'} in the tables." if rest else ""
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


def _curve(results: Results) -> list[LayerChart]:
    points = [point for point in results.points(ALL) if point.mean is not None]
    legend, bases = legend_columns(results, 2), _given_bases(results, ALL)
    title = "Score against length, mean over tasks" if len(results.tasks) > 1 else "Score against length"
    chart = curve_chart(points, results.systems, Size(560, 300), legend=legend, title=title, bases=bases)
    return [chart] if points else []


def _task_curves(results: Results) -> list[LayerChart]:
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


def _length_shares(results: Results) -> list[LayerChart]:
    legend = legend_columns(results, COLUMNS)
    return [
        share_chart(results.points(task), results.systems, PANEL, title=task_title(task), legend=legend)
        for task in (results.tasks if results.by_cell else ())  # a table of scores does not say how many samples
        if any(point.mean is not None for point in results.points(task))
    ]


def _given_bases(results: Results, task: str) -> list[CurvePoint]:
    """Bases of one task that a table of scores gives without lengths; others are means of lengths that are drawn."""
    return [
        CurvePoint(score.model, score.variant, task, 0, score.base, score.base_interval, 0, 0, score.chance)
        for score in results.longscores(task)
        if score.base is not None and not score.base_lengths
    ]


def curve_tables(points: Sequence[CurvePoint]) -> list[Table]:
    """Score at each length, and chance."""
    lengths = sorted({point.length for point in points})

    def cells(own: Sequence[CurvePoint]) -> list[Cell]:
        at = {point.length: _score(point) for point in own}
        chance = Cell(words.span(point.chance for point in own))
        return [*(at.get(length, Cell()) for length in lengths), chance]

    columns = [*(Column(words.tokens(length)) for length in lengths), Column("Chance")]
    return study_tables(points, columns, cells, "Scores in percent, with 95% intervals.")


def _score(point: CurvePoint) -> Cell:
    note = f"Not measured: {point.gap}." if point.gap else ""
    if point.mean is None and point.bounds:
        return Cell(words.between(point.bounds), BOUNDS, f"Not measured: {point.gap}.")
    return Cell(words.percent(point.mean), words.bounds(point.interval), note)


def _curve_page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    figures = _figures(results)
    return [parts.key_of_models(results), parts.Figures(figures)] if figures else []


def _curve_finding(results: Results) -> str:
    tasks = len(results.tasks)
    return f"Charts of {words.several(tasks, 'task') if tasks > 1 else words.several(len(results.systems), 'model')}."


CURVES = Section(
    name="curves",
    title="Score against length by task",
    finding=_curve_finding,
    about=ABOUT_CURVES,
    page=_curve_page,
    charts=(
        Chart(kind="curve", draw=_curve),
        Chart(kind="task-curves", draw=_task_curves, heading="Score against length"),
        Chart(
            kind="length-shares",
            draw=_length_shares,
            heading="Score and share of the samples by length",
            caption=CAPTION,
            lacking="tables of scores do not say how many samples each length has",
        ),
    ),
    studies={CurvePoint: curve_tables},
)


# ----------------------------------------------------------------------------------------------------------- LongScore

ABOUT_LONGSCORE = (
    "Base is the mean score at 2k, 4k and 6k. LongScore is the relative change from it, (score − base) / base, at "
    "each longer length, and on average over the longer lengths that all models have. "
    "It is undefined if the base is not significantly above chance. “(bounds)”: replies are missing; from all of "
    "them wrong to all of them right."
)


def longscores(results: Results, system: System | None) -> Table:
    """LongScore per length: of all models over their tasks, or of one model task by task."""
    lengths = tuple(sorted({point.length for score in results.longscore.values() for point in score.points}))
    columns = (
        Column("Base", help="Mean score at 2k, 4k and 6k, percent"),
        Column("Mean", group="LongScore", help="Mean over the longer lengths that all models have, percent"),
        *(Column(words.tokens(length), group="LongScore", help="Percent") for length in lengths),
    )
    table = Table("longscore", "", "LongScore", ABOUT_LONGSCORE, columns, (), denominator="scored")
    return filled(
        table, results, system, lambda model, task: longscore_cells(results.longscore.get((model, task)), lengths)
    )


def longscore_cells(score: LongScore | None, lengths: Sequence[int]) -> list[Cell]:
    """Base, mean LongScore and LongScore at each of ``lengths``."""
    if score is None:
        return [Cell()] * (2 + len(lengths))
    note, why = words.sentence(score.note), words.sentence(score.undefined)
    base = Cell(words.percent(score.base), words.bounds(score.base_interval), note)
    if score.base is None and score.base_bounds:
        base = Cell(words.between(score.base_bounds), BOUNDS, note)
    mean = Cell(words.change(score.shared_average), words.bounds(score.shared_interval, signed=True))
    if score.average is None and score.bounds and (score.base is None or not score.undefined):
        mean = Cell(words.between(score.bounds, signed=True), BOUNDS, why or note)
    elif score.undefined:
        mean = Cell("undefined", note=why)
    known = {
        point.length: Cell(words.change(point.value), words.bounds(point.interval, signed=True))
        for point in score.points
        if point.value is not None
    }
    return [base, mean, *(known.get(length, Cell()) for length in lengths)]


def longscore_tables(scores: Sequence[LongScore]) -> list[Table]:
    """Base, mean LongScore over the lengths that all models have, and LongScore at each length."""
    lengths = sorted({point.length for score in scores for point in score.points})

    def cells(own: Sequence[LongScore]) -> list[Cell]:
        (score,) = own
        values = {point.length: point.value for point in score.points}
        mean = Cell(words.change(score.shared_average), words.whole_bounds(score.shared_interval, "+"))
        return [
            Cell(words.percent(score.base), words.whole_bounds(score.base_interval)),
            Cell("undefined") if score.undefined else mean,
            *(Cell(_rounded(values.get(length))) for length in lengths),
        ]

    columns = (Column("Base"), Column("LongScore"), *(Column(words.tokens(length)) for length in lengths))
    return study_tables(scores, columns, cells, "Percent, with 95% intervals.")


def _rounded(value: float | None) -> str:
    return words.ABSENT if value is None else words.minus(f"{100 * value:+.0f}")


def _longscore_tables(results: Results) -> list[Table]:
    if not results.systems:
        return []
    # Task by task, a model without any LongScore would fill a page with dashes.
    defined = {system for (system, _), score in results.longscore.items() if not score.undefined}
    several = [system for system in results.systems if system in defined and len(results.tasks) > 1]
    return [longscores(results, None), *(longscores(results, system) for system in several)]


def _longscore_finding(results: Results) -> str:
    scores = [(system, results.longscore.get((system, ALL))) for system in results.systems]
    known = [
        f"{words.change(score.shared_average)}{results.of_system(system)}"
        for system, score in scores
        if score and score.shared_average is not None
    ]
    return with_undefined(known[:NAMED], len(scores) - len(known))


LONGSCORE = Section(
    name="longscore",
    title="LongScore",
    finding=_longscore_finding,
    tables=_longscore_tables,
    studies={LongScore: longscore_tables},
)


# ------------------------------------------------------------------------------------------- effective context lengths

DEFINITIONS: Mapping[Definition, tuple[str, str]] = {
    "ruler": (
        "85.6 (RULER)",
        "The longest tested length up to which the score is 85.6% or more at all lengths, the threshold of the RULER "
        "benchmark: an absolute level, whatever the model scores at short lengths.",
    ),
    "own_base": (
        "85% of base",
        "The longest tested length up to which the model keeps 85% of its base score (the mean at 2k, 4k and 6k). "
        "Lengths shorter than the base cannot fail it.",
    ),
    "half_base": (
        "Half of base",
        "The length, from the base on, at which a smooth curve fitted to the scores falls to half of the model's own "
        "base.",
    ),
}
LENGTHS = tuple(Column(label, help=text, group="Effective length") for label, text in DEFINITIONS.values())
ABOUT_EFFECTIVE = (
    "The lengths in tokens up to which a model keeps a level of score, with 95% intervals. “≥”: the longest tested "
    "length still passes, so that the true length may be greater. “<”: the shortest length already fails. A length "
    "that was asked but has no score counts as a failure."
)


def _effective_table(results: Results, system: System | None) -> Table:
    """Effective context length by three definitions: of all models over their tasks, or of one model task by task."""
    table = Table("effective", "", "Effective context length", ABOUT_EFFECTIVE, LENGTHS, (), denominator="scored")
    return filled(table, results, system, lambda model, task: _effective_cells(results, model, task))


def _effective_cells(results: Results, system: System, task: str) -> list[Cell]:
    lengths = [results.effective.get((system, task, definition)) for definition in DEFINITIONS]
    return [effective_cell(results, length) if length is not None else Cell() for length in lengths]


def effective_cell(results: Results, length: EffectiveLength) -> Cell:
    """An effective length as text: "≥ 64k", "< 1k", "7.9k [6.8k, 9.1k]", or "undefined" with the reason."""
    shortest = (
        at
        for at in results.lengths
        if (point := results.curve.get((system_of(length), length.task, at))) is not None and point.mean is not None
    )
    return length_cell(length, next(shortest, results.lengths[0]))


def length_cell(length: EffectiveLength, first: int) -> Cell:
    """The same, of a model whose shortest length with a score is ``first``."""
    interval, note = words.token_bounds(length.interval), words.sentence(length.note)
    if length.censored == "below":
        return Cell(f"< {words.tokens(first)}", interval, note)
    if length.tokens is None or math.isnan(length.tokens):
        return Cell("undefined", note=note)
    sign = "≥ " if length.censored == "above" else ""
    return Cell(f"{sign}{words.tokens(length.tokens)}", interval, note)


def length_tables(lengths: Sequence[EffectiveLength]) -> list[Table]:
    """Effective length under each definition."""
    about = "Effective context length in tokens, with 95% intervals."
    return study_tables(lengths, LENGTHS, lambda own: [_reach(length) for length in own], about)


def retention_tables(retained: Sequence[Steady]) -> list[Table]:
    """Base in percent; retention, log-ratio and area as ratios; L85 and L50 in tokens."""

    def cells(results: Sequence[Steady]) -> list[Cell]:
        (own,) = results
        return [
            Cell(words.percent(own.base.value), words.whole_bounds(own.base.interval)) if own.base else Cell(),
            *(_ratio(ratio, sign) for ratio, sign in ((own.retention, ""), (own.log_ratio, "+"), (own.area, ""))),
            *map(_reach, (own.l85, own.l50)),
        ]

    names = ("Base", "Retention", "Log-ratio", "Area", "L85", "L50")
    about = "Base in percent, L85 and L50 in tokens, the others are ratios; with 95% intervals."
    return study_tables(retained, list(map(Column, names)), cells, about)


def _ratio(ratio: Estimate | None, sign: str) -> Cell:
    if ratio is None:
        return Cell("undefined")
    interval = f"[{ratio.interval.low:{sign}z.2f}, {ratio.interval.high:{sign}z.2f}]"
    return Cell(words.minus(f"{ratio.value:{sign}z.2f}"), words.minus(interval))


def _reach(reach: Reach | EffectiveLength | None) -> Cell:
    """A length with its interval."""
    if reach is None or reach.interval is None:
        return Cell("undefined")
    text = "< shortest" if reach.tokens is None else words.tokens(reach.tokens)
    return Cell(f"≥ {text}" if reach.censored == "above" else text, words.token_bounds(reach.interval))


def _effective_tables(results: Results) -> list[Table]:
    if not results.systems:
        return []
    several = results.systems if len(results.tasks) > 1 else ()
    return [_effective_table(results, None), *(_effective_table(results, system) for system in several)]


def _effective_page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    return [parts.Definitions(list(DEFINITIONS.values()), small=True), *parts.table_parts(tables)] if tables else []


def _effective_finding(results: Results) -> str:
    lengths = {system: results.effective.get((system, ALL, "own_base")) for system in results.systems}
    cells = {system: effective_cell(results, length).text for system, length in lengths.items() if length is not None}
    known = [f"{text}{results.of_system(system)}" for system, text in cells.items() if text != "undefined"]
    kept = [f"keeps 85% of the base score up to {', '.join(known[:NAMED])}"] if known else []
    return with_undefined(kept, len(results.systems) - len(known))


EFFECTIVE = Section(
    name="effective",
    title="Effective context length",
    finding=_effective_finding,
    tables=_effective_tables,
    page=_effective_page,
    studies={EffectiveLength: length_tables, Steady: retention_tables},
)
