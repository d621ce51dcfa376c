"""Differences of scores: their intervals and p-values, from replicates that several scores share.

A question has the same weight in a replicate for every model, so that its difficulty cancels out in a difference.
Interval and p-value come from the same replicates of the Bayesian bootstrap (``fathom.stats.intervals``):
p is the level up to which the equal-tailed interval contains 0, so that the 95% interval excludes 0 exactly if p is
below .05. Replicates depend only on the questions, the seed and the name of each score, so that a difference is the
same in every table and on every page.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import (
    Floats,
    Interval,
    generator,
    interval_of,
    means_of_sums,
    ordered_intervals,
    resampled_sums,
)

PAIRED_REPLICATES = 10_000
"""Replicates of a difference; no p-value is below 2 / (this number + 1)."""
_BLOCK = 64  # differences at once: 5 MB of replicates, which processors keep in their caches
_THREADS = min(4, os.cpu_count() or 1)
_KEPT = 400
"""Sums that comparisons keep, of one score on one task each: about 2 MB with five lengths."""
_ROUNDING = 1e-12  # equal scores may differ by this much, by the order of their summation
PSEUDO_ITEMS = 2.0
"""Pseudo-items in a difference of two scores, one for each. With one in all, binary scores of 15 to 20 questions differ
by chance at p < .05 in 7% of cases."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean difference.

    Attributes:
        difference: Mean of first minus mean of second.
        interval: Its 95% interval.
        p_value: Two-sided; below .05 exactly if the interval does not contain 0.
    """

    difference: float
    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Resampled sums of one score on one task, which share their weights with others (:func:`shared_sums`).

    Attributes:
        scored: Weighted sums of scores, replicates x columns.
        mass: Sums of their weights.
        seed: Seed of the analysis.
        name: Name of task and score, which seeds their own draws.
        means: What was drawn from them: means over columns, by the columns and the weight of the pseudo-item.
    """

    scored: Floats
    mass: Floats
    seed: int
    name: str
    means: dict[tuple[tuple[int, ...], float], Floats] = field(default_factory=dict, init=False)

    def at(self, columns: Sequence[int]) -> Sums:
        """The sums of some columns."""
        chosen = list(columns)
        if chosen == list(range(self.scored.shape[1])):
            return self  # with what was drawn from them
        return replace(self, scored=self.scored[:, chosen], mass=self.mass[:, chosen])


def system_key(model: str, variant: str) -> str:
    """The name that seeds the replicates of a model and variant."""
    return f"{model}\x1f{variant}"


def shared_sums(
    tables: Mapping[str, tuple[Sequence[str], Floats]],
    task: str,
    seed: int,
    *,
    replicates: int = PAIRED_REPLICATES,
    questions: Sequence[str] | None = None,
) -> dict[str, Sums]:
    """Resampled sums of several scores on one task; a question has the same weight in all of them.

    Args:
        tables: By the name of the score: names of its items, and their scores in [0, 1], items x columns, NaN without
            a score.
        task: Name of the task.
        seed: Seed of the analysis.
        replicates: Number of replicates.
        questions: Names of all items, ascending, if the scores of one task are given in several calls.
    """
    names = sorted({name for own, _ in tables.values() for name in own}) if questions is None else questions
    place = {name: line for line, name in enumerate(names)}
    wide = []
    for own, scores in tables.values():
        table = np.full((len(names), scores.shape[1]), np.nan)
        table[[place[name] for name in own]] = scores
        wide.append(table)
    scored, mass = resampled_sums(np.concatenate(wide, axis=1), generator(seed, task), replicates=replicates)
    ends = np.cumsum([table.shape[1] for table in wide])[:-1]
    parts = zip(tables, np.split(scored, ends, axis=1), np.split(mass, ends, axis=1), strict=True)
    return {name: Sums(own, weights, seed, f"{task}\x1f{name}") for name, own, weights in parts}


def drawn_means(tasks: Sequence[Sums], columns: Sequence[int], pseudo: float = PSEUDO_ITEMS) -> Floats:
    """Replicates of the mean of a score over some columns, then over tasks, with equal weights.

    Args:
        tasks: Its sums on each task.
        columns: The columns, with the same meaning in all tasks.
        pseudo: Total weight of the pseudo-items of the mean.

    Returns:
        One value for each replicate.
    """
    prior = pseudo / (len(tasks) * len(columns))
    means: Floats = np.mean([_drawn_mean(one, tuple(columns), prior) for one in tasks], axis=0)
    return means


def _drawn_mean(task: Sums, columns: tuple[int, ...], prior: float) -> Floats:
    """Replicates of the mean over some columns of one task, drawn once."""
    if (columns, prior) not in task.means:
        task.means[columns, prior] = drawn_columns(task, columns, prior).mean(axis=1)
    return task.means[columns, prior]


