"""Mean score at each length, with intervals and chance."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import OfScores, on_line, profiles_of, study

if TYPE_CHECKING:
    from fathom.analysis import CurvePoint


@study(OfScores)
def curve(options: OfScores) -> "list[CurvePoint]":
    """Mean score at each length, with intervals and chance."""
    from fathom.analysis import curve_of

    return curve_of(profiles_of(options))


Line, main = on_line(curve)
