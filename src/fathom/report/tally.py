"""Counts: what became of every request, and what stands beside every score: chance and how many replies were scored."""

from collections.abc import Mapping

from fathom.analysis import CategoryScore, Counts, GroupScore, Neighbour, Repeats
from fathom.report import words
from fathom.report.results import ALL, Results, System
from fathom.report.table import Cell, Column, Table
from fathom.stats.outcomes import Unanswered, differ

SCORED = Column(
    "Scored",
    help="Replies that say something and were scored. Beneath, where there are any: replies that were unanswered, cut "
    "off by the output cap or missing, prompts that did not fit, replies of the wrong form, prompts that were "
    "truncated, and the cost",
)
CHANCE = Column("Chance", help="Expected score of a valid answer drawn at random, percent")
COUNTS = (
    Column("Replies"),
    Column("Scored", help="The reply says something and has a score"),
    Column("Invalid", help="Scored, but not of the asked form"),
    Column("Cut", help="Scored as it stands: the output cap cut it off"),
    Column("Unanswered", help="Refused, empty, or nothing visible before the output cap"),
    Column("Overflow", help="The prompt did not fit"),
    Column("Missing", help="The request failed, or nobody has judged the reply or could score it"),
    Column("Truncated", help="The prompt was cut to fit the model's window"),
    Column("Tokens in"),
    Column("Tokens out"),
    Column("Reasoning", help="Tokens, where the provider counts them"),
    Column("Cost", help="US dollars; a dash where no price is known"),
    Column("Time", help="Sum over the requests"),
)
RULES: Mapping[Unanswered, str] = {
    "zero": "Unanswered replies count 0. A task has no score at a length where more than 2% of the replies are missing "
    "or more than a fifth of the prompts did not fit.",
    "drop": "Unanswered replies are left out of the means (--unanswered drop): a model that does not answer loses "
    "nothing by it.",
}
"""How replies count that were not answered, in a sentence."""
ABOUT = (
    "Every request with a context is here. Replies that the output cap cut off were scored as they stand. Unanswered "
    "are refusals, empty replies and those with nothing visible before the cap; missing are requests that failed and "
    "replies that nobody has judged. Truncated prompts were cut to fit before they were sent."
)
KNOWN = " Replies to questions that were removed as known are here too; means leave them out (see Prior knowledge)."


def scored_cell(results: Results, system: System, task: str = ALL) -> Cell:
    """How many replies of a system were scored, on one task or on all, and beneath it what is to be known of them."""
    one = results.by_task.get((system, task))
    if one is None:
        return Cell()
    numbers = {
        "unanswered": one.unanswered,
        "cut": one.cut,
        "missing": one.missing,
        "overflow": one.overflow,
        "invalid": one.invalid,
        "truncated": one.truncated,
    }
    beneath = [f"{words.count(number)} {name}" for name, number in numbers.items() if number]
    if one.cost:
        beneath.append(words.money(one.cost))
    return Cell(words.count(one.scored), beneath=tuple(beneath))


def other_score(results: Results, mean: float | None, other: float | None) -> tuple[str, ...]:
    """The mean by the other way of counting what was not answered, where the two differ by half a point."""
    if other is None or not differ(mean, other):
        return ()
    return (f"{'answered only' if results.unanswered == 'zero' else 'unanswered as 0'}: {words.percent(other)}",)


def beneath_mean(one: GroupScore | CategoryScore | Neighbour | Repeats) -> tuple[str, ...]:
    """What is to be known of the replies behind a mean: how many were unanswered, cut, too long or missing."""
    numbers = {"unanswered": one.unanswered, "cut": one.cut, "overflow": one.overflow, "missing": one.missing}
    mean = one.mean if isinstance(one, Repeats) else one.score
    # The mean over what was answered is the higher one.
    other = []
    if one.other is not None and differ(mean, one.other):
        other.append(f"{'answered only' if one.other > mean else 'unanswered as 0'}: {words.percent(one.other)}")
    return (*other, *(f"{words.count(number)} {name}" for name, number in numbers.items() if number))


def chance_cell(results: Results, system: System, task: str) -> Cell:
    """The chance level over all lengths; a range where it changes with the length."""
    points = [results.curve.get((system, task, length)) for length in results.lengths]
    return Cell(words.span(point.chance for point in points if point is not None))


def counts_tables(results: Results) -> list[Table]:
    """What became of every request, each fact once: per model, then for each model by task and by length."""
    several = len(results.systems) > 1
    made = [_counts(results, None, "model" if several or len(results.tasks) == 1 else "task")]
    for system in results.systems:
        if several and len(results.tasks) > 1:
            made.append(_counts(results, system, "task"))
        if len(results.lengths) > 1:
            made.append(_counts(results, system, "length"))
    return made


def _counts(results: Results, system: System | None, kind: str) -> Table:
    """One table of counts, a line for each of a kind; of one model, or the first table, which has the totals."""
    columns = (Column(kind.capitalize(), number=False), *COUNTS)
    one = system or results.systems[0]
    if kind == "model":
        rows = [
            (Cell(name.name, series=number), *count_cells(results.every(name)))
            for number, name in enumerate(results.systems)
        ]
    elif kind == "task":
        rows = [(Cell(task), *count_cells(results.every(one, task))) for task in results.tasks]
    else:
        rows = [
            (Cell(words.tokens(length)), *count_cells(results.by_length.get((one, length))))
            for length in results.lengths
        ]
    if system is not None:
        name = f"counts-{results.systems.index(system) + 1}-{kind}"
        return Table(name, "counts", f"{system.name}, by {kind}", "", columns, tuple(rows), detail=True)
    if kind == "task":
        rows.append((Cell("all tasks"), *count_cells(results.every(one))))
    removed = results.filtered is not None and any(one.removed for one in results.filtered.removed)
    return Table("counts", "counts", "Counts", ABOUT + (KNOWN if removed else ""), columns, tuple(rows))


def count_cells(one: Counts | None) -> list[Cell]:
    """What became of replies, under the columns ``COUNTS``."""
    if one is None:
        return [Cell()] * len(COUNTS)
    failed = (one.invalid, one.cut, one.unanswered, one.overflow, one.missing, one.truncated)
    return [
        *(_count(number) for number in (one.replies, one.scored)),
        *(_count(number) for number in (*failed, one.tokens_in, one.tokens_out, one.tokens_reasoning)),
        Cell(words.money(one.cost), quiet=not one.cost),
        Cell(words.duration(one.seconds), quiet=not one.seconds),
    ]


def _count(number: int) -> Cell:
    return Cell(words.count(number), quiet=not number)


def failed(one: Counts) -> str:
    """What kept replies from being scored, in words: "20 overflow and 1 missing"; "" where nothing did."""
    kinds = {"overflow": one.overflow, "unanswered": one.unanswered, "missing": one.missing}
    return words.listed([f"{words.count(number)} {kind}" for kind, number in kinds.items() if number])
