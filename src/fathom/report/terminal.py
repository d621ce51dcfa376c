"""Tables in a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Span, Text

from fathom.printing import console as wide_console
from fathom.printing import folded
from fathom.report.table import Cell, Column, Table

GAP = 2
# Minimum width to which row headings are folded to save a block.
NARROW = 14
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def show(tables: Iterable[Table], console: Console | None = None, *, details: bool = False) -> None:
    """Prints tables.

    Args:
        tables: Tables, as ``report.tables`` makes them.
        console: Where to print; None is standard output.
        details: Whether the breakdowns that are folded on the page are printed too.
    """
    console = console or wide_console()
    for table in tables:
        if details or not table.detail:
            console.print(rendered(table, console.width))


def rendered(table: Table, width: int) -> RenderableType:
    """One table within ``width`` columns of text; a wider one continues below with its row headings repeated."""
    parts: list[RenderableType] = [Text(), Text(table.title, style="bold")]
    if table.about:
        parts.append(Text(table.about, style="dim"))
    if table.divided_by:
        parts.append(Text(table.divided_by, style="dim"))
    widths = _widths(table, width)
    parts.extend(_block(table, block, widths) for block in _blocks(widths, width))
    parts.extend(Text(f"{_mark(number)} {note}", style="dim") for number, note in enumerate(table.notes, start=1))
    return Group(*parts)


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Column numbers of each block: the row headings, then as many columns as fit."""
    blocks, used = [[0]], widths[0]
    for number in range(1, len(widths)):
        if used + widths[number] + GAP > room and len(blocks[-1]) > 1:
            blocks.append([0])
            used = widths[0]
        blocks[-1].append(number)
        used += widths[number] + GAP
    return blocks


def _widths(table: Table, room: int) -> list[int]:
    widths = [
        max([_heading_width(column), *(_width(row[number], table) for row in table.rows)])
        for number, column in enumerate(table.columns)
    ]
    widths = [min(width, room // 2) for width in widths]
    # Row headings are folded first: a folded name takes one more line, a second block repeats them all.
    rest = sum(width + GAP for width in widths[1:])
    widths[0] = min(widths[0], room - rest if room - rest >= NARROW else room // 4)
    return widths


def _width(cell: Cell, table: Table) -> int:
    return max(cell_len(line) for line, _ in _lines(cell, table))


def _heading(column: Column) -> str:
    return f"{column.group}: {column.label}" if column.group in ("Effective length", "LongScore") else column.label


def _heading_width(column: Column) -> int:
    return max(len(word) for word in _heading(column).split())


def _block(table: Table, numbers: Sequence[int], widths: Sequence[int]) -> Text:
    """The lines of some columns; rich's own table takes far longer."""
    columns = [(table.columns[number].number, widths[number]) for number in numbers]
    heading = [[(_heading(table.columns[number]), True)] for number in numbers]
    rows = [[_lines(row[number], table, widths[0] if number == 0 else 0) for number in numbers] for row in table.rows]
    text, spans = "", []
    for cells in (heading, *rows):
        parts = [list(_within(lines, width)) for lines, (_, width) in zip(cells, columns, strict=True)]
        for line in zip_longest(*parts, fillvalue=("", False)):
            made = ""
            for (words, dim), (number, width) in zip(line, columns, strict=True):
                room = " " * (width - cell_len(words))
                made += room if number else ""
                if dim:
                    spans.append(Span(len(text) + len(made), len(text) + len(made) + len(words), "dim"))
                made += words + ("" if number else room) + " " * GAP
            text += made.rstrip() + "\n"
    return Text(text, spans=spans, no_wrap=True, overflow="ignore")


def _within(lines: Iterable[tuple[str, bool]], width: int) -> Iterator[tuple[str, bool]]:
    """Lines of a cell that fit its column; wider ones are folded."""
    for line, dim in lines:
        if cell_len(line) <= width:
            yield line, dim
        else:
            yield from ((part.plain, dim) for part in Text(line).wrap(Console(), width, overflow="fold"))


def _lines(cell: Cell, table: Table, width: int = 0) -> list[tuple[str, bool]]:
    """The lines of a cell, and whether they are dim."""
    content = cell.text + (_mark(table.notes.index(cell.note) + 1) if cell.note else "")
    if width:
        content = folded(content, width)
    return [*((line, cell.quiet) for line in content.split("\n")), *((line, True) for line in cell.small)]


def _mark(number: int) -> str:
    return str(number).translate(_SUPERSCRIPT)
