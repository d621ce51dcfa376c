"""Ranks of models by average score, or by mean over questions, with the differences behind them.

Every two models are compared on what both have a score for: tasks and lengths (cells), and items or questions in them.
Ranges of ranks hold together for all models (``fathom.stats.ranks``).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.average import AverageScore
from fathom.analysis.grid import ALL, Grid
from fathom.analysis.profile import Profile
from fathom.analysis.questions import Asked, Means, means_of
from fathom.stats.differences import PAIRED_REPLICATES, Gap, gap_of, pseudo_streams
from fathom.stats.flips import flip_p_value
from fathom.stats.intervals import (
    Clusters,
    Floats,
    Interval,
    clusters_of,
    exact_interval,
    interval_of,
    resampled_means,
    resampled_sums,
    shuffled,
)
from fathom.stats.ranks import MaxT, ranks_of


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a difference between two models is over.

    Attributes:
        cells: Tasks and lengths at which both have a score, or 1 for questions.
        of: Tasks and lengths that one of them has in its score.
        samples: Items at these cells (or questions) with a score of both.
        longest: Longest of these lengths in tokens; 0 if unknown.
    """

    cells: int
    of: int
    samples: int
    longest: int = 0

    @property
    def partial(self) -> bool:
        """Whether one of the two has cells that the other lacks."""
        return self.cells < self.of


