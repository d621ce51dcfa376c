"""Steadier measures beside LongScore: retention, log-ratio, area, and the lengths L85 and L50."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.scores import print_steady, print_study
from fathom.commands.analyze.shared import OfScores, profiles_of
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import Steady


@command(OfScores)
def steady(options: OfScores) -> "list[Steady]":
    """Steadier measures beside LongScore: retention, log-ratio, area, and the lengths L85 and L50."""
    from fathom.analysis import steady_of

    return steady_of(profiles_of(options))


class Line(OfScores, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    print_study(line, steady.body, print_steady)
