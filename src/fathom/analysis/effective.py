"""Effective context length: the length up to which a model is reliable, under three definitions.

``ruler``: the longest tested length whose mean score is at least 0.856 there and at every shorter tested length. RULER
(Hsieh et al. 2024) requires 85.6 (Llama-2-7B at 4k) at that length alone; here the first failure ends it, because a
model that fails at a shorter length is not reliable up to a longer one.

``own_base``: the longest tested length up to which the model keeps 0.85 times its own base (NoLiMa, Modarressi et al.
2025). The base is that of LongScore, or the score at the shortest tested length if no base length was scored. The curve
begins at the shortest base length that reaches the threshold, as one of them always does: a shorter length cannot fail
the base, so that a model that improves with length keeps its base. The first longer length that fails ends it.

``half_base``: the length at which the fitted curve, from the shortest base length on, crosses half of the own base. The
fit is a decreasing step curve (isotonic regression, weighted by scored items) with log-linear interpolation between
tested lengths. The other candidate was a logistic curve in log length with two parameters. In simulations of 50 items
with a known truth both points are off by 0.1 octaves if the truth is logistic; for a window, where it is not, isotonic
is off by 0.1 and logistic by 0.25 octaves, and the logistic fit's own intervals contain the
truth in 76% to 93% of cases, against 93% to 99%. If a score drops sharply between two tested lengths, neither fit's own
interval ever contains it.

Intervals account for the grid of tested lengths. Between the last length that passes and the first that fails
nothing was measured, so an interval extends from the 2.5% quantile of the last passing length to the 97.5% quantile of
the first failing one. Interpolation gives a point inside, never a narrower interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.ability import (
    BaseAbility,
    apart_note,
    base_ability,
    gaps_at,
    incomplete_note,
    missing_base,
    own_base,
)
from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.profile import Profile, at_columns, measured_from_start, profiles
from fathom.stats.intervals import LEVEL, Floats, Interval
from fathom.stats.outcomes import Unanswered
from fathom.tokens.length import named_lengths

Definition: TypeAlias = Literal["ruler", "own_base", "half_base"]
Censored: TypeAlias = Literal["", "above", "below", "unmeasured"]
RULER_THRESHOLD = 0.856
"""RULER's 85.6: the mean score of Llama-2-7B at 4k."""
OWN_BASE_SHARE = 0.85
DEFINITIONS: tuple[Definition, ...] = ("ruler", "own_base", "half_base")


@dataclass(frozen=True, slots=True)
class EffectiveLength:
    """Effective context length of one model on one task under one definition.

    Attributes:
        task: Name of the task, ``all`` for the mean over tasks.
        definition: ``ruler``, ``own_base`` or ``half_base``.
        tokens: The length; None if it is below the shortest tested length, or undefined. Under the definitions relative
            to the base at least the shortest base length, unless the base is given and no mean of tested lengths.
        interval: 95% interval in tokens; ``high`` is ``math.inf`` if the longest tested length may still pass,
            ``low`` is 0 if the shortest may already fail. None if undefined.
        censored: ``above``: it passes at the longest tested length, so the true length is ``tokens`` or more;
            ``below``: it fails at the shortest; ``unmeasured``: it passes up to a length that was asked and has no
            score (``note`` says why); "" otherwise.
        threshold: The score that a length must reach, in [0, 1]; NaN without one (no base).
        note: Why it is undefined, or which base was used; "" if nothing.
    """

    model: str
    variant: str
    task: str
    definition: Definition
    tokens: int | float | None
    interval: Interval | None
    censored: Censored
    threshold: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reach:
    """The length up to which a curve stays at or above a threshold; fields as in ``EffectiveLength``."""

    tokens: int | float | None
    interval: Interval
    censored: Censored


UNKNOWN = "the lengths of the prompts are unknown"


def effective_length(
    rows: pl.DataFrame,
    *,
    base_lengths: Sequence[int] = BASE_LENGTHS,
    seed: int = 0,
    unanswered: Unanswered = "zero",
) -> list[EffectiveLength]:
    """Effective context length per model, variant, task and definition.

    Over all tasks, lengths at which some task has no score are left out and named in ``note``; lengths after one
    that was asked and has no score do not count. ``own_base`` and ``half_base`` are undefined if the base is not
    distinguishable from chance, or if guessing would pass.

    Args:
        base_lengths: Lengths in tokens whose mean score is the own base.
        seed: Seed of the intervals (Bayesian bootstrap over items, paired across lengths).

    Returns:
        Three per model and task, in the order of ``DEFINITIONS``; models and tasks as the rows name them.
    """
    return effective_length_of(profiles(rows, seed=seed, unanswered=unanswered), base_lengths)


