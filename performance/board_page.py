"""How fast is the page of the leaderboard, and how heavy? 300 models x 100 tasks, from disk in headless Chromium.

    python performance/board_page.py [--models 300] [--tasks 100] [--runs 7]

First view: from the start of the navigation to the frame in which the table of the board is painted. Weight: bytes of
the files that this view loads, as they are and as a web server would compress them. Everything else: from the change of
the address to the frame with the first rows; rows out of view come later.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlparse

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from made_board import make_site

BOARD = "#/boards/leader-128k"
STEPS = {
    "sorted by a category": (BOARD, f"{BOARD}?sort=category/questions&desc=1"),
    "filtered by a name": (BOARD, f"{BOARD}?q=otter"),
    "filter taken away": (f"{BOARD}?q=otter", BOARD),
    "view by length": (BOARD, f"{BOARD}?view=lengths"),
    "view of all tasks": (BOARD, f"{BOARD}?view=tasks"),
    "sorted by a task": (f"{BOARD}?view=tasks", f"{BOARD}?view=tasks&sort=task/leader_task_7&desc=1"),
    "filtered, all tasks": (f"{BOARD}?view=tasks", f"{BOARD}?view=tasks&q=otter"),
}
# Runs before any script of the page: notes the frame after the one in which the first rows are there.
WATCH = """
new MutationObserver((_, watch) => {
  if (!document.querySelector('table.board tbody tr')) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }, 0));
}).observe(document, { childList: true, subtree: true });
"""
CHANGE = """hash => new Promise(done => {
  const start = performance.now();
  const watch = new MutationObserver(() => {
    if (!document.querySelector('table.board tbody tr')) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
  });
  watch.observe(document.querySelector('.view'), { childList: true, subtree: true });
  location.hash = hash;
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    executable = os.environ.get("FATHOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        index = make_site(Path(folder), models=arguments.models, tasks=arguments.tasks, items=False)
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        size = f"{arguments.models} models x {arguments.tasks} tasks"
        print(f"{size}, median (lowest to highest) of {arguments.runs} runs\n")
        first = [opening(browser, index) for _ in range(arguments.runs)]
        print(f"{'first view painted':24} {told([time for time, _ in first])}")
        for name, (before, after) in STEPS.items():
            print(f"{name:24} {told([change(browser, index, before, after) for _ in range(arguments.runs)])}")
        browser.close()
        print("\n" + weight(first[0][1]))


def opening(browser: Browser, index: Path) -> tuple[float, list[Path]]:
    """Milliseconds until the table is painted, and the files that were loaded; a fresh profile each time."""
    tab, loaded = fresh(browser)
    tab.goto(index.as_uri())
    tab.wait_for_timeout(1000)
    painted = float(tab.evaluate("window.painted"))
    tab.context.close()
    return painted, loaded


def change(browser: Browser, index: Path, before: str, after: str) -> float:
    """Milliseconds from the change of the address until its first rows are painted."""
    tab, _ = fresh(browser)
    tab.goto(index.as_uri() + before)
    tab.wait_for_timeout(1500)  # rows out of view are there too
    took = float(tab.evaluate(CHANGE, after))
    tab.context.close()
    return took


def fresh(browser: Browser) -> tuple[Page, list[Path]]:
    tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    tab.add_init_script(WATCH)
    loaded: list[Path] = []
    tab.on("request", lambda request: loaded.append(Path(unquote(urlparse(request.url).path))))
    return tab, loaded


def told(times: list[float]) -> str:
    return f"{statistics.median(times):6.0f} ms ({min(times):.0f} to {max(times):.0f})"


def weight(files: list[Path]) -> str:
    there = [path for path in files if path.is_file()]
    groups = {
        "page, style, scripts": [path for path in there if "data" not in path.parts[-3:-1]],
        "data": [path for path in there if "data" in path.parts[-3:-1]],
    }
    lines = []
    for name, paths in groups.items():
        contents = [path.read_bytes() for path in paths]
        plain, packed = sum(map(len, contents)), sum(len(gzip.compress(content, 6)) for content in contents)
        lines.append(f"{name:24} {plain / 1000:6.0f} kB, {packed / 1000:.0f} kB with gzip ({len(paths)} files)")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
