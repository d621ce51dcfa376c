"""Tables in a terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

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
    return max(Text(line).cell_len for line in _text(cell, table).plain.split("\n"))


def _heading(column: Column) -> str:
    return f"{column.group}: {column.label}" if column.group in ("Effective length", "LongScore") else column.label


def _heading_width(column: Column) -> int:
    return max(len(word) for word in _heading(column).split())


def _block(table: Table, numbers: Sequence[int], widths: Sequence[int]) -> RenderableType:
    grid = RichTable(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim", show_edge=False)
    for number in numbers:
        column = table.columns[number]
        grid.add_column(
            Text(_heading(column)),
            justify="right" if column.number else "left",
            width=widths[number],
            overflow="fold",
            vertical="top",
        )
    for row in table.rows:
        grid.add_row(*(_text(row[number], table, widths[0] if number == 0 else 0) for number in numbers))
    return Padding(grid, (0, 0, 1, 0), expand=False)


def _text(cell: Cell, table: Table, width: int = 0) -> Text:
    content = cell.text + (_mark(table.notes.index(cell.note) + 1) if cell.note else "")
    text = Text(folded(content, width) if width else content, style="dim" if cell.quiet else "")
    for line in cell.small:
        text.append(f"\n{line}", style="dim")
    return text


def _mark(number: int) -> str:
    return str(number).translate(_SUPERSCRIPT)
