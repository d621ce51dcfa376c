"""Counts of requests by their outcome, and the columns for chance and scored replies."""

from collections.abc import Mapping
from dataclasses import replace

from fathom.analysis import CategoryScore, Counts, GroupScore, Neighbour, Repeats
from fathom.report import words
from fathom.report.results import ALL, Results, System
from fathom.report.table import Cell, Column, Replies, Table
from fathom.stats.outcomes import Bounds, Unanswered, differ

SCORED = Column(
    "Scored",
    help="Replies with content that were scored. Small figures: unanswered and missing replies, replies truncated at "
    "the output cap, replies that the scorer could not score, prompts that did not fit the window, invalid replies, "
    "truncated prompts, and the cost",
)
SCORER_ERRORS = "not scored (error of the scorer)"
"""How replies on which the scorer raised an exception are named below a number."""
CHANCE = Column("Chance", help="Expected score of a valid answer drawn at random, percent")
COUNTS = (
    Column("Replies"),
    Column("Scored", help="The reply has content and a score"),
    Column("Invalid", help="Scored, but not in the requested form"),
    Column("Truncated", help="Reply truncated at the output cap and scored as received"),
    Column("Unanswered", help="Refused, empty, or without visible text before the output cap"),
    Column("Overflow", help="The prompt did not fit the window"),
    Column("Missing", help="The request failed, or the reply was not judged"),
    Column("Not asked", help="The prompt was never sent: the run is not finished"),
    Column("Scorer errors", help="The task's scorer raised an exception on the reply"),
    Column("Prompt truncated", help="The prompt was truncated to fit the model's window"),
    Column("Tokens in"),
    Column("Tokens out"),
    Column("Reasoning", help="Tokens, where the provider counts them"),
    Column("Cost", help="US dollars; a dash if the price is unknown"),
    Column("Time", help="Sum over all requests"),
)
RULES: Mapping[Unanswered, str] = {
    "zero": "Unanswered replies count 0. A task has no score at a length where more than 2% of the replies are missing "
    "or could not be scored, or more than a fifth of the prompts did not fit.",
    "drop": "Unanswered replies are left out of the means (--unanswered drop), so that a model loses nothing by not "
    "answering.",
}
"""How unanswered replies count, in a sentence."""
ABOUT = (
    "All requests with a context. Unanswered replies are refusals, empty replies and replies without visible text "
    "before the output cap. Replies that were truncated at the output cap are scored as received. Missing are "
    "requests that failed and replies without a judgement; not asked are prompts that an unfinished run has not sent. "
    "Scorer errors are replies on which the task's scorer raised an exception: correct the scorer and make the report "
    "again. Truncated prompts were shortened to fit the window before they were sent."
)
KNOWN = " Excluded closed-book questions are counted here, but not in the means (see Closed-book questions)."


def replies_of(system: System, task: str = ALL, length: int | None = None, status: str = "") -> Replies:
    """The replies of a system on one task or on all."""
    return Replies(*system, "" if task == ALL else task, length, status)


def scored_cell(results: Results, system: System, task: str = ALL) -> Cell:
    """How many replies of a system were scored, on one task or on all, and how many were not."""
    one = results.by_task.get((system, task))
    if one is None:
        return Cell()
    numbers = {
        "unanswered": one.unanswered,
        "truncated": one.cut,
        "missing": one.missing - one.not_asked,
        "not asked": one.not_asked,
        SCORER_ERRORS: one.scorer_error,
        "overflow": one.overflow,
        "invalid": one.invalid,
        "prompts truncated": one.truncated,
    }
    below = [f"{words.count(number)} {name}" for name, number in numbers.items() if number]
    if one.cost:
        below.append(words.money(one.cost))
    return Cell(words.count(one.scored), below=tuple(below), replies=replies_of(system, task))


def bounds_note(found: Bounds | None, why: str) -> str:
    """What a mean would be with its missing replies wrong or right, as a note; "" without bounds.

    Args:
        found: The bounds.
        why: Which replies are missing, "2 of 15 replies are missing".
    """
    if found is None:
        return ""
    low, high = words.percent(found.low), words.percent(found.high)
    return f"{words.sentence(why)[:-1]}: between {low} with all wrong and {high} with all right."


def other_score(results: Results, mean: float | None, other: float | None) -> tuple[str, ...]:
    """The mean under the other rule for unanswered replies, if the two differ by half a point."""
    if other is None or not differ(mean, other):
        return ()
    return (f"{'answered only' if results.unanswered == 'zero' else 'unanswered as 0'}: {words.percent(other)}",)


