"""Score existing replies from a file, one per row."""

import sys
from dataclasses import KW_ONLY
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

from fathom.commands.shared import Cluster, Json, engine_of
from fathom.options.declare import arg, command, opt
from fathom.types.choices import Rule

if TYPE_CHECKING:
    from fathom.score.files import ScoreSummary


class ScoreOptions(Cluster, Json):
    file: Annotated[Path | str, arg("A .jsonl file or another table, also with .gz or .zst.")]
    out: Annotated[
        Path | str | IO[str] | None,
        opt("File to write; standard output if left out.", "-o", metavar="FILE", read=lambda given: given),
    ] = None
    _: KW_ONLY
    metric: Annotated[
        str | None,
        opt("SUITE/METRIC for all rows (see `fathom list metrics`); else each row's own.", metavar="SUITE/METRIC"),
    ] = None
    rule: Annotated[
        Rule | None,
        opt(
            "strict (with corrected variants) or official (as the paper's code). Default: strict; with --check, "
            "official."
        ),
    ] = None
    check: Annotated[bool, opt("Compare with each row's own score; exit 1 if one differs.")] = False


@command(ScoreOptions)
def score(options: ScoreOptions) -> "ScoreSummary":
    """Score existing replies from a file, one per row."""
    from fathom.score.files import score_file

    return score_file(
        Path(options.file),
        metric=options.metric,
        rule=options.rule,
        check=options.check,
        out=options.out,
        engine=engine_of(options),
    )


def main(line: ScoreOptions) -> int:
    """Score, and print the scores or what came of the check."""
    from fathom.options.terminal import print_json

    stream = None if line.check else sys.stdout
    summary = score.body(line.but(out=line.out or stream))
    if line.as_json and (line.out or line.check):
        print_json(summary)
    elif line.out or line.check:
        _print_counts(summary, line.check)
    if line.check and (summary.differing or summary.unchecked):
        failed = f", {summary.unchecked:,} could not be scored" if summary.unchecked else ""
        print(f"{summary.differing:,} of {summary.rows:,} rows differ{failed}", file=sys.stderr)
        return 1
    if not line.check and summary.unscored:
        reason = summary.errors[0][1]
        print(f"{summary.unscored:,} of {summary.rows:,} rows were not scored: {reason}", file=sys.stderr)
    return 0


def _print_counts(summary: "ScoreSummary", check: bool) -> None:
    """A line for each metric, then the first rows that are not as they should be."""
    from fathom.options.terminal import print_records

    print_records(summary.records(check), denominator="none")
    print(f"rule: {summary.rule}")
    for difference in summary.differences[:10]:
        # A name from the file is data: it must not reach the terminal as a command to it.
        name = difference.case_id if difference.case_id.isprintable() else ascii(difference.case_id)
        print(f"  row {difference.index}{name and f' {name}'}: {difference}")
    for index, error in (summary.failures if check else summary.errors)[:5]:
        print(f"  row {index} could not be scored: {error}", file=sys.stderr)
