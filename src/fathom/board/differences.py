"""Differences between the entries of a board, and the ranks that follow from them (``fathom.stats``).

A difference is between two scores as shown on the board. A question that both entries were asked has the same weight
for both in every replicate, so that its difficulty cancels out; entries without common questions are independent.

Published scores have the widest interval that is possible for their mean, so that their tests are conservative. Their
questions may differ from those asked here: as in the papers' tables, a rank only means that a difference is not chance.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fathom.board.means import SEED, drawn_name, sums_of
from fathom.board.model import Entry, Source, Standing
from fathom.stats.differences import (
    PAIRED_REPLICATES,
    PSEUDO_ITEMS,
    Gap,
    Gaps,
    Sums,
    drawn_columns,
    drawn_means,
    gaps_between,
    shared_sums,
)
from fathom.stats.intervals import REPLICATES, Floats
from fathom.stats.ranks import Ranks, ranks_of
from fathom.types.boards import Board

OVERALL = ""
"""Name of the overall score among the names of tasks."""
MANY = 200
"""Entries up to which every two are compared on every task too."""
NEAR = 100
"""On larger boards an entry is compared task by task with so many entries that follow it in the order of the board."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher one entry scores than another.

    Attributes:
        gap: The difference with its interval and p-value.
        shared: Number of questions in common, as far as known.
    """

    gap: Gap
    shared: int


@dataclass(frozen=True, slots=True, eq=False)
class Pairs(Mapping[tuple[int, int], Difference]):
    """Differences between entries on one score, by their indices on the board.

    Attributes:
        gaps: The differences.
        shared: Numbers of common questions, in the order of the differences.
    """

    gaps: Gaps
    shared: NDArray[np.int64]

    def __getitem__(self, pair: tuple[int, int]) -> Difference:
        places = self.gaps.places
        return Difference(self.gaps[pair], int(self.shared[self.gaps.at(*map(places.index, pair))]))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.gaps)

    def __len__(self) -> int:
        return len(self.gaps)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The ranked entries of a board, and all differences; entries are identified by their index.

    Attributes:
        lines: Entries with a rank, best first.
        ranks: Their ranks, in this order.
        between: By task (``OVERALL`` for the overall score): how much higher the first of two entries scores. Entries
            without an interval are left out.
    """

    lines: tuple[int, ...]
    ranks: Ranks
    between: Mapping[str, Pairs]


def ranking(
    board: Board, entries: Sequence[Entry], standings: Sequence[Standing], done: Callable[[], None] = lambda: None
) -> Ranking:
    """Ranks the entries whose overall score is complete and has an interval.

    Args:
        board: Their board.
        entries: The entries.
        standings: Their averages, in the same order.
        done: Called after each entry.
    """
    names = _names(entries)
    values = {n: one.overall.value for n, one in enumerate(standings) if one.overall and one.overall.interval}
    priors = {n: PSEUDO_ITEMS / sum(map(_width, standings[n].sources.values())) for n in values}
    draws = {n: np.zeros(PAIRED_REPLICATES) for n in values}
    common = np.zeros((len(entries), len(entries)), dtype=np.int64)
    near = None if len(entries) <= MANY else NEAR
    between: dict[str, Pairs] = {}
    for task in dict.fromkeys([*board.tasks, *(task for n in values for task in standings[n].sources)]):
        every = {n: one.tasks.get(task) or one.sources.get(task) for n, one in enumerate(standings)}
        found = {n: one for n, one in every.items() if one is not None and one.is_known}
        shared = _shared(found, len(entries))
        common += shared
        # No other table shows differences without common questions, so fewer replicates suffice.
        count = PAIRED_REPLICATES if shared.any() else REPLICATES
        alone: dict[int, Floats] = {}
        for n, one in _sums(task, found, names):
            if n in values and task in standings[n].sources:
                draws[n] += standings[n].weights[task] * drawn_columns(one, _columns(one), priors[n]).mean(axis=1)
            if task in board.tasks:
                alone[n] = drawn_means([_first(one, count)], _columns(one))
        if task in board.tasks:
            scores = {n: one.score.value for n, one in found.items()}
            between[task] = _between(scores, alone, shared, near)
    between[OVERALL] = _between(values, draws, common, None, done)
    lines = sorted((n for n in values if standings[n].complete), key=lambda n: (-values[n], n))
    return Ranking(tuple(lines), _ranks(lines, values, between[OVERALL]), between)


