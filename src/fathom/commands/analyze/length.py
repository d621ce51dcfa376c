"""Effective context length under three definitions, with intervals."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import ScoresStudy, on_line, profiles_of, study

if TYPE_CHECKING:
    from fathom.analysis import EffectiveLength


@study(ScoresStudy)
def analyze_length(options: ScoresStudy) -> "list[EffectiveLength]":
    """Effective context length under three definitions, with intervals."""
    from fathom.analysis import effective_length_of

    return effective_length_of(profiles_of(options))


main = on_line(analyze_length)
