"""Pages of a run that goes on: what the server reads again, and what the page keeps."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from chromium import browsers
from fathom.browse import Pages, PagesServer, Refreshed, read_replies
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import this_worker
from fathom.types import Reply, Sample
from made_replies import make_run, passkey

serving = import_module("fathom.browse.serve")
browser = pytest.fixture(browsers, scope="module")
SAMPLES = list(map(passkey, range(40)))


class Growing:
    """A run that goes on: of 40 samples it has asked a few."""

    def __init__(self, folder: Path) -> None:
        self.folder = make_run(folder, [(SAMPLES[0], Reply("ok", "12345"))])
        self.ledger = Ledger(folder, this_worker())
        self.ledger.plan(len(SAMPLES), SAMPLES, 1)

    def reply(self, sample: Sample, text: str) -> None:
        """A reply comes."""
        self.ledger.finish(sample, 1, Reply("ok", text), prompt_hash="abc", cost=None)

    def pages(self) -> Pages:
        """The pages now."""
        return Pages(read_replies([self.folder]))


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    run = Growing(tmp_path / "run")
    yield run
    run.ledger.close()


@contextmanager
def served(run: Growing) -> Iterator[PagesServer]:
    with PagesServer(Refreshed(run.pages, [run.folder])) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def value(server: PagesServer, name: str) -> Any:
    with urlopen(f"{server.address}data/{name}.js") as answer:
        text: str = answer.read().decode()
    return json.loads(text.partition(", ")[2].rpartition(");")[0])


def test_a_run_that_goes_on_is_read_again_when_it_has_new_replies(growing: Growing) -> None:
    with served(growing) as server:
        assert value(server, "list")["live"]
        first = value(server, "again/1/state")
        assert (first["version"], first["working"]) == (0, True)
        assert first["written"] > 0
        growing.reply(SAMPLES[1], "12345")
        assert value(server, "again/2/state")["version"] == 1
        shown = value(server, "again/1/list")["replies"]
        assert shown["status"].count("ok") == 2
        assert shown["status"].count("not asked") == 38
        assert value(server, "again/1/samples/1")["replies"][0]["value"] == 1.0
        # It is not read at every look.
        growing.reply(SAMPLES[2], "no")
        assert value(server, "again/3/state")["version"] == 1
        growing.ledger.close()
        last = value(server, "again/4/state")
        assert (last["version"], last["working"]) == (2, False)


def test_a_reply_that_comes_while_the_first_pages_are_made_is_not_lost(growing: Growing) -> None:
    looks: list[Pages] = []

    def read() -> Pages:
        pages = growing.pages()
        if not looks:
            growing.reply(SAMPLES[1], "12345")
            growing.ledger.close()
        looks.append(pages)
        return pages

    with PagesServer(Refreshed(read, [growing.folder])) as server:
        assert server.refreshed.live
        assert b'"version":1,"working":false' in server.content("data/state.js")
        # Also a page that is opened now has both.
        assert server.content("data/list.js").count(b'"ok"') == 2


def test_pages_of_a_run_that_has_ended_do_not_refresh(growing: Growing) -> None:
    growing.ledger.close()
    with served(growing) as server:
        assert "live" not in value(server, "list")


@pytest.mark.browser
@pytest.mark.slow
def test_the_page_shows_what_is_new_and_keeps_place_and_filter(
    growing: Growing, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect: Callable[..., Any] = pytest.importorskip("playwright.sync_api").expect
    monkeypatch.setattr(serving, "LEAST_WAIT", 0.2)
    monkeypatch.setattr(serving, "SHARE", 0)
    with served(growing) as server:
        tab = browser.new_page(viewport={"width": 1280, "height": 500})
        tab.add_init_script("const later = setTimeout; setTimeout = (run, wait) => later(run, Math.min(wait, 300));")
        tab.goto(f"{server.address}#score=none")
        expect(tab.locator("#told")).to_have_text("39 of 40 samples")
        tab.locator("#scroller").evaluate("list => { list.scrollTop = 600; }")
        growing.reply(SAMPLES[39], "12345")
        expect(tab.locator("#told")).to_have_text("38 of 40 samples")
        assert tab.locator("#scroller").evaluate("list => list.scrollTop") == 600
        assert tab.locator("select[name=score]").input_value() == "none"
        expect(tab.locator("#live")).to_contain_text("running, last reply")
        growing.reply(SAMPLES[38], "12345")
        growing.ledger.close()
        expect(tab.locator("#told")).to_have_text("37 of 40 samples")
        expect(tab.locator("#live")).to_contain_text("the run has ended, last reply")
        tab.close()
