"""Mean score at each length, with intervals and chance."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.scores import print_curve, print_study
from fathom.commands.analyze.shared import OfScores, profiles_of
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import CurvePoint


@command(OfScores)
def curve(options: OfScores) -> "list[CurvePoint]":
    """Mean score at each length, with intervals and chance."""
    from fathom.analysis import curve_of

    return curve_of(profiles_of(options))


class Line(OfScores, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    print_study(line, curve.body, print_curve, "scores")
