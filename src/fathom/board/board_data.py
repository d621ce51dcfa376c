"""The data files of one board: its first view, its cells, and the differences between its entries."""

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.board import shown
from fathom.board.caveats import DROPPED, graded_otherwise
from fathom.board.differences import MANY, NEAR, OVERALL, Pairs
from fathom.board.model import Estimate
from fathom.board.table import Table, TableEntry
from fathom.printing import printable
from fathom.stats.differences import Gaps
from fathom.suites.registry import task_title
from fathom.types import Json
from fathom.types.boards import Board

Ints: TypeAlias = NDArray[np.int64]


def board_files(table: Table) -> Iterator[tuple[str, Json]]:
    """The data files of a board: name without its ending, and content; those of entries one by one."""
    name, differences = table.board.id, _Differences(table)
    yield f"boards/{name}", _board(table, differences.keys)
    yield f"cells/{name}", _cells(table)
    for key in differences.keys:
        yield f"pairs/{name}/{key}", differences.entry(key)


def _board(table: Table, paired: Container[str]) -> dict[str, Json]:
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
        "near": None if len(table.entries) <= MANY else NEAR,
        "byTask": any(line.standing.tasks for line in table.entries),
        "origins": [shown.origin(origin) for origin in origins],
        "entries": [
            _line(board, line, places[line.entry.origin]) | {"pairs": line.key in paired} for line in table.entries
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
        "substituted": list(standing.substituted),
        "categories": [estimate(standing.categories[category.id]) for category in board.categories],
        "lengths": [estimate(standing.lengths.get(length)) for length in board.lengths],
        "extras": [shown.estimate(entry.extras.get(name)) for name in board.extras],
        "usage": shown.usage(entry.usage),
        **shown.model_facts(entry.facts),
    }


def _cells(table: Table) -> dict[str, Json]:
    board = table.board
    over: dict[str, Json] = {}
    by_length: dict[str, Json] = {}
    for line in table.entries:
        estimate = partial(shown.estimate, dropped=DROPPED in line.entry.settings)
        at = lengths_of(line)
        scores = {task: source.score for task, source in line.standing.tasks.items()}
        over[line.key] = [estimate(scores.get(task)) for task in board.tasks]
        by_length[line.key] = [
            [[length, estimate(cell)] for length, cell in at.get(task, {}).items()] for task in board.tasks
        ]
    return {"tasks": list(board.tasks), "overTasks": over, "byLength": by_length}


def lengths_of(line: TableEntry) -> Mapping[str, Mapping[int, Estimate | None]]:
    """Scores of an entry by task and length, lengths ascending; None if it was asked and has no score."""
    by_task: dict[str, dict[int, Estimate | None]] = {}
    for (task, length), cell in sorted(line.entry.cells.items(), key=lambda item: item[0]):
        if length:
            by_task.setdefault(task, {})[length] = cell
    return by_task


class _Differences:
    """The differences of each entry, one file for each.

    A file has ``sure``, how the entry differs from each of the ranked entries in the order of the board ("+" and "-" if
    significantly, or "0"; "" for an entry without a rank); ``overall``, the columns of its differences to all entries
    whose overall score has an interval, in the order of the board and with 0 for itself: difference, low, high, p,
    common questions; ``tasks``, by the key of an entry below it, a list of these five numbers or 0 for each task; and
    ``parts``, the same without p for each category and then for each length.
    All but the numbers of questions are in units of 0.00001.
    """

    def __init__(self, table: Table) -> None:
        self.places = {line.key: place for place, line in enumerate(table.entries)}
        self.table, self.between = table, table.ranking.between
        overall = self.between[OVERALL]
        self.known = overall.gaps.places
        significant = table.ranking.ranks.significant
        # By the test of all differences together, which gives the ranges of ranks.
        signs = np.where(significant, np.where(np.triu(significant), "+", "-"), "0")
        self.signs = dict(zip(table.ranking.lines, ("".join(row) for row in signs.tolist()), strict=True))
        self.rows = {name: _rows(self.between[name]) for name in (OVERALL, *table.board.tasks)}
        self.tasks = [(self.between[task].gaps, self.rows[task]) for task in table.board.tasks]
        self.parts = [(pairs.gaps, np.delete(_rows(pairs), 3, axis=1)) for pairs in table.parts.values()]
        every = (*self.between.values(), *table.parts.values())
        some = {place for pairs in every if len(pairs) for place in pairs.gaps.places}
        self.keys = {key: None for key, place in self.places.items() if place in some}

    def entry(self, key: str) -> Json:
        """The file of one entry."""
        place = self.places[key]
        columns = self._overall(place).T.tolist() if place in self.known else []
        return {
            "sure": self.signs.get(place, ""),
            "overall": columns,
            "tasks": self._below(place, self.tasks),
            "parts": self._below(place, self.parts),
        }

    def _overall(self, place: int) -> Ints:
        """Differences to all entries, entries x 5."""
        rows, gaps = self.rows[OVERALL], self.between[OVERALL].gaps
        own = self.known.index(place)
        above = rows[[gaps.at(other, own) for other in range(own)]]
        turned = above[:, [0, 2, 1, 3, 4]] * (-1, -1, -1, 1, 1)
        start = gaps.at(own, own + 1) if own + 1 < len(self.known) else len(rows)
        return np.concatenate(
            [turned, np.zeros((1, 5), dtype=np.int64), rows[start : start + len(self.known) - own - 1]]
        )

    def _below(self, place: int, tables: Sequence[tuple[Gaps, Ints]]) -> dict[str, Json]:
        """Differences to entries below, each in all tables."""
        below: dict[str, list[Json]] = {}
        for n, (gaps, rows) in enumerate(tables):
            if place not in gaps.places:
                continue
            own = gaps.places.index(place)
            for other in range(own + 1, min(own + 1 + gaps.reach, len(gaps.places))):
                row = below.setdefault(self.table.entries[gaps.places[other]].key, [0] * len(tables))
                row[n] = rows[gaps.at(own, other)].tolist()
        return dict(below)


def _rows(pairs: Pairs) -> Ints:
    """Difference, low, high, p in units of 0.00001, and common questions."""
    scaled = np.rint(pairs.gaps.numbers * 10**shown.DECIMALS).astype(np.int64)
    return np.column_stack([scaled, pairs.shared])
