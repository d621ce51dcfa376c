"""Connections of the server: time limits, limits per address, and which connection is closed when a limit is reached.

uvicorn closes only connections that are idle between two requests. Here the headers of a request must arrive in time, a
client must read the response, an address has a limit, and when a limit is reached, the oldest connection without a
running request is closed. So nobody can occupy the server with idle connections. The time of bodies is limited by
``receiving``, which can send a response.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection

from uvicorn.protocols.http.h11_impl import H11Protocol

from fathom.server.limits import ConnectionLimits

log = logging.getLogger("fathom.server")
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 66\r\n"
    b"Retry-After: 10\r\nConnection: close\r\n\r\n"
    b'{"error": "too many connections are open here; come again later"}\n'
)
FILES = 256
"""Files that a server has open besides its connections: the store, pages being sent, checks."""


class Connections:
    """The open connections of a server, the oldest first.

    Args:
        limits: Maximum number, in all and per address.
        proxies: Addresses of reverse proxies, which have no limit of their own.
        room: Maximum number in all where the machine allows fewer; see ``room_for``.
    """

    def __init__(self, limits: ConnectionLimits, proxies: Collection[str] = (), room: int | None = None) -> None:
        self.limits = limits
        self._room = limits.connections if room is None else room
        self._proxies = frozenset(proxies)
        self._open: dict[Connection, str] = {}

    def admit(self, connection: Connection) -> bool:
        """Accepts a new connection, if necessary by closing another one; False if none can be closed."""
        address = connection.client[0] if connection.client else ""
        counts = Counter(self._open.values())
        limited = bool(self.limits.per_address) and address not in self._proxies
        crowd = ""
        if limited and counts[address] >= self.limits.per_address:
            crowd = address
        elif len(self._open) >= self._room:
            # Addresses with the most connections lose one first, so that they cannot displace others.
            waiting = Counter(place for other, place in self._open.items() if other.is_waiting)
            crowd = max(waiting, key=lambda source: counts[source], default=address)
        else:
            self._open[connection] = address
            return True
        loser = next((other for other, place in self._open.items() if place == crowd and other.is_waiting), None)
        if loser is None:
            return False
        self.forget(loser)
        loser.transport.abort()
        self._open[connection] = address
        return True

    def forget(self, connection: Connection) -> None:
        """Removes a closed connection."""
        self._open.pop(connection, None)


class Connection(H11Protocol):
    """One connection: uvicorn's, with time limits. ``protocol_of`` makes the class that a server uses."""

    ledger: Connections
    _slow: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None
    _refused = False

    @property
    def is_waiting(self) -> bool:
        """Whether no request is running: none has begun, or it is answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for a request."""
        super().connection_made(transport)
        if self.ledger.admit(self):
            self._expect_request()
            return
        self._refused = True
        log.warning("%s: too many connections", self.client[0] if self.client else "-")
        transport.write(_BUSY)
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cleans up."""
        self.ledger.forget(self)
        _cancel(self._slow)
        _cancel(self._stuck)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        """Handles data, which does not extend the time for incomplete headers or an unread body."""
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        if not self.is_waiting:
            _cancel(self._slow)
            self._slow = None
        elif self._slow is None:
            self._expect_request()

    def on_response_complete(self) -> None:
        """Called when the response is complete, possibly before all of it was sent."""
        super().on_response_complete()
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self.pause_writing()

    def pause_writing(self) -> None:
        """Called when the client reads more slowly than the server writes."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.ledger.limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Called when the client has read."""
        super().resume_writing()
        _cancel(self._stuck)
        self._stuck = None

    def timeout_keep_alive_handler(self) -> None:
        """Called when no further request came."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def _expect_request(self) -> None:
        self._slow = self.loop.call_later(self.ledger.limits.header_seconds, self.transport.abort)


def protocol_of(limits: ConnectionLimits, proxies: Collection[str] = (), room: int | None = None) -> type[Connection]:
    """The class of the connections of one server, for ``uvicorn.Config(http=...)``.

    Args:
        limits: Of time and number.
        proxies: Addresses of reverse proxies.
        room: Maximum number in all where the machine allows fewer.
    """
    return type("Connection", (Connection,), {"ledger": Connections(limits, proxies, room)})


def room_for(connections: int) -> int:
    """Raises the limit of open files as far as needed and allowed.

    Args:
        connections: Wanted number of connections.

    Returns:
        The number that is possible.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
        except (OSError, ValueError):  # some systems allow less than they report
            pass
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    room = max(soft - FILES, soft // 4, 1)
    log.warning("at most %d connections at once: the limit of open files is %d (ulimit -n)", room, soft)
    return room


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
