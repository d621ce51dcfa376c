"""Differences between the entries of a board, and the ranks that follow from them (``fathom.stats``).

A difference is between two scores as shown on the board. A question that both entries were asked has the same weight
for both in every replicate, so that its difficulty cancels out. Entries that were asked different tasks, lengths or
questions are compared on what both were asked; those without common questions are independent.

Published scores have the widest interval that is possible for their mean, so that their tests are conservative. Their
questions may differ from those asked here: as in the papers' tables, a rank only means that a difference is not chance.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.board.caveats import counted_lengths
from fathom.board.means import SEED, drawn_name, sums_of
from fathom.board.model import Entry, Items, Source, Standing
from fathom.board.standing import weights
from fathom.stats.differences import Gap, Gaps, gaps_between, pseudo_streams
from fathom.stats.flips import DRAWN, flip_p_values, noise_of
from fathom.stats.intervals import (
    LEVEL,
    REPLICATES,
    Floats,
    Interval,
    clusters_of,
    kept_draws,
    resampled_sums,
    shuffled,
)
from fathom.stats.ranks import MaxT, Ranks, ranks_of
from fathom.stats.shared import SharedScores, TaskScores
from fathom.stats.strata import Stratum, added_up, strata, within_stratum
from fathom.types.boards import Board

OVERALL = ""
"""Name of the overall score among the names of tasks."""
MANY = 200
"""Entries up to which every two are compared on every task too."""
FEW = 40
"""Entries up to which p-values are those of each pair; on larger boards all pairs share their random signs."""
NEAR = 100
"""On larger boards an entry is compared task by task with so many entries that follow it in the order of the board."""
_BLOCK = 64  # differences at once: 5 MB of random signs
_ROUNDED = 1e-6  # error of sums with four bytes of what clusters add to a score, which is at most 1 in all
_ALONE = 2_000
"""Replicates of differences on a task of which no two entries share a question: no other table shows them."""


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


@kept_draws()  # entries with as many questions share them
def ranking(
    board: Board, entries: Sequence[Entry], standings: Sequence[Standing], done: Callable[[], None] = lambda: None
) -> Ranking:
    """Ranks the entries whose overall score is complete and has an interval.

    Args:
        standings: Their averages, in the same order.
        done: Called after each entry.
    """
    names = _names(entries)
    values = {
        n: standing.overall.value
        for n, standing in enumerate(standings)
        if standing.overall and standing.overall.interval
    }
    lines = sorted((n for n in values if standings[n].complete), key=lambda n: (-values[n], n))
    every = {n: _Sides(np.zeros(REPLICATES), np.zeros(DRAWN)) for n in values}
    common = np.zeros((len(entries), len(entries)), dtype=np.int64)
    near = None if len(entries) <= MANY else NEAR
    apart = _Apart(board, entries, standings)
    known_strata = strata(_groups(board, standings))
    between: dict[str, Pairs] = {}
    for task in dict.fromkeys([*board.tasks, *(task for n in values for task in standings[n].sources)]):
        known = {n: standing.tasks.get(task) or standing.sources.get(task) for n, standing in enumerate(standings)}
        sources = {n: source for n, source in known.items() if source is not None and source.is_known}
        shared = common_questions(sources, len(entries))
        common += shared
        alone: dict[int, _Sides] = {}
        for n, whole, part in _sides(task, sources, names, {n: standings[n] for n in values}, known_strata):
            if part is not None:
                every[n].add(part)
            if task in board.tasks:
                alone[n] = whole
        if task in board.tasks:
            scores = {n: source.score.value for n, source in sources.items()}
            between[task] = _between(scores, alone, shared, near, task=task, apart=apart)
    between[OVERALL] = _between(values, every, common, None, apart=apart, done=done)
    return Ranking(tuple(lines), _ranks(lines, between[OVERALL], every, common, apart), between)


def _ranks(
    lines: Sequence[int],
    between: Pairs,
    sides: Mapping[int, "_Sides"],
    shared: NDArray[np.int64],
    apart: "_Apart",
) -> Ranks:
    """Ranks from all differences in one test.

    Args:
        lines: The ranked entries, best first.
        between: The differences of their overall scores.
        sides: Replicates of these scores, by entry.
        shared: Numbers of common questions, entries x entries.
        apart: The entries that were asked different questions.
    """
    scores = [between.gaps.places.index(n) for n in lines]
    tables = np.zeros((2, *(len(between.gaps.places),) * 2))
    tables[:, *np.triu_indices(tables.shape[1], 1)] = between.gaps.numbers[:, [0, 3]].T
    differences = (tables[0] - tables[0].T)[np.ix_(scores, scores)]
    p_values = (tables[1] + tables[1].T)[np.ix_(scores, scores)]
    centred = {n: sides[n].draws - sides[n].draws.mean() for n in lines}

    def noise_of(first: int, second: int, asked_others: bool) -> Floats:
        own, other = lines[first], lines[second]
        noise: Floats | None = apart.noise(own, other) if asked_others else None
        if noise is None and shared[own, other] and not asked_others:
            noise = np.append(sides[own].flips - sides[other].flips, differences[first, second])
        return centred[own] - centred[other] if noise is None else noise

    tested, errors = MaxT(), np.zeros((len(lines), len(lines)))
    for place, own in enumerate(lines):
        differ = apart.differ(np.full(len(lines), own), np.array(lines, dtype=np.int64), None).tolist()
        for start in range(place + 1, len(lines), _BLOCK):
            others = range(start, min(start + _BLOCK, len(lines)))
            noise = np.stack([noise_of(place, other, differ[other]) for other in others])
            errors[place, others] = errors[others, place] = tested.add(noise)
    critical = tested.critical() if len(lines) > 1 else 0.0
    # Replicates of very few scores are so skewed that one alone may be significant here and not by its own p-value.
    return ranks_of(differences, (np.abs(differences) > critical * errors) & (p_values < 1 - LEVEL))


@dataclass(slots=True, eq=False)
class _Sides:
    """One entry in its differences to others.

    Attributes:
        draws: Replicates of its score.
        flips: What it adds to the differences with random signs of the clusters (``fathom.stats.flips``); of published
            scores replicates less their mean.
        parts: What each cluster adds to the score, by task, or by the first task of a stratum.
    """

    draws: Floats
    flips: Floats
    parts: dict[str, Floats] = field(default_factory=dict)

    def add(self, other: "_Sides") -> None:
        """Adds a part of the score."""
        self.draws += other.draws
        self.flips += other.flips
        self.parts = added_up([*self.parts.items(), *other.parts.items()])

    def minus(self, other: "_Sides") -> Floats:
        """What each cluster adds to the difference."""
        both = sorted(self.parts.keys() | other.parts.keys())
        return np.concatenate([self.parts.get(task, 0.0) - other.parts.get(task, 0.0) for task in both])


def _between(
    values: Mapping[int, float],
    sides: Mapping[int, _Sides],
    shared: NDArray[np.int64],
    reach: int | None,
    *,
    apart: "_Apart",
    task: str | None = None,
    done: Callable[[], None] = lambda: None,
) -> Pairs:
    places = sorted(sides)
    count = REPLICATES if shared.any() or task is None else _ALONE
    draws = np.stack([sides[n].draws[:count] for n in places]) if places else np.empty((0, 0))
    gaps = gaps_between(places, [values[n] for n in places], draws, reach, done)
    rows, columns = np.triu_indices(len(places), 1)
    near = columns - rows <= gaps.reach
    first, second = (np.array(places, dtype=np.int64)[side[near]] for side in (rows, columns))
    questions, differ = shared[first, second], apart.differ(first, second, task)
    paired = np.flatnonzero((questions > 0) & ~differ)
    if len(places) <= FEW:  # with the p-values of `fathom analyze compare`, exact where few clusters differ
        pairs = zip(first[paired].tolist(), second[paired].tolist(), strict=True)
        gaps.numbers[paired, 3] = flip_p_values([sides[own].minus(sides[other]) for own, other in pairs])
        paired = paired[:0]
    for start in range(0, len(paired), _BLOCK):
        block = paired[start : start + _BLOCK]
        flips = [np.stack([sides[n].flips for n in side[block].tolist()]) for side in (first, second)]
        gaps.numbers[block, 3] = _flip_p_values(flips[0] - flips[1], gaps.numbers[block, 0])
    for row in np.flatnonzero(differ).tolist():
        own, other = int(first[row]), int(second[row])
        difference = apart.gap(own, other, task)
        if difference is not None:
            gap, questions[row] = difference
            gaps.numbers[row] = gap.difference, gap.interval.low, gap.interval.high, gap.p_value
    return Pairs(gaps, questions)


def _flip_p_values(flipped: Floats, differences: Floats) -> Floats:
    """The p-values of sign-flip tests.

    Args:
        flipped: Differences with random signs of the clusters, differences x ``DRAWN``; changed in place.
        differences: The differences themselves.
    """
    np.abs(flipped, out=flipped)
    reached = np.count_nonzero(flipped >= (np.abs(differences) - _ROUNDED)[:, None], axis=1)
    return np.where(differences == 0, 1.0, (1 + reached) / (1 + DRAWN))


def _sides(
    task: str,
    sources: Mapping[int, Source],
    names: Sequence[str],
    counted: Mapping[int, Standing],
    known: Mapping[str, Stratum],
) -> Iterator[tuple[int, _Sides, _Sides | None]]:
    """All entries on one task, by itself and as a part of the overall score; the same questions have the same weights.

    Args:
        sources: Its scores by entry.
        known: The strata of all tasks.
    """
    every = known[task].clusters
    items = {n: source.items for n, source in sources.items() if source.items is not None}
    groups = {name: group for own in items.values() for name, group in zip(own.names, own.groups, strict=True)}
    questions = sorted(groups)
    place = {name: line for line, name in enumerate(questions)}
    tables = {n: _wide(own, place) for n, own in items.items()}
    clusters = {n: clusters_of(table, [groups[name] for name in questions]) for n, table in tables.items()}
    streams = dict(zip(clusters, pseudo_streams([own.key for own in clusters.values()]), strict=True))
    for n, score in sources.items():
        parts: dict[str, Floats] = {}
        if n in clusters:
            sums, stream = resampled_sums(clusters[n], SEED), streams[n]
            own = clusters[n].contributions.mean(axis=1)
            parts = {task: own}
        else:
            sums, stream = (
                sums_of(score, task, names[n]),
                pseudo_streams([zlib.crc32(f"{task} {names[n]}".encode())])[0],
            )
        draws = sums.means(SEED, 1.0, stream).mean(axis=1)
        uncertain = (draws - draws.mean())[:DRAWN]
        whole = _Sides(draws, noise_of(own, draws) if n in clusters else uncertain, parts)
        standing = counted.get(n)
        if standing is None or task not in standing.sources:
            yield n, whole, None
            continue
        share, order = standing.weights[task], _place(task, standing, known)
        if n in clusters and every:
            joint = within_stratum(clusters[n], list(groups.values()), every)
            sums, own = resampled_sums(joint, SEED), joint.contributions.mean(axis=1)
            parts = {min(other for other, stratum in known.items() if stratum == known[task]): own}
        drawn = sums.means(SEED, 1 / len(standing.sources), stream).mean(axis=1)
        flips = noise_of(own, drawn) if n in clusters else uncertain
        shares = {name: share * part for name, part in parts.items()}
        yield n, whole, _Sides(share * shuffled(drawn, order), share * shuffled(flips, known[task].place), shares)


def _place(task: str, standing: Standing, known: Mapping[str, Stratum]) -> int:
    """The place of a task's stratum among those of an entry."""
    return sorted({known[name].place for name in standing.sources}).index(known[task].place)


