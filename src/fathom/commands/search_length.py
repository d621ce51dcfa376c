"""Search the effective length of a model: ask where it tells most."""

import sys
from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking, Confirm, Json, OnReply, Recorded
from fathom.models.settings import Backoff, Limits, Reasoning, Sampling, Served
from fathom.options.declare import arg, at_least, command, hidden, opt
from fathom.types import StoppedError

if TYPE_CHECKING:
    from fathom.run import Preflight
    from fathom.run.length_search import LengthFound, Remaining


def _share(value: float) -> str:
    return "" if 0 < value < 1 else "expected a score between 0 and 1, for instance 0.856"


class SearchOptions(Sampling, Served, Reasoning, Limits, Recorded, Asking, Json):
    suite: Annotated[
        Path | str, arg("A suite folder with many lengths, of which few are asked, for instance of fathom build.")
    ]
    model: Annotated[str, opt("For instance openai/gpt-5 or vllm/NAME.", "-m", metavar="PROVIDER/NAME")]
    out: Annotated[Path | str, opt("Folder for the rounds.", "-o", metavar="FOLDER")]
    _: KW_ONLY
    threshold: Annotated[
        float, opt("Mean score that a length must reach; by default RULER's.", metavar="SCORE", check=_share)
    ] = 0.856
    within: Annotated[
        float,
        opt("Stop when the ends of the 95% interval are in this ratio.", metavar="RATIO", check=at_least(1)),
    ] = 1.5
    budget: Annotated[int, opt("Most questions to ask, in whole rounds.", metavar="QUESTIONS", check=at_least(1))] = 400
    step: Annotated[int, opt("Questions of a round, all at one length.", check=at_least(1))] = 4
    seed: Annotated[int, opt("Seed of the order of tasks, and of the model.", check=at_least(0))] = 0
    backoff: Backoff = 1.0
    told: Annotated[  # banned-name: as the option of the same purpose of `compress adaptive`
        Callable[["LengthFound"], None] | None, hidden("Called with the state after every round.")
    ] = None
    confirm: Confirm = None
    progress: OnReply = None


@command(SearchOptions)
def search_length(options: SearchOptions) -> "LengthFound":
    """Search the length up to which a model reaches a score, with few questions.

    Rounds of a few questions are asked at the length that tells most, until the 95% interval of the effective length
    is narrow enough; it holds whenever one stops. It supposes that scores do not rise with length. If interrupted, the
    same command resumes.
    """
    from fathom.commands.run import RunOptions, run
    from fathom.models.prices import find_price
    from fathom.run.length_search import SearchSettings, search_length
    from fathom.runfile.progress import status

    # Rounds are no steps of a training, which `step` is elsewhere.
    served = options.part(Served).but(step=None)
    groups = [served, *(options.part(group) for group in (Sampling, Reasoning, Recorded))]
    named = {name: getattr(options, name) for name in ("suite", "model", "backoff", "progress")}
    confirmed, tokens, paid = options.confirm is None, 0, 0.0

    def ask(subset: Path, folder: Path, ahead: "Remaining") -> str:
        nonlocal tokens, paid

        def confirm(plan: "Preflight") -> bool:
            nonlocal confirmed
            if options.confirm is not None and not confirmed and plan.requests:
                confirmed = options.confirm(ahead.forecast(plan, find_price(options.model, options.model_base_url)))
            return confirmed or not plan.requests

        given = RunOptions(**named, out=folder, subset=subset, confirm=confirm)
        limits = _left(options.part(Limits), tokens, paid)
        try:
            stopped = run.body(RunOptions.joined(given, limits, *groups)).stopped
        except StoppedError as error:
            used = (
                f" (the earlier rounds used {tokens:,} tokens and ${paid:,.2f}; the limit of a round is what is left)"
            )
            raise StoppedError(f"{folder}: {error}{used if tokens else ''}") from None
        if not stopped:
            state = status(folder)
            tokens, paid = tokens + state.tokens_in + state.tokens_out, paid + (state.cost or 0.0)
        return stopped

    settings = SearchSettings(options.threshold, options.within, options.budget, options.step, options.seed)
    return search_length(Path(options.suite), settings, Path(options.out), ask, options.told)


def _left(limits: Limits, tokens: int, paid: float) -> Limits:
    """What earlier rounds left of the limits, which hold for the search."""
    most, dollars = limits.max_tokens_total, limits.max_cost
    return limits.but(
        max_tokens_total=None if most is None else max(1, most - tokens),
        max_cost=None if dollars is None else max(0.0, dollars - paid),
    )


def main(line: SearchOptions) -> None:
    """Print a line after each round, and where the length lies."""
    from fathom.options.terminal import confirmed, print_json, tell
    from fathom.run.length_search import SPENT

    def show_round(state: "LengthFound") -> None:
        if not line.quiet:
            print(f"  {state}", file=sys.stderr)

    def confirm(plan: "Preflight") -> bool:
        if plan.requests and not line.quiet:
            print("At most, if every question were asked at the dearest length:", file=sys.stderr)
        return confirmed(plan, yes=line.yes, quiet=line.quiet)

    result = search_length.body(line.but(told=show_round, confirm=confirm))
    if line.as_json:
        return print_json(result)
    print(result)
    for asked in result.lengths:
        score = "no score" if asked.score is None else f"{100 * asked.score:.1f}"
        print(f"  {asked.length:>9,} tokens: {score} of {asked.questions} questions")
    if not result.reached:
        more = "a larger --budget goes on" if result.ended == SPENT else "a suite with more items says more"
        tell(f"the interval is not within {line.within:g}: {more}")
