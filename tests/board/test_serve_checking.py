"""The check of bundles by a server: real bundles, in a process of its own, and hostile ones over HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from bundle_mutations import DAMAGES, hostile_bundles
from fathom.board.bundles import check
from fathom.board.bundles.bundle import archive
from fathom.board.bundles.bundling import bundle_of
from fathom.board.serve import checking, process
from fathom.board.serve.app import make_app
from fathom.board.serve.checking import Policy, check_bundle, check_of
from fathom.board.serve.limits import Limits
from fathom.board.serve.publishing import INCOMING, Publisher
from fathom.board.serve.store import Store
from fathom.board.serve.submitting import receive_bundle
from fathom.board.serve.tokens import make_token
from fathom.server.answers import AnswerError
from fathom.types import FathomError
from loopback_board import GOOD, list_bundles
from made_bundles import make_bundle, make_run, make_suite

LIMITS = Limits(check_seconds=120)


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """A right bundle as a file, and its suite."""
    data, suite = make_bundle(tmp_path)
    path = tmp_path / "bundle.zip"
    path.write_bytes(data)
    return path, suite


# ---------------------------------------------------------------------------------------------- what is asked


def test_a_right_bundle_is_taken_in(made: tuple[Path, Path]) -> None:
    bundle, suite = made
    verdict = check_bundle(bundle, Policy((suite,)), LIMITS)
    assert verdict.reasons == ()
    assert (verdict.model, verdict.suites) == ("lab/model-7b", ("tiny",))
    assert {finding.level for finding in verdict.findings} == {"verified", "unverified"}


def test_a_bundle_without_replies_needs_leave(tmp_path: Path) -> None:
    data, suite = make_bundle(tmp_path, logs=False)
    path = tmp_path / "bundle.zip"
    path.write_bytes(data)
    refused = check_bundle(path, Policy((suite,)), LIMITS).reasons
    assert len(refused) == 1
    assert "has no replies" in refused[0]
    assert check_bundle(path, Policy((suite,), without_logs=True), LIMITS).reasons == ()


def test_a_bundle_of_another_suite_needs_leave(made: tuple[Path, Path], tmp_path: Path) -> None:
    bundle, suite = made
    other = make_suite(tmp_path / "other", "0ther0ther0ther0")
    assert check_bundle(bundle, Policy((other,)), LIMITS).reasons
    assert check_bundle(bundle, Policy((other, suite)), LIMITS).reasons == ()


def test_any_suite_is_any_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Suites of other content than those at hand are taken in, and said to be unverified."""
    known = make_suite(tmp_path / "known")
    other = make_suite(tmp_path / "other", "0ther0ther0ther0")
    path = tmp_path / "bundle.zip"
    path.write_bytes(archive(bundle_of([make_run(tmp_path / "run", other)])))
    policy = Policy((known,), any_suite=True)
    refused = check_bundle(path, replace(policy, any_suite=False), LIMITS).reasons
    assert refused
    # The name is none of fathom's own; as if another package had brought it.
    monkeypatch.setattr(check, "known_suites", lambda: {"tiny": None})
    verdict = check_bundle(path, policy, LIMITS)
    assert verdict.reasons == ()
    assert any(finding.level == "unverified" and "suite" in finding.words for finding in verdict.findings)


def test_the_limit_of_the_server_is_that_of_the_check(made: tuple[Path, Path]) -> None:
    bundle, suite = made
    small = replace(LIMITS, bundle_bytes=bundle.stat().st_size - 1)
    assert check_bundle(bundle, Policy((suite,)), small).reasons


# ----------------------------------------------------------------------------------- a process of its own


@pytest.mark.slow
def test_the_process_says_what_the_function_says(made: tuple[Path, Path]) -> None:
    bundle, suite = made
    policy = Policy((suite,))
    assert check_of(policy, LIMITS, threading.Event())(bundle) == check_bundle(bundle, policy, LIMITS)


@pytest.mark.slow
def test_a_suite_that_is_lost_is_no_fault_of_the_bundle(made: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="lost"):
        check_of(Policy((tmp_path / "lost",)), LIMITS, threading.Event())(made[0])


