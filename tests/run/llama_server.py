"""A real llama.cpp server on the loopback, from the prebuilt wheel of xllamacpp.

As a program it takes the flags of ``llama-server`` that the guide to llama.cpp uses:

    python tests/run/llama_server.py -m MODEL.gguf --alias NAME --port PORT -c TOKENS --parallel SLOTS
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(model: Path, *, context: int = 1024) -> Iterator[str]:
    """The address of a server of a model, once it answers."""
    port = free_port()
    flags = ["-m", str(model), "--port", str(port), "-c", str(context)]
    with answering([sys.executable, __file__, *flags], port, model.with_suffix(".log")):
        yield f"http://127.0.0.1:{port}/v1"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def answering(command: Sequence[str], port: int, log: Path) -> Iterator[None]:
    """A server that a command starts, once it answers."""
    with log.open("w") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        for _ in range(600):
            assert server.poll() is None, log.read_text()[-2000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Serve until a signal."""
    import xllamacpp

    parser = argparse.ArgumentParser()
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("--alias", default="")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("-c", dest="context", type=int, required=True)
    parser.add_argument("--parallel", type=int, default=1)
    given = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path, params.port, params.n_ctx = given.model, given.port, given.context
    params.n_parallel, params.cpuparams.n_threads = given.parallel, 1
    if given.alias:
        params.model_alias = {given.alias}
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
