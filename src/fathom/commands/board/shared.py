"""What the commands of the leaderboard share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeAlias

from fathom.options.declare import opt
from fathom.types import FathomError

Title: TypeAlias = Annotated[str | None, opt("Title of the site.")]
Published: TypeAlias = Annotated[
    bool, opt("Leave out the published results that come with fathom.", flag="--no-published")
]
Store: TypeAlias = Annotated[
    str,
    opt(
        "A folder (SQLite), or the URL of a PostgreSQL database: postgresql+psycopg://USER@HOST:5432/NAME. Set "
        "FATHOM_BOARD_STORE instead if it holds a password, which must not be on the command line.",
        metavar="STORE",
        env="FATHOM_BOARD_STORE",
    ),
]
STORE = "board-store"


@contextmanager
def libraries() -> Iterator[None]:
    """Say what to install where a library of the server is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "fathom":
            raise
        raise FathomError(f"the server needs {error.name}: pip install 'fathom-eval[board]'") from error
