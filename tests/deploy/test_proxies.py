"""nginx and Caddy, configured as ``deploy`` does it, in front of the real servers."""

from __future__ import annotations

import re
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from proxies import NAMES, Proxy, free_port, proxy

from fathom.board.serve.store import Store
from fathom.board.serve.tokens import make_token
from fathom.server.answers import HEADERS
from loopback_board import get, serving
from processes import Program, start_program, until

pytestmark = [pytest.mark.slow, pytest.mark.long]
MIB = 1 << 20


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    named: str = request.param
    return named


@pytest.fixture
def token(tmp_path: Path) -> str:
    with closing(Store(str(tmp_path / "store"))) as store:
        return f"Bearer {make_token(store, 'ann', 'submit')}"


@contextmanager
def board(name: str, tmp_path: Path, upload_seconds: int = 20, **more: Any) -> Iterator[tuple[Proxy, str]]:
    """A proxy in front of a leaderboard, and the leaderboard's own address."""
    with (
        serving(
            str(tmp_path / "store"), tmp_path / "out", proxies=("127.0.0.1",), log=tmp_path / "server.log", **more
        ) as (address, _),
        proxy(name, "board", address, tmp_path / "proxy", upload_seconds=upload_seconds) as front,
    ):
        until(lambda: get(address).status_code == 200)
        yield front, address


def sent(token: str) -> dict[str, str]:
    return {"Content-Type": "application/zip", "Authorization": token}


def test_a_bundle_passes_and_what_is_too_large_does_not(name: str, tmp_path: Path, token: str) -> None:
    with board(name, tmp_path, limits={"bundle_bytes": 64 * MIB}) as (front, _), front.client() as client:
        content = b"good large " + bytes(64 * MIB - 11)
        answer = client.post("api/submissions", content=content, headers=sent(token))
        assert answer.status_code == 201
        assert answer.json()["size"] == 64 * MIB
        # Somewhat too large: the server says it in JSON. Much too large: the proxy refuses it.
        over = client.post("api/submissions", content=content + b"x", headers=sent(token))
        assert over.status_code == 413
        assert "64 MiB" in over.json()["error"]
        assert _status(client, content + bytes(4 * MIB), sent(token)) == 413
        wrong = client.post("api/submissions", content=content, headers=sent("Bearer none"))
        assert wrong.status_code == 401


def _status(client: httpx.Client, content: bytes, headers: dict[str, str]) -> int:
    return client.post("api/submissions", content=content, headers=headers).status_code


def test_pages_are_the_same_and_no_header_comes_twice(name: str, tmp_path: Path, token: str) -> None:
    with board(name, tmp_path) as (front, address), front.client() as client:
        for coding in ("identity", "gzip"):
            asked = {"Accept-Encoding": coding}
            with client.stream("GET", "site.css", headers=asked) as through:
                body = b"".join(through.iter_raw())
            with httpx.stream("GET", f"{address}site.css", headers=asked, verify=False, timeout=None) as direct:
                assert b"".join(direct.iter_raw()) == body
            assert through.headers.get("content-encoding") == direct.headers.get("content-encoding")
            assert through.headers["etag"] == direct.headers["etag"]
        names = [key.lower() for key, _ in through.headers.multi_items()]
        for one in (*HEADERS, "X-Request-ID", "Cache-Control", "ETag", "Date", "Strict-Transport-Security"):
            assert names.count(one.lower()) == 1, one
        known = client.get("site.css", headers={"If-None-Match": through.headers["etag"], **asked})
        assert known.status_code == 304
        assert not known.content


def test_the_address_and_the_id_of_a_request_are_those_of_the_proxy(name: str, tmp_path: Path, token: str) -> None:
    with board(name, tmp_path) as (front, _), front.client() as client:
        forged = {"X-Forwarded-For": "203.0.113.9", "X-Real-IP": "203.0.113.9", "X-Request-ID": "forged-by-somebody"}
        answer = client.get("health/live", headers=forged)
        assert re.fullmatch(r"[0-9a-f-]{32,36}", answer.headers["x-request-id"])
        until(lambda: "GET /health/live 200" in (tmp_path / "server.log").read_text("utf-8"))
        line = next(one for one in (tmp_path / "server.log").read_text("utf-8").splitlines() if "/health/live" in one)
        assert " 127.0.0.1 - GET" in line


