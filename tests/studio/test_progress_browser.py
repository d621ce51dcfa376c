"""The pages of progress and quality in Chromium: a rating by keyboard, sizes, and accessibility."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chromium import browsers, load, violations
from fathom.studio.people import People
from fathom.studio.states import RATING
from fathom.studio.store import Store
from fathom.studio.types import Audit
from loopback_studio import serving
from studio_stores import PASSWORD, PEOPLE, fill, person, quick_hasher, review, to_answer_review

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
chromium = pytest.fixture(scope="module")(browsers)


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A studio with one sample to rate and one that is audited."""
    place = tmp_path / "store"
    with closing(Store(str(place))) as store:
        fill(store)
        people = People(store, hasher=quick_hasher())
        for name in PEOPLE:
            people.set_password(name, PASSWORD)
        for id in ("s-1", "s-2"):
            now = to_answer_review(store, id)
            store.act(review(now), person("bo"))
            now = store.act(review(now), person("cy"))
        store.act(Audit("s-2", now.version, "pass"), person("ed"))
    (place / "design.toml").write_text("rate_one_in = 1\nraters = 1\naudit_one_in = 1\nhourly = 20\n")
    return str(place)


def log_in(tab: Page, address: str, name: str) -> None:
    tab.goto(f"{address}/login")
    tab.fill("[name=name]", name)
    tab.fill("[name=password]", PASSWORD)
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{address}/")


def test_a_rating_by_keyboard(chromium: Browser, place: str) -> None:
    with serving(place) as (address, _), closing(Store(place)) as store:
        tab = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
        log_in(tab, address, "ed")
        tab.goto(f"{address}/quality")
        tab.click("text=Rate a sample")
        tab.wait_for_selector("#text section")
        tab.focus("[name=task]")
        for _ in range(5):
            tab.keyboard.press("ArrowRight")  # partly
            tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("text=Your rating is stored.")
        (entry,) = store.notes(topic=RATING)
        assert (entry.person, entry.note.subject, entry.note.body.count("partly")) == ("ed", "s-1", 5)
        assert "0.500" in tab.inner_text("table")
        tab.wait_for_load_state()  # its script hears the keys
        tab.keyboard.press("g")
        tab.keyboard.press("p")
        tab.wait_for_url(f"{address}/progress")
        tab.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_pages_with_figures_pass_axe(chromium: Browser, place: str, width: int, scheme: Any) -> None:
    with serving(place) as (address, _):
        context = chromium.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        tab = context.new_page()
        faults: list[str] = []
        tab.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        log_in(tab, address, "ed")
        # Pages that the walk (test_studio_walk.py) reaches are checked there.
        for path in ("progress?state=accepted&hourly=20", "quality", "?state=to_audit", "samples/s-2/history"):
            load(tab, f"{address}/{path}")
            assert violations(tab) == [], path
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, path
        assert faults == []
        context.close()
