"""LongScore: how much of its short-context score a model keeps at longer lengths.

Source: 100-LongBench, section 3.2, equations 1 and 2. Base Ability is the mean of the scores at 2k, 4k and 6k, and
``LC_l = (S_l - Base) / Base``. Over several tasks the tasks are averaged first at each length and the ratio is taken of
the means, as in the paper's own analysis; a model's summary is the mean of LC over the lengths beyond the base.

The ratio is meaningless if Base is noise: the paper's own outputs rank a model with 4 correct of 99 first of eight.
Here LongScore is undefined if the interval of ``Base - chance`` contains 0: then no interval of the ratio is bounded
(Fieller 1954). If it does not, but spans a factor of 2 or more, a note says so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.ability import base_note, beyond_base, gaps_beyond, missing_base, not_measured, own_base
from fathom.analysis.base import BASE_LENGTHS, BaseRule
from fathom.analysis.profile import Profile, profiles
from fathom.analysis.shared_lengths import shared_lengths, uneven_notes
from fathom.plugins.names import system_name
from fathom.stats.intervals import Interval, interval_of
from fathom.stats.outcomes import Bounds, Unanswered, bounds_of
from fathom.tokens.length import format_length


@dataclass(frozen=True, slots=True)
class LongScorePoint:
    """LongScore at one length: ``(S_l - Base) / Base``, a fraction (-0.22 is a loss of 22%); None where undefined."""

    length: int
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class LongScore:
    """LongScore of one model on one task, or on the mean of its tasks.

    Attributes:
        task: Name of the task, ``all`` for tasks averaged first.
        base: Base Ability, in [0, 1]; None if no base length was scored.
        base_interval: 95% interval of ``base``.
        points: One per length beyond the base lengths, ascending.
        average: Mean of the points' values; None if undefined, or if a length beyond the base was asked and has no
            score (``note`` says why).
        average_interval: 95% interval of ``average``.
        undefined: Why it is undefined, with numbers; "" if it is defined.
        chance: Chance level at the base lengths; None if unknown.
        base_lengths: The base lengths that were scored and used.
        note: Caveats (missing base lengths, unknown chance, ...); "" if none.
        shared_lengths: The lengths of ``points`` that all models with a LongScore on the task have.
        shared_average: Mean of the values there, comparable between models; None if undefined.
        shared_interval: 95% interval of ``shared_average``.
        base_bounds: The base with all missing replies at the base lengths wrong, and with all of them right; None if
            nothing is missing.
        bounds: The lowest and the highest ``average`` with all missing replies wrong or right; None if nothing is
            missing, a length does not fit or was not asked of a task, or the base may be at chance. It takes the place
            of an ``average`` that is None for missing replies.
        base_factor: Upper over lower end of the interval of the base above chance; None if undefined.
    """

    model: str
    variant: str
    task: str
    base: float | None
    base_interval: Interval | None
    points: tuple[LongScorePoint, ...]
    average: float | None
    average_interval: Interval | None
    undefined: str
    chance: float | None = None
    base_lengths: tuple[int, ...] = ()
    note: str = ""
    shared_lengths: tuple[int, ...] = ()
    shared_average: float | None = None
    shared_interval: Interval | None = None
    base_factor: float | None = None
    base_bounds: Bounds | None = None
    bounds: Bounds | None = None


def longscore_of_means(base: float, score: float) -> float | None:
    """``(score - base) / base`` (100-LongBench, equation 2); None if ``base`` is not positive.

    Args:
        base: Base Ability, on any scale.
        score: Score at a longer length, on the same scale.
    """
    return (score - base) / base if base > 0 else None


def longscore(
    rows: pl.DataFrame,
    *,
    base_lengths: Sequence[int] = BASE_LENGTHS,
    seed: int = 0,
    unanswered: Unanswered = "zero",
    base: BaseRule = "paper",
) -> list[LongScore]:
    """LongScore per model, variant and task, and over all tasks.

    Values are fractions. Lengths that are neither base lengths nor longer than all of them are ignored. Over all
    tasks, lengths at which some task has no score are left out and named in ``note``.

    Args:
        base_lengths: Lengths in tokens whose mean score is the base; those that were not tested are named in ``note``.
        seed: Seed of the intervals (Bayesian bootstrap over items, paired across lengths).
        base: ``paper``, or ``code`` for the base of the released code (``fathom.analysis.base``).

    Returns:
        One LongScore per model and task, in the order in which the rows name them, ``all`` after a model's tasks.
    """
    return longscore_of(profiles(rows, seed=seed, unanswered=unanswered, base=base), base_lengths)


def longscore_of(ready: Sequence[Profile], base_lengths: Sequence[int] = BASE_LENGTHS) -> list[LongScore]:
    """The same from precomputed profiles."""
    scores = [_longscore(profile, base_lengths) for profile in ready]
    shared = shared_lengths(
        (system_name(score.model, score.variant), score.task, _lengths(score))
        for score in scores
        if score.average is not None
    )
    notes = uneven_notes(shared, "LongScores are averaged over {named}, which all models have")
    return [
        _compared(score, profile, base_lengths, shared[score.task].lengths, notes.get(score.task, ""))
        if score.average is not None
        else score
        for score, profile in zip(scores, ready, strict=True)
    ]


def _lengths(score: LongScore) -> tuple[int, ...]:
    return tuple(point.length for point in score.points)


def _compared(
    score: LongScore, profile: Profile, base_lengths: Sequence[int], shared: tuple[int, ...], note: str
) -> LongScore:
    """A LongScore with its average over the lengths that all models have."""
    score = replace(score, shared_lengths=shared, note="; ".join(filter(None, (note, score.note))))
    if shared == _lengths(score):
        return replace(score, shared_average=score.average, shared_interval=score.average_interval)
    if not shared:
        return score
    base = own_base(profile, base_lengths)
    columns = np.isin(profile.lengths, shared)
    average = float(profile.means[columns].mean() / base.value - 1)
    interval = interval_of(profile.compared[:, columns].mean(axis=1) / base.draws - 1, average)
    return replace(score, shared_average=average, shared_interval=interval)


def _longscore(profile: Profile, base_lengths: Sequence[int]) -> LongScore:
    base = own_base(profile, base_lengths)
    later = beyond_base(profile, base_lengths)
    undefined, gaps = base.undefined, gaps_beyond(profile, base_lengths)
    if base.interval is None:
        undefined = missing_base(profile, base_lengths)
    elif not later.any():
        stands_for = profile.base.lengths if profile.base else base_lengths
        beyond = format_length(max(stands_for)) if stands_for else "the base"
        undefined = undefined or not_measured(gaps) or f"no score at a length beyond {beyond}"
    points: tuple[LongScorePoint, ...]
    average, average_interval = None, None
    if undefined:
        points = tuple(LongScorePoint(int(length), None, None) for length in profile.lengths[later])
    else:
        values = profile.means[later] / base.value - 1
        draws = profile.compared[:, later] / base.draws[:, None] - 1
        points = tuple(
            LongScorePoint(int(length), float(value), interval_of(draws[:, column], float(value)))
            for column, (length, value) in enumerate(zip(profile.lengths[later], values, strict=True))
        )
        if not gaps:  # a mean over the other lengths would be that of an easier test
            average = float(values.mean())
            average_interval = interval_of(profile.compared[:, later].mean(axis=1) / base.draws - 1, average)
    return LongScore(
        model=profile.model,
        variant=profile.variant,
        task=profile.task,
        base=None if base.interval is None else base.value,
        base_interval=base.interval,
        points=points,
        average=average,
        average_interval=average_interval,
        undefined=undefined,
        chance=None if math.isnan(base.chance) else base.chance,
        base_lengths=tuple(int(length) for length in profile.lengths[base.columns]),
        note=base_note(profile, base, base_lengths),
        base_factor=None if undefined else base.factor,
        base_bounds=_base_bounds(profile, base_lengths),
        bounds=_bounds(profile, base_lengths),
    )


def _base_bounds(profile: Profile, base_lengths: Sequence[int]) -> Bounds | None:
    columns = np.isin(profile.lengths, base_lengths) & _asked(profile)
    if profile.base is not None or not columns.any():
        return None
    return bounds_of(float(profile.low[columns].mean()), float(profile.high[columns].mean()))


def _bounds(profile: Profile, base_lengths: Sequence[int]) -> Bounds | None:
    """The bounds of the average: the lowest later scores over the highest base, and the other way round."""
    short = np.isin(profile.lengths, base_lengths) & _asked(profile)
    later = (profile.lengths > max(base_lengths, default=0)) & _asked(profile)
    if profile.base is not None or not short.any() or not later.any():
        return None
    chance = float(np.nan_to_num(profile.chance[short]).max())
    (low_base, high_base), (low, high) = (
        (float(profile.low[columns].mean()), float(profile.high[columns].mean())) for columns in (short, later)
    )
    if not low_base > chance or (low_base == high_base and low == high) or math.isnan(low + high):
        return None
    return Bounds(low / high_base - 1, high / low_base - 1)


def _asked(profile: Profile) -> NDArray[np.bool_]:
    """Lengths that every task was asked or that have no usable score for another reason."""
    return profile.complete | np.array([gap is not None for gap in profile.gaps], dtype=np.bool_)
