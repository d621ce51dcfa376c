"""A real llama.cpp server on the loopback, for tests that have llama-cpp-python."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTEXT = 1024


@contextmanager
def serving(model: Path, **options: str) -> Iterator[str]:
    """The address of a server of a model, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    wanted = {"model": str(model), "host": "127.0.0.1", "port": str(port), "n_ctx": str(CONTEXT), "logits_all": "true"}
    words = [word for name, value in (wanted | options).items() for word in (f"--{name}", value)]
    log = model.with_suffix(".log")
    with log.open("w") as output:
        server = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", *words], stdout=output, stderr=output)
    try:
        for _ in range(600):
            assert server.poll() is None, log.read_text()[-2000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()
