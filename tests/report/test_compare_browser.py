"""The page of two models in a browser: it fits a phone, is accessible in both themes, and its chart says its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl
import pytest
from report_rows import LENGTHS, make_rows
from test_report_browser import opened

from chromium import browsers, violations
from fathom.analysis.two_models import two_models
from fathom.report.two_models import Compared, Side, flipped_reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
browser = pytest.fixture(browsers, scope="module")
LONG = "lab/a-very-long-model-name-without-any-place-to-break-0123456789-0123456789"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = make_rows(items=6, lengths=LENGTHS[:6], failures=False)
    result = two_models(*(rows.filter(pl.col("model") == name) for name in ("acme/long-1", "orca/small-7b")))
    flipped = [flipped_reply(flip, "What is it?", "12345", ("12345", "no " * 90)) for flip in (*result.lost,)]
    sides = Side("acme/long-1", "acme/long-1", "", (), finished=4, planned=5), Side(LONG, LONG, "", ())
    compared = Compared(result, *sides, tuple(flipped), made=(("Command", "fathom compare a b"),))
    path = tmp_path_factory.mktemp("page") / "compare.html"
    path.write_text(compared.html(), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_axe_finds_nothing(
    browser: Browser, address: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    tab = opened(browser, address, width=width, scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(tab) == []
    tab.close()


def test_the_table_of_a_phone_comes_before_the_curve_and_what_is_not_compared_after_both(
    browser: Browser, address: str
) -> None:
    tab = opened(browser, address, width=390, scheme="light")
    tops = []
    for part in (".answer", "#lengths", "figure svg", ".unmeasured"):
        box = tab.locator(part).locator("visible=true").first.bounding_box()
        assert box is not None
        tops.append(box["y"])
    assert tops == sorted(tops)
    assert tops[1] < 844
    tab.close()


def test_the_first_screen_has_sentence_table_and_both_curves(browser: Browser, address: str) -> None:
    tab = opened(browser, address, width=1440, scheme="light")
    assert tab.locator(".answer").inner_text().startswith(LONG)
    for part in (".answer", "#lengths", "figure svg"):
        box = tab.locator(part).locator("visible=true").first.bounding_box()
        assert box is not None
        assert box["y"] < 800
    chart = tab.locator("figure svg").locator("visible=true").first
    chart.focus()
    chart.press("End")
    assert "points" in tab.locator("#value").inner_text()
    assert tab.evaluate("JSON.parse(document.getElementById('numbers').textContent).lengths.length") > 2
    tab.close()
