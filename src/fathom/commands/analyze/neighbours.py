"""Models from the highest score to the lowest, and which are indistinguishable from the next one below."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, print_json, print_tables, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import Neighbour


@command(Study)
def neighbours(options: Study) -> "list[Neighbour]":
    """Models from the highest score to the lowest, and which are indistinguishable from the next one below."""
    from fathom.analysis import neighbours

    return neighbours(study_rows(options), seed=options.seed)


class Line(Study, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    from fathom.report.tables import neighbour_tables
    from fathom.terminal import tell

    found = neighbours.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        return tell("no reply has a score; published averages cannot be compared question by question")
    print_tables(neighbour_tables(found))
