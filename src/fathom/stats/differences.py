"""Differences of scores: their intervals and p-values, over the clusters that both scores have.

A cluster has the same weight in a replicate for both scores, so that its difficulty cancels out in a difference. The
interval comes from replicates of the Bayesian bootstrap (``fathom.stats.intervals``), in which each side has a
pseudo-cluster of its own; the p-value is that of the sign-flip test (``fathom.stats.flips``). Both hold for themselves:
at the edge one may exclude 0 where the other does not. Replicates depend on the scores and the seed, not on names, so
that a difference between the same scores is the same in every table and on every page.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fathom.stats.flips import flip_p_values
from fathom.stats.intervals import (
    REPLICATES,
    Clusters,
    Floats,
    Interval,
    Sums,
    clusters_of,
    interval_of,
    ordered_intervals,
    resampled_sums,
    shuffled,
    weight_shapes,
)
from fathom.stats.strata import added_up, strata, within
from fathom.stats.student import lower_tail

PAIRED_REPLICATES = REPLICATES
"""Replicates of a difference; no p-value that is taken from them is below 2 / (this number + 1)."""
_BLOCK = 64  # differences at once: 5 MB of replicates, which processors keep in their caches
_Scores: TypeAlias = tuple[bytes, bytes, tuple[int, ...]]
Key = TypeVar("Key")
Value = TypeVar("Value")
_THREADS = min(4, os.cpu_count() or 1)
_KEPT = 400
"""Replicates that comparisons keep, of one score on one task each: 400 kB with five lengths."""
_SUMS = 160
"""Sums that they keep, of scores that are compared on one task and in a mean over several."""
_ROUNDING = 1e-12  # equal scores may differ by this much, by the order of their summation


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean difference.

    Attributes:
        difference: Mean of first minus mean of second.
        interval: Its 95% interval.
        p_value: Two-sided.
    """

    difference: float
    interval: Interval
    p_value: float

    @property
    def reversed(self) -> Gap:
        """The mean of second minus the mean of first."""
        interval = replace(self.interval, low=-self.interval.high, high=-self.interval.low)
        return Gap(-self.difference, interval, self.p_value)


def system_key(model: str, variant: str) -> str:
    """The name of a model and variant among others."""
    return f"{model}\x1f{variant}"


class Resampler:
    """Replicates for the comparisons of many scores with each other: those of equal scores are drawn once."""

    def __init__(self, seed: int, replicates: int = PAIRED_REPLICATES) -> None:
        """Seed of the analysis, and number of replicates."""
        self.seed, self.replicates = seed, replicates
        self._means: dict[tuple[_Scores, float, int], Floats] = {}
        self._sums: dict[_Scores, Sums] = {}

    def means(
        self, clusters: Clusters, prior: float, stream: int, whole: tuple[Clusters, Sequence[int]] | None = None
    ) -> Floats:
        """Replicates of the means of some clusters; arguments as in ``Sums.means``.

        Args:
            whole: The same clusters with further columns, and the columns that these are.
        """
        return _latest(
            self._means,
            (_scores(clusters), prior, stream),
            lambda: self._sums_of(clusters, whole or (clusters, ())).means(self.seed, prior, stream),
        )

    def _sums_of(self, clusters: Clusters, whole: tuple[Clusters, Sequence[int]]) -> Sums:
        every, columns = whole
        if every is not clusters and np.array_equal(weight_shapes(every.counts), weight_shapes(clusters.counts)):
            return self._sums_of(every, (every, ())).at(list(columns))
        return _latest(
            self._sums,
            _scores(clusters),
            lambda: resampled_sums(clusters, self.seed, replicates=self.replicates),
            _SUMS,
        )


def _scores(clusters: Clusters) -> _Scores:
    """What is the same for equal scores."""
    return clusters.totals.tobytes(), clusters.counts.tobytes(), clusters.totals.shape


def _latest(kept: dict[Key, Value], key: Key, make: Callable[[], Value], most: int = _KEPT) -> Value:
    """A value that is kept, or made now; those that were used last are kept."""
    value = kept.pop(key) if key in kept else make()
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]
    return value


