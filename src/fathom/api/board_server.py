"""The server of the leaderboard, its tokens and its backups: ``board serve``, ``token``, ``backup`` and ``restore``."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.board.serve.checking import Policy
from fathom.board.serve.limits import Limits
from fathom.types import FathomError

if TYPE_CHECKING:
    from types import FrameType

    from starlette.types import ASGIApp

    from fathom.board.serve.backup import Held
    from fathom.board.serve.publishing import Build
    from fathom.board.serve.tokens import Token

BUILD_SECONDS = 3600.0
"""Time for one building of the site."""
_EMPTY = "<!doctype html><meta charset=utf-8><title>No results yet</title><p>There are no results here yet.</p>\n"
PUBLIC = 0o022
"""What nobody but the owner may do with the files of a site: write them."""
BACKLOG = 200
"""Connections that wait to be taken in."""
TOKEN_DAYS = 365.0


def board_serve(
    results: Sequence[Path | str] = (),
    *,
    store: str = "board-store",
    out: Path | str = "board-site",
    policy: Policy = Policy(),  # noqa: B008 - a frozen value
    limits: Limits = Limits(),  # noqa: B008
    title: str | None = None,
    published: bool = True,
    host: str = "127.0.0.1",
    port: int = 8000,
    proxies: Collection[str] = (),
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a leaderboard and take in bundles, until interrupted (command ``fathom board serve``).

    Args:
        results: Runs, rows files and bundles that stand on the site beside what is accepted.
        store: A folder (SQLite) or the URL of a PostgreSQL database.
        out: Folder of the sites; ``current`` in it is the one that is served.
        policy: What bundles must have.
        limits: What one person may ask.
        title: Title of the site.
        published: Whether the published results of the papers are on it.
        host: Address to listen on.
        port: Port; 0 for one that is free.
        proxies: Addresses of web servers in front: what they say of whom they speak for is believed.
        ready: Told the address once it listens.

    Raises:
        FathomError: A library is missing, no suite is named, the store or a folder cannot be opened, or the port is
            taken.
    """
    with _libraries():
        import uvicorn  # noqa: F401 - what is missing is said before anything is made

        from fathom.board.serve.app import make_app
        from fathom.board.serve.backup import serving
        from fathom.board.serve.checking import check_of
        from fathom.board.serve.own import OwnResults
        from fathom.board.serve.publishing import Publisher
        from fathom.board.serve.store import Store
    _check(policy)
    policy = replace(policy, names=(*policy.names, *_models(results)))
    stopping = threading.Event()
    with private_files(), listening(host, port) as listener, closing(Store(store)) as opened, serving(store):
        options = [f"--title={title}"] * (title is not None) + ["--no-published"] * (not published)
        options += [f"--suite={folder.resolve()}" for folder in policy.suites]
        own = [Path(one).resolve() for one in results]
        build = _build_of(own, options, stopping)
        publisher = Publisher(opened, Path(out).resolve(), build, stopping)
        app = make_app(opened, publisher, check_of(policy, limits, stopping, OwnResults(own, stopping)), limits)
        if ready:
            ready(address_of(host, listener))
        serve_app(app, listener, stopping, limits, proxies)


def board_token(
    name: str,
    store: str,
    *,
    role: str = "submit",
    days: float = TOKEN_DAYS,
    revoke: bool = False,
    rotate: bool = False,
) -> str:
    """Make a token for somebody, replace it or revoke it (command ``fathom board token``).

    Args:
        name: Whose.
        store: A folder (SQLite) or the URL of a PostgreSQL database.
        role: ``submit`` or ``moderate``, for a new one.
        days: How long it is valid.
        revoke: Make the token of this name invalid instead.
        rotate: Make another token in place of the one of this name, which ends at once.

    Returns:
        The token, which is kept nowhere else; "" where one was revoked.

    Raises:
        FathomError: A library is missing, the store cannot be opened, or see ``fathom.board.serve.tokens``.
    """
    with _libraries():
        from fathom.board.serve import tokens
        from fathom.board.serve.store import Store
    with closing(Store(store)) as opened:
        if revoke:
            tokens.revoke(opened, name)
            return ""
        if rotate:
            return tokens.rotate(opened, name, days)
        return tokens.make_token(opened, name, role, days)


def board_tokens(store: str) -> list[Token]:
    """The tokens of a store: whose, until when, and when they were used last (command ``fathom board token list``).

    Args:
        store: A folder (SQLite) or the URL of a PostgreSQL database.

    Raises:
        FathomError: A library is missing, or the store cannot be opened.
    """
    with _libraries():
        from fathom.board.serve import tokens
        from fathom.board.serve.store import Store
    with closing(Store(store)) as opened:
        return tokens.listed(opened)


