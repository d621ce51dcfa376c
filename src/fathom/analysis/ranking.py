"""Ranks of models by average score, or by mean over questions, with the differences behind them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis.average import AverageScore, comparable
from fathom.analysis.grid import ALL, Grid
from fathom.analysis.profile import Profile, mean_draws
from fathom.analysis.questions import Asked, Means, means_of
from fathom.stats.differences import (
    PAIRED_REPLICATES,
    PSEUDO_ITEMS,
    Gap,
    drawn_columns,
    drawn_means,
    shared_sums,
    system_key,
)
from fathom.stats.intervals import Floats, Interval, interval_of
from fathom.stats.ranks import gaps_of, ranks_of


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranked model.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is only one.
        mean: The ranked score: the average of all tasks (:func:`average_scores`), or the mean over questions.
        interval: Its 95% interval.
        other: The mean under the other choice of ``unanswered``; None without one.
        best: Best rank of its range, from 1.
        worst: Worst rank of its range.
        gaps: Its score minus that of every ranked model, in the order of the ranks; 0 for itself.
        significant: Whether it differs significantly from every ranked model, by Holm's step-down over all its gaps.
    """

    model: str
    variant: str
    mean: float
    interval: Interval
    other: float | None
    best: int
    worst: int
    gaps: tuple[Gap, ...]
    significant: tuple[bool, ...]


def ranking_of(
    tables: Sequence[Grid],
    averages: Sequence[AverageScore],
    *,
    seed: int = 0,
    replicates: int = PAIRED_REPLICATES,
) -> list[Ranked]:
    """Models and variants by their average score, the highest first.

    Args:
        tables: Grids of all models (:func:`fathom.analysis.grid.grids`).
        averages: Their averages (:func:`fathom.analysis.average.average_scores`).
        seed: Seed of the replicates.
        replicates: Number of replicates.

    Returns:
        Those whose averages are over the same tasks and lengths (:func:`fathom.analysis.average.comparable`).
    """
    ordered = _ordered(averages)
    if not ordered:
        return []
    lengths = ordered[0].lengths
    columns, tasks = range(len(lengths)), ordered[0].tasks
    prior = PSEUDO_ITEMS / (len(tasks) * len(columns))
    drawn: dict[str, list[Floats]] = {system_key(one.model, one.variant): [] for one in ordered}
    for task in tasks:
        own = {system_key(grid.model, grid.variant): grid for grid in tables if grid.task == task}
        found = shared_sums(
            {name: (own[name].names, _at(own[name], lengths)) for name in drawn}, task, seed, replicates=replicates
        )
        # The sums of all tasks together would need gigabytes.
        for name, parts in drawn.items():
            parts.append(drawn_columns(found[name], columns, prior).mean(axis=1))
    return _ranked(_scores(ordered), np.array([np.mean(parts, axis=0) for parts in drawn.values()]))


def ranking_of_profiles(ready: Sequence[Profile], averages: Sequence[AverageScore]) -> list[Ranked]:
    """The same from profiles of published scores, without questions: models are treated as independent.

    Args:
        ready: The profiles.
        averages: Their averages.
    """
    ordered = _ordered(averages)
    own = {system_key(one.model, one.variant): one for one in ready if one.task == ALL}
    draws = [
        mean_draws(profile, np.isin(profile.lengths, one.lengths))
        for one in ordered
        for profile in [own[system_key(one.model, one.variant)]]
    ]
    return _ranked(_scores(ordered), np.array(draws))


def _ordered(averages: Sequence[AverageScore]) -> list[AverageScore]:
    alike = comparable(one for one in averages if one.task == ALL)
    return sorted(alike, key=lambda one: -(one.mean or 0.0))


def ranking_of_questions(
    models: Iterable[Asked | Means], *, seed: int = 0, replicates: int = PAIRED_REPLICATES
) -> list[Ranked]:
    """Models by their mean over questions, every question with the same weight and its repeats averaged first.

    Args:
        models: Models with their questions, or the means of these; those with a cell without a score are left out.
        seed: Seed of the replicates.
        replicates: Number of replicates.
    """
    known = (found for one in models if (found := means_of(one) if isinstance(one, Asked) else one))
    whole = sorted(known, key=lambda one: -float(one.means.mean()))
    if not whole:
        return []
    tables = {system_key(one.model, one.variant): (one.names.to_list(), one.means[:, None]) for one in whole}
    sums = shared_sums(tables, "questions", seed, replicates=replicates)
    scores = []
    for one in whole:
        mean, own = float(one.means.mean()), sums[system_key(one.model, one.variant)]
        interval = interval_of(drawn_means([own], [0], pseudo=1), mean)
        scores.append(_Score(one.model, one.variant, mean, interval, one.other))
    return _ranked(scores, np.array([drawn_means([one], [0]) for one in sums.values()]))


@dataclass(frozen=True, slots=True)
class _Score:
    """A score to rank."""

    model: str
    variant: str
    mean: float
    interval: Interval
    other: float | None


def _scores(ordered: Sequence[AverageScore]) -> list[_Score]:
    return [
        _Score(one.model, one.variant, one.mean, one.interval, one.other)
        for one in ordered
        if one.mean is not None and one.interval is not None
    ]


def _ranked(ordered: Sequence[_Score], draws: Floats) -> list[Ranked]:
    means = np.array([one.mean for one in ordered], dtype=np.float64)
    gaps = gaps_of(means, draws)
    p_values = np.array([[gap.p_value for gap in own] for own in gaps]).reshape(len(ordered), len(ordered))
    ranks = ranks_of(means[:, None] - means[None, :], p_values)
    return [
        Ranked(
            model=one.model,
            variant=one.variant,
            mean=one.mean,
            interval=one.interval,
            other=one.other,
            best=int(ranks.best[number]),
            worst=int(ranks.worst[number]),
            gaps=tuple(gaps[number]),
            significant=tuple(ranks.significant[number].tolist()),
        )
        for number, one in enumerate(ordered)
    ]


def _at(grid: Grid, lengths: Sequence[int]) -> Floats:
    return grid.scores[:, np.searchsorted(grid.lengths, lengths)]