@dataclass(frozen=True, eq=False)
class PairedTask:
    """Two scores of the same clusters of one task.

    Attributes:
        task: Name of the task; tasks are independent.
        names: Names of the clusters, ascending.
        resampler: Draws replicates.
        whole: Both scores with further columns, of which one may lack some: their sums are drawn once for all.
        columns: The columns of these.
        drawn: Replicates that were drawn, by the weight of the pseudo-cluster of each side.
    """

    task: str
    first: Clusters
    second: Clusters
    names: tuple[str, ...]
    resampler: Resampler
    whole: tuple[Clusters, Clusters]
    columns: tuple[int, ...]
    drawn: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    def at(self, columns: Sequence[int]) -> PairedTask:
        """Some of the columns."""
        chosen = list(columns)
        if chosen == list(range(self.first.totals.shape[1])):
            return self  # with what was drawn
        columns = tuple(self.columns[column] for column in chosen)
        return replace(self, first=self.first.at(chosen), second=self.second.at(chosen), columns=columns, drawn={})

    def within(self, clusters: Sequence[str]) -> PairedTask:
        """The same among the clusters of its stratum; unchanged without any."""
        if not clusters:
            return self
        first, second, *whole = (within(side, self.names, clusters) for side in (self.first, self.second, *self.whole))
        names, both = tuple(clusters), (whole[0], whole[1])
        return replace(self, first=first, second=second, names=names, whole=both, drawn={})

    @cached_property
    def means(self) -> tuple[Floats, Floats]:
        """The means of both sides at each column."""
        return self.first.means, self.second.means

    @cached_property
    def contributions(self) -> Floats:
        """What each cluster adds to the difference at each column, clusters x columns."""
        return self.first.contributions - self.second.contributions

    def draws(self, prior: float) -> tuple[Floats, Floats]:
        """Replicates of the means of both sides, replicates x columns each."""
        if prior not in self.drawn:
            sides = self.first, self.second
            streams = pseudo_streams([side.key for side in sides])
            first, second = (
                self.resampler.means(side, prior, stream, (whole, self.columns))
                for side, stream, whole in zip(sides, streams, self.whole, strict=True)
            )
            self.drawn[prior] = first, second
        return self.drawn[prior]


def pseudo_streams(keys: Sequence[int]) -> list[int]:
    """A stream of the pseudo-cluster for each of several scores: equal scores have different ones.

    Args:
        keys: A number for each, the same for equal scores (``Clusters.key``).
    """
    seen: dict[int, int] = {}
    streams = []
    for key in keys:
        seen[key] = seen.get(key, -1) + 1
        streams.append(2 + key + seen[key])
    return streams


def gap_of(draws: Floats, point: float) -> Gap:
    """A difference with the interval and the p-value from its replicates.

    Args:
        draws: Replicates of the difference, shape (replicates,); NaN ones are left out.
    """
    known = draws[~np.isnan(draws)]
    if len(known) < 2:
        return Gap(point, interval_of(known, point), 1.0)
    ordered = np.sort(known)[None, :]
    return Gap(point, ordered_intervals(ordered, [point])[0], float(_p_values(ordered, [point])[0]))


