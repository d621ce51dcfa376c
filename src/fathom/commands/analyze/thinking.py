"""What models gain by thinking, over the questions that they answered both ways."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Dimensions, Study, print_json, print_tables, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import command, unset

if TYPE_CHECKING:
    from fathom.analysis import ThinkingGain


class ThinkingOptions(Study, Json):
    _: KW_ONLY
    by: Dimensions = unset


@command(ThinkingOptions)
def thinking(options: ThinkingOptions) -> "list[ThinkingGain]":
    """What models gain by thinking, over the questions that they answered both ways."""
    from fathom.analysis import thinking_gain

    return thinking_gain(study_rows(options), by=options.by or ("overall",), seed=options.seed)


def main(line: ThinkingOptions) -> None:
    """Print tables, or JSON."""
    from fathom.report.breakdown import gain_tables
    from fathom.terminal import tell

    found = thinking.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        return tell("no model of these rows has scores both with thinking and without; run it with both modes")
    print_tables(gain_tables(found))
