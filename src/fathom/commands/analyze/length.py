"""Effective context length under three definitions, with intervals."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.commands.analyze.scores import print_scores
from fathom.commands.analyze.shared import OfScores, print_json, print_section, profiles_of, score_tables, telling
from fathom.commands.options import command
from fathom.commands.shared import Json
from fathom.commands.values import paths_of

if TYPE_CHECKING:
    from fathom.analysis import EffectiveLength


@command(OfScores)
def length(options: OfScores) -> "list[EffectiveLength]":
    """Effective context length under three definitions, with intervals."""
    from fathom.analysis import effective_length_of

    return effective_length_of(profiles_of(options))


@dataclass(frozen=True)
class Line(OfScores, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    from fathom.commands.analyze.scores import print_length

    line = telling(line)
    plain = not (line.as_json or line.base or line.lengths or score_tables(paths_of(line.sources)))
    if plain:
        return print_section(line, "effective")
    found = length.body(line)
    return print_json(found) if line.as_json else print_scores(found, print_length)
