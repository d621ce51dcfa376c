"""The server as its clients see it: what may be asked, by whom, and what is answered; in this process."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from fathom.board.serve.app import PAGES, make_app
from fathom.board.serve.limits import Limits
from fathom.board.serve.publishing import CURRENT, INCOMING, Publisher, settle
from fathom.board.serve.store import Store, Submission
from fathom.board.serve.tokens import make_token
from fathom.server.database import FullStoreError, StoreError
from fathom.server.limits import HOUR, Rate
from fathom.types import FathomError
from loopback_board import GOOD, list_bundles, read_word
from processes import until

ZIP = {"Content-Type": "application/zip"}


@dataclass
class Server:
    """A server in this process, and tokens of two who submit and one who moderates."""

    client: TestClient
    store: Store
    out: Path
    tokens: dict[str, str]

    def by(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"}

    def send(self, who: str, content: bytes, **headers: str) -> Any:
        return self.client.post("/api/submissions", content=content, headers={**ZIP, **self.by(who), **headers})

    def decide(self, who: str, id: str, what: str, reason: object = "because") -> Any:
        path = f"/api/submissions/{id}/{what}"
        return self.client.post(path, content=json.dumps({"reason": reason}), headers=self.by(who))

    def get(self, who: str, path: str) -> Any:
        return self.client.get(f"/api/{path}", headers=self.by(who))

    def page(self) -> str:
        return str(self.client.get("/").text)

    def wait(self, until: Callable[[], bool]) -> None:
        while not until():
            time.sleep(0.01)


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def serve(store: Store, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server; all are stopped at the end."""
    started: list[TestClient] = []
    stopping = threading.Event()

    def serve(limits: Limits = GOOD) -> Server:
        tokens = {who: make_token(store, who, role) for who, role in NAMES.items()}
        publisher = Publisher(store, tmp_path / "out", list_bundles, stopping)
        client = TestClient(make_app(store, publisher, read_word, limits), raise_server_exceptions=False)
        client.__enter__()
        started.append(client)
        server = Server(client, store, tmp_path / "out", tokens)
        server.wait(lambda: client.get("/").status_code == 200)
        return server

    yield serve
    stopping.set()
    for client in started:
        client.__exit__(None, None, None)


NAMES = {"ann": "submit", "bob": "submit", "mo": "moderate"}


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# ------------------------------------------------------------------------------------------------ submitting


def test_a_bundle_is_taken_in_decided_on_and_published(server: Server) -> None:
    content = b"good model-a"
    sent = server.send("ann", content)
    assert sent.status_code == 201
    one = sent.json()
    assert (one["id"], one["state"], one["model"]) == (digest(content), "pending", "model-a")
    assert one["findings"] == [
        {"level": "unverified", "topic": "source", "words": "that the replies come from model-a"}
    ]
    assert sent.headers["location"] == f"/api/submissions/{one['id']}"
    assert server.get("ann", f"submissions/{one['id']}").json() == one
    assert one["id"] not in server.page()

    accepted = server.decide("mo", one["id"], "accept", "seems right")
    assert accepted.status_code == 200
    assert {k: accepted.json()[k] for k in ("state", "decided_by", "reason")} == {
        "state": "accepted",
        "decided_by": "mo",
        "reason": "seems right",
    }
    server.wait(lambda: one["id"] in server.page())
    server.wait(lambda: bool(server.get("mo", "site").json()["current"]))

    assert server.decide("mo", one["id"], "refuse", "a mistake").json()["state"] == "refused"
    server.wait(lambda: one["id"] not in server.page())


def test_the_same_bundle_twice_is_the_same_submission(server: Server) -> None:
    first = server.send("ann", b"good m").json()
    again = server.send("ann", b"good m")
    assert (again.status_code, again.json()["id"]) == (409, first["id"])
    assert again.json()["findings"] == first["findings"]
    by_another = server.send("bob", b"good m")
    assert by_another.status_code == 409
    assert by_another.json().keys() == {"error", "id", "state"}  # what it is remains Ann's
    assert len(server.store.listed()) == 1


