"""The section on 100-LongBench: the figures of its paper, for rows of its suite."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fathom.analysis import AverageScore, LongScore, comparable
from fathom.report import parts, words
from fathom.report.charts import (
    Labels,
    Layer,
    LayerChart,
    Line,
    Names,
    Numbers,
    Points,
    Rule,
    Series,
    Size,
    Style,
    Ticks,
)
from fathom.report.colours import ABILITY, INK, MUTED, ability_step
from fathom.report.drawing import SHAPES, length_axis, percents, score_axis, styles_of
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.heatmaps import ANOMALOUS, is_anomalous, longscore_map
from fathom.report.results import ALL, Results, System, system_of, task_title
from fathom.report.section import COLUMNS, PANEL, TILE, Chart, Section, legend_columns
from fathom.report.table import Table

ABOUT = "The figures of the paper, except scores against length, which are above."
ABOUT_TASKS = (
    "Percent, with 95% intervals; the tick is chance. A hollow marker is an average over other lengths, which must not "
    "be compared with the rest."
)
ABOUT_LINES = (
    "Change from base ability, percent. Lines with more contrast belong to models with a stronger base ability over "
    "all tasks. Undefined changes are left out; a change above +100% is drawn at +100% with its value."
)
ABOUT_MAPS = (
    "Change from base ability, percent; losses and gains have different hues. Grey cells are undefined, blank cells "
    "were not measured."
)
UNDEFINED = "Undefined for {}: see the table of LongScore."
NOTHING_BEYOND = "no score beyond the base lengths"
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


def is_hundred(results: Results) -> bool:
    """Whether the results are of a suite of 100-LongBench, or of all its tasks under another name."""
    return len(results.tasks) > 1 and (not SUITES.isdisjoint(results.suites) or TASKS.issubset(results.tasks))


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
) -> LayerChart:
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
    averages = [average for average in averages if average.task in called and average.mean is not None]
    alike = [
        average for task in tasks for average in comparable(average for average in averages if average.task == task)
    ]
    records = [
        {
            "task": called[average.task],
            "system": system_of(average).name,
            "mean": average.mean,
            "low": average.interval.low if average.interval else average.mean,
            "high": average.interval.high if average.interval else average.mean,
            "chance": average.chance,
            "alike": average in alike,
            "says": f"{system_of(average).name}, {called[average.task]}: "
            + words.scored(average.mean, average.interval)
            + ("" if average in alike else "; over other lengths"),
        }
        for average in averages
    ]
    names_of_systems = [system.name for system in systems]
    solid = {record["system"] for record in records if record["alike"]}
    series = Series(
        field="system",
        styles=styles_of(names_of_systems),
        columns=legend,
        hollow=frozenset(names_of_systems) - solid,
    )
    guessing = [record for record in records if record["chance"]]
    layers: list[Layer] = [
        Ticks(records=guessing, x="chance", y="task", colour=MUTED.light, length=ROW - 3),
        Rule(records=records, y="task", low="low", high="high"),
    ]
    for same in (True, False):
        if chosen := [record for record in records if record["alike"] is same]:
            layers.append(Points(records=chosen, x="mean", y="task", size=56, hollow=not same))
    other = "Hollow: an average over other lengths, which must not be compared with the rest"
    return LayerChart(
        layers=layers,
        size=size,
        x=score_axis(),
        y=Names(names=[*called.values()], font=12, rows=names_of_systems, gap=GAP),
        series=series,
        title=title,
        note=() if all(record["alike"] for record in records) else (other,),
    )


def abilities(results: Results) -> dict[System, int]:
    """The step of ``colours.ABILITY`` of every system, by its base over all tasks; the lowest if it has no base."""

    def base(system: System) -> float:
        score = results.longscore.get((system, ALL))
        return score.base if score is not None and score.base is not None else -1.0

    order = sorted(results.systems, key=base)
    return {system: ability_step(rank, len(order)) for rank, system in enumerate(order)}


def shape_of(number: int) -> str:
    """The marker of the system with this number, from 0."""
    return SHAPES[number % len(SHAPES)]


def span_of(scores: Iterable[LongScore]) -> tuple[float, float]:
    """Ends of the axis of LongScore that small multiples share, as fractions."""
    values = [point.value for score in scores for point in score.points if point.value is not None]
    low = math.floor(min(values, default=0.0) / STEP) * STEP
    high = math.ceil(max(values, default=0.0) / STEP) * STEP
    return max(-1.0, min(low, -STEP)), max(high, STEP) if high <= HIGHEST else HIGHEST + STEP


def without_score(scores: Iterable[LongScore]) -> list[str]:
    """Names of the systems that have no LongScore."""
    return [system_of(score).name for score in scores if all(point.value is None for point in score.points)]


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
) -> LayerChart:
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
    lengths = sorted({point.length for score in scores for point in score.points})
    records = [
        {
            "system": system_of(score).name,
            "length": point.length,
            "change": min(point.value, HIGHEST),
            "beyond": words.change(round(point.value, 2)).removesuffix(".0") if point.value > HIGHEST else "",
            "says": f"{system_of(score).name}, {words.length(point.length)}: {words.change(point.value)}%",
        }
        for score in scores
        for point in sorted(score.points, key=lambda point: point.length)
        if point.value is not None
    ]
    step = STEP if span[1] - span[0] <= 4 * STEP else 2 * STEP
    ticks = [step * n for n in range(math.ceil(span[0] / step), math.floor(span[1] / step) + 1)]
    layers: list[Layer] = [
        Rule(records=[{"change": 0}], y="change", colour=INK.light, width=1),
        Line(records=records, x="length", y="change", width=1.8),
        Points(records=records, x="length", y="change", size=46, outlined=True),
    ]
    if beyond := [record for record in records if record["beyond"]]:
        layers.append(Labels(records=beyond, x="length", y="change", text="beyond", dy=-9, font=10, left=False))
    return LayerChart(
        layers=layers,
        size=size,
        x=length_axis(lengths, size),
        y=Numbers(low=span[0], high=span[1], ticks=percents(ticks, "+"), grid=True),
        series=Series(
            field="system",
            styles={
                system.name: Style(ABILITY[steps[system]], f"ability-{steps[system]}", (1, 0), shape_of(number))
                for number, system in sorted(enumerate(systems), key=lambda pair: -steps[pair[1]])
            },
            columns=legend,
            title="Darker lines: stronger base ability" if len(systems) > 1 else "",
        ),
        title=title,
        note=(note,) if note else (),
    )


# Files


def _with_score(results: Results) -> dict[str, list[LongScore]]:
    """LongScores by task and of their mean, where some model has one beyond the base lengths."""
    scores = {task: results.longscores(task) for task in results.with_mean}
    return {task: own for task, own in scores.items() if any(score.points for score in own)}


def _line_charts(
    results: Results, size: Size, *, undefined: str, legend: int = 0
) -> Iterator[tuple[str, LayerChart, str]]:
    """LongScore against length, task by task (figure 7): titles, charts, and notes; those with a legend contain both.

    Args:
        results: What was measured.
        size: Plotting area in pixels.
        undefined: A note on models without a score, with ``{}`` for their names.
        legend: Columns of the legend, 0 for none.
    """
    steps, span = abilities(results), span_of(results.longscore.values())
    for task, scores in _with_score(results).items():
        lacking, title = without_score(scores), task_title(task)
        note = undefined.format(", ".join(lacking)) if lacking else ""
        inside = (title, note) if legend else ("", "")
        chart = longscore_lines(
            scores, results.systems, steps, span, size, title=inside[0], note=inside[1], legend=legend
        )
        yield title, chart, note


def _draw_tasks(results: Results) -> list[LayerChart]:
    tasks = [
        task
        for task in results.with_mean
        if any(score.mean is not None for (_, name), score in results.average.items() if name == task)
    ]
    if not tasks:
        return []
    size, names = Size(460, height_of(len(results.systems), len(tasks))), list(map(task_title, tasks))
    legend = legend_columns(results, 2)
    averages = results.average.values()
    return [task_dots(averages, results.systems, tasks, size, names=names, legend=legend, title="Average score")]


def _draw_lines(results: Results) -> list[LayerChart]:
    legend = legend_columns(results, COLUMNS)
    return [chart for _, chart, _ in _line_charts(results, PANEL, undefined="undefined: {}", legend=legend)]


def _longer_lengths(results: Results) -> list[int]:
    return sorted({point.length for score in results.longscore.values() for point in score.points})


def _draw_maps(results: Results) -> list[LayerChart]:
    lengths = _longer_lengths(results)
    size = Size(TILE.width * len(lengths), TILE.height * len(results.systems))
    return [
        longscore_map(scores, results.systems, lengths, size, title=task_title(task))
        for task, scores in _with_score(results).items()
    ]


# The section


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    """The figures; none for other suites, or if no task has a score beyond the base lengths."""
    if not is_hundred(results) or not _with_score(results):
        return []
    steps = abilities(results)
    ranked = sorted(enumerate(results.systems), key=lambda pair: -steps[pair[1]])
    marks = [parts.Mark(system.name, f"ability-{steps[system]}", (1, 0), shape_of(number)) for number, system in ranked]
    key = parts.Key("Models by base ability", marks, spaced=False)
    models, tasks = parts.key_of_models(results), parts.Figures([_task_figure(results)], "plate")
    lines = [
        Figure(title, drawn(chart, f"LongScore against length on {title}"), note=note)
        for title, chart, note in _line_charts(results, SMALL, undefined=UNDEFINED)
    ]
    return [
        parts.Text(ABOUT),
        parts.Folded("Average score per task", [parts.Text(ABOUT_TASKS), models, tasks]),
        parts.Folded("LongScore against length", [parts.Text(ABOUT_LINES), key, parts.Figures(lines)]),
        parts.Folded("LongScore by model and length", [parts.Text(ABOUT_MAPS), parts.Figures(_map_figures(results))]),
        parts.Space(),
    ]


def _task_figure(results: Results) -> Figure:
    """Average score per task (figure 5)."""
    tasks, names = (*results.tasks, ALL), [*results.tasks, task_title(ALL)]
    height = height_of(len(results.systems), len(tasks))
    wide, narrow = (
        drawn(
            task_dots(results.average.values(), results.systems, tasks, Size(width, height), names=names),
            "Average score per task; figures in the table of scores",
        )
        for width in (680, 180)
    )
    return Figure("", wide, narrow)


def _map_figures(results: Results) -> list[Figure]:
    """LongScore by model and length, task by task (figure 8)."""
    size, figures = Size(SMALL.width, LINE * len(results.systems)), []
    for task, scores in _with_score(results).items():
        chart = longscore_map(scores, results.systems, _longer_lengths(results), size, widest=130)
        note = f"{ANOMALOUS}." if any(is_anomalous(score) for score in scores) else ""
        title = task_title(task)
        figures.append(Figure(title, drawn(chart, f"LongScore by model and length on {title}"), note=note))
    return figures


SECTION = Section(
    name="hundred",
    title="100-LongBench",
    finding=lambda results: "Figures 5, 7 and 8 of the paper.",
    about=ABOUT,
    page=_page,
    charts=(
        Chart(kind="tasks", draw=_draw_tasks),
        Chart(
            kind="longscore",
            draw=_draw_lines,
            heading="LongScore: change from base ability against length",
            lacking=NOTHING_BEYOND,
        ),
        Chart(
            kind="longscore-heatmap",
            draw=_draw_maps,
            heading="LongScore: change from base ability, percent",
            caption=ANOMALOUS,
            lacking=NOTHING_BEYOND,
        ),
    ),
)
