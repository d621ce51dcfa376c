"""Options of the studio's commands that ask models."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fathom.models.settings import AskSettings
from fathom.options.declare import Options, Read, hidden, line_only, opt
from fathom.options.values import MaybePath, names_of

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


class Models(AskSettings, kw_only=True):
    """Models."""

    confirm: Confirm = None
    progress: Progress = None


class Start(Options, kw_only=True):
    """Other."""

    yes: Annotated[bool, opt("Start without asking.", "-y")] = line_only(False)
    quiet: Annotated[bool, opt("No progress bar.", "-q")] = line_only(False)


def asking_of(model: str, options: Models) -> "Asking":
    """How a model is asked."""
    from fathom.studio.asking import Asking

    return Asking(model, options.part(AskSettings))
