"""Data about the site and about models: the files ``site`` and ``models/MODEL``."""

from collections import Counter
from collections.abc import Iterator, Sequence

from fathom.board import shown
from fathom.board.table import Table, TableEntry
from fathom.printing import printable
from fathom.run.manifest import fathom_version
from fathom.types import Json

FORMAT = 1
DEFAULT = "leader-128k"
UNDATED = "undated"


def newest(tables: Sequence[Table]) -> str:
    """The date of the newest result, ``YYYY-MM-DD``; the first day for a month."""
    dates = [line.entry.origin.date for table in tables for line in table.entries if line.entry.origin.date]
    last = max(dates, default="")
    return f"{last}-01" if len(last) == len("2026-01") else last or UNDATED


def site_file(tables: Sequence[Table], *, title: str, built: str, changes: Json = None) -> dict[str, Json]:
    """Data for all pages.

    Args:
        tables: The boards, in order.
        title: Title of the site.
        built: Its date.
        changes: Changes since another site; None for no list.
    """
    shown_first = [table.board.id for table in tables if table.board.id == DEFAULT] or [tables[0].board.id]
    return {
        "format": FORMAT,
        "title": printable(title),
        "built": built,
        "fathom": fathom_version(),
        "default": shown_first[0],
        "boards": [board_summary(table) for table in tables],
        "changes": changes,
    }


def board_summary(table: Table) -> dict[str, Json]:
    """Summary of a board: description, and numbers of entries, models, tasks and unpublished entries."""
    board = table.board
    kinds = Counter(line.entry.origin.provenance for line in table.entries)
    return {
        "id": board.id,
        "title": board.title,
        "about": board.about,
        "lines": len(table.entries),
        "models": len({line.model_key for line in table.entries}),
        "tasks": len(board.tasks),
        "measured": kinds["measured"],
        "submitted": kinds["submitted"],
    }


def model_files(tables: Sequence[Table]) -> Iterator[tuple[str, Json]]:
    """The data files of models: name without suffix, and content."""
    lines: dict[str, list[tuple[str, TableEntry]]] = {}
    for table in tables:
        for line in table.entries:
            lines.setdefault(line.model_key, []).append((table.board.id, line))
    for key, own in lines.items():
        model = printable(own[0][1].entry.model)
        yield f"models/{key}", {"model": model, "entries": [_line(board, line) for board, line in own]}


def _line(board: str, line: TableEntry) -> dict[str, Json]:
    entry = line.entry
    return {
        "board": board,
        "key": line.key,
        "variant": printable(entry.variant),
        "origin": shown.origin(entry.origin),
        "settings": shown.settings(entry.settings),
        "usage": shown.usage(entry.usage),
        "outcomes": dict(entry.outcomes),
    }
