"""The command likelihood: questions about an order, answered by perplexity."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom import api
from fathom.cli.arguments import Lengths, Quiet, Retries, Timeout, lengths_of, names_of, progress_bar, tell


def add_to(app: typer.Typer) -> None:
    """Add this command to the application."""
    app.command()(likelihood)


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
    lengths: Lengths = None,
    tasks: Annotated[
        str | None, typer.Option(help="Only these tasks, separated by commas; by default all that ask for an order.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Samples per task, language and length.")] = None,
    most_orders: Annotated[int, typer.Option(help="With orders: the most orders of one question.")] = 120,
    max_connections: Annotated[
        int, typer.Option(help="Samples at work at once; the texts of one sample follow each other.")
    ] = 1,
    retries: Retries = 5,
    timeout: Timeout = 600.0,
    quiet: Quiet = False,
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
