"""A loopback server of embeddings: by default a vector is the length of its text and a constant."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

# A proxy of the machine must not stand between a test and its server.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"


def by_length(text: str) -> list[float]:
    return [float(len(text)), 1.0]


def give(*vectors: list[float]) -> list[list[float]]:
    """These vectors, whatever was asked, from a server that does not count."""
    return list(vectors)


class EmbeddingServer(ThreadingHTTPServer):
    """Runs in a thread; use as a context manager.

    ``script`` holds what it does with the next requests: a number is a status, vectors are given as they are.
    """

    daemon_threads = True

    def __init__(self, embed: Callable[[str], list[float]] = by_length, delay: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.embed = embed
        self.delay = delay
        self.script: list[object] = []
        self.asked: list[list[str]] = []
        self.models: list[str] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> EmbeddingServer:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        there = self.server
        there.keys.append(self.headers["Authorization"])
        time.sleep(there.delay)
        act = there.script.pop(0) if there.script else 200
        status = act if isinstance(act, int) else 200
        if status != 200:
            return self._send(status, {"error": {"message": "not now"}})
        assert self.path == "/v1/embeddings"
        texts = content["input"]
        there.asked.append(texts)
        there.models.append(content["model"])
        vectors = act if isinstance(act, list) else [there.embed(text) for text in texts]
        usage = {} if isinstance(act, list) else {"prompt_tokens": sum(map(len, texts)), "total_tokens": 0}
        # In the wrong order, which its indices tell.
        data = [
            {"object": "embedding", "index": number, "embedding": vector}
            for number, vector in reversed(list(enumerate(vectors)))
        ]
        return self._send(200, {"object": "list", "model": content["model"], "data": data, "usage": usage})

    def _send(self, status: int, reply: object) -> None:
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass
