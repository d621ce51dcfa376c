"""A server of the studio for tests, as a process of its own, which tests may kill."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from processes import start_program

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


@contextmanager
def serving(
    store: str, port: int = 0, log: Path | None = None, header_seconds: float = 10
) -> Iterator[tuple[str, Any]]:
    """A server; gives its address and the process, which is killed at the end.

    Args:
        store: Its store.
        port: Its port; 0 for a free one.
        log: File for what it says.
        header_seconds: See ``fathom.server.limits.ConnectionLimits``.
    """
    program = "import sys, loopback_studio as one; one.main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))"
    with (log or Path(os.devnull)).open("ab") as stream:
        process = start_program(
            program, store, str(port), str(header_seconds), stdout=subprocess.PIPE, stderr=stream.fileno()
        )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert address, "the server did not start"
        yield address.rstrip("/"), process
    finally:
        process.kill()
        process.wait()


def main(store: str, port: int, header_seconds: float) -> None:
    """Serve a store until killed."""
    from fathom.server.listening import Service
    from fathom.studio.quotas import design_of
    from fathom.studio.tasks import studio_tasks
    from fathom.studio.web.server import serve
    from fathom.studio.web.visit import Settings

    settings = Settings(design=design_of(store, None, studio_tasks(None)), header_seconds=header_seconds)
    serve(store, settings, Service("127.0.0.1", port, ready=lambda address: print(address, flush=True)))
