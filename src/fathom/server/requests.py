"""A log line for each request, and headers for each response. Tokens and bodies are never logged."""

import logging
import time
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.printing import printable
from fathom.server.answers import HEADERS, AnswerError
from fathom.server.limits import Shares

log = logging.getLogger("fathom.server.requests")
_PATH = 300


class Logged:
    """An ASGI application that adds headers, logs requests, and limits each address.

    Args:
        app: The application.
        per_address: Maximum number of running requests of one address; 0 for no limit. Behind a reverse proxy, whose
            connections are those of all clients, this is the only limit for each.
        headers: Headers of every response that has none of that name.
    """

    def __init__(self, app: ASGIApp, per_address: int = 0, headers: Mapping[str, str] = HEADERS) -> None:
        self.app = app
        self.headers = dict(headers)
        self.shares = Shares(per_address)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        client = printable(scope["client"][0]) if scope.get("client") else "-"  # a proxy may send anything
        try:
            with self.shares.hold(client) as there:
                app = _refuse if _is_ambiguous(scope) else self.app if there else _too_many
                await app(scope, receive, sent)
        finally:
            who = scope.get("state", {}).get("holder", "-")
            path = printable(scope["path"][:_PATH])
            seconds = time.monotonic() - began
            # 0: the client disconnected before the response.
            log.info("%s %s %s %s %d %.3fs", client, who, scope["method"], path, status, seconds)


def _is_ambiguous(scope: Scope) -> bool:
    """Whether a request states its length in two ways: a reverse proxy may have used the other one."""
    return {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in scope["headers"]}


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    words = "too many requests from this address are running; wait until one is done"
    await AnswerError(429, words, headers={"Retry-After": "10"}).response()(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    words = "the request states its length in two ways; send Content-Length or Transfer-Encoding, not both"
    await AnswerError(400, words, headers={"Connection": "close"}).response()(scope, receive, send)
