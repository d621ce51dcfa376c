"""Steadier measures beside LongScore: retention, log-ratio, area, and the lengths L85 and L50."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import OfScores, on_line, profiles_of, study

if TYPE_CHECKING:
    from fathom.analysis import Steady


@study(OfScores)
def retention(options: OfScores) -> "list[Steady]":
    """Steadier measures beside LongScore: retention, log-ratio, area, and the lengths L85 and L50."""
    from fathom.analysis import steady_of

    return steady_of(profiles_of(options))


Line, main = on_line(retention)
