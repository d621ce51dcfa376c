"""Health, metrics and logs of both servers, as those who operate them read them."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from proxies import DEPLOY
from sqlalchemy import text
from starlette.testclient import TestClient

from fathom.board.serve.app import make_app
from fathom.board.serve.publishing import Publisher
from fathom.board.serve.store import Store
from fathom.board.serve.tokens import make_token
from fathom.server import health
from fathom.server.metrics import Metrics, exposed, parts_of
from fathom.studio.people import People
from fathom.studio.web.app import make_app as make_studio
from fathom.types import FathomError
from loopback_board import GO, GOOD, get, list_bundles, post, read_word
from loopback_board import serving as serving_board
from processes import MAIN, start_program, until


@contextmanager
def client_of(store: Store, tmp_path: Path, metrics: Metrics, *, proxied: bool = False) -> Iterator[TestClient]:
    """The leaderboard in this process."""
    stopping = threading.Event()
    publisher = Publisher(store, tmp_path / "out", list_bundles, stopping)
    app = make_app(store, publisher, read_word, GOOD, metrics, proxied=proxied)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client
        stopping.set()


def figures(metrics: Metrics) -> dict[str, float]:
    """All figures by name and labels, as Prometheus' own parser reads what is exposed."""
    with exposed("127.0.0.1:0", metrics.registry) as address:
        said = get(address)
    assert said.headers["content-type"].startswith("text/plain")
    return {
        sample.name + ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(said.text)
        for sample in family.samples
    }


# Health


def test_a_server_is_ready_while_it_can_work(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(health, "LOOK_SECONDS", 0.0)
    with client_of(store, tmp_path, Metrics("board")) as client:
        assert client.get("/health/live").json() == {"live": True}
        good = {"ready": True, "store": True, "migrations": True, "disk": True}
        assert client.get("/health/ready").json() == good
        assert client.head("/health/ready").status_code == 200
        with store.engine.begin() as connection:  # a later server has migrated the store
            connection.execute(text("INSERT INTO migrations VALUES (99)"))
        answer = client.get("/health/ready")
        assert (answer.status_code, answer.json()) == (503, good | {"ready": False, "migrations": False})
        with store.engine.begin() as connection:
            connection.execute(text("DELETE FROM migrations WHERE number = 99"))

        def full(**_: object) -> tuple[int, str]:
            raise OSError(errno.ENOSPC, "no space")

        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "mkstemp", full)
            assert client.get("/health/ready").json() == good | {"ready": False, "disk": False}
        assert client.get("/health/ready").json() == good
        monkeypatch.setattr(store, "reading", _closed())
        answer = client.get("/health/ready")
        assert (answer.status_code, answer.json()["store"]) == (503, False)
        assert client.get("/health/live").status_code == 200


def _closed() -> Any:
    from sqlalchemy import create_engine

    return create_engine("sqlite:////nowhere/at/all.sqlite")


def test_readiness_leaves_no_file_and_is_asked_at_most_once_a_second(store: Store, tmp_path: Path) -> None:
    with client_of(store, tmp_path, Metrics("board")) as client:
        assert client.get("/health/ready").status_code == 200
        assert list((tmp_path / "out" / "incoming").iterdir()) == []
        (tmp_path / "out" / "incoming").rmdir()  # known for a second
        assert client.get("/health/ready").status_code == 200


def test_a_store_of_a_later_version_is_refused(place: str) -> None:
    with closing(Store(place)) as store, store.engine.begin() as connection:
        connection.execute(text("INSERT INTO migrations VALUES (99)"))
    with pytest.raises(FathomError, match=r"has 99 migrations, but this fathom knows \d+: a later fathom made it; upd"):
        Store(place)


# Metrics