def _ranks(lines: Sequence[int], values: Mapping[int, float], between: Pairs) -> Ranks:
    scores = np.array([values[n] for n in lines], dtype=np.float64)
    places = np.searchsorted(between.gaps.places, lines)
    p_values = np.ones((len(values), len(values)))
    rows, columns = np.triu_indices(len(values), 1)
    p_values[rows, columns] = p_values[columns, rows] = between.gaps.numbers[:, 3]
    return ranks_of(scores[:, None] - scores[None, :], p_values[np.ix_(places, places)])


def _between(
    values: Mapping[int, float],
    draws: Mapping[int, Floats],
    shared: NDArray[np.int64],
    reach: int | None,
    done: Callable[[], None] = lambda: None,
) -> Pairs:
    places = sorted(draws)
    stacked = np.stack([draws[n] for n in places]) if places else np.empty((0, 0))
    gaps = gaps_between(places, [values[n] for n in places], stacked, reach, done)
    pairs = np.array(list(gaps), dtype=np.int64).reshape(-1, 2)
    return Pairs(gaps, shared[pairs[:, 0], pairs[:, 1]])


def _sums(task: str, found: Mapping[int, Source], names: Sequence[str]) -> Iterator[tuple[int, Sums]]:
    """The resampled sums of all entries on one task; the same questions have the same weights."""
    asked = {n: (one.items.names, one.items.scores) for n, one in found.items() if one.items is not None}
    questions = sorted({name for own, _ in asked.values() for name in own})
    places = list(asked)
    for start in range(0, len(places), MANY):  # of all entries at once they need gigabytes
        tables = {names[n]: asked[n] for n in places[start : start + MANY]}
        paired = shared_sums(tables, task, SEED, questions=questions)
        yield from ((n, paired[names[n]]) for n in places[start : start + MANY])
    for n, one in found.items():
        if one.items is None:
            name = f"{task}\x1f{names[n]}"
            yield n, Sums(*sums_of(one, task, names[n], PAIRED_REPLICATES), SEED, name)


def _columns(sums: Sums) -> range:
    return range(sums.scored.shape[1])


def _first(sums: Sums, replicates: int) -> Sums:
    return replace(sums, scored=sums.scored[:replicates], mass=sums.mass[:replicates])


def _width(source: Source) -> int:
    return len(source.printed) if source.items is None else source.items.scores.shape[1]


def _names(entries: Sequence[Entry]) -> list[str]:
    """Unique names for drawing replicates: two results of one model are two draws."""
    seen: Counter[str] = Counter()
    names = []
    for one in entries:
        name = drawn_name(one)
        names.append(f"{name}\x1f{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return names


def _shared(found: Mapping[int, Source], entries: int) -> NDArray[np.int64]:
    """Number of questions that two entries have in common, entries x entries."""
    asked = {
        n: np.array(one.items.names)[~np.isnan(one.items.scores).all(axis=1)].tolist()
        for n, one in found.items()
        if one.items is not None
    }
    columns = {name: column for column, name in enumerate(sorted({name for own in asked.values() for name in own}))}
    there = np.zeros((entries, len(columns)), dtype=np.float32)  # exact up to 2 ** 24 questions
    for n, own in asked.items():
        there[n, [columns[name] for name in own]] = 1
    shared = (there @ there.T).astype(np.int64)
    np.fill_diagonal(shared, 0)
    return shared
