"""The board for all kinds of readers: axe, phones, keyboards, dark rooms and paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from board_tabs import PROGRAM, VIEWS, Open, Theme, models, sites, tabs, whole
from chromium import COLOURS, browsers, violations
from made_board import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
browser = pytest.fixture(browsers, scope="module")
site = pytest.fixture(sites, scope="module")
opened = pytest.fixture(tabs)


@pytest.fixture(scope="module", params=VIEWS.values(), ids=list(VIEWS))
def wide(browser: Browser, site: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A tab for each view, for all tests that only look at it; those on a phone have ``narrow``, which is drawn so."""
    with contextmanager(tabs)(browser, site) as opened:
        yield whole(opened(request.param), request.param)


@pytest.fixture(scope="module", params=VIEWS.values(), ids=list(VIEWS))
def narrow(browser: Browser, site: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    with contextmanager(tabs)(browser, site) as opened:
        yield whole(opened(request.param, width=375), request.param)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(wide: Page, scheme: Theme) -> None:
    wide.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # colours change at once
    wide.locator(f"html[data-theme={scheme}]").wait_for()
    assert violations(wide, *(COLOURS if scheme == "dark" else ())) == []


def test_no_page_shows_words_of_the_program(wide: Page) -> None:
    assert re.findall(PROGRAM, wide.locator("main").inner_text()) == []


def test_axe_finds_nothing_in_the_popover(opened: Open) -> None:
    tab = opened(width=375)
    tab.locator("button.why").first.click()
    tab.get_by_role("dialog").locator("details").first.wait_for()
    assert violations(tab) == []


@pytest.mark.parametrize("width", [768, 1280])
def test_no_page_scrolls_sideways(wide: Page, width: int) -> None:
    keeps_to(wide, width)


@pytest.mark.parametrize("width", [320, 375])
def test_no_page_scrolls_sideways_on_a_phone(narrow: Page, width: int) -> None:
    keeps_to(narrow, width)


def keeps_to(tab: Page, width: int) -> None:
    """Neither the page nor a box of it is wider than that; boxes may hold more, and be scrolled themselves."""
    tab.set_viewport_size({"width": width, "height": 800})
    assert tab.evaluate("innerWidth") == width
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("[...document.querySelectorAll('.scroll')].every(box => box.clientWidth <= innerWidth)")


def test_the_model_stays_in_view_on_a_phone(opened: Open) -> None:
    tab = opened(width=375)
    tab.locator(".scroll").evaluate("box => { box.scrollLeft = 500; box.scrollTop = 300; }")
    box = tab.locator(".scroll").bounding_box()
    name = tab.locator("table.board tbody th.model").nth(6).bounding_box()
    top = tab.locator("table.board thead th.model").bounding_box()
    assert box is not None
    assert name is not None
    assert top is not None
    assert abs(name["x"] - box["x"]) < 2
    assert abs(top["y"] - box["y"]) < 2
    assert name["width"] < 375 * 0.5


def test_the_theme_follows_the_system_until_the_reader_chooses(opened: Open) -> None:
    tab = opened(scheme="dark")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    assert tab.evaluate(paper) == "rgb(18, 21, 26)"
    tab.get_by_role("button", name="Light theme").click()
    assert tab.evaluate(paper) == "rgb(255, 255, 254)"
    tab.reload()
    tab.locator("main h1").wait_for()
    assert tab.evaluate(paper) == "rgb(255, 255, 254)"
    assert opened(scheme="light").evaluate(paper) == "rgb(255, 255, 254)"


def test_the_keyboard_reaches_everything(opened: Open) -> None:
    tab = opened()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        seen = tab.evaluate(
            "(() => { const at = document.activeElement; const style = getComputedStyle(at);"
            " return [at.className || at.type || at.tagName, style.outlineStyle, style.outlineWidth]; })()"
        )
        reached.add(str(seen[0]))
        assert seen[1] != "none", f"no focus to be seen on {seen[0]}"
    assert {"search", "checkbox", "sort", "why", "scroll", "A"} <= reached


def test_hostile_names_are_text_and_keep_to_their_place(opened: Open) -> None:
    tab = opened()
    names = models(tab)
    assert HOSTILE[0] in names
    assert not any(mark in name for name in names for mark in "\u202e\u202c\x1b")
    assert tab.locator("main script, main img, main b > i").count() == 0
    widths = tab.locator("table.board tbody th.model").evaluate_all("cells => cells.map(cell => cell.offsetWidth)")
    heights = tab.locator("table.board tbody tr:not(.divider)").evaluate_all(
        "rows => rows.map(row => row.offsetHeight)"
    )
    assert max(widths) < 320
    assert max(heights) < 90


def test_the_policy_refuses_markup_and_scripts_of_others(browser: Browser, site: Path) -> None:
    tab = browser.new_page()
    tab.goto(site.as_uri())
    tab.locator("main h1").wait_for()
    refused = """source => { try { source === 'markup' ? document.body.innerHTML = '<b>x</b>'
        : document.head.append(Object.assign(document.createElement('script'), { src: source })); return 'taken'; }
        catch (error) { return error.name; } }"""
    assert tab.evaluate(refused, "markup") == "TypeError"
    assert tab.evaluate(refused, "https://example.org/x.js") == "TypeError"
    assert tab.evaluate("fathom.load('../../x').then(() => 'taken', error => error.name)") == "TypeError"
    tab.close()


def test_paper_gets_the_table_without_what_cannot_be_pressed(opened: Open) -> None:
    tab = opened()
    tab.emulate_media(media="print")
    assert not tab.locator(".controls").is_visible()
    assert not tab.locator("#boards").is_visible()
    assert tab.locator("table.board").is_visible()
    assert tab.locator(".scroll").evaluate("box => getComputedStyle(box).overflowX") == "visible"
