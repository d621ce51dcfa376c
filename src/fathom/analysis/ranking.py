"""Ranks of models by average score, or by mean over questions, with the differences behind them.

Every two models are compared on what both have a score for: tasks and lengths (cells), and items or questions in them.
Ranges of ranks hold together for all models (``fathom.stats.ranks``).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fathom.analysis.average import AverageScore
from fathom.analysis.grid import ALL, Grid
from fathom.analysis.profile import Profile
from fathom.analysis.questions import Means, ModelReplies, means_of
from fathom.stats.differences import PAIRED_REPLICATES, Gap, gap_of
from fathom.stats.intervals import (
    LEVEL,
    Floats,
    Interval,
    clusters_of,
    exact_interval,
    interval_of,
    kept_draws,
    resampled_means,
)
from fathom.stats.ranks import MaxT, ranks_of
from fathom.stats.shared import NOTHING, Overlap, SharedScores, TaskScores

_ALONE = 1.96
"""Standard errors that 95% of deviations of a single difference do not exceed."""
_SIDE = 1e-9
_DECIMALS = 9  # of mean differences: the model that was asked more comes first if they are equal


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranked model.

    Attributes:
        mean: Its score on everything that it was asked: the average of all tasks (:func:`average_scores`), or the mean
            over questions.
        interval: Its 95% interval.
        best: Best rank of its range, from 1.
        worst: Worst rank of its range.
        gaps: Its score minus that of every ranked model on what both have, in the order of the ranks; 0 for itself,
            None without anything in common.
        overlaps: What each gap is over.
        significant: Whether it differs significantly from every ranked model, in one test of all differences.
        bounds: Intervals of the gaps that hold for all pairs together, and that exclude 0 if the difference is
            significant, and only then; None where the gap is.
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
    bounds: tuple[Interval | None, ...] = ()


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

    Returns:
        The models that can be compared with another one, or the only model.
    """
    scores = [_Score.of(average) for average in averages if average.task == ALL and average.mean is not None]
    own: dict[tuple[str, str], dict[str, TaskScores]] = {}
    for grid in tables:
        own.setdefault((grid.model, grid.variant), {})[grid.task] = _scores_of(grid)
    return _ranked(scores, SharedScores([own[score.system] for score in scores], seed, replicates))


def ranking_of_profiles(ready: Sequence[Profile], averages: Sequence[AverageScore]) -> list[Ranked]:
    """The same from profiles of published scores, without questions: models are treated as independent."""
    scores = [_Score.of(average) for average in averages if average.task == ALL and average.mean is not None]
    own = {(profile.model, profile.variant): profile for profile in ready if profile.task == ALL}
    return _ranked(scores, _Published([own[score.system] for score in scores]))


def ranking_of_questions(
    models: Iterable[ModelReplies | Means], *, seed: int = 0, replicates: int = PAIRED_REPLICATES
) -> list[Ranked]:
    """Models by their mean over questions, every question with the same weight and its repeats averaged first.

    Two models are compared on the questions of both. Those without common questions share all ranks.

    Args:
        models: Models with their questions, or the means of these; those with a cell without a score are left out.
    """
    whole = [
        means
        for model in models
        if (means := means_of(model) if isinstance(model, ModelReplies) else model) is not None
    ]
    scores = []
    for model in whole:
        mean, clusters = float(model.means.mean()), clusters_of(model.means[:, None], model.groups)
        interval = exact_interval(clusters) or interval_of(
            resampled_means(clusters, seed, replicates=replicates)[:, 0], mean
        )
        scores.append(_Score(model.model, model.variant, mean, interval, model.other))
    tables = [{"": TaskScores(model.names, model.groups, (0,), model.means[:, None])} for model in whole]
    return _ranked(scores, SharedScores(tables, seed, replicates), everyone=True)


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


def _scores_of(grid: Grid) -> TaskScores:
    """The scores at the lengths whose scores can be used."""
    usable = np.array([gap is None for gap in grid.gaps], dtype=np.bool_) & ~np.isnan(grid.scores).all(axis=0)
    return TaskScores(grid.names, grid.groups, tuple(grid.lengths[usable].tolist()), grid.scores[:, usable])


