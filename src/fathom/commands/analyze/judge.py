"""Compare a judge's scores with those of people: agreement, Cohen's kappa, bias by length."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import on_line, study
from fathom.commands.shared import Json, JudgeOfRows, Seed, Sources, Tell
from fathom.options.declare import opt
from fathom.options.values import paths_of

if TYPE_CHECKING:
    from fathom.analysis import JudgeAgreement


class JudgeStudyOptions(Json):
    sources: Sources
    _: KW_ONLY
    labels: Annotated[
        Path | str,
        opt("CSV or JSONL with a score in [0, 1] for each labelled sample; see docs/how-to/judges.md.", metavar="FILE"),
    ]
    seed: Seed = 0
    judge: JudgeOfRows = None
    tell: Tell = None


@study(JudgeStudyOptions)
def analyze_judge(options: JudgeStudyOptions) -> "list[JudgeAgreement]":
    """Compare a judge's scores with those of people: agreement, Cohen's kappa, bias by length."""
    from fathom.analysis import judge_agreement
    from fathom.report.reading import tell_unfinished
    from fathom.rows import load, read_labels

    sources = paths_of(options.sources)
    frame = load(sources, judge=options.judge)
    tell_unfinished(sources, options.tell)
    found = judge_agreement(frame, read_labels(Path(options.labels)), seed=options.seed)
    if options.tell is not None and found and found[0].unmatched:
        options.tell(f"labels without a reply in these rows: {found[0].unmatched:,}")
    return found


main = on_line(analyze_judge)
