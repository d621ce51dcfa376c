"""Mean over questions in each group, best of n and pass at n, as in LongBench Pro."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import Dimensions, Study, print_json, print_tables, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import Read, command, given, opt, unset
from fathom.options.values import names_of

if TYPE_CHECKING:
    from fathom.analysis import GroupScore


class BreakdownOptions(Study, Json):
    _: KW_ONLY
    by: Dimensions = unset
    measures: Annotated[
        Read[Sequence[str] | str, tuple[str, ...]],
        opt("Any of mean, best_of and pass_at, separated by commas.", metavar="NAME,...", read=names_of),
    ] = given("mean")


@command(BreakdownOptions)
def breakdown(options: BreakdownOptions) -> "list[GroupScore]":
    """Mean over questions in each group, best of n and pass at n, as in LongBench Pro."""
    from fathom.analysis import DIMENSIONS, breakdown

    frame, by = study_rows(options), options.by or DIMENSIONS
    return breakdown(frame, by=by, measures=options.measures, seed=options.seed)


def main(line: BreakdownOptions) -> None:
    """Print tables, or JSON."""
    from fathom.report.breakdown import score_tables
    from fathom.terminal import tell

    if line.by and not line.as_json:  # tables have a column for the whole
        line = line.but(by=tuple(dict.fromkeys(("overall", *line.by))))
    found = breakdown.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        return tell("no row has a score")
    print_tables(score_tables(found))
