"""The average score: tasks with equal weight, then lengths with equal weight, with its interval."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.ability import not_measured
from fathom.analysis.profile import Profile, interval_over, profiles
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Bounds, Unanswered, added, bounds_of

OVER_LENGTHS = "the mean over lengths with different questions at each (over questions: `fathom analyze breakdown`)"


@dataclass(frozen=True, slots=True)
class AverageScore:
    """Mean score of one model on one task, or on the mean of its tasks, over its lengths.

    Attributes:
        task: Name of the task, ``all`` for tasks averaged first.
        mean: Mean over ``lengths``, in [0, 1]; None without any, or if a length was asked and has no score.
        interval: 95% interval of the mean, paired over lengths; None if ``mean`` is.
        chance: Chance level over the same lengths; None if unknown.
        lengths: Lengths that the mean is over: those at which every task has a score.
        tasks: Tasks that the mean is over.
        note: Caveats; "" if none.
        items: Items with a score at any length.
        clusters: Clusters of items (``fathom.stats.intervals``); as many as items if none belong together. None without
            single scores; the same below.
        design_effect: Variance of the mean over that of as many independent items; None too if all scores are equal.
        effective_items: Independent items that would have this variance; None likewise.
        bounds: The mean over all lengths that were asked with all missing replies wrong, and with all of them right;
            None if nothing is missing, if every reply is, or if a length does not fit. It takes the place of a ``mean``
            that is None for missing replies.
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
    items: int | None = None
    clusters: int | None = None
    design_effect: float | None = None
    effective_items: float | None = None
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0
    scorer_error: int = 0
    bounds: Bounds | None = None


def average_scores(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[AverageScore]:
    """Average score per model and variant, for every task and for ``all``.

    A length at which some task was not asked is left out, because the mean would be over other tasks there. If a
    length was asked and has no score, there is no mean, because that of the other lengths would be higher.

    Args:
        rows: A rows table (``fathom.rows``); may be empty.
    """
    return average_scores_of(profiles(rows, seed=seed, unanswered=unanswered))


def average_scores_of(ready: Sequence[Profile]) -> list[AverageScore]:
    """The same from precomputed profiles."""
    return [_average(profile) for profile in ready]


def _average(profile: Profile) -> AverageScore:
    scored = profile.complete & ~np.isnan(profile.means)
    gaps = [gap for gap in profile.gaps if gap is not None]
    mean = float(profile.means[scored].mean()) if scored.any() and not gaps else None
    chance = float(profile.chance[scored].mean()) if scored.any() else math.nan
    asked = scored | np.array([gap is not None for gap in profile.gaps], dtype=np.bool_)
    others = profile.other[asked]
    low, high = (float(ends[asked].mean()) if asked.any() else math.nan for ends in (profile.low, profile.high))
    design = profile.design
    return AverageScore(
        model=profile.model,
        variant=profile.variant,
        task=profile.task,
        mean=mean,
        interval=None if mean is None else interval_over(profile, scored),
        chance=None if math.isnan(chance) else chance,
        lengths=tuple(int(length) for length in profile.lengths[scored]),
        tasks=profile.tasks,
        note="; ".join(filter(None, (OVER_LENGTHS if profile.apart else "", not_measured(gaps)))),
        **added(tally for tally, counted in zip(profile.tallies, asked, strict=True) if counted),
        bounds=bounds_of(low, high),
        other=float(others.mean()) if len(others) and not np.isnan(others).any() else None,
        items=None if design is None else design.scores,
        clusters=None if design is None else design.clusters,
        design_effect=None if design is None else _known(design.effect),
        effective_items=None if design is None else _known(design.effective),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def comparable(scores: Iterable[AverageScore]) -> list[AverageScore]:
    """The averages over the same tasks and lengths: the largest such group, in a tie the one with most cells.

    Averages over other tasks or lengths cannot be compared with these.
    """
    groups: dict[tuple[frozenset[str], tuple[int, ...]], list[AverageScore]] = {}
    for score in scores:
        if score.mean is not None:
            groups.setdefault((frozenset(score.tasks), score.lengths), []).append(score)
    return max(groups.values(), key=lambda group: (len(group), len(group[0].tasks) * len(group[0].lengths)), default=[])
