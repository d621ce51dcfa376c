"""Evaluate one model until its interval is narrow enough."""

import sys
from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.compress.shared import half_width
from fathom.commands.shared import Asking, Confirm, Json, OnReply, Recorded, Unanswered
from fathom.models.settings import Backoff, Limits, Reasoning, Sampling, Served
from fathom.options.declare import arg, at_least, command, hidden, opt
from fathom.printing import several
from fathom.runfile.settings import Epochs

if TYPE_CHECKING:
    from fathom.compress.adaptive import AdaptiveResult
    from fathom.run import Preflight


class AdaptiveOptions(Sampling, Served, Reasoning, Limits, Recorded, Asking, Json):
    suite: Annotated[Path | str, arg("A suite folder.")]
    model: Annotated[str, opt("For instance openai/gpt-5 or vllm/NAME.", "-m", metavar="PROVIDER/NAME")]
    known: Annotated[
        Path | str, opt("Scores of known models on the suite's items: a table or a rows file.", metavar="FILE")
    ]
    out: Annotated[Path | str, opt("Folder for the rounds.", "-o", metavar="FOLDER")]
    _: KW_ONLY
    width: Annotated[float, opt("Half-width of the 95% interval at which to stop.", check=half_width)] = 0.02
    budget: Annotated[int, opt("Most items to ask.", metavar="ITEMS", check=at_least(2))] = 500
    first: Annotated[int, opt("Items of the first round.", metavar="ITEMS", check=at_least(2))] = 100
    step: Annotated[int, opt("Items of every other round.", metavar="ITEMS", check=at_least(1))] = 20
    seed: Annotated[int, opt("Seed of the draws, and of the model.", check=at_least(0))] = 0
    epochs: Epochs = 1
    proved: Annotated[
        bool,
        opt(
            "Stop by an interval that holds at every look by a theorem, whatever the known models are; it took 1.3 "
            "to 2.3 times the items."
        ),
    ] = False
    unanswered: Unanswered = "zero"
    backoff: Backoff = 1.0
    told: Annotated[  # banned-name: the name of the option
        Callable[[int, float, float], None] | None,
        hidden("Called with (items asked, estimate, half-width) after every round."),
    ] = None
    confirm: Confirm = None
    progress: OnReply = None


@command(AdaptiveOptions)
def compress_adaptive(options: AdaptiveOptions) -> "AdaptiveResult":
    """Evaluate one model until its interval is narrow enough.

    Rounds of items are chosen by what the model has shown so far, until the 95% interval of its score on the whole
    benchmark is as narrow as wanted. If interrupted, the same command resumes. Limits on tokens and cost hold for
    each round.
    """
    from fathom.commands.run import RunOptions, run
    from fathom.compress.adaptive import AdaptiveSettings, evaluate
    from fathom.compress.tables import read_matrix

    # Rounds are no steps of a training, which `step` is elsewhere.
    served = options.part(Served).but(step=None)
    groups = [served, *(options.part(group) for group in (Sampling, Reasoning, Limits, Recorded))]
    named = {name: getattr(options, name) for name in ("suite", "model", "epochs", "backoff", "confirm", "progress")}

    def ask(subset: Path, folder: Path) -> str:
        given = RunOptions(**named, out=folder, subset=subset)
        return run.body(RunOptions.joined(given, *groups)).stopped

    settings = AdaptiveSettings(
        options.width,
        options.budget,
        options.first,
        options.step,
        options.seed,
        options.unanswered,
        options.proved,
    )
    return evaluate(options.model, read_matrix(options.known), settings, Path(options.out), ask, options.told)


def main(line: AdaptiveOptions) -> None:
    """Print a line after each round, and the estimate."""
    from fathom.options.terminal import confirmed, print_json, tell

    def show_round(items: int, value: float, half: float) -> None:
        if not line.quiet:
            print(f"  {several(items, 'item')}: {100 * value:.2f} ± {100 * half:.2f}", file=sys.stderr)

    plans_shown: list[Preflight] = []

    def confirm(plan: "Preflight") -> bool:
        """What is ahead is shown, and asked about, for the first round that asks anything."""
        known = bool(plans_shown)
        plans_shown.extend([plan] if plan.requests else [])
        return confirmed(plan, yes=line.yes or known, quiet=line.quiet or known)

    result = compress_adaptive.body(line.but(told=show_round, confirm=confirm))
    if line.as_json:
        return print_json(result)
    overall = f"{100 * result.estimate.overall.value:.2f} ± {100 * result.half_width:.2f}"
    after = f"after {result.items:,} of {result.of:,} items"
    if result.proved is None:
        print(f"{result.estimate.model}: {overall} {after}")
    else:
        low, high = result.proved.low, result.proved.high
        print(
            f"{result.estimate.model}: {100 * low:.2f} to {100 * high:.2f}, ± {50 * (high - low):.2f}, proved at any "
            f"look, {after}\ncalibrated on the known models, not proved: {overall}"
        )
    if outcomes := result.outcomes():
        print(outcomes)
    if not result.reached:
        tell(f"the interval is not as narrow as {line.width:g}: raise --budget and repeat the command")
    tell(f"`fathom compress estimate {result.rounds[0].parent}/round-*/ --subset {result.subset}` gives the categories")
