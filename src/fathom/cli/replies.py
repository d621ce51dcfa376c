"""Commands about replies: run, status and likelihood."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom import api
from fathom.cli import arguments
from fathom.cli.arguments import lengths_of, names_of
from fathom.commands.terminal import print_records, progress_bar, tell

if TYPE_CHECKING:
    from fathom.run import RunStatus


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(status)
    app.command()(likelihood)


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
