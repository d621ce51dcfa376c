"""A log line, metrics and an id for each request, and headers for each response. Tokens and bodies are never logged."""

import logging
import re
import secrets
import time
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.printing import printable
from fathom.server.answers import HEADERS, AnswerError
from fathom.server.limits import Shares
from fathom.server.logs import REQUEST
from fathom.server.metrics import Metrics

log = logging.getLogger("fathom.server.requests")
_PATH = 300
ID = "X-Request-ID"
"""Header with the id of a request, in requests of a reverse proxy and in responses."""
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class Logged:
    """An ASGI application that adds headers, logs requests, and limits each address.

    Args:
        per_address: Maximum number of running requests of one address; 0 for no limit. Behind a reverse proxy, whose
            connections are those of all clients, this is the only limit for each.
        headers: Headers of every response that has none of that name.
        metrics: Where requests are counted.
        proxied: Whether there is a reverse proxy, whose ids of requests are used.
    """

    def __init__(
        self,
        app: ASGIApp,
        per_address: int = 0,
        headers: Mapping[str, str] = HEADERS,
        *,
        metrics: Metrics | None = None,
        proxied: bool = False,
    ) -> None:
        self.app = app
        self.headers = dict(headers)
        self.shares = Shares(per_address)
        self.metrics, self.proxied = metrics, proxied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, id = time.monotonic(), 0, self._id(scope)

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[ID] = id
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        client = printable(scope["client"][0]) if scope.get("client") else "-"  # a proxy may send anything
        token = REQUEST.set(id)
        if self.metrics:
            self.metrics.running.inc()
        try:
            with self.shares.hold(client) as admitted:
                app = _refuse if _is_ambiguous(scope) else self.app if admitted else _too_many
                await app(scope, receive, sent)
        finally:
            self._note(scope, client, status, time.monotonic() - began)
            REQUEST.reset(token)

    def _id(self, scope: Scope) -> str:
        """The id that a reverse proxy gave to a request, or a new one."""
        name = ID.lower().encode()
        sent = [value.decode("latin-1") for key, value in scope["headers"] if key == name] if self.proxied else []
        return sent[0] if len(sent) == 1 and _ID.fullmatch(sent[0]) else secrets.token_hex(16)

    def _note(self, scope: Scope, client: str, status: int, seconds: float) -> None:
        """Counts and logs a request; status 0: the client disconnected before the response."""
        route = str(getattr(scope.get("route"), "path", ""))
        if self.metrics:
            self.metrics.running.dec()
            self.metrics.count(scope["method"], route, status, seconds)
        fields = {
            "client": client,
            "user": scope.get("state", {}).get("holder", "-"),
            "method": scope["method"],
            "path": printable(scope["path"][:_PATH]),
            "status": status,
        }
        more = {"route": route, "seconds": round(seconds, 6)}
        log.info("%s %s %s %s %d %.3fs", *fields.values(), seconds, extra={"fields": fields | more})


def _is_ambiguous(scope: Scope) -> bool:
    """Whether a request states its length in two ways: a reverse proxy may have used the other one."""
    return {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in scope["headers"]}


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    words = "too many requests from this address are running; wait until one is done"
    await AnswerError(429, words, headers={"Retry-After": "10"}).response()(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    words = "the request states its length in two ways; send Content-Length or Transfer-Encoding, not both"
    await AnswerError(400, words, headers={"Connection": "close"}).response()(scope, receive, send)
