"""All boards as one plain page, for browsers without JavaScript: ranks and overall scores, and links to the tables."""

from collections.abc import Iterator, Sequence
from html import escape

from fathom.board.table import Table, TableEntry
from fathom.printing import printable

ENDINGS = ("csv", "parquet", "json")
_HEADS = ("Rank", "Model", "Variant", "Overall, %", "95% interval", "Origin", "Date")


def plain_page(tables: Sequence[Table], title: str) -> bytes:
    """The page ``downloads/index.html``.

    Args:
        tables: The boards.
        title: Title of the site.
    """
    name = escape(printable(title))
    parts = [
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{name}: all results</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<h1>{name}</h1>\n<p>Ranks and overall scores without JavaScript. <a href="../index.html">The whole site</a>.',
        f"<p>All data: {_links('all')}",
        "<ul>",
        *(f'<li><a href="#{table.board.id}">{escape(printable(table.board.title))}</a>' for table in tables),
        "</ul>",
        *(part for table in tables for part in _board(table)),
    ]
    return ("\n".join(parts) + "\n").encode("utf-8")


def _links(name: str) -> str:
    return ", ".join(f'<a href="{name}.{ending}">{ending}</a>' for ending in ENDINGS)


def _board(table: Table) -> Iterator[str]:
    board = table.board
    yield f'<h2 id="{board.id}">{escape(printable(board.title))}</h2>'
    yield f"<p>Overall score: {escape(printable(board.rule))}. All scores: {_links(board.id)}"
    yield "<table><thead><tr>" + "".join(f'<th scope="col">{head}' for head in _HEADS) + "<tbody>"
    yield from map(_row, table.entries)
    yield "</table>"


def _row(line: TableEntry) -> str:
    entry, overall = line.entry, line.standing.overall
    rank = "" if line.rank is None else "\u2013".join(map(str, dict.fromkeys(line.rank)))
    ends = None if overall is None else overall.interval
    cells = (
        "" if overall is None else f"{100 * overall.value:.1f}",
        "" if ends is None else f"{100 * ends.low:.1f} to {100 * ends.high:.1f}",
        entry.origin.provenance,
        printable(entry.origin.date),
    )
    names = f'<th scope="row">{escape(printable(entry.model))}<td>{escape(printable(entry.variant))}'
    return f"<tr><td>{rank}{names}" + "".join(f"<td>{escape(cell)}" for cell in cells)
