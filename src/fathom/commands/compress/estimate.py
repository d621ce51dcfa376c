"""Estimate scores on a whole benchmark from the scores on a subset of its items."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.compress.shared import Published, Scores
from fathom.commands.shared import Json, Unanswered
from fathom.options.declare import OptionError, command, opt, unset
from fathom.options.values import MaybePath, paths_of
from fathom.printing import several
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.compress.estimates import Estimated


class EstimateOptions(Json):
    sources: Scores
    _: KW_ONLY
    subset: Annotated[MaybePath, opt("File of the subset.")] = unset
    method: Annotated[
        str | None, opt("For --published: minilongbench. Subsets know their own method.", metavar="NAME")
    ] = None
    published: Published = unset
    known: Annotated[MaybePath, opt("The scores that the subset was chosen by, where they are not beside it.")] = unset
    unanswered: Unanswered = "zero"
    out: Annotated[MaybePath, opt("A .parquet, .csv or .jsonl file for the estimates.", "-o")] = unset


@command(EstimateOptions)
def compress_estimate(options: EstimateOptions) -> "Estimated":
    """Estimate scores on a whole benchmark, with intervals, from the scores on a subset of its items.

    Models of one tie group do not differ significantly; ranks are those that the data allow.
    """
    from fathom.compress.estimates import estimated, read_chosen
    from fathom.rows.schema import write_table

    if (options.published is None) == (options.subset is None):
        raise FathomError(
            "name one subset: its file with `subset` FILE, or with `published` FOLDER the folder of MiniLongBench's "
            "released data"
        )
    method = read_chosen(options.subset, options.published)[0].method
    if options.method not in (None, method):
        raise OptionError("method", options.method, f"this subset was chosen by {method!r}, and is estimated so")
    chosen = options.subset, options.published
    sources = paths_of(options.sources)
    result = estimated(sources, *chosen, known=options.known, unanswered=options.unanswered)
    if options.out is not None:
        write_table(result.table(), options.out)
    return result


def main(line: EstimateOptions) -> None:
    """Print a table of the models, and how the estimates agree with the scores where these are known."""
    from fathom.options.terminal import print_json, print_records, tell
    from fathom.report.compression_tables import agreement_records, estimate_records

    result = compress_estimate.body(line)
    if line.as_json:
        return print_json(result)
    print_records(estimate_records(result), denominator="scored")
    if result.agreement:
        print()
        print_records(agreement_records(result), denominator="shared")
    least = min((model.items for model in result.models), default=result.items)
    lacking = f"; not all of them have scores, at the least {least:,}" if least < result.items else ""
    for reason in result.left_out:
        tell(f"{reason}, more than 2%: no estimate. Run it again, or give --unanswered drop")
    tell(f"{result.subset}: {several(result.items, 'item')}, {result.method}{lacking}")
