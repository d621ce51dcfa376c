"""Have a model judge the answers and summaries of runs."""

import sys
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import (
    Asking,
    Backoff,
    Generation,
    Limits,
    ManyPaths,
    ModelArgs,
    ReasoningEffort,
    ReasoningTokens,
)
from fathom.options.declare import Read, arg, at_least, command, given, hidden, opt, unset
from fathom.options.values import temperature_of

if TYPE_CHECKING:
    from fathom.run import JudgePlan, JudgeProgress, JudgeSummary


class JudgeOptions(Limits, Asking):
    runs: Annotated[ManyPaths, arg("Run folders.")]
    model: Annotated[
        str,
        opt(
            "The model that judges: PROVIDER/NAME, as openai/gpt-4o-mini; or for the summaries of LongBench Pro a "
            "model of embeddings, embed/NAME on a server or embed-local/NAME by sentence-transformers.",
            "-j",
            flag="--judge",
            metavar="PROVIDER/NAME",
        ),
    ]
    _: KW_ONLY
    model_base_url: Annotated[
        str | None,
        opt(
            "Address of a server such as http://127.0.0.1:8000/v1; it needs no key.",
            flag="--judge-base-url",
            metavar="URL",
        ),
    ] = None
    temperature: Annotated[
        Read[float | str | None, float | None],
        opt("Sampling temperature; negative leaves it to the provider.", metavar="NUMBER", read=temperature_of),
    ] = given(0.0)
    max_output_tokens: Annotated[
        int | None,
        opt(
            "Cap on every reply of the judge; by default 1024, with room for reasoning.",
            metavar="TOKENS",
            check=at_least(1),
        ),
    ] = None
    reasoning_effort: ReasoningEffort = None
    reasoning_tokens: ReasoningTokens = None
    generation: Generation = unset
    model_args: ModelArgs = unset
    again: Annotated[bool, opt("Ask once more for judgements that could not be read.")] = False
    backoff: Backoff = 1.0
    confirm: Annotated[
        Callable[["JudgePlan"], bool] | None,
        hidden("Shown, for each run, what is ahead before any request; False stops there."),
    ] = None
    progress: Annotated[Callable[["JudgeProgress"], None] | None, hidden("Told the state after every judgement.")] = (
        None
    )


@command(JudgeOptions)
def judge(options: JudgeOptions) -> "tuple[JudgeSummary, ...]":
    """Have a model judge the answers and summaries of runs.

    A model that chats and one of embeddings judge different tasks; each passes over those of the other.

    Before the first request it says how many replies are to be judged and what that may cost. Stopped or killed, the
    same command judges only what is missing. `fathom rows`, `report` and `analyze` then show the judge's scores.
    """
    from fathom.run import judge

    settings = options.of(JudgeOptions, Limits)
    model = settings.pop("model")
    summaries: list[JudgeSummary] = []
    for folder in settings.pop("runs"):
        summaries.append(judge(folder, model, **settings))
        if summaries[-1].stopped:
            break
    return tuple(summaries)


def check_judge(model: str, model_base_url: str | None = None) -> None:
    """Make sure that a judge can be asked, without asking it; see ``fathom.run.check_judge``."""
    from fathom.run import check_judge

    check_judge(model, model_base_url)


def main(line: JudgeOptions) -> int:
    """Judge, and print what came of it."""
    from fathom.terminal import confirmed, progress_bar

    with progress_bar("judging", line.quiet) as bar:
        asked = line.but(
            confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
            progress=(lambda state: bar(state.finished, state.total)) if bar else None,
        )
        summaries = judge.body(asked)
    for summary in summaries:
        _print_summary(summary)
    return int(bool(summaries and summaries[-1].stopped))


def _print_summary(summary: "JudgeSummary") -> None:
    from fathom.terminal import tell_below

    for hint in summary.hints:
        tell_below(hint)
    if summary.stopped:
        print(f"{summary.folder}: stopped: {summary.stopped}", file=sys.stderr)
        return
    spent = summary.spent
    money = "unknown price" if spent.cost is None else f"${spent.cost:,.4f}"
    unknown = f" and {spent.unpriced:,} requests of unknown price" if spent.cost and spent.unpriced else ""
    print(
        f"{summary.folder}: {summary.judged:,} judged, {summary.unreadable:,} unreadable, {summary.missing:,} missing; "
        f"the judge read {spent.tokens_in:,} and wrote {spent.tokens_out:,} tokens, {money}{unknown}"
    )
