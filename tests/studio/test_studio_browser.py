"""The studio in Chromium: marking evidence by keyboard, drafts that survive a crash, two people at one sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chromium import browsers, violations
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import AddPredictions, Create, Prediction, ReviewDocument, StudioDocument
from loopback_studio import serving
from processes import until
from studio_stores import (
    DOCUMENT,
    IN_BOTH,
    OPERATOR,
    PASSWORD,
    PEOPLE,
    TEXT,
    create,
    fill,
    quick_hasher,
    to_answer_review,
    usual_place,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]
chromium = pytest.fixture(scope="module")(browsers)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A studio; no page depends on the kind of its store but where two people change a sample."""
    place = usual_place(request, tmp_path)
    with closing(Store(place)) as store:
        fill(store)
        people = People(store, hasher=quick_hasher())
        for name in PEOPLE:
            people.set_password(name, PASSWORD)
        store.review_document(ReviewDocument(DOCUMENT, "available"), OPERATOR)
        create(store)
    return place


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda sent: faults.append(sent.url) if "127.0.0.1" not in sent.url else None)
    yield page
    context.close()
    assert [one for one in faults if "ERR_CONNECTION" not in one and "409" not in one] == []


def log_in(tab: Page, address: str, name: str) -> None:
    tab.context.clear_cookies()
    tab.goto(f"{address}/login")
    tab.fill("[name=name]", name)
    tab.fill("[name=password]", PASSWORD)
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{address}/")


def open_sample(tab: Page, address: str, id: str = "s-1") -> None:
    tab.goto(f"{address}/samples/{id}")
    tab.wait_for_selector("#text section")


def test_a_sample_by_keyboard(tab: Page, place: str) -> None:
    with serving(place) as (address, _), closing(Store(place)) as store:
        log_in(tab, address, "ann")
        tab.keyboard.press("j")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#text section")
        tab.click("text=Select this draft >> nth=0")
        tab.wait_for_selector("#text section")
        tab.focus("[name=component-1]")
        tab.focus("#text")
        tab.keyboard.press("/")
        tab.keyboard.type("boat")
        tab.wait_for_selector("#hits:text-is('1 of 40')")
        tab.keyboard.press("Enter")
        tab.keyboard.press("Escape")
        tab.keyboard.press("Shift+ArrowRight")
        tab.keyboard.press("Shift+ArrowRight")
        tab.keyboard.press("m")
        tab.focus("[name=question]")
        tab.keyboard.press("Control+Enter")
        tab.wait_for_selector("text=Saved.")
        (evidence,) = store.sample("s-1").content.components[1].evidence
        assert evidence.start == TEXT.index("boat", TEXT.index("boat") + 4)
        assert evidence.quote.startswith("boat ")
        tab.wait_for_load_state()  # "Saved." is there before the page's script
        tab.focus("#text")
        tab.keyboard.press("?")
        tab.wait_for_selector("#help", state="visible")


def test_a_search_goes_over_line_ends(tab: Page, place: str) -> None:
    with closing(Store(place)) as store, serving(place) as (address, _):
        store.add_document(StudioDocument("wrapped", "Wrapped", "en", tokens=9, bucket=8192), "the old\n  port (1.5)\n")
        store.act(Create("s-w", "qa", "en", 8192, ("wrapped",)), OPERATOR)
        log_in(tab, address, "ann")
        open_sample(tab, address, "s-w")
        for words, hits in (("old port (1.5)", "1 of 1"), ("1x5", "0 hits")):
            tab.fill("#search", words)
            tab.wait_for_selector(f"#hits:text-is('{hits}')")


def test_offsets_count_characters_and_not_units_of_javascript(tab: Page, place: str) -> None:
    text = "😀 first\n\n\n  😀😀 second 港口 third\nlast\n"
    with closing(Store(place)) as store:
        store.add_document(StudioDocument("emoji", "Emoji", "en", tokens=9, bucket=8192), text)
        store.act(Create("s-e", "qa", "en", 8192, ("emoji",)), OPERATOR)
        with serving(place) as (address, _):
            log_in(tab, address, "ann")
            open_sample(tab, address, "s-e")
            tab.focus("[name=component-0]")
            tab.fill("#search", "second 港口")
            tab.wait_for_selector("#hits:text-is('1 of 1')")
            tab.focus("#text")
            tab.keyboard.press("m")
            tab.fill("[name=question]", "What is second?")
            tab.click("button.main >> text=Save")
            tab.wait_for_selector("text=Saved.")
        (component,) = store.sample("s-e").content.components
        (evidence,) = component.evidence
        assert (evidence.start, evidence.quote) == (text.index("second"), "second 港口")


