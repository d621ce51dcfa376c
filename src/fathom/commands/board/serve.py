"""Serve a leaderboard that accepts, checks and moderates submitted bundles."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.board.shared import STORE, ModelsFile, Published, Store, Title, libraries
from fathom.commands.servers import Host, Monitored, Port, Proxies, Ready
from fathom.options.declare import Options, arg, command, given, hidden, opt, unset
from fathom.options.values import ManyPaths, Paths, paths_of

if TYPE_CHECKING:
    from fathom.board.serve.checking import Policy
    from fathom.board.serve.limits import Limits

MIB = 1 << 20
MOST_MIB = 64
"""No check takes a larger bundle."""


def _size(mib: float) -> str:
    return "" if 0 <= mib <= MOST_MIB else f"expected a number from 0 to {MOST_MIB}"


class Accepted(Options, kw_only=True):
    """Bundles."""

    suites: Annotated[
        Paths,
        opt(
            "A built suite whose bundles are accepted, scored anew with it; may be given several times.", flag="--suite"
        ),
    ] = given(())
    any_suite: Annotated[bool, opt("Accept bundles of other suites too; their references are unverified.")] = False
    without_logs: Annotated[bool, opt("Accept bundles without replies too; their scores are unverified.")] = False


class Limited(Options, kw_only=True):
    """Limits."""

    max_size: Annotated[float, opt("Maximum size of a bundle in MiB, at most 64.", metavar="MIB", check=_size)] = (
        MOST_MIB
    )
    per_hour: Annotated[int, opt("Bundles that one person may send in an hour.")] = 60
    waiting: Annotated[int, opt("Pending submissions that one person may have.")] = 100
    check_seconds: Annotated[float, opt("Time for the check of one bundle.", metavar="SECONDS")] = 600.0
    under_way: Annotated[
        int, opt("Bundles of one person that may be arriving, waiting for a check or being checked.")
    ] = 4
    connections: Annotated[int, opt("Connections at once.")] = 512
    per_address: Annotated[int, opt("Connections, and requests in progress, of one address; 0 for no limit.")] = 64


class ServeOptions(Accepted, Limited, Monitored):
    results: Annotated[ManyPaths, arg("Results that are always on the site, in addition to accepted submissions.")] = ()
    _: KW_ONLY
    store: Store = STORE
    out: Annotated[
        Path | str, opt("Folder of the sites; current in it is the one that is served.", "-o", metavar="FOLDER")
    ] = "board-site"
    policy: Annotated["Policy | None", hidden("What bundles must have, in place of the options of bundles.")] = None
    limits: Annotated["Limits | None", hidden("Limits, in place of the options of limits.")] = None
    models: ModelsFile = unset
    title: Title = None
    published: Published = True
    host: Host = "127.0.0.1"
    port: Port = 8000
    proxies: Proxies = given(())
    ready: Ready = None


@command(ServeOptions)
def board_serve(options: ServeOptions) -> None:
    """Serve a leaderboard that accepts, checks and moderates submitted bundles.

    POST /api/submissions takes a bundle; /moderate is the page of those who decide. Tokens: fathom board token.

    Needs the extra board of fathom-eval.
    """
    with libraries():
        import uvicorn  # noqa: F401 - what is missing is said before anything is made

        from fathom.board.serve import server
        from fathom.board.serve.checking import Policy
        from fathom.board.serve.limits import Limits
        from fathom.server.listening import Service
    limits = options.of(Limited)
    most = int(limits.pop("max_size") * MIB)
    server.serve(
        options.store,
        Path(options.out),
        server.Page(paths_of(options.results), options.models, options.title, options.published),
        policy=options.policy or Policy(**options.of(Accepted)),
        limits=options.limits or Limits(most, **limits),
        service=Service(
            options.host, options.port, proxies=options.proxies, **options.of(Monitored), ready=options.ready
        ),
    )


def main(line: ServeOptions) -> None:
    """Serve, and say where."""
    with libraries():
        from fathom.server.logs import announced
    from fathom.options.terminal import tell

    def ready(address: str) -> None:
        announced("fathom.board", line.log_format, tell)(
            f"the board is at {address}, its moderation page at {address}moderate"
        )

    board_serve.body(line.but(ready=ready))
