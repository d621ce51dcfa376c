"""A server process: a listening socket, and an application that is served on it until a signal."""

import logging
import os
import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from fathom.server.connections import protocol_of, room_for
from fathom.server.limits import ConnectionLimits
from fathom.types import FathomError

BACKLOG = 200
"""Backlog of the socket."""


@contextmanager
def private_files() -> Iterator[None]:
    """Makes new files readable only by their owner within this context."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def serve_app(
    app: ASGIApp,
    listener: socket.socket,
    stopping: threading.Event,
    limits: ConnectionLimits,
    proxies: Collection[str] = (),
    *,
    logger: str,
) -> None:
    """Serves an application on a socket until a signal.

    Args:
        app: The application.
        listener: The listening socket.
        stopping: Set at the signal.
        limits: Limits of connections: number and time.
        proxies: Addresses of reverse proxies.
        logger: Name of the logger of the server.
    """

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            stopping.set()  # running checks and builds end at once
            super().handle_exit(sig, frame)

    _log(logger)
    room = room_for(limits.connections)
    config = uvicorn.Config(
        app,
        http=protocol_of(limits, proxies, room),
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


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket.

    Raises:
        FathomError: The address does not belong to this machine, or the port is taken.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        # Its connections inherit this. Without it, the body of a response waits 40 ms for the client's acknowledgement
        # of the headers; asyncio sets it only on sockets that were made with the number of the protocol.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or error
        raise FathomError(f"{host} port {port}: cannot listen: {said}; choose another with --port") from error
    with listener:
        yield listener


def address_of(host: str, listener: socket.socket) -> str:
    """The URL of a socket for a browser."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"


def _log(logger: str) -> None:
    """One line for each request and each failure, on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    for name, level in ((logger, logging.INFO), ("fathom.server", logging.INFO), ("uvicorn.error", logging.WARNING)):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(level)
