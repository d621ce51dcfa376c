"""Compared is what is shared: differences of models on the tasks, lengths and items that both have a score for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.stats.differences import Gap, gap_of, pseudo_streams
from fathom.stats.flips import DRAWN, flip_p_value, noise_of
from fathom.stats.intervals import Clusters, Floats, clusters_of, resampled_sums, shuffled
from fathom.stats.strata import cluster_key, strata, within_stratum

_KEPT = 400
"""Sides that are kept, of 160 kB and more."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a difference between two models is over.

    Attributes:
        cells: Tasks and lengths at which both have a score; questions with a score of both where lengths are unknown.
        of: Tasks and lengths (or questions) that one of them has in its score.
        samples: Items at these cells (or questions) with a score of both.
        longest: Longest of these lengths in tokens; 0 if unknown.
        items: Items (or questions), however many lengths they share.
        samples_of: Items at these cells (or questions) with a score of one of them or of both; 0 if unknown.
    """

    cells: int
    of: int
    samples: int
    longest: int = 0
    items: int = 0
    samples_of: int = 0

    @property
    def partial(self) -> bool:
        """Whether one of the two has a score of something that the other lacks."""
        return self.cells < self.of or self.samples < self.samples_of


NOTHING = Overlap(0, 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class TaskScores:
    """Scores of one model on one task: items (or questions) x lengths, NaN without a score.

    Attributes:
        groups: Their clusters (``fathom.stats.intervals``).
        lengths: Lengths in tokens, ascending; each has a score.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    lengths: tuple[int, ...]
    values: Floats

    def at(self, names: tuple[str, ...], lengths: tuple[int, ...]) -> TaskScores:
        """The same at some items and lengths, which it has."""
        if (names, lengths) == (self.names, self.lengths):
            return self
        place = {name: number for number, name in enumerate(self.names)}
        rows = [place[name] for name in names]
        groups = tuple(self.groups[row] for row in rows)
        return TaskScores(names, groups, lengths, self.values[np.ix_(rows, [self.lengths.index(at) for at in lengths])])

    def scored_at(self, lengths: Sequence[int]) -> int:
        """Number of scores at some of its lengths."""
        chosen = [self.lengths.index(length) for length in lengths]
        return int((~np.isnan(self.values[:, chosen])).sum())


