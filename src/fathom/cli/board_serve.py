"""Commands ``fathom board serve``, ``token``, ``backup`` and ``restore``: a server that takes in bundles."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom import api
from fathom.cli.arguments import AsJson
from fathom.commands.terminal import print_records, tell
from fathom.types import FathomError

StoreOf = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="FATHOM_BOARD_STORE",
        show_envvar=False,
        help="A folder (SQLite), or the URL of a PostgreSQL database: postgresql+psycopg://USER@HOST:5432/NAME. "
        "FATHOM_BOARD_STORE says it too, where a password in it must not stand on the command line.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the group ``board``."""
    app.command()(serve)
    app.command()(token)
    app.command()(backup)
    app.command()(restore)


def serve(
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="Runs, rows files and bundles that stand on the site beside what is accepted."),
    ] = None,
    store: StoreOf = "board-store",
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the sites; current in it is the one that is served.")
    ] = Path("board-site"),
    suite: Annotated[
        list[Path] | None,
        typer.Option(help="A built suite whose bundles are taken in, scored anew with it; may be given several times."),
    ] = None,
    any_suite: Annotated[
        bool, typer.Option("--any-suite", help="Take in bundles of other suites too; their references are unverified.")
    ] = False,
    without_logs: Annotated[
        bool, typer.Option("--without-logs", help="Take in bundles without replies too; their scores are unverified.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="Title of the site.")] = None,
    no_published: Annotated[
        bool, typer.Option("--no-published", help="Without the papers' results that come with fathom.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for one that is free.")] = 8000,
    max_size: Annotated[
        float, typer.Option(min=0, max=64, help="Greatest size of a bundle, in MiB; no check takes more than 64.")
    ] = 64,
    per_hour: Annotated[int, typer.Option(help="Bundles that one person may send in an hour.")] = 60,
    waiting: Annotated[int, typer.Option(help="Undecided submissions that one person may have.")] = 100,
    check_seconds: Annotated[float, typer.Option(help="Time for the check of one bundle.")] = 600,
    under_way: Annotated[
        int, typer.Option(help="Bundles of one person that may be coming, waiting for a check or in it.")
    ] = 4,
    connections: Annotated[int, typer.Option(help="Connections at once.")] = 512,
    per_address: Annotated[
        int, typer.Option(help="Connections, and requests under way, of one address; 0 for no limit.")
    ] = 64,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Address of a web server in front, whose X-Forwarded-For is believed; may be given several times."
        ),
    ] = None,
) -> None:
    """Serve a leaderboard, and take in bundles that people with tokens send: checked, decided on, published.

    POST /api/submissions takes a bundle; /moderate is the page of those who decide. Tokens: fathom board token.

    Needs the extra board of fathom-eval.
    """
    from fathom.board.serve.checking import Policy
    from fathom.board.serve.limits import Limits

    api.board_serve(
        results or (),
        store=store,
        out=out,
        policy=Policy(tuple(suite or ()), any_suite, without_logs),
        limits=Limits(
            int(max_size * (1 << 20)),
            check_seconds=check_seconds,
            per_hour=per_hour,
            waiting=waiting,
            under_way=under_way,
            connections=connections,
            per_address=per_address,
        ),
        title=title,
        published=not no_published,
        host=host,
        port=port,
        proxies=tuple(proxy or ()),
        ready=lambda address: tell(f"the board is at {address}, its moderation page at {address}moderate"),
    )


def token(
    what: Annotated[
        str, typer.Argument(help="list, add, rotate (another token in place of the present one) or revoke; or a NAME.")
    ],
    name: Annotated[str | None, typer.Argument(help="Whose token; it stands with what they submit.")] = None,
    role: Annotated[str, typer.Option(help="submit, or moderate, which includes it.")] = "submit",
    days: Annotated[float, typer.Option(help="How long a new token is valid.")] = 365,
    store: StoreOf = "board-store",
    revoke: Annotated[bool, typer.Option("--revoke", help="With NAME alone: the same as revoke NAME.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make, replace, list and end the tokens of those who may submit bundles or decide on them.

    A token is shown once and kept nowhere. `fathom board token NAME` is `fathom board token add NAME`.

    Needs the extra board of fathom-eval.
    """
    action, who = (what, name) if what in _ACTIONS else ("revoke" if revoke else "add", what)
    if what == "list" and name is None:
        _print_tokens(store, as_json)
        return
    if who is None or what == "list" or (what not in _ACTIONS and name is not None):
        raise FathomError(
            f"board token {' '.join(filter(None, (what, name)))}: expected list, or add, rotate or revoke NAME"
        )
    made = api.board_token(who, store, role=role, days=days, revoke=action == "revoke", rotate=action == "rotate")
    if action == "revoke":
        print(f"the token of {who} is not valid any more")
    else:
        print(made)
        print(f"valid for {days:g} days; keep it: the store holds its hash only", file=sys.stderr)


_ACTIONS = ("list", "add", "rotate", "revoke")


def _print_tokens(store: str, as_json: bool) -> None:
    found = api.board_tokens(store)
    records = [
        {
            "name": one.name,
            "role": one.role,
            "made": one.made,
            "expires": one.expires,
            "used": one.used or "never",
            "valid": not one.expired,
        }
        for one in found
    ]
    print_records(records, as_json=as_json)


def backup(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file; its SHA-256 is written beside it.")],
    store: StoreOf = "board-store",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write all submissions, decisions and tokens into one file, also while servers use the store.

    Copying the file of a SQLite store is no backup: what came last is in another one. PostgreSQL needs its pg_dump.

    Needs the extra board of fathom-eval.
    """
    held = api.board_backup(store, out, force=force)
    print(f"{out}: {held.submissions:,} submissions, {held.size:,} bytes, whole")


def restore(
    backup: Annotated[Path, typer.Argument(help="A file that fathom board backup wrote.")],
    store: StoreOf = "board-store",
    force: Annotated[
        bool, typer.Option("--force", help="Replace a store that is there; the files of a folder are kept beside it.")
    ] = False,
) -> None:
    """Make a store from a backup, which is checked first. No server may use the store meanwhile.

    PostgreSQL needs its pg_restore.

    Needs the extra board of fathom-eval.
    """
    held = api.board_restore(backup, store, force=force)
    print(f"{held.submissions:,} submissions are restored from {backup}")