@dataclass(frozen=True, slots=True, eq=False)
class _Published:
    """The differences of models with published means."""

    profiles: Sequence[Profile]

    def gap(self, first: int, second: int) -> tuple[Gap, Floats, Overlap] | None:
        """See ``SharedScores.gap``."""
        own, other = self.profiles[first], self.profiles[second]
        if set(own.tasks) != set(other.tasks):
            return None
        lengths = {*own.lengths[own.complete].tolist()} & {*other.lengths[other.complete].tolist()}
        if not lengths:
            return None
        columns = [np.isin(profile.lengths, sorted(lengths)) for profile in (own, other)]
        (mean, draws), (mean_other, draws_other) = (
            (float(profile.means[at].mean()), side[:, at].mean(axis=1))
            for profile, side, at in zip((own, other), (own.draws, other.compared), columns, strict=True)
        )
        cells = len(own.tasks) * int(own.complete.sum() + other.complete.sum() - len(lengths))
        overlap = Overlap(len(own.tasks) * len(lengths), cells, 0, max(lengths))
        gaps = draws - draws_other
        return gap_of(gaps, mean - mean_other), gaps - gaps.mean(), overlap


@kept_draws()  # models with as many clusters share them
def _ranked(scores: Sequence[_Score], compared: SharedScores | _Published, *, everyone: bool = False) -> list[Ranked]:
    """Ranks all models that can be compared with another one, or all; the latter share all ranks and come last."""
    count = len(scores)
    gaps: dict[tuple[int, int], tuple[Gap, Overlap]] = {}
    tested, errors = MaxT(), np.full((count, count), np.nan)
    for first, second in combinations(range(count), 2):
        if (compared_pair := compared.gap(first, second)) is not None:
            gap, noise, overlap = compared_pair
            gaps[first, second], gaps[second, first] = (gap, overlap), (gap.reversed, overlap)
            errors[first, second] = errors[second, first] = tested.add(noise[None, :])[0]
    comparable = [model for model in range(count) if count == 1 or any(model == first for first, _ in gaps)]
    others = [model for model in range(count) if model not in comparable] if everyone else []
    order = _order(scores, gaps, comparable) + sorted(others, key=lambda model: -scores[model].mean)
    differences, critical = np.full((count, count), np.nan), tested.critical()
    p_values = np.ones((count, count))
    for pair, (gap, _) in gaps.items():
        differences[pair], p_values[pair] = gap.difference, gap.p_value
    chosen = np.ix_(order, order)
    significant = np.abs(differences[chosen]) > critical * errors[chosen]  # NaN is not
    significant &= p_values[chosen] < 1 - LEVEL
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
                if other == model
                else gaps[model, other][0]
                if (model, other) in gaps
                else None
                for other in order
            ),
            overlaps=tuple(gaps[model, other][1] if (model, other) in gaps else NOTHING for other in order),
            significant=tuple(ranks.significant[place].tolist()),
            bounds=tuple(
                _together(gaps[model, other][0], critical, errors[model, other], bool(ranks.significant[place, column]))
                if (model, other) in gaps
                else None
                for column, other in enumerate(order)
            ),
        )
        for place, model in enumerate(order)
        for score in [scores[model]]
    ]


def _together(gap: Gap, critical: float, error: float, is_significant: bool) -> Interval:
    """The interval of a gap, widened so that those of all pairs hold together, on one side of 0 if it is significant.

    The widening is that of the critical value of the largest deviation over that of one (max-T).
    """
    middle, reach, factor = gap.difference, critical * error, max(1.0, critical / _ALONE)
    low = max(-1.0, middle - max(reach, factor * (middle - gap.interval.low)))
    high = min(1.0, middle + max(reach, factor * (gap.interval.high - middle)))
    if is_significant:
        return Interval(max(low, _SIDE), high) if middle > 0 else Interval(low, min(high, -_SIDE))
    return Interval(min(low, 0.0), max(high, 0.0))


def _order(
    scores: Sequence[_Score], gaps: Mapping[tuple[int, int], tuple[Gap, Overlap]], models: Sequence[int]
) -> list[int]:
    """Models by their mean score, or by their mean difference to the others if some have other questions."""
    if all((pair in gaps) and not gaps[pair][1].partial for pair in combinations(models, 2)):
        return sorted(models, key=lambda model: -scores[model].mean)
    own = {model: [pair for (first, _), pair in gaps.items() if first == model] for model in models}
    means = {model: float(np.mean([gap.difference for gap, _ in own[model]] or [0.0])) for model in models}
    ahead = {model: round(mean, _DECIMALS) for model, mean in means.items()}
    asked = {model: sum(overlap.samples for _, overlap in own[model]) for model in models}
    return sorted(models, key=lambda model: (-ahead[model], -asked[model], -scores[model].mean))