def test_what_was_typed_survives_the_server(tab: Page, place: str) -> None:
    with closing(Store(place)) as store:
        sample = to_answer_review(store, "s-2")
        with serving(place) as (address, process):
            log_in(tab, address, "bo")
            open_sample(tab, address, "s-2")
            tab.check("[name=mark-0][value=wrong]")
            tab.fill("[name=note-0]", "It was Bo.")
            tab.wait_for_selector("text=Draft saved.")
            process.kill()
            process.wait()
            tab.fill("[name=note-1]", "Typed while nobody listened.")
            tab.wait_for_selector("text=kept in this browser")
        port = int(address.rpartition(":")[2])
        with serving(place, port) as (address, _):
            until(lambda: (draft := store.draft("bo", "s-2", "review")) is not None and "nobody listened" in draft.body)
            open_sample(tab, address, "s-2")
            assert tab.input_value("[name=note-0]") == "It was Bo."
            assert tab.input_value("[name=note-1]") == "Typed while nobody listened."
            assert tab.is_checked("[name=mark-0][value=wrong]")
            tab.focus("#text")
            tab.keyboard.press("2")  # the current component is the first one
            tab.keyboard.press("1")
            tab.click("text=Send the review")
            tab.wait_for_selector("text=Your review is stored.")
            until(lambda: bool(tab.evaluate("Object.keys(localStorage).length === 0")))
        (mine,) = store.sample("s-2").reviews
        assert [one.mark for one in mine.verdicts] == ["wrong", "right"]
        assert mine.round == sample.round


def test_a_review_in_two_steps_by_keyboard(tab: Page, place: str) -> None:
    with closing(Store(place)) as store, serving(place) as (address, _):
        sample = to_answer_review(store, "s-2")
        answers = (Prediction("m/a", ("at noon", "Ida")), Prediction("m/b", ("at noon", "the boat")))
        store.act(AddPredictions("s-2", sample.version, answers), OPERATOR)
        log_in(tab, address, "bo")
        open_sample(tab, address, "s-2")
        assert "at noon" not in tab.content()
        tab.focus("#text")
        tab.keyboard.press("1")
        tab.keyboard.press("2")
        tab.fill("[name=note-1]", "It was seven.")
        tab.keyboard.press("Control+Enter")
        tab.wait_for_selector("text=Now look at what models found.")
        tab.wait_for_selector("#text section")
        assert [one.mark for one in store.sample("s-2").first_verdicts[0].verdicts] == ["right", "wrong"]
        assert "2 of 2 models" in tab.inner_text("legend:has-text('at noon')")
        tab.focus("#text")
        tab.keyboard.press("2")  # at noon: not missing
        tab.click("fieldset:has-text('the boat') >> text=Find in the text")
        tab.wait_for_selector("#hits:text-is('1 of 40')")
        tab.focus("#text")
        tab.keyboard.press("1")  # the boat: missing
        tab.keyboard.press("m")
        tab.wait_for_selector("text=Draft saved.")
        tab.reload()
        tab.wait_for_selector("#text section")
        assert tab.is_checked("fieldset:has-text('the boat') >> [value=missing]")
        assert violations(tab) == []
        tab.click("text=Send the review")
        tab.wait_for_selector("text=Your review is stored.")
        (mine,) = store.sample("s-2").reviews
        assert [one.mark for one in mine.verdicts] == ["right", "wrong"]
        assert mine.verdicts[1].note == "It was seven."
        assert (mine.not_missing, [one.text for one in mine.missing]) == (("at noon",), ["the boat"])
        assert mine.missing[0].evidence[0].quote == "the boat"


TABLES = """Intro 😀
| Who | 港口 | Long |
| --- | ---: | --- |
| Ida | 1,204 | a remark |

```python
def lit():

    return "Ida"
```
a\tb\n1\tlamp

    indented = True
Last 😀 line"""