def test_a_refused_bundle_leaves_its_reason_and_nothing_else(server: Server) -> None:
    refused = server.send("ann", b"bad one")
    assert refused.status_code == 422
    assert refused.json()["reasons"] == ["no zip archive"]
    assert refused.json()["findings"][0]["level"] == "refused"
    found = server.get("ann", f"submissions/{refused.json()['id']}").json()
    assert (found["state"], found["reason"], found["decided_by"]) == ("refused", "no zip archive", "")
    assert list(server.store.content(found["id"])) == []
    assert server.get("mo", f"submissions/{found['id']}/bundle").status_code == 404
    assert list((server.out / INCOMING).iterdir()) == []
    assert server.send("ann", b"bad one").status_code == 422  # it may be sent again: the server may know more by then


def test_what_is_no_fault_of_the_bundle_is_not_its_refusal(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    answer = server.send("ann", b"lost")
    assert answer.status_code == 503
    assert "secret" not in answer.text
    assert "/secret/place" in caplog.text
    assert server.store.listed() == []


@pytest.mark.parametrize(("error", "status"), [(FullStoreError, 507), (StoreError, 503)])
def test_a_store_that_cannot_take_it_is_said_so(
    server: Server, monkeypatch: pytest.MonkeyPatch, error: type[FathomError], status: int
) -> None:
    def add(*_: object) -> None:
        raise error("no space is left in the store")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "add", add)
        answer = server.send("ann", b"good m")
    assert (answer.status_code, "later" in answer.json()["error"]) == (status, True)
    assert server.send("ann", b"good m").status_code == 201


def test_one_takes_back_what_one_sent(server: Server) -> None:
    id = server.send("ann", b"good m").json()["id"]
    assert server.decide("bob", id, "withdraw").status_code == 404
    assert server.decide("mo", id, "withdraw").status_code == 403
    assert server.decide("ann", id, "withdraw").json()["state"] == "withdrawn"
    assert server.decide("mo", id, "accept").status_code == 409
    assert server.send("ann", b"good m").status_code == 201
    assert server.decide("mo", id, "accept").status_code == 200
    too_late = server.decide("ann", id, "withdraw")
    assert (too_late.status_code, too_late.json()["state"]) == (409, "accepted")


def test_everybody_sees_what_is_theirs(server: Server) -> None:
    mine, other = (server.send(who, f"good {who}".encode()).json()["id"] for who in ("ann", "bob"))
    assert [one["id"] for one in server.get("ann", "submissions").json()["submissions"]] == [mine]
    assert {one["id"] for one in server.get("mo", "submissions").json()["submissions"]} == {mine, other}
    assert server.get("mo", "submissions?state=accepted").json() == {"submissions": []}
    assert server.get("ann", f"submissions/{other}").status_code == 404
    assert server.get("mo", f"submissions/{other}/bundle").content == b"good bob"


def test_only_moderators_decide(server: Server) -> None:
    id = server.send("ann", b"good m").json()["id"]
    for answer in (
        server.decide("ann", id, "accept"),
        server.decide("ann", id, "refuse"),
        server.get("ann", "site"),
        server.get("ann", f"submissions/{id}/bundle"),
    ):
        assert answer.status_code == 403
    found = server.store.find(id)
    assert found is not None
    assert found.state == "pending"


@pytest.mark.parametrize("reason", ["", "  ", 5, ["x"], "x" * 2001])
def test_a_refusal_has_a_reason(server: Server, reason: object) -> None:
    id = server.send("ann", b"good m").json()["id"]
    assert server.decide("mo", id, "refuse", reason).status_code == 422
    assert server.get("mo", f"submissions/{id}").json()["state"] == "pending"


def test_reasons_are_one_line_of_plain_text(server: Server) -> None:
    id = server.send("ann", b"good m").json()["id"]
    reason = server.decide("mo", id, "refuse", "a\x1b[2J\nb\0\ud800c").json()["reason"]
    assert reason == "a\ufffd[2J\ufffdb\ufffd\ufffdc"


# ------------------------------------------------------------------------------------- what is not taken in


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Length": str(1 << 40)}, 413),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Content-Length": "-1"}, 400),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer fathom-0000000000000000-" + "x" * 43}, 401),
        ({"Authorization": "Basic YW5uOmFubg=="}, 401),
    ],
)
def test_requests_that_are_none(server: Server, headers: dict[str, str], status: int) -> None:
    answer = server.send("ann", b"good m", **headers)
    assert (answer.status_code, set(answer.json())) == (status, {"error"})
    assert server.store.listed() == []


