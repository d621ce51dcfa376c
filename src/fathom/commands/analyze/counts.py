"""Replies by status, validity, truncation, tokens and cost."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, print_json, print_section, telling
from fathom.commands.shared import Json
from fathom.options.declare import command
from fathom.options.values import paths_of

if TYPE_CHECKING:
    from fathom.analysis import Counts


@command(Study)
def counts(options: Study) -> "list[Counts]":
    """Replies by status, validity, truncation, tokens and cost, of all rows."""
    from fathom.analysis import counts
    from fathom.report.reading import tell_unfinished
    from fathom.rows import load

    sources = paths_of(options.sources)
    frame = load(sources, judge=options.judge)
    tell_unfinished(sources, options.tell)
    return counts(frame)


class Line(Study, Json):
    """Options."""


def main(line: Line) -> None:
    """Print the table of the report, or JSON."""
    return print_json(counts.body(telling(line))) if line.as_json else print_section(line, "counts")
