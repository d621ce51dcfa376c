"""Score by where in the context the gold text lies, and front, middle and end against each other."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import Study, print_flat, print_json, print_tables, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import at_least, command, opt

if TYPE_CHECKING:
    from fathom.analysis import PositionContrast, PositionPoint


class PositionOptions(Study, Json):
    _: KW_ONLY
    bins: Annotated[int, opt("Equal parts of the context for depths that were drawn at random.", check=at_least(1))] = 5


@command(PositionOptions)
def position(options: PositionOptions) -> "list[PositionPoint | PositionContrast]":
    """Score by where in the context the gold text lies, and front, middle and end against each other.

    First the points, then the contrasts.
    """
    from fathom.analysis import position, position_contrasts

    frame = study_rows(options)
    points = position(frame, bins=options.bins, seed=options.seed)
    return [*points, *position_contrasts(frame, seed=options.seed)]


def main(line: PositionOptions) -> None:
    """Print tables, or JSON."""
    from fathom.analysis import PositionPoint
    from fathom.report.position import contrast_tables
    from fathom.terminal import tell

    found = position.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        tell("no reply in these rows has a score and a depth; build with --depths front,middle,end to study positions")
    print_flat([one for one in found if isinstance(one, PositionPoint)])
    print_tables(contrast_tables([one for one in found if not isinstance(one, PositionPoint)]), details=True)
