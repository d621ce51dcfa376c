"""Decide whether a candidate is no worse than a baseline by more than a margin."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import Json, JudgeOfRows, Seed, Tell, Unanswered
from fathom.options.declare import arg, at_least, command, line_only, opt, unset
from fathom.options.values import MaybePath, Tokens
from fathom.types import FathomError
from fathom.types.choices import ALPHA, MARGIN

if TYPE_CHECKING:
    from fathom.analysis.gate import Gate

CODES = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}
"""Exit codes."""


class GateOptions(Json):
    candidate: Annotated[Path | str, arg("Run folder or rows file of the candidate.")]
    _: KW_ONLY
    baseline: Annotated[Path | str, opt("Run folder or rows file of the baseline, on the same suite.", "-b")]
    margin: Annotated[
        float,
        opt("Largest accepted loss, as a fraction: 0.03 is three points.", check=at_least(0, above=True)),
    ] = MARGIN
    on: Annotated[
        Literal["score", "recovery"],
        opt(
            "What is compared: scores, or what is recovered of the score with the evidence alone (a suite built with "
            "--closed-book --alone)."
        ),
    ] = "score"
    at: Annotated[Tokens, opt("Only these lengths, for instance 32k.")] = unset
    alpha: Annotated[float, opt("Level of the tests.", check=at_least(0, above=True))] = ALPHA
    sequential: Annotated[
        bool,
        opt("Decide now, while replies come; valid however often you look. Without it: for one look at finished runs."),
    ] = False
    unanswered: Unanswered = "zero"
    most_asked_again: Annotated[
        float,
        opt(
            "Share of the replies of a side that may have been asked for more than once; above it nothing is decided.",
            check=at_least(0),
        ),
    ] = 0.05
    judge: JudgeOfRows = None
    seed: Seed = 0
    junit: Annotated[MaybePath, opt("A JUnit XML file with a test case for each claim, for CI.")] = unset
    tell: Tell = None
    markdown: Annotated[bool, opt("Print Markdown, for instance for a pull request.")] = line_only(False)


@command(GateOptions)
def gate(options: GateOptions) -> "Gate":
    """Decide whether a candidate is no worse than a baseline by more than a margin.

    PASS (exit code 0): a loss of the margin or more is excluded overall, at every length and on every task. FAIL (1): a
    loss is significant and larger than the margin. INCONCLUSIVE (3): neither, or there is nothing to compare.
    """
    from fathom.analysis.gate import gate
    from fathom.analysis.gate_recovery import gate_recovery
    from fathom.analysis.sequential import sequential_gate
    from fathom.report.gate import write_junit
    from fathom.report.reading import tell_shared, tell_unfinished
    from fathom.rows import load
    from fathom.rows.parts import ReadOptions

    if options.sequential and options.on != "score":
        raise FathomError(
            "sequential: only scores can be looked at any time; leave out `on`, or `sequential` for one look"
        )
    if options.sequential and options.unanswered != "zero":
        raise FathomError(
            "sequential: unanswered replies count 0; leave out `unanswered`, or `sequential` for one look"
        )
    paths = [Path(options.candidate), Path(options.baseline)]
    tell_unfinished(paths, options.tell)
    tell_shared(paths, options.tell)
    candidate, baseline = (load([path], judge=options.judge, options=ReadOptions(tell=options.tell)) for path in paths)
    how = {name: getattr(options, name) for name in ("margin", "alpha", "at", "most_asked_again")}
    if options.sequential:
        decided = sequential_gate(candidate, baseline, **how)
    else:
        decide = gate if options.on == "score" else gate_recovery
        decided = decide(candidate, baseline, **how, unanswered=options.unanswered, seed=options.seed)
    if options.junit is not None:
        write_junit(decided, options.junit)
    return decided


def main(line: GateOptions) -> int:
    """Print the decision and its claims; the exit code is that of the decision."""
    from fathom.options.terminal import tell
    from fathom.report.gate import print_gate

    decided = gate.body(line.but(tell=tell))
    print_gate(decided, as_json=line.as_json, markdown=line.markdown)
    return CODES[decided.decision]
