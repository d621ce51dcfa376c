"""Tabs of headless Chromium with a made board, for tests of its page; fixtures are made of these generators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from made_board import make_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

Theme = Literal["light", "dark"]
Open = Callable[..., "Page"]


EMPTY = "about:blank"
BOARD = "#/boards/leader-128k"
VIEWS = {
    "board": "",
    "lengths": f"{BOARD}?view=lengths",
    "tasks": f"{BOARD}?view=tasks",
    "cost": f"{BOARD}?view=cost",
    "hostile model": "#/models/model-0",
    "model": "#/models/model-1",
    "task": "#/tasks/leader_task_1",
    "compare": "#/compare?board=leader-128k&lines=line-1,line-5,line-6",
    "about": "#/about",
    "lost": "#/nowhere",
}
PROGRAM = r"\b(null|undefined|NaN|Infinity)\b|\[object"
"""Words of the program, which no reader should see."""


def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made site with unpleasant names."""
    return make_site(tmp_path_factory.mktemp("board"))


def tabs(browser: Browser, site: Path) -> Iterator[Open]:
    """Opens views of the site; fails where a page complains, or asks for anything but the site's own files."""
    complaints: list[str] = []
    requests: list[str] = []
    hear = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda request: requests.append(request.url),
    }
    open_tabs: list[Page] = []

    def open_view(view: str = "", *, width: int = 1280, scheme: Theme = "light") -> Page:
        tab = _empty_tab(browser)
        tab.set_viewport_size({"width": width, "height": 800})
        tab.emulate_media(media="null", color_scheme=scheme, reduced_motion="null")
        for event, told in hear.items():
            tab.on(event, told)  # type: ignore[call-overload]
        open_tabs.append(tab)
        tab.goto(site.as_uri() + view)
        tab.locator("main h1").wait_for()
        return tab

    yield open_view
    for tab in open_tabs:
        tab.evaluate("localStorage.clear(), sessionStorage.clear()")
        for event, told in hear.items():
            tab.remove_listener(event, told)
        tab.context.clear_permissions()
        tab.goto(EMPTY)
    assert complaints == []
    assert [url for url in requests if not url.startswith(site.parent.as_uri() + "/")] == []


def _empty_tab(browser: Browser) -> Page:
    """One that a test is done with, or a new one, which takes three times as long to show a page."""
    known = (tab for context in browser.contexts for tab in context.pages if tab.url == EMPTY)
    return next(known, None) or browser.new_page()


def whole(tab: Page, view: str) -> Page:
    """The tab, once all of the view is there."""
    if "compare" in view:
        tab.get_by_role("heading", name="By category").wait_for()
        tab.locator("table.texts").first.wait_for()
    return tab


def models(tab: Page) -> list[str]:
    return tab.locator("table.board tbody th.model a").all_inner_texts()


def column(tab: Page, place: int) -> list[str]:
    """The first words of the cells of a column, without lines that divide the table."""
    cells = tab.locator(f"table.board tbody tr:not(.divider) > *:nth-child({place})")
    return [text.split()[0] for text in cells.all_inner_texts()]


def head(tab: Page, name: str) -> Locator:
    return tab.locator("table.board thead th").filter(has=tab.get_by_role("button", name=name))