def test_limits_of_an_address_hold_behind_a_proxy(name: str, tmp_path: Path, token: str) -> None:
    with board(name, tmp_path, limits={"per_address": 2}) as (front, _):
        (tmp_path / "out" / "go").unlink(missing_ok=True)

        def send(number: int) -> int:
            with front.client() as client:
                return _status(client, f"good held-{number}".encode(), sent(token))

        with ThreadPoolExecutor(2) as threads:
            both = [threads.submit(send, number) for number in range(2)]
            with front.client() as client:
                until(lambda: client.get("health/live").status_code == 429)
                (tmp_path / "out" / "go").touch()
                assert [one.result() for one in both] == [201, 201]
                assert client.get("health/live").status_code == 200


def test_a_slow_sender_is_ended_and_others_are_served(name: str, tmp_path: Path, token: str) -> None:
    with board(name, tmp_path, upload_seconds=2, limits={"idle_seconds": 1}) as (front, _):
        context = ssl.create_default_context(cafile=front.certificate)
        with context.wrap_socket(
            socket.create_connection(("localhost", front.port)), server_hostname="localhost"
        ) as slow:
            head = f"POST /api/submissions HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n"
            slow.sendall(f"{head}Content-Type: application/zip\r\nContent-Length: 1000\r\n\r\ngood".encode())
            with front.client() as client:
                assert client.get("").status_code == 200
            assert slow.recv(1000).split()[1] in (b"408", b"502")


def test_no_acknowledged_submission_is_lost_when_the_server_restarts(name: str, tmp_path: Path, token: str) -> None:
    """SIGTERM as a service manager sends it, twice, while four people submit through the proxy."""
    port, place, stop = free_port(), tmp_path / "store", threading.Event()
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import restarting_board as b; b.start()"
    acknowledged: dict[int, str] = {}
    failed: list[str] = []

    def start() -> Program:
        process = start_program(program, str(port), place, tmp_path / "out")
        until(lambda: _answers(port), process)
        return process

    def submit(person: int) -> None:
        number = person
        with front.client() as client:
            while not stop.is_set():
                try:
                    answer = client.post(
                        "api/submissions", content=f"good model-{number} ".encode() + bytes(MIB), headers=sent(token)
                    )
                except httpx.HTTPError as error:
                    failed.append(type(error).__name__)  # unanswered: it may be sent again
                    continue
                if answer.status_code in (201, 409):
                    acknowledged[number] = answer.json()["id"]
                    number += 4
                else:
                    failed.append(str(answer.status_code))
                    assert answer.status_code in (502, 503, 504)
                    time.sleep(0.05)

    process = start()
    try:
        with (
            proxy(name, "board", f"http://127.0.0.1:{port}", tmp_path / "proxy") as front,
            ThreadPoolExecutor(4) as threads,
        ):
            people = [threads.submit(submit, person) for person in range(4)]
            try:
                for goal in (8, 16):
                    until(lambda goal=goal: len(acknowledged) >= goal)  # type: ignore[misc]
                    process.send_signal(signal.SIGTERM)
                    process.wait()
                    process = start()
                until(lambda: len(acknowledged) >= 24)
            finally:
                stop.set()
            for one in people:
                one.result()
    finally:
        stop.set()
        process.kill()
        process.wait()
    with closing(Store(str(place))) as store:
        there = {one.id for one in store.listed()}
        assert set(acknowledged.values()) <= there


def _answers(port: int) -> bool:
    try:
        return get(f"http://127.0.0.1:{port}/health/live").status_code == 200
    except httpx.HTTPError:
        return False