NOTHING = Overlap(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranked model.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is only one.
        mean: Its score on everything that it was asked: the average of all tasks (:func:`average_scores`), or the mean
            over questions.
        interval: Its 95% interval.
        other: The mean under the other choice of ``unanswered``; None without one.
        best: Best rank of its range, from 1.
        worst: Worst rank of its range.
        gaps: Its score minus that of every ranked model on what both have, in the order of the ranks; 0 for itself,
            None without anything in common.
        overlaps: What each gap is over.
        significant: Whether it differs significantly from every ranked model, in one test of all differences.
    """

    model: str
    variant: str
    mean: float
    interval: Interval
    other: float | None
    best: int
    worst: int
    gaps: tuple[Gap | None, ...]
    overlaps: tuple[Overlap, ...]
    significant: tuple[bool, ...]


def ranking_of(
    tables: Sequence[Grid],
    averages: Sequence[AverageScore],
    *,
    seed: int = 0,
    replicates: int = PAIRED_REPLICATES,
) -> list[Ranked]:
    """Models and variants with an average score, the highest first.

    Two models are compared at the lengths at which all tasks that both were asked have a score of both, over the items
    of both. If all have the same items, the order is that of their average scores; otherwise it is that of their mean
    differences to the others.

    Args:
        tables: Grids of all models (:func:`fathom.analysis.grid.grids`).
        averages: Their averages (:func:`fathom.analysis.average.average_scores`).
        seed: Seed of the replicates.
        replicates: Number of replicates.

    Returns:
        The models that can be compared with another one, or the only model.
    """
    scores = [_Score.of(one) for one in averages if one.task == ALL and one.mean is not None]
    own: dict[tuple[str, str], dict[str, _Table]] = {}
    for grid in tables:
        own.setdefault((grid.model, grid.variant), {})[grid.task] = _Table.of(grid)
    return _ranked(scores, _Compared([own[score.system] for score in scores], seed, replicates))


def ranking_of_profiles(ready: Sequence[Profile], averages: Sequence[AverageScore]) -> list[Ranked]:
    """The same from profiles of published scores, without questions: models are treated as independent.

    Args:
        ready: The profiles.
        averages: Their averages.
    """
    scores = [_Score.of(one) for one in averages if one.task == ALL and one.mean is not None]
    own = {(profile.model, profile.variant): profile for profile in ready if profile.task == ALL}
    return _ranked(scores, _Published([own[score.system] for score in scores]))


def ranking_of_questions(
    models: Iterable[Asked | Means], *, seed: int = 0, replicates: int = PAIRED_REPLICATES
) -> list[Ranked]:
    """Models by their mean over questions, every question with the same weight and its repeats averaged first.

    Two models are compared on the questions of both.

    Args:
        models: Models with their questions, or the means of these; those with a cell without a score are left out.
        seed: Seed of the replicates.
        replicates: Number of replicates.
    """
    whole = [means for one in models if (means := means_of(one) if isinstance(one, Asked) else one) is not None]
    scores = []
    for one in whole:
        mean, clusters = float(one.means.mean()), clusters_of(one.means[:, None], one.groups)
        interval = exact_interval(clusters)
        if interval is None:
            interval = interval_of(resampled_means(clusters, seed, replicates=replicates)[:, 0], mean)
        scores.append(_Score(one.model, one.variant, mean, interval, one.other))
    tables = [{"": _Table(one.names, one.groups, (0,), one.means[:, None])} for one in whole]
    return _ranked(scores, _Compared(tables, seed, replicates))


@dataclass(frozen=True, slots=True)
class _Score:
    """A score to rank."""

    model: str
    variant: str
    mean: float
    interval: Interval
    other: float | None

    @classmethod
    def of(cls, average: AverageScore) -> "_Score":
        assert average.mean is not None
        assert average.interval is not None  # of a mean
        return cls(average.model, average.variant, average.mean, average.interval, average.other)

    @property
    def system(self) -> tuple[str, str]:
        return self.model, self.variant


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Scores of one model on one task: items (or questions) x lengths, without lengths that have no usable score."""

    names: tuple[str, ...]
    groups: tuple[str, ...]
    lengths: tuple[int, ...]
    values: Floats

    @classmethod
    def of(cls, grid: Grid) -> "_Table":
        usable = np.array([gap is None for gap in grid.gaps], dtype=np.bool_) & ~np.isnan(grid.scores).all(axis=0)
        return cls(grid.names, grid.groups, tuple(grid.lengths[usable].tolist()), grid.scores[:, usable])

    def at(self, names: tuple[str, ...], lengths: tuple[int, ...]) -> "_Table":
        """The same at some items and lengths, which it has."""
        if (names, lengths) == (self.names, self.lengths):
            return self
        place = {name: number for number, name in enumerate(self.names)}
        rows = [place[name] for name in names]
        groups = tuple(self.groups[row] for row in rows)
        return _Table(names, groups, lengths, self.values[np.ix_(rows, [self.lengths.index(at) for at in lengths])])


_Shared: TypeAlias = tuple[tuple[str, tuple[str, ...], tuple[int, ...], bytes], ...]
"""By task: items and lengths of two models, and where both have a score."""


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One model on what it shares with another: its mean, its replicates, and what each cluster adds to the mean."""

    mean: float
    draws: Floats
    contributions: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """The differences of models with single scores.

    Attributes:
        models: Their tables by task.
        seed: Seed of the replicates.
        replicates: Number of replicates.
        sides: What was computed: most pairs share the same items.
        equal: Models by what is compared, task and scores: equal scores have pseudo-clusters of their own.
    """

    models: Sequence[Mapping[str, _Table]]
    seed: int
    replicates: int
    sides: dict[tuple[int, _Shared], _Side] = field(default_factory=dict)
    equal: dict[tuple[_Shared, str, int], list[int]] = field(default_factory=dict)

    def gap(self, first: int, second: int) -> "tuple[Gap, Floats, Overlap] | None":
        """The difference of two models, its replicates, and what it is over; None without anything in common."""
        shared, overlap = self._shared(self.models[first], self.models[second])
        if not shared:
            return None
        own, other = (self._side(model, shared) for model in (first, second))
        draws = own.draws - other.draws
        gap = gap_of(draws, own.mean - other.mean)
        p_value = flip_p_value(own.contributions - other.contributions)
        return Gap(gap.difference, gap.interval, p_value), draws, overlap

    def _shared(self, first: Mapping[str, _Table], second: Mapping[str, _Table]) -> tuple[_Shared, Overlap]:
        tasks = sorted(task for task in first.keys() & second.keys())
        lengths = tuple(
            sorted(set.intersection(*({*first[task].lengths} & {*second[task].lengths} for task in tasks)))
            if tasks
            else ()
        )
        shared, samples = [], 0
        for task in tasks if lengths else ():
            own, other = first[task], second[task]
            names = own.names
            if other.names != names:
                both = set(names) & set(other.names)
                names = tuple(name for name in names if name in both)
            known = ~np.isnan(own.at(names, lengths).values) & ~np.isnan(other.at(names, lengths).values)
            if not known.any(axis=0).all():
                return (), NOTHING
            samples += int(known.sum())
            shared.append((task, names, lengths, known.tobytes()))
        cells = [{(task, at) for task in one for at in _whole(one)} for one in (first, second)]
        cells_of = len(cells[0] | cells[1])
        return tuple(shared), Overlap(len(shared) * len(lengths), cells_of, samples, max(lengths, default=0))

    def _side(self, model: int, shared: _Shared) -> _Side:
        known = self.sides.get((model, shared))
        if known is None:
            known = self.sides[model, shared] = self._drawn(model, shared)
        return known

    def _drawn(self, model: int, shared: _Shared) -> _Side:
        means, draws, contributions = [], [], []
        for place, (task, names, lengths, mask) in enumerate(shared):
            table = self.models[model][task].at(names, lengths)
            known: NDArray[np.bool_] = np.frombuffer(mask, dtype=np.bool_).reshape(table.values.shape)
            present = np.asarray(known.any(axis=1))
            groups = [group for group, here in zip(table.groups, present.tolist(), strict=True) if here]
            clusters = clusters_of(np.where(known, table.values, np.nan)[present], groups)
            means.append(clusters.means.mean())
            contributions.append(clusters.contributions.mean(axis=1) / len(shared))
            sums = resampled_sums(clusters, self.seed, replicates=self.replicates)
            drawn = sums.means(self.seed, 1 / len(shared), self._stream(model, shared, task, clusters))
            draws.append(shuffled(drawn.mean(axis=1), place))
        return _Side(float(np.mean(means)), np.mean(draws, axis=0), np.concatenate(contributions))

    def _stream(self, model: int, shared: _Shared, task: str, clusters: Clusters) -> int:
        alike = self.equal.setdefault((shared, task, clusters.key), [])
        alike.append(model)
        return pseudo_streams([clusters.key] * len(alike))[-1]


def _whole(tables: Mapping[str, _Table]) -> set[int]:
    """The lengths at which every task of a model has a score."""
    return set.intersection(*({*table.lengths} for table in tables.values()))


@dataclass(frozen=True, slots=True, eq=False)
class _Published:
    """The differences of models with published means."""

    profiles: Sequence[Profile]

    def gap(self, first: int, second: int) -> tuple[Gap, Floats, Overlap] | None:
        """See :class:`_Compared`."""
        own, other = self.profiles[first], self.profiles[second]
        if set(own.tasks) != set(other.tasks):
            return None
        lengths = {*own.lengths[own.complete].tolist()} & {*other.lengths[other.complete].tolist()}
        if not lengths:
            return None
        columns = [np.isin(one.lengths, sorted(lengths)) for one in (own, other)]
        (mean, draws), (mean_other, draws_other) = (
            (float(one.means[at].mean()), side[:, at].mean(axis=1))
            for one, side, at in zip((own, other), (own.draws, other.compared), columns, strict=True)
        )
        cells = len(own.tasks) * int(own.complete.sum() + other.complete.sum() - len(lengths))
        overlap = Overlap(len(own.tasks) * len(lengths), cells, 0, max(lengths))
        return gap_of(draws - draws_other, mean - mean_other), draws - draws_other, overlap


def _ranked(scores: Sequence[_Score], compared: _Compared | _Published) -> list[Ranked]:
    count = len(scores)
    gaps: dict[tuple[int, int], tuple[Gap, Overlap]] = {}
    tested, errors = MaxT(), np.full((count, count), np.nan)
    for first, second in combinations(range(count), 2):
        if (compared_pair := compared.gap(first, second)) is not None:
            gap, draws, overlap = compared_pair
            gaps[first, second], gaps[second, first] = (gap, overlap), (_turned(gap), overlap)
            errors[first, second] = errors[second, first] = tested.add(draws[None, :])[0]
    comparable = [one for one in range(count) if count == 1 or any(one == first for first, _ in gaps)]
    order = _order(scores, gaps, comparable)
    differences, critical = np.full((count, count), np.nan), tested.critical()
    for pair, (gap, _) in gaps.items():
        differences[pair] = gap.difference
    chosen = np.ix_(order, order)
    significant = np.abs(differences[chosen]) > critical * errors[chosen]  # NaN is not
    ranks = ranks_of(differences[chosen], significant)
    return [
        Ranked(
            model=score.model,
            variant=score.variant,
            mean=score.mean,
            interval=score.interval,
            other=score.other,
            best=int(ranks.best[place]),
            worst=int(ranks.worst[place]),
            gaps=tuple(
                Gap(0.0, Interval(0.0, 0.0), 1.0)
                if other == one
                else gaps[one, other][0]
                if (one, other) in gaps
                else None
                for other in order
            ),
            overlaps=tuple(gaps[one, other][1] if (one, other) in gaps else NOTHING for other in order),
            significant=tuple(ranks.significant[place].tolist()),
        )
        for place, one in enumerate(order)
        for score in [scores[one]]
    ]


def _order(
    scores: Sequence[_Score], gaps: Mapping[tuple[int, int], tuple[Gap, Overlap]], models: Sequence[int]
) -> list[int]:
    """Models by their mean score, or by their mean difference to the others if some have other questions."""
    if all((pair in gaps) and not gaps[pair][1].partial for pair in combinations(models, 2)):
        return sorted(models, key=lambda one: -scores[one].mean)
    ahead = {
        one: float(np.mean([gap.difference for (first, _), (gap, _) in gaps.items() if first == one] or [0.0]))
        for one in models
    }
    return sorted(models, key=lambda one: (-ahead[one], -scores[one].mean))


def _turned(gap: Gap) -> Gap:
    return Gap(-gap.difference, Interval(-gap.interval.high, -gap.interval.low, gap.interval.level), gap.p_value)
