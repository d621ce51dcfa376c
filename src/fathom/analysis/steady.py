"""Steadier measures beside LongScore, for every model and task: retention, log-ratio, area, L50 and L85.

``docs/longscore.md`` shows what each is good for, and where LongScore misleads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from fathom.analysis.ability import gaps_beyond
from fathom.analysis.area import area
from fathom.analysis.base import BaseRule
from fathom.analysis.corrected import Corrected, corrected, lacking
from fathom.analysis.effective import Reach, ending
from fathom.analysis.kept import kept_length
from fathom.analysis.log_ratio import log_ratios
from fathom.analysis.profile import Profile, measured_from_start, profiles
from fathom.analysis.retention import mean_retention, retentions
from fathom.analysis.shared_lengths import shared_lengths, uneven_notes
from fathom.names import system_name
from fathom.stats.intervals import Floats, Interval, interval_of
from fathom.stats.outcomes import Unanswered


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class SteadyPoint:
    """One length: the share of the base ability that is kept, None where undefined; and the shrunken log-ratio."""

    length: int
    retention: Estimate | None
    log_ratio: Estimate


@dataclass(frozen=True, slots=True)
class Steady:
    """Steadier measures of one model on one task, or on the mean of its tasks.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is one only.
        task: Name of the task, ``all`` for tasks averaged first.
        base: Base Ability with its interval, in [0, 1], chance not yet taken off; None where there is none.
        retention: Mean share of the base ability that is kept beyond the base; None where undefined.
        log_ratio: Mean shrunken log-ratio beyond the base; None where there is no base or no longer length.
        area: Mean ability from the base to the longest length; None likewise. There is none of these three where a
            length beyond the base was asked and is not measured; the next two end before it.
        l85: Length up to which 85% of the base ability is kept; None where undefined.
        l50: The same for 50%.
        points: One for each length beyond the base, ascending.
        undefined: Why there is no ratio to the base, with figures; "" where there is one.
        note: What the reader should know; "" if nothing.
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
    """Steadier measures per model, variant and task, and over all tasks.

    Args:
        rows: A rows table; may be empty.
        seed: Seed of the intervals (Bayesian bootstrap over items, paired across lengths).
        unanswered: How replies count that were not answered, see ``fathom.stats.outcomes``.
        base: ``paper`` or ``code`` (``fathom.analysis.base``).

    Returns:
        One for each model and task, in the order in which the rows name them, ``all`` after a model's tasks.
    """
    return steady_of(profiles(rows, seed=seed, unanswered=unanswered, base=base))


def steady_of(ready: Sequence[Profile]) -> list[Steady]:
    """The same from profiles that are there already."""
    found = [_steady(profile, corrected(profile)) for profile in ready]
    shared = shared_lengths(
        (system_name(one.model, one.variant), one.task, [point.length for point in one.points])
        for one in found
        if one.points
    )
    notes = uneven_notes(shared, "each figure is over the model's own, --lengths {lengths} compares all over the same")
    return [replace(one, note="; ".join(filter(None, (notes.get(one.task, ""), one.note)))) for one in found]


def _steady(profile: Profile, one: Corrected | None) -> Steady:
    names = profile.model, profile.variant, profile.task
    if one is None or one.base.interval is None:
        return Steady(*names, None, None, None, None, None, None, (), lacking(profile), profile.note)
    whole = not gaps_beyond(profile)
    before = one if whole else corrected(measured_from_start(profile))
    ratios, ratio_draws = log_ratios(one)
    kept = None if one.undefined else retentions(one)
    points = tuple(
        SteadyPoint(
            length=int(length),
            retention=None if kept is None else _estimate(kept[0][place], kept[1][:, place]),
            log_ratio=_estimate(ratios[place], ratio_draws[:, place]),
        )
        for place, length in enumerate(one.lengths[1:])
    )
    return Steady(
        *names,
        base=Estimate(one.base.value, one.base.interval),
        retention=_estimate(*mean_retention(one)) if whole and not one.undefined else None,
        log_ratio=_estimate(ratios.mean(), ratio_draws.mean(axis=1)) if whole else None,
        area=_estimate(*area(one)) if whole else None,
        l85=None if before is None or one.undefined else ending(kept_length(before, 0.85), whole=whole),
        l50=None if before is None or one.undefined else ending(kept_length(before, 0.5), whole=whole),
        points=points,
        undefined=one.undefined,
        note=one.note,
    )


def _estimate(value: float, draws: Floats) -> Estimate:
    return Estimate(float(value), interval_of(draws, float(value)))
