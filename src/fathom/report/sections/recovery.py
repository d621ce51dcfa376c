"""The section on recovery: what a model can do with the evidence alone, and what of it is left in a long context."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from fathom.analysis import KINDS, CurvePoint, Recovery, recovery
from fathom.analysis.steady import Estimate
from fathom.report import parts, words
from fathom.report.charts import LayerChart, Size
from fathom.report.colours import heat_step
from fathom.report.curves import curve_chart
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.results import ALL, Measurement, Results, System, grouped, system_of, task_title
from fathom.report.section import COLUMNS, PANEL, Chart, Section
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


def _recovered(result: Recovery) -> Cell:
    if result.recovery is None:
        return Cell(note=result.reason.capitalize())
    return Cell(words.percent(result.recovery.value), words.bounds(result.recovery.interval))


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
SHARES: Fields[Recovery] = (
    *NAMED,
    *((Column(kind.capitalize()), partial(_share, kind=kind)) for kind in KINDS),
)


def recovery_tables(results: Sequence[Recovery], systems: Sequence[System] = ()) -> list[Table]:
    """Two tables for each model: scores, and kinds of questions.

    Args:
        results: Results of ``fathom.analysis.recovery``.
        systems: Models in the order of the tables; by default their own.
    """
    groups = grouped(results, system_of)
    made: list[Table] = []
    for number, system in enumerate((system for system in systems or groups if system in groups), start=1):
        own, first = groups[system], number == 1
        means = [place for place, result in enumerate(own) if result.task == ALL]
        made += [
            table_of(
                f"recovery-{number}", system.name, FIELDS, own, about=ABOUT if first else "", denominator="shared"
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
    return made


# Figures


def _charts(
    recoveries: Iterable[Recovery], systems: Sequence[System], size: Size, *, legend: int = 0, titled: bool = False
) -> list[tuple[str, LayerChart]]:
    """Score against length in each context, as headings and charts: one chart per model."""
    charts = []
    groups = grouped(recoveries, system_of)
    for system in (system for system in systems if system in groups):
        own = groups[system]
        task = ALL if any(result.task == ALL for result in own) else own[0].task
        chosen = [result for result in own if result.task == task]
        points = [
            CurvePoint(
                name, "", task, result.length, part.value, part.interval, result.questions, result.questions, None
            )
            for name, context in CONTEXTS
            for result in chosen
            if (part := context(result))
        ]
        heading = f"{system.name}, {task_title(task)}"
        named = [System(name, "") for name, _ in CONTEXTS]
        chart = curve_chart(points, named, size, legend=legend, title=heading if titled else "")
        charts.append((heading, chart))
    return charts


def _draw(results: Results) -> list[LayerChart]:
    charts = _charts(results[RECOVERY], results.systems, PANEL, legend=COLUMNS, titled=True)
    return [chart for _, chart in charts]


# The section


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    charts = _charts(results[RECOVERY], results.systems, SMALL, legend=2)
    figures = [Figure(heading, drawn(chart, f"Score by context, {heading}")) for heading, chart in charts]
    shown: list[parts.PagePart] = [parts.Figures(figures), parts.Text(FIGURES)] if figures else []
    return [*shown, *parts.table_parts(tables)]


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
    page=_page,
    measurements=(RECOVERY,),
    charts=(
        Chart(
            kind="recovery",
            draw=_draw,
            heading="Score against length, by what the question is asked with",
            caption="Bands are 95% intervals",
            lacking="no question of these rows was asked with its evidence alone (`fathom build --alone`)",
        ),
    ),
    studies={Recovery: recovery_tables},
)
