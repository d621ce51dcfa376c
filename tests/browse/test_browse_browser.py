"""Pages of replies in a browser: what they show, filters, keys, and that every view is a link."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import pytest

from chromium import COLOURS, browsers, violations
from fathom import api
from fathom.browse import address, write
from fathom.types import Reply, Span
from made_replies import HOSTILE, Made, document, make_hostile, make_run, make_runs, make_suite, passkey

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
browser = pytest.fixture(browsers, scope="module")
SAMPLE = "single_doc_qa/en/0001@2048/d0.5/q1"
PROGRAM = r"\b(null|undefined|NaN|Infinity)\b|\[object"
Open = Callable[..., "Page"]
Theme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_runs(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def pages(made: Made) -> Path:
    out = made.suite.parent / "pages"
    write(made.runs, out)
    return out


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens pages; fails where one complains, or asks for anything but its own files."""
    complaints: list[str] = []
    requests: list[str] = []
    tabs: list[Page] = []
    folders: list[str] = []

    def open_pages(folder: Path, fragment: str = "", *, width: int = 1280, scheme: Theme = "light") -> Page:
        tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tabs.append(tab)
        folders.append(folder.as_uri())
        tab.goto(f"{folder.as_uri()}/index.html{fragment}")
        tab.locator(".prompt" if width >= 960 or "sample=" in fragment else "#rows li").first.wait_for()
        return tab

    yield open_pages
    for tab in tabs:
        tab.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(tuple(folders))] == []


def shown(tab: Page) -> str:
    return tab.locator("#detail h2").inner_text()


def told(tab: Page) -> str:
    return tab.locator("#told").inner_text()


# ------------------------------------------------------------------------------------------------ one sample


def test_a_sample_has_its_question_gold_answer_replies_and_reasons(opened: Open, pages: Path, made: Made) -> None:
    tab = opened(pages, f"#sample={quote(SAMPLE)}")
    expect(tab.locator("#detail h2")).to_have_text(SAMPLE)
    facts = api.show(made.runs[0], SAMPLE)
    assert [item.inner_text() for item in tab.locator(".golds li").all()] == facts["targets"]
    replies = tab.locator(".reply")
    assert replies.count() == 2
    for place, run in enumerate(made.runs):
        own = api.show(run, SAMPLE)["replies"][0]
        expect(replies.nth(place).locator(".why")).to_have_text(" ".join(own["why"]))
        expect(replies.nth(place).locator(".said .text").last).to_have_text(own["reply"])
        replies.nth(place).locator(".scores summary").click()
        assert replies.nth(place).locator("tbody tr").count() == len(own["scores"])
    assert re.findall(PROGRAM, tab.locator("#detail").inner_text()) == []


def test_a_prompt_unfolds_to_the_one_that_the_model_got(opened: Open, pages: Path, made: Made) -> None:
    tab = opened(pages, f"#sample={quote(SAMPLE)}")
    prompt = api.show(made.suite, SAMPLE, text=True)["prompt"]
    gold = tab.locator(".part.gold .text")
    assert gold.count() == 1
    assert gold.inner_text() in prompt
    assert prompt.index(gold.inner_text()) < prompt.index("Answer the following question about Passage")
    assert tab.locator(".fold.of-distractor").count() > 0
    tab.keyboard.press("u")
    expect(tab.locator(".fold:not([open])")).to_have_count(0)
    tab.locator(".fold .text").last.wait_for()
    parts = tab.evaluate(
        "[...document.querySelectorAll('.prompt .part .text, .prompt .inside .text')].map(e => e.textContent)"
    )
    assert "".join("".join(parts).split()) == "".join(prompt.split())
    expect(tab.locator("#unfold")).to_have_text("Fold all")
    tab.keyboard.press("u")
    expect(tab.locator(".fold[open]")).to_have_count(0)


