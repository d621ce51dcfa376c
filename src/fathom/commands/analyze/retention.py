"""Chance-corrected retention, log-ratio, area, and the lengths L85 and L50."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import ScoresStudy, on_line, profiles_of, study

if TYPE_CHECKING:
    from fathom.analysis import Steady


@study(ScoresStudy)
def analyze_retention(options: ScoresStudy) -> "list[Steady]":
    """Chance-corrected retention, log-ratio, area, and the lengths L85 and L50."""
    from fathom.analysis import steady_of

    return steady_of(profiles_of(options))


main = on_line(analyze_retention)