@pytest.mark.slow
def test_requests_are_counted_by_route_and_never_by_path(store: Store, tmp_path: Path) -> None:
    metrics = Metrics("board")
    token = make_token(store, "ann", "submit")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/zip"}
    with client_of(store, tmp_path, metrics) as client:
        until((tmp_path / "out" / "current").exists)  # before that, every page is 503
        for number in range(30):
            client.get(f"/secret-{number}")
            client.get(f"/api/submissions/{number}", headers=headers)
            client.request(f"M{number}", "/")
        assert client.post("/api/submissions", content=b"good one", headers=headers).status_code == 201
        assert client.post("/api/submissions", content=b"bad one", headers=headers).status_code == 422
        assert client.post("/api/submissions", content=b"lost one", headers=headers).status_code == 503
        found = figures(metrics)
    assert found["fathom_http_requests_totalmethod=GET,route=/{path:path},status=404"] == 30
    assert found["fathom_http_requests_totalmethod=GET,route=/api/submissions/{id},status=404"] == 30
    assert found["fathom_http_requests_totalmethod=POST,route=/api/submissions,status=201"] == 1
    assert sum(value for name, value in found.items() if "_requests_totalmethod=other" in name) == 30
    assert found["fathom_http_request_seconds_countmethod=GET,route=/{path:path}"] == 30
    assert found["fathom_http_requests_running"] == 0
    assert found["fathom_board_submissionsstate=pending"] == 1
    assert found["fathom_board_submissionsstate=refused"] == 1
    assert found["fathom_board_submissionsstate=accepted"] == 0
    for result in ("valid", "refused", "failed"):
        assert found[f"fathom_board_validation_seconds_countresult={result}"] == 1
    assert found["fathom_store_up"] == 1
    assert found["fathom_disk_free_bytesfolder=site"] > 0
    assert {name for name in found if name.startswith("process_resident_memory")}
    whole = " ".join(found)
    assert "secret" not in whole
    assert "ann" not in whole
    assert token[:20] not in whole


@pytest.mark.slow
def test_metrics_come_without_the_store_too(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    metrics = Metrics("board")
    with client_of(store, tmp_path, metrics):
        monkeypatch.setattr(store, "reading", _closed())
        found = figures(metrics)
    assert found["fathom_store_up"] == 0
    assert "fathom_board_submissionsstate=pending" not in found


@pytest.mark.slow
def test_a_studio_counts_samples_and_documents(studio: Any) -> None:
    metrics = Metrics("studio")
    with TestClient(make_studio(studio, People(studio), metrics=metrics)) as client:
        assert client.get("/health/ready").json()["ready"] is True
        assert client.get("/samples/s-1", follow_redirects=False).status_code in (303, 401)
        found = figures(metrics)
    assert found["fathom_studio_documentsstate=available"] + found["fathom_studio_documentsstate=collected"] == 1
    assert found["fathom_studio_samplesstate=accepted"] == 0
    assert any("route=/samples/{id}," in name for name in found)


@pytest.mark.slow
def test_metrics_are_at_their_own_address_only(store: Store, tmp_path: Path) -> None:
    metrics = Metrics("board")
    with client_of(store, tmp_path, metrics) as client:
        until(lambda: client.get("/").status_code == 200)
        assert client.get("/metrics").status_code == 404
        with exposed("127.0.0.1:0", metrics.registry) as address:
            assert get(address.removesuffix("metrics")).status_code == 404
            # One who sends nothing delays nobody.
            with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1].partition("/")[0]))):
                assert get(address).status_code == 200