def drawn_columns(task: Sums, columns: Sequence[int], prior: float) -> Floats:
    """Replicates of the mean of a score in each of some columns of one task.

    Args:
        task: Its sums.
        columns: The columns.
        prior: Weight of the pseudo-item of each.

    Returns:
        Replicates x columns.
    """
    chosen = task.at(columns)
    rng = generator(task.seed, f"{task.name}\x1f{list(columns)}")
    return means_of_sums((chosen.scored, chosen.mass), rng, prior=prior)


def gap_of(draws: Floats, point: float) -> Gap:
    """A difference with the interval and the p-value from its replicates.

    Args:
        draws: Replicates of the difference, shape (replicates,); NaN ones are left out.
        point: The difference itself.
    """
    known = draws[~np.isnan(draws)]
    if len(known) < 2:
        return Gap(point, interval_of(known, point), 1.0)
    ordered = np.sort(known)[None, :]
    return Gap(point, ordered_intervals(ordered, [point])[0], float(_p_values(ordered, [point])[0]))


def pairwise(scores: Sequence[float], draws: Floats) -> dict[tuple[int, int], Gap]:
    """The difference of every two scores, by their indices: the first, which comes before, minus the second.

    Args:
        scores: The scores.
        draws: Their replicates from the same weights, shape (scores, replicates).
    """
    if np.isnan(draws).any():
        pairs = combinations(range(len(scores)), 2)
        return {(a, b): gap_of(draws[a] - draws[b], scores[a] - scores[b]) for a, b in pairs}
    found: dict[tuple[int, int], Gap] = {}
    for first in range(len(scores) - 1):
        # One call of numpy for many differences, because calls take half of the time.
        points = [scores[first] - other for other in scores[first + 1 :]]
        gaps = np.sort(draws[first] - draws[first + 1 :], axis=1)
        parts = zip(points, ordered_intervals(gaps, points), _p_values(gaps, points).tolist(), strict=True)
        found.update({(first, first + 1 + place): Gap(*part) for place, part in enumerate(parts)})
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Gaps(Mapping[tuple[int, int], Gap]):
    """Differences of many scores in arrays: each score minus those that follow it, all of them or the nearest.

    Attributes:
        places: Numbers of the scores, ascending.
        reach: Number of following scores that each is compared with.
        numbers: Difference, both ends of its 95% interval, and p-value: pairs x 4, in the order of the pairs.
    """

    places: tuple[int, ...]
    reach: int
    numbers: Floats

    def at(self, first: int, second: int) -> int:
        """The row of two scores, by their indices among ``places``; the first comes before the second.

        Raises:
            KeyError: They are not compared.
        """
        if not 0 <= first < second < len(self.places) or second - first > self.reach:
            raise KeyError((first, second))
        return self._before(first) + second - first - 1

    def _before(self, first: int) -> int:
        """Number of pairs of the scores before one."""
        full = max(0, min(first, len(self.places) - self.reach))
        rest = len(self.places) - 1 - full
        return full * self.reach + (first - full) * rest - (first - full) * (first - full - 1) // 2

    def __getitem__(self, pair: tuple[int, int]) -> Gap:
        difference, low, high, p = self.numbers[self.at(*map(self.places.index, pair))].tolist()
        return Gap(difference, Interval(low, high), p)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for first, place in enumerate(self.places):
            yield from ((place, other) for other in self.places[first + 1 : first + 1 + self.reach])

    def __len__(self) -> int:
        return len(self.numbers)


def gaps_between(
    places: Sequence[int],
    scores: Sequence[float],
    draws: Floats,
    reach: int | None = None,
    done: Callable[[], None] = lambda: None,
) -> Gaps:
    """The same differences as :func:`pairwise` in arrays, of all scores or of the nearest alone.

    Args:
        places: Numbers of the scores, ascending.
        scores: The scores.
        draws: Their replicates from the same weights, shape (scores, replicates).
        reach: Number of following scores that each is compared with; None for all of them.
        done: Called after each score.
    """
    most = max(0, len(places) - 1)
    reach = most if reach is None else min(reach, most)
    pool = ThreadPoolExecutor(_THREADS)  # numpy sorts in several threads at once
    try:
        rows = []
        for row in pool.map(lambda first: _row(scores, draws, first, min(len(places), first + 1 + reach)), range(most)):
            rows.append(row)
            done()
    finally:
        pool.shutdown(cancel_futures=True)
    return Gaps(tuple(places), reach, np.concatenate(rows) if rows else np.empty((0, 4)))


def _row(scores: Sequence[float], draws: Floats, first: int, stop: int) -> Floats:
    """One score minus those that follow it."""
    found = []
    for start in range(first + 1, stop, _BLOCK):
        end = min(start + _BLOCK, stop)
        points = [scores[first] - other for other in scores[start:end]]
        gaps = draws[first] - draws[start:end]
        if np.isnan(gaps).any():
            each = map(gap_of, gaps, points)
            found.append(np.array([(one.difference, *_ends(one.interval), one.p_value) for one in each]))
        else:
            gaps.sort(axis=1)  # once, for both ends of the interval and for the p-value
            intervals = list(map(_ends, ordered_intervals(gaps, points)))
            found.append(np.column_stack([points, intervals, _p_values(gaps, points)]))
    return np.concatenate(found)


