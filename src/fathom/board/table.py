"""A board that is ready to be shown: its entries in order, with keys, averages and ranks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fathom.board.differences import Pairs, Ranking, ranking
from fathom.board.keys import keys
from fathom.board.model import PROVENANCES, Entry, Standing
from fathom.board.part_differences import part_differences
from fathom.board.standing import questions_asked, standing
from fathom.types.boards import Board


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One entry of a board, ready to be shown.

    Attributes:
        key: Its name in data and addresses, unique on the board.
        model_key: The name of its model, unique over all boards.
        entry: The result.
        standing: Its averages.
        rank: Best and worst rank; None without a rank.
        group: Number of its tie group, from 1; None without a rank.
    """

    key: str
    model_key: str
    entry: Entry
    standing: Standing
    rank: tuple[int, int] | None = None
    group: int | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A board with its entries, the complete ones first, each part by overall score, highest first.

    ``ranking`` and ``parts`` (the differences by category and length) identify entries by index.
    """

    board: Board
    entries: tuple[TableEntry, ...]
    ranking: Ranking
    parts: Mapping[str, Pairs]


def model_keys(entries: Mapping[str, Sequence[Entry]]) -> dict[str, str]:
    """A key for each model of all boards; submitted names cannot take the key of a paper's model."""
    models = list(
        dict.fromkeys(entry.model for entry in _in_order([entry for own in entries.values() for entry in own]))
    )
    return dict(zip(models, keys((model,) for model in models), strict=True))


def table(board: Board, entries: Sequence[Entry], models: Mapping[str, str]) -> Table:
    """The entries of a board, ready to be shown.

    Args:
        board: The board.
        entries: Its entries, in any order.
        models: Keys of models.
    """
    ordered = _in_order(entries)
    # Origins are part of the name, so that an entry keeps its key when others of its model are added or removed.
    named = keys((entry.model, entry.variant, entry.origin.provenance, entry.origin.title) for entry in ordered)
    most = questions_asked(board, ordered)
    standings = [standing(board, entry, most) for entry in ordered]
    places = sorted(range(len(ordered)), key=lambda place: (_place(standings[place]), named[place]))
    sorted_entries, sorted_standings = [ordered[place] for place in places], [standings[place] for place in places]
    ranked = ranking(board, sorted_entries, sorted_standings)
    lines = [
        TableEntry(named[place], models[ordered[place].model], ordered[place], standings[place]) for place in places
    ]
    ranks = ranked.ranks
    for line, best, worst, group in zip(ranked.lines, ranks.best, ranks.worst, ranks.groups, strict=True):
        lines[line] = replace(lines[line], rank=(int(best), int(worst)), group=int(group))
    parts = part_differences(board, sorted_entries, sorted_standings, ranked.between)
    return Table(board, tuple(lines), ranked, parts)


def _in_order(entries: Sequence[Entry]) -> list[Entry]:
    """In an order that does not depend on that of files: the first of several equal names keeps the plain key."""
    return sorted(
        entries,
        key=lambda entry: (
            PROVENANCES.index(entry.origin.provenance),
            entry.origin.date,
            entry.origin.title,
            entry.model,
            entry.variant,
        ),
    )


def _place(averages: Standing) -> tuple[bool, float]:
    value = -math.inf if averages.overall is None else averages.overall.value
    return not averages.complete, -value
