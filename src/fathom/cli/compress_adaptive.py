"""The command ``fathom compress adaptive``."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom import api
from fathom.cli import arguments
from fathom.cli.arguments import lengths_of, options_of
from fathom.commands.run import confirmed
from fathom.commands.terminal import tell
from fathom.printing import printable_json

if TYPE_CHECKING:
    from fathom.api.adaptive import Adapted
    from fathom.run.preflight import Preflight


def adaptive(
    suite: Annotated[Path, typer.Argument(help="A suite folder.")],
    model: Annotated[str, typer.Option("--model", "-m", help="PROVIDER/NAME, for instance openai/gpt-5 or vllm/NAME.")],
    known: Annotated[Path, typer.Option(help="Scores of known models on the suite's items: a table or a rows file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the rounds.")],
    width: Annotated[float, typer.Option(help="Half-width of the 95% interval at which to stop.")] = 0.02,
    budget: Annotated[int, typer.Option(help="Most items to ask.")] = 500,
    first: Annotated[int, typer.Option(help="Items of the first round.")] = 100,
    step: Annotated[int, typer.Option(help="Items of every other round.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the draws, and of the model.")] = 0,
    unanswered: arguments.Unanswered = "zero",
    model_base_url: arguments.BaseUrl = None,
    max_connections: arguments.MaxConnections = 16,
    temperature: arguments.Temperature = 0.0,
    max_output_tokens: Annotated[
        int | None, typer.Option(help="Cap on every reply; by default each task's own.")
    ] = None,
    reasoning_effort: arguments.ReasoningEffort = None,
    reasoning_tokens: arguments.ReasoningTokens = None,
    generation: arguments.Generation = None,
    model_args: arguments.ModelArgs = None,
    window: Annotated[str | None, typer.Option(help="The model's window, for instance 128k.")] = None,
    on_overflow: Annotated[
        str, typer.Option(help="Prompts beyond the window: refuse, or cut out their middle, left or right.")
    ] = "refuse",
    chat_template: Annotated[str, typer.Option(help="always, by-task or never: as for `fathom run`.")] = "always",
    retries: arguments.Retries = 5,
    timeout: arguments.Timeout = 600.0,
    max_tokens_total: arguments.MaxTokensTotal = None,
    max_cost: arguments.MaxCost = None,
    yes: arguments.Yes = False,
    quiet: arguments.Quiet = False,
    as_json: arguments.AsJson = False,
) -> None:
    """Evaluate one model on as few items as a narrow interval takes.

    Rounds of items are chosen by what the model has shown so far, until the 95% interval of its score on the whole
    benchmark is as narrow as wanted. Stopped or killed, the same command goes on where it stopped. Limits on tokens and
    cost hold for each round.
    """

    def told(items: int, value: float, half: float) -> None:
        if not quiet:
            print(f"  {items:,} items: {100 * value:.2f} ± {100 * half:.2f}", file=sys.stderr)

    shown: list[Preflight] = []

    def confirm(plan: Preflight) -> bool:
        """What is ahead is shown, and asked about, for the first round that asks anything."""
        known = bool(shown)
        shown.extend([plan] if plan.requests else [])
        return confirmed(plan, yes or known, quiet or known)

    found = api.compress_adaptive(
        suite,
        model,
        known,
        out,
        width=width,
        budget=budget,
        first=first,
        step=step,
        seed=seed,
        unanswered=unanswered,
        told=told,
        confirm=confirm,
        model_base_url=model_base_url,
        max_connections=max_connections,
        temperature=None if temperature < 0 else temperature,
        max_output_tokens=max_output_tokens,
        reasoning_effort=reasoning_effort,
        reasoning_tokens=reasoning_tokens,
        generation=options_of(generation, "--generation"),
        model_args=options_of(model_args, "--model-arg"),
        window=(lengths_of(window) or (None,))[0],
        on_overflow=on_overflow,
        chat_template=chat_template,
        retries=retries,
        timeout=timeout,
        max_tokens_total=max_tokens_total,
        max_cost=max_cost,
    )
    if as_json:
        record = {**dataclasses.asdict(found), "subset": str(found.subset), "rounds": list(map(str, found.rounds))}
        print(printable_json(json.dumps(record, indent=2, ensure_ascii=False)))
        return
    print(
        f"{found.estimate.model}: {100 * found.estimate.overall.value:.2f} ± {100 * found.half_width:.2f} "
        f"after {found.items:,} of {found.of:,} items"
    )
    _print_outcomes(found)
    if not found.reached:
        tell(f"the interval is not as narrow as {width:g}: raise --budget, and the same command goes on")
    tell(f"`fathom compress estimate {found.rounds[0].parent}/round-*/ --subset {found.subset}` gives the categories")


def _print_outcomes(found: Adapted) -> None:
    """What became of the replies, where some are no whole answers."""
    from fathom.stats.outcomes import COUNTED, differ

    one = found.estimate
    counts = [f"{one.ended[name]:,} {name}" for name in COUNTED if one.ended[name]]
    if not counts:
        return
    how = "count 0" if found.unanswered == "zero" else "left out"
    other = "no estimate" if one.other is None else f"{100 * one.other:.2f}"
    both = f"; {other} where they {'are left out' if found.unanswered == 'zero' else 'count 0'}"
    print(
        f"of {one.ended['replies']:,} replies {', '.join(counts)}; those without an answer {how}"
        + (both if differ(one.overall.value, one.other) else "")
    )


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(adaptive)
