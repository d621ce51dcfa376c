"""What the commands of the studio share: the store, and options of those that ask models."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fathom.commands.servers import store_option
from fathom.models.settings import AskSettings
from fathom.options.declare import Read, hidden, opt
from fathom.options.values import MaybePath, names_of
from fathom.plugins.extras import libraries_of
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.studio.asking import Asking, AskPlan
    from fathom.studio.store import Store as StudioStore

Store: TypeAlias = Annotated[str, store_option("FATHOM_STUDIO_STORE")]
STORE = "studio-store"
DesignFile: TypeAlias = Annotated[
    MaybePath, opt("TOML file with the design; by default design.toml in the folder of the store.", metavar="FILE")
]
libraries = partial(libraries_of, "the studio", "studio")


@contextmanager
def opened(place: str) -> "Iterator[StudioStore]":
    """An existing store, which is closed at the end.

    Raises:
        FathomError: There is none, or it cannot be opened.
    """
    with libraries():
        import argon2  # noqa: F401 - what is missing is said at once

        from fathom.studio.schema import STUDIO
        from fathom.studio.store import Store as StudioStore
    if "://" not in place and not (Path(place) / STUDIO.file).is_file():
        raise FathomError(
            f"`store` {place}: there is no studio ({STUDIO.file} is missing); make one: fathom studio init"
        )
    with closing(StudioStore(place)) as store:
        yield store


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


def asking_of(model: str, options: Models) -> "Asking":
    """How a model is asked."""
    from fathom.studio.asking import Asking

    return Asking(model, options.part(AskSettings))
