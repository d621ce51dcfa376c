"""The section on counts: the outcomes of all requests, by model, task and length."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from fathom.analysis import Counts
from fathom.report import parts, words
from fathom.report.results import Results, System, system_of, total
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Replies, Table, count_cell
from fathom.report.tally import replies_of

ABOUT = (
    "All requests with a context. Unanswered replies are refusals, empty replies and replies without visible text "
    "before the output cap. Replies that were truncated at the output cap are scored as received. Missing are "
    "requests that failed and replies without a judgement; not asked are prompts that an unfinished run has not sent. "
    "Scorer errors are replies on which the task's scorer raised an exception: correct the scorer and make the report "
    "again. Truncated prompts were shortened to fit the window before they were sent."
)
KNOWN = " Excluded closed-book questions are counted here, but not in the means (see Closed-book questions)."
NUMBERS = (
    ("replies", "Replies", ""),
    ("scored", "Scored", "The reply has content and a score"),
    ("invalid", "Invalid", "Scored, but not in the requested form"),
    ("cut", "Truncated", "Reply truncated at the output cap and scored as received"),
    ("unanswered", "Unanswered", "Refused, empty, or without visible text before the output cap"),
    ("overflow", "Overflow", "The prompt did not fit the window"),
    ("missing", "Missing", "The request failed, or the reply was not judged"),
    ("not_asked", "Not asked", "The prompt was never sent: the run is not finished"),
    ("scorer_error", "Scorer errors", "The task's scorer raised an exception on the reply"),
    ("truncated", "Prompt truncated", "The prompt was truncated to fit the model's window"),
    ("tokens_in", "Tokens in", ""),
    ("tokens_out", "Tokens out", ""),
    ("tokens_reasoning", "Reasoning", "Tokens, where the provider counts them"),
)
"""Numbers of ``Counts`` with their columns: name, heading and help."""
COLUMNS = (
    *(Column(label, help=text) for _, label, text in NUMBERS),
    Column("Cost", help="US dollars; a dash if the price is unknown"),
    Column("Time", help="Sum over all requests"),
)
STATUSES = {"cut": "incomplete", "overflow": "overflow", "missing": "error"}
"""The status of the replies behind a number, where they have one."""
Line: TypeAlias = tuple[Cell, Counts | None, Replies]
"""A row: its heading, the counts, and the replies that are counted."""


def _tables(results: Results) -> list[Table]:
    """Outcomes of all requests: per model, then for each model by task and by length."""
    if not results.systems:
        return []
    several, tasks = len(results.systems) > 1, len(results.tasks) > 1
    first = results.systems[0]
    lines = _by_task(results, first) if tasks and not several else _by_model(results)
    rows = _rows(lines)
    if lines[0][0].series is None:
        rows.append((Cell("all tasks"), *count_cells(results.every(first))))
    removed = results.filtered is not None and any(known.removed for known in results.filtered.removed)
    heads = (Column("Task" if tasks and not several else "Model", number=False), *COLUMNS)
    about = ABOUT + (KNOWN if removed else "")
    made = [Table("counts", "", "Counts", about, heads, tuple(rows), denominator="none")]
    for number, system in enumerate(results.systems, start=1):
        if several and tasks:
            made.append(_details(system, number, "task", _by_task(results, system)))
        if len(results.lengths) > 1:
            made.append(_details(system, number, "length", _by_length(results, system)))
    return made


def _details(system: System, number: int, kind: str, lines: Sequence[Line]) -> Table:
    heads = (Column(kind.capitalize(), number=False), *COLUMNS)
    return Table(
        *(f"counts-{number}-{kind}", "", f"{system.name}, by {kind}", "", heads, tuple(_rows(lines))),
        detail=True,
        denominator="none",
    )


def _by_model(results: Results) -> list[Line]:
    return [
        (Cell(system.name, series=number), results.every(system), replies_of(system))
        for number, system in enumerate(results.systems)
    ]


def _by_task(results: Results, system: System) -> list[Line]:
    return [(Cell(task), results.every(system, task), replies_of(system, task)) for task in results.tasks]


def _by_length(results: Results, system: System) -> list[Line]:
    return [
        (Cell(words.length(length)), results.by_length.get((system, length)), replies_of(system, length=length))
        for length in results.lengths
    ]


def _rows(lines: Sequence[Line]) -> list[tuple[Cell, ...]]:
    return [(heading, *count_cells(counts, replies)) for heading, counts, replies in lines]


def count_cells(counts: Counts | None, replies: Replies | None = None) -> list[Cell]:
    """Outcomes of replies, for the columns ``COLUMNS``; ``replies`` are those that are counted."""
    if counts is None:
        return [Cell()] * len(COLUMNS)
    cells = []
    for name, _, _ in NUMBERS:
        number = getattr(counts, name) - (counts.not_asked if name == "missing" else 0)
        status = STATUSES.get(name, "")
        behind = replies._replace(status=status) if replies and status and number else None
        cells.append(replace(count_cell(number), replies=replies if name == "replies" else behind))
    return [
        *cells,
        Cell(words.money(counts.cost), quiet=not counts.cost),
        Cell(words.duration(counts.seconds), quiet=not counts.seconds),
    ]


def _finding(results: Results) -> str:
    counts = [own for system in results.systems if (own := results.every(system))]
    if not counts:
        return ""
    every = total(counts)
    cost = f", {words.money(every.cost)}" if every.cost else ""
    spent = f"{words.count(every.tokens_in)} tokens in, {words.count(every.tokens_out)} out"
    if not (every.tokens_in or every.tokens_out):  # results of programs that do not store them
        spent = "tokens unknown"
    return f"{words.count(every.scored)} of {words.several(every.replies, 'reply')} scored; {spent}{cost}."


def _study_tables(counts: Sequence[Counts]) -> list[Table]:
    """Outcomes of the replies of each model."""
    rows = tuple((Cell(system_of(outcomes).name), *count_cells(outcomes)) for outcomes in counts)
    heads = (Column("Model", number=False), *COLUMNS)
    return [Table("counts", "", "Counts", "", heads, rows, denominator="none")]


SECTION = Section(
    name="counts",
    title="Counts",
    finding=_finding,
    tables=_tables,
    page=lambda results, tables: parts.table_parts(tables, more="By task and by length"),
    tables_class="counts",
    in_notebook=False,
    studies={Counts: _study_tables},
)
