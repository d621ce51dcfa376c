"""The section on closed-book questions: what models answer without the context, and what is excluded for it."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from fathom.analysis import Filtered, Known
from fathom.printing import printable
from fathom.report import words
from fathom.report.results import Results, System, system_of
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Fields, Table, count_cell, score_cell, table_of

POLICIES = {
    "own": "for each model, the questions that it answers closed-book are excluded, as in the paper",
    "intersection": "a question that any of the models answers closed-book is excluded for all",
    "panel": "a question that any model of the panel answers closed-book is excluded for all",
    "none": "no question is excluded",
}
SAME = "All models are compared on the same questions; in the paper each excludes its own (policy own)."
NUMBERS = (
    ("asked", "Asked", "Closed-book", "Questions asked closed-book"),
    ("known", "Answered", "Closed-book", "The closed-book score reaches the threshold"),
    ("abstained", "Abstained", "Closed-book", "The answer says that it cannot be known"),
    ("unscored", "No score", "Closed-book", "The request or its grading failed"),
    ("removed", "Excluded", "By the filter", "Questions excluded from this model's results, at all lengths"),
)
"""Numbers of ``Known`` with their columns: name, heading, group and help."""


def _count(known: Known, *, name: str) -> Cell:
    return count_cell(getattr(known, name))


FIELDS: Fields[Known] = (
    (Column("Task", number=False), lambda known: Cell(printable(known.task))),
    (
        Column("Questions", help="Asked with a context, each counted once"),
        lambda known: Cell(words.count(known.questions)),
    ),
    (
        Column("Score", group="Closed-book", help="Mean closed-book score, percent; abstentions count 0"),
        lambda known: score_cell(known.score, known.interval),
    ),
    *((Column(label, group=group, help=text), partial(_count, name=name)) for name, label, group, text in NUMBERS),
    (
        Column("Share", group="By the filter", help="Of its questions, percent", denominator="asked"),
        lambda known: Cell(words.percent(known.share), quiet=not known.removed),
    ),
)


def sentence_on_filter(filtered: Filtered) -> str:
    """One sentence on what the closed-book filter excluded, and under which policy."""
    if filtered.policy == "none":
        known = sum(answers.known for answers in filtered.removed)
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
    gone, asked = Counter[str](), Counter[str]()
    for known in filtered.removed:
        gone[_system(known).name] += known.removed
        asked[_system(known).name] += known.questions
    return words.listed(
        [f"{words.count(gone[name])} of {words.count(asked[name])} questions of {name}" for name in asked]
    )


def _system(known: Known) -> System:
    return System(printable(known.model), printable(known.variant))


def _tables(results: Results) -> list[Table]:
    """What each model answers closed-book, by task; no table if no question was asked closed-book."""
    filtered = results.filtered
    if filtered is None or not filtered.removed:
        return []
    number = {system: place for place, system in enumerate(results.systems)}
    ordered = sorted(filtered.removed, key=lambda known: number.get(_system(known), len(number)))
    about = (
        "Questions that a model answers without the context do not measure how it uses the context. A question is "
        f"answered closed-book if its score without the context is {words.percent(filtered.threshold)}% or more; an "
        f"answer that says “unanswerable” never is. Policy {filtered.policy}: {POLICIES[filtered.policy]}."
    )
    several = filtered.policy == "intersection" and len(results.systems) > 1
    about = " ".join((about, *([SAME] if several else []), *map(printable, filtered.notes)))
    model = Column("Model", number=False), lambda known: Cell(_system(known).name, series=number.get(_system(known)))
    return [table_of("known", "Closed-book questions", (model, *FIELDS), ordered, about=about, denominator="scored")]


def _study_tables(known: Sequence[Known]) -> list[Table]:
    """What each model answers closed-book."""
    model = Column("Model", number=False), lambda answers: Cell(system_of(answers).name)
    return [table_of("known", "Closed-book", (model, *FIELDS), known, denominator="scored")]


SECTION = Section(
    name="known",
    title="Closed-book questions",
    finding=lambda results: sentence_on_filter(results.filtered) if results.filtered is not None else "",
    tables=_tables,
    tables_class="counts",
    studies={Known: _study_tables},
)
