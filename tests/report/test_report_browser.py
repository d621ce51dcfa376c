"""The page in a browser: it opens quietly, fits a phone, and has a dark side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl
import pytest
from hundred_rows import make_hundred
from pro_rows import make_pro
from report_rows import LENGTHS, make_rows

from chromium import browsers, load, violations
from fathom.report.made import report
from made_results_pro import rows_from_longbench_pro, write_results

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
browser = pytest.fixture(browsers, scope="module")

NAME = "lab/a-very-long-model-name-without-any-place-to-break-0123456789-0123456789"


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = make_hundred(items=3)
    path = tmp_path_factory.mktemp("page") / "hundred.html"
    report(rows.with_columns(rows["model"].str.replace("lab/small", NAME, literal=True)), path)
    return path.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = make_rows(items=3)
    longer = rows["model"].str.replace("orca/small-7b", NAME, literal=True)
    path = tmp_path_factory.mktemp("page") / "report.html"
    report(rows.with_columns(longer), path)
    return path.as_uri()


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three models on six tasks, with links to replies."""
    path = tmp_path_factory.mktemp("page") / "linked.html"
    report(make_rows(items=6, lengths=LENGTHS[:5]), path, link=lambda one: f"replies/index.html#task={one.task}")
    return path.as_uri()


def opened(browser: Browser, address: str, *, width: int, scheme: Literal["light", "dark"]) -> Page:
    """The page in a window of this width; fails where it complains or asks for anything."""
    tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    complaints: list[str] = []
    requests: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    load(tab, address)
    assert complaints == []
    assert [url for url in requests if url != "data:,"] == [address]
    return tab


@pytest.mark.parametrize("width", [375, 1280])
def test_no_sideways_scrolling(browser: Browser, address: str, width: int) -> None:
    tab = opened(browser, address, width=width, scheme="light")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # Wide tables scroll within their own box, and what stays fixed in it leaves room for the rest.
    assert tab.evaluate("[...document.querySelectorAll('.scroll')].every(box => box.clientWidth <= innerWidth)")
    assert tab.evaluate(
        "[...document.querySelectorAll('th[scope=row]')].filter(head => head.checkVisibility())"
        ".every(head => head.offsetWidth < innerWidth * 0.6)"
    )
    tab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_of_the_paper_fit_a_phone_and_follow_the_theme(
    browser: Browser, hundred: str, scheme: Literal["light", "dark"]
) -> None:
    tab = opened(browser, hundred, width=375, scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375
    assert {"100-LongBench", "Closed-book questions", "Graders"} <= set(tab.locator("h2").all_inner_texts())
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    section = tab.locator("#section-hundred")
    assert section.locator("details").count() == 3
    assert section.locator("figure").count() == 19
    sizes = tab.evaluate(
        "[...document.querySelectorAll('#section-hundred svg text')]"
        ".filter(text => text.getClientRects().length)"
        ".map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )
    assert len(sizes) > 100
    assert min(sizes) >= 8.5
    # No colour is left that does not change with the theme.
    fixed = "[...document.querySelectorAll('#section-hundred figure svg [fill^=\"#\"]')].length"
    assert tab.evaluate(fixed) == 0
    tab.close()


def test_parts_are_there_and_figures_can_be_read_on_a_phone(browser: Browser, address: str) -> None:
    tab = opened(browser, address, width=375, scheme="light")
    assert tab.locator("h1").count() == 1
    headings = tab.locator("h2").all_inner_texts()
    assert headings[:3] == ["Not measured", "At a glance", "Score against length"]
    assert {"LongScore", "Effective context length", "Position", "Counts", "Settings"} <= set(headings)
    assert tab.locator("table").count() >= 10
    sizes = tab.evaluate(
        "[...document.querySelectorAll('figure svg text')].filter(text => text.getClientRects().length)"
        ".map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )
    assert len(sizes) > 20
    assert min(sizes) >= 9
    tab.close()


def test_breakdowns_fit_a_phone(browser: Browser, tmp_path: Path) -> None:
    averages = rows_from_longbench_pro(write_results(tmp_path / "published"))
    report(pl.concat([make_pro(questions=12, tasks=3), averages]), tmp_path / "page.html")
    tab = opened(browser, (tmp_path / "page.html").as_uri(), width=375, scheme="dark")
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375
    assert {"Breakdown", "Thinking", "Repeats"} <= set(tab.locator("h2").all_inner_texts())
    sizes = tab.evaluate(
        "[...document.querySelectorAll('.pair svg text, .map svg text')].filter(text => text.getClientRects().length)"
        ".map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )
    assert len(sizes) > 100
    assert min(sizes) >= 9
    fixed = '[...document.querySelectorAll(\'.pair svg [fill^="#"], .map svg [fill^="#"]\')].length'
    assert tab.evaluate(fixed) == 0
    tab.close()


def test_dark_follows_the_system_and_the_button(browser: Browser, address: str) -> None:
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    line = "getComputedStyle(document.querySelector('figure svg path[stroke^=\"var(--series-0\"]')).stroke"
    light = opened(browser, address, width=1280, scheme="light")
    dark = opened(browser, address, width=1280, scheme="dark")
    assert light.evaluate(paper) != dark.evaluate(paper)
    assert light.evaluate(line) != dark.evaluate(line)
    dark.get_by_role("button", name="Switch to the light theme").click()
    assert dark.evaluate(paper) == light.evaluate(paper)
    light.close()
    dark.close()


def test_paper_is_light_and_shows_what_is_folded(browser: Browser, address: str) -> None:
    tab = opened(browser, address, width=1280, scheme="dark")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 254)"
    assert tab.locator("details:not([open])").count() == 0
    tab.close()


# ----------------------------------------------------------------------------------------------------- read at a glance


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_nothing(browser: Browser, linked: str, width: int, scheme: Literal["light", "dark"]) -> None:
    tab = opened(browser, linked, width=width, scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert violations(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.close()


def test_an_everyday_report_is_read_on_one_screen(browser: Browser, linked: str) -> None:
    tab = opened(browser, linked, width=1440, scheme="light")
    foot = (
        "[...document.querySelectorAll('#not-measured, #headline, .beside')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert max(tab.evaluate(foot)) <= 900
    assert tab.evaluate("document.documentElement.scrollHeight") < 4000
    tab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_of_a_phone_has_sentence_curve_and_table(
    browser: Browser, linked: str, scheme: Literal["light", "dark"]
) -> None:
    tab = opened(browser, linked, width=390, scheme=scheme)
    tops = []
    for part in (".answer", "[aria-labelledby=curve] svg", "#headline"):
        box = tab.locator(part).locator("visible=true").first.bounding_box()
        assert box is not None
        tops.append(box["y"])
    assert tops == sorted(tops)
    assert tops[-1] < 844
    unmeasured = tab.locator(".unmeasured").bounding_box()
    assert unmeasured is not None
    assert unmeasured["y"] > tops[-1]
    tab.close()


def test_a_long_table_unfolds_without_scripts_and_is_whole_on_paper(browser: Browser, address: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    page.locator("#section-position > summary").click()
    page.get_by_text("Differences between positions", exact=True).click()
    few, every = page.locator("#position-1-notable"), page.locator("#position-1")
    assert (few.is_visible(), every.is_visible()) == (True, False)
    page.get_by_text("Show all").first.click()
    assert (few.is_visible(), every.is_visible()) == (False, True)
    page.reload()
    page.emulate_media(media="print")
    assert (few.is_visible(), every.is_visible()) == (False, True)
    assert page.locator("#counts").is_visible()
    page.context.close()
