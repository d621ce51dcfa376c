"""Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.scores import print_longscore, print_study
from fathom.commands.analyze.shared import OfScores, profiles_of
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import LongScore


@command(OfScores)
def longscore(options: OfScores) -> "list[LongScore]":
    """Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench."""
    from fathom.analysis import longscore_of

    return longscore_of(profiles_of(options))


class Line(OfScores, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    print_study(line, longscore.body, print_longscore, "longscore")
