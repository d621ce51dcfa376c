"""A server process: a listening socket, and an application that is served on it until a signal."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from fathom.server.connections import protocol_of, room_for
from fathom.server.limits import ConnectionLimits
from fathom.server.logs import LogFormat
from fathom.types import FathomError

BACKLOG = 200
"""Backlog of the socket."""
GRACE_SECONDS = 20.0
"""After SIGTERM: for running checks of bundles, which are ended then."""
STOP_SECONDS = 30
"""After SIGTERM: for running requests, which are cancelled then. Service managers should wait somewhat longer."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where a server listens, and how it is watched.

    Attributes:
        host: Address to listen on.
        port: Port; 0 for a free one.
        proxies: Addresses of trusted reverse proxies.
        metrics: Address and port of the metrics; "" for none.
        ready: Called with the address when the server listens.
    """

    host: str
    port: int
    proxies: Collection[str] = ()
    metrics: str = ""
    log_format: LogFormat = "text"
    ready: Callable[[str], None] | None = None


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
) -> None:
    """Serves an application on a socket until a signal.

    Args:
        stopping: Set at Ctrl-C and at a second signal; at a first SIGTERM, after ``GRACE_SECONDS``.
        limits: Limits of connections: number and time.
        proxies: Addresses of reverse proxies.
    """

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if sig == signal.SIGINT or self.should_exit:
                stopping.set()  # running checks and builds end at once
            else:
                late.start()  # a service manager stops or restarts: running checks may end by themselves
            super().handle_exit(sig, frame)

    late = threading.Timer(GRACE_SECONDS, stopping.set)
    late.daemon = True
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
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    try:
        Server(config).run(sockets=[listener])
    finally:
        late.cancel()
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
        reason = getattr(error, "strerror", None) or error
        raise FathomError(f"{host} port {port}: cannot listen: {reason}; choose another with `port`") from error
    with listener:
        yield listener


def address_of(host: str, listener: socket.socket) -> str:
    """The URL of a socket for a browser."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
