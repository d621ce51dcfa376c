"""The section on truncation: how much of each task needs the full text (Ada-LEval, table 10)."""

from collections.abc import Sequence

from fathom.analysis import CurvePoint, Truncation, truncation
from fathom.report import parts, words
from fathom.report.charts import LayerChart, Size
from fathom.report.colours import heat_step
from fathom.report.curves import curve_chart
from fathom.report.results import ALL, Measurement, Results, System, grouped, system_of, task_title
from fathom.report.section import Chart, Panels, Section
from fathom.report.table import Cell, Column, Table

ABOUT = (
    "The same questions with their whole prompts and with prompts truncated in the middle; scores in percent with 95% "
    "intervals. The small figure under a score is the share of the full score that is kept. Points lost are the full "
    "score minus the score after truncation, in percentage points, paired by item, with the p-value. Tasks that "
    "lose most come first: they need most of the text."
)
FIGURES = "Score in percent against the length that prompts were truncated to; the last point is the whole prompt."
TRUNCATION = Measurement("truncation", lambda rows, _: truncation(rows.counted, seed=rows.seed))


# Tables


def truncation_tables(cuts: Sequence[Truncation], systems: Sequence[System] = ()) -> list[Table]:
    """One table for each model and full length, with a row per task and a column per truncated length.

    Args:
        cuts: Result of ``fathom.analysis.truncation``.
        systems: Models in the order of the tables; by default the order of ``cuts``.
    """
    groups = grouped(cuts, lambda cut: (system_of(cut), cut.cut_from))
    order = list(systems) or list(dict.fromkeys(system for system, _ in groups))
    several = len({full for _, full in groups}) > 1
    keys = sorted((key for key in groups if key[0] in order), key=lambda key: (order.index(key[0]), key[1]))
    return [
        _table(groups[key], key[0].name + (f", from {words.tokens(key[1])}" if several else ""), number)
        for number, key in enumerate(keys, start=1)
    ]


def _table(cuts: Sequence[Truncation], title: str, number: int) -> Table:
    lengths = sorted({cut.length for cut in cuts})
    tasks = {task: {cut.length: cut for cut in own} for task, own in grouped(cuts, lambda cut: cut.task).items()}
    loss = {task: own[min(own)].difference for task, own in tasks.items()}
    ordered = sorted(tasks, key=lambda task: (task == ALL, -loss[task]))
    columns = (
        Column("Task", number=False),
        Column("Items"),
        *(Column(f"truncated to {words.tokens(length)}", group="Score") for length in lengths),
        Column("full", help=f"Over the whole prompt of {words.tokens(cuts[0].cut_from)}", group="Score"),
        *(Column(f"full − {words.tokens(length)}", group="Points lost") for length in lengths),
    )
    rows = tuple((Cell(task_title(task)), *_cells(tasks[task], lengths)) for task in ordered)
    about = ABOUT if number == 1 else ""
    return Table(f"truncation-{number}", "truncation", title, about, columns, rows, denominator="shared")


def _cells(cuts: dict[int, Truncation], lengths: Sequence[int]) -> list[Cell]:
    whole = max(cuts.values(), key=lambda cut: (cut.items, cut.length))
    return [
        Cell(words.count(whole.items)),
        *(_score(cuts[length]) if length in cuts else Cell() for length in lengths),
        Cell(words.percent(whole.full), words.bounds(whole.full_interval), heat=heat_step(whole.full)),
        *(_loss(cuts[length]) if length in cuts else Cell() for length in lengths),
    ]


def _score(cut: Truncation) -> Cell:
    below = (f"keeps {100 * cut.share:.0f}%",) if cut.share is not None else ()
    return Cell(words.percent(cut.score), words.bounds(cut.interval), heat=heat_step(cut.score), below=below)


def _loss(cut: Truncation) -> Cell:
    interval = words.bounds(cut.difference_interval, signed=True)
    return Cell(words.change(cut.difference), interval, below=(words.chance_of(cut.p_value),))


# Figures


def _charts(results: Results, size: Size, legend: int, titled: bool) -> list[tuple[str, LayerChart]]:
    """Score against the length of prompts, truncated and whole: one chart per task."""
    systems = results.systems
    groups = grouped(
        (cut for cut in results[TRUNCATION] if system_of(cut) in systems), lambda cut: (cut.task, cut.cut_from)
    )
    charts = []
    for (task, full), own in sorted(groups.items(), key=lambda group: group[0][0] == ALL):
        heading = f"{task_title(task)}, from {words.tokens(full)}"
        chart = curve_chart(points_of(own), systems, size, legend=legend, title=heading if titled else "")
        charts.append((heading, chart))
    return charts


PANELS = Panels(charts=_charts, label="Score of truncated prompts", text=FIGURES, shared=True)


def points_of(cuts: Sequence[Truncation]) -> list[CurvePoint]:
    """Truncated prompts as points of a curve that ends at the full length."""
    points = []
    for own in grouped(cuts, system_of).values():
        own = sorted(own, key=lambda cut: cut.length)
        whole = max(own, key=lambda cut: (cut.items, cut.length))
        points += [_point(cut, cut.length, whole=False) for cut in own]
        points.append(_point(whole, whole.cut_from, whole=True))
    return points


def _point(cut: Truncation, length: int, *, whole: bool) -> CurvePoint:
    return CurvePoint(
        model=cut.model,
        variant=cut.variant,
        task=cut.task,
        length=length,
        mean=cut.full if whole else cut.score,
        interval=cut.full_interval if whole else cut.interval,
        items=cut.items,
        scored=cut.items,
        chance=cut.chance,
    )


# The section


def _finding(results: Results) -> str:
    cuts = [cut for cut in results[TRUNCATION] if cut.task != ALL]
    if not cuts:
        return ""
    most = max(cuts, key=lambda cut: cut.difference)
    return (
        f"Largest loss: {words.percent(most.difference)} points on {most.task}, truncated to "
        f"{words.tokens(most.length)}{results.of_system(system_of(most))}."
    )


SECTION = Section(
    name="truncation",
    title="Truncation",
    finding=_finding,
    tables=lambda results: truncation_tables(results[TRUNCATION], results.systems),
    page=lambda results, tables: [*PANELS.page(results), *parts.table_parts(tables)],
    measurements=(TRUNCATION,),
    charts=(
        Chart(
            kind="truncation",
            draw=PANELS.draw,
            heading="Score against the length that prompts were truncated to",
            caption="The last point is the whole prompt; bands are 95% intervals",
            lacking="no prompt of these rows was truncated (`fathom build --truncate`)",
        ),
    ),
    studies={Truncation: truncation_tables},
)
