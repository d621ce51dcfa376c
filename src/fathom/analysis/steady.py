"""Chance-corrected measures besides LongScore, for every model and task: retention, log-ratio, area, L50 and L85.

``docs/explanation/longscore.md`` shows what each is good for, and where LongScore misleads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fathom.analysis.ability import BaseAbility, base_note, beyond_base, gaps_beyond, missing_base, own_base
from fathom.analysis.base import BASE_LENGTHS, BaseRule
from fathom.analysis.effective import Reach, ending, falling_fit, reach
from fathom.analysis.profile import Profile, measured_from_start, profiles
from fathom.analysis.shared_lengths import shared_lengths, uneven_notes
from fathom.plugins.names import system_name
from fathom.stats.intervals import Floats, Interval, interval_of
from fathom.stats.outcomes import Unanswered

BASE_AT = 4096.0
"""Position of a given base on the axis of lengths: the mean of 2k, 4k and 6k."""
HALF_ITEM = 0.5


@dataclass(frozen=True, slots=True)
class Corrected:
    """A profile above chance; the first column is the base, the others are the lengths beyond it.

    Attributes:
        lengths: Lengths in tokens; that of the base is the mean of its lengths.
        ability: Score minus chance, may be negative; shape (1 + lengths,).
        draws: Replicates of ``ability``.
        chance: Chance level, 0 if unknown.
        items: Scored items.
        undefined: Why there is no ratio to the base; "" if there is one.
        note: Caveats; "" if none.
    """

    profile: Profile
    base: BaseAbility
    lengths: Floats
    ability: Floats
    draws: Floats
    chance: Floats
    items: Floats
    undefined: str
    note: str


def corrected(profile: Profile) -> Corrected | None:
    """A profile above chance; None without a base, or without a score beyond it."""
    base, later = own_base(profile), beyond_base(profile)
    if base.interval is None or not later.any():
        return None
    # Unknown chance counts as 0, at the base and beyond it.
    floors = np.where(np.isnan(profile.chance_draws[:, later]), 0.0, profile.chance_draws[:, later])
    chance = np.nan_to_num(np.concatenate([[base.chance], profile.chance[later]]))
    base_ability = (base.draws - base.chance_draws)[:, None]
    lengths = profile.lengths[later].astype(np.float64)
    stands_for = profile.base.lengths if profile.base else profile.lengths[base.columns]
    at = float(np.mean(stands_for)) if len(stands_for) else min(BASE_AT, lengths[0] / 2)
    counted = profile.base.items if profile.base else profile.scored[base.columns].sum()
    return Corrected(
        profile=profile,
        base=base,
        lengths=np.concatenate([[at], lengths]),
        ability=np.concatenate([[base.value], profile.means[later]]) - chance,
        draws=np.concatenate([base_ability, profile.compared[:, later] - floors], axis=1),
        chance=chance,
        items=np.concatenate([[counted], profile.scored[later]]).astype(np.float64),
        undefined=base.undefined,
        note=base_note(profile, base, BASE_LENGTHS),
    )


def lacking(profile: Profile) -> str:
    """Why a profile cannot be corrected."""
    base = own_base(profile)
    return missing_base(profile) if base.interval is None else "no score at a length beyond the base"


def retentions(profile: Corrected) -> tuple[Floats, Floats]:
    """Share of its base ability above chance that a model keeps at each length beyond the base.

    ``R_l = (S_l - c_l) / (B - c_B)``, 1 without a loss. With a chance level of 0 it is LongScore + 1. The correction
    matters if guessing scores points: from 0.6 down to 0.4 among five options is a loss of half of the ability above
    chance, while LongScore reports a third.

    Returns:
        The retentions, and replicates x lengths.
    """
    return profile.ability[1:] / profile.ability[0], profile.draws[:, 1:] / profile.draws[:, :1]


def mean_retention(profile: Corrected) -> tuple[float, Floats]:
    """Mean retention over the lengths beyond the base, and its replicates."""
    draws: Floats = profile.draws[:, 1:].mean(axis=1) / profile.draws[:, 0]
    return float(profile.ability[1:].mean() / profile.ability[0]), draws


def area(profile: Corrected) -> tuple[float, Floats]:
    """Area under the curve: mean ability from the base to the longest length, each doubling counting once.

    Ability is ``(score - chance) / (1 - chance)``, so that 0 is guessing and 1 is perfect. The curve is linear
    between tested lengths on a log axis. Unlike LongScore it does not divide by the base, so it is defined for every
    model, and measures how much a model can do on long contexts instead of how much of its ability it keeps.

    Returns:
        The area, at most 1, and its replicates.
    """
    weights = doublings(profile.lengths) / (1 - np.minimum(profile.chance, 0.999))
    draws: Floats = profile.draws @ weights
    return float(profile.ability @ weights), draws


def doublings(lengths: Floats) -> Floats:
    """Weight of each length in the area (trapezoids over log2 length); they add up to 1."""
    steps = np.diff(np.log2(lengths))
    weights: Floats = (np.append(steps, 0.0) + np.append(0.0, steps)) / 2 / steps.sum()
    return weights


def kept_length(profile: Corrected, share: float) -> Reach:
    """The length up to which ``share`` of the base ability is kept (L50 and L85).

    Ability is the score above chance. A decreasing curve (isotonic regression, weighted by items) is fitted to the base
    and all lengths beyond it, linear in log length between them, and evaluated where it falls below that share of its
    start. If longer contexts score higher than the base, base and lengths are pooled, so that a base that is low by
    chance does not make a model look as if it kept everything. Intervals account for the grid of lengths, as in
    ``fathom.analysis.effective``.

    Args:
        share: Share of the base ability, between 0 and 1.
    """
    curve, draws = falling_fit(profile.ability[None], profile.items), falling_fit(profile.draws, profile.items)
    thresholds = float(share * curve[0, 0]), share * draws[:, 0]
    return reach(np.round(profile.lengths).astype(np.int64), (curve, draws), thresholds, interpolated=True)


def log_ratios(profile: Corrected) -> tuple[Floats, Floats]:
    """The shrunken, chance-corrected log-ratio at each length beyond the base.

    At length l it is ``log((A_l + k_l) / (A_B + k_B))``, where A is the score above chance (at least 0), B the base,
    and ``k = 1 / (2 n)`` half an item among the n items of the score. The half item is that of Haldane
    (1955) and Walter (1975), who add it to counts before taking logarithms of their ratio: it removes most of the bias,
    is negligible for scores well above 0, and keeps the ratio finite for a score of 0. A model's summary is the mean
    over the lengths beyond the base; ``exp`` of it is the geometric mean of the retained share.

    Returns:
        The log-ratios, and replicates x lengths.
    """
    return _ratios(profile.ability, profile.items), _ratios(profile.draws, profile.items)


def _ratios(ability: Floats, items: Floats) -> Floats:
    shrunk = np.log(np.maximum(ability, 0.0) + HALF_ITEM / items)
    ratios: Floats = shrunk[..., 1:] - shrunk[..., :1]
    return ratios


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95% interval."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class SteadyPoint:
    """One length: the retained share of the base ability, None if undefined; and the shrunken log-ratio."""

    length: int
    retention: Estimate | None
    log_ratio: Estimate


@dataclass(frozen=True, slots=True)
class Steady:
    """Chance-corrected measures of one model on one task, or on the mean of its tasks.

    Attributes:
        task: Name of the task, ``all`` for tasks averaged first.
        base: Base Ability with its interval, in [0, 1], without correction for chance; None without one.
        retention: Mean retained share of the base ability beyond the base; None if undefined.
        log_ratio: Mean shrunken log-ratio beyond the base; None without a base or a longer length.
        area: Mean ability from the base to the longest length; None likewise. These three are None if a length beyond
            the base was asked and has no score; the next two end before it.
        l85: Length up to which 85% of the base ability is kept; None if undefined.
        l50: The same for 50%.
        points: One for each length beyond the base, ascending.
        undefined: Why there is no ratio to the base, with numbers; "" if there is one.
        note: Caveats; "" if none.
    """

    model: str
    variant: str
    task: str
    base: Estimate | None
    retention: Estimate | None
    log_ratio: Estimate | None
    area: Estimate | None
    l85: Reach | None
    l50: Reach | None
    points: tuple[SteadyPoint, ...]
    undefined: str
    note: str


def steady(
    rows: pl.DataFrame, *, seed: int = 0, unanswered: Unanswered = "zero", base: BaseRule = "paper"
) -> list[Steady]:
    """Chance-corrected measures per model, variant and task, and over all tasks.

    Args:
        seed: Seed of the intervals (Bayesian bootstrap over items, paired across lengths).
        base: ``paper`` or ``code`` (``fathom.analysis.base``).

    Returns:
        One for each model and task, in the order in which the rows name them, ``all`` after a model's tasks.
    """
    return steady_of(profiles(rows, seed=seed, unanswered=unanswered, base=base))


def steady_of(ready: Sequence[Profile]) -> list[Steady]:
    """The same from precomputed profiles."""
    measures = [_steady(profile, corrected(profile)) for profile in ready]
    shared = shared_lengths(
        (system_name(measure.model, measure.variant), measure.task, [point.length for point in measure.points])
        for measure in measures
        if measure.points
    )
    notes = uneven_notes(shared, "each uses the model's own lengths; --lengths {lengths} compares at the same")
    return [replace(own, note="; ".join(filter(None, (notes.get(own.task, ""), own.note)))) for own in measures]


def _steady(profile: Profile, above_chance: Corrected | None) -> Steady:
    names = profile.model, profile.variant, profile.task
    if above_chance is None or above_chance.base.interval is None:
        return Steady(*names, None, None, None, None, None, None, (), lacking(profile), profile.note)
    whole = not gaps_beyond(profile)
    before = above_chance if whole else corrected(measured_from_start(profile))
    ratios, ratio_draws = log_ratios(above_chance)
    kept = None if above_chance.undefined else retentions(above_chance)
    points = tuple(
        SteadyPoint(
            length=int(length),
            retention=None if kept is None else _estimate(kept[0][place], kept[1][:, place]),
            log_ratio=_estimate(ratios[place], ratio_draws[:, place]),
        )
        for place, length in enumerate(above_chance.lengths[1:])
    )
    return Steady(
        *names,
        base=Estimate(above_chance.base.value, above_chance.base.interval),
        retention=_estimate(*mean_retention(above_chance)) if whole and not above_chance.undefined else None,
        log_ratio=_estimate(ratios.mean(), ratio_draws.mean(axis=1)) if whole else None,
        area=_estimate(*area(above_chance)) if whole else None,
        l85=None if before is None or above_chance.undefined else ending(kept_length(before, 0.85), whole=whole),
        l50=None if before is None or above_chance.undefined else ending(kept_length(before, 0.5), whole=whole),
        points=points,
        undefined=above_chance.undefined,
        note=above_chance.note,
    )


def _estimate(value: float, draws: Floats) -> Estimate:
    return Estimate(float(value), interval_of(draws, float(value)))
