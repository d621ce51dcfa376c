"""The command ``judge``, which ``run --judge`` does too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import api
from fathom.cli import arguments
from fathom.cli.arguments import options_of, progress_bar
from fathom.printing import printable

if TYPE_CHECKING:
    from fathom.run import JudgePlan, JudgeProgress, JudgeSummary


def add_to(app: typer.Typer) -> None:
    """Add this command to the application."""
    app.command()(judge)


def judge(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    model: Annotated[
        str,
        typer.Option(
            "--judge",
            "-j",
            help="The model that judges: PROVIDER/NAME, as openai/gpt-4o-mini; or for the summaries of LongBench Pro a "
            "model of embeddings, embed/NAME on a server or embed-local/NAME by sentence-transformers.",
        ),
    ],
    judge_base_url: arguments.BaseUrl = None,
    max_connections: arguments.MaxConnections = 16,
    temperature: arguments.Temperature = 0.0,
    max_output_tokens: Annotated[
        int | None, typer.Option(help="Cap on every reply of the judge; by default 1024, with room for reasoning.")
    ] = None,
    reasoning_effort: arguments.ReasoningEffort = None,
    reasoning_tokens: arguments.ReasoningTokens = None,
    generation: arguments.Generation = None,
    model_args: arguments.ModelArgs = None,
    retries: arguments.Retries = 5,
    timeout: arguments.Timeout = 600.0,
    max_tokens_total: arguments.MaxTokensTotal = None,
    max_cost: arguments.MaxCost = None,
    again: Annotated[
        bool, typer.Option("--again", help="Ask once more for judgements that could not be read.")
    ] = False,
    yes: arguments.Yes = False,
    quiet: arguments.Quiet = False,
) -> None:
    """Have a model judge the answers and summaries of runs.

    A model that chats and one of embeddings judge different tasks; each passes over those of the other.

    Before the first request it says how many replies are to be judged and what that may cost. Stopped or killed, the
    same command judges only what is missing. `fathom rows`, `report` and `analyze` then show the judge's scores.
    """
    judge_runs(
        runs,
        model,
        yes=yes,
        quiet=quiet,
        model_base_url=judge_base_url,
        max_connections=max_connections,
        temperature=None if temperature < 0 else temperature,
        max_output_tokens=max_output_tokens,
        reasoning_effort=reasoning_effort,
        reasoning_tokens=reasoning_tokens,
        generation=options_of(generation, "--generation"),
        model_args=options_of(model_args, "--model-arg"),
        retries=retries,
        timeout=timeout,
        max_tokens_total=max_tokens_total,
        max_cost=max_cost,
        again=again,
    )


def judge_runs(runs: Sequence[Path], model: str, *, yes: bool, quiet: bool, **settings: Any) -> None:
    """Judge runs with a progress bar, and say what came of it.

    Args:
        runs: Run folders.
        model: The judge.
        yes: Start without asking.
        quiet: No progress bar, and no word of what is ahead.
        settings: See ``fathom.run.judge``.

    Raises:
        FathomError: See ``fathom.run.judge``.
        typer.Exit: Not confirmed.
    """
    with _bar(quiet) as progress:
        confirm = _confirmation(yes, quiet)
        summaries = api.judge(runs, model, confirm=confirm, progress=progress, **settings)
    for summary in summaries:
        _print_summary(summary)
    if summaries and summaries[-1].stopped:
        raise typer.Exit(1)


def _confirmation(yes: bool, quiet: bool) -> Callable[[JudgePlan], bool]:
    """Shows what is ahead; asks, unless told to go on or there is nothing to pay for."""

    def confirm(plan: JudgePlan) -> bool:
        if not quiet:
            _print_plan(plan)
        if yes or plan.cost_most == 0:
            return True
        if not sys.stdin.isatty():
            from fathom.types import FathomError

            raise FathomError("nothing was sent to the judge: start with --yes where nobody can answer")
        return typer.confirm("Start?", default=True, err=True)

    return confirm


def _print_plan(plan: JudgePlan) -> None:
    money = "free of charge" if plan.cost_most == 0 else "unknown price"
    if plan.cost_most:
        money = f"${plan.cost_least:,.2f} to ${plan.cost_most:,.2f}"
    checked = f" (prices of {plan.checked})" if plan.checked and plan.cost_most else ""
    there = f"; {plan.finished:,} are judged already" if plan.finished else ""
    print(
        f"{plan.folder}: {plan.replies:,} replies to be judged by {plan.judge}: about {plan.requests:,} requests, "
        f"{plan.tokens_in:,} tokens in, {money}{checked}{there}",
        file=sys.stderr,
    )


def _print_summary(summary: JudgeSummary) -> None:
    for hint in summary.hints:
        print(f"  note: {printable(hint)}", file=sys.stderr)
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


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[JudgeProgress], None] | None]:
    with progress_bar("judging", quiet) as progress:
        yield (lambda state: progress(state.finished, state.total)) if progress else None
