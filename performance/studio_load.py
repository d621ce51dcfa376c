"""Measures the studio: requests on the queue with many samples, and a text of two million characters in Chromium.

python performance/studio_load.py requests --samples 10000    # rate and times of requests on the queue
python performance/studio_load.py text                        # load, search and scrolling, beside a plain page
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fathom.studio.people import People
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.types import Candidate, Component, Content, Create, Evidence, ReviewDocument, StudioDocument
from fathom.studio.types import Select as SelectDraft
from loopback_studio import serving
from studio_stores import DOCUMENT, PASSWORD, PEOPLE, content, fill, person, quick_hasher

WORDS = "the lamp boat harbour ferry captain noon market letter window river stone bread winter".split()  # noqa: SIM905


def make_people(store: Store) -> None:
    """The accounts of the tests."""
    fill(store)
    people = People(store, hasher=quick_hasher())
    for name in PEOPLE:
        people.set_password(name, PASSWORD)


def measure_requests(count: int, seconds: float, clients: int) -> None:
    """Requests on the queue and on a page of a sample, with a database of many samples."""
    import httpx

    with tempfile.TemporaryDirectory() as place, closing(Store(place)) as store:
        make_people(store)
        candidates = (Candidate("c1", "model/a", content()),)
        began = time.monotonic()
        for number in range(count):
            store.act(Create(f"s-{number}", f"T{number % 25}", "en", 8192, (DOCUMENT,), candidates), AT_SERVER)
        print(f"{count:,} samples: {count / (time.monotonic() - began):.0f} actions a second")
        with serving(place) as (address, process):
            login = httpx.Client(base_url=address)
            login.post("/login", data={"name": "ann", "password": PASSWORD})
            cookies = {"fathom-studio": login.cookies["fathom-studio"]}
            for path in ("/", "/?state=drafted", "/samples/s-1"):
                before = _cpu(process.pid)
                times = _requests(address, path, cookies, seconds, clients)
                used = 1000 * (_cpu(process.pid) - before) / len(times)
                cut = quantiles(times, n=100)
                print(
                    f"{path}: {len(times) / seconds:.0f} requests a second with {clients} clients; median "
                    f"{1000 * median(times):.0f} ms, p95 {1000 * cut[94]:.0f} ms, p99 {1000 * cut[98]:.0f} ms; "
                    f"{used:.1f} ms of CPU each"
                )
                paced = _paced(address, path, cookies, seconds, clients, 200)
                cut = quantiles(paced, n=100)
                print(f"  at most 200 a second: {len(paced) / seconds:.0f}; p95 {1000 * cut[94]:.0f} ms")


def _cpu(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _requests(address: str, path: str, cookies: dict[str, str], seconds: float, clients: int) -> list[float]:
    return _paced(address, path, cookies, seconds, clients, 1e9)


def _paced(address: str, path: str, cookies: dict[str, str], seconds: float, clients: int, rate: float) -> list[float]:
    import httpx

    end = time.monotonic() + seconds

    def one(_: int) -> list[float]:
        times = []
        with httpx.Client(base_url=address, cookies=cookies, timeout=30) as client:
            due = time.monotonic()
            while (began := time.monotonic()) < end:
                assert client.get(path).status_code == 200
                times.append(time.monotonic() - began)
                due += clients / rate
                time.sleep(max(0.0, due - time.monotonic()))
        return times

    with ThreadPoolExecutor(clients) as pool:
        return [time for times in pool.map(one, range(clients)) for time in times]


def make_text(characters: int, rng: random.Random) -> str:
    """Paragraphs of words."""
    parts: list[str] = []
    length = 0
    while length < characters:
        parts.append(" ".join(rng.choice(WORDS) for _ in range(rng.randint(30, 120))).capitalize() + ".")
        length += len(parts[-1]) + 1
    return "\n".join(parts)


SCROLL = """async () => {
  const pane = document.getElementById("text") ?? document.scrollingElement;
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let at = 0; at < 60; at += 1) {
    pane.scrollTop = (at * 7919 % 60) / 60 * pane.scrollHeight;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  times.sort((one, other) => one - other);
  return [times[30], times[57]];
}"""


def measure_text(characters: int, marks: int) -> None:
    """Loading, scrolling and searching a long text, beside a page that has the text and nothing else."""
    from playwright.sync_api import sync_playwright

    rng = random.Random(0)
    text = make_text(characters, rng)
    id = hashlib.sha256(text.encode()).hexdigest()[:32]
    evidence = [
        Evidence(id, at, at + 60, text[at : at + 60]) for at in (rng.randrange(len(text) - 60) for _ in range(marks))
    ]
    parts = tuple(Component(f"Component {at}", tuple(evidence[at::100])) for at in range(100))
    with tempfile.TemporaryDirectory() as place, closing(Store(place)) as store:
        make_people(store)
        store.add_document(StudioDocument(id, "Long", "en", bucket=262144), text)
        store.review_document(ReviewDocument(id, "available"), AT_SERVER)
        draft = Candidate("c1", "model/a", Content("Which?", parts))
        store.act(Create("s-1", "qa", "en", 262144, (id,), (draft,)), AT_SERVER)
        store.act(SelectDraft("s-1", 1, "c1"), person("ann"))
        with serving(place) as (address, _), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            tab = browser.new_page(viewport={"width": 1440, "height": 900})
            tab.goto(f"{address}/login")
            tab.fill("[name=name]", "ann")
            tab.fill("[name=password]", PASSWORD)
            tab.keyboard.press("Enter")
            tab.wait_for_url(f"{address}/")

            def timed(what: str, do: Callable[[], object]) -> None:
                began = time.monotonic()
                do()
                print(f"{what}: {1000 * (time.monotonic() - began):.0f} ms")

            def load() -> None:
                tab.goto(f"{address}/samples/s-1")
                tab.wait_for_selector("#bar:not([hidden])")

            for turn in (1, 2, 3):
                timed(f"load {turn}", load)
            print("scroll, median and p95 of a jump: {:.0f} and {:.0f} ms".format(*tab.evaluate(SCROLL)))
            for word in ("river stone", "zebra", "lamp"):
                print(f"search {word!r}: {tab.evaluate(SEARCH, word):.0f} ms, {tab.inner_text('#hits')}")
            timed("plain page", lambda: tab.goto(f"{address}/documents/{id}/text"))
            print("scroll of the plain page: {:.0f} and {:.0f} ms".format(*tab.evaluate(SCROLL)))
            browser.close()


SEARCH = """async (word) => {
  const field = document.getElementById("search"), said = document.getElementById("hits");
  field.value = word;
  const done = new Promise((resolve) => new MutationObserver(() => resolve()).observe(said, { childList: true }));
  const began = performance.now();
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await done;
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("requests", "text"))
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--characters", type=int, default=2_000_000)
    parser.add_argument("--marks", type=int, default=500)
    given = parser.parse_args()
    if given.what == "requests":
        measure_requests(given.samples, given.seconds, given.clients)
    else:
        measure_text(given.characters, given.marks)


if __name__ == "__main__":
    main()