def _groups(board: Board, standings: Sequence[Standing]) -> dict[str, set[str]]:
    """The clusters of all entries on each task."""
    groups: dict[str, set[str]] = {task: set() for task in board.tasks}
    for standing in standings:
        for task, source in [*standing.tasks.items(), *standing.sources.items()]:
            groups.setdefault(task, set()).update(source.items.groups if source.items is not None else ())
    return groups


def _wide(items: Items, place: Mapping[str, int]) -> Floats:
    table = np.full((len(place), items.scores.shape[1]), np.nan)
    table[[place[name] for name in items.names]] = items.scores
    return table


class _Apart:
    """Entries that were asked different tasks, lengths or questions: their differences are over what both were."""

    def __init__(self, board: Board, entries: Sequence[Entry], standings: Sequence[Standing]) -> None:
        """The entries of a board."""
        self._asked = [_asked(board, entry, standing) for entry, standing in zip(entries, standings, strict=True)]
        scores = [task_scores(board, entry, standing) for entry, standing in zip(entries, standings, strict=True)]
        self._shared = SharedScores(
            scores, SEED, REPLICATES, together=False, weights=lambda tasks: weights_of(board, standings, tasks)
        )

    def differ(self, first: NDArray[np.int64], second: NDArray[np.int64], task: str | None) -> NDArray[np.bool_]:
        """Which pairs of entries with single scores were asked different questions, on a task or on any.

        Args:
            first: Numbers of entries.
            second: As many, which they are compared with.
            task: The task; None for all tasks.
        """
        kinds: dict[Hashable, int] = {None: -1}
        asked = [self._of(own, task) for own in self._asked]
        number = np.array([kinds.setdefault(own or None, len(kinds)) for own in asked], dtype=np.int64)
        mine, other = number[first], number[second]
        differ: NDArray[np.bool_] = (mine != other) & (mine >= 0) & (other >= 0)
        return differ

    @staticmethod
    def _of(asked: "_Asked", task: str | None) -> "tuple[tuple[str, _Questions], ...]":
        return tuple((name, own) for name, own in asked.items() if task in (None, name))

    def gap(self, first: int, second: int, task: str | None) -> tuple[Gap, int] | None:
        """The difference of two of these, and the number of questions of both.

        Without any it is unbounded, or None if both were asked the same tasks at the same lengths: such scores are
        independent.
        """
        difference = self._shared.gap(first, second, None if task is None else [task])
        if difference is not None:
            gap, _, overlap = difference
            return gap, overlap.items
        cells = [[(name, own[1]) for name, own in self._of(self._asked[n], task)] for n in (first, second)]
        return None if cells[0] == cells[1] else (Gap(0.0, Interval(-1.0, 1.0), 1.0), 0)

    def noise(self, first: int, second: int) -> Floats | None:
        """What the overall difference of two of these would be without a true one; None without common questions."""
        return self._shared.noise(first, second)


