"""What is like something else is flagged: to moderators by the server, and on the line by the site."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from fathom.board.bundles.bundle import archive
from fathom.board.bundles.bundling import bundle_of
from fathom.board.likeness import Answer, packed, plain_name, prints_of
from fathom.board.model import Entry, Origin
from fathom.board.results import read_results
from fathom.board.sameness import with_flags
from fathom.board.serve.app import make_app
from fathom.board.serve.checking import CheckResult, Policy, check_bundle, check_of, prints_path
from fathom.board.serve.limits import Limits
from fathom.board.serve.own import OwnResults
from fathom.board.serve.publishing import Publisher
from fathom.board.serve.store import Store, Submission
from fathom.board.serve.tokens import make_token
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import this_worker
from fathom.suites.registry import get_board
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.types import Reply, Sample
from loopback_board import GOOD, list_bundles, read_word
from made_bundles import make_run, make_suite, reply_to, sample

ROLES = {"ann": "submit", "bob": "submit", "mo": "moderate", "jo": "moderate"}


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def tokens(store: Store) -> dict[str, str]:
    return {who: f"Bearer {make_token(store, who, role)}" for who, role in ROLES.items()}


def prints(seed: str) -> bytes:
    """Those of 30 made replies."""
    return packed(prints_of(Answer(("s", n), f"{seed} {n}", f"{seed} says {n}", False) for n in range(30)))


def check(path: Path) -> CheckResult:
    """As of a made bundle ``good MODEL SEED``, whose replies follow from the seed."""
    prints_path(path).write_bytes(prints(path.read_bytes().decode().split()[2]))
    return replace(read_word(path), model=path.read_bytes().decode().split()[1])


@pytest.fixture
def client(store: Store, tmp_path: Path) -> Iterator[TestClient]:
    stopping = threading.Event()
    publisher = Publisher(store, tmp_path / "out", list_bundles, stopping)
    with TestClient(make_app(store, publisher, check, GOOD), raise_server_exceptions=False) as client:
        yield client
        stopping.set()


def send(client: TestClient, token: str, content: bytes) -> Any:
    headers = {"Authorization": token, "Content-Type": "application/zip"}
    return client.post("/api/submissions", content=content, headers=headers)


def act(client: TestClient, token: str, id: str, what: str, **body: object) -> Any:
    return client.post(f"/api/submissions/{id}/{what}", json=body, headers={"Authorization": token})


def flags(client: TestClient, token: str, id: str) -> list[tuple[str, str]]:
    one = client.get(f"/api/submissions/{id}", headers={"Authorization": token}).json()
    return [(other["model"], other["words"]) for other in one["alike"]]


# --------------------------------------------------------------------------------------------- same replies


def test_the_same_replies_under_another_name_are_flagged_on_both(client: TestClient, tokens: dict[str, str]) -> None:
    first = send(client, tokens["ann"], b"good honest seed1").json()["id"]
    other = send(client, tokens["bob"], b"good unlike seed2").json()["id"]
    copy = send(client, tokens["bob"], b"good forged seed1").json()["id"]
    words = "30 of 30 replies that are long or not correct are identical"
    assert flags(client, tokens["mo"], copy) == [("honest", words)]
    assert flags(client, tokens["mo"], first) == [("forged", words)]
    assert flags(client, tokens["mo"], other) == []


def test_what_was_refused_is_recognised_when_it_comes_again(client: TestClient, tokens: dict[str, str]) -> None:
    first = send(client, tokens["ann"], b"good honest seed1").json()["id"]
    assert act(client, tokens["mo"], first, "refuse", reason="made up").status_code == 200
    again = send(client, tokens["bob"], b"good forged seed1").json()["id"]
    assert [model for model, _ in flags(client, tokens["mo"], again)] == ["honest"]


def test_submitters_do_not_learn_what_others_sent(client: TestClient, tokens: dict[str, str]) -> None:
    send(client, tokens["ann"], b"good honest seed1")
    sent = send(client, tokens["bob"], b"good forged seed1")
    seen = client.get("/api/submissions", headers={"Authorization": tokens["bob"]})
    assert sent.status_code == 201
    assert "honest" not in sent.text + seen.text


def test_what_a_server_did_not_come_to_compare_is_compared_later(store: Store, tmp_path: Path) -> None:
    """As if it had been killed between taking in and comparing."""
    (tmp_path / "bundle").write_bytes(b"x")
    for number, model in enumerate(("one", "two")):
        verdict = asdict(CheckResult(model=model))
        one = Submission(str(number) * 64, "ann", "2026-01-31T10:00:00Z", 1, "pending", verdict)
        store.add(one, tmp_path / "bundle", 10, prints("seed"))
    assert store.alike(store.listed()) == {"0" * 64: [], "1" * 64: []}
    store.compare()
    found = store.alike(store.listed())
    assert [one.other.id for one in found["0" * 64]] == ["1" * 64]


# ------------------------------------------------------------------------------------------------- same name


def test_one_name_from_two_people_is_flagged(client: TestClient, tokens: dict[str, str]) -> None:
    first = send(client, tokens["ann"], b"good lab/Model-7B seed1").json()["id"]
    other = send(client, tokens["bob"], b"good model_7b seed2").json()["id"]
    assert flags(client, tokens["mo"], other) == [("lab/Model-7B", "the same name, from another submitter")]
    assert flags(client, tokens["mo"], first) == [("model_7b", "the same name, from another submitter")]


def test_the_name_of_a_published_entry_is_flagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fathom.board.serve import checking

    suite = make_suite(tmp_path / "suite")
    path = tmp_path / "bundle.zip"
    path.write_bytes(archive(bundle_of([make_run(tmp_path / "run", suite, model="openai/gpt 5")])))
    pro = replace(get_board("pro"), suites=("tiny",))
    monkeypatch.setattr(checking, "boards", lambda: {"pro": pro})
    found = check_bundle(path, Policy((suite,), names=("GPT-5",)), Limits()).findings
    said = [one.words for one in found if one.level == "flagged"]
    assert len(said) == 2
    assert "published entry of LongBench Pro (GPT-5)" in said[0]
    assert "one of the site's own results" in said[1]
    assert found[0].level == "flagged"  # what needs a second look comes first


# ------------------------------------------------------------------------------ results of who runs the server


@pytest.fixture
def own_run(tmp_path: Path) -> tuple[Path, Path]:
    """A run, and the suite that it is of."""
    suite = make_suite(tmp_path / "suite")
    return ran(tmp_path / "own", suite, "lab/own", "umbrella"), suite


def found_by_server(path: Path, suite: Path, own: OwnResults) -> list[tuple[str, str]]:
    """Flags, and what a check could not verify of replies."""
    checked = check_of(Policy((suite,)), Limits(), threading.Event(), own)(path)
    assert checked.reasons == ()
    assert prints_path(path).stat().st_size > 0  # for comparisons with what comes later
    return [
        (finding.level, finding.words)
        for finding in checked.findings
        if finding.level == "flagged" or finding.topic == "replies"
    ]


def sent_bundle(folder: Path, suite: Path, model: str, wrong: str) -> Path:
    path = folder / f"{plain_name(model)}.zip"
    path.write_bytes(archive(bundle_of([ran(folder / plain_name(model), suite, model, wrong)])))
    return path


@pytest.mark.slow
def test_a_copy_of_a_run_on_the_site_is_flagged(own_run: tuple[Path, Path], tmp_path: Path) -> None:
    run, suite = own_run
    own = OwnResults([run], threading.Event())
    ((level, words),) = found_by_server(sent_bundle(tmp_path, suite, "lab/copy", "umbrella"), suite, own)
    assert level == "flagged"
    assert words == (
        "the replies are those of lab/own, one of the site's own results: "
        "5 of 5 replies that are long or not correct are identical"
    )
    assert found_by_server(sent_bundle(tmp_path, suite, "lab/other", "ferry"), suite, own) == []


@pytest.mark.slow
def test_a_bundle_is_taken_in_where_results_on_the_site_cannot_be_read(
    own_run: tuple[Path, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, suite = own_run
    path = sent_bundle(tmp_path, suite, "lab/copy", "umbrella")
    ((level, words),) = found_by_server(path, suite, OwnResults([tmp_path / "lost"], threading.Event()))
    assert (level, "the site's own results" in words) == ("unverified", True)
    assert "lost: no such run folder" in caplog.text
    assert found_by_server(path, suite, OwnResults([], threading.Event())) == []


@pytest.mark.slow
def test_offline_readers_are_not_compared_with_those_on_the_site(own_run: tuple[Path, Path]) -> None:
    run, _ = own_run
    (batch,) = read_results([run])
    own = OwnResults([run], threading.Event())
    ((_, prints),) = batch.prints().items()
    assert len(list(own.copied("lab/copy", prints))) == 1
    own._read = [("fathom/guess", "", prints)]
    assert list(own.copied("fathom/first", prints)) == []


# ----------------------------------------------------------------------------------------- one's own; undoing


def test_nobody_decides_on_what_is_their_own(client: TestClient, tokens: dict[str, str], store: Store) -> None:
    id = send(client, tokens["mo"], b"good own seed1").json()["id"]
    for what in ("accept", "refuse"):
        answer = act(client, tokens["mo"], id, what, reason="it is mine")
        assert (answer.status_code, "your own" in answer.json()["error"]) == (403, True)
    assert store.decisions() == []
    assert act(client, tokens["jo"], id, "accept", reason="right").status_code == 200
    number = store.decisions()[0].number
    assert act(client, tokens["mo"], id, "undo", reason="x", decision=number).status_code == 403
    assert act(client, tokens["ann"], id, "undo", reason="x", decision=number).status_code == 404


def test_a_decision_needs_a_reason_and_is_listed_with_it(client: TestClient, tokens: dict[str, str]) -> None:
    id = send(client, tokens["ann"], b"good model seed1").json()["id"]
    assert act(client, tokens["mo"], id, "accept").status_code == 422
    assert act(client, tokens["mo"], id, "accept", reason=" ").status_code == 422
    assert act(client, tokens["mo"], id, "accept", reason="seems right").status_code == 200
    taken = act(client, tokens["jo"], id, "refuse", reason="a copy").json()
    number = taken["history"][0]["number"]
    assert act(client, tokens["mo"], id, "undo", reason="not a copy").status_code == 422
    assert act(client, tokens["mo"], id, "undo", reason="not a copy", decision=True).status_code == 422
    assert act(client, tokens["mo"], id, "undo", decision=number).status_code == 422
    undone = act(client, tokens["mo"], id, "undo", reason="not a copy", decision=number).json()
    assert undone["state"] == "accepted"
    assert act(client, tokens["jo"], id, "undo", reason="late", decision=number).status_code == 409
    listed = client.get("/api/decisions", headers={"Authorization": tokens["jo"]}).json()["decisions"]
    assert [(one["model"], one["decided_by"], one["action"], one["reason"]) for one in listed] == [
        ("model", "mo", "undone", "not a copy"),
        ("model", "jo", "refused", "a copy"),
        ("model", "mo", "accepted", "seems right"),
    ]
    assert client.get("/api/decisions", headers={"Authorization": tokens["ann"]}).status_code == 403


def test_who_withdrew_something_takes_that_back(client: TestClient, tokens: dict[str, str]) -> None:
    id = send(client, tokens["ann"], b"good model seed1").json()["id"]
    number = act(client, tokens["ann"], id, "withdraw").json()["history"][0]["number"]
    assert act(client, tokens["mo"], id, "undo", reason="I want it", decision=number).status_code == 403
    assert act(client, tokens["ann"], id, "undo", reason="a slip", decision=number).json()["state"] == "pending"


# --------------------------------------------------------------------------------------------- on the site


def ran(folder: Path, suite: Path, model: str, wrong: str) -> Path:
    """A run whose wrong replies begin with a word and are all different."""
    make_run(folder, suite, samples=[], judge=False, model=model)
    ledger, texts = Ledger(folder, this_worker()), open_suite(suite).texts()
    for number in range(6):
        one: Sample = sample("passkey", number)
        reply = reply_to(one, 1) if number == 5 else Reply("ok", f"{wrong} {number}", stop="stop", tokens_in=one.tokens)
        sent = sha256(render(one, texts).encode()).hexdigest()[:16] if reply.status == "ok" else ""
        ledger.finish(one, 1, reply, prompt_hash=sent, cost=0.0)
    ledger.close()
    return folder


def test_lines_say_what_they_have_in_common_with_others(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    own = ran(tmp_path / "own", suite, "lab/own", "umbrella")
    for name, model, wrong in (("copy", "lab/copy", "umbrella"), ("other", "Big Model", "ferry")):
        (tmp_path / f"{name}.zip").write_bytes(archive(bundle_of([ran(tmp_path / name, suite, model, wrong)])))
    batches = list(read_results([own, tmp_path / "copy.zip", tmp_path / "other.zip"]))

    def line(model: str, provenance: Any) -> Entry:
        return Entry(model, "", Origin(provenance, "t", note="A note."), {})

    found = [
        (batches[0], {"pro": [line("lab/own", "measured")]}),
        (batches[1], {"pro": [line("lab/copy", "submitted")]}),
        (batches[2], {"pro": [line("Big Model", "submitted")]}),
    ]
    published = {"pro": [line("big-model", "published")], "ada": [line("lab/copy", "published")]}
    notes = [lines["pro"][0].origin.note for lines in with_flags(found, published)]
    assert notes == [
        "A note.",
        "The same replies as lab/own: 5 of 5 replies that are long or not correct are identical. A note.",
        "The same name as the published entry big-model; that it is the same model is not verified. A note.",
    ]


def test_bundles_are_not_read_twice_where_none_was_submitted(tmp_path: Path) -> None:
    """Replies of runs are only read where there is something to compare them with."""
    suite = make_suite(tmp_path / "suite")
    (batch,) = read_results([ran(tmp_path / "own", suite, "lab/own", "umbrella")])
    entry = Entry("lab/own", "", Origin("measured", "t"), {})

    def never() -> dict[tuple[str, str], Any]:
        raise AssertionError

    lines = {"pro": [entry]}
    assert with_flags([(replace(batch, prints=never), lines)], {}) == [lines]
