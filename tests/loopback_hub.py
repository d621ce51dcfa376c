"""A hub on the loopback that serves data sets which tests make, as huggingface_hub asks for them.

Large files (here: all but those named ``small*``) answer with a redirect to a storage on another host and carry their
SHA-256 as the linked ETag; small ones are served at once, under the id of their Git blob, or after a redirect within
the hub (``cached``). Names of data sets that have moved redirect to their present ones. Faults are injected by method
and path, and every request is remembered.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import unquote

from fathom.documents.sources import HubFile, Shape, Source

# A proxy of the machine must not stand between a test and its server.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

DATASET = "someone/texts"


@dataclass
class Fault:
    """What goes wrong with the next requests for a path.

    Attributes:
        method: GET or HEAD.
        path: End of the path that it is about.
        status: Status of the answer instead of the file.
        code: ``X-Error-Code`` of that answer.
        cut: Close the connection after so many bytes of the answer.
        stall: Send nothing more after so many bytes, until the hub is closed.
        body: Serve this instead of the file.
        whole: Answer a range with the whole file.
        sized: Say how long the answer is.
        page: Answer with this page instead.
        headers: Further headers of an answer with ``status``.
        times: How often.
    """

    method: str
    path: str
    status: int = 0
    code: str = ""
    cut: int | None = None
    stall: int | None = None
    body: bytes | None = None
    whole: bool = False
    sized: bool = True
    page: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1


@dataclass
class Request:
    """One request that came, and the bytes of a file that were sent for it."""

    method: str
    path: str
    range: str
    token: str
    storage: bool
    sent: int = 0


@dataclass
class LoopbackHub:
    """Runs in threads; use as a context manager."""

    revisions: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    log: list[Request] = field(default_factory=list)
    announce: bool = True
    cached: bool = False
    moved: dict[str, str] = field(default_factory=dict)

    def publish(self, files: dict[str, bytes], dataset: str = DATASET) -> str:
        """Add a revision of a data set, and give its commit."""
        digest = hashlib.sha1(dataset.encode())
        for path in sorted(files):
            digest.update(path.encode() + files[path])
        commit = digest.hexdigest()
        self.revisions.setdefault(dataset, {})[commit] = files
        self.heads[dataset] = commit
        return commit

    def fail(self, method: str, path: str, **fault: object) -> None:
        self.faults.append(Fault(method, path, **fault))  # type: ignore[arg-type]

    def downloads(self, path: str = "") -> list[Request]:
        """Requests for the content of files whose path ends so."""
        return [one for one in self.log if one.method == "GET" and one.sent and one.path.endswith(path)]

    def __enter__(self) -> LoopbackHub:
        self.closing = threading.Event()
        self.reached = threading.Event()  # a stall has begun
        self._hub, self._storage = _Server(self, storage=False), _Server(self, storage=True)
        self.url, self.storage_url = self._hub.url, self._storage.url
        self._threads = [threading.Thread(target=one.serve_forever, args=(0.01,)) for one in (self._hub, self._storage)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.closing.set()
        for server in (self._hub, self._storage):
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()

    def fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.times and fault.method == method and path.endswith(fault.path):
                fault.times -= 1
                return fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub: LoopbackHub, storage: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub, self.storage = hub, storage
        self.url = f"http://{'localhost' if storage else '127.0.0.1'}:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that went away is what some tests are about


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub, path = self.server.hub, unquote(self.path)
        token = self.headers.get("Authorization", "")
        request = Request(self.command, path, self.headers.get("Range", ""), token, self.server.storage)
        hub.log.append(request)
        api = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/revision/(.+))?", path)
        file = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        small = re.fullmatch(r"/api/resolve-cache/datasets/([^/]+/[^/]+)/([^/]+)/(.+)", path)
        stored = re.fullmatch(r"/storage/([^/]+/[^/]+)/([^/]+)/(.+)", path) if self.server.storage else None
        # Faults of the transfer happen where the content is: for large files in the storage.
        linked = file is not None and not file[3].rpartition("/")[2].startswith("small")
        fault = None if linked and self.command == "GET" else hub.fault(self.command, path)
        if fault and fault.status:
            return self._send(fault.status, code=fault.code, headers=fault.headers)
        if fault and fault.page:
            return self._send(200, fault.page)
        named = api or file
        if named and named[1] in hub.moved:
            return self._send(307, headers={"Location": self.path.replace(named[1], hub.moved[named[1]], 1)})
        if file and hub.cached and not linked:
            return self._send(307, headers={"Location": f"/api/resolve-cache/datasets/{'/'.join(file.groups())}"})
        if api:
            if api[1] not in hub.heads:
                return self._send(404, code="RepoNotFound")
            facts: dict[str, object] = {"id": api[1], "sha": hub.heads[api[1]], "siblings": []}
            return self._send(200, json.dumps(facts).encode())
        found = file or small or stored
        if not found or found[1] not in hub.revisions:
            return self._send(401 if found else 404, code="RepoNotFound" if found else "")
        dataset, revision, name = found.groups()
        files = hub.revisions[dataset].get(hub.heads[dataset] if revision == "main" else revision)
        if files is None:
            return self._send(404, code="RevisionNotFound")
        if name not in files:
            return self._send(404, code="EntryNotFound")
        self._file(request, fault, found.groups(), files[name])

    def _file(self, request: Request, fault: Fault | None, found: tuple[str, ...], content: bytes) -> None:
        hub, (dataset, revision, name) = self.server.hub, found
        headers = {"X-Repo-Commit": revision, "Accept-Ranges": "bytes"}
        if name.rpartition("/")[2].startswith("small"):
            headers["ETag"] = '"' + hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() + '"'
        elif not self.server.storage:
            headers["Location"] = f"{hub.storage_url}/storage/{dataset}/{revision}/{name}"
            headers["X-Linked-Size"] = str(len(content))
            name_of_content = hashlib.sha256(content).hexdigest() if hub.announce else hashlib.md5(content).hexdigest()
            headers["X-Linked-ETag"] = f'"{name_of_content}"'
            return self._send(302, headers=headers)
        if fault and fault.body is not None:
            content = fault.body
        start, status = 0, 200
        if request.range and not (fault and fault.whole):
            start, status = int(request.range.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(content):
                return self._send(416)
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._send(status, content[start:], headers=headers, fault=fault, request=request)

    def _send(
        self,
        status: int,
        body: bytes = b"",
        *,
        code: str = "",
        headers: dict[str, str] | None = None,
        fault: Fault | None = None,
        request: Request | None = None,
    ) -> None:
        self.send_response(status)
        if fault is None or fault.sized:
            self.send_header("Content-Length", str(len(body)))
        for name, value in {**(headers or {}), **({"X-Error-Code": code} if code else {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        stop = next((at for at in (fault.cut, fault.stall) if at is not None), None) if fault else None
        sent = body if stop is None else body[:stop]
        if request:
            request.sent = len(sent)
        with suppress(ConnectionError):
            self.wfile.write(sent)
            self.wfile.flush()
        if stop is not None:
            if fault and fault.stall is not None:
                self.server.hub.reached.set()
                self.server.hub.closing.wait()
            self.close_connection = True


def source_of(
    *files: HubFile | str,
    dataset: str = DATASET,
    revision: str = "",
    name: str = "texts",
    shapes: tuple[Shape, ...] = (),
) -> Source:
    """A declared source of these files."""
    return Source(
        name=name,
        dataset=dataset,
        revision=revision,
        files=tuple(HubFile(file) if isinstance(file, str) else file for file in files),
        shapes=shapes,
        licence="CC-BY-4.0",
        citation="Someone 2024: Texts",
        description="texts of someone",
    )