def effective_length_of(ready: Sequence[Profile], base_lengths: Sequence[int] = BASE_LENGTHS) -> list[EffectiveLength]:
    """The same from precomputed profiles."""
    return [length for profile in ready for length in _effective_lengths(profile, base_lengths)]


def _effective_lengths(profile: Profile, base_lengths: Sequence[int]) -> list[EffectiveLength]:
    missed = incomplete_note(profile)
    if not profile.lengths.any():
        return [_undefined(profile, definition, math.nan, UNKNOWN) for definition in DEFINITIONS]
    if not profile.complete.any():
        return [_undefined(profile, definition, math.nan, missed) for definition in DEFINITIONS]
    own, note = _own_base(profile, base_lengths, missed)
    lengths = []
    for definition in DEFINITIONS:
        if definition == "ruler":
            base, threshold = _Base(0, 0, 0), RULER_THRESHOLD
            thresholds, why = np.full(len(profile.draws), RULER_THRESHOLD), ""
            caveats = "; ".join(filter(None, (apart_note(profile), missed)))
        else:
            share = OWN_BASE_SHARE if definition == "own_base" else 0.5
            base, threshold, thresholds = _begins(profile, own, base_lengths), share * own.value, share * own.draws
            why, caveats = _unusable(own, threshold), note
        part = at_columns(profile, profile.lengths >= base.first)
        whole = all(gap is None for gap in part.gaps)
        part = measured_from_start(part)
        if why or not part.complete.any():
            lengths.append(_undefined(profile, definition, threshold if why else math.nan, why or missed))
            continue
        means, draws = part.means[None, part.complete], part.compared[:, part.complete]
        if definition == "half_base":
            weights = np.maximum(part.scored[part.complete], 1).astype(np.float64)
            means, draws = falling_fit(means, weights), falling_fit(draws, weights)
        lengths.append(_measured(part, definition, (means, draws), (threshold, thresholds), caveats, base, whole=whole))
    return lengths


class _Base(NamedTuple):
    """Where a curve begins.

    Attributes:
        first: Length of its first point, in tokens.
        last: Longest base length; no longer length is part of the base.
        least: Number of points that reach the threshold at least: 1 if the base is the mean of points.
    """

    first: int
    last: int
    least: int


def _begins(profile: Profile, base: BaseAbility, base_lengths: Sequence[int]) -> _Base:
    if base.columns.any():
        own = profile.lengths[base.columns]
        return _Base(int(own.min()), int(own.max()), 1)
    # A base that is given is no mean of points, and all of them may fail it.
    covered = profile.lengths[np.isin(profile.lengths, profile.base.lengths if profile.base else base_lengths)]
    return _Base(int(covered.min()), int(covered.max()), 0) if len(covered) else _Base(0, 0, 0)


def _own_base(profile: Profile, base_lengths: Sequence[int], missed: str) -> tuple[BaseAbility, str]:
    base = own_base(profile, base_lengths)
    notes = [profile.note, apart_note(profile), missed]
    from_start = measured_from_start(profile)
    if gaps_at(profile, profile.base.lengths if profile.base else base_lengths) or (profile.base and profile.base.gap):
        base = replace(base, undefined=missing_base(profile, base_lengths))
    elif profile.base is not None:
        notes.append(profile.base.note)
    elif base.interval is None and from_start.complete.any():
        columns = profile.lengths == from_start.lengths[from_start.complete][0]
        notes.append(f"own base is the score at {named_lengths(profile.lengths[columns])}, the shortest scored length")
        base = base_ability(profile, columns)
    elif base.interval is None:
        base = replace(base, undefined=missed)
    return base, "; ".join(note for note in notes if note)


def _unusable(base: BaseAbility, threshold: float) -> str:
    if base.undefined:
        return base.undefined
    if base.chance >= threshold:
        return f"guessing scores {base.chance:.1%} and would pass the threshold of {threshold:.1%}"
    return ""


