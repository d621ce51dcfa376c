"""The data files of one board: its first view, its cells, why its ranks are what they are, and single questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from fathom.board import shown
from fathom.board.caveats import DROPPED, graded_otherwise
from fathom.board.lines import Line, Table
from fathom.board.model import Estimate, Items
from fathom.board.standing import task_scores
from fathom.printing import printable
from fathom.registry import task_title
from fathom.types import Json
from fathom.types.boards import Board


def board_files(table: Table) -> Iterator[tuple[str, Json]]:
    """The data files of a board: name without its ending, and content."""
    name = table.board.id
    yield f"boards/{name}", _board(table)
    yield f"cells/{name}", _cells(table)
    yield f"pairs/{name}", _pairs(table)
    yield from _items(table)


def _board(table: Table) -> dict[str, Json]:
    board = table.board
    origins = list(dict.fromkeys(line.entry.origin for line in table.lines))
    places = {origin: place for place, origin in enumerate(origins)}
    return {
        "id": board.id,
        "title": board.title,
        "about": printable(" ".join((board.about, *graded_otherwise(board, [line.entry for line in table.lines])))),
        "rule": board.rule,
        "weighting": board.weighting,
        "missingIsZero": board.missing_is_zero,
        "licence": board.licence,
        "citation": board.citation,
        "url": board.url,
        "extras": [
            {"id": name, "title": title, "about": about, "percent": percent, "free": name in board.unbounded}
            for name, (title, about, percent) in board.extras.items()
        ],
        "categories": _categories(board),
        "tasks": [{"id": task, "title": task_title(task)} for task in board.tasks],
        "lengths": list(board.lengths),
        "lengthTasks": list(board.length_tasks),
        "byTask": any(task_scores(board, line.entry) for line in table.lines),
        "origins": [shown.origin(origin) for origin in origins],
        "entries": [_line(board, line, places[line.entry.origin]) for line in table.lines],
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


def _line(board: Board, line: Line, origin: int) -> dict[str, Json]:
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
        "items": any(task in entry.items for task in board.tasks),
    }


def _cells(table: Table) -> dict[str, Json]:
    board = table.board
    over: dict[str, Json] = {}
    by_length: dict[str, Json] = {}
    for line in table.lines:
        estimate = partial(shown.estimate, dropped=DROPPED in line.entry.settings)
        scores, at = task_scores(board, line.entry), lengths_of(line)
        over[line.key] = [estimate(scores.get(task)) for task in board.tasks]
        by_length[line.key] = [
            [[length, estimate(cell)] for length, cell in at.get(task, {}).items()] for task in board.tasks
        ]
    return {"tasks": list(board.tasks), "overTasks": over, "byLength": by_length}


def lengths_of(line: Line) -> Mapping[str, Mapping[int, Estimate | None]]:
    """Scores of a line by task and length, lengths ascending; None where it was asked and has no score."""
    found: dict[str, dict[int, Estimate | None]] = {}
    for (task, length), cell in sorted(line.entry.cells.items(), key=lambda one: one[0]):
        if length:
            found.setdefault(task, {})[length] = cell
    return found


def _pairs(table: Table) -> dict[str, Json]:
    ranking = table.ranking
    upper = np.triu_indices(len(ranking.lines), 1)
    signs = np.where(ranking.ranks.significant, np.where(ranking.differences > 0, "+", "-"), "0")
    return {
        "keys": [table.lines[place].key for place in ranking.lines],
        "d": [shown.number(float(value)) for value in ranking.differences[upper]],
        "e": [shown.number(float(value)) for value in ranking.errors[upper]],
        "p": "".join("1" if paired else "0" for paired in ranking.paired[upper]),
        # Of each line by its own tests, from which its range of ranks comes; not the same in both directions.
        "sure": ["".join(row) for row in signs.tolist()],
    }


def _items(table: Table) -> Iterator[tuple[str, Json]]:
    """Scores of single questions, beside the names of all that some line was asked."""
    lines = [line for line in table.lines if any(task in line.entry.items for task in table.board.tasks)]
    if not lines:
        return
    names: dict[str, list[str]] = {}
    for task in table.board.tasks:
        sets = {line.entry.items[task].names for line in lines if task in line.entry.items}
        if sets:
            names[task] = sorted({name for own in sets for name in own})
    yield f"items/{table.board.id}/names", {task: [printable(name) for name in own] for task, own in names.items()}
    places = {task: {name: place for place, name in enumerate(own)} for task, own in names.items()}
    for line in lines:
        scores = {task: _aligned(line.entry.items[task], places[task]) for task in names if task in line.entry.items}
        yield f"items/{table.board.id}/{line.key}", scores


def _aligned(items: Items, places: Mapping[str, int]) -> list[Json]:
    """The scores at the places of their names; None where a question was not asked."""
    row = np.full(len(places), np.nan)
    row[[places[name] for name in items.names]] = np.round(items.scores, shown.DECIMALS) + 0.0
    return [None if score != score else score for score in row.tolist()]
