"""How does a site of 1,000 models x 10 boards open and sort? Built by the real code from made rows, in Chromium.

    python performance/board_scale.py [--models 1000] [--boards 10] [--runs 5] [--work FOLDER]
    python performance/board_scale.py --source CHECKOUT/src --work OTHER_FOLDER     # the same of another version
    python performance/board_scale.py --pictures FOLDER

First view: from the start of the navigation to the frame in which rows of the table are painted, in a fresh profile and
from disk. Every other time: from the change of the address to the next painted frame with the new rows. Weight: bytes
of the files that the first view loads, and the same with gzip. Memory: the heap of JavaScript after a collection.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlparse

BUILD = "--only-build"
TASKS = ("retrieval", "questions", "summaries")
LENGTHS = (8192, 131072)
ITEMS = 8
SIZES = (1, 3, 8, 14, 32, 70, 235, 671)
SEED = 21
PROVENANCES: tuple[Literal["measured", "submitted"], ...] = ("measured", "submitted")
ROWS = "table.board tbody tr:not(.divider):not(.spacer)"
WATCH = f"""
new MutationObserver((_, watch) => {{
  if (!document.querySelector('{ROWS}')) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => {{ window.painted = performance.now(); }}, 0));
}}).observe(document, {{ childList: true, subtree: true }});
"""
# Rows change synchronously or, after a load, later; the time is that of the frame after the first change.
CHANGE = """hash => new Promise(done => {
  const start = performance.now();
  const watch = new MutationObserver(() => {
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
  });
  watch.observe(document.querySelector('.view'), { childList: true, subtree: true });
  setTimeout(() => done(NaN), 20000);
  location.hash = hash;
})"""
SCROLL = """() => new Promise(done => {
  const start = performance.now();
  const box = document.querySelector('.view .scroll');
  const watch = new MutationObserver(() => {
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
  });
  watch.observe(document.querySelector('table.board'), { childList: true, subtree: true });
  setTimeout(() => done(NaN), 20000);
  box.scrollTop = box.scrollHeight / 2;
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--boards", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work", type=Path, help="keeps the site for the next time")
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument(BUILD, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = (arguments.work or Path(folder)) / "site"
        if arguments.only_build:
            return build(site, arguments.models, arguments.boards)
        if not site.exists():
            make = [sys.executable, __file__, BUILD, f"--models={arguments.models}", f"--boards={arguments.boards}"]
            environment = os.environ | {"PYTHONPATH": str(arguments.source.resolve())}
            subprocess.run([*make, f"--work={site.parent}"], env=environment, check=True)
        if arguments.pictures:
            return pictures(site, arguments.pictures)
        measure(site, arguments.runs)


# The site


def made_batches(models: int, boards: int) -> list[Any]:
    """Results of models on suites of three tasks; half measured, half submitted, with days and facts of models."""
    import numpy as np
    import polars as pl

    from fathom.board.results import About, Batch
    from fathom.rows import RowsTable, to_frame

    rng = np.random.default_rng(SEED)
    ability = rng.normal(0.3, 1.0, models)
    names = [model_name(n) for n in range(models)]
    days = [f"2026-{1 + n % 11:02d}-{1 + n % 28:02d}" for n in range(models)]
    schema = to_frame([])
    found = []
    for place, provenance in enumerate(PROVENANCES):
        own = np.arange(place, models, len(PROVENANCES))
        frames = list[pl.DataFrame]()
        about = dict[tuple[str, str, str], tuple[About, ...]]()
        for board in range(boards):
            suite, asked = f"suite-{board + 1}", own if board == 0 else own[rng.random(len(own)) < 0.5]
            ease = rng.normal(0, 1 + board / 10, (len(TASKS), ITEMS))
            shape = (len(asked), len(TASKS), len(LENGTHS), ITEMS)
            chance = 1 / (1 + np.exp(-(ability[asked, None, None, None] + ease[None, :, None, :])))
            value = (rng.random(shape) < chance).astype(np.float64)
            model, task, length, item = (one.ravel() for one in np.indices(shape))
            task_names = np.array([f"{task}-{board + 1}" for task in TASKS])[task]
            frames.append(
                pl.DataFrame(
                    {
                        "suite": np.full(value.size, suite),
                        "task": task_names,
                        "item": [f"item-{n}" for n in item],
                        "sample": [f"item-{n}@{m}" for n, m in zip(item, length, strict=True)],
                        "model": np.array(names)[asked][model],
                        "length": np.array(LENGTHS)[length],
                        "value": value.ravel(),
                        "target": [f"answer {n}" for n in item],
                        "cost": (0.001 * (1 + model % 40)).astype(np.float64),
                    }
                )
            )
            about.update({(suite, names[int(n)], ""): (About({}, "", days[int(n)]),) for n in asked})
        rows = pl.concat(frames).with_columns(
            pl.lit(value).cast(schema.schema[name]).alias(name)
            for name, value in {
                "variant": "", "epoch": 1, "valid": True, "status": "ok", "stop": "stop", "answer": None,
                "language": "en", "chance": None, "tokens": None, "tokens_in": None, "tokens_out": None,
                "tokens_reasoning": None, "truncated": 0, "seconds": None, "metric": "exact", "grader": "",
                "rule": "official", "tokenizer": "", "prompt_hash": "", "source": "fathom", "task_version": 1,
                "fathom_version": "0", "detail": "", "answered": True, "facets": "{}",
            }.items()
        )  # fmt: skip
        found.append(Batch(RowsTable(rows.select(schema.columns)), provenance, about))
    return found


def model_name(n: int) -> str:
    makers = ("orca", "heron", "lynx", "ibex", "wren", "otter", "marlin", "finch", "tapir", "civet")
    return f"{makers[n % len(makers)]}/{makers[n % len(makers)]}-{1 + n // 80}.{n // 10 % 8}-{size(n)}b"


def size(n: int) -> int:
    return SIZES[n // 10 % len(SIZES)]


def build(site: Path, models: int, boards: int) -> None:
    """The site of one version, in a process of its own."""
    import fathom.board.build as code

    start = time.perf_counter()
    batches = made_batches(models, boards)
    made = time.perf_counter()
    setattr(code, "read_results", lambda *_: iter(batches))  # noqa: B010 - versions differ in what it returns
    options: dict[str, Any] = {"results": (site.parent,), "published": False, "examples": False}
    site.parent.mkdir(parents=True, exist_ok=True)
    if "models" in code.SiteSettings.__dataclass_fields__:
        facts = site.parent / "models.toml"
        told = (n for n in range(models) if n % 10 < 7)  # the other models state nothing
        facts.write_text(
            "".join(
                f'["{model_name(n)}"]\nweights = "{"open" if n % 10 < 5 else "closed"}"\n'
                + (f'parameters = "{size(n)}B"\n' if n % 10 < 6 else "")
                for n in told
            ),
            "utf-8",
        )
        options["models"] = facts
    built = code.build_site(code.SiteSettings(**options), site, progress)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    took = time.perf_counter() - made
    print(f"made {sum(batch.rows.count for batch in batches):,} rows in {made - start:.0f} s")
    print(f"built {built.files:,} files, {built.size / 1e6:.0f} MB, in {took:.0f} s, {peak:,.0f} MB of memory\n")


def progress(done: int, steps: int) -> None:
    print(f"{time.strftime('%H:%M:%S')} {done} of {steps} steps", file=sys.stderr)


# The browser


def measure(site: Path, runs: int) -> None:
    import json

    from playwright.sync_api import sync_playwright

    executable = os.environ.get("FATHOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    said = json.loads((site / "data/site.js").read_text("ascii").split(", ", 1)[1].removesuffix(");\n"))
    start = said["default"]
    board = f"#/boards/{start}"
    category = json.loads((site / f"data/boards/{start}.js").read_text("ascii").split(", ", 1)[1].removesuffix(");\n"))
    by = category["categories"][0]["id"]
    steps = {
        "sorted by a category": (board, f"{board}?sort=category/{by}&desc=1"),
        "sorted by name": (board, f"{board}?sort=model"),
        "filtered by a name": (board, f"{board}?q=otter"),
        "filter taken away": (f"{board}?q=otter", board),
        "filtered by weights": (board, f"{board}?weights=open"),
        "filtered by size, date": (board, f"{board}?size=7-70&since=2026-03-01"),
        "columns chosen": (board, f"{board}?hide=all&show=category/{by}"),
        "view by length": (board, f"{board}?view=lengths"),
        "view by task": (board, f"{board}?view=tasks"),
        "sorted by a task": (
            f"{board}?view=tasks",
            f"{board}?view=tasks&sort=task/{category['tasks'][0]['id']}&desc=1",
        ),
    }
    index = {"index sorted by a board": ("#/models", f"#/models?sort=board/{start}&desc=1"),
             "index filtered by name": ("#/models", "#/models?q=otter")}  # fmt: skip
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        print(f"{len(said['boards'])} boards, {len(category['entries']):,} entries on the first; median of {runs} runs")
        first = [opening(browser, site, "") for _ in range(runs)]
        print(f"{'first view':24} {told([one['time'] for one in first])}")
        print(f"{'':24} {weight(first[0]['files'])}")
        print(f"{'':24} {first[0]['rows']} rows and {first[0]['elements']:,} elements, heap {first[0]['heap']:.0f} MB")
        if (site / "data/index.js").exists():
            all_models = [opening(browser, site, "#/models") for _ in range(runs)]
            print(f"{'index of all models':24} {told([one['time'] for one in all_models])}")
            print(f"{'':24} {weight(all_models[0]['files'])}")
            steps |= index
        for name, (before, after) in steps.items():
            if ("weights=" in after or "size=" in after or "hide=" in after) and not (site / "data/index.js").exists():
                continue
            print(f"{name:24} {told([change(browser, site, before, after) for _ in range(runs)])}")
        print(f"{'scrolled to the middle':24} {told([change(browser, site, board, None) for _ in range(runs)])}")
        browser.close()


def opening(browser: Any, site: Path, address: str) -> dict[str, Any]:
    """A first view in a fresh profile."""
    tab, loaded = fresh(browser)
    tab.goto((site / "index.html").as_uri() + address)
    tab.wait_for_function("window.painted > 0", timeout=120_000)
    painted = float(tab.evaluate("window.painted"))
    tab.wait_for_timeout(1500)  # rows out of view of earlier versions
    session = tab.context.new_cdp_session(tab)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    rows = tab.locator(ROWS).count()
    elements = tab.evaluate("document.querySelectorAll('*').length")
    tab.context.close()
    return {"time": painted, "files": loaded, "heap": heap, "rows": rows, "elements": elements}


def change(browser: Any, site: Path, before: str, after: str | None) -> float:
    """Milliseconds from the change of the address until its first rows are painted; None scrolls instead."""
    tab, _ = fresh(browser)
    tab.goto((site / "index.html").as_uri() + before)
    tab.wait_for_function("window.painted > 0", timeout=120_000)
    tab.wait_for_timeout(2000)
    took = float(tab.evaluate(SCROLL) if after is None else tab.evaluate(CHANGE, after))
    tab.context.close()
    return took


def fresh(browser: Any) -> tuple[Any, list[Path]]:
    tab = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    tab.add_init_script(WATCH)
    loaded: list[Path] = []
    tab.on("request", lambda request: loaded.append(Path(unquote(urlparse(request.url).path))))
    return tab, loaded


def told(times: list[float]) -> str:
    return f"{statistics.median(times):6.0f} ms ({min(times):.0f} to {max(times):.0f})"


def weight(files: list[Path]) -> str:
    contents = [path.read_bytes() for path in files if path.is_file()]
    packed = sum(len(gzip.compress(content, 6)) for content in contents)
    return f"{sum(map(len, contents)) / 1000:6.0f} kB, {packed / 1000:.0f} kB with gzip ({len(contents)} files)"


def pictures(site: Path, out: Path) -> None:
    """The first view, the index and the filters, wide and on a phone."""
    from playwright.sync_api import sync_playwright

    executable = os.environ.get("FATHOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        for width in (1440, 390):
            for name, address in {"start": "", "index": "#/models", "filters": "#/?weights=open&size=7-70"}.items():
                tab = browser.new_context(viewport={"width": width, "height": 900}).new_page()
                tab.goto((site / "index.html").as_uri() + address)
                tab.locator(ROWS).first.wait_for()
                if name == "filters":
                    tab.locator("details.panel > summary").click()
                tab.wait_for_timeout(500)
                tab.screenshot(path=out / f"{name}-{width}.png")
                tab.context.close()
        browser.close()


if __name__ == "__main__":
    main()
