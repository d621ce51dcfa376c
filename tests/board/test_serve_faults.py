"""What goes wrong around a server: tokens that end while a body comes, folders that go away, two lengths."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from fathom.board.serve.app import make_app
from fathom.board.serve.checking import Policy, check_bundle
from fathom.board.serve.publishing import INCOMING, Publisher, living, settle
from fathom.board.serve.server import build_of
from fathom.board.serve.store import Store
from fathom.board.serve.tokens import make_token, revoke
from fathom.types import FathomError
from loopback_board import GOOD, list_bundles, read_word
from made_bundles import make_bundle

ROLES = {"ann": "submit", "mo": "moderate"}


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def client(store: Store, tmp_path: Path) -> Iterator[TestClient]:
    stopping = threading.Event()
    publisher = Publisher(store, tmp_path / "out", list_bundles, stopping)
    with TestClient(make_app(store, publisher, read_word, GOOD), raise_server_exceptions=False) as client:
        yield client
        stopping.set()


@pytest.fixture
def tokens(store: Store) -> dict[str, str]:
    return {who: f"Bearer {make_token(store, who, role)}" for who, role in ROLES.items()}


def post(client: TestClient, path: str, token: str, content: Any) -> Any:
    headers = {"Authorization": token, "Content-Type": "application/zip"}
    return client.post(f"/api/submissions{path}", content=content, headers=headers)


def losing(store: Store, who: str, content: bytes) -> Iterator[bytes]:
    """A body whose sender loses the token on the way."""
    yield content[:4]
    revoke(store, who)
    yield content[4:]


def test_a_token_that_ends_on_the_way_submits_nothing(
    client: TestClient, store: Store, tokens: dict[str, str], tmp_path: Path
) -> None:
    assert post(client, "", tokens["ann"], losing(store, "ann", b"good model")).status_code == 401
    assert store.listed() == []
    assert list((tmp_path / "out" / INCOMING).iterdir()) == []


def test_a_token_that_ends_on_the_way_decides_nothing(client: TestClient, store: Store, tokens: dict[str, str]) -> None:
    id = post(client, "", tokens["ann"], b"good model").json()["id"]
    assert post(client, f"/{id}/accept", tokens["mo"], losing(store, "mo", b'{"reason": "mine"}')).status_code == 401
    assert [one.state for one in store.listed()] == ["pending"]


def test_a_request_of_two_lengths_is_refused(client: TestClient, tokens: dict[str, str]) -> None:
    """Behind a web server that reads the other length, what follows could pass for somebody else's request."""
    headers = {"Authorization": tokens["ann"], "Content-Length": "4", "Transfer-Encoding": "chunked"}
    answer = client.get("/api/submissions", headers=headers)
    assert (answer.status_code, answer.headers["connection"]) == (400, "close")
    assert "not both" in answer.json()["error"]


def test_a_folder_that_went_away_is_no_fault_of_the_bundle(
    client: TestClient, store: Store, tokens: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.rmtree(tmp_path / "out" / INCOMING)
    with caplog.at_level(logging.ERROR, "fathom.board"):
        answer = post(client, "", tokens["ann"], b"good model")
    assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
    assert str(tmp_path) not in answer.text
    assert "cannot be written into it" in caplog.text
    assert store.listed() == []


def test_what_lies_where_bundles_come_is_cleared_away(tmp_path: Path) -> None:
    settle(tmp_path)
    (tmp_path / INCOMING / "folder").mkdir()
    (tmp_path / INCOMING / "part.zip").write_bytes(b"x")
    with living(tmp_path):
        assert list((tmp_path / INCOMING).iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said_before_anybody_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    settle(tmp_path)
    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(FathomError, match="cannot be made: Read-only"):
        settle(tmp_path)


def test_health_is_asked_without_a_body_too(client: TestClient) -> None:
    assert client.head("/healthz").status_code == 200


def test_a_board_without_results_is_a_page(tmp_path: Path) -> None:
    """A new board, and one whose last submission was taken off the site."""
    build_of([], ["--no-published"], threading.Event())([], tmp_path / "site")
    assert "no results" in (tmp_path / "site" / "index.html").read_text("utf-8")


def test_moderators_learn_that_a_suite_has_no_declared_board(tmp_path: Path) -> None:
    data, suite = make_bundle(tmp_path)
    (tmp_path / "bundle.zip").write_bytes(data)
    verdict = check_bundle(tmp_path / "bundle.zip", Policy((suite,)), GOOD)
    assert [finding.words for finding in verdict.findings if finding.topic == "board"] == [
        "suite tiny has no declared board; it gets a new one"
    ]
