"""Documents in the browser: uploads, their limits and attacks on them, and the compliance review list."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi.testclient import TestClient

from fathom.studio.auditing import audit
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import ReviewDocument, SetIntake, StudioDocument
from fathom.studio.uploads import AddedFile, UploadReport
from fathom.studio.web import documents, receiving
from fathom.studio.web.app import make_app
from made_studio import made_text
from studio_stores import DOCUMENT, OPERATOR, PASSWORD, PEOPLE, fill, person, quick_hasher

EVIL = "<img src=x onerror=alert(1)>\"';{{7*7}}\u202e"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with closing(Store(str(tmp_path / "store"))) as opened:
        opened.set_intake(SetIntake("words", (4096,), 0.5), OPERATOR)
        fill(opened)
        people = People(opened, hasher=quick_hasher())
        for name in PEOPLE:
            people.set_password(name, PASSWORD)
        yield opened
    assert list(folder.iterdir()) == [], "temporary files are left"


@pytest.fixture
def app(store: Store) -> Any:
    return make_app(store, People(store, hasher=quick_hasher()))


def client(app: Any, name: str) -> TestClient:
    """Somebody's browser, with the secret of the session as a header."""
    found = TestClient(app, follow_redirects=False, raise_server_exceptions=False)
    found.headers["accept"] = "text/html"
    assert found.post("/login", data={"name": name, "password": PASSWORD}).status_code == 303
    match = re.search(r'data-csrf="([^"]+)"', found.get("/account").text)
    assert match
    found.headers["x-csrf"] = match[1]
    return found


def files(**contents: bytes | str) -> list[tuple[str, tuple[str, bytes]]]:
    return [
        ("files", (name.replace("__", "."), one if isinstance(one, bytes) else one.encode()))
        for name, one in contents.items()
    ]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes]]:
    """Takes what arrives instead of reading it."""
    taken: list[tuple[str, bytes]] = []

    def add(store: Store, sent: Any, rules: Any, by: Any) -> UploadReport:
        taken.extend((one.name, one.content.read()) for one in sent)
        return UploadReport(tuple(AddedFile(one.name) for one in sent))

    monkeypatch.setattr(documents, "add_uploads", add)
    return taken


@pytest.mark.slow
def test_files_become_documents_that_wait_for_their_review(app: Any, store: Store) -> None:
    bo, eve = client(app, "bo"), client(app, "eve")
    facts = {"source": "https://example.org", "licence": "CC0", "domain": "law", "format": "contract", "language": "zh"}
    sent = files(a__md=f"# A contract\n\n{made_text(1)}", b__txt=made_text(1), c__xyz="?", d__txt=made_text(1))
    page = bo.post("/documents", data=facts, files=sent).text
    assert "2 new documents from 4 files" in page
    assert "The same text is there already" in page
    assert "this format is not read" in page
    assert re.search(r"nearly equal to</span> <a [^>]*>A contract</a>", page)
    new = [one for one in store.documents() if one.id != DOCUMENT]
    assert {(one.licence, one.domain, one.format, one.language, one.state) for one in new} == {
        ("CC0", "law", "contract", "zh", "collected")
    }
    assert {one.source for one in new} == {"https://example.org: a.md", "https://example.org: b.txt"}
    assert "bo" in eve.get(f"/compliance?at={new[0].id}").text
    assert audit(store).problems == ()


def test_who_may_add_documents(app: Any, store: Store, quick: list[tuple[str, bytes]]) -> None:
    assert "Add documents" not in client(app, "ray").get("/documents").text
    assert client(app, "ray").post("/documents", files=files(a__txt="x")).status_code == 403
    anyone = TestClient(app, follow_redirects=False)
    assert anyone.post("/documents", files=files(a__txt="x")).status_code == 401
    bo = client(app, "bo")
    del bo.headers["x-csrf"]
    assert bo.post("/documents", files=files(a__txt="x")).status_code == 403
    assert bo.post("/documents", files=files(a__txt="x"), data={"csrf": "x" * 43}).status_code == 403
    assert quick == []
    bo = client(app, "bo")
    evil = {"origin": "http://evil.test"}
    assert bo.post("/documents", files=files(a__txt="x"), headers=evil).status_code == 403
    assert bo.post("/documents", files=files(a__txt="x", b__txt="y")).status_code == 200
    assert quick == [("a.txt", b"x"), ("b.txt", b"y")]


