"""Prompts of two million characters in the pages of `fathom browse`, in headless Chromium; and its picture.

    python performance/browse.py [--runs 7]
    python performance/browse.py --picture docs/images/browse.png

From a folder on disk, and from the server. Two prompts: passkey over hundreds of generated documents, and one text of
two million characters. Times are from the click to the frame after the one in which the text is there. Opening:
question, gold text, replies, folded fillers. Unfolding: the whole text, loaded and painted. The picture shows two
offline baselines on the suite `starter`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from fathom import api
from fathom.browse import Pages, PagesServer, Written, address, read_replies, write

LENGTH = "512k"
TEXT = 2_000_000
PICTURED = "single_doc_qa/en/0000@8192/d0.5/q1"
# Clicks, and waits for the frame after the one in which a condition holds.
CLICK = """([selector, condition]) => new Promise(done => {
  const ready = new Function("return " + condition);
  const start = performance.now();
  document.querySelector(selector).click();
  const look = () => ready()
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0))
    : requestAnimationFrame(look);
  requestAnimationFrame(look);
})"""
OPENED = "document.querySelector('h2').textContent === '{sample}'"
UNFOLDED = "[...document.querySelectorAll('.fold')].every((fold) => fold.open && fold.querySelector('.text'))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    executable = os.environ.get("FATHOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        if arguments.picture:
            return picture(browser, Path(folder), arguments.picture)
        print("prompt".ljust(24) + "  characters   files      MB    open ms  unfold ms  to end ms")
        for name, corpus in (("many documents", "world"), ("one document", str(one_document(Path(folder))))):
            measure(browser, Path(folder), name, corpus, arguments.runs)
    return None


def one_document(folder: Path) -> Path:
    """A text of more than two million characters, without repetition."""
    path = folder / "corpus" / "long.txt"
    path.parent.mkdir()
    lines = (
        f"Line {number} says that {number * 7919 % 104729} of {number * 31} are counted." for number in range(70_000)
    )
    path.write_text("\n".join(lines)[:TEXT], encoding="utf-8")
    return path


def measure(browser: Browser, folder: Path, name: str, corpus: str, times: int) -> None:
    """Prints the times of one kind of prompt."""
    suite, run, pages = (folder / f"{name}-{what}" for what in ("suite", "run", "pages"))
    length = LENGTH if corpus == "world" else "940k"
    api.build("passkey", suite, lengths=length, items=2, corpus=corpus, languages="en", depths="0.5")
    api.run(suite, "fathom/lexical", out=run)
    written = write([run], pages)
    with PagesServer(Pages(read_replies([run]))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print_times(browser, f"{name}, file", pages.resolve().as_uri(), written, times)
        print_times(browser, f"{name}, served", server.address, written, times)
        server.shutdown()


def print_times(browser: Browser, name: str, place: str, written: Written, times: int) -> None:
    """Prints the medians of opening the second sample, unfolding it, and going to its end."""
    figures: dict[str, list[float]] = {"open": [], "unfold": [], "end": []}
    count = 0
    for _ in range(times):
        page = opened(browser, place)
        second = page.locator("#rows a .name").nth(1).inner_text()
        figures["open"].append(page.evaluate(CLICK, ["#rows li:nth-child(2) a", OPENED.format(sample=second)]))
        figures["unfold"].append(page.evaluate(CLICK, ["#unfold", UNFOLDED]))
        page.evaluate("document.getElementById('said').onclick = () => { detail.scrollTop = detail.scrollHeight; }")
        figures["end"].append(page.evaluate(CLICK, ["#said", "true"]))
        count = page.evaluate("document.querySelector('.prompt').textContent.length")
        page.close()
    medians = "".join(f"{statistics.median(values):11.0f}" for values in figures.values())
    print(f"{name:24}{count:12,}{written.files:8,}{written.size / 1e6:8.1f}{medians}")


def opened(browser: Browser, place: str, width: int = 1440, height: int = 900, **filters: str) -> Page:
    """A tab with the pages, whose sample is shown."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(address(place, **filters))
    page.locator(".prompt").wait_for()
    return page


def picture(browser: Browser, folder: Path, out: Path) -> None:
    """Makes the picture in the docs."""
    suite = folder / "suite"
    api.build("starter", suite, lengths="2k,8k", items=6, depths="0,0.5,1", languages="en")
    runs = [folder / "guess", folder / "lexical"]
    for run in runs:
        api.run(suite, f"fathom/{run.name}", out=run)
    write(runs, folder / "pages")
    page = opened(browser, (folder / "pages").resolve().as_uri(), height=1000, sample=PICTURED)
    page.wait_for_timeout(300)
    page.screenshot(path=out)


if __name__ == "__main__":
    main()
