"""Seeded faults of a real server: `fathom bisect` on llama.cpp with SmolLM2-135M, right and wrong options.

Needs the extra local. The replies of the right server are kept for all faults, so that it is asked once:

    PYTHONPATH=src python performance/bisect_local.py [--lengths 1024,7400] [--requests 200] FOLDER [FAULT ...]

The longest length, in tokens of fathom's own count, is some 7,700 of the model's, whose window is 8,192.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
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
from fathom.run.bisect.compare import RECORD, REPLIES
from fathom.run.chosen import choose

SERVE = """
import json, os, sys, threading
import xllamacpp
path, given = sys.argv[1], json.loads(sys.argv[2])
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = path, {"SmolLM2"}
params.n_parallel, params.n_ctx, params.cache_ram_mib = 1, 8192, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count()
enums = {"rope_scaling_type": xllamacpp.llama_rope_scaling_type, "flash_attn_type": xllamacpp.llama_flash_attn_type}
for name, value in given.items():
    if name in enums:
        value = next(one for one in enums[name] if one.name.lower().endswith("_" + value))
    setattr(params, name, value)
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"""
BARE_TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}Answer: "
NO_SYSTEM = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
OTHER_MARKS = "{% for message in messages %}[INST] {{ message['content'] }} [/INST]{% endfor %}"
QUANTISED = {"q4_0": 2, "q8_0": 8}
"""Numbers of ggml's types."""
KEPT = 8000
"""Characters that a proxy leaves of a prompt: those of the shortest length arrive whole."""
Changing = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Seeded:
    """A fault: its expected name, options of llama.cpp, and what a proxy in front of it does to requests."""

    expected: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    proxy: Changing | None = None
    weights: Callable[[Path, Path], None] | None = None


def of_texts(change: Callable[[str], str]) -> Changing:
    """What changes the texts of all messages that are longer than KEPT."""

    def changed(body: dict[str, Any]) -> dict[str, Any]:
        for message in body.get("messages", ()):
            if len(text := message["content"]) > KEPT:
                message["content"] = change(text)
        return body

    return changed


def wrong_blocks(body: dict[str, Any]) -> dict[str, Any]:
    """A prompt that may come from the cache, with two parts of it exchanged."""
    if body.get("cache_prompt") is False:
        return body
    for message in body.get("messages", ()):
        text = message["content"]
        quarter = len(text) // 4
        if quarter > KEPT // 16:
            message["content"] = (
                text[:quarter] + text[2 * quarter : 3 * quarter] + text[quarter : 2 * quarter] + text[3 * quarter :]
            )
    return body


def warm(body: dict[str, Any]) -> dict[str, Any]:
    """Another temperature than was asked for."""
    return {**body, "temperature": 1.0, "seed": time.time_ns() % 2**31}