_Part: TypeAlias = tuple[str, tuple[str, ...], tuple[int, ...], bytes]
"""What two models share on a task: its name, items and lengths, and where both have a score."""
_Shared: TypeAlias = tuple[_Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One model on what it shares with another.

    Attributes:
        draws: Replicates of the mean.
        contributions: What each cluster adds to the mean.
        noise: What it adds to a difference without a true one, in each replicate; as the last one the mean itself.
    """

    mean: float
    draws: Floats
    contributions: Floats
    noise: Floats


def _equal(tasks: Sequence[str]) -> list[float]:
    return [1 / len(tasks)] * len(tasks)


@dataclass(frozen=True, slots=True, eq=False)
class SharedScores:
    """The differences of models with single scores, each on what both have.

    Attributes:
        seed: Seed of the replicates.
        together: Whether only lengths count that all shared tasks have.
        weights: The weights of some tasks in their mean, which sum to 1.
        sides: What was computed last: most pairs share the same items.
        equal: Models by what is compared, task and scores: equal scores have pseudo-clusters of their own.
        every: By task the place of its stratum among those of all models, and the clusters of this stratum.
    """

    models: Sequence[Mapping[str, TaskScores]]
    seed: int
    replicates: int
    together: bool = True
    weights: Callable[[Sequence[str]], Sequence[float]] = _equal
    sides: dict[tuple[int, _Shared], _Side] = field(default_factory=dict)
    equal: dict[tuple[_Shared, str, int], list[int]] = field(default_factory=dict)
    every: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)

    def gap(self, first: int, second: int, tasks: Sequence[str] | None = None) -> tuple[Gap, Floats, Overlap] | None:
        """The difference of two models.

        Args:
            second: Number of the model whose score is subtracted.
            tasks: Only these tasks.

        Returns:
            The difference, what it would be without a true one in each replicate, for ranks (``fathom.stats.ranks``),
            and what it is over; None without anything in common.
        """
        shared = self._shared(self.models[first], self.models[second], tasks)
        if not shared:
            return None
        own, other = (self._side(model, shared) for model in (first, second))
        gap = gap_of(own.draws - other.draws, own.mean - other.mean)
        p_value = flip_p_value(own.contributions - other.contributions)
        noise = own.noise - other.noise
        return Gap(gap.difference, gap.interval, p_value), noise, self._overlap(first, second, shared, tasks)

    def noise(self, first: int, second: int) -> Floats | None:
        """What the difference of two models would be without a true one, as :meth:`gap` gives it."""
        shared = self._shared(self.models[first], self.models[second], None)
        return self._side(first, shared).noise - self._side(second, shared).noise if shared else None

    def _shared(
        self, first: Mapping[str, TaskScores], second: Mapping[str, TaskScores], only: Sequence[str] | None
    ) -> _Shared:
        tasks = sorted(task for task in first.keys() & second.keys() if only is None or task in only)
        lengths = {task: {*first[task].lengths} & {*second[task].lengths} for task in tasks}
        if self.together and tasks:
            lengths = dict.fromkeys(tasks, set.intersection(*lengths.values()))
        shared = [part for task in tasks if (part := _part(task, first[task], second[task], sorted(lengths[task])))]
        return tuple(shared) if len(shared) == len(tasks) or not self.together else ()

    def _overlap(self, first: int, second: int, shared: _Shared, only: Sequence[str] | None) -> Overlap:
        samples = sum(sum(mask) for *_, mask in shared)
        longest = max(max(lengths) for _, _, lengths, _ in shared)
        items = sum(int(_known(mask, lengths).any(axis=1).sum()) for _, _, lengths, mask in shared)
        if longest == 0:
            both = [_questions(self.models[model], only) for model in (first, second)]
            every = len(both[0] | both[1])
            return Overlap(samples, every, samples, items=items, samples_of=every)
        cells = [self._cells(self.models[model], only) for model in (first, second)]
        count = sum(len(lengths) for _, _, lengths, _ in shared)
        own, other = self.models[first], self.models[second]
        scored = sum(side[task].scored_at(lengths) for side in (own, other) for task, _, lengths, _ in shared)
        return Overlap(count, len(cells[0] | cells[1]), samples, longest, items, samples_of=scored - samples)

    def _cells(self, tables: Mapping[str, TaskScores], only: Sequence[str] | None) -> set[tuple[str, int]]:
        """The cells that the score of a model is over."""
        named = {task: table for task, table in tables.items() if only is None or task in only}
        if not self.together or not named:
            return {(task, length) for task, table in named.items() for length in table.lengths}
        lengths = set.intersection(*({*table.lengths} for table in named.values()))
        return {(task, length) for task in named for length in lengths}

    def _side(self, model: int, shared: _Shared) -> _Side:
        known = self.sides.pop((model, shared), None) or self._drawn(model, shared)
        self.sides[model, shared] = known  # the latest is the last
        if len(self.sides) > _KEPT:
            del self.sides[next(iter(self.sides))]
        return known

    def _drawn(self, model: int, shared: _Shared) -> _Side:
        mean, draws, parts = 0.0, np.zeros(self.replicates), dict[tuple[str, str], float]()
        noise = np.zeros(min(DRAWN, self.replicates - 1))
        clusters_by_task = {part[0]: self._present(model, part) for part in shared}
        known_strata = strata(clusters_by_task)
        shares = self.weights([task for task, *_ in shared])
        for (task, names, lengths, mask), share in zip(shared, shares, strict=True):
            table = self.models[model][task].at(names, lengths)
            known = _known(mask, lengths)
            groups = clusters_by_task[task]
            clusters = clusters_of(np.where(known, table.values, np.nan)[np.asarray(known.any(axis=1))], groups)
            mean += share * float(clusters.means.mean())
            own = clusters.contributions.mean(axis=1)
            for name, part in zip(sorted(set(groups)), (share * own).tolist(), strict=True):
                parts[cluster_key(task, name)] = parts.get(cluster_key(task, name), 0.0) + part
            stratum = known_strata[task]
            every = within_stratum(clusters, groups, stratum.clusters)
            sums = resampled_sums(every, self.seed, replicates=self.replicates)
            drawn = sums.means(self.seed, 1 / len(shared), self._stream(model, shared, task, clusters)).mean(axis=1)
            draws += share * shuffled(drawn, stratum.place)
            noise += share * self._noise(task, groups, own, drawn)[: len(noise)]
        contributions = np.array(list(parts.values()))
        return _Side(mean, draws, contributions, np.append(noise, contributions.sum()))

    def _present(self, model: int, shared: _Part) -> list[str]:
        """The clusters of the items that two models share on a task."""
        task, names, lengths, mask = shared
        groups = self.models[model][task].at(names, lengths).groups
        here = np.asarray(_known(mask, lengths).any(axis=1))
        return [group for group, present in zip(groups, here.tolist(), strict=True) if present]

    def _noise(self, task: str, groups: Sequence[str], contributions: Floats, draws: Floats) -> Floats:
        """Sums with random signs, the same for a cluster in all models and in all that is compared."""
        if not self.every:
            names: dict[str, set[str]] = {}
            for own in self.models:
                for name, scores in own.items():
                    names.setdefault(name, set()).update(scores.groups)
            known = strata(names)
            self.every.update(
                {name: (known[name].place, known[name].clusters or tuple(sorted(names[name]))) for name in names}
            )
        place, every = self.every[task]
        table = np.zeros(len(every))
        table[np.searchsorted(np.asarray(every, dtype=str), sorted(set(groups)))] = contributions
        return shuffled(noise_of(table, draws), place)

    def _stream(self, model: int, shared: _Shared, task: str, clusters: Clusters) -> int:
        alike = self.equal.setdefault((shared, task, clusters.key), [])
        if model not in alike:
            alike.append(model)
        return pseudo_streams([clusters.key] * len(alike))[alike.index(model)]


def _known(mask: bytes, lengths: Sequence[int]) -> NDArray[np.bool_]:
    """Where both models have a score, items x lengths."""
    return np.frombuffer(mask, dtype=np.bool_).reshape(-1, len(lengths))


def _questions(tables: Mapping[str, TaskScores], only: Sequence[str] | None) -> set[tuple[str, str]]:
    """The questions with a score."""
    return {
        (task, name)
        for task, table in tables.items()
        if only is None or task in only
        for name, scored in zip(table.names, np.asarray((~np.isnan(table.values)).any(axis=1)).tolist(), strict=True)
        if scored
    }


def _part(task: str, first: TaskScores, second: TaskScores, lengths: Sequence[int]) -> _Part | None:
    """What two models share on a task, of some lengths those with a common item; None without any."""
    names = first.names
    if second.names != names:
        both = {*names} & {*second.names}
        names = tuple(name for name in names if name in both)
    if not names or not lengths:
        return None
    own, other = (side.at(names, tuple(lengths)).values for side in (first, second))
    known = ~np.isnan(own) & ~np.isnan(other)
    some = known.any(axis=0)
    if not some.any():
        return None
    at = tuple(length for length, here in zip(lengths, some.tolist(), strict=True) if here)
    return task, names, at, known[:, some].tobytes()