def test_gold_answers_are_marked_where_they_are(opened: Open, pages: Path, made: Made) -> None:
    sample = "passkey/en/0000@2048/d1"
    tab = opened(pages, f"#sample={quote(sample)}")
    marks = tab.locator(".part.gold mark")
    expect(marks).to_have_count(2)
    assert {mark.inner_text() for mark in marks.all()} == set(api.show(made.suite, sample)["targets"])
    # It is the last text before the question.
    kinds = tab.evaluate("[...document.querySelectorAll('.prompt > .part, .prompt > .fold')].map(e => e.className)")
    assert [kind.split()[-1] for kind in kinds] == ["instruction", "of-filler", "gold", "question"]


def test_texts_in_many_pieces_are_whole(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.browse.pages.PIECE", 50)
    text = document("".join(f"{number} \U0001f600 \U00020000 ends. " for number in range(3000)))
    other = document("before " * 20)
    end = len(text.text)
    sample = passkey(0, ("Read.\n\n", Span(text.id, 33, end - 7), "\n\n", Span(other.id, 3, 90), "\n\nWhat?"))
    suite = make_suite(tmp_path / "suite", [sample], [other, text])
    write([make_run(tmp_path / "run", [(sample, Reply("ok", "1"))])], tmp_path / "out", suites=[suite])
    tab = opened(tmp_path / "out")
    tab.locator("#unfold").click()
    tab.locator(".inside .text").first.wait_for()
    parts = tab.evaluate("[...document.querySelectorAll('.inside .text')].map(e => e.textContent)")
    assert parts == [text.text[33 : end - 7], other.text[3:90]]
    assert tab.locator(".block.long").count() > 1


def test_without_a_suite_replies_are_shown_and_the_missing_prompt_is_said(opened: Open, tmp_path: Path) -> None:
    replies = [(passkey(), Reply("ok", "12345", reasoning="Hm. " * 9)), (passkey(), Reply("ok", "1"))]
    write([make_run(tmp_path / "run", replies)], tmp_path / "out")
    tab = opened(tmp_path / "out")
    assert tab.locator(".reply").count() == 2
    assert tab.locator(".reply").nth(1).locator(".line").inner_text().split() == ["lab/m", "repeat", "2", "0"]
    assert "Reasoning: 36 characters" in tab.locator(".reply").first.inner_text()
    assert "was not found" in tab.locator(".prompt").inner_text()
    tab.locator("#notes").click()
    assert "--suite" in tab.locator("dialog").inner_text()


def test_an_answer_by_likelihood_is_not_shown_as_words_of_the_model(opened: Open, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(passkey(), Reply("ok", "12345", reasoning='{"perplexity": [1]}'))])
    about = json.loads((run / "run.json").read_text("utf-8"))
    (run / "run.json").write_text(json.dumps(about | {"variant": "likelihood, orders"}))
    write([run], tmp_path / "out")
    reply = opened(tmp_path / "out").locator(".reply").inner_text()
    assert "The model wrote no text" in reply
    assert "Likelihoods: 19 characters" in reply
    assert "Reasoning" not in reply


# --------------------------------------------------------------------------------------------------- filters


def test_filters_narrow_the_list_and_are_in_the_address(opened: Open, pages: Path) -> None:
    tab = opened(pages)
    whole = told(tab)
    tab.get_by_label("Task").select_option("passkey")
    expect(tab).to_have_url(re.compile("#task=passkey$"))
    expect(tab.locator("#told")).to_have_text(f"28 of {whole}")
    tab.get_by_label("Length").select_option("2048")
    tab.get_by_label("Depth").select_option("0.5")
    expect(tab).to_have_url(re.compile("#task=passkey&length=2048&depth=0.5$"))
    expect(tab.locator("#told")).to_have_text(f"4 of {whole}")
    tab.get_by_label("Search").fill("zh/0001")
    expect(tab.locator("#told")).to_have_text(f"1 of {whole}")
    expect(tab.locator("#detail h2")).to_have_text("passkey/zh/0001@2048/d0.5")
    tab.get_by_role("button", name="Clear filters").click()
    expect(tab.locator("#told")).to_have_text(whole)
    tab.go_back()
    expect(tab.locator("#told")).to_have_text(f"1 of {whole}")


