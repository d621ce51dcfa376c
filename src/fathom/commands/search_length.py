"""Search the effective length of a model: ask where it tells most."""

import sys
from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking, Confirm, Json, OnReply, Recorded
from fathom.models.settings import Backoff, Limits, Reasoning, Sampling, Served
from fathom.options.declare import arg, at_least, command, hidden, opt

if TYPE_CHECKING:
    from fathom.run import Preflight
    from fathom.run.length_search import LengthFound


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
    budget: Annotated[int, opt("Most questions to ask.", metavar="QUESTIONS", check=at_least(1))] = 400
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
    from fathom.run.length_search import SearchSettings, search_length

    groups = [options.part(group) for group in (Sampling, Served, Reasoning, Limits, Recorded)]
    named = {name: getattr(options, name) for name in ("suite", "model", "backoff", "confirm", "progress")}

    def ask(subset: Path, folder: Path) -> str:
        given = RunOptions(**named, out=folder, subset=subset)
        return run.body(RunOptions.joined(given, *groups)).stopped

    settings = SearchSettings(options.threshold, options.within, options.budget, options.step, options.seed)
    return search_length(Path(options.suite), settings, Path(options.out), ask, options.told)


def main(line: SearchOptions) -> None:
    """Print a line after each round, and where the length lies."""
    from fathom.options.terminal import confirmed, print_json, tell

    def show_round(state: "LengthFound") -> None:
        if not line.quiet:
            print(f"  {state}", file=sys.stderr)

    plans_shown: list[Preflight] = []

    def confirm(plan: "Preflight") -> bool:
        """What is ahead is shown, and asked about, for the first round that asks anything."""
        known = bool(plans_shown)
        plans_shown.extend([plan] if plan.requests else [])
        return confirmed(plan, yes=line.yes or known, quiet=line.quiet or known)

    result = search_length.body(line.but(told=show_round, confirm=confirm))
    if line.as_json:
        return print_json(result)
    print(result)
    for asked in result.lengths:
        score = "no score" if asked.score is None else f"{100 * asked.score:.1f}"
        print(f"  {asked.length:>9,} tokens: {score} of {asked.questions} questions")
    if not result.reached:
        tell(f"the interval is not within {line.within:g}: a suite with more items, or a larger --budget, goes on")
