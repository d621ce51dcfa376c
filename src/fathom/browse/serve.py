"""A server for the pages on this machine: they are made when they are asked for, and nothing is written."""

import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fathom.browse.pages import Pages
from fathom.printing import printable
from fathom.runfile.store import last_reply, working_since
from fathom.types import FathomError, Json
from fathom.web import assets, script

HOST = "127.0.0.1"
LEAST_WAIT = 5.0
"""Seconds between two looks at a run that goes on."""
SHARE = 20
"""How many times as long as reading a run takes the page waits for the next look."""
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_HEADERS = {
    # The page's own policy, and what a page cannot say of itself.
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Refreshed:
    """Pages of runs that may go on, which are read again when there are new replies.

    Args:
        read: Reads the data files.
        folders: The run folders; none for pages that never change.

    Raises:
        FathomError: A run cannot be read.
    """

    def __init__(self, read: Callable[[], Pages], folders: Sequence[Path]) -> None:
        self._read, self._folders = read, folders
        # First these: what comes while the pages are read is new to the next look.
        self.live = self._working()
        self._marks = list(map(last_reply, folders))
        self.pages, self.version = read(), 0
        self._wait, self._next = LEAST_WAIT, 0.0
        self._lock = threading.Lock()

    def _working(self) -> bool:
        return any(working_since(folder) is not None for folder in self._folders)

    def state(self) -> Json:
        """The version of the pages, which are read again if that is due; whether a process works, and its last reply.

        Raises:
            FathomError: A run cannot be read.
        """
        with self._lock:
            # First this: what comes before a process ends is read by the look that sees its end.
            working, marks = self._working(), list(map(last_reply, self._folders))
            started = time.monotonic()
            if marks != self._marks and (started >= self._next or not working):
                self.pages, self._marks, self.version = self._read(), marks, self.version + 1
                self._wait = max(LEAST_WAIT, SHARE * (time.monotonic() - started))
                self._next = time.monotonic() + self._wait
            written = max((at for _, at in self._marks if at is not None), default=None)
            return {"version": self.version, "working": working, "written": written, "wait": self._wait}


class PagesServer(ThreadingHTTPServer):
    """Serves pages to this machine only.

    Args:
        pages: The data files, perhaps of a run that goes on.
        port: Port to listen on; 0 for one that is free.

    Raises:
        FathomError: The port cannot be used.
    """

    daemon_threads = True

    def __init__(self, pages: Pages | Refreshed, port: int = 0) -> None:
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", "") or str(error)
            raise FathomError(
                f"`port` {port}: cannot be used ({reason}); choose another, or 0 for a free one"
            ) from None
        self.refreshed = pages if isinstance(pages, Refreshed) else Refreshed(lambda: pages, ())
        self.fixed = dict(assets("fathom.browse", "page"))
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
        wanted = re.sub(r"^again/\d{1,9}/", "", data)
        if wanted == "state":
            return script(data, self.refreshed.state())
        if data == "list":
            return script(data, self.refreshed.pages.list(live=self.refreshed.live))
        return script(data, self.refreshed.pages.value(wanted))


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


def serve(pages: Pages | Refreshed, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
    """Serve pages until Ctrl-C.

    Args:
        pages: The data files, perhaps of a run that goes on.
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
