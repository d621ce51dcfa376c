"""How often every two models, or two ways of asking one, give the same answer."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, print_flat, print_json, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import Agreement


@command(Study)
def agreement(options: Study) -> "list[Agreement]":
    """How often every two models, or two ways of asking one, give the same answer."""
    from fathom.analysis import agreement

    return agreement(study_rows(options), seed=options.seed)


class Line(Study, Json):
    """Options."""


def main(line: Line) -> None:
    """Print a table, or JSON."""
    from fathom.terminal import tell

    found = agreement.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        tell("no two models or variants in these rows have a score for the same sample; name runs of one suite")
    print_flat(found)