def _measured(
    profile: Profile,
    definition: Definition,
    curves: tuple[Floats, Floats],
    thresholds: tuple[float, Floats],
    note: str,
    base: _Base,
    *,
    whole: bool,
) -> EffectiveLength:
    lengths = profile.lengths[profile.complete]
    measured = reach(
        lengths,
        curves,
        thresholds,
        interpolated=definition == "half_base",
        base=int((lengths <= base.last).sum()),
        least=base.least,
    )
    measured = ending(measured, whole=whole)
    return EffectiveLength(
        model=profile.model,
        variant=profile.variant,
        task=profile.task,
        definition=definition,
        tokens=measured.tokens,
        interval=measured.interval,
        censored=measured.censored,
        threshold=thresholds[0],
        note=note,
    )


def reach(
    lengths: NDArray[np.int64],
    curves: tuple[Floats, Floats],
    thresholds: tuple[float, Floats],
    *,
    interpolated: bool,
    base: int = 1,
    least: int = 0,
) -> Reach:
    """The length up to which a curve stays at or above a threshold, with its interval over replicates.

    Args:
        lengths: Lengths in tokens, ascending.
        curves: The curve in the first row, and its replicates.
        interpolated: Whether the point is where the curve, linear in log length, crosses the threshold; otherwise it
            is the last length that passes.
        base: Number of lengths at the start of which only one must reach the threshold: the curve begins there.
        least: Number of lengths that pass in any case.
    """
    means, draws = curves
    passed = int(_passing(means, np.array([thresholds[0]]), base, least)[0])
    replicates = _passing(draws, thresholds[1], base, least)
    ends = np.concatenate([[0.0], lengths.astype(np.float64), [math.inf]])
    # Quantiles without interpolation, so that they are tested lengths or infinity.
    replicates.sort()
    tail = (1 - LEVEL) / 2 * (len(replicates) - 1)
    low = min(float(ends[replicates[math.floor(tail)]]), float(ends[passed]))
    high = max(float(ends[replicates[-1 - math.floor(tail)] + 1]), float(ends[passed + 1]))
    tokens: int | float | None = int(lengths[passed - 1]) if passed else None
    if interpolated and 0 < passed < len(lengths) and means[0, passed - 1] > thresholds[0]:
        tokens = _crossing(lengths, means[0], passed, thresholds[0])
    return Reach(tokens, Interval(low, high), "below" if passed == 0 else "above" if passed == len(lengths) else "")


def ending(measured: Reach, *, whole: bool) -> Reach:
    """A reach of a curve with scores at all lengths that were asked, or (not ``whole``) with a missing one after it."""
    return replace(measured, censored="unmeasured") if measured.censored == "above" and not whole else measured


def _undefined(profile: Profile, definition: Definition, threshold: float, note: str) -> EffectiveLength:
    names = profile.model, profile.variant, profile.task
    return EffectiveLength(*names, definition, None, None, censored="", threshold=threshold, note=note)


def _passing(curves: Floats, thresholds: Floats, base: int, least: int) -> NDArray[np.int64]:
    """How many lengths reach the threshold without a gap, from the first of the base on; one number per curve."""
    # The tolerance is for rounding: 6/7 of a base of 1 must not fail on the last bit.
    above = curves >= thresholds[:, None] - 1e-12
    above |= np.arange(curves.shape[1]) < above[:, : max(base, 1)].argmax(axis=1)[:, None]
    passing: NDArray[np.int64] = np.cumprod(above, axis=1).sum(axis=1)
    return np.maximum(passing, least)


def falling_fit(curves: Floats, weights: Floats) -> Floats:
    """Isotonic regression: the decreasing curve nearest to each curve in weighted squares, all curves at once.

    The min-max formula (Barlow et al. 1972): the fit at j is the minimum over s <= j of the maximum over t >= j of the
    weighted mean from s to t.

    Args:
        curves: Curves x lengths.

    Returns:
        Curves x lengths; no value is above the one before it.
    """
    size = curves.shape[1]
    sums = np.concatenate([np.zeros((len(curves), 1)), np.cumsum(curves * weights, axis=1)], axis=1)
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    fitted = np.full(curves.shape, math.inf)
    for start in range(size):
        means = (sums[:, start + 1 :] - sums[:, start, None]) / (mass[start + 1 :] - mass[start])
        highest = np.maximum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        fitted[:, start:] = np.minimum(fitted[:, start:], highest)
    return fitted


def _crossing(lengths: NDArray[np.int64], fitted: Floats, passed: int, threshold: float) -> float:
    """Where the fitted curve, linear in log length between tested lengths, meets the threshold."""
    before, after = float(fitted[passed - 1]), float(fitted[passed])
    share = (before - threshold) / (before - after)
    return float(lengths[passed - 1] * (lengths[passed] / lengths[passed - 1]) ** share)