def test_tables_and_code_are_laid_out_and_offsets_stay_exact(tab: Page, place: str) -> None:
    with closing(Store(place)) as store, serving(place) as (address, _):
        store.add_document(StudioDocument("tables", "Tables", "en", tokens=9, bucket=8192), TABLES)
        store.act(Create("s-t", "qa", "en", 8192, ("tables",)), OPERATOR)
        log_in(tab, address, "ann")
        open_sample(tab, address, "s-t")
        assert tab.locator("#text .table").count() == 2
        assert tab.locator("#text .code").count() == 2
        heads = [tab.locator(f".table p:nth-child({row}) span").nth(3).bounding_box() for row in (1, 3)]
        assert len({box["x"] for box in heads if box}) == 1, "columns are in line"
        wanted = ["1,204 | a remark", "Who | 港口", "return", "lamp", "indented = True", "Last 😀 line"]
        for at, words in enumerate(wanted):
            tab.focus(f"[name=component-{at}]")
            tab.fill("#search", "")
            tab.wait_for_selector("#hits:text-is('')", state="attached")
            tab.fill("#search", words)
            tab.wait_for_selector("#hits:text-is('1 of 1')")
            tab.focus("#text")
            tab.keyboard.press("m")
        tab.focus(f"[name=component-{len(wanted)}]")
        tab.focus("#text")
        tab.evaluate(SELECT_ALL)
        tab.keyboard.press("m")
        tab.fill("[name=question]", "Who?")
        assert violations(tab) == []
        tab.click("button.main >> text=Save")
        tab.wait_for_selector("text=Saved.")
        found = [part.evidence[0] for part in store.sample("s-t").content.components]
        assert [one.quote for one in found] == [*wanted, TABLES]
        assert [one.start for one in found] == [*map(TABLES.index, wanted), 0]


SELECT_ALL = """() => getSelection().selectAllChildren(document.getElementById("text"))"""


def test_neither_a_break_nor_a_night_is_time_spent(tab: Page, place: str) -> None:
    with serving(place) as (address, _), closing(Store(place)) as store:
        log_in(tab, address, "ann")
        tab.clock.install()
        open_sample(tab, address)
        tab.focus("#text")

        def read(seconds: int) -> None:
            tab.keyboard.press("ArrowDown")
            tab.clock.run_for(1000 * seconds)

        read(20)
        read(20)
        tab.clock.run_for(30 * 60_000)  # away: of each break a minute counts
        tab.evaluate(  # the computer slept for eight hours, and its owner scrolls before any timer runs
            """() => {
                const before = performance.now.bind(performance);
                performance.now = () => before() + 8 * 3600 * 1000;
                dispatchEvent(new Event("scroll"));
            }"""
        )
        read(10)
        tab.click("text=Select this draft >> nth=0")
        tab.wait_for_url("**/samples/s-1?done=select")
        tab.wait_for_load_state("networkidle")  # the server ends before the page: no reply of it may be cut
        (entry, *_) = store.log(subject="s-1")
        assert 50 <= json.loads(entry.body)["seconds"] < 30 * 60


@IN_BOTH
def test_two_tabs_on_one_sample(chromium: Browser, tab: Page, place: str) -> None:
    with closing(Store(place)) as store, serving(place) as (address, _):
        log_in(tab, address, "ann")
        open_sample(tab, address)
        tab.click("text=Select this draft >> nth=0")
        open_sample(tab, address)
        context = chromium.new_context()
        other: Any = context.new_page()
        log_in(other, address, "bo")
        open_sample(other, address)
        other.fill("[name=question]", "Bo's?")
        tab.fill("[name=question]", "Ann's?")
        tab.click("button.main >> text=Save")
        tab.wait_for_selector("text=Saved.")
        other.click("button.main >> text=Save")
        other.wait_for_selector("text=Somebody else changed this sample")
        assert "Ann's?" in other.inner_text(".conflict")
        assert other.input_value("[name=question]") == "Bo's?"
        assert store.sample("s-1").content.question == "Ann's?"
        other.click("button.main >> text=Save")
        other.wait_for_selector("text=Saved.")
        assert store.sample("s-1").content.question == "Bo's?"
        context.close()