def test_a_body_is_counted_while_it_comes(server: Server) -> None:
    """Without a length that says it before: the sender just goes on."""

    def content() -> Iterator[bytes]:
        for _ in range(40):
            yield b"good " + b"x" * 100_000

    answer = server.client.post("/api/submissions", content=content(), headers={**ZIP, **server.by("ann")})
    assert (answer.status_code, "3 MiB" in answer.json()["error"]) == (413, True)
    assert list((server.out / INCOMING).iterdir()) == []
    assert server.send("ann", b"").status_code == 422


def test_a_token_in_the_address_opens_nothing(server: Server) -> None:
    assert server.client.get(f"/api/submissions?token={server.tokens['mo']}").status_code == 401


def test_one_person_sends_so_much_an_hour(serve: Callable[..., Server]) -> None:
    server = serve(replace(GOOD, per_hour=2))
    assert [server.send("ann", f"good {n}".encode()).status_code for n in range(3)] == [201, 201, 429]
    late = server.send("ann", b"good 3")
    assert 0 < int(late.headers["retry-after"]) <= HOUR
    assert server.send("bob", b"good 3").status_code == 201


def test_one_person_waits_for_decisions(serve: Callable[..., Server]) -> None:
    server = serve(replace(GOOD, waiting=1))
    id = server.send("ann", b"good 1").json()["id"]
    assert server.send("ann", b"good 2").status_code == 429
    assert server.send("ann", b"bad").status_code == 422
    server.decide("mo", id, "accept")
    assert server.send("ann", b"good 2").status_code == 201


def test_an_hour_ends() -> None:
    present = [0.0]
    rate = Rate(2, lambda: present[0])
    assert [rate.take("ann") for _ in range(3)] == [0, 0, HOUR]
    present[0] = 1000.5
    assert rate.take("ann") == 2600
    present[0] = HOUR
    assert rate.take("ann") == 0
    assert Rate(0).take("ann") > 0


@pytest.mark.parametrize("body", [b"[]", b"{", b'"x"', b"\xff", b"[" * 10_000])
def test_decisions_are_json_objects(server: Server, body: bytes) -> None:
    id = server.send("ann", b"good m").json()["id"]
    path = f"/api/submissions/{id}/accept"
    assert server.client.post(path, content=body, headers=server.by("mo")).status_code == 400
    assert server.client.post(path, content=b"{" + b" " * 20_000, headers=server.by("mo")).status_code == 413
    assert server.client.post(path, headers=server.by("mo")).status_code == 422  # a reason is asked for
    assert server.client.post(path, content=b'{"reason": "right"}', headers=server.by("mo")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api", 404),
        ("GET", "/api/other", 404),
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/api/submissions/..%2f..", 404),
        ("GET", f"/api/submissions/{'0' * 64}", 404),
        ("GET", "/api/submissions?state=other", 400),
        ("PUT", "/api/submissions", 405),
        ("DELETE", "/index.html", 405),
        ("POST", "/", 405),
    ],
)
def test_only_what_is_known_is_answered(server: Server, method: str, path: str, status: int) -> None:
    answer = server.client.request(method, path, headers=server.by("mo"))
    assert (answer.status_code, set(answer.json())) == (status, {"error"})


# ------------------------------------------------------------------------------------------------- the site


@pytest.mark.parametrize(
    "path",
    [
        "/../store/board.sqlite",
        "/..%2f..%2fstore%2fboard.sqlite",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/data/..%5c..%5cindex.html",
        "//etc/passwd.txt",
        "/.edition",
        "/data/.hidden.js",
        "/data/%00.js",
        "/data",
        "/data/",
        "/link.txt",
        "/socket.js",
        "/no.html",
        "/" + "x" * 5000 + ".js",
        "/data/notes.py",
        "/moderate/..%2fapp.py",
        "/moderate/../app.py",
        "/moderate/__init__.py",
    ],
)
def test_nothing_beside_the_site_is_served(server: Server, path: str) -> None:
    site = (server.out / CURRENT).resolve()
    (site / "data" / ".hidden.js").write_text("x")
    (site / "data" / "notes.py").write_text("x")
    (site / "link.txt").symlink_to("/etc/passwd")
    (site / "socket.js").mkdir()
    assert server.client.get(path).status_code == 404


