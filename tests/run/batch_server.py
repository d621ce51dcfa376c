"""Batch providers on the loopback: HTTP servers with the APIs of OpenAI, Anthropic and Google, and faults on demand.

They take and return what the client libraries' types describe: ``openai`` 3.57, ``anthropic`` 2.14 and ``google-genai``
3.6 (requests are validated by them, responses are made of them). Each reply costs tokens that depend on its sample, and
the server keeps count of what it has been paid for.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

from judged_runs import GOOD

# A proxy of the machine must not stand between a test and its server.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"

Moment = Literal["before", "after"]


@dataclass(frozen=True)
class Faults:
    """What goes wrong, as shares of what could.

    ``busy``: requests that fail with 500; ``refused``: requests that fail with 400 for good, by number of the sample;
    ``expired``: batches that expire with the later part of their requests unanswered; ``dropped``: results that are
    missing in the first download; ``lost``: results that are missing in all; ``doubled``: results that come twice;
    ``broken``: responses that break off; ``unsure``: batches that are made while the response is a 503; ``late``:
    batches that are missing in the first two lists; ``looks``: how often a batch is looked at before it has ended;
    ``most``: the most requests that may wait, as OpenAI's limit of enqueued tokens; ``wrong``: numbers of samples whose
    requests are not accepted.
    """

    busy: float = 0.0
    refused: frozenset[int] = frozenset()
    expired: float = 0.0
    dropped: float = 0.0
    lost: float = 0.0
    doubled: float = 0.0
    broken: float = 0.0
    unsure: float = 0.0
    late: float = 0.0
    looks: int = 1
    most: int = 1_000_000
    wrong: frozenset[int] = frozenset()


@dataclass
class Made:
    """A batch of the server."""

    id: str
    requests: list[tuple[str, dict[str, Any]]]
    metadata: Mapping[str, str]
    number: int
    endpoint: str = ""
    looks: int = 0
    hidden: int = 0
    downloads: int = 0
    state: str = "working"
    outcomes: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    errors: list[dict[str, Any]] = field(default_factory=list)
    created: float = field(default_factory=time.time)


class BrokenError(Exception):
    """The connection breaks off without a response."""


def tokens(number: int) -> tuple[int, int]:
    """Tokens of the prompt and of the reply to a sample."""
    return 1000 + number, 10 + number % 7


class BatchServer:
    """Runs in threads; use as a context manager.

    Args:
        faults: What goes wrong.
        seed: Decides when.
    """

    model = ""
    start = ""
    keeps = True
    """Whether what was answered before a batch expired can be had."""

    def __init__(self, faults: Faults = Faults(), seed: int = 0) -> None:
        self.faults = faults
        self.rng = Random(seed)
        self.lock = threading.RLock()
        self.batches: list[Made] = []
        self.files: dict[str, bytes] = {}
        self.uploads: list[int] = []
        self.paid: Counter[tuple[int, int]] = Counter()
        self.lost: Counter[tuple[int, int]] = Counter()
        self.plain: list[dict[str, Any]] = []
        self.events: list[str] = []
        self.kill: Callable[[int, Moment], bool] = lambda event, moment: False
        self.victim = 0
        self.extra: dict[str, str] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.handle(self, b"")

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                server.handle(self, self.rfile.read(size))

            def log_message(self, format: str, *arguments: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        self.url = f"{self.address}{self.start}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def handle(self, http: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer one request, unless the process that sent it is killed before or after."""
        try:
            with self.lock:
                event = len(self.events)
                self.events.append(f"{http.command} {urlsplit(http.path).path}")
                self._strike(event, "before")
                self.extra = {}
                status, content = self.answer(http.command, http.path, dict(http.headers), body)
                extra = self.extra
                self._strike(event, "after")
            size = len(content)
            if self._chance(self.faults.broken):
                content = content[: size // 2]
            http.send_response(status)
            http.send_header("Content-Type", "application/json")
            http.send_header("Content-Length", str(size))
            for name, value in extra.items():
                http.send_header(name, value)
            http.end_headers()
            http.wfile.write(content)
            http.close_connection = len(content) < size
        except (BrokenError, OSError):
            http.close_connection = True

    def _strike(self, event: int, moment: Moment) -> None:
        if self.victim and self.kill(event, moment):
            os.kill(self.victim, signal.SIGKILL)
            self.victim = 0
            raise BrokenError

    def _chance(self, share: float) -> bool:
        return share > 0 and self.rng.random() < share

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """The response to one request."""
        raise NotImplementedError

    # What the providers have in common

    def make(self, requests: list[tuple[str, dict[str, Any]]], metadata: Mapping[str, str], endpoint: str = "") -> Made:
        """Make a batch and decide what will become of it."""
        assert len({name for name, _ in requests}) == len(requests) > 0
        made = Made(f"batch_{len(self.batches):04d}", requests, metadata, len(self.batches), endpoint)
        made.hidden = 2 if self._chance(self.faults.late) else 0
        self.batches.append(made)
        waiting = sum(len(one.requests) for one in self.batches if one.state == "working")
        wrong = [index for index, (_, body) in enumerate(requests) if self.sample_of(body)[0] in self.faults.wrong]
        if waiting > self.faults.most:
            made.state = "failed"
            made.errors = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None}]
        elif wrong:
            made.state = "failed"
            made.errors = [{"code": "invalid", "message": "This line is wrong", "line": one + 1} for one in wrong]
        return made

    def look(self, made: Made) -> None:
        """Time goes on whenever somebody looks."""
        made.looks += 1
        if made.state == "working" and made.looks > self.faults.looks:
            self.end(made)

    def end(self, made: Made) -> None:
        """Answer all requests, or some of them."""
        made.state = "ended"
        expires, kept = self._chance(self.faults.expired), len(made.requests) // 2 if self.keeps else 0
        for index, (name, body) in enumerate(made.requests):
            key = self.sample_of(body)
            if expires and index >= kept:
                made.outcomes.append((name, "expired", body))
            elif key[0] in self.faults.refused:
                made.outcomes.append((name, "refused", body))
            elif self._chance(self.faults.busy):
                made.outcomes.append((name, "busy", body))
            else:
                self.paid[key] += 1
                made.outcomes.append((name, "answered", body))
                # One that has lost all results of a batch can never say whose it is.
                if self._chance(self.faults.lost) and len(made.lost) + 1 < len(made.requests):
                    self.lost[key] += 1
                    made.lost.add(name)

    def download(self, made: Made) -> list[tuple[str, str, dict[str, Any]]]:
        """The outcomes as they are downloaded: in any order, some twice, some missing."""
        made.downloads += 1
        found = [one for one in made.outcomes if one[0] not in made.lost]
        if made.downloads == 1:
            found = [one for one in found if not self._chance(self.faults.dropped)]
        found += [one for one in found if self._chance(self.faults.doubled)]
        self.rng.shuffle(found)
        return found

    def listed(self) -> list[Made]:
        """The batches that a list shows, the newest first."""
        shown = []
        for one in reversed(self.batches):
            if one.hidden:
                one.hidden -= 1
            else:
                shown.append(one)
        return shown

    def sample_of(self, body: Mapping[str, Any]) -> tuple[int, int]:
        """Number of the sample that a request asks for, and its seed."""
        found = re.search(r"\[sample (\d+)\]", json.dumps(body))
        assert found is not None
        return int(found[1]), int(body.get("seed") or 0)

    def text_of(self, number: int) -> str:
        """The reply to a sample. Lines end at line feeds only: the separator in it is text."""
        return f"answer {number}\u2028ü"

    def owed(self, input: float, output: float) -> float:
        """What all replies cost that were answered, in US dollars, by prices for a million tokens."""
        return sum(
            times * (tokens(number)[0] * input + tokens(number)[1] * output) / 1_000_000
            for (number, _), times in self.paid.items()
        )