@pytest.mark.parametrize("address", ["9100", ":9100", "localhost", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:"])
def test_an_address_of_metrics_has_a_host_and_a_port(address: str) -> None:
    with pytest.raises(FathomError, match="`metrics`"):
        parts_of(address)


def test_an_address_of_metrics_may_be_of_ipv6() -> None:
    assert parts_of("[::1]:9100") == ("::1", 9100)


@pytest.mark.slow
def test_alerts_are_about_metrics_that_exist(store: Store, tmp_path: Path) -> None:
    metrics = Metrics("board")
    with client_of(store, tmp_path, metrics) as client:
        client.get("/")
        known = {re.sub(r"(method|state|folder|result|route|server)=.*", "", name) for name in figures(metrics)}
    known |= {f"fathom_board_validation_seconds_{end}" for end in ("bucket", "count", "sum")}
    known |= {"fathom_backup_timestamp_seconds"}
    rules = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text("utf-8"))["groups"][0]["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 10
    named = {name for rule in rules for name in re.findall(r"\bfathom_\w+", rule["expr"])}
    assert named <= known | {"fathom_http_request_seconds_bucket"}


# Logs


@contextmanager
def started(kind: str, store: str, tmp_path: Path, *words: str) -> Iterator[tuple[Any, Path]]:
    """A server of the command line; gives its process and its log."""
    log = tmp_path / "log"
    environment = {**os.environ, f"FATHOM_{kind.upper()}_STORE": store}
    with log.open("wb") as stream:
        order = (kind, "serve", "--port", "0", *words)
        process = start_program(MAIN, *order, stderr=stream.fileno(), cwd=tmp_path, env=environment)
    try:
        until(lambda: " is at http" in log.read_text("utf-8"), process)
        yield process, log
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["board", "studio"])
def test_every_line_of_a_log_is_json_without_secrets(kind: str, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    if kind == "board":
        with closing(Store(store)) as opened:
            token = make_token(opened, "ann", "submit")
        words = ["--any-suite", "--no-published"]
    else:
        from fathom.studio.store import Store as Studio

        Studio(store).close()
        token, words = "fathom-0123456789abcdef-" + "s" * 43, []
    more = ["--metrics", "127.0.0.1:0", "--log-format", "json", "--proxy", "127.0.0.1"]
    with started(kind, store, tmp_path, *words, *more) as (process, log):
        found = re.findall(r"http://[\d.:]+/", log.read_text("utf-8"))
        metrics, address = found[0] + "metrics", found[1]
        given = {"Authorization": f"Bearer {token}", "X-Request-ID": "from-the-proxy-1"}
        answer = get(f"{address}api/submissions", headers=given)
        assert answer.headers["x-request-id"] == "from-the-proxy-1"
        for wrong in ("short", "with spaces in it", "x" * 65, '"},{"level":"forged'):
            made = get(address, headers={"X-Request-ID": wrong}).headers["x-request-id"]
            assert re.fullmatch(r"[0-9a-f]{32}", made)
        get(f"{address}{token}?token={token}")
        get(f"{address}%0A%22%7D{{")
        assert "fathom_build_info" in get(metrics).text
        process.send_signal(signal.SIGTERM)
        process.wait()
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert token not in log.read_text("utf-8")
    requests = [line for line in lines if "status" in line]
    first = next(line for line in requests if line.get("request_id") == "from-the-proxy-1")
    assert first["method"] == "GET"
    assert first["client"] == "127.0.0.1"
    assert first["status"] == answer.status_code
    assert first["user"] == ("ann" if kind == "board" else "-")
    assert first["seconds"] >= 0
    assert len(requests) == 7
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
        assert {"level", "logger", "message"} <= line.keys()


def test_ids_of_clients_are_not_believed_without_a_proxy(store: Store, tmp_path: Path) -> None:
    given = {"X-Request-ID": "from-nobody-known"}
    with client_of(store, tmp_path, Metrics("board")) as client:
        assert client.get("/health/live", headers=given).headers["x-request-id"] != given["X-Request-ID"]
    with client_of(store, tmp_path, Metrics("board"), proxied=True) as client:
        assert client.get("/health/live", headers=given).headers["x-request-id"] == given["X-Request-ID"]


# Stopping


@pytest.mark.slow
def test_a_bundle_that_is_being_checked_is_stored_before_the_server_ends(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with closing(Store(str(place))) as store:
        token = make_token(store, "ann", "submit")
    headers = {"Content-Type": "application/zip", "Authorization": f"Bearer {token}"}
    answers: list[httpx.Response] = []
    with serving_board(str(place), tmp_path / "out") as (address, process):
        sending = threading.Thread(
            target=lambda: answers.append(post(f"{address}api/submissions", content=b"good held", headers=headers))
        )
        sending.start()
        until(lambda: any((tmp_path / "out" / "incoming").iterdir()))
        process.send_signal(signal.SIGTERM)
        until(lambda: not _listens(address))
        (tmp_path / "out" / GO).touch()
        sending.join()
        process.wait()
    assert answers[0].status_code == 201
    with closing(Store(str(place))) as store:
        assert [one.id for one in store.listed()] == [answers[0].json()["id"]]


def _listens(address: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", int(address.rstrip("/").rsplit(":", 1)[1]))).close()
        return True
    except OSError:
        return False


# Passwords


@pytest.mark.slow
def test_a_password_of_a_database_may_be_in_a_file(
    new_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fathom.board.serve.schema import BOARD
    from fathom.server.database import url_of

    file = tmp_path / "password"
    file.write_text("a word/with:signs\n", "utf-8")
    monkeypatch.setenv("FATHOM_BOARD_PASSWORD_FILE", str(file))
    assert url_of(new_database, BOARD).password == "a word/with:signs"
    assert url_of(new_database.replace("board@", "board:own@"), BOARD).password == "own"
    Store(new_database).close()
    file.unlink()
    with pytest.raises(FathomError, match=r"FATHOM_BOARD_PASSWORD_FILE: .* cannot be read"):
        Store(new_database)
    file.write_text("\n", "utf-8")
    with pytest.raises(FathomError, match="is empty"):
        Store(new_database)
