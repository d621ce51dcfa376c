"""The moderation page in a browser: decisions, names that are scripts, a token that is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chromium import browsers, violations
from fathom.board.serve.store import Store
from fathom.board.serve.tokens import make_token
from loopback_board import post, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = b"good <img src=x onerror=document.title='taken'>"

pytestmark = [pytest.mark.browser, pytest.mark.slow]
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect
browser = pytest.fixture(browsers, scope="module")


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def token(store: Store) -> str:
    """The moderator's."""
    return make_token(store, "mo", "moderate")


@pytest.fixture
def sender(store: Store) -> str:
    """That of who sends the bundles."""
    return make_token(store, "ann", "submit")


@pytest.fixture
def page(browser: Browser, place: str, sender: str, tmp_path: Path) -> Iterator[Page]:
    """The moderation page of a server with two submissions; fails where the page complains."""
    complaints: list[str] = []
    with serving(place, tmp_path / "out") as (address, _):
        for content in (HOSTILE, b"good model-b"):
            headers = {"Content-Type": "application/zip", "Authorization": f"Bearer {sender}"}
            assert post(f"{address}api/submissions", content=content, headers=headers).status_code == 201
        tab = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(f"{address}moderate")
        yield tab
        tab.close()
    # The made site has no icon; a token that is refused is told to the console too.
    assert [said for said in complaints if "404" not in said and "401" not in said] == []


def test_submissions_are_decided_on(page: Page, token: str, store: Store) -> None:
    page.get_by_label("Token").fill("fathom-nobody")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("missing or invalid token")
    expect(page.get_by_role("combobox")).to_be_hidden()

    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    items = page.get_by_role("listitem").filter(has=page.get_by_role("heading"))
    expect(items).to_have_count(2)
    hostile = items.filter(has_text="onerror")
    expect(hostile.get_by_role("heading")).to_have_text("<img src=x onerror=document.title='taken'>")
    assert page.locator("img").count() == 0
    assert page.title() == "Moderation"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    hostile.get_by_role("button", name="Refuse").click()
    expect(page.get_by_role("alert")).to_contain_text("Enter a reason")
    hostile.get_by_label("Reason").fill("a script for a name")
    hostile.get_by_role("button", name="Refuse").click()
    expect(items).to_have_count(1)
    items.get_by_role("button", name="Accept").click()
    expect(page.get_by_role("alert")).to_contain_text("Enter a reason")
    items.get_by_label("Reason").fill("seems right")
    items.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("No submissions.")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("The site is up to date.")
    assert {one.state: one.reason for one in store.listed()} == {
        "accepted": "seems right",
        "refused": "a script for a name",
    }

    page.get_by_label("Show").select_option("refused")
    expect(items).to_have_count(1)
    expect(items).to_contain_text("a script for a name")
    page.get_by_label("Show").select_option("accepted")
    with page.expect_download() as download:
        items.get_by_role("button", name="Download").click()
    assert Path(download.value.path()).read_bytes() == b"good model-b"


def test_what_is_wrong_is_said_where_it_can_be_seen(page: Page, token: str) -> None:
    page.set_viewport_size({"width": 390, "height": 400})
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Accept").first.click()
    box = page.get_by_role("alert").bounding_box()
    assert box is not None
    assert page.evaluate("document.documentElement.scrollHeight > 2 * innerHeight")
    assert 0 <= box["y"] <= 400 - box["height"]


def test_a_reason_of_the_check_is_said_once(page: Page, token: str, sender: str) -> None:
    headers = {"Content-Type": "application/zip", "Authorization": f"Bearer {sender}"}
    address = page.url.removesuffix("moderate")
    assert post(f"{address}api/submissions", content=b"bad", headers=headers).status_code == 422
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_label("Show").select_option("refused")
    expect(page.get_by_text("refused by the check")).to_be_visible()
    expect(page.get_by_text("no zip archive")).to_have_count(1)


def test_axe_finds_nothing_on_the_moderation_page(page: Page, token: str) -> None:
    assert violations(page) == []
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_label("Reason").first.fill("a slip")
    page.get_by_role("button", name="Refuse").first.click()
    expect(page.get_by_label("Reason")).to_have_count(1)
    page.get_by_label("Show").select_option("pending")
    expect(page.locator("#list > li h2").first).to_be_visible()
    assert violations(page) == [], "pending"
    page.get_by_label("Show").select_option("decisions")
    expect(page.get_by_label("Reason")).to_have_count(0)
    expect(page.locator("#list > li h2").first).to_be_visible()
    assert violations(page) == [], "decisions"


def test_a_decision_is_undone_and_all_are_listed(page: Page, token: str, store: Store) -> None:
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    items = page.get_by_role("listitem").filter(has=page.get_by_role("heading"))
    expect(items).to_have_count(2)
    chosen = items.filter(has_text="model-b")
    chosen.get_by_label("Reason").fill("a slip")
    chosen.get_by_role("button", name="Refuse").click()
    expect(items).to_have_count(1)
    page.get_by_label("Show").select_option("refused")
    expect(items).to_contain_text("by mo: a slip")
    items.get_by_label("Reason").fill("the other one was meant")
    items.get_by_role("button", name="Undo the last decision").click()
    expect(page.get_by_text("No submissions.")).to_be_visible()
    page.get_by_label("Show").select_option("decisions")
    expect(items).to_have_count(2)
    expect(items.first).to_contain_text("pending again: the other one was meant")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert {one.state for one in store.listed()} == {"pending"}


def test_what_a_moderator_sent_is_left_to_others(page: Page, token: str) -> None:
    address = page.url.removesuffix("moderate")
    headers = {"Content-Type": "application/zip", "Authorization": f"Bearer {token}"}
    assert post(f"{address}api/submissions", content=b"good model-b", headers=headers).status_code == 409
    assert post(f"{address}api/submissions", content=b"good Model B", headers=headers).status_code == 201
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    items = page.get_by_role("listitem").filter(has=page.get_by_role("heading"))
    own = items.filter(has_text="This is your submission")
    expect(own).to_have_count(1)
    expect(own.get_by_role("button")).to_have_count(0)
    expect(items.filter(has_text="the same name, from another submitter")).to_have_count(2)


def test_a_token_is_forgotten(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Show")).to_be_visible()
    page.reload()  # the tab still knows it
    expect(page.get_by_label("Show")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0
    assert page.evaluate("document.querySelectorAll('#list > li').length") == 0
