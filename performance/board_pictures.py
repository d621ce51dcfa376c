"""Make the pictures of boards in docs/images again: of the published boards, and of one of offline baselines.

    python performance/board_pictures.py [--out docs/images] [--work FOLDER] [ID ...]

Needs Chromium. The runs of the baselines take some minutes; with --work they are kept for the next time. With names
(board-pro, board-phone, ...) only these pictures are made. Look at each before it is committed.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from zlib import crc32

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from fathom import api
from fathom.models.baselines import get_baseline

LENGTHS = (2048, 4096, 6144, 8192, 16384, 32768, 65536, 131072)
ITEMS = 25
BASELINES = {
    "lexical": "fathom/lexical",
    "window": "fathom/lexical?window=4k&truncate=middle",
    "guess": "fathom/guess",
}
REFUSES = "openai/lexical-that-refuses"
"""Answers as fathom/lexical does, but refuses one prompt in eight: an entry with two means."""
COMPARED = "#/compare?board=hundred&lines=fathom-lexical,fathom-lexical-window-4k-truncate-middle,fathom-guess"


@dataclass(frozen=True, slots=True)
class Picture:
    """What is pictured: a site, the address on it, and the height of the window."""

    site: str
    address: str
    height: int = 900


PICTURES = {
    "board-leader-32k": Picture("papers", "#/boards/leader-32k"),
    "board-leader-128k": Picture("papers", "#/boards/leader-128k"),
    "board-pro": Picture("papers", "#/boards/pro", 860),
    "board-hundred": Picture("papers", "#/boards/hundred?view=tasks"),
    "board-ada": Picture("papers", "#/boards/ada?view=lengths"),
    "board-mini": Picture("papers", "#/boards/mini", 820),
    "board-index": Picture("papers", "#/models", 820),
    "board-baselines": Picture("baselines", "#/boards/hundred", 820),
    "board-compare": Picture("baselines", COMPARED, 960),
}
PHONE = "board-phone"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="ID")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    parser.add_argument("--work", type=Path)
    arguments = parser.parse_args()
    executable = os.environ.get("FATHOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        sites = make_sites(arguments.work or Path(folder))
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        for name in arguments.names or (*PICTURES, PHONE):
            picture = phone(browser, sites) if name == PHONE else plain(browser, sites, PICTURES[name])
            # 256 colours are enough for text and lines, and a third of the bytes. This way rare ones are kept.
            small = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            small.save(arguments.out / f"{name}.png", optimize=True)
            print(arguments.out / f"{name}.png")
        browser.close()


def make_sites(work: Path) -> dict[str, Path]:
    """The sites by name: of the papers, of the baselines, and of both; existing runs are kept."""
    runs = []
    suite = work / "hundred"
    api.build("hundred", suite, lengths=LENGTHS, items=ITEMS, corpus=("world",))
    for name, model in BASELINES.items():
        runs.append(work / "runs" / name)
        api.run(suite, model, runs[-1])
    refuses = work / "runs" / "refuses"
    if not refuses.exists():  # a run goes on at the same address only
        with refusing() as address:
            api.run(suite, REFUSES, refuses, model_base_url=address)
    wanted = {"papers": ((), True), "baselines": ((*runs, refuses), False), "both": (runs, True)}
    for name, (results, published) in wanted.items():
        title = None if published else "Offline baselines"
        api.board_build(results, work / name, published=published, title=title, examples=False)
    return {name: work / name / "index.html" for name in wanted}


@contextmanager
def refusing() -> Iterator[str]:
    """A server of chat completions on this machine; gives its address."""

    class Answers(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = "".join(message["content"] for message in asked["messages"])
            refused = crc32(prompt.encode()) % 8 == 0
            text = "" if refused else get_baseline("fathom/lexical")(prompt, "words", Random(0))
            said = {"index": 0, "message": {"role": "assistant", "content": text}}
            choice = said | {"finish_reason": "content_filter" if refused else "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"]}
            content = json.dumps(answer | {"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def plain(browser: Browser, sites: dict[str, Path], one: Picture) -> Image.Image:
    """A page as it is when it opens."""
    tab = browser.new_page(viewport={"width": 1280, "height": one.height}, color_scheme="light")
    return shot(tab, sites[one.site], one.address)


def phone(browser: Browser, sites: dict[str, Path]) -> Image.Image:
    """Three views on a phone side by side: a table, why an entry has its rank, and curves in the dark theme."""

    def scrolled(selector: str) -> Callable[[Page], None]:
        return lambda tab: tab.locator(selector).first.evaluate(
            "element => { element.scrollIntoView(); scrollBy(0, -12); }"
        )

    def why(tab: Page) -> None:
        tab.locator("table.board button.why").nth(2).click()
        tab.get_by_role("dialog").locator("details").first.wait_for()

    views: list[tuple[str, str, bool, Callable[[Page], None]]] = [
        ("both", "#/boards/hundred", False, scrolled(".controls")),
        ("papers", "#/boards/pro", False, why),
        ("baselines", COMPARED, True, scrolled("figure")),
    ]
    shots = []
    for site, address, dark, act in views:
        context = browser.new_context(
            viewport={"width": 390, "height": 740}, device_scale_factor=1.5, color_scheme="dark" if dark else "light"
        )
        shots.append(shot(context.new_page(), sites[site], address, act))
    gap = 12
    wide = sum(one.width for one in shots) + gap * (len(shots) - 1)
    whole = Image.new("RGB", (wide, shots[0].height), "#c5cad3")
    for n, one in enumerate(shots):
        whole.paste(one, (n * (one.width + gap), 0))
    return whole


def shot(tab: Page, index: Path, address: str, act: Callable[[Page], None] = lambda tab: None) -> Image.Image:
    tab.goto(index.as_uri() + address)
    tab.locator("table").first.wait_for()
    tab.wait_for_timeout(1500)  # rows out of view, and differences
    act(tab)
    tab.wait_for_timeout(300)
    content = tab.screenshot()
    tab.close()
    return Image.open(io.BytesIO(content)).convert("RGB")


if __name__ == "__main__":
    main()
