"""Documents in Chromium: files chosen and dropped, without script too, and the compliance review by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chromium import browsers, violations
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import SetIntake
from loopback_studio import serving
from made_studio import made_text
from studio_stores import PASSWORD, PEOPLE, fill, quick_hasher

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
chromium = pytest.fixture(scope="module")(browsers)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    place = str(tmp_path / "store")
    with closing(Store(place)) as store:
        store.set_intake(SetIntake("words", (4096,), 0.5))
        fill(store)
        people = People(store, hasher=quick_hasher())
        for name in PEOPLE:
            people.set_password(name, PASSWORD)
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.md").write_text(f"# The first\n\nCopyright 2020 Ida. Write to ida@example.org.\n\n{made_text(1)}")
    (folder / "b.txt").write_text(f"The second edition\n\n{made_text(1)}")
    (folder / "c.pdf").write_bytes(b"%PDF-1.4 nothing")
    return place


def entered(chromium: Browser, address: str, name: str, faults: list[str], **options: Any) -> Page:
    tab = chromium.new_context(**options).new_page()
    tab.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("request", lambda sent: faults.append(sent.url) if "127.0.0.1" not in sent.url else None)
    tab.goto(f"{address}/login")
    tab.fill("[name=name]", name)
    tab.fill("[name=password]", PASSWORD)
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{address}/")
    return tab


@pytest.fixture
def faults() -> Iterator[list[str]]:
    found: list[str] = []
    yield found
    assert found == []


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_from_files_to_reviewed_documents(
    chromium: Browser, place: str, tmp_path: Path, faults: list[str], width: int, scheme: Any
) -> None:
    with serving(place) as (address, _), closing(Store(place)) as store:
        size = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
        tab = entered(chromium, address, "bo", faults, **size)
        tab.goto(f"{address}/documents")
        tab.click("summary >> text=Add documents")
        assert violations(tab) == []
        tab.set_input_files("[name=files]", sorted((tmp_path / "files").iterdir()))
        tab.wait_for_selector("#add-status:text-matches('3 chosen')")
        tab.fill("[name=licence]", "CC0")
        tab.click("text=Add the files")
        tab.wait_for_selector("h1:text-is('2 new documents from 3 files')", timeout=60_000)
        assert violations(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        expert = entered(chromium, address, "eve", faults, **size)
        expert.goto(f"{address}/compliance")
        order = store.document_ids(state="collected")
        titles = [store.document(id).title for id in order]
        for at, title in enumerate((*titles, titles[0])):  # round and back to the beginning
            expert.wait_for_selector(f"h1:text-is('{title}')")
            expert.wait_for_selector("#text section")
            assert at or violations(expert) == []
            assert expert.evaluate("document.documentElement.scrollWidth") <= width
            expert.keyboard.press("j")
        expert.wait_for_selector(f"h1:text-is('{titles[1]}')")
        expert.goto(f"{address}/compliance?at={next(one.id for one in store.documents() if one.title == 'The first')}")
        expert.wait_for_selector("#text section")
        expert.click("button.found >> text=ida@example.org")
        expert.wait_for_selector("#hits:text-is('1 of 1')")
        expert.locator("#compliance h1").click()
        expert.keyboard.press("a")
        expert.wait_for_selector("[role=status] >> text=The first")
        expert.goto(f"{address}/compliance?at={next(one.id for one in store.documents() if 'second' in one.title)}")
        expert.wait_for_selector("#text section")
        expert.keyboard.press("x")
        expert.keyboard.press("Enter")  # without a reason nothing is sent
        assert expert.evaluate("document.getElementById('reason').validationMessage") == "Write why it is excluded."
        expert.keyboard.type("a duplicate")
        expert.keyboard.press("Enter")
        expert.wait_for_selector("text=is excluded: a duplicate")
        assert {one.title: one.state for one in store.documents()}["The first"] == "available"
        assert [one.reason for one in store.documents(state="excluded")] == ["a duplicate"]


def test_files_are_dropped_and_too_large_ones_refused_before_they_are_sent(
    chromium: Browser, place: str, faults: list[str]
) -> None:
    with serving(place) as (address, _):
        tab = entered(chromium, address, "bo", faults)
        tab.goto(f"{address}/documents")
        tab.click("summary >> text=Add documents")
        tab.evaluate(
            """() => {
                const files = new DataTransfer();
                files.items.add(new File(["A dropped text."], "dropped.txt"));
                const drop = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
                document.querySelector(".drop").dispatchEvent(drop);
            }"""
        )
        tab.wait_for_selector("#add-status:text-matches('1 chosen')")
        tab.click("text=Add the files")
        tab.wait_for_selector("text=A dropped text.", timeout=60_000)
        tab.goto(f"{address}/documents")
        tab.click("summary >> text=Add documents")
        tab.evaluate(
            """() => {
                const field = document.querySelector("[name=files]");
                const files = new DataTransfer();
                files.items.add(new File([new Uint8Array(65 * 1048576)], "large.txt"));
                field.files = files.files;
                field.dispatchEvent(new Event("change"));
            }"""
        )
        tab.wait_for_selector("#add-status:text-is('large.txt has 65 MiB; at most 64 are taken')")
        assert not tab.evaluate("document.getElementById('add').checkValidity()")


def test_without_script(chromium: Browser, place: str, tmp_path: Path, faults: list[str]) -> None:
    with serving(place) as (address, _), closing(Store(place)) as store:
        tab = entered(chromium, address, "eve", faults, java_script_enabled=False)
        tab.goto(f"{address}/documents")
        tab.click("summary >> text=Add documents")
        tab.set_input_files("[name=files]", tmp_path / "files" / "a.md")
        tab.click("text=Add the files")
        tab.wait_for_selector("h1:text-is('1 new document from 1 file')", timeout=60_000)
        tab.click("text=Review them")
        for _ in range(2):
            tab.fill("[name=reason]", "not ours")
            tab.click("button >> text=Exclude")
            tab.wait_for_selector("text=is excluded: not ours")
        assert "No document waits" in tab.inner_text("main")
        assert not store.document_ids(state="collected")
