"""A server that is killed in the middle of an upload: what was stored stays, and no file is left for long."""

from __future__ import annotations

import re
import threading
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest

from fathom.studio.auditing import audit
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import SetIntake
from loopback_studio import serving
from processes import until
from studio_stores import PASSWORD, PEOPLE, fill, quick_hasher


@pytest.mark.slow
def test_a_killed_upload_keeps_what_was_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(temporary))
    place = str(tmp_path / "store")
    with closing(Store(place)) as store:
        store.set_intake(SetIntake("words"))
        fill(store)
        people = People(store, hasher=quick_hasher())
        for name in PEOPLE:
            people.set_password(name, PASSWORD)
        there = len(store.documents())
        files = [("files", (f"{number}.txt", f"Text number {number}".encode())) for number in range(100)]

        def send(address: str) -> str:
            with httpx.Client(base_url=address, timeout=120) as client:
                client.post("/login", data={"name": "bo", "password": PASSWORD})
                match = re.search(r'data-csrf="([^"]+)"', client.get("/account").text)
                assert match
                return client.post("/documents", files=files, headers={"x-csrf": match[1]}).text

        def interrupted(address: str) -> None:
            with suppress(httpx.HTTPError):
                send(address)

        with serving(place) as (address, process):
            thread = threading.Thread(target=interrupted, args=(address,))
            thread.start()
            until(lambda: len(store.documents()) >= there + 3)
            process.kill()
            process.wait()
            thread.join()
        kept = len(store.documents()) - there
        assert 3 <= kept < 100
        assert audit(store).problems == ()
        with serving(place) as (address, _):
            assert list(temporary.glob("fathom-upload-*")) == []
            page = send(address)
            assert f"{100 - kept} new documents from 100 files" in page
        assert len(store.documents()) == there + 100
        assert audit(store).problems == ()
