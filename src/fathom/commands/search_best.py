"""Find the best of several models: ask all of them the same items, and drop those that are beaten."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.lab.shared import several
from fathom.commands.shared import Asking, Confirm, Json, OnReply, Recorded
from fathom.models.settings import Backoff, Limits, Reasoning, Sampling, Served
from fathom.options.declare import Read, arg, at_least, command, hidden, opt, unset
from fathom.options.values import texts_of
from fathom.types import FathomError
from fathom.types.choices import ALPHA

if TYPE_CHECKING:
    from fathom.run.best_search import BestFound


def _share(value: float) -> str:
    return "" if 0 < value < 1 else "expected a number between 0 and 1, without both"


class SearchBestOptions(Sampling, Served, Reasoning, Limits, Recorded, Asking, Json):
    suite: Annotated[Path | str, arg("A suite folder.")]
    model: Annotated[
        Read[Sequence[str] | str, tuple[str, ...]],
        opt(
            "A model, for instance openai/gpt-5 or vllm/NAME. Given twice or more often.",
            "-m",
            metavar="PROVIDER/NAME",
            many=True,
            read=several,
        ),
    ]
    out: Annotated[Path | str, opt("Folder for the runs, one for each model.", "-o", metavar="FOLDER")]
    _: KW_ONLY
    alpha: Annotated[float, opt("Probability with which the best model may ever be dropped.", check=_share)] = ALPHA
    per_round: Annotated[int, opt("Items of a round.", metavar="ITEMS", check=at_least(1))] = 20
    budget: Annotated[
        int | None, opt("Most items; default: those of the suite.", metavar="ITEMS", check=at_least(1))
    ] = None
    server: Annotated[
        Mapping[str, str] | None,
        opt(
            "Address of the server of one of the models, if --model-base-url is not. May be given more than once.",
            metavar="MODEL=URL",
            many=True,
            read=texts_of,
        ),
    ] = unset
    seed: Annotated[int, opt("Seed of the models.", check=at_least(0))] = 0
    backoff: Backoff = 1.0
    told: Annotated[  # banned-name: as the option of the same purpose of `compress adaptive`
        Callable[["BestFound"], None] | None, hidden("Called with the state after every round.")
    ] = None
    confirm: Confirm = None
    progress: OnReply = None


@command(SearchBestOptions)
def search_best(options: SearchBestOptions) -> "BestFound":
    """Find the best of several models with few requests: those that are shown to be beaten are asked no more.

    All models are asked the same items in rounds, in a random order. The error holds for all rounds together, and the
    ranges of ranks for all models. The run of a model is that of the whole suite, unfinished; limits hold for each. If
    interrupted, the same command resumes.
    """
    from fathom.run.best_search import RoundSettings, find_best
    from fathom.run.runner import Callbacks
    from fathom.runfile.settings import RunSettings, SystemSettings

    if twice := [name for place, name in enumerate(options.model) if name in options.model[:place]]:
        raise FathomError(f"model {twice[0]}: given twice; name each model once")
    servers = options.server or {}
    if unknown := sorted(set(servers) - set(options.model)):
        raise FathomError(f"server {unknown[0]}: expected one of the models, {', '.join(options.model)}")
    groups = [options.part(group) for group in (Sampling, Served, Reasoning, Limits)]
    how = RunSettings.joined(SystemSettings(backoff=options.backoff), *groups)
    models = {name: how.but(model_base_url=servers.get(name, how.model_base_url)) for name in options.model}
    return find_best(
        Path(options.suite),
        models,
        RoundSettings(options.alpha, options.per_round, options.budget),
        Path(options.out),
        command=options.record(),
        callbacks=Callbacks(options.confirm, options.progress),
        report=options.told,
    )


def main(line: SearchBestOptions) -> None:
    """Print a line after each round, and the ranks."""
    from fathom.options.terminal import confirmed, print_json, tell
    from fathom.report.studies import tables_of
    from fathom.report.terminal import show

    def show_round(state: "BestFound") -> None:
        if not line.quiet:
            print(f"  {state}", file=sys.stderr)

    result = search_best.body(
        line.but(told=show_round, confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet))
    )
    if line.as_json:
        return print_json(result)
    show(tables_of(result.models))
    print(result)
    print(
        f"a best model is ever dropped, and any rank ever wrong, with a probability of at most {line.alpha:g} each; "
        "the 95% interval of a difference holds at any look, for this difference alone"
    )
    if not result.reached and any(own.may_be_best for own in result.models):
        tell("more items, or a larger --budget, may leave one model")