def rewritten(given: Path, target: Path, type_name: str = "", layers: int | None = None) -> None:
    """A GGUF file with its quantised weights in another type, or with its first layers only."""
    import gguf
    from gguf.quants import dequantize, quantize

    reader = gguf.GGUFReader(given)
    contents = {name: each.contents() for name, each in reader.fields.items() if not name.startswith("GGUF.")}
    writer = gguf.GGUFWriter(target, contents["general.architecture"])
    for name, value in contents.items():
        if name != "general.architecture":
            types = reader.fields[name].types
            value = layers if name.endswith(".block_count") and layers else value
            writer.add_key_value(name, value, types[0], types[-1] if types[0] == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        number = int(tensor.name.split(".")[1]) if tensor.name.startswith("blk.") else -1
        if layers is None or number < layers:
            data, kind = tensor.data, tensor.tensor_type
            if type_name and kind == gguf.GGMLQuantizationType.Q4_1:
                data, kind = dequantize(data, kind), gguf.GGMLQuantizationType[type_name]
                data = quantize(data, kind)
            writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


ROPE, CUT, CACHE, TEMPLATE = ("wrong rope factor",), ("cut prompt",), ("cache precision",), ("wrong template",)
FAULTS = {
    "none": Seeded(("",)),
    "rope scaled by 0.5": Seeded(ROPE, {"rope_freq_scale": 0.5}),
    "rope scaled by 0.25": Seeded(ROPE, {"rope_freq_scale": 0.25}),
    "rope with base 10000": Seeded(ROPE, {"rope_freq_base": 10_000.0}),
    "YaRN by 4": Seeded(ROPE, {"rope_freq_scale": 0.25, "rope_scaling_type": "yarn", "yarn_orig_ctx": 2048}),
    "window of 6000": Seeded(("smaller window",), {"n_ctx": 6000}),
    "window of 4096": Seeded(("smaller window",), {"n_ctx": 4096}),
    "beginning cut": Seeded(CUT, proxy=of_texts(lambda text: text[-KEPT:])),
    "middle cut": Seeded(CUT, proxy=of_texts(lambda text: text[: KEPT // 2] + text[-KEPT // 2 :])),
    "end cut": Seeded(CUT, proxy=of_texts(lambda text: text[:KEPT])),
    "wrong blocks from the cache": Seeded(("prefix-cache corruption",), proxy=wrong_blocks),
    "keys in q4_0": Seeded(CACHE, {"cache_type_k": QUANTISED["q4_0"]}),
    "keys in q8_0": Seeded(CACHE, {"cache_type_k": QUANTISED["q8_0"]}),
    "keys and values in q4_0": Seeded(
        CACHE, {"cache_type_k": QUANTISED["q4_0"], "cache_type_v": QUANTISED["q4_0"], "flash_attn_type": "enabled"}
    ),
    "template without roles": Seeded(TEMPLATE, {"chat_template": BARE_TEMPLATE}),
    "template without a system prompt": Seeded(TEMPLATE, {"chat_template": NO_SYSTEM}),
    "template of another model": Seeded(TEMPLATE, {"chat_template": OTHER_MARKS}),
    "temperature of a proxy": Seeded(("sampling",), proxy=warm),
    "weights in Q4_0": Seeded(("weights precision",), weights=lambda own, new: rewritten(own, new, "Q4_0")),
    "weights in Q8_0": Seeded(("weights precision",), weights=lambda own, new: rewritten(own, new, "Q8_0")),
    "27 of 30 layers": Seeded(("another model",), weights=lambda own, new: rewritten(own, new, layers=27)),
}


@contextmanager
def served(port: int, file: Path, options: dict[str, Any], proxy: Changing | None = None) -> Iterator[str]:
    """The address of llama.cpp with this file and these options, behind a proxy if there is one."""
    own = {**options, "port": port if proxy is None else 0}
    command = [sys.executable, "-c", SERVE, str(file), json.dumps(own)]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    try:
        if proxy is None:
            yield f"{address}/v1"
        else:
            with _proxied(port, address, proxy) as front:
                yield f"{front}/v1"
    finally:
        process.kill()
        process.wait()


@contextmanager
def _proxied(port: int, address: str, change: Changing) -> Iterator[str]:
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

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    """Print a line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("faults", nargs="*", metavar="FAULT")
    parser.add_argument("--lengths", default="1024,7400")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--cap", type=int, default=24, help="output cap: the model finds few of the words anyway")
    parser.add_argument("--port", type=int, default=18411, help="of A; B has the next one")
    chosen = parser.parse_args()
    lengths = tuple(map(int, chosen.lengths.split(",")))
    right, record = chosen.folder / f"right-{chosen.lengths}.jsonl", chosen.folder / f"asked-{chosen.lengths}.json"
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for name in chosen.faults or FAULTS:
        fault, folder, begun = FAULTS[name], chosen.folder / name.replace(" ", "-"), time.monotonic()
        folder.mkdir(exist_ok=True)
        known = right.read_text() if right.exists() else ""
        kept = (folder / REPLIES).read_text().splitlines(True) if (folder / REPLIES).exists() else []
        if known:
            (folder / REPLIES).write_text(known + "".join(line for line in kept if line.startswith('{"key": "B ')))
        if record.exists():
            shutil.copy(record, folder / RECORD)  # the same numbers in front of prompts: replies of A are to them
        other = default_file() if fault.weights is None else folder.with_suffix(".gguf")
        if fault.weights is not None and not other.exists():
            fault.weights(default_file(), other)
        with (
            served(chosen.port, default_file(), {}) as first,
            served(chosen.port + 1, other, fault.options, fault.proxy) as second,
        ):
            sides = [
                choose("openai/SmolLM2", Sampling(model_base_url=url, max_output_tokens=chosen.cap), Reasoning())
                for url in (first, second)
            ]
            comparing = Comparing(sides[0], sides[1], lengths, chosen.requests, 0.01, 0.25, 0)
            result = bisect(comparing, folder, timeout=1800, retries=0)
        shutil.copy(folder / RECORD, record)
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