def _ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def p_values(draws: Floats, points: Sequence[float]) -> Floats:
    """The two-sided p-values of differences: the level up to which the interval of each contains 0.

    Args:
        draws: Replicates of each, shape (differences, replicates), none of them NaN; two replicates or more.
        points: The differences themselves. Intervals always contain them, so that p is 1 if one is 0, or has the
            other sign than most of its replicates.
    """
    return _p_values(np.sort(draws, axis=1), points)


def _p_values(ordered: Floats, points: Sequence[float]) -> Floats:
    """The same from replicates in ascending order."""
    # The largest share whose quantile is not above 0, and the smallest whose quantile is not below 0.
    not_above, not_below = (_shares_at_zero(ordered, counts.sum(axis=1)) for counts in (ordered <= 0, ordered < 0))
    values, positive = np.asarray(points, dtype=np.float64), not_above < 1 - not_below
    p = np.clip(2 * np.minimum(not_above, 1 - not_below), 2 / (ordered.shape[1] + 1), 1.0)
    p[(np.abs(values) < _ROUNDING) | ((values > 0) != positive)] = 1.0
    return p


def _shares_at_zero(ordered: Floats, counts: NDArray[np.int_]) -> Floats:
    """The share of each row at which ``numpy.quantile`` gives 0, if it comes after so many values."""
    last = ordered.shape[1] - 1
    shares: Floats = (counts > 0).astype(np.float64)
    mixed = np.flatnonzero((counts > 0) & (counts <= last))  # of the others all replicates have one sign
    below, above = ordered[mixed, counts[mixed] - 1], ordered[mixed, counts[mixed]]
    shares[mixed] = (counts[mixed] - 1 - below / (above - below)) / last
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Differences between two scores of the same items, on one task or on several.

    Attributes:
        first: Sums of the first score on each task.
        second: Sums of the second score.
        gaps: Mean difference on each task, tasks x columns.
    """

    first: tuple[Sums, ...]
    second: tuple[Sums, ...]
    gaps: Floats

    def gap(self, columns: Sequence[int], null: float = 0.0) -> Gap:
        """The mean difference over some columns and all tasks; its p-value is that of a true difference of ``null``."""
        draws = drawn_means(self.first, columns) - drawn_means(self.second, columns)
        point = float(self.gaps[:, list(columns)].mean())
        found = gap_of(draws, point)
        return found if null == 0 else replace(found, p_value=gap_of(draws - null, point - null).p_value)

    def at(self, columns: Sequence[int]) -> Differences:
        """The differences of some columns."""
        first, second = (tuple(one.at(columns) for one in own) for own in (self.first, self.second))
        return Differences(first, second, self.gaps[:, list(columns)])

    def __add__(self, other: Differences) -> Differences:
        """Over the tasks of both."""
        return Differences(
            self.first + other.first, self.second + other.second, np.concatenate([self.gaps, other.gaps])
        )


class SharedSums:
    """Resampled sums for the comparisons of many scores with each other: those of the same items are drawn once."""

    def __init__(self, seed: int, replicates: int = PAIRED_REPLICATES) -> None:
        """Seed of the analysis, and number of replicates."""
        self._seed, self._replicates = seed, replicates
        self._found: dict[tuple[str, str, tuple[str, ...], bytes], Sums] = {}

    def paired(
        self, names: Sequence[str], first: Floats, second: Floats, task: str, called: tuple[str, str]
    ) -> Differences:
        """Pairs two tables of scores; arguments as in :func:`paired`."""
        known = ~np.isnan(first)
        gaps = np.where(known, first - second, 0.0).sum(axis=0) / known.sum(axis=0)
        one, other = (
            self._sums(tuple(names), side, task, name) for side, name in zip((first, second), called, strict=True)
        )
        return Differences((one,), (other,), gaps[None, :])

    def _sums(self, names: tuple[str, ...], scores: Floats, task: str, name: str) -> Sums:
        key = task, name, names, scores.tobytes()
        found = self._found.pop(key, None)
        if found is None:
            found = shared_sums({name: (names, scores)}, task, self._seed, replicates=self._replicates)[name]
        self._found[key] = found  # the latest is the last
        if len(self._found) > _KEPT:
            del self._found[next(iter(self._found))]
        return found


def paired(
    names: Sequence[str],
    first: Floats,
    second: Floats,
    task: str,
    seed: int,
    *,
    called: tuple[str, str] = ("first", "second"),
    replicates: int = PAIRED_REPLICATES,
) -> Differences:
    """Pairs two tables of scores.

    Args:
        names: Names of the items.
        first: Scores in [0, 1], items x columns; NaN if either score is missing.
        second: The scores to compare them with, NaN in the same cells; every column has an item.
        task: Name of the task.
        seed: Seed of the analysis.
        called: Names of the two scores.
        replicates: Number of replicates.
    """
    return SharedSums(seed, replicates).paired(names, first, second, task, called)