def board_backup(store: str, out: Path | str, *, force: bool = False) -> Held:
    """Write a store into one file, also while servers use it (command ``fathom board backup``).

    Args:
        store: A folder (SQLite) or the URL of a PostgreSQL database.
        out: The file.
        force: Replace a file that is there.

    Raises:
        FathomError: A library or a program is missing, or see ``fathom.board.serve.backup``.
    """
    with _libraries():
        from fathom.board.serve.backup import backup
    return backup(store, Path(out), force=force)


def board_restore(backup: Path | str, store: str, *, force: bool = False) -> Held:
    """Make a store from a backup (command ``fathom board restore``).

    Args:
        backup: A file of ``board_backup``.
        store: A folder (SQLite) or the URL of a PostgreSQL database.
        force: Replace a store that is there.

    Raises:
        FathomError: A library or a program is missing, or see ``fathom.board.serve.backup``.
    """
    with _libraries():
        from fathom.board.serve.backup import restore
    return restore(Path(backup), store, force=force)


@contextmanager
def private_files() -> Iterator[None]:
    """Make files that nobody but their owner can read, for as long as this is entered."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _models(results: Sequence[Path | str]) -> Iterator[str]:
    """Models of the runs among results."""
    from fathom.run.manifest import FILE, read_manifest

    for path in map(Path, results):
        for run in (path, *(sorted(path.iterdir()) if path.is_dir() else ())):
            if (run / FILE).is_file():
                yield str(read_manifest(run)["model"])


def _check(policy: Policy) -> None:
    """Say now what would else be said to whoever sends the first bundle."""
    from fathom.suitefile import read_manifest

    if not policy.suites and not policy.any_suite:
        raise FathomError(
            "name the suites whose bundles are taken in, each with --suite FOLDER, so that scores can be computed "
            "anew; --any-suite takes in all, and leaves their references unverified"
        )
    for folder in policy.suites:
        read_manifest(folder)


def serve_app(
    app: ASGIApp,
    listener: socket.socket,
    stopping: threading.Event,
    limits: Limits = Limits(),  # noqa: B008 - a frozen value
    proxies: Collection[str] = (),
) -> None:
    """Serve an application on a socket until a signal comes.

    Args:
        app: The application.
        listener: The socket, which listens.
        stopping: Is set when the signal comes.
        limits: Of connections: how many, and how slow.
        proxies: Addresses of web servers in front.
    """
    import uvicorn

    from fathom.board.serve.connections import protocol_of, room_for

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            stopping.set()  # checks and builds under way end at once
            super().handle_exit(sig, frame)

    _log()
    limits = replace(limits, connections=room_for(limits.connections))
    config = uvicorn.Config(
        app,
        http=protocol_of(limits, proxies),
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        access_log=False,
        log_config=None,
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=30,
    )
    try:
        Server(config).run(sockets=[listener])
    finally:
        stopping.set()


def _build_of(results: Sequence[Path], options: Sequence[str], stopping: threading.Event) -> Build:
    """``board build`` in a process of its own: it takes much memory, and gives it back."""

    def build(bundles: Sequence[Path], out: Path) -> None:
        from fathom.board.serve.process import ended

        if "--no-published" in options and not [*results, *bundles]:  # a new board; or its last line was taken off
            out.mkdir(parents=True)
            (out / "index.html").write_text(_EMPTY, "utf-8")
            out.chmod(0o777 & ~PUBLIC)
            (out / "index.html").chmod(0o666 & ~PUBLIC)
            return
        command = [sys.executable, "-c", "from fathom.cli import main; main()", "board", "build", "--quiet", *options]
        end = ended([*command, f"--out={out}", *map(str, [*results, *bundles])], BUILD_SECONDS, stopping, PUBLIC)
        if end.code is None:
            raise FathomError(f"board build took more than {BUILD_SECONDS:g} seconds")
        if end.code:
            said = end.err.strip().removeprefix("fathom: ")
            raise FathomError(said[-2000:] or f"board build ended with status {end.code}")

    return build


@contextmanager
def _libraries() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "fathom":
            raise
        raise FathomError(f"the server needs {error.name}: pip install 'fathom-eval[board]'") from error


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens.

    Raises:
        FathomError: The address is none of this machine, or the port is taken.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or error
        raise FathomError(f"{host} port {port}: cannot listen: {said}; name another with --port") from error
    with listener:
        yield listener


def address_of(host: str, listener: socket.socket) -> str:
    """Where a socket can be reached with a browser."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"


def _log() -> None:
    """One line for each request and each failure, on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    for name, level in (("fathom.board", logging.INFO), ("uvicorn.error", logging.WARNING)):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(level)
