"""Whole prompts against the same ones cut: how much of each task needs the full text."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, print_json, print_tables, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import command
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.analysis import Truncation


@command(Study)
def truncation(options: Study) -> "list[Truncation]":
    """Whole prompts against the same ones cut: how much of each task needs the full text."""
    from fathom.analysis import truncation

    if found := truncation(study_rows(options), seed=options.seed):
        return found
    raise FathomError(
        "no prompt of these rows was cut and has a score beside its whole one: build with --truncate 2k,4k,8k, and run "
        "the whole prompts and the cut ones"
    )


class Line(Study, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    from fathom.report.truncation import truncation_tables

    found = truncation.body(telling(line))
    return print_json(found) if line.as_json else print_tables(truncation_tables(found))
