"""Have a model check whether gold answers and summaries are supported by their passages."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking
from fathom.options.declare import arg, command, hidden, opt
from fathom.runfile.settings import CaseSettings

if TYPE_CHECKING:
    from fathom.run import JudgePlan, JudgeProgress
    from fathom.run.gold import GoldSummary


class CheckGoldOptions(CaseSettings, Asking):
    suite: Annotated[Path | str, arg("A built suite.")]
    model: Annotated[
        str,
        opt(
            "A chat model, PROVIDER/NAME; a local entailment model, nli/NAME of the hub or nli/FOLDER; or rules, which "
            "find turns of dialogues, garbled questions, notices of web pages as articles, markup and second answers.",
            "-m",
            metavar="PROVIDER/NAME",
        ),
    ]
    out: Annotated[
        Path | str,
        opt("Folder to write: support.jsonl, errata.toml and the model's replies.", "-o", metavar="FOLDER"),
    ]
    _: KW_ONLY
    confirm: Annotated[
        Callable[["JudgePlan"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
    ] = None
    progress: Annotated[Callable[["JudgeProgress"], None] | None, hidden("Called after every gold text.")] = None
    tell: Annotated[Callable[[str], None] | None, hidden("Called with a line about each batch.")] = None


@command(CheckGoldOptions)
def check_gold(options: CheckGoldOptions) -> "GoldSummary":
    """Have a model check whether gold answers and summaries are supported by their passages.

    For each statement of a reference summary it decides whether the passages support it; for each answer whether they
    give it, and no other one. What is unsupported or ambiguous is written as errata, for `fathom build --errata`.

    With the model `rules` no model is asked: rules find gold texts that should be read.

    Before it sends anything, it prints the number of requests and the cost. If it is interrupted, the same command asks
    only for what is missing.
    """
    from fathom.run.gold import RULES, check_by_rules, check_gold

    if options.model == RULES:
        return check_by_rules(Path(options.suite), Path(options.out))
    return check_gold(
        Path(options.suite),
        options.model,
        options.part(CaseSettings),
        out=Path(options.out),
        confirm=options.confirm,
        progress=options.progress,
        tell=options.tell,
    )


def main(line: CheckGoldOptions) -> int:
    """Check, and print what came of it."""
    from fathom.options.terminal import confirmed, print_summary, progress_bar, tell

    with progress_bar("checking", line.quiet) as bar:
        asked = line.but(
            confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
            progress=(lambda state: bar(state.finished, state.total)) if bar else None,
            tell=None if line.quiet else tell,
        )
        summary = check_gold.body(asked)
    return print_summary(summary)
