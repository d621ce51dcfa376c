"""Ability: the score above chance, at the base and at every length beyond it. What the steadier measures start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathom.analysis.ability import BaseAbility, base_note, beyond_base, missing_base, own_base
from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.profile import Profile, shared_draws
from fathom.stats.intervals import Floats

BASE_AT = 4096.0
"""Where a base stands on the axis of lengths that is only called so: the mean of 2k, 4k and 6k."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A profile above chance; the first column is the base, the others are the lengths beyond it.

    Attributes:
        profile: The profile.
        base: Its base.
        lengths: Lengths in tokens; that of the base is the mean of the lengths that it stands for.
        ability: Score minus chance, may be negative; shape (1 + lengths,).
        draws: Replicates of ``ability``.
        shared: Replicates for figures over all lengths (``fathom.analysis.profile.shared_draws``).
        chance: Chance level, 0 where it is unknown.
        items: Scored items.
        undefined: Why there is no ratio to the base; "" if there is one.
        note: What the reader should know; "" if nothing.
    """

    profile: Profile
    base: BaseAbility
    lengths: Floats
    ability: Floats
    draws: Floats
    shared: Floats
    chance: Floats
    items: Floats
    undefined: str
    note: str


def corrected(profile: Profile) -> Corrected | None:
    """A profile above chance; None where it has no base, or no score beyond it."""
    base, later = own_base(profile), beyond_base(profile)
    if base.interval is None or not later.any():
        return None
    # Unknown chance is taken as 0, at the base and beyond it.
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
        draws=np.concatenate([base_ability, profile.draws[:, later] - floors], axis=1),
        shared=np.concatenate([base_ability, shared_draws(profile, later) - floors], axis=1),
        chance=chance,
        items=np.concatenate([[counted], profile.scored[later]]).astype(np.float64),
        undefined=base.undefined,
        note=base_note(profile, base, BASE_LENGTHS),
    )


def lacking(profile: Profile) -> str:
    """Why a profile cannot be corrected."""
    base = own_base(profile)
    return missing_base(profile) if base.interval is None else "no score at a length beyond the base"