def unpaired_gap(draws: Floats, point: float, degrees: float) -> Gap:
    """A difference between other items, with the interval and the p-value from its replicates.

    Args:
        draws: See :func:`gap_of`.
        point: Likewise.
        degrees: Degrees of freedom of the smaller side: its clusters but one.

    Returns:
        The difference. Where no replicate has the other sign the p-value is that of Student's distribution, so that it
        can be small enough for many tests; it is never above that of the replicates.
    """
    gap = gap_of(draws, point)
    error = float(np.nanstd(draws))
    if gap.p_value > 2 / len(draws) or degrees <= 0 or not error > 0:
        return gap
    return replace(gap, p_value=min(gap.p_value, 2 * lower_tail(-abs(point) / error, degrees)))


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
    """The difference of every two scores, or of the nearest alone, with p-values from their replicates.

    Args:
        places: Numbers of the scores, ascending.
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
    """One score minus those that follow it: numbers of ``Gaps``."""
    rows = []
    for start in range(first + 1, stop, _BLOCK):
        end = min(start + _BLOCK, stop)
        points = [scores[first] - other for other in scores[start:end]]
        gaps = draws[first] - draws[start:end]
        gaps.sort(axis=1)  # once, for both ends of the interval and for the p-value
        intervals = list(map(_ends, ordered_intervals(gaps, points)))
        rows.append(np.column_stack([points, intervals, _p_values(gaps, points)]))
    return np.concatenate(rows)


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
    """Differences between two scores of the same clusters, on one task or on several with equal weight.

    Attributes:
        joint: The tasks among the clusters of their strata, with the places of these, once they were needed.
    """

    tasks: tuple[PairedTask, ...]
    joint: list[tuple[int, PairedTask]] = field(default_factory=list)

    def gap(self, columns: Sequence[int], null: float = 0.0) -> Gap:
        """The mean difference over some columns and all tasks.

        Args:
            columns: The columns, which have equal weight.
            null: The true difference that is tested. For 0 it is the sign-flip test; for others the p-value is the
                level up to which the interval contains it, because differences are then not symmetrical.
        """
        return gaps_over([(self, columns)], null)[0]

    def means(self, columns: Sequence[int]) -> tuple[float, float]:
        """The means of both sides over some columns and all tasks."""
        first, second = (
            float(np.mean([means[list(columns)].mean() for means in side]))
            for side in zip(*(task.means for task in self.tasks), strict=True)
        )
        return first, second

    def sides(self, columns: Sequence[int]) -> tuple[Floats, Floats]:
        """Replicates of the means of both sides over some columns and all tasks, shape (replicates,)."""
        chosen, prior = list(columns), 1 / len(self.tasks)
        parts = [
            [shuffled(_mean_of(side, chosen), place) for side in task.draws(prior)]
            for place, task in self._by_stratum()
        ]
        if len(parts) == 1:
            return parts[0][0], parts[0][1]
        first, second = (np.mean(side, axis=0) for side in zip(*parts, strict=True))
        return first, second

    def contributions(self, columns: Sequence[int]) -> Floats:
        """What each cluster adds to the mean difference over some columns, shape (clusters,)."""
        chosen, share = list(columns), 1 / len(self.tasks)
        parts = ((place, _mean_of(task.contributions, chosen)) for place, task in self._by_stratum())
        every = added_up((place, share * part) for place, part in parts)
        return np.concatenate(list(every.values()))

    def _by_stratum(self) -> list[tuple[int, PairedTask]]:
        """The tasks in the order of their strata: random signs, and replicates in orders of their own, go by it."""
        if len(self.tasks) == 1:
            return [(0, self.tasks[0])]
        if not self.joint:
            known = strata({task.task: task.names for task in self.tasks})
            ordered = sorted(self.tasks, key=lambda task: (known[task.task].place, task.task))
            self.joint.extend((known[task.task].place, task.within(known[task.task].clusters)) for task in ordered)
        return self.joint

    def at(self, columns: Sequence[int]) -> Differences:
        """The differences of some columns."""
        return Differences(tuple(task.at(columns) for task in self.tasks))

    def __add__(self, other: Differences) -> Differences:
        """Over the tasks of both."""
        return Differences(self.tasks + other.tasks)


def gaps_over(asked: Sequence[tuple[Differences, Sequence[int]]], null: float = 0.0) -> list[Gap]:
    """The mean differences over several sets of columns, as :meth:`Differences.gap` gives them; faster together."""
    points = [
        float(np.mean([(task.means[0] - task.means[1])[list(columns)].mean() for task in own.tasks]))
        for own, columns in asked
    ]
    sides = (own.sides(columns) for own, columns in asked)
    draws = [first - second for first, second in sides]
    if null != 0:
        tested = [gap_of(drawn - null, point - null).p_value for drawn, point in zip(draws, points, strict=True)]
    else:
        tested = flip_p_values([own.contributions(columns) for own, columns in asked])
    intervals = map(interval_of, draws, points)
    return [Gap(*parts) for parts in zip(points, intervals, tested, strict=True)]


def _mean_of(draws: Floats, columns: list[int]) -> Floats:
    """The mean over some columns of each row."""
    mean: Floats = draws.T[columns].mean(axis=0) if len(columns) > 1 else draws[:, columns[0]]
    return mean


def paired(
    first: Floats,
    second: Floats,
    task: str,
    resampler: Resampler,
    groups: Sequence[str] | None = None,
    columns: Sequence[int] | None = None,
) -> Differences:
    """Pairs two tables of scores.

    Args:
        first: Scores in [0, 1], items x columns; NaN if either score is missing.
        second: The scores to compare them with, NaN in the same cells; every column has an item.
        groups: The cluster of each item; every item is one by default.
        columns: The columns to compare, if in others only one of the two has scores; all by default.
    """
    whole = clusters_of(first, groups), clusters_of(second, groups)
    names = sorted(set(groups)) if groups is not None else [f"{row:09}" for row in range(len(first))]
    chosen, sides = list(range(first.shape[1])), whole
    if columns is not None and list(columns) != chosen:
        chosen = list(columns)
        first, second = (np.ascontiguousarray(side[:, chosen]) for side in (first, second))
        sides = clusters_of(first, groups), clusters_of(second, groups)
    return Differences((PairedTask(task, *sides, tuple(names), resampler, whole, tuple(chosen)),))
