"""Mean score at each length, with intervals and chance."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import ScoresStudy, on_line, profiles_of, study

if TYPE_CHECKING:
    from fathom.analysis import CurvePoint


@study(ScoresStudy)
def analyze_curve(options: ScoresStudy) -> "list[CurvePoint]":
    """Mean score at each length, with intervals and chance."""
    from fathom.analysis import curve_of

    return curve_of(profiles_of(options))


main = on_line(analyze_curve)
