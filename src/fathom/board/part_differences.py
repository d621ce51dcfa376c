"""Differences between the entries of a board on a part of it: a category, or one length.

Entries with the same questions there are compared question by question, with the replicates of ``differences``; those
with other questions on what both were asked. Without common questions the two scores are independent, and the interval
of their difference comes from their own (the method of variance estimates recovery: Zou and Donner 2008, "Construction
of confidence limits about effect measures", Statistics in Medicine 27, equation 5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.board.differences import FEW, MANY, NEAR, OVERALL, Pairs, common_questions, task_scores, weights_of
from fathom.board.means import SEED
from fathom.board.model import Entry, Estimate, Source, Standing
from fathom.board.standing import sources_at, weights
from fathom.stats.differences import Gaps, gaps_between, pseudo_streams
from fathom.stats.intervals import REPLICATES, Floats, clusters_of, kept_draws, resampled_sums, shuffled
from fathom.stats.shared import SharedScores, TaskScores
from fathom.stats.strata import strata, within_stratum
from fathom.types.boards import Board

FEWER = 4_000
"""Replicates on boards with more entries than ``FEW``."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a board.

    Attributes:
        scores: Scores of the entries there that have an interval, by index.
        sources: The scores of tasks that these are the mean of; empty for a published mean.
        single: Single scores of the entries that have some of all these tasks.
    """

    scores: Mapping[int, Estimate]
    sources: Mapping[int, Mapping[str, Source]]
    single: Mapping[int, Mapping[str, TaskScores]]


@kept_draws()
def part_differences(
    board: Board, entries: Sequence[Entry], standings: Sequence[Standing], between: Mapping[str, Pairs]
) -> dict[str, Pairs]:
    """How much higher the first of two entries scores, by category (``category/ID``) and length (``length/8192``).

    Args:
        entries: The entries, in its order.
        standings: Their averages, in the same order.
        between: Their differences by task and overall: a category of one task, or of all, has these.
    """
    parts = {}
    for category in board.categories:
        name = f"category/{category.id}"
        if len(category.tasks) == 1 and not any(category.id in entry.printed for entry in entries):
            parts[name] = between[category.tasks[0]]
        elif len(board.categories) == 1:
            parts[name] = between[OVERALL]
        else:
            parts[name] = _pairs(board, entries, standings, _of_category(board, entries, standings, category.id))
    for length in board.lengths:
        parts[f"length/{length}"] = _pairs(board, entries, standings, _at_length(board, entries, standings, length))
    return parts


def _of_category(board: Board, entries: Sequence[Entry], standings: Sequence[Standing], name: str) -> _Part:
    tasks = next(category.tasks for category in board.categories if category.id == name)
    sources = {
        n: {task: standing.tasks[task] for task in tasks if task in standing.tasks}
        for n, standing in enumerate(standings)
    }
    single = {
        n: {task: scores for task, scores in task_scores(board, entries[n], standings[n]).items() if task in tasks}
        for n in sources
    }
    return _known({n: standing.categories[name] for n, standing in enumerate(standings)}, sources, single)


def _at_length(board: Board, entries: Sequence[Entry], standings: Sequence[Standing], length: int) -> _Part:
    sources = {n: sources_at(board, entry, length) for n, entry in enumerate(entries)}
    single = {
        n: {
            task: TaskScores(source.items.names, source.items.groups, (length,), source.items.scores)
            for task, source in own.items()
            if source.items is not None
        }
        for n, own in sources.items()
    }
    return _known({n: standing.lengths.get(length) for n, standing in enumerate(standings)}, sources, single)


def _known(
    scores: Mapping[int, Estimate | None],
    sources: Mapping[int, Mapping[str, Source]],
    single: Mapping[int, Mapping[str, TaskScores]],
) -> _Part:
    known = {n: score for n, score in scores.items() if score is not None and score.interval is not None}
    complete = {n: single[n] for n in known if single[n] and single[n].keys() == sources[n].keys()}
    return _Part(known, sources, complete)


def _pairs(board: Board, entries: Sequence[Entry], standings: Sequence[Standing], part: _Part) -> Pairs:
    places = sorted(part.scores)
    gaps = _independent(places, part.scores, len(entries))
    common = np.zeros((len(entries), len(entries)), dtype=np.int64)
    for task in {task for own in part.single.values() for task in own}:
        sources = {n: part.sources[n][task] for n, own in part.single.items() if task in own}
        common += common_questions(sources, len(entries))
    asked = {n: _asked(own) for n, own in part.single.items()}
    own = sorted(part.single)
    draws = _draws(board, part) if len(own) > 1 else np.empty((0, 0))
    paired = gaps_between(own, [part.scores[n].value for n in own], draws, gaps.reach)
    apart = SharedScores(
        [part.single.get(n, {}) for n in range(len(entries))],
        SEED,
        REPLICATES,
        together=False,
        weights=lambda tasks: weights_of(board, standings, tasks),
    )
    place = {n: number for number, n in enumerate(places)}
    for (first, second), numbers in zip(paired, paired.numbers, strict=True):
        if place[second] - place[first] > gaps.reach:
            continue  # entries without single scores lie between them
        row = gaps.at(place[first], place[second])
        if asked[first] == asked[second]:
            gaps.numbers[row] = numbers
        elif (shared := apart.gap(first, second)) is not None:
            gap, _, overlap = shared
            gaps.numbers[row] = gap.difference, gap.interval.low, gap.interval.high, gap.p_value
            common[first, second] = overlap.items
    rows, columns = np.triu_indices(len(places), 1)
    near = columns - rows <= gaps.reach
    index = np.array(places, dtype=np.int64)
    return Pairs(gaps, common[index[rows[near]], index[columns[near]]])


def _asked(single: Mapping[str, TaskScores]) -> tuple[object, ...]:
    """What an entry was asked: the questions with a score, by task and length."""
    return tuple((task, own.names, own.lengths, np.isnan(own.values).tobytes()) for task, own in sorted(single.items()))


def _independent(places: Sequence[int], scores: Mapping[int, Estimate], entries: int) -> Gaps:
    """The differences of independent scores; their p-values are 1."""
    reach = max(0, len(places) - 1) if entries <= MANY else min(NEAR, max(0, len(places) - 1))
    value = np.array([scores[n].value for n in places])
    low, high = (
        np.array([getattr(scores[n].interval, end) for n in places], dtype=np.float64) for end in ("low", "high")
    )
    rows, columns = np.triu_indices(len(places), 1)
    near = columns - rows <= reach
    first, second = rows[near], columns[near]
    gap = value[first] - value[second]
    below = np.hypot(value[first] - low[first], high[second] - value[second])
    above = np.hypot(high[first] - value[first], value[second] - low[second])
    return Gaps(tuple(places), reach, np.column_stack([gap, gap - below, gap + above, np.ones(len(gap))]))


def _draws(board: Board, part: _Part) -> Floats:
    """Replicates of the scores of entries with single scores: entries x replicates."""
    own = sorted(part.single)
    draws = {n: np.zeros(REPLICATES) for n in own}
    groups: dict[str, set[str]] = {}
    for single in part.single.values():
        for task, scores in single.items():
            groups.setdefault(task, set()).update(scores.groups)
    known = strata(groups)
    for task in groups:
        asked = {n: part.single[n][task] for n in own if task in part.single[n]}
        clusters = {
            n: within_stratum(clusters_of(scores.values, scores.groups), scores.groups, known[task].clusters)
            for n, scores in asked.items()
        }
        streams = dict(zip(clusters, pseudo_streams([side.key for side in clusters.values()]), strict=True))
        for n, side in clusters.items():
            share = weights(board, part.sources[n])[task]
            means = resampled_sums(side, SEED).means(SEED, 1 / len(part.single[n]), streams[n])
            draws[n] = draws[n] + share * shuffled(means.mean(axis=1), known[task].place)
    return np.stack([draws[n] for n in own])[:, : FEWER if len(own) > FEW else None]