_Questions: TypeAlias = tuple[tuple[str, ...], tuple[int, ...], bytes]
"""Questions of one task, the lengths that its score is over, and which of them have a score."""
_Asked: TypeAlias = dict[str, _Questions]


def _asked(board: Board, entry: Entry, standing: Standing) -> _Asked:
    """What an entry was asked, by task."""
    asked = {}
    for task, source in sorted(standing.tasks.items()):
        if source.items is not None:
            asked[task] = source.items.names, tuple(_at(board, entry, task)), np.isnan(source.items.scores).tobytes()
    return asked


def _at(board: Board, entry: Entry, task: str) -> dict[int, Items]:
    """The single scores of an entry at each length that counts."""
    counted = counted_lengths(board, task)
    at = {length: own for (name, length), own in entry.items.items() if name == task and length}
    return {length: at[length] for length in sorted(at) if length in counted or not counted}


def task_scores(board: Board, entry: Entry, standing: Standing) -> dict[str, TaskScores]:
    """The single scores of an entry by task, at each length that is known, or else at an unknown one."""
    scores = {}
    for task, source in standing.tasks.items():
        if source.items is None:
            continue
        at = _at(board, entry, task)
        if len(at) != source.items.scores.shape[1]:  # every item has one length, which may be unknown
            at = {0: source.items}
        place = {name: line for line, name in enumerate(sorted({name for own in at.values() for name in own.names}))}
        groups = {name: group for own in at.values() for name, group in zip(own.names, own.groups, strict=True)}
        values = np.concatenate([_wide(own, place) for own in at.values()], axis=1)
        scores[task] = TaskScores(tuple(place), tuple(groups[name] for name in place), tuple(at), values)
    return scores


