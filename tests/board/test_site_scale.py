"""The board and the index of all models in a browser: with a thousand entries, filters by facts, and chosen columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from board_tabs import BOARD, PROGRAM, Open, column, head, models, sites, tabs
from chromium import browsers, violations
from made_board import HOSTILE, make_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]
browser = pytest.fixture(browsers, scope="module")
site = pytest.fixture(sites, scope="module")
opened = pytest.fixture(tabs)

MANY = 1000
ROWS = "table.board tbody tr:not(.divider):not(.spacer)"
MOST_ROWS = 80
"""In a window of 800 pixels: about 14 rows are in view, and 10 are drawn on each side; more with a focus elsewhere."""
INDEX = "#/models"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_site(tmp_path_factory.mktemp("large"), models=MANY, tasks=6, items=False, pairs=False)


@pytest.fixture
def many(browser: Browser, large: Path) -> Iterator[Open]:
    yield from tabs(browser, large)


def data(index: Path, name: str) -> Any:
    text = (index.parent / "data" / f"{name}.js").read_text(encoding="ascii")
    return json.loads(text.split(", ", 1)[1].removesuffix(");\n"))


def told(tab: Page) -> str:
    return tab.locator(".told").inner_text().replace("\u00a0", " ")


def rows(tab: Page) -> int:
    return tab.locator(ROWS).count()


def frame(tab: Page, then: str = "undefined") -> Any:
    drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    return tab.evaluate(f"() => {drawn}.then(() => {then})")


def in_view(tab: Page) -> list[str]:
    """The models of the rows that are in view, as the reader sees them."""
    return list(
        tab.evaluate(
            """rows => {
              const box = document.querySelector('.view .scroll').getBoundingClientRect();
              const top = box.top + document.querySelector('table.board thead').offsetHeight;
              return [...document.querySelectorAll(rows)].filter(tr => {
                const at = tr.getBoundingClientRect();
                return at.bottom > top + 2 && at.top < box.bottom - 2;
              }).map(tr => tr.querySelector('th a').textContent);
            }""",
            ROWS,
        )
    )


def scroll(tab: Page, share: float) -> None:
    tab.evaluate(
        "share => { const b = document.querySelector('.view .scroll'); b.scrollTop = share * b.scrollHeight; }", share
    )
    frame(tab)


def best_first(index: Path) -> list[str]:
    return [entry["model"] for entry in data(index, "boards/leader-128k")["entries"]]


# ------------------------------------------------------------------------------------------------ long tables


@pytest.mark.parametrize("view", [f"{BOARD}?view=tasks", INDEX])
def test_only_rows_in_view_are_part_of_the_page(many: Open, view: str) -> None:
    tab = many(view)
    tab.locator(ROWS).first.wait_for()
    for share in (0.0, 0.3, 1.0, 0.5):
        scroll(tab, share)
        assert 5 < rows(tab) <= MOST_ROWS
        assert in_view(tab)
        # No empty stripe: what is in view is covered by rows.
        assert len(in_view(tab)) >= 5
    table = tab.locator("table.board")
    assert int(table.get_attribute("aria-rowcount") or 0) >= MANY - 400
    places = tab.locator(ROWS).evaluate_all("rows => rows.map(row => Number(row.getAttribute('aria-rowindex')))")
    assert places == sorted(set(places))


def test_rows_say_which_of_all_they_are(many: Open, large: Path) -> None:
    tab = many("")
    entries = data(large, "boards/leader-128k")["entries"]
    whole = [entry["key"] for entry in entries if entry["complete"]]
    assert tab.locator("table.board").get_attribute("aria-rowcount") == str(1 + len(entries) + 1)  # head, divider
    assert tab.locator("table.board thead tr").get_attribute("aria-rowindex") == "1"
    scroll(tab, 0.4)
    for row in tab.locator(ROWS).all()[:5]:
        place = int(row.get_attribute("aria-rowindex") or 0)
        assert row.locator("input").get_attribute("data-key") == whole[place - 2]
    assert tab.locator("tr.spacer").evaluate_all("rows => rows.every(row => row.ariaHidden === 'true')")


def test_keys_move_through_a_long_table(many: Open, large: Path) -> None:
    tab = many("")
    tab.locator(".view .scroll").focus()
    tab.keyboard.press("End")
    last = data(large, "boards/leader-128k")["entries"][-1]["key"]
    expect(tab.locator(f"input[data-key={last}]")).to_be_in_viewport()
    assert rows(tab) <= MOST_ROWS
    tab.keyboard.press("Home")
    first = data(large, "boards/leader-128k")["entries"][0]["key"]
    expect(tab.locator(f"input[data-key={first}]")).to_be_in_viewport()
    tab.keyboard.press("PageDown")
    expect(tab.locator(f"input[data-key={first}]")).not_to_be_in_viewport()
    top = tab.evaluate("document.querySelector('.view .scroll').scrollTop")
    tab.keyboard.press("ArrowDown")
    tab.wait_for_function("top => document.querySelector('.view .scroll').scrollTop > top", arg=top)


def test_the_tab_key_goes_through_rows_that_were_not_drawn(many: Open, large: Path) -> None:
    tab = many("")
    keys = [entry["key"] for entry in data(large, "boards/leader-128k")["entries"]]
    tab.locator("td.pick input").first.focus()
    seen = [tab.evaluate("document.activeElement.dataset.key")]
    while len(seen) < 50:
        tab.keyboard.press("Tab")
        if key := frame(tab, "document.activeElement.dataset.key || null"):
            seen.append(key)
    assert seen == keys[:50]
    assert rows(tab) <= MOST_ROWS
    focused = tab.locator("td.pick input:focus")
    expect(focused).to_be_in_viewport()
    # The row with the focus stays while others scroll by.
    scroll(tab, 1.0)
    assert focused.get_attribute("data-key") == keys[49]
    tab.keyboard.press("Space")
    expect(tab.locator("#tray")).to_contain_text("1 entry")


def test_a_thousand_rows_sort_and_filter(many: Open, large: Path) -> None:
    tab = many(f"{BOARD}?sort=category/questions&desc=1")
    board = data(large, "boards/leader-128k")
    place = [one["id"] for one in board["categories"]].index("questions")
    known = [entry for entry in board["entries"] if entry["categories"][place]]
    wanted = sorted(known, key=lambda entry: -entry["categories"][place][0])
    assert models(tab)[:10] == [shown(entry["model"]) for entry in wanted[:10]]
    head(tab, "Questions").get_by_role("button").click()
    expect(tab.locator(f"{ROWS} th.model a").first).to_have_text(shown(wanted[-1]["model"]))
    name = "otter/otter-73-8b"
    assert name in {entry["model"] for entry in board["entries"]}
    tab.get_by_role("searchbox").fill(name)
    expect(tab.locator(ROWS)).to_have_count(1)
    assert models(tab) == [name]
    assert told(tab) == "1 of 1,000 entries"


def shown(name: str) -> str:
    return re.sub("[\u0000-\u001f\u202a-\u202e]", "\ufffd", name)


def test_paper_gets_all_rows(many: Open) -> None:
    tab = many("")
    assert rows(tab) < MANY
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert rows(tab) == MANY
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert rows(tab) <= MOST_ROWS
    tab.get_by_role("button", name="Draw all rows").click()
    assert rows(tab) == MANY


def test_a_short_table_has_all_of_its_rows(opened: Open) -> None:
    tab = opened("")
    expect(tab.locator(ROWS)).to_have_count(14)
    assert tab.locator("table.board").get_attribute("aria-rowcount") is None
    assert tab.locator(".all-rows").count() == 0


def test_without_scripts_the_page_leads_to_the_tables(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(site.as_uri())
    tab.get_by_role("link", name="All ranks and scores").click()
    assert tab.locator("h1").inner_text() == "made"
    context.close()


# ----------------------------------------------------------------------------------------- filters and columns


def panel(tab: Page) -> None:
    tab.locator("details.panel > summary").click()


def test_filters_by_facts_show_what_fits_and_count_what_states_nothing(many: Open, large: Path) -> None:
    tab = many("")
    panel(tab)
    entries = data(large, "boards/leader-128k")["entries"]
    group = tab.get_by_role("group", name="Weights")
    group.get_by_label("closed").uncheck()
    group.get_by_label("not stated").uncheck()
    opens = [entry for entry in entries if entry.get("weights") == "open"]
    expect(tab.locator(".told")).to_have_text(f"{len(opens)} of 1,000\u00a0entries")
    expect(tab).to_have_url(re.compile("weights=open$"))
    size = tab.get_by_role("group", name="Size")
    size.get_by_label("from").fill("10")
    size.get_by_label("to").fill("40")
    fitting = [entry for entry in opens if entry.get("parameters") == 32 * 10**9]
    without = [entry for entry in opens if "parameters" not in entry]
    assert fitting
    assert without
    expect(tab.locator(".told")).to_have_text(
        f"{len(fitting)} of 1,000\u00a0entries; hidden: {len(without)} without a stated size"
    )
    assert set(models(tab)) <= {shown(entry["model"]) for entry in fitting}
    tab.reload()
    expect(tab.locator(".told")).to_contain_text(f"{len(fitting)} of 1,000")
    expect(tab.locator("details.panel > summary")).to_have_text("Columns and filters (2 set)")
    panel(tab)
    assert tab.get_by_role("group", name="Size").get_by_label("from").input_value() == "10"
    tab.get_by_role("button", name="Reset columns and filters").click()
    expect(tab.locator(".told")).to_have_text("1,000\u00a0entries")


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("since=2026-02-01", {"2026-02-03", "2026-03-01"}),
        ("until=2026-02-03", {"2025-01", "2026-02-03"}),
        ("since=2025-01-20&until=2025-02-01", {"2025-01"}),  # a month, of which some days fit
        ("since=2027-01-01", set()),
    ],
)
def test_filters_by_date(opened: Open, site: Path, query: str, kept: set[str]) -> None:
    tab = opened(f"{BOARD}?{query}")
    board = data(site, "boards/leader-128k")
    fits = [entry for entry in board["entries"] if board["origins"][entry["origin"]]["date"] in kept]
    if not fits:
        assert "No entry matches these filters." in tab.locator(".view").inner_text()
    expect(tab.locator(ROWS)).to_have_count(len(fits))


def test_columns_are_chosen_and_the_choice_is_in_the_address(opened: Open) -> None:
    tab = opened("")
    heads = tab.locator("table.board thead tr:last-child th .sort")
    before = heads.all_inner_texts()
    panel(tab)
    columns = tab.get_by_role("group", name="Columns")
    columns.get_by_label("Retrieval").uncheck()
    columns.get_by_label("Size").check()
    expect(heads).to_have_text([*before[:3], "Size", *before[4:]])
    expect(tab).to_have_url(re.compile(re.escape("hide=category/retrieval&show=size") + "$"))
    cells = column(tab, 5)
    assert {"8B", "not"} <= set(cells)  # "not stated"
    expect(columns.get_by_label("Retrieval")).not_to_be_checked()
    tab.reload()
    expect(heads).to_have_text([*before[:3], "Size", *before[4:]])
    # Another view has other columns.
    tab.get_by_role("link", name="By length").click()
    expect(tab).to_have_url(re.compile("view=lengths$"))


def test_no_and_all_columns(opened: Open) -> None:
    tab = opened(f"{BOARD}?view=tasks")
    panel(tab)
    heads = tab.locator("table.board thead tr:last-child th .sort")
    tab.get_by_role("button", name="None").click()
    expect(heads).to_have_count(3)  # rank, model, overall
    expect(tab).to_have_url(re.compile("hide=all$"))
    columns = tab.get_by_role("group", name="Columns")
    columns.get_by_label("Leader task 3").check()
    expect(heads).to_have_count(4)
    expect(tab).to_have_url(re.compile(re.escape("hide=all&show=task/leader_task_3") + "$"))
    tab.get_by_role("button", name="All columns").click()
    expect(heads).to_have_count(3 + 3 + 12)
    expect(tab).to_have_url(re.compile(re.escape("show=weights,size,date") + "$"))


ROUND_TRIPS = """() => {
  const board = {
    id: 'b', missingIsZero: true, categories: [{ id: 'one' }],
    origins: [{ provenance: 'published' }, { provenance: 'measured' }], entries: [{ origin: 0 }, { origin: 1 }],
  };
  const some = {
    view: ['categories', 'lengths', 'tasks'], category: ['', 'one'], q: ['', 'a & b=c, +#?/%'],
    weights: [['open', 'closed', 'unstated'], ['open'], []], low: ['', '7', '0.5'], high: ['', '70'],
    since: ['', '2026-01-02'], until: ['', '2026-11-30'],
    hide: [[], ['all'], ['category/one', 'extra/two']], show: [[], ['size', 'task/a_b']],
    from: [['published', 'measured'], ['measured'], []],
    by: ['overall', 'model'], desc: [true, false], complete: [true, false],
  };
  const wrong = [];
  let seed = 1;
  const pick = (list) => list[(seed = (seed * 48271) % 2147483647) % list.length];
  const plain = (value) => (value instanceof Set ? [...value] : value);
  const flat = (one) => JSON.stringify(Object.keys(one).sort().map((name) => [name, plain(one[name])]));
  for (let n = 0; n < 400; n += 1) {
    const state = Object.fromEntries(Object.entries(some).map(([name, values]) => [name, pick(values)]));
    for (const name of ['weights', 'hide', 'show', 'from']) state[name] = new Set(state[name]);
    Object.assign(state, { zero: false, variant: '' });
    if (state.view !== 'tasks') state.category = '';
    const again = fathom.stateOf(board, fathom.read(fathom.addressOf(board, state)).query);
    if (flat(again) !== flat(state)) wrong.push([flat(state), flat(again)]);
  }
  return wrong;
}"""


def test_addresses_give_back_every_state(opened: Open) -> None:
    assert opened("").evaluate(ROUND_TRIPS) == []


@pytest.mark.parametrize(
    "query", ["size=x-y&since=soon&weights=none,<b>&hide=,,&show=%00", "size=-&until=2026-13-99", "size=9-1"]
)
def test_invalid_choices_are_harmless(opened: Open, query: str) -> None:
    for view in (f"{BOARD}?{query}", f"{INDEX}?{query}"):
        tab = opened(view)
        assert tab.locator("h1").inner_text() in ("LongLeader 128K", "All models")
        assert not re.findall(PROGRAM, tab.locator("main").inner_text())


# ---------------------------------------------------------------------------------------------------- index


def test_the_index_shows_each_model_on_each_board(opened: Open, site: Path) -> None:
    tab = opened(INDEX)
    index = data(site, "index")["models"]
    assert told(tab) == f"{len(index)} models"
    boards = data(site, "site")["boards"]
    for model in index:
        row = tab.locator(ROWS).filter(has=tab.locator(f'a[href="#/models/{model["key"]}"]'))
        assert row.locator("th").inner_text().replace("\n", "") == shown(model["model"])
        cells = row.locator("td.place").all()
        assert len(cells) == len(boards)
        for cell, best in zip(cells, model["boards"], strict=True):
            text = cell.inner_text()
            if best is None:
                assert text == "n/a"
                continue
            _, (value, ends, *_), rank, _ = best
            assert text.startswith(f"{100 * value:.1f}")
            assert (
                (f"{100 * ends[0]:.1f}\u2013{100 * ends[1]:.1f}" in text)
                if ends
                else "\u2013" not in text.split("rank")[0]
            )
            said = "not ranked" if rank is None else f"rank {'-'.join(map(str, dict.fromkeys(rank)))}"
            assert said in text.replace("\u00a0", " ").replace("\u2013", "-")


def test_the_index_sorts_searches_and_leads_on(many: Open, large: Path) -> None:
    tab = many(INDEX)
    assert tab.locator("#boards [aria-current]").inner_text() == "All models"
    head(tab, "LongLeader").get_by_role("button").click()
    expect(tab).to_have_url(re.compile(re.escape("#/models?sort=board/leader-128k&desc=1") + "$"))
    index = data(large, "index")["models"]
    best = max((one for one in index if one["boards"][0]), key=lambda one: one["boards"][0][1][0])
    assert models(tab)[0] == shown(best["model"])
    tab.get_by_role("searchbox").fill("otter 73")
    expect(tab.locator(ROWS)).to_have_count(1)
    assert told(tab) == "1 of 999 models"
    tab.locator(f"{ROWS} th a").click()
    expect(tab.locator("h1")).to_have_text("otter/otter-73-8b")
    tab.go_back()
    expect(tab.get_by_role("searchbox")).to_have_value("otter 73")


def test_hostile_names_in_the_index_are_text(many: Open) -> None:
    tab = many(f"{INDEX}?sort=model")
    tab.on("dialog", lambda dialog: pytest.fail(dialog.message))
    tab.get_by_role("searchbox").fill("alert")
    expect(tab.locator(ROWS)).to_have_count(1)
    assert models(tab) == [HOSTILE[0]]
    assert tab.locator("main img, main script").count() == 0
    for width in (1440, 390):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


# ------------------------------------------------------------------------------------------------------- axe


@pytest.mark.parametrize(
    ("view", "width"),
    [
        (BOARD, 390),
        (f"{BOARD}?size=7-70&hide=all&show=size", 1440),
        (INDEX, 1440),
        (f"{INDEX}?weights=open&show=size", 390),
    ],
)
def test_axe_finds_nothing_small_or_large(opened: Open, many: Open, view: str, width: int) -> None:
    for open_view in (opened, many):
        tab = open_view(view, width=width)
        panel(tab)
        assert violations(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_axe_finds_nothing_in_the_dark(many: Open) -> None:
    tab = many(INDEX, scheme="dark")
    panel(tab)
    assert violations(tab, "color-contrast", "link-in-text-block") == []
