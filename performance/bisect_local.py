"""Seeded faults of a real server: `fathom bisect` on llama.cpp with SmolLM2-135M, right and wrong options.

Needs the extra local. The replies of the right server are kept for all faults, so that it is asked once:

    PYTHONPATH=src python performance/bisect_local.py [--lengths 512,1024] [--requests 80] FOLDER [FAULT ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fathom.models.local_model import default_file
from fathom.models.settings import Reasoning, Sampling
from fathom.run.bisect import Comparing, bisect
from fathom.run.bisect.compare import REPLIES
from fathom.run.chosen import choose

SERVE = """
import json, os, sys, threading
import xllamacpp
path, given = sys.argv[1], json.loads(sys.argv[2])
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = path, {"SmolLM2"}
params.port, params.n_parallel, params.n_ctx, params.cache_ram_mib = 0, 1, 8192, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count()
for name, value in given.items():
    setattr(params, name, value)
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"""
BARE_TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}Answer: "
QUANTISED = {"q4_0": 2, "q8_0": 8}
"""Numbers of ggml's types."""
Changing = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Seeded:
    """A fault: its expected name, options of llama.cpp, and what a proxy in front of it does to requests."""

    expected: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    proxy: Changing | None = None


def cut_middle(body: dict[str, Any]) -> dict[str, Any]:
    """The prompt without its middle, beyond 3,000 characters."""
    for message in body.get("messages", ()):
        text = message["content"]
        message["content"] = text if len(text) <= 3000 else text[:1500] + text[-1500:]
    return body


def warm(body: dict[str, Any]) -> dict[str, Any]:
    """Another temperature than was asked for."""
    return {**body, "temperature": 1.0, "seed": time.time_ns() % 2**31}


FAULTS = {
    "none": Seeded(("",)),
    "rope_freq_scale 0.25": Seeded(("wrong rope factor",), {"rope_freq_scale": 0.25}),
    "window of 768": Seeded(("smaller window",), {"n_ctx": 768}),
    "prompt cut by a proxy": Seeded(("cut prompt",), proxy=cut_middle),
    "template without roles": Seeded(("wrong template",), {"chat_template": BARE_TEMPLATE}),
    "temperature of a proxy": Seeded(("sampling",), proxy=warm),
    "cache of q4_0": Seeded(("cache precision",), {"cache_type_k": QUANTISED["q4_0"]}),
    "cache of q8_0": Seeded(("cache precision",), {"cache_type_k": QUANTISED["q8_0"]}),
}


@contextmanager
def served(options: dict[str, Any], proxy: Changing | None = None) -> Iterator[str]:
    """The address of llama.cpp with these options, behind a proxy if there is one."""
    command = [sys.executable, "-c", SERVE, str(default_file()), json.dumps(options)]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    try:
        if proxy is None:
            yield f"{address}/v1"
        else:
            with _proxied(address, proxy) as front:
                yield f"{front}/v1"
    finally:
        process.kill()
        process.wait()


@contextmanager
def _proxied(address: str, change: Changing) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass(None)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._pass(json.dumps(change(body)).encode())

        def _pass(self, sent: bytes | None) -> None:
            asked = urllib.request.Request(f"{address}{self.path}", sent, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(asked) as answer:
                    status, content = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, content = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *words: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def main() -> None:
    """Print a line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("faults", nargs="*", metavar="FAULT")
    parser.add_argument("--lengths", default="512,1024")
    parser.add_argument("--requests", type=int, default=80)
    parser.add_argument("--cap", type=int, default=24, help="output cap: the model finds few of the words anyway")
    chosen = parser.parse_args()
    lengths = tuple(map(int, chosen.lengths.split(",")))
    right = chosen.folder / f"right-{chosen.lengths}.jsonl"
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for name in chosen.faults or FAULTS:
        fault, folder, begun = FAULTS[name], chosen.folder / name.replace(" ", "-"), time.monotonic()
        folder.mkdir(exist_ok=True)
        known = right.read_text() if right.exists() else ""
        kept = (folder / REPLIES).read_text().splitlines(True) if (folder / REPLIES).exists() else []
        (folder / REPLIES).write_text(known + "".join(line for line in kept if line.startswith('{"key": "B ')))
        (folder / "asked.json").unlink(missing_ok=True)
        with served({}) as first, served(fault.options, fault.proxy) as second:
            sides = [
                choose("openai/SmolLM2", Sampling(model_base_url=url, max_output_tokens=chosen.cap), Reasoning())
                for url in (first, second)
            ]
            comparing = Comparing(sides[0], sides[1], lengths, chosen.requests, 0.01, 0.25, 0)
            result = bisect(comparing, folder, timeout=1800, retries=0)
        asked = (folder / REPLIES).read_text().splitlines(True)  # those that were known come first
        right.write_text("".join(line for line in asked if line.startswith('{"key": "A ')))
        mark = "right" if result.named.fault in fault.expected else "WRONG"
        print(
            f"{mark} | {name} | {result.decision} {result.named.fault} {result.named.side} | {result.requests} "
            f"requests | {time.monotonic() - begun:.0f} s | {'; '.join(result.named.because)} | {result.kinds}",
            flush=True,
        )


if __name__ == "__main__":
    main()
