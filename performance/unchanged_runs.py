"""The kinds of runs that unchanged.py records, and the servers on the loopback that keep what they are asked."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "run"))

from batch_server import AnthropicServer, BatchServer, Faults, GoogleServer, JudgeServer
from embedding_server import by_length
from scripted_likelihood import echo

KEY = "made-up-key"
VARYING = ("host", "content-length", "user-agent", "connection", "accept-encoding", "x-irid", "x-goog-api-client")
"""Headers that depend on the machine, on versions of libraries and on chance."""
SHOWN = 200  # characters at either end of long texts in requests
Words = tuple[str, ...]


class Recorder(BatchServer):
    """A server that keeps its requests; its reply depends on nothing else, and a batch ends at once."""

    def __init__(self) -> None:
        super().__init__(Faults(looks=0))
        self.requests: list[str] = []

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        self.requests.append(_request(method, path, headers, body))
        if path == "/v1/completions":
            return 200, json.dumps(echo(json.loads(body)).body).encode()
        if path == "/v1/embeddings":
            vectors = [{"index": at, "embedding": by_length(text)} for at, text in enumerate(json.loads(body)["input"])]
            return 200, json.dumps({"data": vectors, "usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode()
        return super().answer(method, path, headers, body)

    def sample_of(self, body: Mapping[str, Any]) -> tuple[int, int]:
        """A number that stands for the request."""
        return crc32(json.dumps(body, sort_keys=True).encode()) % 1_000_000, 0


class OpenAI(Recorder, JudgeServer):
    """Chats, completions, embeddings and batches; replies are those of a judge."""


class Anthropic(Recorder, AnthropicServer):
    """Batches of Anthropic."""


class Google(Recorder, GoogleServer):
    """Batches of Google."""


def _request(method: str, path: str, headers: Mapping[str, str], body: bytes) -> str:
    """A request as text: its line, headers that matter without key and boundary, and its body."""
    kept = {name.lower(): value.replace(KEY, "<key>") for name, value in headers.items()}
    kept = {name: kept[name] for name in sorted(kept) if name not in VARYING and not name.startswith("x-stainless")}
    boundary = re.search(r"boundary=(\S+)", kept.get("content-type", ""))
    lines = [f"{method} {path}", *(f"{name}: {value}" for name, value in kept.items()), "", *_body(body)]
    text = "\n".join(lines)
    return text.replace(boundary[1], "<boundary>") if boundary else text


def _body(body: bytes) -> Iterator[str]:
    """The lines of a body; JSON with sorted names and short texts, JSON Lines in the order of these texts."""
    text = body.decode("utf-8", "replace")
    try:
        yield _json(text)
    except ValueError:
        lines = text.split("\n")
        records = [line for line in lines if line.startswith("{")]
        yield from (line for line in lines if not line.startswith("{"))
        yield from sorted(map(_json, records))


def _json(text: str) -> str:
    return json.dumps(_short(json.loads(text)), indent=1, sort_keys=True, ensure_ascii=False)


def _short(value: Any) -> Any:
    """The same value with the middle of long texts replaced by their SHA-256."""
    if isinstance(value, dict):
        return {name: _short(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    if not isinstance(value, str) or len(value) <= 2 * SHOWN:
        return value
    digest = hashlib.sha256(value.encode()).hexdigest()
    return f"{value[:SHOWN]} <{len(value)} characters, {digest}> {value[-SHOWN:]}"


@dataclass(frozen=True)
class Run:
    """A kind of run.

    Attributes:
        commands: What is called, in this order; ``{url}`` is the server and ``{out}`` the folder of all that it writes.
        server: What answers.
        files: The files of JSON that are recorded.
    """

    commands: tuple[Words, ...]
    server: Callable[[], Recorder] = OpenAI
    files: Words = ("run/run.json",)


def asked(suite: str, *options: str, model: str = "openai/m", out: str = "{out}/run") -> Words:
    """The words of a run against the server."""
    words = ("run", f"suites/{suite}", "--model", model, "--model-base-url", "{url}", "--out", out, "--yes", "--quiet")
    return (*words, *options)


def through(system: str, *options: str) -> Run:
    """A run of a system around the model."""
    return Run((asked("starter", "--system", system, "--limit", "1", *options),))


EMBEDDED = ("--embedding-base-url", "{url}")
ORDERS = ("likelihood", "suites/ada", "--model", "openai/m", "--model-base-url", "{url}", "--out", "{out}/run")
FEW = ("--yes", "--quiet", "--limit", "1", "--lengths", "1k")
SHARD = asked("starter", out="{out}/shards")
LEXICAL = ("run", "suites/hundred", "--model", "fathom/lexical", "--out", "{out}/run", "--yes", "--quiet")
JUDGE = ("judge", "{out}/run", "--judge", "openai/judge", "--judge-base-url", "{url}", "--yes", "--quiet")
SELECT = ("compress", "select", "suites/starter", "--budget", "5", "--out", "{out}/subset.json")
THINKING = ("--model-kind", "mixed", "--thinking-switch", "enable_thinking", "--window", "32k", "--thinking")
BATCH = ("--batch", "--limit", "1")
RUNS: Mapping[str, Run] = {
    "plain": Run((asked("starter", "--epochs", "2", "--temperature", "0.5", "-G", "top_p=0.9", "--seed", "7"),)),
    "truncated": Run((asked("starter", "--window", "1200", "--on-overflow", "middle", "--max-output-tokens", "100"),)),
    "reasoning": Run((asked("starter", "--limit", "1", "--reasoning-effort", "low", model="openai/gpt-5"),)),
    "tasks": Run((asked("hundred", "--tasks", "single_doc_qa,multi_doc_summary", "--lengths", "1k"),)),
    "completions": Run((asked("longbench, official", "--chat-template", "by-task"),)),
    "second request": Run((asked("longbench_v2_cot"),)),
    "thinking on": Run((asked("pro", *THINKING, "on"),)),
    "thinking off": Run((asked("pro", *THINKING, "off"),)),
    "batch of OpenAI": Run((asked("starter", *BATCH),)),
    "batch of Anthropic": Run((asked("starter", *BATCH, model="anthropic/m"),), Anthropic),
    "batch of Google": Run((asked("starter", *BATCH, model="google/m"),), Google),
    "shards": Run(
        ((*SHARD, "--shard", "1/2"), (*SHARD, "--shard", "2/2"), ("merge", "{out}/shards", "--out", "{out}/run")),
        files=("run/run.json", "shards/shards.json"),
    ),
    "subset": Run((SELECT, asked("starter", "--subset", "{out}/subset.json")), files=("run/run.json", "subset.json")),
    "judge": Run((LEXICAL, JUDGE)),
    "judge, batch": Run((LEXICAL, (*JUDGE, "--batch"))),
    "likelihood of orders": Run(((*ORDERS, *FEW),)),
    "likelihood of pairs": Run(((*ORDERS, *FEW, "--method", "pairs"),)),
    "system: retrieval": through("retrieval?top=2"),
    "system: embeddings": through("retrieval?top=2&by=embed/m", *EMBEDDED),
    "system: map-reduce": through("map-reduce?chunk=512"),
    "system: compaction": through("compaction?chunk=512"),
    "system: agent": through("agent?steps=3"),
}
