"""The section on repeats: runs of the same questions, best of n and pass at n."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from fathom.analysis import Repeats
from fathom.report import parts, words
from fathom.report.by_question import ByQuestion
from fathom.report.charts import LayerChart, Line, Numbers, Points, Size
from fathom.report.drawing import LINE, names_at_ends, percents, round_numbers, series_of, styles_of
from fathom.report.figure import Figure, drawn
from fathom.report.results import Results, System, system_of
from fathom.report.section import Chart, Section
from fathom.report.table import Cell, Column, Table, table_of
from fathom.report.tally import below_mean, mean_interval

RUNS = (
    "Mean score in percent over all questions, for each repeat (run). The standard error of the mean, in percentage "
    "points, has two parts: the variation between questions, and the variation between replies to the same question. "
    "The interval under the mean is over questions of this kind and includes both parts."
)
UNEVEN = "Uneven questions have fewer scored replies than most questions have repeats."
BEST = (
    "Best of n is the mean over questions of their best of n replies; pass at n is the share of questions for which at "
    "least one of n replies passes: it has the full score or, for a summary, more than its threshold. The first figure "
    "is the expected value for n replies drawn at random, with its 95% interval; the small figure is the value for the "
    "first n replies, as in the paper."
)
PUBLISHED_REPEATS = (
    "As published, in percent: means of single runs, the best of the first n replies to a question, and the share of "
    "questions for which one of the first n passes."
)
SPREAD = "The highest run minus the lowest, in percentage points"
ASKED_ONCE = "no question was asked more than once (`fathom run --epochs 3`)"
Field: TypeAlias = tuple[Column, Callable[[Repeats], Cell]]
TITLES = {"best_of": "Best of n: mean score over questions", "pass_at": "Pass at n: share of questions"}
MOST = 8
"""Most lines in a chart, unless the models are chosen by name."""
ROOM, NARROW_ROOM = 300, 200  # pixels for names next to the plot, and next to a narrow plot
STEP = 0.05  # the axis begins and ends at a multiple of this
WIDE, NARROW = Size(300, 280), Size(110, 260)


# Tables


def run_tables(repeats: Sequence[Repeats], systems: Sequence[System] = ()) -> list[Table]:
    """Runs and their errors, then best of n and pass at n, for the page and a terminal; no table without repeats.

    Args:
        repeats: Result of ``fathom.analysis.repeats``.
        systems: Models and variants in the order of their colours; others have no colour.
    """
    if not repeats:
        return []
    numbers = {tuple(system): number for number, system in enumerate(systems)}
    model: Field = (
        Column("Model", number=False),
        lambda result: Cell(system_of(result).name, series=numbers.get(system_of(result))),
    )
    return [_runs(repeats, model), _trends(repeats, model)]


def _runs(repeats: Sequence[Repeats], model: Field) -> Table:
    runs = range(max(len(result.run_means) for result in repeats))
    fields: list[Field] = [
        model,
        (
            Column("Questions"),
            lambda result: Cell(
                words.count(result.questions),
                below=(f"{result.uneven:,} uneven",) if result.uneven else (),
            ),
        ),
        (Column("Mean over questions"), _mean),
        *((Column(f"Run {run + 1}"), partial(_run, run=run)) for run in runs),
        (
            Column("Spread", help=SPREAD),
            lambda result: _spread([mean for mean in result.run_means if not math.isnan(mean)], least=2),
        ),
        (Column("Standard error"), lambda result: Cell(words.points(result.error))),
        (
            Column("from questions", help="Variation between questions of the same kind"),
            lambda result: Cell(words.points(result.error_questions)),
        ),
        (
            Column("from replies", help="Variation between replies to the same question"),
            lambda result: Cell(words.points(result.error_replies)),
        ),
    ]
    about = f"{RUNS} {UNEVEN}" if any(result.uneven for result in repeats) else RUNS
    return table_of("repeats", "Runs and errors", fields, repeats, about=about, denominator="scored")


def _mean(repeats: Repeats) -> Cell:
    note, below = words.sentence(repeats.note), below_mean(repeats)
    return Cell(words.percent(repeats.mean), words.bounds(repeats.interval), note, below=below)


def _run(repeats: Repeats, *, run: int) -> Cell:
    return Cell(words.percent(repeats.run_means[run])) if run < len(repeats.run_means) else Cell()


def _spread(means: Sequence[float], *, least: int = 1) -> Cell:
    """The highest of at least so many means minus the lowest."""
    return Cell(words.percent(max(means) - min(means))) if len(means) >= least else Cell()


def _trends(repeats: Sequence[Repeats], model: Field) -> Table:
    numbers = range(max(len(result.trend) for result in repeats))
    fields: list[Field] = [
        model,
        *((Column(f"Best of {n + 1}"), partial(_trend, n=n, measure="best_of")) for n in numbers),
        *((Column(f"Pass at {n + 1}"), partial(_trend, n=n, measure="pass_at")) for n in numbers),
    ]
    return table_of("repeats-best", "Best of n, pass at n", fields, repeats, about=BEST, denominator="scored")


def _trend(repeats: Repeats, *, n: int, measure: str) -> Cell:
    if n >= len(repeats.trend):
        return Cell()
    first, value, interval = (getattr(repeats.trend[n], f"{measure}{end}") for end in ("", "_unbiased", "_interval"))
    return Cell(words.percent(value), words.bounds(interval), below=(f"first: {words.percent(first)}",))


def _published(measured: ByQuestion) -> Table:
    means = {
        (score.model, score.variant, int(score.group)): score.score
        for score in measured.runs
        if score.group.isdecimal()
    }
    runs = sorted({run for *_, run in means})
    trends = {
        (score.model, score.variant, score.measure, score.n): score.score
        for score in measured.trends
        if (score.model, score.variant) in measured.published
    }
    numbers = sorted({n for *_, n in trends})
    columns = (
        Column("Model", number=False),
        *(Column(f"Run {run}") for run in runs),
        Column("Spread", help=SPREAD),
        *(Column(f"{name} {n}") for name in ("Best of", "Pass at") for n in numbers),
    )
    rows = tuple(
        (
            Cell(System(*system).name),
            *(Cell(words.percent(means.get((*system, run)))) for run in runs),
            _spread([means[*system, run] for run in runs if (*system, run) in means]),
            *(
                Cell(words.percent(trends.get((*system, measure, n))))
                for measure in ("best_of", "pass_at")
                for n in numbers
            ),
        )
        for system in measured.systems
        if system in measured.published
    )
    return Table(
        *("repeats-published", "", "Repeats as published", PUBLISHED_REPEATS, columns, rows), denominator="published"
    )


# Figures


def trend_chart(measured: ByQuestion, measure: str, size: Size, *, titled: bool = False) -> LayerChart | None:
    """Best of n or pass at n against n; None without repeats.

    Args:
        measured: What was measured over questions.
        measure: ``best_of`` or ``pass_at``.
        size: Plotting area in pixels; names are to its right.
        titled: Whether the chart has a title.

    Returns:
        A chart of the first n replies to each question; of many models those with the highest scores at the largest n.
    """
    lines = _trend_lines(measured, measure)
    if not lines:
        return None
    kept = lines if measured.chosen else dict(list(lines.items())[:MOST])
    values = [score for points in kept.values() for score in points.values()]
    low, high = math.floor(min(values) / STEP), min(round(1 / STEP), math.floor(max(values) / STEP) + 1)
    size = Size(size.width, max(size.height, LINE * len(kept)))
    names = [System(*system).name for system in kept]
    records = [
        {
            "system": System(*system).name,
            "n": n,
            "score": score,
            "says": f"{System(*system).name}, n = {n}: {words.percent(score)}%",
        }
        for system, points in kept.items()
        for n, score in sorted(points.items())
    ]
    most = max(record["n"] for record in records if isinstance(record["n"], int))
    ends = {System(*system).name: points[max(points)] for system, points in kept.items()}
    y = Numbers(low=low * STEP, high=high * STEP, ticks=percents(round_numbers(low * STEP, high * STEP, 6)), grid=True)
    limit = ROOM if size.width > NARROW_ROOM else NARROW_ROOM
    return LayerChart(
        layers=[
            Line(records=records, x="n", y="score"),
            Points(records=records, x="n", y="score"),
            names_at_ends(ends, ("n", most + 0.1), y, size, styles_of(names), limit=limit),
        ],
        size=size,
        x=Numbers(low=0.9, high=most + 0.1, ticks=[(n, str(n)) for n in range(1, most + 1)]),
        y=y,
        series=series_of(names, dashed=True),
        title=TITLES[measure] if titled else "",
        note=[note] if titled and (note := left_out(measured, measure)) else (),
    )


def left_out(measured: ByQuestion, measure: str) -> str:
    """Which models a chart leaves out; "" if none."""
    lines = _trend_lines(measured, measure)
    if measured.chosen or len(lines) <= MOST:
        return ""
    rest = len(lines) - MOST
    return f"The {MOST} models with the highest scores; {rest} left out (choose models with fathom plot --models)"


def _trend_lines(measured: ByQuestion, measure: str) -> dict[tuple[str, str], dict[int, float]]:
    """Scores by n of each system, in the order of their last points, or in the order they were chosen."""
    lines: dict[tuple[str, str], dict[int, float]] = {system: {} for system in measured.systems}
    for score in measured.trends:
        if score.measure == measure:
            lines.setdefault((score.model, score.variant), {})[score.n] = score.score
    several = {system: points for system, points in lines.items() if len(points) > 1}
    if measured.chosen:
        return several
    return dict(sorted(several.items(), key=lambda line: -line[1][max(line[1])]))


def _draw(results: Results, measure: str) -> list[LayerChart]:
    chart = trend_chart(results.by_question, measure, WIDE, titled=True)
    return [chart] if chart is not None else []


# The section


def _tables(results: Results) -> list[Table]:
    """Runs and their errors, best of n and pass at n, and published ones."""
    measured = results.by_question
    repeated = [_with_interval(results, result) for result in measured.repeats if result.runs > 1]
    tables = run_tables(repeated, results.systems)
    return [*tables, _published(measured)] if measured.runs else tables


def _with_interval(results: Results, repeats: Repeats) -> Repeats:
    """The same with the interval that the report has for this mean; the best of one reply is the mean, too."""
    interval = mean_interval(results, repeats)
    if interval is None or interval == repeats.interval:
        return repeats
    return replace(
        repeats,
        interval=interval,
        trend=tuple(replace(of, best_of_interval=interval) if of.n == 1 else of for of in repeats.trend),
    )


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    figures = []
    for measure, heading in TITLES.items() if tables else ():
        wide, narrow = (trend_chart(results.by_question, measure, size) for size in (WIDE, NARROW))
        if wide is not None and narrow is not None:
            note, label = left_out(results.by_question, measure), f"{heading}; figures in the table"
            figures.append(Figure(heading, drawn(wide, label), drawn(narrow, label), f"{note}." if note else ""))
    return [*([parts.Figures(figures, "pair")] if figures else []), *parts.table_parts(tables)]


def _finding(results: Results) -> str:
    spreads = [max(own.run_means) - min(own.run_means) for own in results.by_question.repeats if own.runs > 1]
    return f"Runs of one model differ by up to {words.percent(max(spreads))} points." if spreads else ""


SECTION = Section(
    name="repeats",
    title="Repeats",
    finding=_finding,
    tables=_tables,
    page=_page,
    charts=(
        Chart(kind="best-of-n", draw=lambda results: _draw(results, "best_of"), lacking=ASKED_ONCE),
        Chart(kind="pass-at-n", draw=lambda results: _draw(results, "pass_at"), lacking=ASKED_ONCE),
    ),
    studies={Repeats: run_tables},
)
