"""Mean over questions in each group, best of n and pass at n, as in LongBench Pro."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import Dimensions, Study, study, study_rows, telling
from fathom.options.declare import Read, given, opt, unset
from fathom.options.values import names_of

if TYPE_CHECKING:
    from fathom.analysis import GroupScore


class BreakdownOptions(Study):
    _: KW_ONLY
    by: Dimensions = unset
    measures: Annotated[
        Read[Sequence[str] | str, tuple[str, ...]],
        opt("Any of mean, best_of and pass_at, separated by commas.", metavar="NAME,...", read=names_of),
    ] = given("mean")


@study(BreakdownOptions)
def analyze_breakdown(options: BreakdownOptions) -> "list[GroupScore]":
    """Mean over questions in each group, best of n and pass at n, as in LongBench Pro."""
    from fathom.analysis import DIMENSIONS, breakdown

    frame, by = study_rows(options), options.by or DIMENSIONS
    return breakdown(frame, by=by, measures=options.measures, seed=options.seed)


def main(line: BreakdownOptions) -> None:
    """Print tables, or JSON."""
    from fathom.report.studies import print_results

    if line.by and not line.as_json:  # tables have a column for the whole
        line = line.but(by=tuple(dict.fromkeys(("overall", *line.by))))
    print_results(analyze_breakdown.body(telling(line)), line.as_json, "no row has a score")
