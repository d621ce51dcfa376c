"""Base Ability of a profile: the score that longer lengths are compared with, and its test against chance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.profile import Profile, interval_over
from fathom.stats.intervals import Floats, Interval, interval_of
from fathom.stats.outcomes import Unmeasured
from fathom.tokens.length import format_length, named_lengths

APART = "each question has one length only, so that lengths are compared over different questions"
NAMED = 3
"""Number of lengths without a score that are listed with their reasons."""
UNSURE = 2.0
"""A base whose interval spans this factor or more is too uncertain for ratios."""
UNCERTAIN = "the base is uncertain by a factor of"
"""Start of the note on such a base."""


@dataclass(frozen=True, slots=True)
class BaseAbility:
    """Base Ability of one profile, with its test against chance.

    Attributes:
        columns: Lengths of the profile that it is the mean of; none if it is not a mean of lengths.
        value: The base; NaN if no base length was scored.
        draws: Its replicates.
        interval: Its 95% interval; None without a base.
        chance: Chance level at the same lengths; NaN if unknown.
        chance_draws: Replicates of the chance level, 0 if unknown.
        undefined: Why a ratio to it is undefined, with numbers; "" if it is defined.
        factor: Upper over lower end of the 95% interval of the base above chance: the uncertainty of a ratio due to
            its base. Infinite if that interval contains 0, and without a base.
    """

    columns: NDArray[np.bool_]
    value: float
    draws: Floats
    interval: Interval | None
    chance: float
    chance_draws: Floats
    undefined: str
    factor: float = math.inf


def own_base(profile: Profile, base_lengths: Sequence[int] = BASE_LENGTHS) -> BaseAbility:
    """Base Ability of a profile: its given base, or the mean of its base lengths.

    It is missing if a base length was asked and has no score, because the mean of the others is another base.
    """
    if gaps_at(profile, profile.base.lengths if profile.base else base_lengths):
        return base_ability(profile, np.zeros(len(profile.lengths), dtype=np.bool_))
    if profile.base is None:
        return base_ability(profile, profile.complete & np.isin(profile.lengths, base_lengths))
    given = profile.base
    return _judged(
        np.zeros(len(profile.lengths), dtype=np.bool_), given.value, given.draws, given.chance, given.chance_draws
    )


def base_ability(profile: Profile, columns: NDArray[np.bool_]) -> BaseAbility:
    """Base Ability over some lengths of a profile, and the test against chance.

    Args:
        profile: Means and replicates.
        columns: Base lengths, all with a score.
    """
    if not columns.any():
        nothing = np.full(len(profile.draws), math.nan)
        return _judged(columns, math.nan, nothing, math.nan, nothing)
    return _judged(
        columns,
        float(profile.means[columns].mean()),
        profile.draws[:, columns].mean(axis=1),
        float(profile.chance[columns].mean()),
        profile.chance_draws[:, columns].mean(axis=1),
        interval_over(profile, columns),
    )


def _judged(
    columns: NDArray[np.bool_],
    value: float,
    draws: Floats,
    chance: float,
    chance_draws: Floats,
    interval: Interval | None = None,
) -> BaseAbility:
    """A base with its test: the 95% interval of ``Base - chance`` in one bootstrap; unknown chance counts as 0."""
    floor = 0.0 if math.isnan(chance) else chance
    floors = np.zeros(len(draws)) if math.isnan(chance) else chance_draws
    if math.isnan(value):
        return BaseAbility(columns, value, draws, None, math.nan, floors, "no base length")
    interval = interval or interval_of(draws, value)
    above = interval_of(draws - floors, value - floor)
    undefined = ""
    if above.low <= 0:
        verb = "is below" if above.high < 0 else "is not distinguishable from"
        undefined = (
            f"the base of {value:.1%} [{interval.low:.1%}, {interval.high:.1%}] {verb} chance ({floor:.1%}), "
            "so a ratio to it is undefined"
        )
    low, high = (float(end) for end in np.quantile(draws - floors, [0.025, 0.975]))
    factor = high / low if low > 0 else math.inf
    return BaseAbility(columns, value, draws, interval, chance, floors, undefined, factor)


def beyond_base(profile: Profile, base_lengths: Sequence[int] = BASE_LENGTHS) -> NDArray[np.bool_]:
    """Scored lengths that are longer than all base lengths."""
    last = max(profile.base.lengths if profile.base else base_lengths, default=0)
    return profile.complete & (profile.lengths > last)


def missing_base(profile: Profile, base_lengths: Sequence[int] = BASE_LENGTHS) -> str:
    """Why a profile has no base."""
    if gaps := gaps_at(profile, profile.base.lengths if profile.base else base_lengths):
        return f"the base is {not_measured(gaps)}"
    if profile.base is not None and profile.base.gap:
        return profile.base.gap
    if profile.base is not None:
        return "no base" + (": not every task has one" if len(profile.tasks) > 1 else " is given")
    tested = named_lengths(profile.lengths[profile.complete])
    return f"no score at a base length ({named_lengths(base_lengths)}); scored lengths: {tested}"


def incomplete_note(profile: Profile) -> str:
    """Lengths that are left out because a task (or every item) has no score there; "" if none."""
    gaps = [gap for gap in profile.gaps if gap is not None]
    asked = np.array([gap is None for gap in profile.gaps], dtype=np.bool_)
    left_out = profile.lengths[~profile.complete & asked]
    why = "not every task was scored there" if len(profile.tasks) > 1 else "nothing was scored there"
    notes = [f"without {named_lengths(left_out)}: {why}" if len(left_out) else "", not_measured(gaps)]
    return "; ".join(filter(None, notes))


def gaps_at(profile: Profile, lengths: Sequence[int]) -> list[Unmeasured]:
    """The lengths among these that were asked and have no score, ascending."""
    return [gap for gap in profile.gaps if gap is not None and gap.length in lengths]


def gaps_beyond(profile: Profile, base_lengths: Sequence[int] = BASE_LENGTHS) -> list[Unmeasured]:
    """The lengths beyond the base that were asked and have no score, ascending."""
    last = max(profile.base.lengths if profile.base else base_lengths, default=0)
    return [gap for gap in profile.gaps if gap is not None and gap.length > last]


def not_measured(gaps: Sequence[Unmeasured]) -> str:
    """Lengths without a score, and why: "not measured at 32k (18 of 20 prompts did not fit)"; "" for none."""
    if not gaps:
        return ""
    rest = gaps[NAMED:]
    more = f" and {len(rest)} more lengths up to {format_length(rest[-1].length)}" if rest else ""
    return "not measured at " + ", ".join(f"{format_length(gap.length)} ({gap})" for gap in gaps[:NAMED]) + more


def apart_note(profile: Profile) -> str:
    """A caveat if lengths are compared over different questions; "" if not."""
    return APART if profile.apart else ""


def base_note(profile: Profile, base: BaseAbility, base_lengths: Sequence[int] = BASE_LENGTHS) -> str:
    """Caveats about a result relative to a base; "" if none."""
    unsure = f"{UNCERTAIN} {base.factor:.1f}, and so is every ratio to it"
    guess = base.interval is not None and not base.undefined and base.factor >= UNSURE
    notes = [unsure if guess else "", profile.note, apart_note(profile), incomplete_note(profile)]
    used = profile.lengths[base.columns]
    missing = [length for length in base_lengths if length not in used]
    if profile.base is not None:
        notes.append(profile.base.note)
    elif len(used) and missing:
        notes.append(f"base is the mean at {named_lengths(used)} only: no score at {named_lengths(missing)}")
    if base.interval is not None and math.isnan(base.chance):
        notes.append("chance level unknown, taken as 0")
    return "; ".join(note for note in notes if note)
