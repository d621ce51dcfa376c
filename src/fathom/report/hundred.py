"""The figures of the 100-LongBench paper, for rows of its suite."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from fathom.analysis import AverageScore, LongScore, comparable
from fathom.report import words
from fathom.report.colours import ABILITY, INK, MUTED, PAPER, ability_step
from fathom.report.drawing import SHAPES, Size, axis_of, chart_of_records, layered, legend_of, length_axis, style
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.heatmaps import ANOMALOUS, is_anomalous, longscore_map
from fathom.report.results import ALL, Results, System, system_of

SUITES = frozenset({"hundred", "hundred_domains"})
TASKS = frozenset(
    {
        *("kv_retrieval", "counting_stars", "passage_retrieval", "passage_count"),
        *("single_doc_qa", "multi_doc_qa", "single_doc_summary", "multi_doc_summary"),
    }
)
LINE = 24  # pixels for a model in a heat map
ROW = 13  # pixels for each model within a task
GAP = 14  # pixels between tasks
STEP = 0.25  # between grid lines
HIGHEST = 1.0  # ratios to a small base may be far above this: they are drawn here, with their value


@dataclass(frozen=True, slots=True)
class View:
    """The figures of the paper.

    Attributes:
        key: Models from the strongest base ability to the weakest: name, colour in ``colours.NAMES`` and marker.
        tasks: Average score per task (figure 5).
        lines: LongScore against length, task by task (figure 7).
        maps: LongScore by model and length, task by task (figure 8).
    """

    key: tuple[tuple[str, str, str], ...]
    tasks: Figure
    lines: tuple[Figure, ...]
    maps: tuple[Figure, ...]


def is_hundred(results: Results) -> bool:
    """Whether the results are of a suite of 100-LongBench, or of all its tasks under another name."""
    return len(results.tasks) > 1 and (not SUITES.isdisjoint(results.suites) or TASKS.issubset(results.tasks))


def view(results: Results) -> View | None:
    """The figures; None for other suites, or if no task has a score beyond the base lengths."""
    by_task = {task: _scores(results, task) for task in (*results.tasks, ALL)}
    by_task = {task: scores for task, scores in by_task.items() if any(one.points for one in scores)}
    if not is_hundred(results) or not by_task:
        return None
    steps, span = abilities(results), span_of(one for scores in by_task.values() for one in scores)
    lengths = sorted({point.length for scores in by_task.values() for one in scores for point in one.points})
    ranked = sorted(enumerate(results.systems), key=lambda pair: -steps[pair[1]])
    lines, maps = [], []
    for task, scores in by_task.items():
        title = "all tasks" if task == ALL else task
        lacking = without_score(scores)
        note = f"Undefined for {', '.join(lacking)}: see the table of LongScore." if lacking else ""
        chart = longscore_lines(scores, results.systems, steps, span, SMALL)
        lines.append(Figure(title, drawn(chart, f"LongScore against length on {title}"), note=note))
        size = Size(SMALL.width, LINE * len(results.systems))
        chart = longscore_map(scores, results.systems, lengths, size, widest=130)
        grey = f"{ANOMALOUS}." if any(is_anomalous(one) for one in scores) else ""
        maps.append(Figure(title, drawn(chart, f"LongScore by model and length on {title}"), note=grey))
    return View(
        key=tuple((system.name, f"ability-{steps[system]}", shape_of(number)) for number, system in ranked),
        tasks=_tasks(results),
        lines=tuple(lines),
        maps=tuple(maps),
    )


def _scores(results: Results, task: str) -> list[LongScore]:
    return [one for (_, name), one in results.longscore.items() if name == task]


def _tasks(results: Results) -> Figure:
    tasks = (*results.tasks, ALL)
    names = [*results.tasks, "all tasks"]
    height = height_of(len(results.systems), len(tasks))
    wide, narrow = (
        drawn(
            task_dots(results.average.values(), results.systems, tasks, Size(width, height), names=names),
            "Average score per task; figures in the table of scores",
        )
        for width in (680, 180)
    )
    return Figure("", wide, narrow)


def height_of(systems: int, tasks: int) -> int:
    """Height in pixels of a chart of this many models and tasks."""
    return tasks * (systems * ROW + GAP)


def task_dots(
    averages: Iterable[AverageScore],
    systems: Sequence[System],
    tasks: Sequence[str],
    size: Size,
    *,
    names: Sequence[str] | None = None,
    legend: int = 0,
    title: str = "",
) -> alt.LayerChart:
    """Average score per task with its interval, and a tick at the chance level.

    Args:
        averages: Average scores; those of other tasks, and those without a mean, are left out.
        systems: All systems of the report, in the order of their colours.
        tasks: Tasks from top to bottom.
        size: Plotting area in pixels, see :func:`height_of`.
        names: Names of the tasks in the chart; their own names by default.
        legend: Columns of the chart's legend; 0 for no legend.
        title: A heading, "" for none.

    Returns:
        A chart; hollow markers are averages over other lengths than most, which must not be compared with them.
    """
    called = dict(zip(tasks, names or tasks, strict=True))
    averages = [one for one in averages if one.task in called and one.mean is not None]
    alike = [one for task in tasks for one in comparable(one for one in averages if one.task == task)]
    records = [
        {
            "task": called[one.task],
            "system": system_of(one).name,
            "mean": one.mean,
            "low": one.interval.low if one.interval else one.mean,
            "high": one.interval.high if one.interval else one.mean,
            "chance": one.chance,
            "alike": one in alike,
        }
        for one in averages
    ]
    styles = [style(number) for number in range(len(systems))]
    domain = [system.name for system in systems]
    key = legend_of(legend, size)
    if key is not None:
        key["symbolStrokeWidth"] = 1.5
    own = alt.Scale(domain=domain, range=[one.colour.light for one in styles])
    stroke = alt.Stroke("system:N", scale=own, legend=key)
    solid = {record["system"] for record in records if record["alike"]}
    fills = [one.colour.light if name in solid else PAPER.light for name, one in zip(domain, styles, strict=True)]
    fill = alt.Fill("system:N", scale=alt.Scale(domain=domain, range=fills), legend=key)
    shape = alt.Shape("system:N", scale=alt.Scale(domain=domain, range=[one.shape for one in styles]), legend=key)
    x = alt.X(
        "mean:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=axis_of(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=True),
    )
    y = alt.Y(
        "task:N",
        scale=alt.Scale(domain=list(called.values()), padding=0),
        axis=axis_of(grid=True, tickBand="extent", labelLimit=220, labelFontSize=12),
    )
    within = alt.YOffset("system:N", scale=alt.Scale(domain=domain, paddingOuter=GAP / ROW / 2))
    chart = chart_of_records(records)
    spread = {"x": alt.X("low:Q"), "x2": alt.X2("high:Q"), "y": y, "yOffset": within, "stroke": stroke}
    guessing = chart_of_records([record for record in records if record["chance"]])
    ticks = guessing.mark_tick(color=MUTED.light, thickness=1.2, size=ROW - 3)
    layers = [
        ticks.encode(x=alt.X("chance:Q"), y=y, yOffset=within),
        chart.mark_rule(strokeWidth=1.5).encode(**spread),
    ]
    # Separate stroke and fill, so that the legend's markers are hollow if all markers of a model are.
    for same, inside in ((True, fill), (False, alt.value(PAPER.light))):
        if found := [record for record in records if record["alike"] is same]:
            marks = chart_of_records(found).mark_point(size=46, opacity=1, strokeWidth=1.5)
            layers.append(marks.encode(x=x, y=y, yOffset=within, stroke=stroke, fill=inside, shape=shape))
    other = "Hollow: an average over other lengths, which must not be compared with the rest"
    return layered(layers, size, title, "" if all(record["alike"] for record in records) else other)


def abilities(results: Results) -> dict[System, int]:
    """The step of ``colours.ABILITY`` of every system, by its base over all tasks; the lowest if it has no base."""
    bases = {system: _base(results.longscore.get((system, ALL))) for system in results.systems}
    order = sorted(bases, key=lambda system: bases[system])
    return {system: ability_step(rank, len(order)) for rank, system in enumerate(order)}


def _base(one: LongScore | None) -> float:
    return one.base if one is not None and one.base is not None else -1.0


def shape_of(number: int) -> str:
    """The marker of the system with this number, from 0."""
    return SHAPES[number % len(SHAPES)]


def span_of(scores: Iterable[LongScore]) -> tuple[float, float]:
    """Ends of the axis of LongScore that small multiples share, as fractions."""
    values = [point.value for one in scores for point in one.points if point.value is not None]
    low = math.floor(min(values, default=0.0) / STEP) * STEP
    high = math.ceil(max(values, default=0.0) / STEP) * STEP
    return max(-1.0, min(low, -STEP)), max(high, STEP) if high <= HIGHEST else HIGHEST + STEP


def without_score(scores: Iterable[LongScore]) -> list[str]:
    """Names of the systems that have no LongScore."""
    return [system_of(one).name for one in scores if all(point.value is None for point in one.points)]


def longscore_lines(
    scores: Iterable[LongScore],
    systems: Sequence[System],
    steps: Mapping[System, int],
    span: tuple[float, float],
    size: Size,
    *,
    title: str = "",
    note: str = "",
    legend: int = 0,
) -> alt.LayerChart:
    """LongScore against length for one task.

    Args:
        scores: LongScores of one task, or of ``all``; points that are undefined are left out.
        systems: All systems of the report, in the order of their markers.
        steps: Colour of each system, see :func:`abilities`.
        span: Ends of the axis, see :func:`span_of`.
        size: Plotting area in pixels.
        title: A heading, "" for none.
        note: A line under the heading, "" for none.
        legend: Columns of the chart's legend; 0 for no legend.
    """
    scores = list(scores)
    lengths = sorted({point.length for one in scores for point in one.points})
    records = [
        {
            "system": system_of(one).name,
            "length": point.length,
            "change": min(point.value, HIGHEST),
            "beyond": words.change(round(point.value, 2)).removesuffix(".0") if point.value > HIGHEST else "",
        }
        for one in scores
        for point in one.points
        if point.value is not None
    ]
    ranked = sorted(enumerate(systems), key=lambda pair: -steps[pair[1]])
    domain = [system.name for _, system in ranked]
    key = legend_of(legend, size, "Darker lines: stronger base ability" if len(systems) > 1 else None)
    colours, shapes = [ABILITY[steps[one]].light for _, one in ranked], [shape_of(number) for number, _ in ranked]
    colour = alt.Color("system:N", scale=alt.Scale(domain=domain, range=colours), legend=key)
    shape = alt.Shape("system:N", scale=alt.Scale(domain=domain, range=shapes), legend=key)
    step = STEP if span[1] - span[0] <= 4 * STEP else 2 * STEP
    ticks = [step * n for n in range(math.ceil(span[0] / step), math.floor(span[1] / step) + 1)]
    signed = "datum.value > 0 ? format(datum.value, '+.0%') : format(datum.value, '.0%')"
    y = alt.Y("change:Q", scale=alt.Scale(domain=list(span)), axis=axis_of(values=ticks, labelExpr=signed, grid=True))
    x = length_axis(lengths, size)
    chart = chart_of_records(records)
    zero = chart_of_records([{"change": 0}]).mark_rule(color=INK.light, strokeWidth=1).encode(y=y)
    lines = chart.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour)
    marks = chart.mark_point(filled=True, size=46, opacity=1, stroke=PAPER.light, strokeWidth=0.6)
    layers = [zero, lines, marks.encode(x=x, y=y, color=colour, shape=shape)]
    if beyond := [record for record in records if record["beyond"]]:
        said = chart_of_records(beyond).mark_text(dy=-9, fontSize=10, color=INK.light)
        layers.append(said.encode(x=x, y=y, text="beyond:N"))
    return layered(layers, size, title, note)
