"""Makes text from outside safe for a terminal and a page: no control characters, wrapped at separators."""

import html
import json
import os
import re
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

Kind = TypeVar("Kind")
RECORDS = 30
"""Maximum number of values of a field in a table; the others are counted."""

# Before "?" and "&", after the others, so that a query starts a new line.
_SEAM = re.compile(r"(?<=[/=_\-·,])|(?=[?&])")
# Zero-width joiners are needed in Persian, Indic scripts and emoji, and are harmless.
_JOINERS = "\u200c\u200d"


def _harmful(character: str) -> bool:
    category = unicodedata.category(character)
    return (category[0] == "C" or category in ("Zl", "Zp")) and character not in _JOINERS


def printable(text: str) -> str:
    """Text without control, direction and line characters, which could rewrite a line or a terminal.

    Args:
        text: Any text, such as a model's name.

    Returns:
        Text of the same length on one line; replaced characters become U+FFFD.
    """
    if text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if _harmful(character) else character for character in text)


def printable_json(text: str) -> str:
    """Equivalent JSON text in which the characters that ``printable`` replaces are escaped."""
    if text.isprintable():
        return text
    # A line end in JSON is between values; within strings it is already escaped.
    return "\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n"))


def _escaped(line: str) -> str:
    return "".join(json.dumps(letter)[1:-1] if _harmful(letter) else letter for letter in line)


def several(number: int, noun: str, plural: str = "") -> str:
    """ "1 model", "3 models", "4,608 replies"; the plural is given where "s" or "ies" does not make it."""
    regular = f"{noun[:-1]}ies" if noun.endswith("y") and not noun.endswith(("ay", "ey")) else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural or regular}"


def pieces(text: str) -> list[str]:
    """A name split after the separators at which it may be wrapped: "/", "?", "&", "=", "-", "_"."""
    return [piece for piece in _SEAM.split(text) if piece]


def folded(text: str, width: int) -> str:
    """Wrap text to lines of at most ``width`` terminal columns.

    Args:
        text: One line; words that are too long are split at the separators of ``pieces``, or anywhere.
        width: Columns, 2 or more; Chinese characters take two.
    """
    from rich.cells import cell_len, chop_cells

    lines: list[str] = []
    for word in text.split(" "):
        if lines and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
            continue
        lines.append("")
        for piece in [word] if cell_len(word) <= width else pieces(word):
            if cell_len(lines[-1] + piece) <= width:
                lines[-1] += piece
            else:
                lines.extend(chop_cells(piece, width))
    return "\n".join(line for line in lines if line)


def readable(kind: type[Kind]) -> type[Kind]:
    """Make a dataclass show itself as one line for each field that holds something, in consoles and in notebooks.

    A field with values of one dataclass, such as the checks of a diagnosis, is a table below its name.
    """
    named: Any = kind

    def entries_of(self: Any) -> list[tuple[str, str, list[list[str]]]]:
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return [(name, text, _records(value)) for name, value in values if (text := _short(value))]

    def as_text(self: Any) -> str:
        entries = entries_of(self)
        width = max((len(name) for name, _, _ in entries), default=0)
        lines = [kind.__name__]
        for name, text, records in entries:
            lines.append(f"  {name:{width}}  {text if not records else ''}".rstrip())
            widths = [max(map(len, column)) for column in zip(*records, strict=True)]
            for record in records:
                cells = (f"{cell:{room}}" for cell, room in zip(record, widths, strict=True))
                lines.append(f"    {'  '.join(cells)}".rstrip())
        return "\n".join(lines)

    def as_html(self: Any) -> str:
        lines = (
            f"<tr><th>{name}</th><td>{_html_records(records) if records else html.escape(text)}</td></tr>"
            for name, text, records in entries_of(self)
        )
        return f"<table><caption>{kind.__name__}</caption>{''.join(lines)}</table>"

    named.__repr__, named._repr_html_ = as_text, as_html
    return kind


def _records(value: Any) -> list[list[str]]:
    """The first values of one dataclass as lines of cells, the names of the fields that hold something before them."""
    several = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    kinds = {type(value) for value in several}
    if len(kinds) != 1 or not is_dataclass(kind := kinds.pop()):
        return []
    lines = [[_short(getattr(value, field.name)) for field in fields(kind)] for value in several[:RECORDS]]
    held = [number for number, column in enumerate(zip(*lines, strict=True)) if any(column)]
    rest = len(several) - len(lines)
    table = [[fields(kind)[number].name for number in held], *([line[number] for number in held] for line in lines)]
    return [*table, [f"... {rest} more", *[""] * (len(held) - 1)]] if rest else table


def _html_records(records: list[list[str]]) -> str:
    first, *rest = ("".join(f"<td>{html.escape(cell)}</td>" for cell in record) for record in records)
    headings = first.replace("td>", "th>")
    return f"<table><tr>{headings}</tr>{''.join(f'<tr>{line}</tr>' for line in rest)}</table>"


def _short(value: Any) -> str:
    """A value in at most a line."""
    if value is None or isinstance(value, str | Path):
        text = "" if value is None else str(value)
    elif is_dataclass(value) and not isinstance(value, type):
        text = _short({field.name: getattr(value, field.name) for field in fields(value)})
    elif isinstance(value, Mapping):
        # A count of 0, such as that of replies that failed, would push out what did happen.
        parts = {name: part for name, part in value.items() if part not in (None, "", 0, (), [], {})}
        text = ", ".join(f"{name} {_short(part)}" for name, part in parts.items())
    elif hasattr(value, "shape"):
        text = f"{' x '.join(map('{:,}'.format, value.shape))} values"
    elif isinstance(value, Sequence):
        text = ", ".join(map(_short, value)) if len(value) <= 8 else f"{len(value):,} values"
    else:
        whole = isinstance(value, int) and not isinstance(value, bool)
        text = (
            f"{value:,}" if whole else f"{value:.4g}" if isinstance(value, float) and abs(value) < 1e4 else str(value)
        )
    return textwrap.shorten(printable(text), 100, placeholder=" ...") if text else ""


PIPED = 2000
"""Columns of text where nobody looks at a terminal: lines are not folded, so that other programs find names whole."""


def console() -> "Console":
    """Standard output for tables: as wide as the terminal, or ``COLUMNS``; not folded in a pipe or a file."""
    from rich.console import Console

    known = (sys.stdout is not None and sys.stdout.isatty()) or os.environ.get("COLUMNS", "").isdecimal()
    return Console() if known else Console(width=PIPED)