def test_a_link_of_a_report_opens_the_replies_of_its_cell(opened: Open, pages: Path) -> None:
    link = address("x", model="fathom/guess", task="single_doc_qa", length=2048, score="wrong").partition("#")[2]
    tab = opened(pages, f"#{link}")
    assert tab.locator(".reply").count() == 1
    assert tab.locator(".reply h3").inner_text() == "fathom/guess"
    rows = tab.locator("#rows .name").all_inner_texts()
    assert rows
    assert all(name.startswith("single_doc_qa/") and "@2048" in name for name in rows)
    tab.get_by_label("Compare with").select_option("1")
    expect(tab.locator(".reply")).to_have_count(2)
    assert tab.locator(".reply h3").all_inner_texts() == ["fathom/guess", "fathom/lexical"]


def test_a_model_without_a_variant_is_its_run_without_one(opened: Open, tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / name, [(passkey(), Reply("ok", text))]) for name, text in (("a", "54321"), ("b", "12345"))
    ]
    about = json.loads((runs[0] / "run.json").read_text("utf-8"))
    (runs[0] / "run.json").write_text(json.dumps(about | {"variant": "thinking"}))
    write(runs, tmp_path / "out")
    for fragment, text in (("", "12345"), ("&variant=thinking", "54321")):
        tab = opened(tmp_path / "out", f"#model=lab/m{fragment}")
        assert tab.locator(".reply .said .text").all_inner_texts() == [text]


def test_samples_of_two_suites_with_one_name_are_two_samples(opened: Open, tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / name, [(passkey(), Reply("ok", text))], model=f"lab/{name}", suite=name)
        for name, text in (("one", "12345"), ("two", "54321"))
    ]
    write(runs, tmp_path / "out")
    tab = opened(tmp_path / "out", "#model=lab/one&other=none")
    tab.get_by_role("button", name="Clear filters").click()
    expect(tab.locator("#told")).to_have_text("2 samples")
    for place, text in enumerate(["12345", "54321"]):
        tab.locator("#rows a").nth(place).click()
        expect(tab.locator("#rows a").nth(place)).to_have_attribute("aria-current", "true")
        expect(tab.locator("#detail")).to_contain_text(f"“{text}” from the reply")
    tab.get_by_label("Suite").select_option("two")
    expect(tab.locator("#told")).to_have_text("1 of 2 samples")
    linked = opened(tmp_path / "out", f"#suite=two&sample={quote(passkey().id)}")
    expect(linked.locator("#detail")).to_contain_text("“54321” from the reply")


def test_an_address_that_fits_nothing_says_so(opened: Open, pages: Path) -> None:
    tab = opened(pages, f"#sample={quote(SAMPLE)}")
    for fragment, words in (
        ("#sample=nothing", "There is no sample nothing on this page."),
        ("#model=nobody", "There is no run of nobody on this page."),
        ("#task=gone", "No sample has all of these properties."),
        ("#depth=x&length=y&__proto__=z&score=constructor", "No sample has all of these properties."),
    ):
        tab.evaluate("hash => { location.hash = hash; }", fragment)
        expect(tab.locator("#detail")).to_have_text(words)


# ----------------------------------------------------------------------------------------------------- keyboard