def weights_of(board: Board, standings: Sequence[Standing], tasks: Sequence[str]) -> list[float]:
    """The weights of some tasks in their mean."""
    sources = {task: next(standing.tasks[task] for standing in standings if task in standing.tasks) for task in tasks}
    shares = weights(board, sources)
    return [shares[task] for task in tasks]


def _names(entries: Sequence[Entry]) -> list[str]:
    """Unique names for drawing replicates: two results of one model are two draws."""
    seen: Counter[str] = Counter()
    names = []
    for entry in entries:
        name = drawn_name(entry)
        names.append(f"{name}\x1f{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return names


def common_questions(sources: Mapping[int, Source], entries: int) -> NDArray[np.int64]:
    """Number of questions that two entries have in common, entries x entries."""
    asked = {
        n: np.array(source.items.names)[~np.isnan(source.items.scores).all(axis=1)].tolist()
        for n, source in sources.items()
        if source.items is not None
    }
    columns = {name: column for column, name in enumerate(sorted({name for own in asked.values() for name in own}))}
    table_of = np.zeros((entries, len(columns)), dtype=np.float32)  # exact up to 2 ** 24 questions
    for n, own in asked.items():
        table_of[n, [columns[name] for name in own]] = 1
    shared = (table_of @ table_of.T).astype(np.int64)
    np.fill_diagonal(shared, 0)
    return shared
