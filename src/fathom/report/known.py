"""Closed-book questions, and graders of the replies."""

from collections.abc import Sequence

from fathom.analysis import Filtered, Known
from fathom.analysis.counts import Graded
from fathom.printing import printable
from fathom.report import words
from fathom.report.results import Results, System
from fathom.report.table import Cell, Column, Table

POLICIES = {
    "own": "for each model, the questions that it answers closed-book are excluded, as in the paper",
    "intersection": "a question that any of the models answers closed-book is excluded for all",
    "panel": "a question that any model of the panel answers closed-book is excluded for all",
    "none": "no question is excluded",
}
SAME = "All models are compared on the same questions; in the paper each excludes its own (policy own)."
KNOWN = (
    Column("Questions", help="Asked with a context, each counted once"),
    Column("Score", group="Closed-book", help="Mean closed-book score, percent; abstentions count 0"),
    Column("Asked", group="Closed-book", help="Questions asked closed-book"),
    Column("Answered", group="Closed-book", help="The closed-book score reaches the threshold"),
    Column("Abstained", group="Closed-book", help="The answer says that it cannot be known"),
    Column("No score", group="Closed-book", help="The request or its grading failed"),
    Column("Excluded", group="By the filter", help="Questions excluded from this model's results, at all lengths"),
    Column("Share", group="By the filter", help="Of its questions, percent", denominator="asked"),
)
PLAIN = ("token f1", "rouge")


def said_of_filter(filtered: Filtered) -> str:
    """One sentence on what the closed-book filter excluded, and under which policy."""
    if filtered.policy == "none":
        known = sum(one.known for one in filtered.removed)
        return (
            f"No closed-book questions are excluded, although {words.several(known, 'closed-book answer')} scored "
            f"{words.percent(filtered.threshold)}% or more."
        )
    return (
        f"The closed-book filter excluded {_removed(filtered)} (policy {filtered.policy}: {POLICIES[filtered.policy]})."
    )


def _removed(filtered: Filtered) -> str:
    """How many questions: for each model if each excludes its own, else once for all."""
    if filtered.policy != "own":
        removed, questions = filtered.distinct
        return f"{words.count(removed)} of {words.count(questions)} questions for all models"
    totals: dict[str, tuple[int, int]] = {}
    for one in filtered.removed:
        removed, questions = totals.get(_system(one).name, (0, 0))
        totals[_system(one).name] = removed + one.removed, questions + one.questions
    said = [
        f"{words.count(gone)} of {words.count(asked)} questions of {name}" for name, (gone, asked) in totals.items()
    ]
    return words.listed(said)


def known_tables(results: Results) -> list[Table]:
    """What each model answers closed-book, by task; no table if no question was asked closed-book."""
    filtered = results.filtered
    if filtered is None or not filtered.removed:
        return []
    number = {system: place for place, system in enumerate(results.systems)}
    found = sorted(filtered.removed, key=lambda one: number.get(_system(one), len(number)))
    about = (
        "Questions that a model answers without the context do not measure how it uses the context. A question is "
        f"answered closed-book if its score without the context is {words.percent(filtered.threshold)}% or more; an "
        f"answer that says “unanswerable” never is. Policy {filtered.policy}: {POLICIES[filtered.policy]}."
    )
    several = filtered.policy == "intersection" and len(results.systems) > 1
    about = " ".join((about, *([SAME] if several else []), *map(printable, filtered.notes)))
    columns = (Column("Model", number=False), Column("Task", number=False), *KNOWN)
    rows = tuple(
        (Cell(_system(one).name, series=number.get(_system(one))), Cell(printable(one.task)), *known_cells(one))
        for one in found
    )
    return [Table("known", "known", "Closed-book questions", about, columns, rows, denominator="scored")]


def _system(one: Known) -> System:
    return System(printable(one.model), printable(one.variant))


def known_cells(one: Known) -> list[Cell]:
    """Closed-book answers of a model on a task, for the columns ``KNOWN``."""
    return [
        Cell(words.count(one.questions)),
        Cell(words.percent(one.score), words.bounds(one.interval)),
        *(Cell(words.count(n), quiet=not n) for n in (one.asked, one.known, one.abstained, one.unscored, one.removed)),
        Cell(words.percent(one.share), quiet=not one.removed),
    ]


def graders_tables(results: Results) -> list[Table]:
    """Graders of each task; no table if the rows name no grader."""
    if not results.graded:
        return []
    columns = (
        Column("Task", number=False),
        Column("Score", number=False),
        Column("Grader", number=False),
        Column("Scored", help="Replies that it scored, with context and closed-book"),
        Column("Failed", help="Replies that it could not score; they have no score, not 0"),
    )
    rows = tuple(
        (
            Cell(one.task),
            Cell(one.metric or words.ABSENT),
            Cell(one.grader),
            Cell(words.count(one.scored)),
            Cell(words.count(one.failed), quiet=not one.failed),
        )
        for one in results.graded
    )
    about = " ".join(_said_of_graders(results.graded))
    return [Table("graders", "graders", "Graders", about, columns, rows, denominator="none")]


def _said_of_graders(graded: Sequence[Graded]) -> list[str]:
    said = ["The rule or judge that scored the replies."]
    plain: dict[str, list[str]] = {}
    for one in graded:
        if one.grader.lower().startswith(PLAIN) and one.task not in plain.setdefault(one.grader, []):
            plain[one.grader].append(one.task)
    said += [
        f"{words.listed(tasks)} {'was' if len(tasks) == 1 else 'were'} scored by {grader}, without a judge: a word "
        "overlap, which does not show whether the reply is correct."
        for grader, tasks in plain.items()
    ]
    failed, judged = (sum(getattr(one, name) for one in graded if one.judged) for name in ("failed", "scored"))
    if failed:
        said.append(
            f"{words.count(failed)} of {words.count(failed + judged)} replies for a judge have no judgement and count "
            "as missing: the request failed or was not sent. Run `fathom judge` to complete them."
        )
    for task in dict.fromkeys(one.task for one in graded):
        kinds = {one.grader if one.judged else "" for one in graded if one.task == task and one.scored}
        if len(kinds) > 1:
            said.append(f"The scores of {task} come from different graders and must not be compared with each other.")
    return said
