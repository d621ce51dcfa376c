"""The page over the published results: what it shows of LongLeader is what the paper printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from board_tabs import Open, tabs
from chromium import browsers

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
browser = pytest.fixture(browsers, scope="module")
opened = pytest.fixture(tabs)


@pytest.fixture
def site(published_site: Path) -> Path:
    return published_site / "index.html"


def scores(tab: Page, model: str) -> list[str]:
    """Overall and categories of a line, as shown."""
    row = tab.locator("table.board tbody tr", has=tab.get_by_role("link", name=model, exact=True))
    return [cell.split()[0].rstrip("*") for cell in row.locator("td").all_inner_texts()[2:]]


def test_missing_scores_as_zero_give_table_2(opened: Open) -> None:
    tab = opened("#/boards/leader-128k?missing=zero")
    tab.locator("td.overall .ci", has_text="missing as 0").first.wait_for()
    assert scores(tab, "Mixtral-8x7B-Instruct-v0.1") == ["28.9", "75.0", "16.9", "13.4", "53.1", "14.9", "0.0"]
    tab = opened("#/boards/leader-128k")
    assert scores(tab, "Mixtral-8x7B-Instruct-v0.1") == ["43.7", "75.0", "33.9", "26.7", "53.1", "29.8", "n/a"]
