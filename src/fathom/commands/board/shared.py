"""What the commands of the leaderboard share."""

from functools import partial
from typing import Annotated, TypeAlias

from fathom.commands.servers import libraries_of, store_option
from fathom.options.declare import opt

Title: TypeAlias = Annotated[str | None, opt("Title of the site.")]
Published: TypeAlias = Annotated[
    bool, opt("Leave out the published results that come with fathom.", flag="--no-published")
]
Store: TypeAlias = Annotated[str, store_option("FATHOM_BOARD_STORE")]
STORE = "board-store"
libraries = partial(libraries_of, "the server", "board")
