"""Effective context length under three definitions, with intervals."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import OfScores, on_line, profiles_of, study

if TYPE_CHECKING:
    from fathom.analysis import EffectiveLength


@study(OfScores)
def length(options: OfScores) -> "list[EffectiveLength]":
    """Effective context length under three definitions, with intervals."""
    from fathom.analysis import effective_length_of

    return effective_length_of(profiles_of(options))


Line, main = on_line(length)
