"""Servers as processes of their own on the loopback: many clients at once, two servers on one store, and kill -9."""

from __future__ import annotations

import hashlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from fathom.board.serve.publishing import INCOMING
from fathom.board.serve.store import Store
from fathom.board.serve.tokens import make_token
from loopback_board import get, post, serving
from processes import until

pytestmark = pytest.mark.slow


@pytest.fixture
def tokens(store: Store) -> dict[str, str]:
    """Headers of one who submits and one who moderates."""
    roles = {"ann": "submit", "mo": "moderate"}
    return {who: f"Bearer {make_token(store, who, role)}" for who, role in roles.items()}


@pytest.fixture
def start(place: str, tmp_path: Path) -> Iterator[Callable[..., tuple[str, Any]]]:
    """Starts a server; those that still live are killed at the end."""
    with ExitStack() as started:
        yield lambda name="out", slow=0.0: started.enter_context(
            serving(place, tmp_path / name, slow=slow, log=tmp_path / "log")
        )


def bundle(number: int) -> bytes:
    """A made bundle of several pieces."""
    return f"good model-{number} ".encode() + bytes([number % 256]) * 1_100_000


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def send(address: str, token: str, content: bytes) -> httpx.Response:
    headers = {"Content-Type": "application/zip", "Authorization": token}
    return post(f"{address}api/submissions", content=content, headers=headers)


def check_stored(store: Store, ids: set[str]) -> None:
    """Each of these submissions is there once, with all its bytes."""
    there = [one.id for one in store.listed()]
    assert len(there) == len(set(there))
    assert ids <= set(there)
    for id in there:
        assert digest(b"".join(store.content(id))) == id


def test_forty_submissions_at_once_are_stored_once(
    store: Store, tokens: dict[str, str], start: Callable[..., tuple[str, Any]], tmp_path: Path
) -> None:
    """From eight threads to two servers on one store; every fourth bundle is sent to both."""
    addresses = [start("out")[0], start("out2")[0]]
    orders = [(addresses[number % 2], number) for number in range(40)]
    orders += [(addresses[(number + 1) % 2], number) for number in range(0, 40, 4)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda order: send(order[0], tokens["ann"], bundle(order[1])), orders))
    assert [answer.status_code for answer in answers].count(201) == 40
    assert {answer.status_code for answer in answers} == {201, 409}
    for (_, number), answer in zip(orders, answers, strict=True):
        assert answer.json()["id"] == digest(bundle(number))
    check_stored(store, {answer.json()["id"] for answer in answers})
    assert len(store.listed()) == 40
    assert not [*(tmp_path / "out" / INCOMING).iterdir(), *(tmp_path / "out2" / INCOMING).iterdir()]


def test_decisions_at_once_reach_both_sites(
    store: Store, tokens: dict[str, str], start: Callable[..., tuple[str, Any]]
) -> None:
    """Eight threads accept twelve submissions at two servers; each decision is made once, each site shows them all."""
    addresses = [start("out")[0], start("out2")[0]]
    ids = [send(addresses[0], tokens["ann"], bundle(number)).json()["id"] for number in range(12)]

    def accept(order: tuple[str, str]) -> int:
        path = f"{order[0]}api/submissions/{order[1]}/accept"
        return post(path, headers={"Authorization": tokens["mo"]}, json={"reason": "right"}).status_code

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(accept, [(address, id) for id in ids for address in addresses]))
    assert sorted(answers) == [200] * 12 + [409] * 12
    assert store.accepted() == sorted(ids)
    for address in addresses:
        until(lambda address=address: all(id in get(address).text for id in ids))  # type: ignore[misc]


def test_two_servers_share_a_folder_of_sites(
    store: Store, tokens: dict[str, str], start: Callable[..., tuple[str, Any]], tmp_path: Path
) -> None:
    addresses = [start("out")[0], start("out")[0]]
    ids = [send(addresses[number % 2], tokens["ann"], bundle(number)).json()["id"] for number in range(6)]
    for number, id in enumerate(ids):
        path = f"{addresses[number % 2]}api/submissions/{id}/accept"
        assert post(path, headers={"Authorization": tokens["mo"]}, json={"reason": "right"}).status_code == 200
    for address in addresses:
        site = f"{address}api/site"
        until(lambda site=site: get(site, headers={"Authorization": tokens["mo"]}).json()["current"])  # type: ignore[misc]
        assert all(id in get(address).text for id in ids)
    assert not list((tmp_path / "out" / "sites").glob("making-*"))


