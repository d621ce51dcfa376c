"""The average score: tasks with equal weight, then lengths with equal weight, with its interval."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.ability import not_measured
from fathom.analysis.profile import Profile, mean_draws, profiles
from fathom.stats.intervals import Interval, interval_of
from fathom.stats.outcomes import Unanswered, added

OVER_LENGTHS = "the mean over lengths with different questions at each (over questions: `fathom analyze breakdown`)"


@dataclass(frozen=True, slots=True)
class AverageScore:
    """Mean score of one model on one task, or on the mean of its tasks, over its lengths.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is one only.
        task: Name of the task, ``all`` for tasks averaged first.
        mean: Mean over ``lengths``, in [0, 1]; None where there is none, or a length was asked and is not measured.
        interval: 95% interval of the mean, paired over lengths; None where ``mean`` is.
        chance: Chance level over the same lengths; None if unknown.
        lengths: Lengths that the mean is taken over: those at which every task has a score.
        tasks: Tasks that the mean is taken over.
        note: What the reader should know; "" if nothing.
        other: The mean by the other choice of ``unanswered``; None where there is none.
        unanswered: Replies behind it that were not answered.
        cut: Replies behind it that the output cap cut off.
        overflow: Prompts behind it that did not fit.
        missing: Replies behind it that are missing.
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
    other: float | None = None
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0


def average_scores(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[AverageScore]:
    """Average score per model and variant, for every task and for ``all``.

    A length at which some task was not asked is left out: with it, the mean would be over other tasks there than
    elsewhere. Where a length was asked and is not measured, there is no mean: that of the others would be higher.

    Args:
        rows: A rows table (``fathom.rows``); may be empty.
        unanswered: How replies count that were not answered, see ``fathom.stats.outcomes``.
        seed: Seed of the intervals.
    """
    return average_scores_of(profiles(rows, seed=seed, unanswered=unanswered))


def average_scores_of(ready: Sequence[Profile]) -> list[AverageScore]:
    """The same from profiles that are there already."""
    return [_average(profile) for profile in ready]


def _average(profile: Profile) -> AverageScore:
    there = profile.complete & ~np.isnan(profile.means)
    gaps = [gap for gap in profile.gaps if gap is not None]
    mean = float(profile.means[there].mean()) if there.any() and not gaps else None
    chance = float(profile.chance[there].mean()) if there.any() else math.nan
    asked = there | np.array([gap is not None for gap in profile.gaps], dtype=np.bool_)
    others = profile.other[asked]
    return AverageScore(
        model=profile.model,
        variant=profile.variant,
        task=profile.task,
        mean=mean,
        interval=None if mean is None else interval_of(mean_draws(profile, there), mean),
        chance=None if math.isnan(chance) else chance,
        lengths=tuple(int(length) for length in profile.lengths[there]),
        tasks=profile.tasks,
        note="; ".join(filter(None, (OVER_LENGTHS if profile.apart else "", not_measured(gaps)))),
        **added(tally for tally, counted in zip(profile.tallies, asked, strict=True) if counted),
        other=float(others.mean()) if len(others) and not np.isnan(others).any() else None,
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
