"""Measures the studio: requests on the queue with many samples, and a text of two million characters in Chromium.

python performance/studio_load.py requests --samples 10000    # rate and times of requests on the queue
python performance/studio_load.py text                        # load, search and scrolling, beside a plain page
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from math import inf
from pathlib import Path
from statistics import quantiles

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fathom.studio.people import People
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.types import Candidate, Component, Content, Create, Evidence, ReviewDocument, StudioDocument
from fathom.studio.types import Select as SelectDraft
from loopback_studio import serving
from postgres import postgres
from studio_stores import DOCUMENT, PASSWORD, PEOPLE, content, fill, person, quick_hasher

WORDS = "the lamp boat harbour ferry captain noon market letter window river stone bread winter".split()  # noqa: SIM905


def make_people(store: Store) -> None:
    """The accounts of the tests."""
    fill(store)
    people = People(store, hasher=quick_hasher())
    for name in PEOPLE:
        people.set_password(name, PASSWORD)


def measure_requests(kind: str, count: int, seconds: float, clients: int, rate: float) -> None:
    """Requests on the queue and on a page of a sample, with a database of many samples."""
    with postgres() if kind == "postgresql" else tempfile.TemporaryDirectory() as place, closing(Store(place)) as store:
        make_people(store)
        candidates = (Candidate("c1", "model/a", content()),)
        began, used = time.monotonic(), time.process_time()
        for number in range(count):
            store.act(Create(f"s-{number}", f"T{number % 25}", "en", 8192, (DOCUMENT,), candidates), AT_SERVER)
        taken, used = time.monotonic() - began, time.process_time() - used
        print(f"{count:,} samples: {count / taken:.0f} actions a second; {1000 * used / count:.1f} ms of CPU each")
        secret = People(store, hasher=quick_hasher()).log_in("ann", PASSWORD, "-")
        with serving(place) as (address, process):
            for path in ("/", "/?state=drafted", "/samples/s-1"):
                _asked(address, path, secret, 1, clients)
                server, client = _cpu(process.pid), time.process_time()
                times = _asked(address, path, secret, seconds, clients)
                server, client = _cpu(process.pid) - server, time.process_time() - client
                print(f"{path}: {_times(times, seconds)} with {clients} clients")
                each = [1000 * one / len(times) for one in (server, client)]
                print("  CPU of each: {:.2f} ms of the server, {:.2f} ms of the clients".format(*each))
                paced = _asked(address, path, secret, seconds, clients, rate)
                print(f"  at {rate:.0f} a second: {_times(paced, seconds)}")


def _times(times: list[float], seconds: float) -> str:
    cut = [1000 * one for one in quantiles(times, n=100)]
    return f"{len(times) / seconds:.0f} a second; median {cut[49]:.0f} ms, p95 {cut[94]:.0f} ms, p99 {cut[98]:.0f} ms"


def _cpu(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _asked(address: str, path: str, secret: str, seconds: float, clients: int, rate: float = inf) -> list[float]:
    """Times of requests, from sockets: a client that understands HTTP would take more CPU than the server."""
    host, _, port = address.removeprefix("http://").partition(":")
    head = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: fathom-studio={secret}\r\nAccept: text/html\r\n\r\n"
    request, begin = head.encode(), time.monotonic()

    def one(number: int) -> list[float]:
        times, due = [], begin + number / rate
        with socket.create_connection((host, int(port))) as line, line.makefile("rb") as answer:
            while due < begin + seconds and time.monotonic() < begin + seconds:
                time.sleep(max(0.0, due - time.monotonic()))
                sent = time.monotonic()
                line.sendall(request)
                assert answer.readline().startswith(b"HTTP/1.1 200 ")
                headers = list(iter(answer.readline, b"\r\n"))
                length = next(one for one in headers if one.lower().startswith(b"content-length:"))
                answer.read(int(length.partition(b":")[2]))
                # What was due while the server was busy has waited since then.
                times.append(time.monotonic() - (sent if rate == inf else due))
                due = due + clients / rate
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
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--characters", type=int, default=2_000_000)
    parser.add_argument("--marks", type=int, default=500)
    given = parser.parse_args()
    if given.what == "requests":
        measure_requests(given.store, given.samples, given.seconds, given.clients, given.rate)
    else:
        measure_text(given.characters, given.marks)


if __name__ == "__main__":
    main()
