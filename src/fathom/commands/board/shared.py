"""What the commands of the leaderboard share."""

from functools import partial
from typing import Annotated, TypeAlias

from fathom.commands.servers import store_option
from fathom.options.declare import opt
from fathom.options.values import MaybePath
from fathom.plugins.extras import libraries_of

Title: TypeAlias = Annotated[str | None, opt("Title of the site.")]
Published: TypeAlias = Annotated[
    bool, opt("Leave out the published results that come with fathom.", flag="--no-published")
]
ModelsFile: TypeAlias = Annotated[
    MaybePath,
    opt(
        "A TOML file of facts about models: weights, parameters. They replace those that entries state.", metavar="FILE"
    ),
]
Store: TypeAlias = Annotated[str, store_option("FATHOM_BOARD_STORE")]
STORE = "board-store"
libraries = partial(libraries_of, "the server", "board")
