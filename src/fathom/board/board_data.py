"""The data files of one board: its first view, its cells, and the differences between its entries."""

from collections.abc import Container, Iterator, Mapping
from functools import partial
from itertools import combinations

import numpy as np

from fathom.board import shown
from fathom.board.caveats import DROPPED, graded_otherwise
from fathom.board.differences import OVERALL, Difference
from fathom.board.model import Estimate
from fathom.board.table import Table, TableEntry
from fathom.printing import printable
from fathom.registry import task_title
from fathom.types import Json
from fathom.types.boards import Board


def board_files(table: Table) -> Iterator[tuple[str, Json]]:
    """The data files of a board: name without its ending, and content."""
    name, by_task = table.board.id, dict(_by_task(table))
    yield f"boards/{name}", _board(table, by_task)
    yield f"cells/{name}", _cells(table)
    yield f"pairs/{name}", _pairs(table)
    yield from ((f"pairs/{name}/{key}", rows) for key, rows in by_task.items())


def _board(table: Table, by_task: Container[str]) -> dict[str, Json]:
    board = table.board
    origins = list(dict.fromkeys(line.entry.origin for line in table.entries))
    places = {origin: place for place, origin in enumerate(origins)}
    return {
        "id": board.id,
        "title": board.title,
        "about": printable(" ".join((board.about, *graded_otherwise(board, [line.entry for line in table.entries])))),
        "rule": board.rule,
        "missingIsZero": board.missing_is_zero,
        "licence": board.licence,
        "citation": board.citation,
        "url": board.url,
        "extras": [
            {"id": name, "title": title, "about": about, "percent": percent}
            for name, (title, about, percent) in board.extras.items()
        ],
        "categories": _categories(board),
        "tasks": [{"id": task, "title": task_title(task)} for task in board.tasks],
        "lengths": list(board.lengths),
        "lengthTasks": list(board.length_tasks),
        "byTask": any(line.standing.tasks for line in table.entries),
        "origins": [shown.origin(origin) for origin in origins],
        "entries": [
            _line(board, line, places[line.entry.origin]) | {"pairs": line.key in by_task} for line in table.entries
        ],
    }


def _categories(board: Board) -> list[Json]:
    return [
        {
            "id": category.id,
            "title": category.title,
            "tasks": list(category.tasks),
            "parts": [{"title": part.title, "tasks": list(part.tasks)} for part in category.parts],
        }
        for category in board.categories
    ]


def _line(board: Board, line: TableEntry, origin: int) -> dict[str, Json]:
    entry, standing = line.entry, line.standing
    estimate = partial(shown.estimate, dropped=DROPPED in entry.settings)
    return {
        "key": line.key,
        "model": printable(entry.model),
        "variant": printable(entry.variant),
        "modelKey": line.model_key,
        "origin": origin,
        "rank": None if line.rank is None else list(line.rank),
        "group": line.group,
        "overall": estimate(standing.overall),
        "asPaper": shown.number(standing.as_paper),
        "asPaperCategories": [
            shown.number(standing.paper_categories.get(category.id)) for category in board.categories
        ],
        "complete": standing.complete,
        "missing": list(standing.missing),
        "unfinished": list(standing.unfinished),
        "fewer": list(standing.fewer),
        "categories": [estimate(standing.categories[category.id]) for category in board.categories],
        "lengths": [estimate(standing.lengths.get(length)) for length in board.lengths],
        "extras": [shown.estimate(entry.extras.get(name)) for name in board.extras],
        "usage": shown.usage(entry.usage),
    }


def _cells(table: Table) -> dict[str, Json]:
    board = table.board
    over: dict[str, Json] = {}
    by_length: dict[str, Json] = {}
    for line in table.entries:
        estimate = partial(shown.estimate, dropped=DROPPED in line.entry.settings)
        at = lengths_of(line)
        scores = {task: one.score for task, one in line.standing.tasks.items()}
        over[line.key] = [estimate(scores.get(task)) for task in board.tasks]
        by_length[line.key] = [
            [[length, estimate(cell)] for length, cell in at.get(task, {}).items()] for task in board.tasks
        ]
    return {"tasks": list(board.tasks), "overTasks": over, "byLength": by_length}


def lengths_of(line: TableEntry) -> Mapping[str, Mapping[int, Estimate | None]]:
    """Scores of an entry by task and length, lengths ascending; None if it was asked and has no score."""
    found: dict[str, dict[int, Estimate | None]] = {}
    for (task, length), cell in sorted(line.entry.cells.items(), key=lambda one: one[0]):
        if length:
            found.setdefault(task, {})[length] = cell
    return found


def _pairs(table: Table) -> dict[str, Json]:
    """The differences of the overall scores of all entries with an interval, those with a rank first."""
    found = table.ranking.between[OVERALL]
    places = sorted({place for pair in found for place in pair} | set(table.ranking.lines))
    significant = table.ranking.ranks.significant
    signs = np.where(significant, np.where(np.triu(significant), "+", "-"), "0")
    return {
        "keys": [table.entries[place].key for place in places],
        "gaps": [_gap(found[pair]) for pair in combinations(places, 2)],
        # By the tests of each entry, which give its range of ranks; not the same in both directions.
        "sure": ["".join(row) for row in signs.tolist()],
    }


def _gap(one: Difference) -> list[Json]:
    """``[difference, low, high, p, common questions]``."""
    gap = one.gap
    return [shown.number(gap.difference), *(shown.interval(gap.interval) or ()), shown.number(gap.p_value), one.shared]


def _by_task(table: Table) -> Iterator[tuple[str, Json]]:
    """Differences of each entry to those below it, by task; 0 if one of the two has no interval."""
    tasks = table.board.tasks
    for place, line in enumerate(table.entries):
        rows: dict[str, Json] = {}
        for below in range(place + 1, len(table.entries)):
            found = [table.ranking.between[task].get((place, below)) for task in tasks]
            if any(found):
                rows[table.entries[below].key] = [0 if one is None else _gap(one) for one in found]
        if rows:
            yield line.key, rows
