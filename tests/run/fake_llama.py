"""What stands for llama.cpp where it is not installed: a module of its name whose server answers every chat alike."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

MODULE = """
import json, os, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace


class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
        message = {"role": "assistant", "content": os.environ.get("FAKE_REPLY", "OK")}
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Server:
    def __init__(self, params):
        if os.environ.get("FAKE_FAULT"):
            raise RuntimeError(os.environ["FAKE_FAULT"])
        server = ThreadingHTTPServer(("127.0.0.1", params.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_port}"
"""


def write_fake(folder: Path) -> Path:
    """The module, in a folder for ``sys.path``."""
    folder.mkdir(exist_ok=True)
    (folder / "xllamacpp.py").write_text(MODULE)
    return folder


FACTS: Mapping[str, str | int | list[str]] = {
    "general.architecture": "llama",
    "tokenizer.ggml.tokens": ["a", "b", "longer"],
    "tokenizer.ggml.kinds": [],
    "llama.context_length": 8192,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
}


def write_gguf(path: Path, facts: Mapping[str, str | int | list[str]] = FACTS) -> Path:
    """A file of llama.cpp with facts about a model, and without the model."""

    def text(words: str) -> bytes:
        return struct.pack("<Q", len(words.encode())) + words.encode()

    def value(fact: str | int | list[str]) -> bytes:
        if isinstance(fact, str):
            return struct.pack("<I", 8) + text(fact)
        if isinstance(fact, int):
            return struct.pack("<II", 4, fact)
        if not fact:
            return struct.pack("<IIQ", 9, 5, 3) + bytes(12)
        return struct.pack("<IIQ", 9, 8, len(fact)) + b"".join(map(text, fact))

    entries = b"".join(text(name) + value(fact) for name, fact in facts.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(facts)) + entries)
    return path
