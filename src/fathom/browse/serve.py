"""A server for the pages on this machine: they are made when they are asked for, and nothing is written."""

import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from fathom.browse.pages import Pages
from fathom.printing import printable
from fathom.types import FathomError
from fathom.web import assets, script

HOST = "127.0.0.1"
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_HEADERS = {
    # The page's own policy, and what a page cannot say of itself.
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class PagesServer(ThreadingHTTPServer):
    """Serves pages to this machine only.

    Args:
        pages: The data files.
        port: Port to listen on; 0 for one that is free.

    Raises:
        FathomError: The port cannot be used.
    """

    daemon_threads = True

    def __init__(self, pages: Pages, port: int = 0) -> None:
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", "") or str(error)
            raise FathomError(
                f"`port` {port}: cannot be used ({reason}); choose another, or 0 for a free one"
            ) from None
        self.pages = pages
        self.fixed = dict(assets("fathom.browse", "page"))
        self.fixed["data/list.js"] = script("list", pages.value("list"))
        port = self.server_address[1]
        self.address = f"http://{HOST}:{port}/"
        self.hosts = {f"{host}:{port}" for host in (HOST, "localhost")}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnected."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def content(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            KeyError: There is no such file.
            FathomError: The suite cannot be read.
        """
        if name in self.fixed:
            return self.fixed[name]
        if not name.startswith("data/") or not name.endswith(".js"):
            raise KeyError(name)
        data = name.removeprefix("data/").removesuffix(".js")
        return script(data, self.pages.value(data))


class _Handler(BaseHTTPRequestHandler):
    server: PagesServer
    server_version = "fathom"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    # Header and content in one packet: else each answer waits for the browser's delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 30

    def do_GET(self) -> None:
        # Another name for this address (DNS rebinding) or another site's page must not read replies.
        if self.headers.get("Host") not in self.server.hosts:
            return self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"Open the address that `fathom browse` printed.\n")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            navigates = (
                self.headers.get("Sec-Fetch-Mode") == "navigate" and self.headers.get("Sec-Fetch-Dest") == "document"
            )
            if not navigates:
                return self._answer(HTTPStatus.FORBIDDEN, b"These pages are not for other sites.\n")
        name = urlsplit(self.path).path.lstrip("/") or "index.html"
        try:
            content = self.server.content(name)
        except KeyError:
            return self._answer(HTTPStatus.NOT_FOUND, b"There is no such file.\n")
        except FathomError as error:
            print(f"note: {printable(str(error))}", file=sys.stderr)
            return self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n".encode(errors="replace"))
        self._answer(HTTPStatus.OK, content, _TYPES[name.rsplit(".", 1)[-1]])

    def _answer(self, status: HTTPStatus, content: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Disable request logging."""


def serve(pages: Pages, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
    """Serve pages until Ctrl-C.

    Args:
        pages: The data files.
        port: Port to listen on; 0 for one that is free.
        ready: Called with the address once the server listens.

    Raises:
        FathomError: The port cannot be used.
    """
    with PagesServer(pages, port) as server:
        if ready is not None:
            ready(server.address)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