def test_names_and_facts_are_shown_as_text(app: Any, store: Store) -> None:
    bo = client(app, "bo")
    sent = [("files", (f"{EVIL}.xyz", b"x")), ("files", ("../../../etc/cron.d/x.exe", b"x"))]
    page = bo.post("/documents", files=sent, data={"source": EVIL}).text
    assert "<img" not in page
    assert "../../../etc/cron.d/x.exe" in page
    answer = bo.post("/documents", files=files(a__txt="x"), data={"licence": "x" * 501})
    assert (answer.status_code, "licence: more than 500 characters" in answer.text) == (400, True)
    answer = bo.post("/documents", files=files(a__txt="x"), data={"language": "fr"})
    assert (answer.status_code, "expected en or zh" in answer.text) == (400, True)
    answer = bo.post("/documents", files=[("files", ("", b""))])
    assert (answer.status_code, "no file was chosen" in answer.text) == (400, True)


def test_too_much_is_refused_with_what_to_do(
    app: Any, quick: list[tuple[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    bo = client(app, "bo")
    monkeypatch.setattr(receiving, "MOST_OF_FILE", 2 << 20)
    monkeypatch.setattr(receiving, "MOST_OF_ALL", 4 << 20)
    answer = bo.post("/documents", files=files(a__txt="x" * (3 << 20)))
    assert (answer.status_code, "a.txt: more than 2 MiB" in answer.text) == (413, True)
    answer = bo.post("/documents", files=files(**{f"{one}__txt": "x" * (1 << 20) for one in "abcde"}))
    assert (answer.status_code, "send fewer files at once" in answer.text) == (413, True)
    answer = bo.post("/documents", files=[("files", (f"{number}.txt", b"x")) for number in range(101)])
    assert (answer.status_code, "at most 100 files at once" in answer.text) == (413, True)
    assert quick == []

    def endless() -> Iterator[bytes]:
        yield b'--x\r\ncontent-disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        for _ in range(9):
            yield b"x" * (1 << 20)

    kind = {"content-type": "multipart/form-data; boundary=x"}
    assert bo.post("/documents", content=endless(), headers=kind).status_code == 413


PART = b'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n'


@pytest.mark.parametrize(
    ("body", "boundary"),
    [
        (b"", ""),
        (b"x", "; boundary="),
        (b"--x", "; boundary=x"),
        (b"--x\r\n\r\nvalue\r\n--x--", "; boundary=x"),
        (b"--x\r\ncontent-disposition: form-data\r\n\r\nvalue\r\n--x--", "; boundary=x"),
        (b"--x\r\n" + b"a" * 3_000_000, "; boundary=x"),
        (b"--x\r\na: " + b"a" * 3_000_000 + b"\r\n\r\n", "; boundary=x"),
        (b"--x\r\n" + b"a: b\r\n" * 300_000 + b"\r\n", "; boundary=x"),
        (PART + b"v" * 3_000_000, "; boundary=x"),
        ((PART + b"v\r\n") * 30 + b"--x--", "; boundary=x"),
        (b"--x", "; boundary=" + "x" * 3000),
    ],
)
def test_forms_that_are_no_forms(app: Any, quick: list[tuple[str, bytes]], body: bytes, boundary: str) -> None:
    kind = {"content-type": f"multipart/form-data{boundary}"}
    answer = client(app, "bo").post("/documents", content=body, headers=kind)
    assert answer.status_code in (400, 413)


@pytest.mark.slow
def test_a_name_in_a_strange_charset_is_only_a_name(app: Any) -> None:
    body = b'--x\r\ncontent-disposition: form-data; name="\xff\xfe"; filename="\x00\xd8.txt"\r\n\r\nv\r\n--x--'
    for charset in ("utf-16", "utf-16-le", "none", "idna", "rot13", "hex"):
        kind = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
        answer = client(app, "bo").post("/documents", content=body, headers=kind)
        assert answer.status_code in (200, 400), charset


def test_a_full_disk_while_files_arrive_is_507(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("starlette.datastructures.UploadFile.write", full)
    answer = client(app, "bo").post("/documents", files=files(a__txt="words"))
    assert (answer.status_code, "no space for these files" in answer.text) == (507, True)


def test_a_full_store_is_507_and_says_what_was_stored(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = UploadReport(
        (AddedFile("a.txt"), AddedFile("b.txt", problems=("not stored: no space is left",))), full=True
    )
    monkeypatch.setattr(documents, "add_uploads", lambda *_: outcome)
    answer = client(app, "bo").post("/documents", files=files(a__txt="words", b__txt="words"))
    assert (answer.status_code, "not stored: no space is left" in answer.text) == (507, True)


def test_a_form_that_does_not_arrive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.requests import Request

    from fathom.server.answers import AnswerError

    monkeypatch.setattr(receiving, "IDLE_SECONDS", 0.05)

    async def nothing() -> Any:
        await anyio.sleep_forever()

    async def slow() -> Any:
        await anyio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def read(receive: Any, seconds: float) -> None:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)
        async for _ in receiving.pieces_of(request, 1000, seconds):
            pass

    for receive, seconds in ((nothing, 60.0), (slow, 0.2)):
        with pytest.raises(AnswerError) as caught:
            anyio.run(read, receive, seconds)
        assert caught.value.status == 408


def test_one_upload_of_a_person_at_a_time(app: Any, quick: list[tuple[str, bytes]]) -> None:
    bo, cy = client(app, "bo"), client(app, "cy")
    with app.app.state.uploads.hold("bo") as free:
        assert free
        answer = bo.post("/documents", files=files(a__txt="x"))
        assert (answer.status_code, "still being read" in answer.text) == (429, True)
        assert cy.post("/documents", files=files(a__txt="x")).status_code == 200
    assert bo.post("/documents", files=files(a__txt="x")).status_code == 200


def collect(store: Store, number: int) -> list[str]:
    """Documents that wait for a review."""
    ids = [f"d{at:02}" for at in range(number)]
    for id in ids:
        text = f"Text of {id}. Write to {id}@example.org.\nCopyright 2020 {id}"
        store.add_document(StudioDocument(id, f"Title {id}", "en", duplicate_of=DOCUMENT), text, person("bo"))
    return ids


@pytest.mark.slow
def test_forty_documents_are_reviewed_one_after_the_other(app: Any, store: Store) -> None:
    store.review_document(ReviewDocument(DOCUMENT, "available"), OPERATOR)
    ids = collect(store, 40)
    eve = client(app, "eve")
    assert "Review 40 one by one" in eve.get("/documents").text
    path = "/compliance"
    for at, id in enumerate(ids):
        page = eve.get(path).text
        assert f"1 of {40 - at} that wait" in page
        for words in (f"{id}@example.org", f"Copyright 2020 {id}", f"Title {id}", "by bo", ">The lamp</a>"):
            assert words in page
        state = "excluded" if at % 4 == 0 else "available"
        answer = eve.post(
            f"/documents/{id}", data={"state": state, "then": "compliance", "reason": "private", "seconds": "7"}
        )
        assert answer.status_code == 303
        path = answer.headers["location"]
    assert "No document waits" in eve.get(path).text
    assert [one.id for one in store.documents(state="excluded")] == ids[::4]
    reviews = [one for one in store.log() if one.kind == "ReviewDocument"]
    assert len(reviews) == 41
    assert audit(store).problems == ()


def test_the_list_goes_round_and_keeps_its_place(app: Any, store: Store) -> None:
    store.review_document(ReviewDocument(DOCUMENT, "available"), OPERATOR)
    collect(store, 3)
    eve = client(app, "eve")
    page = eve.get("/compliance?at=d01").text
    assert "2 of 3 that wait" in page
    assert 'href="/compliance?at=d00" id="before"' in page
    assert 'href="/compliance?at=d02" id="following"' in page
    assert "1 of 3" in eve.get("/compliance?after=d02").text
    assert "3 of 3" in eve.get("/compliance?after=d01").text
    store.review_document(ReviewDocument("d01", "excluded", "private"), person("ed"))
    page = eve.get("/compliance?at=d01").text
    assert "does not wait for a review" in page
    answer = eve.post("/documents/d01", data={"state": "available", "then": "compliance"})
    assert (answer.status_code, "somebody else has reviewed it" in answer.text) == (409, True)
    answer = eve.post("/documents/d00", data={"state": "excluded", "then": "compliance"})
    assert (answer.status_code, "reason is missing" in answer.text) == (409, True)
    for wrong in ("?at=none", "?after=%00", "?at=%F0%9F", "?after=zzz"):
        assert eve.get(f"/compliance{wrong}").status_code == 200


def test_the_limits_of_the_page_are_those_of_the_server(app: Any) -> None:
    page = client(app, "bo").get("/documents").text
    assert 'data-file="64" data-all="256" data-files="100"' in page
    assert (receiving.MOST_OF_FILE, receiving.MOST_OF_ALL, receiving.MOST_FILES) == (64 << 20, 256 << 20, 100)
    assert "Lengths are in tokens of words" in page


def test_uploads_are_closed_whatever_happens(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[io.BufferedIOBase] = []

    def fail(store: Store, sent: Any, rules: Any, by: Any) -> UploadReport:
        kept.extend(one.content for one in sent)
        raise RuntimeError("a bug")

    monkeypatch.setattr(documents, "add_uploads", fail)
    assert client(app, "bo").post("/documents", files=files(a__txt="x")).status_code == 500
    assert kept[0].closed


def add(store: Store, id: str, tokens: int, **facts: Any) -> None:
    bucket = facts.pop("bucket", 0)
    document = StudioDocument(id, f"Title {id}", "en", tokens=tokens, bucket=bucket, state="available", **facts)
    store.add_document(document, f"Text of {id}. " * 50, OPERATOR)


def test_a_sample_begins_from_several_documents_that_are_as_long_as_a_bucket(app: Any, store: Store) -> None:
    for id in ("a", "b", "c"):
        add(store, id, 2000)

    bo = client(app, "bo")
    page = bo.get("/documents?state=available").text
    assert 'name="document-a"' in page
    assert "Begin a sample from the chosen documents" in page
    began = bo.post("/samples", data={"task": "T3.1 Multi-Doc Integration QA", "document-a": "1", "document-b": "1"})
    sample = store.sample(began.headers["location"].rpartition("/")[2])
    assert (sample.documents, sample.bucket) == (("a", "b"), 4096)
    page = bo.get(f"/samples/{sample.id}").text
    assert "4,096 tokens" in page
    assert "2 documents" in page
    assert page.count("Title a") == page.count("Title b") == 2, "each can be read, and chosen"
    assert bo.post("/samples", data={"task": "qa"}).status_code == 404
    store.review_document(ReviewDocument("c", "excluded", "private"), person("ed"))
    refused = bo.post("/samples", data={"task": "qa", "document-a": "1", "document-c": "1"})
    assert (refused.status_code, "Title c is excluded" in refused.text) == (400, True)


def test_a_sample_from_a_document_without_a_bucket_has_the_length_of_its_documents(app: Any, store: Store) -> None:
    add(store, "a", 11_000)
    bo = client(app, "bo")
    place = bo.post("/samples", data={"task": "qa", "document": "a"}).headers["location"]
    for path in (place, "/?state=drafted"):
        page = bo.get(path).text
        assert "0 tokens" not in page.replace("11,000 tokens", "")
    assert "11,000 tokens, in no length bucket" in bo.get(place).text
    assert "no bucket" in bo.get("/?state=drafted").text


def test_a_document_nearly_equal_to_another_is_not_called_available(app: Any, store: Store) -> None:
    add(store, "a", 8000, bucket=8192)
    add(store, "b", 8001, bucket=8192, duplicate_of="a")
    assert [one.id for one in store.documents(state="available")] == ["a"]
    assert store.document_ids(state="available") == ["a"]
    assert store.available() == {("en", 8192): 1}
    bo = client(app, "bo")
    assert "Title b" not in bo.get("/documents?state=available").text
    page = bo.get("/documents?state=nearly_equal").text
    assert "Title b" in page
    assert "Title a" not in page
    assert '<span class="state">nearly equal</span>' in bo.get("/documents/b").text