class OpenAIServer(BatchServer):
    """The batch API of OpenAI: files, and batches made of them."""

    model = "openai/m"
    start = "/v1"

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """See ``BatchServer``."""
        place = urlsplit(path)
        match method, place.path.removeprefix("/v1").strip("/").split("/"):
            case "POST", ["files"]:
                return self._upload(headers, body)
            case "POST", ["batches"]:
                return self._create(json.loads(body))
            case "GET", ["batches"]:
                return self._list(parse_qs(place.query))
            case "GET", ["batches", id]:
                made = next(one for one in self.batches if one.id == id)
                self.look(made)
                return _json(self._shown(made))
            case "GET", ["files", id, "content"]:
                return 200, self._content(id)
            case "POST", ["chat", "completions"]:
                self.plain.append(json.loads(body))
                return _json(self._completion(self.plain[-1]))
        return _json({"error": {"message": f"no such place: {path}", "code": "not_found"}}, 404)

    def _upload(self, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        from openai.types import FileObject

        boundary = re.search(r"boundary=(\S+)", headers["Content-Type"])
        assert boundary is not None
        parts = body.split(b"--" + boundary[1].encode())
        part = next(part for part in parts if b'name="file"' in part)
        assert any(b'name="purpose"' in part and b"batch" in part for part in parts)
        content = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
        id = f"file-{len(self.files)}"
        self.files[id] = content
        self.uploads.append(len(content))
        made = FileObject(
            id=id,
            bytes=len(content),
            created_at=0,
            filename="requests.jsonl",
            object="file",
            purpose="batch",
            status="processed",
        )
        return _json(made.model_dump(mode="json"))

    def _create(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        from openai.types.batch_create_params import BatchCreateParams
        from pydantic import TypeAdapter

        TypeAdapter(BatchCreateParams).validate_python(asked)
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].split(b"\n") if line]
        assert len(lines) <= 50_000
        assert all(set(line) == {"custom_id", "method", "url", "body"} for line in lines)
        assert {(line["method"], line["url"]) for line in lines} == {("POST", asked["endpoint"])}
        assert not any(line["body"].get("stream") for line in lines)
        requests = [(line["custom_id"], line["body"]) for line in lines]
        made = self.make(requests, asked.get("metadata") or {}, asked["endpoint"])
        if self._chance(self.faults.unsure):
            return _json({"error": {"message": "overloaded", "type": "server_error"}}, 503)
        return _json(self._shown(made))

    def _list(self, query: Mapping[str, list[str]]) -> tuple[int, bytes]:
        shown = self.listed()
        if "after" in query:
            places = [index for index, one in enumerate(shown) if one.id == query["after"][0]]
            shown = shown[places[0] + 1 :] if places else []
        limit = int(query.get("limit", ["20"])[0])
        page = [self._shown(one) for one in shown[:limit]]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
        return _json({"object": "list", "data": page, "has_more": len(shown) > limit, **ends})

    def _shown(self, made: Made) -> dict[str, Any]:
        from openai.types import Batch

        kinds = Counter(kind for _, kind, _ in made.outcomes)
        ended = "expired" if kinds["expired"] else "completed"
        status = {"working": "in_progress" if made.looks else "validating", "ended": ended}.get(made.state, made.state)
        files = {"output_file_id": f"{made.id}-output", "error_file_id": f"{made.id}-error"}
        batch = Batch.model_validate(
            {
                "id": made.id,
                "object": "batch",
                "endpoint": made.endpoint,
                "completion_window": "24h",
                "created_at": int(made.created),
                "input_file_id": "file-x",
                "status": status,
                "metadata": dict(made.metadata),
                "errors": {"object": "list", "data": made.errors} if made.errors else None,
                "request_counts": {
                    "total": len(made.requests),
                    "completed": kinds["answered"],
                    "failed": kinds["busy"] + kinds["refused"],
                },
                **(files if made.outcomes else {}),
            },
        )
        return batch.model_dump(mode="json")

    def _content(self, id: str) -> bytes:
        batch, _, kind = id.rpartition("-")
        made = next(one for one in self.batches if one.id == batch)
        if kind == "output":
            self.files[batch] = b"".join(map(self._line, self.download(made)))
        # Both files are of the same download; those that were not answered are in the second.
        lines = [line for line in self.files[batch].split(b"\n") if line]
        wanted = [line for line in lines if (b'"batch_expired"' in line) == (kind == "error")]
        return b"".join(line + b"\n" for line in wanted)

    def _line(self, outcome: tuple[str, str, dict[str, Any]]) -> bytes:
        name, kind, body = outcome
        line: dict[str, Any] = {"id": f"batch_req_{name}", "custom_id": name, "response": None, "error": None}
        if kind == "expired":
            line["error"] = {"code": "batch_expired", "message": "This request expired."}
        elif kind == "answered":
            reply = self._completion(body)
            line["response"] = {"status_code": 200, "request_id": "r", "body": reply}
        else:
            status, word = (500, "server_error") if kind == "busy" else (400, "invalid_request_error")
            error = {"message": f"{kind}: no", "type": word, "param": None, "code": None}
            line["response"] = {"status_code": status, "request_id": "r", "body": {"error": error}}
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        from openai.types.chat import ChatCompletion

        number = self.sample_of(body)[0]
        read, written = tokens(number)
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "logprobs": None,
            "message": {"role": "assistant", "content": self.text_of(number), "refusal": None},
        }
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        made = {"id": "reply", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        return ChatCompletion.model_validate({**made, "usage": usage}).model_dump(mode="json")


class JudgeServer(OpenAIServer):
    """A judge whose replies every rubric can read; each prompt is paid for by itself."""

    says = GOOD

    def sample_of(self, body: Mapping[str, Any]) -> tuple[int, int]:
        """The hash of a prompt, and its seed."""
        return crc32(json.dumps(body["messages"]).encode()) % 1_000_000, body["seed"]

    def text_of(self, number: int) -> str:
        """See ``BatchServer``."""
        return self.says


class AnthropicServer(BatchServer):
    """Message Batches of Anthropic. A batch has no metadata, and shows neither ids nor counts before it has ended."""

    model = "anthropic/m"

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """See ``BatchServer``."""
        place = urlsplit(path)
        match method, place.path.removeprefix("/v1/messages").strip("/").split("/"):
            case "POST", ["batches"]:
                return self._create(body)
            case "GET", ["batches"]:
                return self._list(parse_qs(place.query))
            case "GET", ["batches", id]:
                made = next(one for one in self.batches if one.id == id)
                self.look(made)
                return _json(self._shown(made))
            case "GET", ["batches", id, "results"]:
                made = next(one for one in self.batches if one.id == id)
                return 200, b"".join(map(self._line, self.download(made)))
            case "POST", [""]:
                self.plain.append(json.loads(body))
                return _json(_message(self.sample_of(self.plain[-1])[0]))
        return _json({"type": "error", "error": {"type": "not_found_error", "message": path}}, 404)

    def _create(self, body: bytes) -> tuple[int, bytes]:
        from anthropic.types.messages.batch_create_params import BatchCreateParams
        from pydantic import TypeAdapter

        asked = json.loads(body)
        self.uploads.append(len(body))
        TypeAdapter(BatchCreateParams).validate_python(asked)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["custom_id"]) for one in asked["requests"])
        assert not any(one["params"].get("stream") for one in asked["requests"])
        made = self.make([(one["custom_id"], one["params"]) for one in asked["requests"]], {})
        if made.state == "failed":  # these are found at once here
            self.batches.remove(made)
            full = made.errors[0]["code"] == "token_limit_exceeded"
            kind, status = ("rate_limit_error", 429) if full else ("invalid_request_error", 400)
            return _json({"type": "error", "error": {"type": kind, "message": made.errors[0]["message"]}}, status)
        if self._chance(self.faults.unsure):
            return _json({"type": "error", "error": {"type": "api_error", "message": "Internal"}}, 503)
        return _json(self._shown(made))

    def _list(self, query: Mapping[str, list[str]]) -> tuple[int, bytes]:
        for made in self.batches:
            self.look(made)
        shown = self.listed()
        if "after_id" in query:
            places = [index for index, one in enumerate(shown) if one.id == query["after_id"][0]]
            shown = shown[places[0] + 1 :] if places else []
        limit = int(query.get("limit", ["20"])[0])
        page = [self._shown(one) for one in shown[:limit]]
        first, last = (page[0]["id"], page[-1]["id"]) if page else (None, None)
        return _json({"data": page, "has_more": len(shown) > limit, "first_id": first, "last_id": last})

    def _shown(self, made: Made) -> dict[str, Any]:
        from anthropic.types.messages import MessageBatch

        kinds, created = Counter(kind for _, kind, _ in made.outcomes), datetime.fromtimestamp(made.created, UTC)
        batch = MessageBatch.model_validate(
            {
                "id": made.id,
                "type": "message_batch",
                "created_at": created,
                "expires_at": created + timedelta(days=1),
                "processing_status": "in_progress" if made.state == "working" else "ended",
                "cancel_initiated_at": created if made.state == "cancelled" else None,
                "results_url": f"{self.address}/v1/messages/batches/{made.id}/results" if made.outcomes else None,
                "request_counts": {
                    "processing": 0 if made.outcomes else len(made.requests),
                    "succeeded": kinds["answered"],
                    "errored": kinds["busy"] + kinds["refused"],
                    "expired": kinds["expired"],
                    "canceled": 0,
                },
            }
        )
        return batch.model_dump(mode="json")

    def _line(self, outcome: tuple[str, str, dict[str, Any]]) -> bytes:
        from anthropic.types.messages import MessageBatchIndividualResponse

        name, kind, body = outcome
        result: dict[str, Any] = {"type": "expired"}
        if kind == "answered":
            result = {"type": "succeeded", "message": _message(self.sample_of(body)[0])}
        elif kind in ("busy", "refused"):
            word = "api_error" if kind == "busy" else "invalid_request_error"
            error = {"type": "error", "error": {"type": word, "message": f"{kind}: no"}, "request_id": "r"}
            result = {"type": "errored", "error": error}
        line = MessageBatchIndividualResponse.model_validate({"custom_id": name, "result": result})
        return line.model_dump_json(exclude_unset=True).encode() + b"\n"


