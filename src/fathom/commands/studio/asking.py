"""Options of the studio's commands that ask models."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fathom.commands.shared import BaseUrl, Retries, Timeout
from fathom.options.declare import Options, Read, at_least, given, hidden, line_only, opt
from fathom.options.values import MaybePath, names_of, temperature_of
from fathom.types import choices

if TYPE_CHECKING:
    from fathom.studio.asking import Asking, AskPlan

NAME = "PROVIDER/NAME as in Inspect, or an offline baseline such as fathom/lexical"
TasksFolder: TypeAlias = Annotated[
    MaybePath,
    opt(
        "Folder with own tasks and changed guidelines; by default the folder tasks in that of the store.",
        metavar="FOLDER",
    ),
]
States: TypeAlias = Annotated[
    Read[Sequence[str] | str, tuple[str, ...]],
    opt("Samples in these states.", metavar="STATE,...", read=names_of),
]
Confirm: TypeAlias = Annotated[
    Callable[["AskPlan"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
]
Progress: TypeAlias = Annotated[Callable[[int, int], None] | None, hidden("Called with (done, all).")]


class Models(Options, kw_only=True):
    """Models."""

    base_url: Annotated[BaseUrl, opt(flag="--model-base-url")] = None
    temperature: Annotated[
        Read[float | str | None, float | None],
        opt("Sampling temperature; negative leaves it to the provider.", metavar="NUMBER", read=temperature_of),
    ] = given(-1.0)
    max_output_tokens: Annotated[
        int | None, opt("Cap on every reply, with reasoning.", metavar="TOKENS", check=at_least(1))
    ] = None
    max_connections: Annotated[int, opt("Requests in flight at once.", check=at_least(1))] = 4
    max_cost: Annotated[float | None, opt("Stop at this cost in US dollars.", metavar="DOLLARS", check=at_least(0))] = (
        None
    )
    retries: Retries = choices.RETRIES
    timeout: Timeout = choices.TIMEOUT
    seed: Annotated[int, opt("Seed of offline baselines and of the choice of documents.", check=at_least(0))] = 0
    confirm: Confirm = None
    progress: Progress = None


class Start(Options, kw_only=True):
    """Other."""

    yes: Annotated[bool, opt("Start without asking.", "-y")] = line_only(False)
    quiet: Annotated[bool, opt("No progress bar.", "-q")] = line_only(False)


def asking_of(model: str, options: Models) -> "Asking":
    """How a model is asked."""
    from fathom.studio.asking import Asking

    return Asking(
        model=model,
        base_url=options.base_url,
        temperature=options.temperature,
        max_output_tokens=options.max_output_tokens,
        max_connections=options.max_connections,
        max_cost=options.max_cost,
        seed=options.seed,
        retries=options.retries,
        timeout=options.timeout,
    )
