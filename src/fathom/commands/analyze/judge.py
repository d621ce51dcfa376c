"""A judge's scores beside those of people: agreement, Cohen's kappa, bias by length."""

import dataclasses
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import flat_record, print_json
from fathom.commands.shared import Json, JudgeOfRows, Seed, Sources, Tell
from fathom.options.declare import command, opt
from fathom.options.values import paths_of

if TYPE_CHECKING:
    from fathom.analysis import JudgeAgreement


class JudgeStudyOptions(Json):
    sources: Sources
    _: KW_ONLY
    labels: Annotated[
        Path | str,
        opt("CSV or JSONL with a score in [0, 1] for each labelled sample; see docs/judges.md.", metavar="FILE"),
    ]
    seed: Seed = 0
    judge: JudgeOfRows = None
    tell: Tell = None


@command(JudgeStudyOptions)
def judge(options: JudgeStudyOptions) -> "list[JudgeAgreement]":
    """A judge's scores beside those of people: agreement, Cohen's kappa, bias by length."""
    from fathom.analysis import judge_agreement
    from fathom.report.reading import tell_unfinished
    from fathom.rows import load, read_labels

    sources = paths_of(options.sources)
    frame = load(sources, judge=options.judge)
    tell_unfinished(sources, options.tell)
    return judge_agreement(frame, read_labels(Path(options.labels)), seed=options.seed)


def main(line: JudgeStudyOptions) -> None:
    """Print a table, or JSON."""
    import sys

    from fathom.terminal import print_records

    found = judge.body(line)
    if line.as_json:
        return print_json(found)
    if found and found[0].unmatched:
        print(f"labels that belong to no reply in these rows: {found[0].unmatched}", file=sys.stderr)
    flat = [flat_record(dataclasses.asdict(one)) for one in found]
    table = [
        {
            "replies": record["group"] or record["by"],
            "count": record["replies"],
            "failed": record["failed"],
            "bias": record["bias"],
            "bias 95%": record["bias_interval"],
            "exact": record["exact"],
            "kappa": record["kappa"],
            "weighted": record["kappa_weighted"],
            "right": record["kappa_right"],
        }
        for record in flat
    ]
    print_records(table, as_json=False)