class GoogleServer(BatchServer):
    """Batches of Google's Gemini API: files that are uploaded in parts, and operations."""

    model = "google/m"
    keeps = False

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """See ``BatchServer``."""
        place, named = urlsplit(path), {name.lower(): value for name, value in headers.items()}
        assert "x-goog-api-key" in named or place.path.startswith("/upload/to/")
        match method, place.path.strip("/").split("/"):
            case "POST", ["upload", "v1" | "v1beta", "files"]:
                return self._start(named, json.loads(body))
            case "POST", ["upload", "to", id]:
                return self._upload(f"files/{id}", named, body)
            case "POST", ["v1" | "v1beta", "models", name] if name.endswith(":batchGenerateContent"):
                return self._create(json.loads(body))
            case "GET", ["v1" | "v1beta", "batches"]:
                return self._list(parse_qs(place.query))
            case "GET", ["v1" | "v1beta", "batches", id]:
                made = next(one for one in self.batches if one.id == id)
                self.look(made)
                return _json(self._shown(made))
            case "GET", ["v1" | "v1beta", "files", name] if name.endswith(":download"):
                assert place.query == "alt=media"
                made = next(one for one in self.batches if f"{one.id}-output:download" == name)
                return 200, b"".join(map(self._line, self.download(made)))
            case "POST", ["v1" | "v1beta", "models", name] if name.endswith(":generateContent"):
                self.plain.append(json.loads(body))
                return _json(_generated(self.sample_of(self.plain[-1])[0]))
        return _json({"error": {"code": 404, "message": f"no such place: {path}", "status": "NOT_FOUND"}}, 404)

    def _start(self, headers: Mapping[str, str], asked: dict[str, Any]) -> tuple[int, bytes]:
        from google.genai.types import File

        File.model_validate(asked["file"])
        assert (headers["x-goog-upload-protocol"], headers["x-goog-upload-command"]) == ("resumable", "start")
        id = f"file{len(self.files)}"
        self.files[f"files/{id}"] = b""
        self.uploads.append(int(headers["x-goog-upload-header-content-length"]))
        self.extra = {"X-Goog-Upload-URL": f"{self.address}/upload/to/{id}", "X-Goog-Upload-Status": "active"}
        return 200, b"{}"

    def _upload(self, name: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        from google.genai.types import File

        assert int(headers["x-goog-upload-offset"]) == len(self.files[name])
        self.files[name] += body
        if headers["x-goog-upload-command"] == "upload":
            self.extra = {"X-Goog-Upload-Status": "active"}
            return 200, b""
        assert headers["x-goog-upload-command"] == "upload, finalize"
        assert len(self.files[name]) == self.uploads[int(name.removeprefix("files/file"))]
        self.extra = {"X-Goog-Upload-Status": "final"}
        file = File(name=name, mime_type="application/jsonl", size_bytes=len(self.files[name]))
        return _json({"file": file.model_dump(mode="json", by_alias=True, exclude_none=True)})

    def _create(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        from google.genai.types import Content, GenerationConfig, SafetySetting

        assert set(asked) == {"batch"}
        assert set(asked["batch"]) == {"displayName", "inputConfig"}
        file = self.files[asked["batch"]["inputConfig"]["fileName"]]
        lines = [json.loads(line) for line in file.split(b"\n") if line]
        for line in lines:
            assert set(line) == {"key", "request"}
            assert set(line["request"]) <= {"contents", "generationConfig", "safetySettings"}
            GenerationConfig.model_validate(line["request"]["generationConfig"])
            for kind, name in ((Content, "contents"), (SafetySetting, "safetySettings")):
                for one in line["request"][name]:
                    kind.model_validate(one)
        requests = [(line["key"], line["request"]) for line in lines]
        made = self.make(requests, {"name": asked["batch"]["displayName"]})
        if made.state == "failed":  # these are found at once here
            self.batches.remove(made)
            full = made.errors[0]["code"] == "token_limit_exceeded"
            status, word = (429, "RESOURCE_EXHAUSTED") if full else (400, "INVALID_ARGUMENT")
            return _json({"error": {"code": status, "message": made.errors[0]["message"], "status": word}}, status)
        if self._chance(self.faults.unsure):
            return _json({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}, 503)
        return _json(self._shown(made))

    def _list(self, query: Mapping[str, list[str]]) -> tuple[int, bytes]:
        start, size = int(query.get("pageToken", ["0"])[0]), int(query["pageSize"][0])
        shown = self.listed()
        more = {"nextPageToken": str(start + size)} if len(shown) > start + size else {}
        return _json({"operations": [self._shown(one) for one in shown[start : start + size]], **more})

    def _shown(self, made: Made) -> dict[str, Any]:
        kinds = Counter(kind for _, kind, _ in made.outcomes)
        ended = "EXPIRED" if kinds["expired"] else "SUCCEEDED"
        state = {"working": "RUNNING" if made.looks else "PENDING", "ended": ended}.get(made.state, made.state.upper())
        output = {"output": {"responsesFile": f"files/{made.id}-output"}} if ended == "SUCCEEDED" and kinds else {}
        metadata = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
            "model": "models/m",
            "displayName": made.metadata.get("name", ""),
            "createTime": datetime.fromtimestamp(made.created, UTC).isoformat(),
            "state": f"BATCH_STATE_{state}",
            "name": f"batches/{made.id}",
            "batchStats": {
                "requestCount": str(len(made.requests)),
                "successfulRequestCount": str(kinds["answered"]),
                "failedRequestCount": str(kinds["busy"] + kinds["refused"]),
            },
        }
        return {"name": f"batches/{made.id}", "done": made.state != "working", "metadata": metadata | output}

    def _line(self, outcome: tuple[str, str, dict[str, Any]]) -> bytes:
        name, kind, body = outcome
        line: dict[str, Any] = {"key": name}
        if kind == "answered":
            line["response"] = _generated(self.sample_of(body)[0])
        else:
            line["error"] = {"code": 13 if kind == "busy" else 3, "message": f"{kind}: no"}
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _generated(number: int) -> dict[str, Any]:
    from google.genai.types import GenerateContentResponse

    read, written = tokens(number)
    response = {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": f"answer {number}\u2028ü"}]},
                "finish_reason": "STOP",
                "index": 0,
            }
        ],
        "usage_metadata": {
            "prompt_token_count": read,
            "cached_content_token_count": number % 5,
            "candidates_token_count": written - number % 3,
            "thoughts_token_count": number % 3,
            "total_token_count": read + written,
        },
        "model_version": "m",
        "response_id": "r",
    }
    made = GenerateContentResponse.model_validate(response)
    return made.model_dump(mode="json", by_alias=True, exclude_none=True)


def _message(number: int) -> dict[str, Any]:
    from anthropic.types import Message

    read, written = tokens(number)
    message = {
        **{"id": "msg", "type": "message", "role": "assistant", "model": "m"},
        **{"content": [{"type": "text", "text": f"answer {number}\u2028ü"}]},
        **{"stop_reason": "end_turn", "stop_sequence": None},
        **{"usage": {"input_tokens": read, "output_tokens": written}},
    }
    return Message.model_validate(message).model_dump(mode="json")


def _json(value: object, status: int = 200) -> tuple[int, bytes]:
    return status, json.dumps(value).encode()