def below_mean(one: GroupScore | CategoryScore | Neighbour | Repeats) -> tuple[str, ...]:
    """Counts of the replies behind a mean: unanswered, truncated, too long or missing."""
    numbers = {"unanswered": one.unanswered, "truncated": one.cut, "overflow": one.overflow}
    numbers |= {"missing": one.missing, SCORER_ERRORS: one.scorer_error}
    mean = one.mean if isinstance(one, Repeats) else one.score
    # The mean over answered replies is the higher one.
    other = []
    if one.other is not None and differ(mean, one.other):
        other.append(f"{'answered only' if one.other > mean else 'unanswered as 0'}: {words.percent(one.other)}")
    return (*other, *(f"{words.count(number)} {name}" for name, number in numbers.items() if number))


def chance_cell(results: Results, system: System, task: str) -> Cell:
    """The chance level over all lengths; a range if it changes with the length."""
    points = [results.curve.get((system, task, length)) for length in results.lengths]
    return Cell(words.span(point.chance for point in points if point is not None))


def counts_tables(results: Results) -> list[Table]:
    """Outcomes of all requests: per model, then for each model by task and by length."""
    several = len(results.systems) > 1
    made = [_counts(results, None, "model" if several or len(results.tasks) == 1 else "task")]
    for system in results.systems:
        if several and len(results.tasks) > 1:
            made.append(_counts(results, system, "task"))
        if len(results.lengths) > 1:
            made.append(_counts(results, system, "length"))
    return made


def _counts(results: Results, system: System | None, kind: str) -> Table:
    """One table of counts by ``kind``: of one model, or the first table, which has the totals."""
    columns = (Column(kind.capitalize(), number=False), *COUNTS)
    one = system or results.systems[0]
    if kind == "model":
        rows = [
            (Cell(name.name, series=number), *count_cells(results.every(name), replies_of(name)))
            for number, name in enumerate(results.systems)
        ]
    elif kind == "task":
        rows = [(Cell(task), *count_cells(results.every(one, task), replies_of(one, task))) for task in results.tasks]
    else:
        rows = [
            (
                Cell(words.length(length)),
                *count_cells(results.by_length.get((one, length)), replies_of(one, length=length)),
            )
            for length in results.lengths
        ]
    if system is not None:
        name = f"counts-{results.systems.index(system) + 1}-{kind}"
        return Table(
            name, "counts", f"{system.name}, by {kind}", "", columns, tuple(rows), detail=True, denominator="none"
        )
    if kind == "task":
        rows.append((Cell("all tasks"), *count_cells(results.every(one))))
    removed = results.filtered is not None and any(one.removed for one in results.filtered.removed)
    about = ABOUT + (KNOWN if removed else "")
    return Table("counts", "counts", "Counts", about, columns, tuple(rows), denominator="none")


def count_cells(one: Counts | None, replies: Replies | None = None) -> list[Cell]:
    """Outcomes of replies, for the columns ``COUNTS``; ``replies`` are those that are counted."""
    if one is None:
        return [Cell()] * len(COUNTS)
    failed = ((one.cut, "incomplete"), (one.unanswered, ""), (one.overflow, "overflow"))
    return [
        replace(_count(one.replies), replies=replies),
        *(_count(number) for number in (one.scored, one.invalid)),
        *(
            replace(_count(number), replies=replies._replace(status=status) if replies and number and status else None)
            for number, status in (
                *failed,
                (one.missing - one.not_asked, "error"),
                (one.not_asked, ""),
                (one.scorer_error, ""),
            )
        ),
        *(_count(number) for number in (one.truncated, one.tokens_in, one.tokens_out, one.tokens_reasoning)),
        Cell(words.money(one.cost), quiet=not one.cost),
        Cell(words.duration(one.seconds), quiet=not one.seconds),
    ]


def _count(number: int) -> Cell:
    return Cell(words.count(number), quiet=not number)


def failed(one: Counts) -> str:
    """Why replies were not scored: "20 overflow and 1 missing"; "" if all were."""
    kinds = {"overflow": one.overflow, "unanswered": one.unanswered, "missing": one.missing - one.not_asked}
    kinds |= {"not asked": one.not_asked, "not scored": one.scorer_error}
    return words.listed([f"{words.count(number)} {kind}" for kind, number in kinds.items() if number])
