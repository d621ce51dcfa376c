"""Tasks with several possible answers, or an order as the answer: validity, copying, shortcuts, position.

Tables 4, 5, 8 and 9 and figure 2 of the Ada-LEval paper, for rows of any suite.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import altair as alt

from fathom.analysis import AnswerPoint, CurvePoint, Estimate
from fathom.analysis.answers import THIRDS
from fathom.printing import printable
from fathom.report import words
from fathom.report.curves import Level, curve_chart
from fathom.report.drawing import Size
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.position import SHOWN
from fathom.report.results import Results, System, system_of
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import replies_of
from fathom.types.denominators import Denominator

LONGEST, FIRST, EXPECTED = (8, 3), (1, 3), (3, 3)  # dashes
LINES = (
    "Short dashes: chance, and the expected share of copies. Long dashes: always the longest answer. "
    "Dots: always the first"
)
_HEADINGS = (Column("Model", number=False), Column("Length", help="Tokens"))
ACCURACY = (
    Column("All replies", group="Accuracy", help="Percent; a reply without a readable answer is wrong"),
    Column("Valid only", group="Accuracy", help="Over the replies in the requested form", denominator="answered"),
    Column("Chance", group="Shortcuts", help="Expected score of an answer drawn at random"),
    Column("Longest", group="Shortcuts", help="Score of always choosing the longest answer"),
    Column("First", group="Shortcuts", help="Score of always choosing the first answer"),
)
FORM = (
    Column("Valid", help="Scored replies that contain an answer; failed requests are not scored"),
    Column("Follows", help="Share of the scored replies that are valid, percent"),
    Column(
        "Copies",
        help="Share of the valid replies that give the answer shown as an example, percent",
        denominator="answered",
    ),
    Column("Expected", help="Share of the samples whose correct answer is the example, percent"),
)
ORDERS = (
    Column("Orders", help="Valid replies that are an order of all segments"),
    Column("Kendall’s tau", help="1 is the true order, −1 its reverse, 0 a random order"),
    Column("Adjacent pairs", help="Adjacent pairs of the true order that are adjacent in the answer, percent"),
    Column("At random", help="The same for a random order, percent: 1/N for N segments"),
)
POSITIONS = tuple(Column(SHOWN[name].capitalize(), help="Percent") for name in THIRDS)
OVER: Mapping[str, Denominator] = {
    "accuracy": "scored",
    "form": "scored",
    "order": "answered",
    "position": "scored",
    "depth": "scored",
    "choices": "answered",
}
"""Denominator of each table."""
ABOUT = {
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


@dataclass(frozen=True, slots=True)
class TaskAnswers:
    """What the page shows of one task.

    Attributes:
        task: Its name.
        figures: Accuracy, validity and copying against length.
        levels: What the grey lines of the figures are, as names and dashes.
        tables: Its tables.
    """

    task: str
    figures: tuple[Figure, ...]
    levels: tuple[tuple[str, tuple[int, ...]], ...]
    tables: tuple[Table, ...]


def answers_tables(points: Sequence[AnswerPoint], systems: Sequence[System] = ()) -> list[Table]:
    """Tables of every task.

    Args:
        points: Points of any models and tasks.
        systems: All systems of the report, in the order of their colours; by default those of the points.
    """
    systems = systems or list(dict.fromkeys(map(system_of, points)))
    return [
        table for number, task in enumerate(_tasks(points), start=1) for table in _tables(points, systems, task, number)
    ]


def telling_points(results: Results) -> list[AnswerPoint]:
    """Points of the tasks for which these tables add something to scores and validity."""
    tasks = {point.task for point in results.answers if point.telling}
    return [point for point in results.answers if point.task in tasks]


def answers_views(results: Results) -> list[TaskAnswers]:
    """What the page shows of each of these tasks."""
    points = telling_points(results)
    views = []
    for number, task in enumerate(_tasks(points), start=1):
        own = [point for point in points if point.task == task]
        figures = tuple(
            Figure(heading, drawn(chart, f"{heading} against length on {task}"))
            for heading, chart in answers_charts(own, results.systems, SMALL)
        )
        levels = tuple((level.name, level.dash) for level in _shortcuts(own))
        views.append(TaskAnswers(task, figures, levels, tuple(_tables(own, results.systems, task, number))))
    return views


def answers_charts(
    points: Sequence[AnswerPoint], systems: Sequence[System], size: Size, *, legend: int = 0, title: str = ""
) -> list[tuple[str, alt.LayerChart]]:
    """Accuracy, validity and copying of one task against length, as headings and charts.

    Args:
        points: Points of one task.
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
    found: dict[int, list[float]] = {}
    for point in points:
        if (value := of(point)) is not None:
            found.setdefault(point.length, []).append(value)
    at = {length: sum(values) / len(values) for length, values in found.items()}
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