def test_the_site_is_served_with_its_kinds(server: Server) -> None:
    kinds = {path: server.client.get(path).headers["content-type"] for path in ("/", "/site.css", "/data/site.js")}
    assert kinds == {
        "/": "text/html; charset=utf-8",
        "/site.css": "text/css; charset=utf-8",
        "/data/site.js": "text/javascript; charset=utf-8",
    }
    head = server.client.head("/site.css")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "15")


def test_what_did_not_change_is_not_sent_again(server: Server) -> None:
    first = server.client.get("/site.css")
    assert first.headers["cache-control"] == "no-cache"
    for condition in (
        {"If-None-Match": f'"other", W/{first.headers["etag"]}'},
        {"If-Modified-Since": first.headers["last-modified"]},
    ):
        again = server.client.get("/site.css", headers=condition)
        assert (again.status_code, again.content) == (304, b"")
    for condition in ({"If-None-Match": '"other"'}, {"If-Modified-Since": "yesterday"}):
        assert server.client.get("/site.css", headers=condition).status_code == 200


def test_every_answer_is_fenced(server: Server) -> None:
    id = server.send("ann", b"good m").json()["id"]
    answers = [
        *(server.client.get(path) for path in ("/", "/data/site.js", "/none.html", "/moderate", "/healthz", "/api")),
        server.get("ann", f"submissions/{id}"),
        server.get("ann", "site"),
        server.client.get("/site.css", headers={"If-Modified-Since": "Fri, 01 Jan 2038 00:00:00 GMT"}),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] in ("no-cache", "no-store")
        assert "server" not in answer.headers
    assert answers[6].headers["cache-control"] == "no-store"


def test_a_failure_within_is_fenced_and_says_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(Store, "listed", lambda self, **_: fail())
    answer = server.get("ann", "submissions")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_moderation_page_is_text_and_files_of_its_own(server: Server) -> None:
    page = server.client.get("/moderate")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<script>" not in page.text
    assert "style=" not in page.text
    for name in ("moderate.js", "moderate.css"):
        assert server.client.get(f"/moderate/{name}").text == (PAGES / name).read_text("utf-8")
    script = (PAGES / "moderate.js").read_text("utf-8")
    assert not [word for word in ("innerHTML", "insertAdjacentHTML", "outerHTML", "localStorage") if word in script]