def test_a_check_ends_with_its_time(made: tuple[Path, Path]) -> None:
    verdict = check_of(Policy((made[1],)), replace(LIMITS, check_seconds=0.01), threading.Event())(made[0])
    assert verdict.reasons == (
        "the check took more than 0.01 seconds, the limit of this server; send fewer runs at once",
    )


def test_a_check_ends_with_the_server(made: tuple[Path, Path]) -> None:
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(FathomError, match="the server is stopping"):
        check_of(Policy((made[1],)), LIMITS, stopping)(made[0])


@pytest.mark.parametrize(
    ("program", "words"),
    [("import os; os.kill(os.getpid(), 9)", "ended with status"), ("raise SystemExit(3)", "GiB of memory")],
)
def test_a_check_that_breaks_is_a_reason(
    made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    def other(command: list[str], seconds: float, stopping: threading.Event) -> process.ProcessResult:
        return process.run_process([sys.executable, "-c", program], seconds, stopping)

    monkeypatch.setattr(checking, "run_process", other)
    (reason,) = check_of(Policy((made[1],)), LIMITS, threading.Event())(made[0]).reasons
    assert words in reason


@pytest.mark.slow
def test_a_check_has_so_much_memory() -> None:
    program = "from fathom.board.serve.checking import _limit; _limit(60); x = bytearray(9 << 30)"
    end = process.run_process([sys.executable, "-c", program], 60)
    assert end.code == 1
    assert "MemoryError" in end.err


def test_a_process_knows_nothing_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_BOARD_STORE", "postgresql://u:secret@h/d")
    monkeypatch.setenv("PGPASSWORD", "secret")
    end = process.run_process([sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"], 60)
    assert "secret" not in end.out
    assert json.loads(end.out)["OMP_NUM_THREADS"] == "1"


# ------------------------------------------------------------------------------------------------- over HTTP


@pytest.mark.slow
def test_hostile_bundles_are_refused_with_a_reason(store: Store, made: tuple[Path, Path], tmp_path: Path) -> None:
    bundle, suite = made
    policy, stopping = Policy((suite,)), threading.Event()
    token = make_token(store, "ann", "submit")
    headers = {"Content-Type": "application/zip", "Authorization": f"Bearer {token}"}
    publisher = Publisher(store, tmp_path / "out", list_bundles, stopping)
    app = make_app(store, publisher, lambda path: check_bundle(path, policy, LIMITS), GOOD)
    with TestClient(app) as client:  # which raises what the server would log as its own failure
        for damage, content in hostile_bundles(20260131, 6 * len(DAMAGES), bundle.read_bytes()):
            answer = client.post("/api/submissions", content=content, headers=headers)
            assert answer.status_code in (413, 422), damage
            assert answer.json()["error"], damage
        assert store.listed(state="pending") == []
        right = client.post("/api/submissions", content=bundle.read_bytes(), headers=headers)
        assert right.status_code == 201
        stopping.set()
    assert [*(tmp_path / "out" / INCOMING).iterdir()] == []


def request_of(chunks: Iterator[bytes], delay: float = 0.0) -> Request:
    async def receive() -> Any:
        await asyncio.sleep(delay)
        content = next(chunks, None)
        return {"type": "http.request", "body": content or b"", "more_body": content is not None}

    return Request({"type": "http", "headers": [(b"content-type", b"application/zip")]}, receive)


def test_a_sender_has_so_much_time(tmp_path: Path) -> None:
    endless = request_of(iter(lambda: b"x", b""), delay=0.01)
    with pytest.raises(AnswerError, match=r"within 0\.1 seconds") as error:
        asyncio.run(receive_bundle(endless, tmp_path / "part", Limits(1000, upload_seconds=0.1)))
    assert error.value.status == 408


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full on this system")
def test_a_full_disk_is_said_so() -> None:
    with pytest.raises(AnswerError, match="no space is left") as error:
        asyncio.run(receive_bundle(request_of(iter([b"x" * 100_000])), Path("/dev/full"), Limits(1 << 20)))
    assert error.value.status == 507
