"""Whole prompts compared with truncated ones: how much of each task needs the full text (Ada-LEval, table 10)."""

from collections.abc import Iterable, Sequence

import altair as alt

from fathom.analysis import CurvePoint, Truncation
from fathom.report import words
from fathom.report.colours import heat_step
from fathom.report.curves import curve_chart
from fathom.report.drawing import Size
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.results import ALL, Results, System, system_of
from fathom.report.table import Cell, Column, Table

ABOUT = (
    "The same questions with their whole prompts and with prompts truncated in the middle; scores in percent with 95% "
    "intervals. The small figure under a score is the share of the full score that is kept. Points lost are the full "
    "score minus the score after truncation, in percentage points, paired by item, with the p-value. Tasks that "
    "lose most come first: they need most of the text."
)


def truncation_tables(found: Sequence[Truncation], systems: Sequence[System] = ()) -> list[Table]:
    """One table for each model and full length, with a row per task and a column per truncated length.

    Args:
        found: Result of ``fathom.analysis.truncation``.
        systems: Models in the order of the tables; by default the order of ``found``.
    """
    groups: dict[tuple[System, int], list[Truncation]] = {}
    for one in found:
        groups.setdefault((system_of(one), one.cut_from), []).append(one)
    order = list(systems) or list(dict.fromkeys(system for system, _ in groups))
    several = len({full for _, full in groups}) > 1
    keys = sorted((key for key in groups if key[0] in order), key=lambda key: (order.index(key[0]), key[1]))
    return [
        _table(groups[key], key[0].name + (f", from {words.tokens(key[1])}" if several else ""), number)
        for number, key in enumerate(keys, start=1)
    ]


def truncation_charts(
    found: Iterable[Truncation], systems: Sequence[System], size: Size, *, legend: int = 0, titled: bool = False
) -> list[tuple[str, alt.LayerChart]]:
    """Score against the length of prompts, truncated and whole, as headings and charts: one chart per task.

    Args:
        found: Result of ``fathom.analysis.truncation``.
        systems: All systems of the report, in the order of their colours.
        size: Plotting area in pixels.
        legend: See :func:`fathom.report.curves.curve_chart`.
        titled: Whether charts contain their headings.
    """
    groups: dict[tuple[str, int], list[Truncation]] = {}
    for one in found:
        if system_of(one) in systems:
            groups.setdefault((one.task, one.cut_from), []).append(one)
    charts = []
    for (task, full), cuts in sorted(groups.items(), key=lambda group: group[0][0] == ALL):
        heading = f"{'all tasks' if task == ALL else task}, from {words.tokens(full)}"
        chart = curve_chart(points_of(cuts), systems, size, legend=legend, title=heading if titled else "")
        charts.append((heading, chart))
    return charts


def truncation_figures(results: Results) -> tuple[Figure, ...]:
    """The charts for the page."""
    charts = truncation_charts(results.truncation, results.systems, SMALL)
    return tuple(Figure(heading, drawn(chart, f"Score of truncated prompts, {heading}")) for heading, chart in charts)


def points_of(cuts: Sequence[Truncation]) -> list[CurvePoint]:
    """Truncated prompts as points of a curve that ends at the full length."""
    points = []
    for system in dict.fromkeys(system_of(one) for one in cuts):
        own = sorted((one for one in cuts if system_of(one) == system), key=lambda one: one.length)
        whole = max(own, key=lambda one: (one.items, one.length))
        points += [_point(one, one.length, whole=False) for one in own]
        points.append(_point(whole, whole.cut_from, whole=True))
    return points


def _point(one: Truncation, length: int, *, whole: bool) -> CurvePoint:
    return CurvePoint(
        model=one.model,
        variant=one.variant,
        task=one.task,
        length=length,
        mean=one.full if whole else one.score,
        interval=one.full_interval if whole else one.interval,
        items=one.items,
        scored=one.items,
        chance=one.chance,
    )


def _table(found: Sequence[Truncation], title: str, number: int) -> Table:
    lengths = sorted({one.length for one in found})
    tasks: dict[str, dict[int, Truncation]] = {}
    for one in found:
        tasks.setdefault(one.task, {})[one.length] = one
    loss = {task: cuts[min(cuts)].difference for task, cuts in tasks.items()}
    ordered = sorted(tasks, key=lambda task: (task == ALL, -loss[task]))
    columns = (
        Column("Task", number=False),
        Column("Items"),
        *(Column(f"truncated to {words.tokens(length)}", group="Score") for length in lengths),
        Column("full", help=f"Over the whole prompt of {words.tokens(found[0].cut_from)}", group="Score"),
        *(Column(f"full − {words.tokens(length)}", group="Points lost") for length in lengths),
    )
    rows = tuple((Cell("all tasks" if task == ALL else task), *_cells(tasks[task], lengths)) for task in ordered)
    about = ABOUT if number == 1 else ""
    return Table(f"truncation-{number}", "truncation", title, about, columns, rows, denominator="shared")


def _cells(cuts: dict[int, Truncation], lengths: Sequence[int]) -> list[Cell]:
    found = [cuts.get(length) for length in lengths]
    whole = max(cuts.values(), key=lambda one: (one.items, one.length))
    return [
        Cell(words.count(whole.items)),
        *(_score(one) if one else Cell() for one in found),
        Cell(words.percent(whole.full), words.bounds(whole.full_interval), heat=heat_step(whole.full)),
        *(_cost(one) if one else Cell() for one in found),
    ]


def _score(one: Truncation) -> Cell:
    kept = f"keeps {100 * one.share:.0f}%" if one.share is not None else ""
    return Cell(
        words.percent(one.score),
        words.bounds(one.interval),
        heat=heat_step(one.score),
        below=(kept,) if kept else (),
    )


def _cost(one: Truncation) -> Cell:
    return Cell(
        words.change(one.difference),
        words.bounds(one.difference_interval, signed=True),
        below=(words.chance_of(one.p_value),),
    )
