"""The average score: tasks with equal weight, then lengths with equal weight, with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.interval import Interval, interval_of
from fathom.analysis.profile import Profile, mean_draws, profiles

OVER_LENGTHS = "the mean over lengths with different questions at each (over questions: `fathom analyze breakdown`)"


@dataclass(frozen=True, slots=True)
class AverageScore:
    """Mean score of one model on one task, or on the mean of its tasks, over its lengths.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is one only.
        task: Name of the task, ``all`` for tasks averaged first.
        mean: Mean over ``lengths``, in [0, 1]; None where there is none.
        interval: 95% interval of the mean, paired over lengths; None where ``mean`` is.
        chance: Chance level over the same lengths; None if unknown.
        lengths: Lengths that the mean is taken over: those at which every task has a score.
        tasks: Tasks that the mean is taken over.
        note: What the reader should know; "" if nothing.
    """

    model: str
    variant: str
    task: str
    mean: float | None
    interval: Interval | None
    chance: float | None
    lengths: tuple[int, ...]
    tasks: tuple[str, ...]
    note: str = ""


def average_scores(rows: pl.DataFrame, *, seed: int = 0) -> list[AverageScore]:
    """Average score per model and variant, for every task and for ``all``.

    A length at which some task has no score is left out: with it, the mean would be over other tasks there than
    elsewhere.

    Args:
        rows: A rows table (``fathom.rows``); may be empty.
        seed: Seed of the intervals.
    """
    return average_scores_of(profiles(rows, seed=seed))


def average_scores_of(ready: Sequence[Profile]) -> list[AverageScore]:
    """The same from profiles that are there already."""
    return [_average(profile) for profile in ready]


def _average(profile: Profile) -> AverageScore:
    there = profile.complete & ~np.isnan(profile.means)
    mean = float(profile.means[there].mean()) if there.any() else None
    chance = float(profile.chance[there].mean()) if there.any() else math.nan
    return AverageScore(
        model=profile.model,
        variant=profile.variant,
        task=profile.task,
        mean=mean,
        interval=None if mean is None else interval_of(mean_draws(profile, there), mean),
        chance=None if math.isnan(chance) else chance,
        lengths=tuple(int(length) for length in profile.lengths[there]),
        tasks=profile.tasks,
        note=OVER_LENGTHS if profile.apart else "",
    )


def comparable(scores: Iterable[AverageScore]) -> list[AverageScore]:
    """The averages that are over the same tasks and lengths: the largest such group, the widest where groups tie.

    The others are averages of something else, and no order between them and these means anything.
    """
    groups: dict[tuple[frozenset[str], tuple[int, ...]], list[AverageScore]] = {}
    for score in scores:
        if score.mean is not None:
            groups.setdefault((frozenset(score.tasks), score.lengths), []).append(score)
    return max(groups.values(), key=lambda group: (len(group), len(group[0].tasks) * len(group[0].lengths)), default=[])
