"""Tables and summaries as GitHub's Markdown, for messages and pull requests."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fathom.printing import printable
from fathom.report import words
from fathom.report.setup_tables import main_table
from fathom.report.setups import ComparedSetups, answer
from fathom.report.summary import WHOLE, Sentence, Summary
from fathom.report.table import Cell, Table

MODELS = 10
"""Models that a summary shows; a page has all of them."""
SENTENCES = 7
SETUP_COLUMNS = ("Setup", "Gain", "Up to the window", "Verdict", "85% of base", "Tokens")
"""Columns of a table of setups that a summary shows."""


_MEANT = re.compile(r"[\\`*|~]|<(?=[A-Za-z/!?])|&(?=#|\w+;)|\](?=[(\[:])|^\[|(?<!\w)_|_(?!\w)")
_LINKED = re.compile(r"(@|#(?=\d)|:(?=//)|\bwww(?=\.))")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def escaped(text: str) -> str:
    """Text without what Markdown, HTML and GitHub's links to users, issues and sites would make of it."""
    plain = _MEANT.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), printable(text))
    return _LINKED.sub("\\1\u200b", plain)


def table_lines(table: Table) -> list[str]:
    """A table as lines; a note is a number in round brackets."""
    lines = [" | ".join(escaped(column.label) for column in table.columns)]
    lines.append(" | ".join("---:" if column.number else "---" for column in table.columns))
    lines += [" | ".join(_cell(cell, table) for cell in row) for row in table.rows]
    return [f"| {line} |" for line in lines]


def _cell(cell: Cell, table: Table) -> str:
    mark = f" ({table.notes.index(cell.note) + 1})" if cell.note else ""
    return escaped(", ".join((f"{cell.text}{mark} {cell.interval}".rstrip(), *cell.below)))


def summary_text(found: Summary, title: str) -> str:
    """A summary of at most 40 lines."""
    parts = [[f"### {escaped(title)}"], [escaped(found.scope)]]
    if found.ranking is not None:
        parts.append(["**Not measured**", *_listed(found.unmeasured, SENTENCES)])
        table = replace(found.ranking, rows=found.ranking.rows[:MODELS])
        more = len(found.ranking.rows) - MODELS
        also = [f"{words.several(more, 'more model')} in the page of the report."] if more > 0 else []
        notes = [f"({number}) {note}" for number, note in enumerate(table.notes, start=1)]
        parts.append(table_lines(table))
        parts.append([escaped(" ".join(filter(None, (*also, table.about, table.divided_by, *notes))))])
    parts.append(["**Largest drops**", *_listed(found.drops, len(found.drops))] if found.drops else [])
    parts.append([escaped(" ".join(found.notes))] if found.notes else [])
    parts.append(["; ".join(f"{escaped(name)}: {_value(name, value)}" for name, value in found.made)])
    return "\n\n".join("\n".join(part) for part in parts if any(part)) + "\n"


def setups_text(compared: ComparedSetups) -> str:
    """A comparison of setups: what each brings, and the main table of each family in a few columns."""
    answers = [answer(one, compared.base) for one in compared.others]
    more = [f"- and {len(answers) - MODELS} more, which the page of the report has"] if len(answers) > MODELS else []
    parts = [["**Setups compared**", *(f"- {escaped(said)}" for said in answers[:MODELS]), *more]]
    for number, (title, family) in enumerate(compared.families, start=1):
        whole = main_table(compared, title, family, number)
        kept = [place for place, column in enumerate(whole.columns) if column.label in SETUP_COLUMNS]
        table = replace(
            whole,
            columns=tuple(whole.columns[place] for place in kept),
            rows=tuple(tuple(row[place] for place in kept) for row in whole.rows[: MODELS + 1]),
        )
        parts += [
            [f"{escaped(title)}:"],
            table_lines(table),
            [escaped(" ".join(filter(None, (table.about, table.divided_by))))],
        ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _listed(sentences: Sequence[Sentence], most: int) -> Iterable[str]:
    shown = sentences if len(sentences) <= most else sentences[: most - 1]
    for one in shown:
        yield f"- **{escaped(one.subject)}** {escaped(one.text)}" if one.subject else f"- {escaped(one.text)}"
    if len(shown) < len(sentences):
        yield f"- and {len(sentences) - len(shown)} more, which the page of the report has"
    if not sentences:
        yield f"- {WHOLE}"


def _value(name: str, value: str) -> str:
    """A value; a command is code."""
    if name != "Command":
        return escaped(value)
    plain = printable(value).replace("`", "'")
    return f"`{plain}`"
