"""Effective context length under three definitions, with intervals."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.scores import print_length, print_study
from fathom.commands.analyze.shared import OfScores, profiles_of
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import EffectiveLength


@command(OfScores)
def length(options: OfScores) -> "list[EffectiveLength]":
    """Effective context length under three definitions, with intervals."""
    from fathom.analysis import effective_length_of

    return effective_length_of(profiles_of(options))


class Line(OfScores, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    print_study(line, length.body, print_length, "effective")
