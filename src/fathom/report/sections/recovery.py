"""The section on recovery: what a model can do with the evidence alone, and what of it is left in a long context."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from fathom.analysis import KINDS, CurvePoint, DepthRecovery, Recovery, recovery
from fathom.analysis.recovery import LEAST, UNDEFINED
from fathom.analysis.steady import Estimate
from fathom.printing import printable
from fathom.report import parts, words
from fathom.report.charts import LayerChart, Numbers, Series, Size, Style
from fathom.report.colours import NAMES, heat_step
from fathom.report.curves import curve_chart
from fathom.report.drawing import interval_lines, percents, round_numbers
from fathom.report.heatmaps import depth_name
from fathom.report.results import ALL, Measurement, Results, System, grouped, system_of, task_title
from fathom.report.section import Chart, Panels, Section
from fathom.report.sections.position import length_styles
from fathom.report.table import Cell, Column, Fields, Table, table_of

ABOUT = (
    "The same questions with their whole context, with their evidence alone, without context, and with their evidence "
    "among neutral text of the same length. Recovered is (whole − without) / (evidence − without): 100% for a reader "
    "that loses nothing in a long context. Points that are missing from a perfect score are split: those missing with "
    "the evidence alone (reasoning, or the form of the answer), those lost to length (evidence alone − among neutral "
    "text), and those lost to finding (among neutral text − whole context). Scores in percent with 95% intervals, "
    "paired."
)
ABOUT_KINDS = (
    "What became of the questions, in percent: answered without context; read; not found (right with the evidence "
    "alone, wrong in the whole context); not understood (wrong in both); right in the whole context only."
)
ABOUT_DEPTH = (
    "By depth of the evidence, 0% for the start of the context: the score with the whole context, the points lost to "
    f"it (evidence alone − whole context, of the same questions), and what is recovered, of {LEAST} items and more. "
    "In percent, with 95% intervals."
)
ABOUT_STEPS = "What each checkpoint of a training recovers at each length, in percent, with 95% intervals."
FIGURES_DEPTH = "Recovered, in percent, against the depth of the evidence: 0% is the start of the context."
FIGURES_STEP = "Recovered, in percent, against the step of the training."
DRAWN = -0.5, 1.5
"""Recovery and intervals beyond are drawn there: of few questions they are very wide."""
FIGURES = "Score in percent against length. What lies between two lines is lost to what they differ in."
CONTEXTS: tuple[tuple[str, Callable[[Recovery], Estimate | None]], ...] = (
    ("evidence alone", lambda result: result.alone),
    ("among neutral text", lambda result: result.padded),
    ("whole context", lambda result: result.full),
    ("without context", lambda result: result.none),
)
"""The ways in which questions are asked, with their scores."""
RECOVERY = Measurement("recovery", lambda rows, _: recovery(rows.replies, unanswered=rows.unanswered, seed=rows.seed))


# Tables


def _score(part: Estimate | None) -> Cell:
    if part is None:
        return Cell(note="No reply over neutral text (fathom build --padded)")
    return Cell(words.percent(part.value), words.bounds(part.interval), heat=heat_step(part.value))


def _points(part: Estimate | None) -> Cell:
    if part is None:
        return Cell()
    return Cell(words.change(part.value), words.bounds(part.interval, signed=True))


def _recovered(result: Recovery | DepthRecovery) -> Cell:
    if result.recovery is None:
        return Cell(note=f"{UNDEFINED.capitalize()}{'' if isinstance(result, Recovery) else ', or of too few items'}")
    doubt = result.doubt if isinstance(result, Recovery) else ""
    note = f"{doubt.capitalize()}: this share says little about reading" if doubt else ""
    return Cell(words.percent(result.recovery.value), words.bounds(result.recovery.interval), note=note)


def _share(result: Recovery, *, kind: str) -> Cell:
    return Cell(words.percent(result.shares[kind]))


NAMED: Fields[Recovery] = (
    (Column("Task", number=False), lambda result: Cell(task_title(result.task))),
    (Column("Length"), lambda result: Cell(words.tokens(result.length))),
    (Column("Questions"), lambda result: Cell(words.count(result.questions))),
)
FIELDS: Fields[Recovery] = (
    *NAMED,
    (Column("without", group="Score"), lambda result: _score(result.none)),
    (Column("evidence", group="Score", help="With the evidence alone"), lambda result: _score(result.alone)),
    (Column("neutral", group="Score", help="Evidence among neutral text"), lambda result: _score(result.padded)),
    (Column("whole", group="Score", help="With the whole context"), lambda result: _score(result.full)),
    (Column("Recovered", help="(whole − without) / (evidence − without), percent"), _recovered),
    (Column("reasoning", group="Points missing"), lambda result: _points(result.reasoning)),
    (Column("length", group="Points missing"), lambda result: _points(result.by_length)),
    (
        Column("finding", group="Points missing", help="Without neutral text: length and finding together"),
        lambda result: _points(result.finding),
    ),
)
SEARCHING: Fields[Recovery] = (
    *FIELDS,
    (
        Column("searching", help="Whole context with the passage named in the question − without its name"),
        lambda result: _points(result.searching),
    ),
)
SHARES: Fields[Recovery] = (
    *NAMED,
    *((Column(kind.capitalize()), partial(_share, kind=kind)) for kind in KINDS),
)


DEPTH: Fields[tuple[Recovery, DepthRecovery]] = (
    (Column("Task", number=False), lambda pair: Cell(task_title(pair[0].task))),
    (Column("Length"), lambda pair: Cell(words.tokens(pair[0].length))),
    (Column("Depth"), lambda pair: Cell(depth_name(pair[1]))),
    (Column("Questions"), lambda pair: Cell(words.count(pair[1].questions))),
    (Column("whole", group="Score"), lambda pair: _score(pair[1].full)),
    (Column("Points lost", help="Evidence alone − whole context"), lambda pair: _points(pair[1].lost)),
    (Column("Recovered", help="Of the questions whose evidence is there"), lambda pair: _recovered(pair[1])),
)


def trainings(results: Iterable[Recovery]) -> dict[str, list[Recovery]]:
    """The checkpoints of each training that has several, by its name, in the order of their steps.

    Runs with a step belong to one training, unless they have different labels, or a step occurs twice: then the names
    of their models without the step tell them apart.
    """
    named: dict[str, list[Recovery]] = {}
    stepped = [result for result in results if result.step is not None]
    for label, own in grouped(stepped, lambda result: _without_step(result.variant, result)).items():
        models = grouped(own, lambda result: _without_step(result.model, result))
        repeated = len({system_of(result) for result in own}) > len({result.step for result in own})
        parts_of = models if repeated or len(models) == 1 else {"": own}
        for model, part in parts_of.items():
            title = ", ".join(filter(None, (label, model))) or "Checkpoints"
            named[title] = sorted(part, key=lambda result: result.step or 0)
    return {title: own for title, own in named.items() if len({result.step for result in own}) > 1}


def _without_step(name: str, result: Recovery) -> str:
    """A model, or the parts of a variant, without the step."""
    parts = [part for part in name.split(", ") if part != f"step {result.step}"]
    return printable(re.sub(rf"(?<!\d){result.step}(?!\d)", "*", ", ".join(parts)))


def _step_table(training: str, own: Sequence[Recovery], number: int) -> Table:
    """A row for each step: what is recovered at each length, of the mean over tasks."""
    own = _means(own)
    cells = {(result.step, result.length): _recovered(result) for result in own}
    lengths = sorted({length for _, length in cells})
    columns = (Column("Step"), *(Column(words.tokens(length), group="Recovered") for length in lengths))
    rows = tuple(
        (Cell(f"{step:,}"), *(cells.get((step, length), Cell()) for length in lengths))
        for step in dict.fromkeys(result.step for result in own)
    )
    about = ABOUT_STEPS if number == 1 else ""
    title = f"{training}: {task_title(own[0].task)} by step"
    return Table(f"recovery-steps-{number}", "", title, about, columns, rows, denominator="shared")


def recovery_tables(results: Sequence[Recovery], systems: Sequence[System] = ()) -> list[Table]:
    """A table for each training with several steps; for each model scores, kinds of questions, and depths if they vary.

    Args:
        results: Results of ``fathom.analysis.recovery``.
        systems: Models in the order of the tables; by default their own.
    """
    groups = grouped(results, system_of)
    steps = enumerate(trainings(results).items(), start=1)
    made: list[Table] = [_step_table(name, own, number) for number, (name, own) in steps]
    for number, system in enumerate((system for system in systems or groups if system in groups), start=1):
        own, first = groups[system], number == 1
        fields = SEARCHING if any(result.searching for result in own) else FIELDS
        means = [place for place, result in enumerate(own) if result.task == ALL]
        made += [
            table_of(
                f"recovery-{number}", system.name, fields, own, about=ABOUT if first else "", denominator="shared"
            ),
            table_of(
                f"recovery-kinds-{number}",
                f"{system.name}: questions",
                SHARES,
                own,
                about=ABOUT_KINDS if first else "",
                denominator="shared",
                notable=means,
            ),
        ]
        if parts_of := [(result, part) for result in own for part in result.depths]:
            made.append(
                table_of(
                    f"recovery-depth-{number}",
                    f"{system.name}: depth of the evidence",
                    DEPTH,
                    parts_of,
                    about=ABOUT_DEPTH if first else "",
                    denominator="shared",
                )
            )
    return made


# Figures


def _charts(results: Results, size: Size, legend: int, titled: bool) -> list[tuple[str, LayerChart]]:
    """Score against length in each context: one chart per model."""
    charts = []
    for system, own in _of_means(results).items():
        points = [
            CurvePoint(
                name,
                "",
                result.task,
                result.length,
                part.value,
                part.interval,
                result.questions,
                result.questions,
                None,
            )
            for name, context in CONTEXTS
            for result in own
            if (part := context(result))
        ]
        heading = f"{system.name}, {task_title(own[0].task)}"
        named = [System(name, "") for name, _ in CONTEXTS]
        charts.append((heading, curve_chart(points, named, size, legend=legend, title=heading if titled else "")))
    return charts


def _of_means(results: Results) -> dict[System, list[Recovery]]:
    """The means over tasks of each model, or those of its first task if it has one or none that all lengths have."""
    groups = grouped(results[RECOVERY], system_of)
    return {system: _means(groups[system]) for system in results.systems if system in groups}


def _means(own: Sequence[Recovery]) -> list[Recovery]:
    task = ALL if any(result.task == ALL for result in own) else own[0].task
    return [result for result in own if result.task == task]


def _depth_charts(results: Results, size: Size, legend: int, titled: bool) -> list[tuple[str, LayerChart]]:
    """Recovery against the depth of the evidence, a line for each length: one chart per model."""
    charts = []
    for system, own in _of_means(results).items():
        points = [
            ((part.depth_low + part.depth_high) / 2, result.length, part.recovery)
            for result in own
            for part in result.depths
            if part.recovery
        ]
        heading = f"{system.name}, {task_title(own[0].task)}"
        if points:
            ticks = percents((0, 0.25, 0.5, 0.75, 1))
            axis = Numbers(low=-0.04, high=1.04, ticks=ticks, marks=True, title="Depth of the evidence")
            charts.append((heading, recovery_lines(points, axis, size, legend, heading if titled else "")))
    return charts


def _step_charts(results: Results, size: Size, legend: int, titled: bool) -> list[tuple[str, LayerChart]]:
    """Recovery against the step of the training, a line for each length: one chart per training."""
    charts = []
    for training, own in trainings(results[RECOVERY]).items():
        points = [(result.step or 0, result.length, result.recovery) for result in _means(own) if result.recovery]
        if points:
            last = max(step for step, _, _ in points)
            ticks = [(number, f"{number:,.6g}") for number in round_numbers(0, last, 4)]
            axis = Numbers(low=-0.04 * last, high=1.04 * last, ticks=ticks, marks=True, title="Step")
            charts.append((training, recovery_lines(points, axis, size, legend, training if titled else "")))
    return charts


def recovery_lines(
    points: Iterable[tuple[float, int, Estimate]], axis: Numbers, size: Size, legend: int, title: str
) -> LayerChart:
    """Recovery with intervals, one line for each length.

    Args:
        points: Place on the horizontal axis, length in tokens, and recovery.
        axis: The horizontal axis.
        size: Plotting area in pixels.
        legend: Columns of the legend, 0 for none.
        title: A heading, "" for none.
    """
    points = sorted(points, key=lambda point: point[:2])
    lowest, highest = DRAWN
    records: list[dict[str, Any]] = [
        {
            "length": words.tokens(length),
            "at": at,
            "mean": min(max(part.value, lowest), highest),
            "low": max(part.interval.low, lowest),
            "high": min(part.interval.high, highest),
            "says": f"{words.tokens(length)}: {words.scored(part.value, part.interval)}",
        }
        for at, length, part in points
    ]
    styles = {
        words.tokens(length): Style(NAMES[colour], colour, (1, 0), shape)
        for length, colour, shape in length_styles(sorted({length for _, length, _ in points}))
    }
    low, high = min(0.0, *(record["low"] for record in records)), max(1.0, *(record["high"] for record in records))
    return LayerChart(
        layers=interval_lines(records),
        size=size,
        x=axis,
        y=Numbers(low=low, high=high, ticks=percents(round_numbers(low, high, 4)), grid=True, title="Recovered"),
        series=Series(field="length", styles=styles, columns=legend, title="Length in tokens"),
        title=title,
    )


PANELS = Panels(charts=_charts, label="Score by context", text=FIGURES)
DEPTHS = Panels(charts=_depth_charts, label="Recovery by depth of the evidence", text=FIGURES_DEPTH)
STEPS = Panels(charts=_step_charts, label="Recovery by step", text=FIGURES_STEP)


# The section


def _finding(results: Results) -> str:
    """Where most is lost, of the model and the length that lose most."""
    known = [result for result in results[RECOVERY] if result.recovery]
    if not known:
        return ""
    longest = [result for result in known if result.task == ALL] or known
    least = min(longest, key=lambda result: result.recovery.value if result.recovery else 1.0)
    assert least.recovery is not None
    return (
        f"Least recovered: {words.percent(least.recovery.value)}% of the score with the evidence alone, at "
        f"{words.tokens(least.length)}{results.of_system(system_of(least))}{_cause(least)}."
    )


def _cause(result: Recovery) -> str:
    """Where most points are lost; "" if the largest loss is not clear."""
    finding = "finding the evidence" if result.by_length else "length and finding the evidence"
    losses = {"reasoning": result.reasoning, "length": result.by_length, finding: result.finding}
    known = {name: part for name, part in losses.items() if part}
    most = max(known, key=lambda name: known[name].value)
    return f"; most points are lost to {most}" if known[most].interval.low > 0 else ""


SECTION = Section(
    name="recovery",
    title="Reading, reasoning, knowing",
    finding=_finding,
    tables=lambda results: recovery_tables(results[RECOVERY], results.systems),
    page=lambda results, tables: [
        *STEPS.page(results),
        *PANELS.page(results),
        *DEPTHS.page(results),
        *parts.table_parts(tables),
    ],
    measurements=(RECOVERY,),
    charts=(
        Chart(
            kind="recovery",
            draw=PANELS.draw,
            heading="Score against length, by what the question is asked with",
            caption="Bands are 95% intervals",
            lacking="no question of these rows was asked with its evidence alone (`fathom build --alone`)",
        ),
        Chart(
            kind="recovery-depth",
            draw=DEPTHS.draw,
            heading="Recovery against the depth of the evidence",
            caption="Lines are 95% intervals",
            lacking="no question with its evidence alone has evidence at several depths, or none is recovered",
        ),
        Chart(
            kind="recovery-steps",
            draw=STEPS.draw,
            heading="Recovery against the step of the training",
            caption="Lines are 95% intervals",
            lacking="no two runs of a training were given `--step`, or nothing is recovered",
        ),
    ),
    studies={Recovery: recovery_tables},
)
