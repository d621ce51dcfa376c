"""How the page looks, on made boards and on the published ones: nothing cut, nothing empty without a word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from board_tabs import BOARD, PROGRAM, Open, head, sites, tabs, whole
from chromium import browsers, violations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
browser = pytest.fixture(browsers, scope="module")
site = pytest.fixture(sites, scope="module")
opened = pytest.fixture(tabs)

PUBLISHED = {
    "leader categories": "#/boards/leader-32k?view=categories",
    "mini cost": "#/boards/mini?view=cost",
    "ada lengths": "#/boards/ada?view=lengths",
    "pro tasks": "#/boards/pro?view=tasks",
    "leader tasks": "#/boards/leader-32k?view=tasks",
    "model": "#/models/gemini-2-5-pro",
    "task": "#/tasks/single_doc_qa",
    "task without scores": "#/tasks/pro_t7_2",
    "compare": "#/compare?board=pro&lines=gemini-2-5-pro-thinking,gpt-5-thinking",
    "about": "#/about",
}


@pytest.fixture
def published(browser: Browser, published_site: Path) -> Iterator[Open]:
    """Opens views of the published results, as ``opened`` does of made ones."""
    yield from tabs(browser, published_site / "index.html")


# ------------------------------------------------------------------------------------------------- all pages


@pytest.mark.long
@pytest.mark.parametrize("view", PUBLISHED.values(), ids=list(PUBLISHED))
def test_axe_finds_nothing_on_the_published_results(published: Open, view: str) -> None:
    assert violations(whole(published(view), view)) == []


@pytest.mark.long
@pytest.mark.parametrize("view", PUBLISHED.values(), ids=list(PUBLISHED))
def test_published_pages_keep_to_a_phone_and_say_what_is_not_there(published: Open, view: str) -> None:
    tab = whole(published(view, width=375), view)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375
    said = tab.locator("main").inner_text()
    assert re.findall(PROGRAM, said) == []


# ----------------------------------------------------------------------------------------------------- boards


@pytest.mark.parametrize("place", [0, 3, -1])
def test_why_a_rank_leaves_out_what_there_is_none_of(opened: Open, place: int) -> None:
    tab = opened()
    tab.locator("table.board tbody button.why", has_text=re.compile(r"\d")).nth(place).click()
    popup = tab.get_by_role("dialog", name="Why this rank")
    popup.locator("details").first.wait_for()
    assert popup.locator(".popup-body > *").count() == 2 + popup.locator("details").count()
    assert "null" not in popup.inner_text()


def test_intervals_are_those_of_the_data(opened: Open) -> None:
    tab = opened()
    for est in ("[1, [0.8, 1], 10, 0]", "[0.02, [-0.2, 0.1], null, 0]"):  # LongScore is a change, and may be below 0
        assert tab.evaluate(f"fathom.ends({est})") == tab.evaluate(f"{est}[1]")
    assert tab.evaluate("fathom.said([0, [0, 0.196], 10, 0])").startswith("0.0%, 95% interval 0.0% to 19.6%")
    assert tab.evaluate("fathom.range([0.8, 1])") == "80.0\u2013100.0"
    assert tab.evaluate("fathom.range([-0.2, 0.1])") == "\u221220.0 to 10.0"


def test_the_score_is_in_view_on_a_phone(opened: Open) -> None:
    tab = opened(width=375)
    for row in (1, 6):
        score = tab.locator("table.board tbody td.overall").nth(row)
        box = score.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 375 - 12
        assert re.fullmatch(r"\d+\.\d\n\d+\.\d\u2013\d+\.\d", score.inner_text().strip())


def test_the_mean_of_answered_replies_is_named_and_explained(opened: Open) -> None:
    tab = opened()
    cell = tab.locator("table.board tbody tr", has=tab.locator("[data-key=line-9]")).locator("td.overall")
    other = re.search(r"answered only: (\d+\.\d)$", cell.inner_text())
    assert other is not None
    assert "\u201cAnswered only\u201d is the mean without unanswered replies" in tab.locator(".legend").inner_text()
    model = opened("#/models/model-9")
    standing = model.locator(".standing", has_text="overall").inner_text()
    # The interval is that of the score, and stands beside it.
    assert re.search(rf"overall, 95% interval [\d.\u2013]+; {other[1]}% without the 36 not answered; ", standing)


def test_what_became_of_replies_is_set_apart(opened: Open) -> None:
    tab = opened("#/models/model-1")
    assert tab.locator(".piece").all_inner_texts()[:2] == ["470 answered", "10 prompt too long for the model"]
    between = "getComputedStyle(document.querySelectorAll('.piece')[1], '::before').content"
    assert tab.evaluate(between) == '" \u00b7 "'


def test_the_present_board_is_in_view_on_a_phone(published: Open) -> None:
    tab = published("#/boards/mini", width=375)
    box = tab.locator("#boards [aria-current]").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 375
    assert tab.evaluate("scrollY") == 0


def test_bars_keep_their_marks_on_a_phone(published: Open) -> None:
    tab = published("#/tasks/single_doc_qa", width=375)
    box = tab.locator("table.ranking circle.dot").first.bounding_box()
    assert box is not None
    assert box["width"] > 5


def test_lines_that_were_sent_in_are_not_counted_as_measured(opened: Open) -> None:
    tab = opened("#/about")
    table = tab.get_by_role("region", name="Boards").locator("table")
    heads = table.locator("thead th").all_inner_texts()
    counts = dict(zip(heads, table.locator("tbody tr").first.locator("th, td").all_inner_texts(), strict=True))
    assert (counts["Measured"], counts["Submitted"]) == ("7", "3")


def test_a_fade_shows_that_there_is_more_to_the_right(opened: Open) -> None:
    tab = opened(f"{BOARD}?view=tasks", width=768)
    box = tab.locator(".view .scroll")
    mask = "box => getComputedStyle(box).maskImage"
    tab.locator(".view .scroll.more").wait_for()
    assert "gradient" in box.evaluate(mask)
    box.focus()
    tab.keyboard.press("End")
    assert box.evaluate(mask) == "none"  # else the ring of the focus would fade too
    box.evaluate("box => { box.blur(); box.scrollLeft = box.scrollWidth; }")
    tab.locator(".view .scroll:not(.more)").wait_for()
    assert box.evaluate(mask) == "none"


def test_a_view_without_figures_says_so_and_where_there_are_some(published: Open) -> None:
    tab = published("#/boards/pro?view=tasks")
    assert tab.locator("table.board").count() == 0
    assert tab.get_by_text("has scores by task").is_visible()
    assert tab.locator(".names a").count() == 25
    tab.get_by_label("Tasks").select_option(index=3)
    tab.locator(".names li").nth(2).wait_for(state="detached")
    assert tab.locator(".names a").all_inner_texts() == ["T3.1 Multi-Doc Integration QA", "T3.2 Single-Hop Fact QA"]
    tab.get_by_role("link", name="Scores by category").click()
    tab.locator("table.categories").wait_for()
    tab = published("#/boards/pro?view=cost")
    tab.get_by_text("No entry here has a known cost").wait_for()
    assert tab.locator("svg.drawing").count() == 0


@pytest.mark.parametrize(
    ("board", "tabs"),
    [
        ("pro", ["By category", "By length"]),
        ("mini", ["By category", "By task"]),
        ("leader-32k", ["By category", "By task"]),
        ("hundred", ["By category", "By length", "By task"]),
    ],
)
def test_views_without_anything_have_no_tab(published: Open, board: str, tabs: list[str]) -> None:
    assert published(f"#/boards/{board}").locator(".views a").all_inner_texts() == tabs


def test_what_no_paper_prints_is_recomputed(published: Open) -> None:
    tab = published("#/boards/mini")
    badges = tab.locator("table.board tbody button.badge")
    badges.last.wait_for()
    assert set(badges.all_inner_texts()) == {"recomputed"}
    badges.first.click()
    assert "The paper does not print it" in tab.locator("#popup").inner_text()


def test_comparisons_say_how_many_small_p_values_are_to_be_expected(published: Open) -> None:
    tab = published("#/compare?board=ada&lines=gpt-4-turbo-0125,gpt-4-turbo-1106")
    tab.locator("table.texts").first.wait_for()
    assert "0.15 of them would be expected to have p below .05" in tab.locator("main").inner_text()
    assert [tab.evaluate(f"fathom.expected({count})") for count in (2, 3, 20, 131)] == ["0.1", "0.15", "1", "6.55"]


def test_lines_without_a_score_in_a_view_are_left_out_and_counted(opened: Open) -> None:
    tab = opened(f"{BOARD}?view=lengths")
    rows = tab.locator("table.board tbody tr:not(.divider)")
    assert set(rows.locator("button.badge").all_inner_texts()) == {"measured", "submitted"}
    left = 14 - rows.count()
    assert tab.get_by_text(f"{left} entries without a score at any length are not shown").is_visible()
    tab.get_by_role("checkbox", name="published").uncheck()
    tab.get_by_text("left out here").wait_for(state="detached")
    tab.get_by_role("link", name="By category").click()
    tab.get_by_role("checkbox", name="published").check()
    tab.locator("table.categories tbody tr:not(.divider)").nth(13).wait_for()


def test_lines_without_a_cost_to_weigh_have_a_table_and_no_picture(opened: Open) -> None:
    tab = opened()
    shown = """costs => fathom.load('boards/leader-128k').then(board => {
        const entries = board.entries.slice(0, costs.length).map((entry, n) => ({ ...entry, usage: { cost: costs[n], tokensOut: 5, seconds: 1 } }));
        const view = fathom.costView(board, entries);
        return [view.querySelectorAll('svg.drawing').length, view.querySelectorAll('tbody tr').length, view.textContent];
    })"""  # noqa: E501
    pictures, rows, said = tab.evaluate(shown, [0, 0, 0])
    assert (pictures, rows) == (0, 3)
    assert "cost nothing" in said
    pictures, rows, said = tab.evaluate(shown, [0, 0.01, 0.2])
    assert (pictures, rows) == (1, 3)
    assert said.count("$0") > 1  # in the table and on the axis
    assert "NaN" not in said


# ------------------------------------------------------------------------------------------------ other pages


@pytest.mark.parametrize("width", [375, 1280])
def test_labels_of_a_radar_are_whole_and_apart(published: Open, width: int) -> None:
    tab = published("#/models/gemini-2-5-pro", width=width)
    drawing = tab.locator("svg.drawing", has=tab.locator("text.rim")).first.bounding_box()
    boxes = tab.locator("svg.drawing text.rim").evaluate_all(
        "texts => texts.map(text => { const box = text.getBoundingClientRect();"
        " return [box.left, box.top, box.right, box.bottom]; })"
    )
    said = tab.locator("svg.drawing text.rim").all_text_contents()
    assert len(said) >= 11
    assert not any("\u2026" in text for text in said)
    assert drawing is not None
    assert min(box[0] for box in boxes) >= drawing["x"] - 1
    assert max(box[2] for box in boxes) <= drawing["x"] + drawing["width"] + 1
    across = [
        (a, b)
        for n, a in enumerate(boxes)
        for b in boxes[n + 1 :]
        # Lines of one label stand a little into each other: letters do not fill their boxes.
        if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 5
    ]
    assert across == []


def test_a_task_names_its_data_sets_apart(published: Open) -> None:
    tab = published("#/tasks/single_doc_qa")
    assert tab.locator(".lead").inner_text() == "Questions about one named passage."
    assert "English, Chinese" in tab.locator("main").inner_text()
    tab.get_by_text("Licences and citations of 8 data sets").click()
    rows = tab.get_by_role("region", name="Data sets").locator("tbody tr")
    assert rows.count() == 8
    assert all(row.split("\t")[1] and row.split("\t")[2] for row in rows.all_inner_texts())


def test_a_model_names_the_tasks_that_it_has_no_score_on(published: Open) -> None:
    tab = published("#/models/mistral-7b-instruct-v0-2")
    section = tab.locator("section.line", has=tab.get_by_role("link", name="LongLeader 128K", exact=True))
    missing = section.locator("p", has_text="Without any score").get_by_role("link").all_inner_texts()
    assert set(missing) >= {"En.QA", "Math.Find"}
    rows = section.locator("table.profile tbody th").all_inner_texts()
    assert len(rows) + len(missing) == 24
    assert not set(rows) & set(missing)


def test_lines_of_different_origin_are_compared_with_a_warning(opened: Open) -> None:
    warning = "may have other prompts or questions"
    mixed = whole(opened("#/compare?board=leader-128k&lines=line-1,line-12"), "compare")
    assert warning in mixed.locator("main").inner_text()
    alike = whole(opened("#/compare?board=leader-128k&lines=line-1,line-5"), "compare")
    assert warning not in alike.locator("main").inner_text()


# --------------------------------------------------------------------------------------------- by keyboard alone


def test_a_whole_visit_by_keyboard(opened: Open) -> None:
    tab = opened()
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")  # the link that skips the frame
    until(tab, "document.activeElement.matches('input[type=search]')")
    tab.keyboard.type("nobody")
    tab.get_by_text("No entry matches these filters").wait_for()
    tab.keyboard.press("Control+a")
    tab.keyboard.press("Delete")
    until(tab, "document.activeElement.textContent === 'Retrieval'")
    tab.keyboard.press("Enter")
    tab.locator("th[aria-sort=descending]", has_text="Retrieval").wait_for()
    assert tab.evaluate("document.activeElement.textContent") == "Retrieval"  # sorting keeps the place
    tab.keyboard.press("Enter")
    tab.locator("th[aria-sort=ascending]", has_text="Retrieval").wait_for()
    until(tab, "document.activeElement.matches('td.pick input')")
    tab.keyboard.press("Space")
    until(tab, "document.activeElement.matches('button.why')")
    tab.keyboard.press("Enter")
    popup = tab.get_by_role("dialog", name="Why this rank")
    popup.locator("p").first.wait_for()
    tab.keyboard.press("Escape")
    popup.wait_for(state="hidden")
    assert tab.evaluate("document.activeElement.matches('button.why')")
    until(tab, "document.activeElement.matches('td.pick input')")
    tab.keyboard.press("Space")
    until(tab, "document.activeElement.closest('#tray') && document.activeElement.matches('a')", most=200)
    tab.keyboard.press("Enter")
    tab.locator(".chips li").nth(1).wait_for()
    assert tab.evaluate("document.activeElement.textContent") == "Compare"  # its heading
    until(tab, "document.activeElement.matches('.chips li button')")
    tab.keyboard.press("Enter")
    tab.get_by_text("Select two or more entries").wait_for()
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "Entry to add"  # near what is gone
    tab.go_back()
    tab.locator(".chips li").nth(1).wait_for()
    assert head(tab, "Retrieval").count() == 0


def until(tab: Page, focused: str, most: int = 60) -> None:
    """Presses Tab until the focus is where it should be."""
    for _ in range(most):
        tab.keyboard.press("Tab")
        if tab.evaluate(f"Boolean({focused})"):
            return
    raise AssertionError(f"not reached in {most} steps: {focused}")