def test_health_is_that_of_the_store(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.client.get("/healthz").json() == {"store": True}
    monkeypatch.setattr(Store, "is_there", lambda self: False)
    assert server.client.get("/healthz").status_code == 503


def test_a_line_for_each_request_and_no_token_in_any(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        server.send("ann", b"good m")
        server.send("ann", b"bad")
        server.client.get("/none%0aforged", headers={"Authorization": "Bearer " + server.tokens["mo"]})
        server.client.get(f"/api/submissions?token={server.tokens['bob']}")
    lines = [record.getMessage() for record in caplog.records if record.name == "fathom.server.requests"]
    assert [line.rpartition(" ")[0] for line in lines] == [
        "testclient ann POST /api/submissions 201",
        "testclient ann POST /api/submissions 422",
        "testclient - GET /none\ufffdforged 404",
        "testclient - GET /api/submissions 401",
    ]
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    assert not [token for token in server.tokens.values() if token in ours]


# -------------------------------------------------------------------------------------------- republishing


def test_a_site_that_cannot_be_built_leaves_the_last_one(server: Server) -> None:
    good, bad = (server.send("ann", content).json()["id"] for content in (b"good m", b"good unbuildable"))
    server.decide("mo", good, "accept")
    server.wait(lambda: good in server.page())
    server.decide("mo", bad, "accept")
    server.wait(lambda: "cannot be built" in server.get("mo", "site").json()["error"])
    assert good in server.page()
    assert not server.get("mo", "site").json()["current"]
    server.decide("mo", bad, "refuse", "breaks the site")
    server.wait(lambda: server.get("mo", "site").json() == {"building": False, "current": True, "error": ""})
    assert good in server.page()


def test_decisions_during_a_build_lead_to_one_more(store: Store, tmp_path: Path) -> None:
    go, begun, built = threading.Semaphore(0), threading.Semaphore(0), list[int]()

    def build(bundles: object, out: Path) -> None:
        begun.release()
        go.acquire()
        list_bundles(bundles, out)  # type: ignore[arg-type]
        built.append(len(bundles))  # type: ignore[arg-type]

    settle(tmp_path / "out")
    stopping = threading.Event()
    publisher = Publisher(store, tmp_path / "out", build, stopping)
    publisher.start()
    begun.acquire()
    (tmp_path / "bundle").write_bytes(b"x")
    for number in range(5):
        content = f"good {number}".encode()
        (tmp_path / "bundle").write_bytes(content)
        store.add(Submission(digest(content), "ann", "", 6, "pending", {}), tmp_path / "bundle", 10)
        store.decide(digest(content), ["pending"], "accepted", by="mo", reason="")
        publisher.nudge()
    for _ in range(9):
        go.release()
    until(lambda: publisher.state().current)
    stopping.set()
    publisher.stop()
    assert built == [0, 5]
    assert len(list((tmp_path / "out" / "sites").iterdir())) == 2


def test_a_bundle_that_changed_in_the_folder_is_fetched_anew(server: Server) -> None:
    id = server.send("ann", b"good m").json()["id"]
    server.decide("mo", id, "accept")
    server.wait(lambda: id in server.page())
    (server.out / "bundles" / f"{id}.zip").write_bytes(b"torn")
    other = server.send("ann", b"good n").json()["id"]
    server.decide("mo", other, "accept")
    server.wait(lambda: other in server.page())
    assert (server.out / "bundles" / f"{id}.zip").read_bytes() == b"good m"


def test_a_folder_with_something_else_is_left_alone(store: Store, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    publisher = Publisher(store, tmp_path, list_bundles, threading.Event())
    with pytest.raises(FathomError, match="other content"):
        make_app(store, publisher, read_word, GOOD)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


# ------------------------------------------------------------------------------------------------- compression


def test_files_are_compressed_for_those_who_can_read_it(server: Server) -> None:
    site = (server.out / "current").resolve()
    content = b"fathom.add('x', 1);\n" * 400
    (site / "data" / "large.js").write_bytes(content)
    plain = server.client.get("/data/large.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == content
    packed = server.client.get("/data/large.js", headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(content) / 10
    assert packed.content == content  # as the client unpacks it
    for name in ("content-type", "cache-control", "last-modified", "content-security-policy"):
        assert packed.headers[name] == plain.headers[name]
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    # Each of the two has its own tag, so that no cache gives one for the other.
    assert packed.headers["etag"] != plain.headers["etag"]
    for accepted, answer in (("gzip", packed), ("identity", plain)):
        headers = {"Accept-Encoding": accepted, "If-None-Match": answer.headers["etag"]}
        again = server.client.get("/data/large.js", headers=headers)
        assert (again.status_code, again.content, again.headers["vary"]) == (304, b"", "Accept-Encoding")
    # What changed is compressed anew.
    (site / "data" / "large.js").write_bytes(content + b"// more\n")
    assert server.client.get("/data/large.js").content == content + b"// more\n"


@pytest.mark.parametrize(
    "headers", [{"Accept-Encoding": "gzip;q=0, br"}, {"Accept-Encoding": "gzip", "Range": "bytes=0-9"}]
)
def test_what_is_not_to_be_compressed_is_not(server: Server, headers: dict[str, str]) -> None:
    (server.out / "current").resolve().joinpath("large.js").write_bytes(b"0123456789" * 500)
    assert "content-encoding" not in server.client.get("/large.js", headers=headers).headers


def test_small_files_and_tables_of_parquet_are_sent_as_they_are(server: Server) -> None:
    (server.out / "current").resolve().joinpath("table.parquet").write_bytes(b"0" * 5000)
    for path in ("/site.css", "/table.parquet"):
        assert "content-encoding" not in server.client.get(path, headers={"Accept-Encoding": "gzip"}).headers
