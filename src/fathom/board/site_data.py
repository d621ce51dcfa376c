"""Data about the site and about models: the files ``site``, ``index`` and ``models/MODEL``."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from fathom.board import shown
from fathom.board.caveats import DROPPED
from fathom.board.model import OF_PAPERS, ModelFacts
from fathom.board.table import Table, TableEntry
from fathom.printing import printable
from fathom.storage.versions import fathom_version
from fathom.types import Json

FORMAT = 1
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
        built: Its date.
        changes: Changes since another site; None for no list.
    """
    return {
        "format": FORMAT,
        "title": printable(title),
        "built": built,
        "fathom": fathom_version(),
        "default": start_board(tables).board.id,
        "boards": [board_summary(table) for table in tables],
        "changes": changes,
    }


def start_board(tables: Sequence[Table]) -> Table:
    """The board that the site begins with: the most informative one.

    That is the one with the most pairs of ranked entries that are significantly different, where only pairs with a
    measured or submitted entry count if there are any on any board. Of boards with as many pairs it is the one with the
    most entries, and of these the first.
    """
    return max(tables, key=lambda table: (*_told_apart(table), len(table.entries)))


def _told_apart(table: Table) -> tuple[int, int]:
    """Numbers of significantly different pairs: those with an entry that no paper published, and all."""
    significant = table.ranking.ranks.significant
    pairs = np.triu(significant | significant.T, 1)
    own = np.array([table.entries[place].entry.origin.provenance not in OF_PAPERS for place in table.ranking.lines])
    return int(pairs[own[:, None] | own[None, :]].sum()) if len(own) else 0, int(pairs.sum())


def index_file(tables: Sequence[Table]) -> dict[str, Json]:
    """All models over all boards: of each model its facts, its newest date, and its best entry on each board.

    An entry is ``[key, score, rank, entries of the model]`` with a score and a rank as on the board; null without any.
    Boards are those of ``site``, in this order.
    """
    by_model: dict[str, list[list[TableEntry]]] = {}
    for place, table in enumerate(tables):
        for line in table.entries:
            by_model.setdefault(line.model_key, [[] for _ in tables])[place].append(line)
    return {"models": [_of_model(key, own) for key, own in sorted(by_model.items())]}


def _of_model(key: str, by_board: Sequence[Sequence[TableEntry]]) -> dict[str, Json]:
    lines = [line for own in by_board for line in own]
    facts: dict[str, Json] = {}
    for line in lines:
        facts = {**shown.model_facts(line.entry.facts), **facts}  # the first entry that states one
    return {
        "key": key,
        "model": printable(lines[0].entry.model),
        "date": max(line.entry.origin.date for line in lines),
        # The first of a board is the one that is complete and has the highest score.
        "boards": [_best(own) if own else None for own in by_board],
        **{name: facts[name] for name in ModelFacts.__dataclass_fields__ if name in facts},
    }


def _best(lines: Sequence[TableEntry]) -> list[Json]:
    line = lines[0]
    overall = shown.estimate(line.standing.overall, DROPPED in line.entry.settings)
    return [line.key, overall, None if line.rank is None else list(line.rank), len(lines)]


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
        "ranked": len(table.ranking.lines),
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
