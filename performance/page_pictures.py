"""Picture report, comparison, replies and board as they open, wide and narrow, light and dark; and README's picture.

    python performance/page_pictures.py --work DEMO FOLDER      # sixteen pictures, with what each first screen holds
    python performance/page_pictures.py --work DEMO --readme    # docs/images/report.png

Needs Chromium. DEMO is a folder in which `make demo` ran (``make demo DEMO=...``); pages that it lacks are
written there.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from fathom import api

ROOT = Path(__file__).parents[1]
RUNS = ("guess", "lexical", "lexical-4k")
SIZES = {1440: 900, 390: 844}
FIRST = {
    "report": ("p.lead, .answer, h1 + p", "table", "svg"),
    "compare": ("h1 + p", "table", "svg"),
    "browse": ("table",),
    "board": ("table",),
}
"""What the first screen of each page should hold: sentence, table, curve."""
BETWEEN = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def pages(work: Path) -> dict[str, Path]:
    """The pages by name; those that are not there are written."""
    runs = [work / name for name in RUNS]
    made = {name: work / f"{name}.html" for name in ("report", "compare")}
    made |= {name: work / name / "index.html" for name in ("browse", "board")}
    if not made["report"].exists():
        api.report(runs, out=made["report"], title="Three offline baselines")
    if not made["compare"].exists():
        api.compare(runs[1:], out=made["compare"])
    if not made["browse"].exists():
        api.browse(runs, out=work / "browse")
    if not made["board"].exists():
        api.board_build(runs, out=work / "board")
    return made


def opened(browser: Browser, page: Path, width: int, scheme: str) -> Page:
    tab = browser.new_page(viewport={"width": width, "height": SIZES.get(width, 1150)}, color_scheme=scheme)  # type: ignore[arg-type]
    tab.goto(page.resolve().as_uri())
    tab.wait_for_timeout(600)
    return tab


def below(tab: Page, selector: str) -> float:
    """Where the first of some elements begins, in heights of the window; infinite without one."""
    tops: float = tab.evaluate(
        """selector => Math.min(...[...document.querySelectorAll(selector)].filter((own) => own.checkVisibility())
          .filter((own) => own.getBoundingClientRect().height > 15).map((own) => own.getBoundingClientRect().top))
          / innerHeight""",
        selector,
    )
    return tops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--work", type=Path, default=Path("demo"))
    parser.add_argument("--readme", action="store_true")
    given = parser.parse_args()
    executable = os.environ.get("FATHOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        made = pages(given.work)
        if given.readme:
            opened(browser, made["report"], 1280, "light").screenshot(path=ROOT / "docs" / "images" / "report.png")
        if given.folder:
            given.folder.mkdir(parents=True, exist_ok=True)
            for name, page in made.items():
                picture(browser, name, page, given.folder)
        browser.close()


def picture(browser: Browser, name: str, page: Path, folder: Path) -> None:
    """Pictures of one page, and its figures."""
    for width in SIZES:
        for scheme in ("light", "dark"):
            tab = opened(browser, page, width, scheme)
            tab.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
            starts = ", ".join(f"{selector} at {below(tab, selector):.2f}" for selector in FIRST[name])
            print(f"{name} {width} {scheme}: {starts}")
            tab.close()
    paints = []
    for _ in range(9):
        tab = opened(browser, page, 1440, "light")
        paints.append(tab.evaluate(BETWEEN))
        tab.close()
    text = page.read_bytes()
    weight = f"{len(text):,} bytes, {len(gzip.compress(text)):,} with gzip"
    print(f"{name}: {weight}; first paint {statistics.median(paints):.0f} ms")


if __name__ == "__main__":
    main()
