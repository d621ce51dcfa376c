"""The degradation curve: mean score per length."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.ability import apart_note
from fathom.analysis.profile import Profile, interval_over, profiles
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Bounds, Unanswered, bounds_of


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Mean score of one model on one task at one length.

    Attributes:
        task: Name of the task, ``all`` for the mean over tasks.
        length: Length in tokens.
        mean: Mean over scored items, epochs averaged first, in [0, 1]; None without a score.
        interval: 95% interval of the mean; None if ``mean`` is.
        items: Items with at least one reply at this length, scored or not.
        scored: Items with at least one scored reply.
        chance: Expected score of a valid answer drawn at random, averaged like the mean; None if unknown.
        complete: For ``all``: every task of this model has scored items at this length; if False, the mean is over
            fewer tasks than at other lengths and must not be compared with them. For one task: ``scored > 0``.
        tasks: The tasks of this model, for ``all``; the task itself otherwise.
        note: Caveats about the whole curve; "" if none.
        gap: Why the score cannot be used in a mean ("18 of 20 prompts did not fit"); "" otherwise.
        bounds: The mean with all missing replies wrong, and with all of them right; None if nothing is missing, if
            every reply is, or if a task was not asked or does not fit.
    """

    model: str
    variant: str
    task: str
    length: int
    mean: float | None
    interval: Interval | None
    items: int
    scored: int
    chance: float | None
    complete: bool = True
    tasks: tuple[str, ...] = ()
    note: str = ""
    gap: str = ""
    other: float | None = None
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0
    scorer_error: int = 0
    bounds: Bounds | None = None


def curve(rows: pl.DataFrame, *, seed: int = 0, unanswered: Unanswered = "zero") -> list[CurvePoint]:
    """Mean score per model, variant, task and length, for every task and for ``all``.

    Invalid replies get the score of the scorer (usually 0) and stay in the mean. For ``all`` tasks have equal
    weight.

    Returns:
        Points in the order in which the rows name models and tasks (``all`` after a model's tasks), lengths ascending.
    """
    return curve_of(profiles(rows, seed=seed, unanswered=unanswered))


def curve_of(ready: Sequence[Profile]) -> list[CurvePoint]:
    """The same from precomputed profiles."""
    return [point for profile in ready for point in _points(profile)]


def _points(profile: Profile) -> list[CurvePoint]:
    points = []
    for column, length in enumerate(profile.lengths):
        mean = float(profile.means[column])
        chance = float(profile.chance[column])
        absent = math.isnan(mean)
        points.append(
            CurvePoint(
                model=profile.model,
                variant=profile.variant,
                task=profile.task,
                length=int(length),
                mean=None if absent else mean,
                interval=None if absent else interval_over(profile, np.arange(len(profile.lengths)) == column),
                items=int(profile.items[column]),
                scored=int(profile.scored[column]),
                chance=None if math.isnan(chance) else chance,
                complete=bool(profile.complete[column]),
                tasks=profile.tasks,
                note=apart_note(profile),
                gap=str(profile.gaps[column] or ""),
                **profile.tallies[column],
                bounds=bounds_of(float(profile.low[column]), float(profile.high[column])),
                other=None if math.isnan(profile.other[column]) else float(profile.other[column]),
            )
        )
    return points
