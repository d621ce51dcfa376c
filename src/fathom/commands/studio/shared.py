"""What the commands of the studio share."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fathom.commands.servers import libraries_of, store_option
from fathom.options.declare import opt
from fathom.options.values import MaybePath
from fathom.types import FathomError

if TYPE_CHECKING:
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
