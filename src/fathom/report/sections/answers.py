"""The section on tasks with several possible answers, an order or free text: validity, copying, shortcuts, containment.

Tables 4, 5, 8 and 9 and figure 2 of the Ada-LEval paper, for rows of any suite.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from fathom.analysis import AnswerPoint, CurvePoint, Estimate, answers
from fathom.analysis.answers import THIRDS, answer_tasks
from fathom.printing import printable
from fathom.report import parts, words
from fathom.report.charts import LayerChart, Size
from fathom.report.curves import Level, curve_chart
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.results import Measurement, Results, System, grouped, system_of
from fathom.report.section import COLUMNS, PANEL, Chart, Section, legend_columns
from fathom.report.sections.position import PLACES
from fathom.report.table import Cell, Column, Fields, Table, count_cell, score_cell, table_of
from fathom.report.tally import replies_of
from fathom.types.denominators import Denominator

LONGEST, FIRST, EXPECTED = (8, 3), (1, 3), (3, 3)  # dashes
LINES = (
    "Short dashes: chance, and the expected share of copies. Long dashes: always the longest answer. "
    "Dots: always the first"
)
ANSWERS = Measurement(
    "answers",
    lambda rows, tasks: answers(rows.scored, seed=rows.seed, tasks=tasks["task"]),
    common=lambda rows: answer_tasks(rows.scored).to_frame(),
)
ABOUT_SECTION = (
    "Tasks whose answer is one of several or an order of segments: how often models give a valid answer, how often "
    "they copy the example in the instructions, and what shortcuts would score. Tasks with free answers: how many "
    "replies contain a gold answer, whatever their token F1. In percent, with 95% intervals; the dashed line in a "
    "chart of copies is the expected share."
)
ACCURACY = {
    "accuracy": Column("All replies", group="Accuracy", help="Percent; a reply without a readable answer is wrong"),
    "accuracy_valid": Column(
        "Valid only", group="Accuracy", help="Over the replies in the requested form", denominator="answered"
    ),
    "chance": Column("Chance", group="Shortcuts", help="Expected score of an answer drawn at random"),
    "longest": Column("Longest", group="Shortcuts", help="Score of always choosing the longest answer"),
    "first": Column("First", group="Shortcuts", help="Score of always choosing the first answer"),
}
"""Columns by what they show of an ``AnswerPoint``; the same below."""
FORM = {
    "valid": Column("Valid", help="Scored replies that contain an answer; failed requests are not scored"),
    "followed": Column("Follows", help="Share of the scored replies that are valid, percent"),
    "copied": Column(
        "Copies",
        help="Share of the valid replies that give the answer shown as an example, percent",
        denominator="answered",
    ),
    "copied_expected": Column("Expected", help="Share of the samples whose correct answer is the example, percent"),
}
ORDERS = {
    "orders": Column("Orders", help="Valid replies that are an order of all segments"),
    "tau": Column("Kendall’s tau", help="1 is the true order, −1 its reverse, 0 a random order"),
    "adjacent": Column(
        "Adjacent pairs", help="Adjacent pairs of the true order that are adjacent in the answer, percent"
    ),
    "adjacent_chance": Column("At random", help="The same for a random order, percent: 1/N for N segments"),
}
FREE_TEXT = {
    "accuracy": Column("Token F1", help="Percent; falls with every word beyond the gold answer"),
    "contains": Column("Contain a gold answer", help="Share of the scored replies, percent; not a score"),
    "contained_f1": Column(
        "Token F1 of these", help="What right but longer answers still score, percent", denominator="answered"
    ),
}
OVER: Mapping[str, Denominator] = {
    "contains": "scored",
    "accuracy": "scored",
    "form": "scored",
    "order": "answered",
    "position": "scored",
    "depth": "scored",
    "choices": "answered",
}
"""Denominator of each table."""
ABOUT = {
    "contains": "A reply can contain a gold answer and have a low token F1, because of the words around it. To "
    "contain one is no score: a reply that names many answers contains all of them.",
    "accuracy": "Accuracy and what shortcuts score without reading the context, in percent. “Valid only” leaves out "
    "replies that do not have the requested form: a large gap means that the model fails to answer as instructed.",
    "form": "How many replies follow the instructions, and how many of those repeat the example in the instructions. "
    "A model that is always correct copies it as often as expected; a higher share is copying.",
    "order": "How much of the order is correct in replies that are not fully correct.",
    "position": "Accuracy by the position of the correct answer among all answers.",
    "depth": "Accuracy by the depth of the correct answer in the context.",
    "choices": "Positions of the answers that the model chooses, whatever the correct one is: a share of its valid "
    "replies. The small figures are the shares that a random choice gives.",
}


# Tables


def answers_tables(points: Sequence[AnswerPoint], systems: Sequence[System] = ()) -> list[Table]:
    """Tables of every task.

    Args:
        points: Points of any models and tasks.
        systems: All systems of the report, in the order of their colours; by default those of the points.
    """
    order = systems or list(dict.fromkeys(map(system_of, points)))
    place = {system: number for number, system in enumerate(order)}
    return [
        table
        for number, (task, own) in enumerate(grouped(points, lambda point: point.task).items(), start=1)
        for table in _tables(own, place, task, number)
    ]


def _tables(points: Sequence[AnswerPoint], place: Mapping[System, int], task: str, number: int) -> list[Table]:
    own = [point for point in points if system_of(point) in place]
    own.sort(key=lambda point: (place[system_of(point)], point.length))
    headings: Fields[AnswerPoint] = (
        (
            Column("Model", number=False),
            lambda point: Cell(system_of(point).name, series=place[system_of(point)]),
        ),
        (
            Column("Length", help="Tokens"),
            lambda point: Cell(
                words.tokens(point.length), replies=replies_of(system_of(point), point.task, point.length)
            ),
        ),
    )
    kinds = []
    if any(point.contains is not None for point in own):
        kinds.append(("contains", "gold answers in replies", _fields(FREE_TEXT)))
    chooses = any(point.telling or point.contains is None for point in own)
    if chooses:
        kinds += [("accuracy", "accuracy", _fields(ACCURACY)), ("form", "instructions", _fields(FORM))]
    if any(point.adjacent_chance is not None for point in own):
        kinds.append(("order", "order", _fields(ORDERS)))
    numbered = any(third.chosen_chance is not None for point in own for third in point.thirds)
    if chooses and any(point.thirds for point in own):
        kinds.append(("position" if numbered else "depth", "accuracy by position", _by_place(_accuracy_by_place)))
    if numbered:
        kinds.append(("choices", "choices by position", _by_place(_choices_by_place)))
    return [
        table_of(
            f"answers-{number}-{name}",
            f"{printable(task)}: {title}",
            [*headings, *(field for field in fields if any(field[1](point).text != words.ABSENT for point in own))],
            own,
            about=ABOUT[name],
            denominator=OVER[name],
        )
        for name, title, fields in kinds
    ]


def _fields(columns: Mapping[str, Column]) -> Fields[AnswerPoint]:
    return [(column, partial(_cell, name=name)) for name, column in columns.items()]


def _cell(point: AnswerPoint, *, name: str) -> Cell:
    value: Estimate | float | None = getattr(point, name)
    if name == "valid":
        unscored = point.replies - point.scored
        below = (f"{words.count(unscored)} not scored",) if unscored else ()
        return Cell(f"{words.count(point.valid)} of {words.count(point.scored)}", below=below)
    if name == "orders":
        return count_cell(point.orders)
    if name == "tau" and point.tau is not None:
        low, high = _signed(point.tau.interval.low), _signed(point.tau.interval.high)
        return Cell(_signed(point.tau.value), f"[{low}, {high}]")
    return Cell(words.percent(value)) if isinstance(value, float) else _share(value)


def _by_place(cells: Callable[[AnswerPoint], Mapping[str, Cell]]) -> Fields[AnswerPoint]:
    """A column for each third of the positions."""

    def cell(point: AnswerPoint, *, name: str) -> Cell:
        return cells(point).get(name, Cell())

    return [(Column(PLACES[name].capitalize(), help="Percent"), partial(cell, name=name)) for name in THIRDS]


def _accuracy_by_place(point: AnswerPoint) -> dict[str, Cell]:
    return {third.name: _share(third.accuracy) for third in point.thirds}


def _choices_by_place(point: AnswerPoint) -> dict[str, Cell]:
    return {
        third.name: replace(_share(third.chosen), below=(f"at random {words.percent(third.chosen_chance)}",))
        for third in point.thirds
        if third.chosen is not None
    }


def _share(share: Estimate | None) -> Cell:
    return score_cell(share.value, share.interval) if share else Cell()


def _signed(value: float) -> str:
    text = f"{value:+.2f}".replace("-", "−")
    return "0.00" if text in ("+0.00", "−0.00") else text


# Figures


def answers_charts(
    points: Sequence[AnswerPoint], systems: Sequence[System], size: Size, *, legend: int = 0, title: str = ""
) -> list[tuple[str, LayerChart]]:
    """Accuracy, validity and copying of one task against length, as headings and charts.

    Args:
        systems: All systems of the report, in the order of their colours.
        size: Plotting area in pixels.
        legend: See :func:`fathom.report.curves.curve_chart`.
        title: Comes before the heading inside a chart; "" for charts without headings.
    """
    expected = _level("expected", EXPECTED, points, lambda point: point.copied_expected)
    panels: tuple[tuple[str, list[CurvePoint], list[Level]], ...] = (
        ("Accuracy", [_curve_point(point, point.accuracy, point.chance) for point in points], _shortcuts(points)),
        ("Follows the instructions", [_curve_point(point, point.followed) for point in points], []),
        ("Copies the example", [_curve_point(point, point.copied) for point in points], expected),
    )
    return [
        (
            heading,
            curve_chart(
                curve,
                systems,
                size,
                legend=legend,
                title=f"{title}: {heading[0].lower()}{heading[1:]}" if title else "",
                levels=levels,
            ),
        )
        for heading, curve, levels in panels
        if any(point.mean is not None for point in curve)
    ]


def _shortcuts(points: Sequence[AnswerPoint]) -> list[Level]:
    return [
        *_level("longest answer", LONGEST, points, lambda point: point.longest),
        *_level("first answer", FIRST, points, lambda point: point.first),
    ]


def _level(
    name: str, dash: tuple[int, ...], points: Sequence[AnswerPoint], of: Callable[[AnswerPoint], float | None]
) -> list[Level]:
    """A level over the lengths where it is known; a mean if models were asked different samples."""
    levels: dict[int, list[float]] = {}
    for point in points:
        if (value := of(point)) is not None:
            levels.setdefault(point.length, []).append(value)
    at = {length: sum(values) / len(values) for length, values in levels.items()}
    return [Level(name, dash, at)] if at else []


def _curve_point(point: AnswerPoint, share: Estimate | None, chance: float | None = None) -> CurvePoint:
    return CurvePoint(
        model=point.model,
        variant=point.variant,
        task=point.task,
        length=point.length,
        mean=share.value if share else None,
        interval=share.interval if share else None,
        items=point.scored,
        scored=point.scored,
        chance=chance,
    )


def _draw(results: Results) -> list[LayerChart]:
    legend, points = legend_columns(results, COLUMNS), grouped(results[ANSWERS], lambda point: point.task)
    return [
        chart
        for task in results.tasks
        for _, chart in answers_charts(points.get(task, ()), results.systems, PANEL, legend=legend, title=task)
    ]


# The section


def telling_points(results: Results) -> list[AnswerPoint]:
    """Points of the tasks for which these tables add something to scores and validity."""
    tasks = {point.task for point in results[ANSWERS] if point.telling or point.contains is not None}
    return [point for point in results[ANSWERS] if point.task in tasks]


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    body: list[parts.PagePart] = []
    for task, points in grouped(telling_points(results), lambda point: point.task).items():
        figures = [
            Figure(heading, drawn(chart, f"{heading} against length on {task}"))
            for heading, chart in answers_charts(points, results.systems, SMALL)
        ]
        levels = [(level.name, level.dash) for level in _shortcuts(points)]
        if any(point.telling for point in points):
            body += [parts.Heading(parts.soft(task)), parts.key_of_models(results, levels), parts.Figures(figures)]
    return [*body, *parts.table_parts(tables)]


def _finding(results: Results) -> str:
    points = [point for point in telling_points(results) if point.telling]
    if not points:
        return ""
    worst = min(points, key=lambda point: point.followed.value)
    at = f"{worst.task} at {words.length(worst.length)}"
    share = words.percent(worst.followed.value)
    return f"Lowest share of valid replies: {share}% on {at}{results.of_system(system_of(worst))}."


SECTION = Section(
    name="answers",
    title="Answers",
    finding=_finding,
    about=ABOUT_SECTION,
    tables=lambda results: answers_tables(telling_points(results), results.systems),
    page=_page,
    measurements=(ANSWERS,),
    charts=(
        Chart(
            kind="answers",
            draw=_draw,
            heading="Answers against length",
            caption=LINES,
            lacking="no task has a chance level or an example in its instructions",
        ),
    ),
    studies={AnswerPoint: answers_tables},
)
