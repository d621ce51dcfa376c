"""Score by position of the gold text in the context, and front, middle and end compared."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import Study, on_line, study, study_rows
from fathom.options.declare import at_least, opt

if TYPE_CHECKING:
    from fathom.analysis import PositionContrast, PositionPoint


class PositionOptions(Study):
    _: KW_ONLY
    bins: Annotated[int, opt("Equal parts of the context for depths that were drawn at random.", check=at_least(1))] = 5


@study(PositionOptions)
def analyze_position(options: PositionOptions) -> "list[PositionPoint | PositionContrast]":
    """Score by position of the gold text in the context, and front, middle and end compared.

    First the points, then the contrasts.
    """
    from fathom.analysis import position, position_contrasts

    frame = study_rows(options)
    points = position(frame, bins=options.bins, seed=options.seed)
    return [*points, *position_contrasts(frame, seed=options.seed)]


main = on_line(
    analyze_position,
    empty="no reply in these rows has a score and a depth; build with --depths front,middle,end to study positions",
)
