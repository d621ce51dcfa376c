"""Comparisons in a browser: the page shows the differences that the data files hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from board_tabs import VIEWS, Open, sites, tabs
from chromium import browsers
from fathom.analysis import compare
from fathom.board.build import SiteSettings, build_site
from fathom.rows import write_rows
from fathom.suites.registry import get_board
from made_results_board import made_rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]
browser = pytest.fixture(browsers, scope="module")
site = pytest.fixture(sites, scope="module")
opened = pytest.fixture(tabs)

HUNDRED = get_board("hundred")
LENGTHS = HUNDRED.counted["kv_retrieval"]
DIFFERENCES = """async ([a, b]) => {
  const whole = await fathom.whole('leader-128k');
  return fathom.differences(whole, whole.entry(a), whole.entry(b));
}"""

PARTS = """async ([a, b]) => {
  const { board, entry } = await fathom.whole('leader-128k');
  return fathom.partDifferences(board, entry(a), entry(b));
}"""


def data(site: Path, name: str) -> Any:
    text = (site.parent / "data" / f"{name}.js").read_text(encoding="ascii")
    return json.loads(text.removeprefix(f'fathom.add("{name}", ').removesuffix(");\n"))


def test_figures_of_a_comparison_are_those_of_the_data(opened: Open, site: Path) -> None:
    tab, board = opened(), data(site, "boards/leader-128k")
    tasks = [task["id"] for task in board["tasks"]]
    known = [entry["key"] for entry in board["entries"] if entry["overall"] and entry["overall"][1]]
    one, other = sorted(("line-1", "line-5"), key=known.index)
    pairs = data(site, f"pairs/leader-128k/{one}")
    overall = [column[known.index(other)] for column in pairs["overall"]]
    by_task = dict(zip(tasks, pairs["tasks"][other], strict=True))
    for first, second, sign in ((one, other, 1), (other, one, -1)):
        found = tab.evaluate(DIFFERENCES, [first, second])
        assert [row["task"] for row in found[1:]] != []
        for row in found:
            *units, shared = by_task[row["task"]] if row["task"] else overall
            gap, *ends, p = (unit / 100_000 for unit in units)
            assert (row["difference"], row["p"], row["shared"]) == (sign * gap, p, shared)
            assert [row["low"], row["high"]] == sorted(sign * end for end in ends)


def test_what_is_shown_is_what_the_data_hold(opened: Open) -> None:
    tab = opened(VIEWS["compare"])
    tab.get_by_text("Task by task").first.wait_for()
    shown = tab.locator("table.texts").first.locator("tbody tr").first.locator("td").all_inner_texts()
    found = tab.evaluate(DIFFERENCES, ["line-5", "line-1"])[0]
    points, interval = tab.evaluate(
        "row => [fathom.points(row.difference), `${fathom.points(row.low)} to ${fathom.points(row.high)}`]", found
    )
    assert shown[:2] == [points, interval]
    assert "questions in common" in shown[3]


def test_categories_and_lengths_show_the_differences_of_the_data_with_their_intervals(opened: Open) -> None:
    tab = opened("#/compare?board=leader-128k&lines=line-1,line-5")
    tab.get_by_text("each for itself").wait_for()
    parts = tab.evaluate(PARTS, ["line-5", "line-1"])
    for heading, name in (("By category", "categories"), ("By length", "lengths")):
        body = tab.locator(f"h2:text-is('{heading}') + div tbody tr")
        cells = {row.locator("th, td").first.inner_text(): row.locator("td").last.inner_text() for row in body.all()}
        shown = [text for text in cells.values() if " to " in text]
        wanted = tab.evaluate(
            "gaps => gaps.filter((gap) => gap.low !== null)"
            ".map((gap) => [gap.difference, gap.low, gap.high].map(fathom.points))"
            ".map(([own, low, high]) => `${own}\\n${low} to ${high}`)",
            parts[name],
        )
        assert wanted
        assert [text for text in shown if text in wanted] == wanted


def test_lines_without_common_questions_are_compared_as_independent(opened: Open) -> None:
    tab = opened("#/compare?board=leader-128k&lines=line-1,line-12")
    tab.get_by_text("Task by task").first.wait_for()
    row = tab.locator("table.texts").first.locator("tbody tr").first.inner_text()
    assert "unpaired" in row


def test_lines_without_an_interval_have_a_difference_and_nothing_else(opened: Open) -> None:
    tab = opened()
    (overall, *_) = tab.evaluate(DIFFERENCES, ["line-8", "line-1"])
    assert (overall["low"], overall["high"], overall["p"]) == (None, None, None)
    assert overall["difference"] is not None


def test_the_script_shows_what_compare_finds_in_the_same_rows(browser: Browser, tmp_path: Path) -> None:
    rows = made_rows({"good": 1.0, "poor": -0.5}, tasks=HUNDRED.tasks, lengths=LENGTHS, items=6, suite="hundred")
    write_rows(rows, tmp_path / "rows.parquet")
    build_site(SiteSettings((tmp_path / "rows.parquet",), published=False, examples=False), tmp_path / "site")
    tab = browser.new_page()
    tab.goto((tmp_path / "site" / "index.html").as_uri() + "#/compare?board=hundred&lines=good,poor")
    tab.get_by_text("Task by task").first.wait_for()
    found = tab.evaluate(DIFFERENCES.replace("leader-128k", "hundred"), ["good", "poor"])
    wanted = {one.task: one for one in compare(rows, "good", "poor") if one.length is None}
    assert {row["task"] or "all" for row in found} == set(wanted)
    for row in found:
        one = wanted[row["task"] or "all"]
        said = [one.difference, one.interval.low, one.interval.high, one.p_value, one.items]
        assert [row[name] for name in ("difference", "low", "high", "p", "shared")] == pytest.approx(said, abs=1.1e-5)
    tab.close()
