"""Clients that are slow, many or never satisfied, on real sockets: others get their answers meanwhile."""

from __future__ import annotations

import json
import resource
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from fathom.board.serve.publishing import INCOMING
from fathom.board.serve.store import Store
from fathom.board.serve.tokens import make_token
from fathom.server.connections import FILES, room_for
from loopback_board import GO, get, post, serving

pytestmark = pytest.mark.slow
HALF = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def tokens(store: Store) -> dict[str, str]:
    roles = {"ann": "submit", "bob": "submit", "mo": "moderate"}
    return {who: f"Bearer {make_token(store, who, role)}" for who, role in roles.items()}


@pytest.fixture
def start(place: str, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts a server with other limits, and gives its address."""
    with ExitStack() as started:

        def start(slow: float = 0.0, proxies: tuple[str, ...] = (), files: int = 0, **limits: float) -> str:
            log = tmp_path / "log"
            server = serving(place, tmp_path / "out", slow=slow, log=log, limits=limits, proxies=proxies, files=files)
            return started.enter_context(server)[0]

        yield start


@pytest.fixture
def attackers() -> Iterator[Callable[..., list[socket.socket]]]:
    """Opens connections that say something and then nothing; all are closed at the end."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip(f"only {hard} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    opened: list[socket.socket] = []

    def attack(address: str, count: int, said: bytes, source: str = "127.0.0.1") -> list[socket.socket]:
        url = httpx.URL(address)
        fresh = []
        for _ in range(count):
            one = socket.create_connection((url.host, url.port or 80), timeout=30, source_address=(source, 0))
            opened.append(one)
            fresh.append(one)
            with suppress(OSError):
                one.sendall(said)
        return fresh

    yield attack
    for one in opened:
        one.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def send(address: str, token: str, content: bytes) -> httpx.Response:
    headers = {"Content-Type": "application/zip", "Authorization": token}
    return post(f"{address}api/submissions", content=content, headers=headers)


def wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def dripping(one: socket.socket) -> Iterator[None]:
    """A byte is sent every tenth of a second."""
    stop = threading.Event()

    def drip() -> None:
        with suppress(OSError):
            while not stop.wait(0.1):
                one.send(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def is_closed(one: socket.socket, seconds: float = 60) -> bool:
    """Whether the other side ends the connection within that time, whatever it says before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([one], [], [], max(end - time.monotonic(), 0))[0]:
            return False
        try:
            if not one.recv(65536):
                return True
        except ConnectionError:
            return True
    return False


def head(token: str, length: int) -> bytes:
    lines = ["POST /api/submissions HTTP/1.1", "Host: x", f"Authorization: {token}", "Content-Type: application/zip"]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


# -------------------------------------------------------------------------------------------- many connections


@pytest.mark.parametrize("source", ["127.0.0.2", "127.0.0.1"], ids=["of another address", "of the same address"])
@pytest.mark.parametrize("said", [b"", HALF], ids=["silent", "half a request"])
def test_nine_hundred_half_open_connections_stop_nobody(
    tokens: dict[str, str],
    start: Callable[..., str],
    attackers: Callable[..., list[socket.socket]],
    source: str,
    said: bytes,
) -> None:
    """They stay for longer than the test takes; whoever comes after them is answered."""
    address = start(header_seconds=600)
    attackers(address, 900, said, source)
    assert get(f"{address}healthz").status_code == 200
    assert send(address, tokens["ann"], b"good model").status_code == 201
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda _: get(f"{address}healthz").status_code, range(24))
        assert set(answers) == {200}


def test_many_addresses_fill_the_server_and_the_newcomer_gets_in(
    start: Callable[..., str], attackers: Callable[..., list[socket.socket]]
) -> None:
    address = start(header_seconds=600, connections=100, per_address=20)
    for number in range(2, 40):
        attackers(address, 20, HALF, f"127.0.0.{number}")
    assert get(f"{address}healthz").status_code == 200


def test_who_has_all_requests_under_way_waits_and_others_do_not(
    tokens: dict[str, str], start: Callable[..., str], attackers: Callable[..., list[socket.socket]], tmp_path: Path
) -> None:
    """A slow body is a request under way, which gives way to nobody: an address has only so many."""
    address = start(per_address=4, under_way=100, idle_seconds=600)
    attackers(address, 4, head(tokens["ann"], 1000) + b"good", "127.0.0.2")
    wait(lambda: len(list((tmp_path / "out" / INCOMING).iterdir())) == 4)
    (fifth,) = attackers(address, 1, b"", "127.0.0.2")
    assert is_closed(fifth)
    assert send(address, tokens["bob"], b"good model").status_code == 201


def test_few_open_files_are_few_connections_and_not_a_dead_server(
    start: Callable[..., str], attackers: Callable[..., list[socket.socket]], tmp_path: Path
) -> None:
    address = start(files=120, header_seconds=600)
    attackers(address, 300, HALF, "127.0.0.2")
    for _ in range(5):
        assert get(f"{address}healthz").status_code == 200
    assert "the limit of open files is 120" in (tmp_path / "log").read_text("utf-8")


def test_there_is_room_for_what_the_system_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
        assert room_for(200) == 200
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 200 + FILES
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ---------------------------------------------------------------------------------------------- slow requests


@pytest.mark.parametrize(
    "said",
    [b"", HALF, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + HALF, b"POST /none HTTP/1.1\r\nHost: x\r\n\r\nPO"],
    ids=["silent", "first headers", "second headers", "second line"],
)
def test_headers_have_so_much_time(
    start: Callable[..., str], attackers: Callable[..., list[socket.socket]], said: bytes
) -> None:
    """Also where a byte comes now and then."""
    (one,) = attackers(start(header_seconds=0.5), 1, said)
    with dripping(one):
        assert is_closed(one)


@pytest.mark.parametrize("path", ["/api/submissions", "/api/submissions/abc/withdraw"])
def test_bodies_that_stop_are_answered_and_ended(
    tokens: dict[str, str], start: Callable[..., str], attackers: Callable[..., list[socket.socket]], path: str
) -> None:
    address = start(idle_seconds=0.5)
    said = head(tokens["ann"], 1000).replace(b"/api/submissions", path.encode()) + b"good"
    (one,) = attackers(address, 1, said)
    answer = b""
    with suppress(ConnectionError):
        while piece := one.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 408"), answer
    assert b"0.5 seconds" in answer


def test_a_body_after_the_answer_holds_no_place(
    start: Callable[..., str], attackers: Callable[..., list[socket.socket]]
) -> None:
    """Without a token nothing of a body is read; who goes on sending it is ended."""
    (one,) = attackers(start(header_seconds=0.5), 1, head("Bearer nobody", 1000) + b"x")
    with dripping(one):
        assert is_closed(one)


def test_readers_that_do_not_read_are_ended(
    tokens: dict[str, str], start: Callable[..., str], attackers: Callable[..., list[socket.socket]], tmp_path: Path
) -> None:
    address = start(write_seconds=0.5, bundle_bytes=20 << 20)
    id = send(address, tokens["ann"], b"good model" + b"x" * (12 << 20)).json()["id"]
    asked = f"GET /api/submissions/{id}/bundle HTTP/1.1\r\nHost: x\r\nAuthorization: {tokens['mo']}\r\n\r\n".encode()
    (one,) = attackers(address, 1, asked)
    wait(lambda: f"/api/submissions/{id}/bundle 200" in log_of(tmp_path))  # the request is over, and nothing was read
    got = 0
    with suppress(ConnectionError):
        while piece := one.recv(1 << 20):
            got += len(piece)
    assert got < 12 << 20
    assert get(f"{address}healthz").status_code == 200


# ------------------------------------------------------------------------------------------------------ turns


def test_a_small_bundle_does_not_wait_behind_three_large_ones_of_another(
    tokens: dict[str, str], start: Callable[..., str], tmp_path: Path
) -> None:
    """The large ones are not done before the small one is: their checks wait for a file."""
    address = start(checks=2)
    with ThreadPoolExecutor(4) as threads:
        large = [threads.submit(send, address, tokens["ann"], b"good held-%d" % number) for number in range(3)]
        wait(lambda: len(list((tmp_path / "out" / INCOMING).iterdir())) == 3)
        assert send(address, tokens["bob"], b"good small").status_code == 201
        assert not any(one.done() for one in large)
        (tmp_path / "out" / GO).touch()
        assert [one.result().status_code for one in large] == [201] * 3


def test_a_person_has_only_so_many_on_the_way(
    tokens: dict[str, str], start: Callable[..., str], tmp_path: Path
) -> None:
    address = start(under_way=2)
    with ThreadPoolExecutor(4) as threads:
        held = [threads.submit(send, address, tokens["ann"], b"good held-%d" % number) for number in range(2)]
        wait(lambda: len(list((tmp_path / "out" / INCOMING).iterdir())) == 2)
        refused = send(address, tokens["ann"], b"good model")
        assert (refused.status_code, "processed at once" in refused.json()["error"]) == (429, True)
        assert int(refused.headers["retry-after"]) > 0
        assert send(address, tokens["bob"], b"good model").status_code == 201
        (tmp_path / "out" / GO).touch()
        assert [one.result().status_code for one in held] == [201] * 2
    assert send(address, tokens["ann"], b"good later").status_code == 201


# ---------------------------------------------------------------------------------------------------- proxies


def log_of(tmp_path: Path) -> str:
    return (tmp_path / "log").read_text("utf-8")


def test_a_forwarded_address_is_believed_of_a_proxy_only(start: Callable[..., str], tmp_path: Path) -> None:
    forged = {"X-Forwarded-For": "203.0.113.9"}
    get(f"{start()}healthz", headers=forged)
    wait(lambda: "GET /healthz 200" in log_of(tmp_path))  # a line is written when the reply has gone out
    assert "203.0.113.9" not in log_of(tmp_path)
    get(f"{start(proxies=('127.0.0.1',))}healthz", headers=forged)
    wait(lambda: "203.0.113.9 - GET /healthz 200" in log_of(tmp_path))


def test_behind_a_proxy_each_forwarded_address_has_its_limit(
    tokens: dict[str, str], start: Callable[..., str], attackers: Callable[..., list[socket.socket]]
) -> None:
    address = start(proxies=("127.0.0.1",), per_address=2, under_way=100, idle_seconds=600)
    said = head(tokens["ann"], 1000).replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 203.0.113.9") + b"good"
    attackers(address, 2, said)

    def health(of: str) -> int:
        return get(f"{address}healthz", headers={"X-Forwarded-For": of}).status_code

    end = time.monotonic() + 60
    while health("203.0.113.9") != 429:
        assert time.monotonic() < end
    assert {health("203.0.113.10") for _ in range(5)} == {200}
    for _ in range(70):  # more connections of the proxy than an address may have
        attackers(address, 1, HALF)
    assert health("203.0.113.10") == 200


# ----------------------------------------------------------------------------------------------------- nonsense


def test_who_hangs_up_within_a_decision_is_no_failure(
    tokens: dict[str, str], start: Callable[..., str], attackers: Callable[..., list[socket.socket]], tmp_path: Path
) -> None:
    address = start()
    id = send(address, tokens["ann"], b"good model").json()["id"]
    said = head(tokens["mo"], 1000).replace(b"/api/submissions", f"/api/submissions/{id}/accept".encode())
    (one,) = attackers(address, 1, said + b"{")
    one.close()
    wait(lambda: "/accept" in log_of(tmp_path))
    assert "Traceback" not in log_of(tmp_path)
    assert get(f"{address}healthz").status_code == 200


def test_nonsense_is_answered_or_ended_and_harms_nobody(
    tokens: dict[str, str], start: Callable[..., str], attackers: Callable[..., list[socket.socket]], tmp_path: Path
) -> None:
    """Tokens, paths, headers and bodies made of mutated right ones: no answer is a failure of the server."""
    import random

    rng = random.Random(20260131)
    address = start(header_seconds=2, idle_seconds=2, per_hour=100_000)
    body = json.dumps({"reason": "because", "decision": 1}).encode()
    id = send(address, tokens["ann"], b"good model").json()["id"]
    paths = ["/", "/moderate", "/api/submissions", f"/api/submissions/{id}/undo", "/api/decisions", "/data/site.js"]
    paths += [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%5c..%5cx",
        "//etc/passwd",
        "/data/%00.js",
        "/bundles/",
    ]
    paths += [f"/api/submissions/{name}" for name in ("..", "%2f", "'--", b"\x00".hex(), "a" * 5000)]
    codes: dict[int, int] = {}
    for number in range(400):
        who = rng.choice([*tokens.values(), "Bearer ", "Bearer x", "Basic eA==", tokens["ann"][:-3] + "AAA"])
        lines = [f"{rng.choice(['GET', 'POST', 'HEAD', 'PUT', 'TRACE'])} {rng.choice(paths)} HTTP/1.1".encode()]
        lines += [b"Host: x", f"Authorization: {who}".encode(), f"Content-Length: {len(body)}".encode()]
        lines += [
            rng.choice([b"Content-Type: application/zip", b"Range: bytes=5-2", b"If-None-Match: \xff", b"Expect: x"])
        ]
        raw = bytearray(b"\r\n".join([*lines, b"Connection: close", b"", body]))
        for _ in range(rng.randrange(4) if number % 2 else 0):
            at = rng.randrange(len(raw))
            raw[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        (one,) = attackers(address, 1, bytes(raw))
        said = b""
        with suppress(ConnectionError):
            one.shutdown(socket.SHUT_WR)
            while piece := one.recv(65536):
                said += piece
        one.close()
        if said:
            code = int(said.split(b" ", 2)[1])
            codes[code] = codes.get(code, 0) + 1
            assert b"root:" not in said
    assert codes
    assert not [code for code in codes if code >= 500], codes
    assert "Traceback" not in log_of(tmp_path), log_of(tmp_path).partition("Traceback")[2][:6000]
    assert get(f"{address}healthz").status_code == 200
