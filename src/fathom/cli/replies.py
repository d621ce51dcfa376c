"""Commands about replies: run, status and likelihood."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom import api
from fathom.cli import arguments
from fathom.cli.arguments import (
    depths_of,
    lengths_of,
    names_of,
    options_of,
    print_records,
    progress_bar,
    tell,
    where_of,
)
from fathom.cli.judge import judge_runs
from fathom.printing import printable

if TYPE_CHECKING:
    from fathom.run import Preflight, Progress, RunStatus


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(run)
    app.command()(status)
    app.command()(likelihood)


def run(
    suite: Annotated[
        str, typer.Argument(help="A built suite's folder; or a suite or tasks, which are then built first.")
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", help="PROVIDER/NAME, for instance openai/gpt-5 or vllm/NAME; or fathom/lexical?window=4k."
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder; by default runs/SUITE/MODEL.")] = None,
    lengths: arguments.Lengths = None,
    tasks: Annotated[str | None, typer.Option(help="Only these tasks, separated by commas.")] = None,
    limit: Annotated[int | None, typer.Option(help="Samples per task, language and length.")] = None,
    epochs: Annotated[int, typer.Option(help="How often each sample is asked.")] = 1,
    model_base_url: arguments.BaseUrl = None,
    max_connections: arguments.MaxConnections = 16,
    temperature: Annotated[
        float | None,
        typer.Option(
            help="Sampling temperature; negative leaves it to the provider. By default 0, or with --thinking the "
            "model's own, else 1."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for readers and for providers that take one.")] = 0,
    max_output_tokens: Annotated[
        int | None, typer.Option(help="Cap on every reply; by default each task's own, with room for reasoning.")
    ] = None,
    thinking: arguments.Thinking = None,
    model_kind: arguments.ModelKind = None,
    thinking_switch: arguments.ThinkingSwitch = None,
    reasoning_effort: arguments.ReasoningEffort = None,
    reasoning_tokens: arguments.ReasoningTokens = None,
    generation: arguments.Generation = None,
    model_args: arguments.ModelArgs = None,
    window: Annotated[str | None, typer.Option(help="The model's window, for instance 128k.")] = None,
    on_overflow: Annotated[
        str | None,
        typer.Option(
            help="Prompts beyond the window: refuse (not sent), or cut out their middle, left or right. By default "
            "refuse, or with --thinking middle."
        ),
    ] = None,
    chat_template: Annotated[
        str,
        typer.Option(
            help="Which prompts reach the model through its chat template: always, by-task (all but examples or code "
            "to be continued), or never. The others go to the /completions of --model-base-url as they are."
        ),
    ] = "always",
    subset: arguments.Subset = None,
    where: arguments.Only = None,
    retries: arguments.Retries = 5,
    timeout: arguments.Timeout = 600.0,
    max_tokens_total: arguments.MaxTokensTotal = None,
    max_cost: arguments.MaxCost = None,
    items: Annotated[int | None, typer.Option(help="Items per task, where the suite is built first.")] = None,
    corpus: Annotated[list[str] | None, typer.Option(help="Documents, where the suite is built first.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="Tokenizer, where the suite is built first.")] = None,
    language: Annotated[str | None, typer.Option(help="en, zh or en,zh, where the suite is built first.")] = None,
    depth: Annotated[
        str,
        typer.Option(
            help="Where gold text lies, where the suite is built first: random, or depths to sweep; see `fathom build`."
        ),
    ] = "random",
    exact: Annotated[
        bool, typer.Option("--exact", help="Fill each length to the last token, where the suite is built first.")
    ] = False,
    judge: Annotated[
        str | None, typer.Option(help="A model that judges answers and summaries afterwards, as `fathom judge` does.")
    ] = None,
    judge_base_url: Annotated[str | None, typer.Option(help="Address of the judge's server.")] = None,
    yes: arguments.Yes = False,
    quiet: arguments.Quiet = False,
) -> None:
    """Put a suite to a model and keep every reply.

    Before the first request it says how many requests, tokens and dollars are ahead and which prompts do not fit.
    Stopped or killed, the same command goes on where it stopped and repeats no finished request.
    """
    chosen = lengths_of(lengths)
    if judge == "none":
        judge = None
    if judge is not None:
        api.check_judge(judge, judge_base_url)
    with progress_bar("building", quiet) as building, _bar(quiet) as progress:
        summary = api.run(
            suite,
            model,
            out,
            lengths=chosen,
            tasks=names_of(tasks),
            items=items,
            corpus=corpus,
            tokenizer=tokenizer,
            languages=names_of(language),
            depths=depths_of(depth),
            exact=exact,
            seed=seed,
            confirm=lambda plan: confirmed(plan, yes, quiet),
            progress=progress,
            building=building,
            epochs=epochs,
            limit=limit,
            max_connections=max_connections,
            temperature="default" if temperature is None else None if temperature < 0 else temperature,
            max_output_tokens=max_output_tokens,
            thinking=thinking,
            model_kind=model_kind,
            thinking_switch=thinking_switch,
            reasoning_effort=reasoning_effort,
            reasoning_tokens=reasoning_tokens,
            generation=options_of(generation, "--generation"),
            model_base_url=model_base_url,
            model_args=options_of(model_args, "--model-arg"),
            window=(lengths_of(window) or (None,))[0],
            on_overflow=on_overflow,
            chat_template=chat_template,
            subset=subset,
            where=where_of(where),
            retries=retries,
            timeout=timeout,
            max_tokens_total=max_tokens_total,
            max_cost=max_cost,
        )
    for hint in summary.hints:
        print(f"  note: {printable(hint)}", file=sys.stderr)
    if summary.stopped:
        print(f"{summary.folder}: stopped: {summary.stopped}", file=sys.stderr)
        raise typer.Exit(1)
    done = summary.progress
    if done:
        counts = ", ".join(f"{count} {status}" for status, count in done.counts.items() if count)
        print(f"{summary.folder}: {done.finished:,} of {done.total:,} replies ({counts})")
    if judge is not None:
        judge_runs([summary.folder], judge, yes=yes, quiet=quiet, model_base_url=judge_base_url)


def confirmed(plan: Preflight, yes: bool, quiet: bool) -> bool:
    """Show what is ahead; ask, unless told to go on, there is nothing to pay for, or nobody is there to answer."""
    if not plan.requests:
        return True
    if not quiet:
        _print_preflight(plan)
    if yes or plan.cost_most == 0:
        return True
    if not sys.stdin.isatty():
        from fathom.types import FathomError

        raise FathomError("nothing was sent: start with --yes where nobody can answer")
    return typer.confirm("Start?", default=True, err=True)


def _print_preflight(plan: Preflight) -> None:
    from fathom.length import format_length

    money = "free of charge" if plan.cost_most == 0 else "unknown price"
    if plan.cost_most:
        money = f"${plan.cost_least:,.2f} to ${plan.cost_most:,.2f}"
    checked = f" (prices of {plan.checked})" if plan.checked and plan.cost_most else ""
    print(
        f"{plan.model}: {plan.requests:,} requests, {plan.tokens_in:,} tokens in, at most {plan.tokens_out:,} out, "
        f"{money}{checked}" + (f"; {plan.finished:,} replies are there already" if plan.finished else ""),
        file=sys.stderr,
    )
    for words in filter(None, (plan.thinking, plan.unverified)):
        print(f"  {words}", file=sys.stderr)
    for forecast in plan.lengths:
        cost = "" if not forecast.cost_most else f", up to ${forecast.cost_most:,.2f}"
        beyond = f", {forecast.beyond:,} beyond the window" if forecast.beyond else ""
        print(
            f"  {format_length(forecast.length):>6}: {forecast.requests:,} requests, "
            f"{forecast.tokens_in:,} tokens in{cost}{beyond}",
            file=sys.stderr,
        )
    if plan.fate:
        print(f"  {plan.fate}", file=sys.stderr)
    elif plan.window is None and plan.cost_most != 0:
        print("  the model's window is not known; give --window to have prompts checked beforehand", file=sys.stderr)


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    with progress_bar("running", quiet) as progress:
        yield (lambda state: progress(state.finished, state.total)) if progress else None


def _money(found: RunStatus) -> str:
    if found.cost is None:
        return "unknown"
    unknown = f", and {found.unpriced:,} replies of unknown price" if found.unpriced else ""
    return f"${found.cost:,.4f}{unknown}"


def status(
    folder: Annotated[Path, typer.Argument(help="A run folder.")],
    as_json: arguments.AsJson = False,
) -> None:
    """Show where a run stands; also while it runs, from another terminal."""
    found = api.status(folder)
    record = {**dataclasses.asdict(found), "folder": str(found.folder)}
    if as_json:
        print(json.dumps(record, indent=2))
        return
    counts = ", ".join(f"{count} {name}" for name, count in found.counts.items() if count) or "none yet"
    rate = f"{found.rate:.2f} replies a second" if found.rate else ""
    eta = f"about {found.eta / 60:.0f} minutes left" if found.eta else ""
    lines = {
        "model": found.model,
        "suite": found.suite,
        "replies": f"{found.finished:,} of {found.total:,} ({counts})",
        "tokens": f"{found.tokens_in:,} in, {found.tokens_out:,} out",
        "cost": _money(found),
        "working": f"{found.alive} processes" + "".join(f", {words}" for words in (rate, eta) if words),
    }
    print_records([{"": key, " ": value} for key, value in lines.items()], as_json=False)


def tell_ahead(words: str) -> None:
    """What is ahead, on standard error."""
    print(words, file=sys.stderr)


def likelihood(
    suite: Annotated[Path, typer.Argument(help="A built suite's folder.")],
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="openai/NAME with --model-base-url, or hf/PATH for a local model."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder; by default runs/SUITE/MODEL-METHOD.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="orders: the order of least perplexity among all N!. pairs: the order whose neighbours follow each "
            "other best, from N^2 + N short texts."
        ),
    ] = "orders",
    model_base_url: Annotated[
        str | None,
        typer.Option(help="Address of a server that returns log-probabilities of prompts, see likelihood.md."),
    ] = None,
    via: Annotated[
        str, typer.Option(help="How the server is asked: echo, prompt_logprobs (vLLM), or auto, which tries both.")
    ] = "auto",
    lengths: arguments.Lengths = None,
    tasks: Annotated[
        str | None, typer.Option(help="Only these tasks, separated by commas; by default all that ask for an order.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Samples per task, language and length.")] = None,
    most_orders: Annotated[int, typer.Option(help="With orders: the most orders of one question.")] = 120,
    max_connections: Annotated[
        int, typer.Option(help="Samples at work at once; the texts of one sample follow each other.")
    ] = 1,
    retries: arguments.Retries = 5,
    timeout: arguments.Timeout = 600.0,
    quiet: arguments.Quiet = False,
) -> None:
    """Answer questions about an order by how likely a model finds the texts.

    Nothing is asked in words. The run folder is like any other: it goes on where it stopped, and its rows stand beside
    those of the same model asked in words. OPENAI_API_KEY is sent if it is set, and never stored.
    """
    with progress_bar("scoring", quiet) as progress:
        summary = api.likelihood(
            suite,
            model,
            out,
            method=method,
            model_base_url=model_base_url,
            via=via,
            lengths=lengths_of(lengths),
            tasks=names_of(tasks),
            limit=limit,
            most_orders=most_orders,
            max_connections=max_connections,
            retries=retries,
            timeout=timeout,
            tell=None if quiet else tell_ahead,
            progress=(lambda state: progress(state.finished, state.total)) if progress else None,
        )
    for hint in summary.hints:
        tell(hint)
    done = summary.progress
    if done:
        counts = ", ".join(f"{count} {status}" for status, count in done.counts.items() if count)
        print(f"{summary.folder}: {done.finished:,} of {done.total:,} replies ({counts}), {done.tokens_in:,} tokens")
