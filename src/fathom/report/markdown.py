"""Tables as GitHub's Markdown, for messages and pull requests."""

import re

from fathom.printing import printable
from fathom.report.table import Cell, Table

MODELS = 10
"""Models that a summary shows; a page has all of them."""
_MEANT = re.compile(r"[\\`*|~]|<(?=[A-Za-z/!?])|&(?=#|\w+;)|\](?=[(\[:])|^\[|(?<!\w)_|_(?!\w)")
_LINKED = re.compile(r"(@|#(?=\d)|:(?=//)|\bwww(?=\.))")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def escaped(text: str) -> str:
    """Text without what Markdown, HTML and GitHub's links to users, issues and sites would make of it."""
    plain = _MEANT.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), printable(text))
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
