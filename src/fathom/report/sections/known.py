"""The section on closed-book questions: what models answer without the context, and what is excluded for it."""

from collections.abc import Sequence
from functools import partial

from fathom.analysis import Known
from fathom.printing import printable
from fathom.report import words
from fathom.report.results import Results, system_of
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Fields, Table, count_cell, score_cell, table_of
from fathom.report.tally import POLICIES, sentence_on_filter, system_of_known

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


def _tables(results: Results) -> list[Table]:
    """What each model answers closed-book, by task; no table if no question was asked closed-book."""
    filtered = results.filtered
    if filtered is None or not filtered.removed:
        return []
    number = {system: place for place, system in enumerate(results.systems)}
    ordered = sorted(filtered.removed, key=lambda known: number.get(system_of_known(known), len(number)))
    about = (
        "Questions that a model answers without the context do not measure how it uses the context. A question is "
        f"answered closed-book if its score without the context is {words.percent(filtered.threshold)}% or more; an "
        f"answer that says “unanswerable” never is. Policy {filtered.policy}: {POLICIES[filtered.policy]}."
    )
    several = filtered.policy == "intersection" and len(results.systems) > 1
    about = " ".join((about, *([SAME] if several else []), *map(printable, filtered.notes)))
    model = (
        Column("Model", number=False),
        lambda known: Cell(system_of_known(known).name, series=number.get(system_of_known(known))),
    )
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
