"""Questions that models answer closed-book, and which of them are removed."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, known_removed, print_json, print_section, telling
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import Known


@command(Study)
def known(options: Study) -> "list[Known]":
    """Questions that models answer closed-book, and which of them are removed."""
    return list(known_removed(options).removed)


class Line(Study, Json):
    """Options."""


def main(line: Line) -> None:
    """Print the table of the report, or JSON."""
    return print_json(known.body(telling(line))) if line.as_json else print_section(line, "known")
