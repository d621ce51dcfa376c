"""The board in a browser: what it shows, how it sorts and filters, and that every view is a link."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from board_tabs import BOARD, Open, column, head, models, sites, tabs
from chromium import browsers

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
browser = pytest.fixture(browsers, scope="module")
site = pytest.fixture(sites, scope="module")
opened = pytest.fixture(tabs)


# ------------------------------------------------------------------------------------------------------ table


def test_the_board_opens_with_complete_lines_first_and_the_best_on_top(opened: Open) -> None:
    tab = opened()
    assert tab.locator("h1").inner_text() == "LongLeader 128K"
    assert tab.locator(".told").inner_text().replace("\u00a0", " ") == "14 entries"
    scores = [float(score) for score in column(tab, 4)]
    marked = tab.locator("table.board tbody tr.partial").count()
    assert marked == 2
    assert scores[:-marked] == sorted(scores[:-marked], reverse=True)
    assert tab.locator("table.board tbody tr.divider").inner_text().startswith("Not complete")
    assert set(column(tab, 2)[-marked:]) == {"\u2013"}
    # A range of ranks is where it can be, and ties are joined.
    assert any("\u2013" in rank and rank != "\u2013" for rank in column(tab, 2))
    assert tab.locator("tr.tie-first").count() == tab.locator("tr.tie-last").count() > 0


def test_a_board_with_results_of_papers_too_names_those_measured_here_first(opened: Open) -> None:
    tab = opened()
    own = tab.locator("p.own")
    assert re.fullmatch(r"Measured here: (.+ [\d.]+%, rank \S+; ){2}.+ and 4 more. Compare them", own.inner_text())
    own.get_by_role("link", name="Compare them").click()
    expect(tab.locator("h1")).to_have_text("Compare")
    assert tab.locator(".chips li").count() == 3


def test_two_entries_have_their_differences_by_category_and_length(opened: Open) -> None:
    tab = opened("#/compare?board=leader-128k&lines=line-1,line-5")
    for title in ("by category", "by length"):
        table = tab.locator("table").filter(has=tab.locator("caption", has_text=title))
        assert table.locator("thead th").last.inner_text() == "Second minus first, points"
        first, second, gap = (
            table.locator("tbody tr").first.locator("td").nth(place).inner_text().split()[0] for place in range(3)
        )
        assert float(gap.replace("\u2212", "-")) == pytest.approx(float(second) - float(first), abs=0.11)
    models = tab.locator(".chips li a").all_inner_texts()
    expect(tab.locator("table", has_text="Result").locator("tbody th")).to_have_text(f"{models[1]} minus {models[0]}")


def test_columns_sort_by_click_and_by_key(opened: Open) -> None:
    tab = opened()
    assert head(tab, "Overall").get_attribute("aria-sort") == "descending"
    head(tab, "Questions").get_by_role("button").click()
    expect(tab).to_have_url(re.compile(re.escape("sort=category/questions&desc=1")))
    expect(head(tab, "Questions")).to_have_attribute("aria-sort", "descending")
    assert head(tab, "Overall").get_attribute("aria-sort") is None
    numbers = [float(text.rstrip("*")) for text in column(tab, 6)]
    assert numbers == sorted(numbers, reverse=True)
    head(tab, "Questions").get_by_role("button").focus()
    tab.keyboard.press("Enter")
    expect(tab).not_to_have_url(re.compile(re.escape("desc=1")))
    expect(head(tab, "Questions")).to_have_attribute("aria-sort", "ascending")
    numbers = [float(text.rstrip("*")) for text in column(tab, 6)]
    assert numbers == sorted(numbers)
    head(tab, "Model").get_by_role("button").click()
    expect(tab).to_have_url(re.compile(re.escape("sort=model")))
    expect(head(tab, "Model")).to_have_attribute("aria-sort", "ascending")
    names = [name.lower() for name in models(tab)]
    assert names == tab.evaluate("names => [...names].sort((a, b) => a.localeCompare(b))", names)


def test_filters_narrow_the_table_and_say_so(opened: Open) -> None:
    tab = opened()
    tab.get_by_label("Find a model").fill("OTTER")
    expect(tab).to_have_url(re.compile(re.escape("q=OTTER")))
    assert models(tab)
    assert all("otter" in name for name in models(tab))
    expect(tab.locator("#said")).to_contain_text("shown")
    assert tab.evaluate("document.activeElement.type") == "search"
    tab.get_by_label("Find a model").fill("no such model")
    assert tab.get_by_text("No entry matches these filters").is_visible()
    tab.get_by_label("Find a model").fill("")
    tab.get_by_role("checkbox", name="published").uncheck()
    expect(tab).to_have_url(re.compile(re.escape("from=measured,submitted")))
    expect(tab.locator("table.board tbody button.badge", has_text="published")).to_have_count(0)
    assert set(tab.locator("table.board tbody button.badge").all_inner_texts()) == {"measured", "submitted"}
    tab.get_by_role("checkbox", name="complete only").check()
    expect(tab).to_have_url(re.compile(re.escape("complete=1")))
    expect(tab.locator("table.board tbody tr.partial")).to_have_count(0)
    tab.get_by_label("Variant").select_option("thinking")
    expect(tab).to_have_url(re.compile(re.escape("variant=thinking")))
    assert tab.locator("table.board tbody tr").count() == tab.locator("table.board tbody .variant").count() > 0


def test_missing_cells_are_marked_and_count_as_zero_only_when_asked(opened: Open) -> None:
    tab = opened(f"{BOARD}?view=tasks")
    partial = tab.locator("table.board tbody tr.partial")
    assert "n/a" in partial.first.inner_text().split()
    before = {row.split()[0]: row for row in partial.locator("th.model").all_inner_texts()}
    scores = dict(zip(models(tab), column(tab, 4), strict=True))
    tab.get_by_role("checkbox", name="count missing as 0").check()
    expect(tab).to_have_url(re.compile(re.escape("missing=zero")))
    tab.locator("td.overall .ci", has_text="missing as 0").first.wait_for()
    after = dict(zip(models(tab), column(tab, 4), strict=True))
    changed = {name for name in scores if scores[name] != after[name]}
    assert changed == set(before)
    assert all(float(after[name]) < float(scores[name]) for name in changed)
    assert "n/a" in tab.locator("table.board tbody tr.partial").first.inner_text().split()


# ------------------------------------------------------------------------------------------------- permalinks


def test_a_deep_link_restores_the_view(opened: Open) -> None:
    tab = opened(f"{BOARD}?view=tasks&category=questions&sort=task/leader_task_1&desc=1&q=a&from=measured&complete=1")
    assert tab.locator(".views [aria-current]").inner_text() == "By task"
    assert head(tab, "Leader task 1").get_attribute("aria-sort") == "descending"
    assert tab.get_by_label("Find a model").input_value() == "a"
    assert not tab.get_by_role("checkbox", name="published").is_checked()
    assert tab.get_by_role("checkbox", name="complete only").is_checked()
    assert tab.locator("table.board thead th.task").count() == 2
    numbers = [float(text) for text in column(tab, 5)]
    assert len(numbers) > 1
    assert numbers == sorted(numbers, reverse=True)


def test_back_returns_to_what_was_shown(opened: Open) -> None:
    tab = opened()
    tab.get_by_role("link", name="By length").click()
    tab.locator("table.lengths").wait_for()
    head(tab, "128k").get_by_role("button").click()
    expect(tab).to_have_url(re.compile(re.escape("sort=length/128000")))
    tab.locator("table.board tbody th.model a").first.click()
    expect(tab).to_have_url(re.compile(re.escape("#/models/")))
    tab.locator("section.line").first.wait_for()
    tab.go_back()
    tab.locator("table.lengths").wait_for()
    assert head(tab, "128k").get_attribute("aria-sort") == "descending"
    tab.go_back()
    expect(tab).not_to_have_url(re.compile(re.escape("sort")))
    assert head(tab, "Overall").get_attribute("aria-sort") == "descending"
    tab.go_back()
    tab.locator("table.categories").wait_for()


def test_the_link_of_a_view_can_be_copied(opened: Open) -> None:
    tab = opened(f"{BOARD}?q=wren")
    tab.get_by_role("button", name="Copy link").click()
    tab.get_by_role("button", name="Copied").wait_for()
    tab.get_by_label("Find a model").fill("")
    tab.get_by_label("Find a model").press("Control+v")
    assert tab.get_by_label("Find a model").input_value().endswith(f"{BOARD}?q=wren")


@pytest.mark.parametrize(
    "view", ["#/nowhere", "#/boards/../../etc", "#/models/%2e%2e", "#/tasks/constructor", "#/compare?board=../x"]
)
def test_addresses_of_nothing_say_so_and_load_nothing(opened: Open, view: str) -> None:
    assert opened(view).locator("h1").inner_text() == "Not found"


# ------------------------------------------------------------------------------------------- ranks and origin


def test_a_rank_says_why_and_escape_returns_to_it(opened: Open) -> None:
    tab = opened()
    row = tab.locator("table.board tbody tr").nth(3)
    button = row.locator("button.why")
    rank = [int(part) for part in re.findall(r"\d+", button.inner_text())]
    button.focus()
    tab.keyboard.press("Enter")
    popup = tab.get_by_role("dialog", name="Why this rank")
    popup.get_by_text("not distinguishable").first.wait_for()
    said = popup.locator("p").first.inner_text().replace("\u00a0", " ")
    counts = [int(count) for count in re.findall(r"(\d+) (?:entry|entries)", said)]
    ranked = tab.locator("table.board tbody button.why", has_text=re.compile(r"\d")).count()
    better, worse, tied = counts
    assert (1 + worse, ranked - better) == (rank[0], rank[-1])
    assert better + worse + tied == ranked - 1
    tab.keyboard.press("Escape")
    assert not popup.is_visible()
    assert button.evaluate("button => button === document.activeElement")


def test_lines_without_a_rank_say_why(opened: Open) -> None:
    tab = opened()
    tab.locator("tr.partial button.why").first.click()
    assert "no score" in tab.get_by_role("dialog", name="Why no rank").locator(".popup-body").inner_text()
    tab.keyboard.press("Escape")
    tab.locator("tr:not(.partial) button.why", has_text=re.compile(r"^\u2013$")).first.click()
    assert "there is no interval" in tab.get_by_role("dialog").locator(".popup-body").inner_text()


def test_badges_tell_the_origin_and_link_to_https_alone(opened: Open) -> None:
    tab = opened()
    badge = tab.locator("table.board button.badge.published").first
    assert badge.get_attribute("aria-label") == "published: Scores of Nothing, Table 2, 2025-01"
    badge.click()
    link = tab.get_by_role("dialog").get_by_role("link")
    assert link.get_attribute("href") == "https://example.org/paper"
    assert "noopener" in str(link.get_attribute("rel"))
    tab.keyboard.press("Escape")
    tab.locator("table.board button.badge.measured").first.click()
    assert tab.get_by_role("dialog").get_by_role("link").count() == 0


# ----------------------------------------------------------------------------------------------- other pages


def test_lines_are_chosen_and_compared(opened: Open) -> None:
    tab = opened()
    boxes = tab.locator("table.board td.pick input")
    boxes.nth(1).check()
    assert tab.locator("#tray").get_by_role("link").count() == 0
    boxes.nth(4).check()
    tab.locator("#tray").get_by_role("link", name="Compare 2").click()
    tab.locator("table.scores").first.wait_for()
    assert tab.locator(".chips li").count() == 2
    tab.get_by_label("Entry to add").select_option(index=0)
    tab.get_by_role("button", name="Add").click()
    tab.locator(".chips li").nth(2).wait_for()
    tab.get_by_role("button", name=re.compile("^Remove")).first.click()
    expect(tab.locator(".chips li")).to_have_count(2)
    tab.go_back()
    expect(tab.locator(".chips li")).to_have_count(3)
    assert tab.locator("svg.drawing").count() == 2


def test_charts_say_their_values_under_the_pointer_and_by_keys(opened: Open) -> None:
    tab = opened("#/compare?board=leader-128k&lines=line-1,line-5")
    chart = tab.locator("figure.plate svg.drawing").first
    mark = chart.locator(".mark").first
    mark.hover(force=True)
    expect(tab.locator("#value")).to_have_text(re.compile(r".+, .+: [\d.]+%"))
    tab.mouse.move(0, 0)
    expect(tab.locator("#value")).to_be_empty()
    chart.focus()
    tab.keyboard.press("End")
    last = tab.locator("#value").inner_text()
    tab.keyboard.press("ArrowLeft")
    assert tab.locator("#value").inner_text() not in ("", last)
    tab.keyboard.press("Escape")
    expect(tab.locator("#value")).to_be_empty()


def test_no_more_than_six_lines_are_compared(opened: Open) -> None:
    tab = opened()
    boxes = tab.locator("table.board td.pick input")
    for place in range(7):
        boxes.nth(place).click()
    assert tab.locator("table.board td.pick input:checked").count() == 6
    tab.get_by_role("link", name="Compare 6").click()
    rows = tab.locator("table.texts").first.locator("tbody tr")
    rows.nth(14).wait_for()
    assert rows.count() == 15


def test_a_model_shows_all_its_scores(opened: Open) -> None:
    tab = opened("#/models/model-1")
    sections = tab.locator("section.line")
    assert sections.count() == 3
    first = sections.first
    assert first.locator("table.scores").first.locator("tbody tr").count() == 8  # overall, six categories, LongScore
    assert first.locator("table.profile tbody tr").count() == 12
    assert first.get_by_role("application").count() == 2
    assert "Temperature" in first.inner_text()
    assert "470 answered" in first.inner_text()


def test_a_task_shows_its_protocol_and_who_is_good_at_it(opened: Open) -> None:
    tab = opened("#/tasks/leader_task_1")
    said = tab.locator("main").inner_text()
    for part in ("exact match", "equals the answer", "25.0%", "CC BY 4.0", "chance 25", "<b>below</b>"):
        assert part in said
    scores = [float(text.split()[0]) for text in tab.locator("table.ranking tbody td:nth-child(3)").all_inner_texts()]
    assert len(scores) > 9
    assert scores == sorted(scores, reverse=True)
    assert tab.locator("path.chance").count() == len(scores)


def test_cost_shows_the_front_and_lists_lines_without_a_cost(opened: Open) -> None:
    tab = opened(f"{BOARD}?view=cost")
    rows = [row.split("\t") for row in tab.locator(".cost-view table tbody tr").all_inner_texts()]
    best = -1.0
    for row in rows:  # cheapest first
        score = float(row[2].split()[0])
        if row[-1] == "not complete":  # others asked for harder tasks may cost more for less
            continue
        assert (row[-1] == "yes") == (score > best)
        best = max(best, score)
    assert {row[-1] for row in rows} == {"yes", "", "not complete"}
    assert tab.locator(".point").count() == len(rows)
    assert tab.locator(".names li").count() == 14 - len(rows)


def test_downloads_are_files_of_the_site(opened: Open, site: Path) -> None:
    tab = opened()
    links = tab.locator("a[download]").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert len(links) == 6
    assert all((site.parent / link).is_file() for link in links)