def _tasks(points: Sequence[AnswerPoint]) -> list[str]:
    return list(dict.fromkeys(point.task for point in points))


def _tables(points: Sequence[AnswerPoint], systems: Sequence[System], task: str, number: int) -> list[Table]:
    place = {system: number for number, system in enumerate(systems)}
    points = [point for point in points if point.task == task and system_of(point) in place]
    points.sort(key=lambda point: (place[system_of(point)], point.length))
    made = [("accuracy", "accuracy", ACCURACY, _accuracy), ("form", "instructions", FORM, _form)]
    if any(point.adjacent_chance is not None for point in points):
        made.append(("order", "order", ORDERS, _order))
    numbered = any(third.chosen_chance is not None for point in points for third in point.thirds)
    if any(point.thirds for point in points):
        made.append(("position" if numbered else "depth", "accuracy by position", POSITIONS, _position))
    if numbered:
        made.append(("choices", "choices by position", POSITIONS, _choices))
    tables = [
        Table(
            name=f"answers-{number}-{name}",
            section="answers",
            title=f"{printable(task)}: {title}",
            about=ABOUT[name],
            columns=(*_HEADINGS, *columns),
            rows=tuple((*_names(point, place), *cells(point)) for point in points),
            denominator=OVER[name],
        )
        for name, title, columns, cells in made
    ]
    return [_without_empty(table) for table in tables]


def _without_empty(table: Table) -> Table:
    """The table without its empty columns."""
    shown = [
        number
        for number in range(len(table.columns))
        if number < len(_HEADINGS) or any(row[number].text != words.ABSENT for row in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[number] for number in shown),
        rows=tuple(tuple(row[number] for number in shown) for row in table.rows),
    )


def _names(point: AnswerPoint, place: Mapping[System, int]) -> tuple[Cell, Cell]:
    system = system_of(point)
    replies = replies_of(system, point.task, point.length)
    return Cell(system.name, series=place[system]), Cell(words.tokens(point.length), replies=replies)


def _accuracy(point: AnswerPoint) -> list[Cell]:
    return [
        _share(point.accuracy),
        _share(point.accuracy_valid),
        *(Cell(words.percent(level)) for level in (point.chance, point.longest, point.first)),
    ]


def _form(point: AnswerPoint) -> list[Cell]:
    unscored = point.replies - point.scored
    return [
        Cell(
            f"{words.count(point.valid)} of {words.count(point.scored)}",
            below=(f"{words.count(unscored)} not scored",) if unscored else (),
        ),
        _share(point.followed),
        _share(point.copied),
        Cell(words.percent(point.copied_expected)),
    ]


def _order(point: AnswerPoint) -> list[Cell]:
    tau = point.tau
    low, high = (_signed(tau.interval.low), _signed(tau.interval.high)) if tau else ("", "")
    return [
        Cell(words.count(point.orders), quiet=not point.orders),
        Cell(_signed(tau.value), f"[{low}, {high}]") if tau else Cell(),
        _share(point.adjacent),
        Cell(words.percent(point.adjacent_chance)),
    ]


def _position(point: AnswerPoint) -> list[Cell]:
    found = {third.name: _share(third.accuracy) for third in point.thirds}
    return [found.get(name, Cell()) for name in THIRDS]


def _choices(point: AnswerPoint) -> list[Cell]:
    found = {
        third.name: replace(_share(third.chosen), below=(f"at random {words.percent(third.chosen_chance)}",))
        for third in point.thirds
        if third.chosen is not None
    }
    return [found.get(name, Cell()) for name in THIRDS]


def _share(one: Estimate | None) -> Cell:
    return Cell(words.percent(one.value), words.bounds(one.interval)) if one else Cell()


def _signed(value: float) -> str:
    text = f"{value:+.2f}".replace("-", "−")
    return "0.00" if text in ("+0.00", "−0.00") else text