def test_killed_servers_lose_nothing_that_was_acknowledged(
    store: Store, tokens: dict[str, str], start: Callable[..., tuple[str, Any]], tmp_path: Path
) -> None:
    """Three times a server is killed amid submissions, with and without a moment for them to end."""
    acknowledged: dict[str, int] = {}
    for round, moment in enumerate((0.15, 0.4, 0.8)):
        address, process = start(slow=0.05)
        stop = threading.Event()

        def keep_sending(worker: int, address: str = address, round: int = round, stop: threading.Event = stop) -> None:
            for number in range(1000):
                if stop.is_set():
                    return
                name = worker + 4 * number + 1000 * round
                try:
                    answer = send(address, tokens["ann"], bundle(name))
                except httpx.HTTPError:
                    return
                if answer.status_code == 201:
                    acknowledged[answer.json()["id"]] = name

        threads = [threading.Thread(target=keep_sending, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        until(lambda round=round: any(number >= 1000 * round for number in acknowledged.values()))  # type: ignore[misc]
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        stop.set()
        for thread in threads:
            thread.join()
        check_stored(store, set(acknowledged))
    address, _ = start()
    assert list((tmp_path / "out" / INCOMING).iterdir()) == []  # what the dead were being sent
    assert send(address, tokens["ann"], b"good once more").status_code == 201


def test_a_server_that_was_killed_before_it_published_does_it_when_it_starts(
    store: Store, tokens: dict[str, str], start: Callable[..., tuple[str, Any]]
) -> None:
    address, process = start()
    id = send(address, tokens["ann"], bundle(1)).json()["id"]
    process.kill()
    process.wait()
    store.decide(id, ["pending"], "accepted", by="mo", reason="")  # as if it had come to that, and no further
    address, _ = start()
    until(lambda: id in get(address).text)


def test_a_server_ends_when_it_is_asked_to(
    store: Store, tokens: dict[str, str], start: Callable[..., tuple[str, Any]], tmp_path: Path
) -> None:
    address, process = start(slow=1.0)
    with ThreadPoolExecutor(1) as threads:
        late = threads.submit(send, address, tokens["ann"], bundle(1))
        until(lambda: any((tmp_path / "out" / INCOMING).iterdir()))  # it is being checked
        process.send_signal(signal.SIGTERM)
        answer = late.result()
    process.wait()
    assert answer.status_code == 201  # what was under way is done first
    check_stored(store, {answer.json()["id"]})


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_is_no_request_harms_nobody(
    store: Store, tokens: dict[str, str], start: Callable[..., tuple[str, Any]], tmp_path: Path
) -> None:
    """Senders that stop halfway, speak nonsense or never say a word; others are served meanwhile and after."""
    address, process = start()
    url = httpx.URL(address)
    head = f"POST /api/submissions HTTP/1.1\r\nHost: x\r\nAuthorization: {tokens['ann']}\r\n".encode()
    head += b"Content-Type: application/zip\r\n"
    raw = [
        head + b"Content-Length: 1000\r\n\r\ngood",
        head + b"Transfer-Encoding: chunked\r\n\r\n5\r\ngood \r\nzz\r\n",
        head + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\ngood m",
        head + b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n6\r\ngood m\r\n0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\0" * 100_000,
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(20_000)) + b"\r\n",
        b"GET http://elsewhere/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET \xff\xfe HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"",
    ]
    open_ones = []
    for content in raw:
        sender = socket.create_connection((url.host, url.port or 80))
        open_ones.append(sender)
        with suppress(OSError):  # it may hang up on us, as it should
            sender.sendall(content)
        assert get(f"{address}healthz").status_code == 200
    for sender in open_ones:
        sender.close()
    assert process.poll() is None
    assert send(address, tokens["ann"], b"good m2").status_code == 201
    assert {one.id for one in store.listed()} <= {digest(b"good m"), digest(b"good m2")}
    until(lambda: not list((tmp_path / "out" / INCOMING).iterdir()))
    assert tokens["ann"].partition(" ")[2] not in (tmp_path / "log").read_text("utf-8")