def test_keys_go_through_samples_and_to_those_on_which_runs_disagree(opened: Open, pages: Path) -> None:
    tab = opened(pages, "#task=single_doc_qa")
    names = [shown(tab)]
    for _ in range(3):
        tab.keyboard.press("j")
        expect(tab.locator("#detail h2")).not_to_have_text(names[-1])
        names.append(shown(tab))
    tab.keyboard.press("k")
    expect(tab.locator("#detail h2")).to_have_text(names[-2])
    tab.keyboard.press("n")
    expect(tab.locator("#detail h2")).not_to_have_text(names[-2])
    expect(tab.locator(".reply .chip")).to_have_count(2)
    values = tab.locator(".reply .chip").all_inner_texts()
    assert abs(float(values[0]) - float(values[1])) >= 0.5
    tab.keyboard.press("/")
    expect(tab.locator("#search")).to_be_focused()
    tab.keyboard.type("jkn?")
    expect(tab.locator("#told")).to_have_text(re.compile("^0 of"))
    tab.keyboard.press("Escape")
    tab.keyboard.press("?")
    expect(tab.locator("dialog")).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.locator("dialog")).not_to_be_visible()


def test_the_chosen_row_is_in_view_however_long_the_list(opened: Open, tmp_path: Path) -> None:
    replies = [(passkey(number), Reply("ok", "12345")) for number in range(2000)]
    write([make_run(tmp_path / "run", replies)], tmp_path / "out")
    tab = opened(tmp_path / "out", "#sample=passkey/en/1500%401024")
    expect(tab.locator("#rows [aria-current]")).to_be_in_viewport()
    assert tab.locator("#rows li").count() < 60
    assert tab.locator("#rows [aria-current] .name").inner_text() == "passkey/en/1500@1024"
    tab.keyboard.press("j")
    expect(tab.locator("#rows [aria-current] .name")).to_have_text("passkey/en/1501@1024")


# ------------------------------------------------------------------------------------------------ hostile, looks


def test_hostile_text_is_shown_and_does_nothing(opened: Open, tmp_path: Path) -> None:
    made = make_hostile(tmp_path)
    write(made.runs, tmp_path / "out", suites=[made.suite])
    for width in (1280, 390):
        tab = opened(tmp_path / "out", "#sample=passkey/en/0000%401024", width=width)
        tab.locator("#unfold").click()
        tab.locator(".inside .text").first.wait_for()
        for summary in tab.locator("#detail summary").all():
            summary.click()
        text = tab.locator("#detail").inner_text()
        assert "</script><script>document.title='hacked'" in text
        assert "\u27e8U+202E\u27e9gnp.live" in text
        assert "\u2400" in text
        assert "\u241b[31m" in text
        assert "\u27e8U+E0041\u27e9" in text
        assert not re.search("[\u202e\x00\x1b\U000e0041]", text)
        assert tab.title() == "passkey/en/0000@1024 \u00b7 fathom"
        assert tab.locator("#detail img, #detail script").count() == 0
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert HOSTILE[:9] in tab.locator("#title").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_and_the_page_keeps_to_its_width(
    opened: Open, pages: Path, scheme: Theme, width: int
) -> None:
    for fragment in ("", f"#sample={quote(SAMPLE)}", f"#sample={quote('kv_retrieval/en/0000@2048/d0.5')}"):
        tab = opened(pages, fragment, width=width, scheme=scheme)
        if fragment:
            tab.locator("#unfold").click()
            tab.locator(".inside .text").first.wait_for()
            for summary in tab.locator("#detail summary").all():
                if not summary.evaluate("element => element.parentElement.open"):
                    summary.click()
        rules = COLOURS if scheme == "dark" else ()
        assert violations(tab, *rules) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        if not fragment:  # the same words wherever they are asked for
            tab.keyboard.press("?")
            assert violations(tab, *rules) == []


def test_on_a_phone_list_and_sample_are_two_views(opened: Open, pages: Path) -> None:
    tab = opened(pages, width=390)
    assert not tab.locator("#detail").is_visible()
    tab.locator("#rows a").first.click()
    expect(tab.locator("#detail h2")).to_be_visible()
    expect(tab.locator("#rows")).not_to_be_visible()
    tab.get_by_role("button", name="List").click()
    expect(tab.locator("#rows")).to_be_visible()
