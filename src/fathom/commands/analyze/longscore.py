"""Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.commands.analyze.scores import print_scores
from fathom.commands.analyze.shared import OfScores, print_json, print_section, profiles_of, score_tables, telling
from fathom.commands.options import command
from fathom.commands.shared import Json
from fathom.commands.values import paths_of

if TYPE_CHECKING:
    from fathom.analysis import LongScore


@command(OfScores)
def longscore(options: OfScores) -> "list[LongScore]":
    """Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench."""
    from fathom.analysis import longscore_of

    return longscore_of(profiles_of(options))


@dataclass(frozen=True)
class Line(OfScores, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    from fathom.commands.analyze.scores import print_longscore

    line = telling(line)
    plain = not (line.as_json or line.base or line.lengths or score_tables(paths_of(line.sources)))
    if plain:
        return print_section(line, "longscore")
    found = longscore.body(line)
    return print_json(found) if line.as_json else print_scores(found, print_longscore)
