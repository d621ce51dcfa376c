"""Differences between the entries of a board, and the ranks that follow from them (``fathom.stats``).

A difference is between two scores as shown on the board. A question that both entries were asked has the same weight
for both in every replicate, so that its difficulty cancels out; entries without common questions are independent.

Published scores have the widest interval that is possible for their mean, so that their tests are conservative. Their
questions may differ from those asked here: as in the papers' tables, a rank only means that a difference is not chance.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from fathom.board.means import SEED, drawn_name, sums_of
from fathom.board.model import Entry, Source, Standing
from fathom.stats.differences import (
    PAIRED_REPLICATES,
    PSEUDO_ITEMS,
    Gap,
    Sums,
    drawn_columns,
    drawn_means,
    pairwise,
    shared_sums,
)
from fathom.stats.intervals import REPLICATES, Floats
from fathom.stats.ranks import Ranks, ranks_of
from fathom.types.boards import Board

OVERALL = ""
"""Name of the overall score among the names of tasks."""


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
class Ranking:
    """The ranked entries of a board, and all differences; entries are identified by their index.

    Attributes:
        lines: Entries with a rank, best first.
        ranks: Their ranks, in this order.
        between: By task (``OVERALL`` for the overall score) and pair of entries: how much higher the first scores.
            Entries without an interval are left out.
    """

    lines: tuple[int, ...]
    ranks: Ranks
    between: Mapping[str, Mapping[tuple[int, int], Difference]]


def ranking(board: Board, entries: Sequence[Entry], standings: Sequence[Standing]) -> Ranking:
    """Ranks the entries whose overall score is complete and has an interval.

    Args:
        board: Their board.
        entries: The entries.
        standings: Their averages, in the same order.
    """
    names = _names(entries)
    values = {n: one.overall.value for n, one in enumerate(standings) if one.overall and one.overall.interval}
    priors = {n: PSEUDO_ITEMS / sum(map(_width, standings[n].sources.values())) for n in values}
    draws = {n: np.zeros(PAIRED_REPLICATES) for n in values}
    common: Counter[tuple[int, int]] = Counter()
    between: dict[str, dict[tuple[int, int], Difference]] = {OVERALL: {}}
    for task in dict.fromkeys([*board.tasks, *(task for n in values for task in standings[n].sources)]):
        every = {n: one.tasks.get(task) or one.sources.get(task) for n, one in enumerate(standings)}
        found = {n: one for n, one in every.items() if one is not None and one.is_known}
        sums, shared = _sums(task, found, names), _shared(found)
        for n, one in sums.items():
            if n in values and task in standings[n].sources:
                draws[n] += standings[n].weights[task] * drawn_columns(one, _columns(one), priors[n]).mean(axis=1)
        common.update(shared)
        if task in board.tasks:
            # No other table shows differences without common questions, so fewer replicates suffice.
            count = PAIRED_REPLICATES if shared else REPLICATES
            alone = {n: drawn_means([_first(one, count)], _columns(one)) for n, one in sums.items()}
            between[task] = _between({n: one.score.value for n, one in found.items()}, alone, shared)
    between[OVERALL] = _between(values, draws, common)
    lines = sorted((n for n in values if standings[n].complete), key=lambda n: (-values[n], n))
    return Ranking(tuple(lines), _ranks(lines, values, between[OVERALL]), between)


def _ranks(lines: Sequence[int], values: Mapping[int, float], between: Mapping[tuple[int, int], Difference]) -> Ranks:
    scores = np.array([values[n] for n in lines], dtype=np.float64)
    p_values = np.ones((len(lines), len(lines)))
    for row, one in enumerate(lines):
        for column, other in enumerate(lines[:row]):
            pair = min(one, other), max(one, other)
            p_values[row, column] = p_values[column, row] = between[pair].gap.p_value
    return ranks_of(scores[:, None] - scores[None, :], p_values)


def _between(
    values: Mapping[int, float], draws: Mapping[int, Floats], shared: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], Difference]:
    places = list(draws)
    if len(places) < 2:
        return {}
    gaps = pairwise([values[n] for n in places], np.stack([draws[n] for n in places]))
    pairs = {(places[one], places[other]): gap for (one, other), gap in gaps.items()}
    return {pair: Difference(gap, shared.get(pair, 0)) for pair, gap in pairs.items()}


def _sums(task: str, found: Mapping[int, Source], names: Sequence[str]) -> dict[int, Sums]:
    """The resampled sums of all entries on one task; the same questions have the same weights."""
    tables = {names[n]: (one.items.names, one.items.scores) for n, one in found.items() if one.items is not None}
    paired = shared_sums(tables, task, SEED) if tables else {}
    return {
        n: paired[names[n]]
        if one.items is not None
        else Sums(*sums_of(one, task, names[n], PAIRED_REPLICATES), SEED, f"{task}\x1f{names[n]}")
        for n, one in found.items()
    }


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


def _shared(found: Mapping[int, Source]) -> dict[tuple[int, int], int]:
    """Number of questions that two entries have in common, if any."""
    asked = {
        n: frozenset(np.array(one.items.names)[~np.isnan(one.items.scores).all(axis=1)].tolist())
        for n, one in found.items()
        if one.items is not None
    }
    counts = {(one, other): len(asked[one] & asked[other]) for one, other in combinations(asked, 2)}
    return {pair: count for pair, count in counts.items() if count}
