"""One line in the log for each request, and the headers of each answer. Tokens and bodies are never logged."""

import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathom.board.serve.answers import HEADERS, AnswerError
from fathom.board.serve.limits import Shares
from fathom.printing import printable

log = logging.getLogger("fathom.board.requests")
_PATH = 300


class Logged:
    """An ASGI application with headers on its answers, a log of its requests, and a limit for each address.

    Args:
        app: The application.
        per_address: Requests of one address that may be under way at once; 0 for no limit. Behind a web server, its
            connections are those of all, and this is what limits each.
    """

    def __init__(self, app: ASGIApp, per_address: int = 0) -> None:
        self.app = app
        self.shares = Shares(per_address)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        client = printable(scope["client"][0]) if scope.get("client") else "-"  # a proxy may say what it likes
        try:
            with self.shares.hold(client) as there:
                app = _refuse if _is_ambiguous(scope) else self.app if there else _too_many
                await app(scope, receive, sent)
        finally:
            who = scope.get("state", {}).get("holder", "-")
            path = printable(scope["path"][:_PATH])
            seconds = time.monotonic() - began
            # 0: the client went away before there was an answer.
            log.info("%s %s %s %s %d %.3fs", client, who, scope["method"], path, status, seconds)


def _is_ambiguous(scope: Scope) -> bool:
    """Whether a request says its length in two ways: a web server in front may have read the other one."""
    return {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in scope["headers"]}


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    words = "too many requests of this address are under way; wait until one is done"
    await AnswerError(429, words, headers={"Retry-After": "10"}).response()(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    words = "the request says its length in two ways; send Content-Length or Transfer-Encoding, not both"
    await AnswerError(400, words, headers={"Connection": "close"}).response()(scope, receive, send)
