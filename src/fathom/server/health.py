"""Health of a server: ``/health/live`` while the process answers, ``/health/ready`` while it can do its work."""

import os
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from fathom.server.database import Database

LOOK_SECONDS = 1.0
"""Seconds for which a result is used again, because anybody may ask."""
_LATER = {"Retry-After": "10"}


class Health:
    """Whether a server can do its work: its store answers and is of this version, and its folders can be written.

    Args:
        folders: Folders in which it writes, by name.
    """

    def __init__(self, store: Database, folders: Mapping[str, Path]) -> None:
        self.store, self.folders = store, dict(folders)
        self._lock = threading.Lock()
        self._known: dict[str, bool] = {}
        self._until = 0.0

    def checks(self) -> dict[str, bool]:
        """The results by name: ``store``, ``migrations`` and ``disk``."""
        with self._lock:  # one at a time: a store that hangs must not take all threads
            if time.monotonic() >= self._until:
                responds = self.store.is_there()
                self._known = {
                    "store": responds,
                    "migrations": responds and self.store.is_current(),
                    "disk": all(map(_is_writable, self.folders.values())),
                }
                self._until = time.monotonic() + LOOK_SECONDS
            return dict(self._known)

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes. ``/healthz`` is the former name, which only asks the store."""
        for path, endpoint in (("/health/live", _live), ("/health/ready", self._ready), ("/healthz", self._former)):
            app.add_api_route(path, endpoint, methods=["GET", "HEAD"], response_model=None)

    def _ready(self) -> Response:
        checks = self.checks()
        ready = all(checks.values())
        return JSONResponse({"ready": ready, **checks}, 200 if ready else 503, {} if ready else _LATER)

    def _former(self) -> Response:
        responds = self.store.is_there()
        return JSONResponse({"store": responds}, 200 if responds else 503)


async def _live() -> Response:
    # Not in a thread: it answers while all threads wait for a store.
    return JSONResponse({"live": True})


def _is_writable(folder: Path) -> bool:
    """Whether a file with content can be created, which permissions alone do not tell: a disk may be full."""
    try:
        handle, name = tempfile.mkstemp(prefix=".ready-", dir=folder)
    except OSError:
        return False
    try:
        return os.write(handle, b"ready\n") == 6
    except OSError:
        return False
    finally:
        os.close(handle)
        with suppress(OSError):
            Path(name).unlink()
