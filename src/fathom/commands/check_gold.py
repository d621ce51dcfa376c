"""Have a model check whether gold answers and summaries are supported by their passages."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking
from fathom.models.settings import Backoff, BaseUrl, Limits, ModelArgs, ReasoningEffort, ReasoningTokens, Temperature
from fathom.options.declare import arg, at_least, command, given, hidden, opt, unset

if TYPE_CHECKING:
    from fathom.run import JudgePlan, JudgeProgress
    from fathom.run.gold import GoldSummary


class CheckGoldOptions(Limits, Asking):
    suite: Annotated[Path | str, arg("A built suite.")]
    model: Annotated[
        str,
        opt(
            "A chat model, PROVIDER/NAME; or a local entailment model, nli/NAME of the hub or nli/FOLDER.",
            "-m",
            metavar="PROVIDER/NAME",
        ),
    ]
    out: Annotated[
        Path | str,
        opt("Folder to write: support.jsonl, errata.toml and the model's replies.", "-o", metavar="FOLDER"),
    ]
    _: KW_ONLY
    model_base_url: BaseUrl = None
    temperature: Temperature = given(0.0)
    max_output_tokens: Annotated[
        int | None,
        opt("Cap on every reply; by default 1024, with room for reasoning.", metavar="TOKENS", check=at_least(1)),
    ] = None
    reasoning_effort: ReasoningEffort = None
    reasoning_tokens: ReasoningTokens = None
    model_args: ModelArgs = unset
    again: Annotated[bool, opt("Ask once more where the reply could not be read.")] = False
    backoff: Backoff = 1.0
    confirm: Annotated[
        Callable[["JudgePlan"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
    ] = None
    progress: Annotated[Callable[["JudgeProgress"], None] | None, hidden("Called after every gold text.")] = None


@command(CheckGoldOptions)
def check_gold(options: CheckGoldOptions) -> "GoldSummary":
    """Have a model check whether gold answers and summaries are supported by their passages.

    For each statement of a reference summary it decides whether the passages support it; for each answer whether they
    give it, and no other one. What is unsupported or ambiguous is written as errata, for `fathom build --errata`.

    Before it sends anything, it prints the number of requests and the cost. If it is interrupted, the same command asks
    only for what is missing.
    """
    from fathom.models.protocol import Settings
    from fathom.models.retry import Retry
    from fathom.run.gold import GoldWork, check_gold
    from fathom.run.options import check_settings, generation_of

    model = Settings(
        options.model,
        temperature=options.temperature,
        max_output_tokens=options.max_output_tokens,
        generation=generation_of(
            None, reasoning_effort=options.reasoning_effort, reasoning_tokens=options.reasoning_tokens
        ),
        model_args=options.model_args or {},
        base_url=options.model_base_url,
    )
    check_settings(model)
    work = GoldWork(
        max_connections=options.max_connections,
        retry=Retry(retries=options.retries, timeout=options.timeout, first=options.backoff),
        max_tokens_total=options.max_tokens_total,
        max_cost=options.max_cost,
        again=options.again,
        progress=options.progress or (lambda state: None),
    )
    return check_gold(Path(options.suite), model, Path(options.out), work, confirm=options.confirm)


def main(line: CheckGoldOptions) -> int:
    """Check, and print what came of it."""
    from fathom.options.terminal import confirmed, print_summary, progress_bar

    with progress_bar("checking", line.quiet) as bar:
        asked = line.but(
            confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
            progress=(lambda state: bar(state.finished, state.total)) if bar else None,
        )
        summary = check_gold.body(asked)
    return print_summary(summary)
