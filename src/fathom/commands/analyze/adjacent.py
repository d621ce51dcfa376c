"""Models in order of their score, and which are not distinguishable from the next one below."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study, study_rows

if TYPE_CHECKING:
    from fathom.analysis import Neighbour


@study(Study)
def analyze_adjacent(options: Study) -> "list[Neighbour]":
    """Models in order of their score, and which are not distinguishable from the next one below."""
    from fathom.analysis import neighbours

    return neighbours(study_rows(options), seed=options.seed)


main = on_line(
    analyze_adjacent, empty="no reply has a score; published averages cannot be compared question by question"
)
