"""Make the pictures of the studio in docs/images again, of `fathom studio serve --demo`; or picture every page.

    python performance/studio_pictures.py [--out docs/images]
    python performance/studio_pictures.py --every FOLDER [ID ...]    # every page, wide and narrow, light and dark

Needs Chromium. With names (queue, adjudication, ...) only these pages are pictured. Look at each picture before it is
committed.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from fathom.studio.store import Store
from fathom.studio.types import STATES

WIDTHS, SCHEMES = (1440, 390), ("light", "dark")
SERVE = "from fathom.cli import main; main()"
Act = Callable[[Page], None]


def as_it_is(tab: Page) -> None:
    """Does nothing."""


@dataclass(frozen=True, slots=True)
class View:
    """What is pictured: a page of the demo, who looks at it, and what they do first."""

    who: str
    path: str
    act: Act = as_it_is


def show_evidence(tab: Page) -> None:
    """Moves the text to the first evidence."""
    tab.locator("#text").press("e")
    shown = tab.locator("a.evidence:visible")
    if shown.count():  # where prompts are checked, the answer is folded away
        shown.first.click()


def begin_rating(tab: Page) -> None:
    """Opens a sample of the quality study."""
    tab.locator("text=Rate a sample").click()
    tab.locator("#text section").first.wait_for()


def open_adding(tab: Page) -> None:
    """Opens the form for files."""
    tab.locator("summary").first.click()


def open_help(tab: Page) -> None:
    """Opens the sheet of keys."""
    tab.keyboard.press("?")


def to_the_form(tab: Page) -> None:
    """Moves the text to the first evidence, and the sample to the form of the review."""
    show_evidence(tab)
    tab.locator("form:has(.judged)").evaluate("form => form.scrollIntoView()")


def fold_prompts(tab: Page) -> None:
    """Moves the text to the first evidence, and folds what models are asked, so that reviews are seen."""
    show_evidence(tab)
    tab.locator("details[open] > summary").first.click()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="ID")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    parser.add_argument("--every", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    executable = os.environ.get("FATHOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with (
        tempfile.TemporaryDirectory() as folder,
        demo(Path(folder) / "demo") as (address, password),
        closing(Store(f"{folder}/demo")) as store,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        desk = Desk(browser, address, password)
        if arguments.every:
            every_page(desk, store, arguments.every, arguments.names)
        else:
            for name, picture in pictures(desk, store):
                # 256 colours are enough for text and lines, and a third of the bytes.
                small = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
                small.save(arguments.out / f"{name}.png", optimize=True)
                print(arguments.out / f"{name}.png")
        browser.close()


@contextmanager
def demo(place: Path) -> Iterator[tuple[str, str]]:
    """A demo that is served as people do it; gives its address and the password of all accounts."""
    command = [sys.executable, "-c", SERVE, "studio", "serve", "--demo", "--port", "0", "--store", str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            said: list[str] = []
            while not said or "the studio is at" not in said[-1]:
                said.append(process.stdout.readline())
                assert said[-1], said
            password = next(line.split()[-1] for line in said if line.startswith("password"))
            yield said[-1].split()[-1].rstrip("/"), password
        finally:
            process.terminate()


class Desk:
    """Browsers of all people of the demo.

    Args:
        browser: Chromium.
        address: Address of the demo.
        password: Password of all accounts.
    """

    def __init__(self, browser: Browser, address: str, password: str) -> None:
        self._browser, self._address, self._password = browser, address, password
        self._cookies: dict[str, list[object]] = {}

    def shot(self, view: View, width: int, height: int, scheme: str = "light", *, whole: bool = False) -> Image.Image:
        """A picture of a view.

        Args:
            view: What to picture.
            width: Width of the window.
            height: Its height.
            scheme: ``light`` or ``dark``.
            whole: Whether to picture the page to its end.
        """
        size = {"width": width, "height": height}
        scale = 1.5 if width < 500 and not whole else 1
        context = self._browser.new_context(viewport=size, color_scheme=scheme, device_scale_factor=scale)  # type: ignore[arg-type]
        if view.who:
            self._log_in(context, view.who)
        tab = context.new_page()
        tab.goto(f"{self._address}{view.path}")
        if tab.locator("#reading").count():
            tab.locator("#text section").first.wait_for()
        view.act(tab)
        tab.wait_for_timeout(200)
        content = tab.screenshot(full_page=whole)
        context.close()
        return Image.open(io.BytesIO(content)).convert("RGB")

    def _log_in(self, context: BrowserContext, who: str) -> None:
        if who not in self._cookies:
            tab = context.new_page()
            tab.goto(f"{self._address}/login")
            tab.fill("[name=name]", who)
            tab.fill("[name=password]", self._password)
            tab.click("button.main")
            tab.locator("header").wait_for()
            tab.close()
            self._cookies[who] = context.cookies()  # type: ignore[assignment]
        context.add_cookies(self._cookies[who])  # type: ignore[arg-type]


def pictures(desk: Desk, store: Store) -> Iterator[tuple[str, Image.Image]]:
    """The pictures of the docs."""
    views = views_of(store)
    review = View("ann", views["answer_review"].path, to_the_form)
    yield "studio-queue", desk.shot(views["queue"], 1280, 720)
    yield "studio-drafted", desk.shot(views["drafted"], 1280, 760)
    yield "studio-review", desk.shot(review, 1280, 760)
    yield "studio-adjudication", desk.shot(View("eve", views["adjudication"].path, fold_prompts), 1280, 1140)
    phone = [
        desk.shot(views["queue"], 390, 740),
        desk.shot(views["answer_review"], 390, 740),
        desk.shot(review, 390, 740, "dark"),
    ]
    gap = 12
    whole = Image.new("RGB", (sum(one.width for one in phone) + gap * (len(phone) - 1), phone[0].height), "#c5cad3")
    for number, one in enumerate(phone):
        whole.paste(one, (number * (one.width + gap), 0))
    yield "studio-phone", whole


def every_page(desk: Desk, store: Store, out: Path, names: Sequence[str]) -> None:
    """Pictures of some pages or all of them, wide and narrow, light and dark."""
    out.mkdir(parents=True, exist_ok=True)
    views = views_of(store)
    for name, view in ((name, views[name]) for name in names or views):
        for width in WIDTHS:
            for scheme in SCHEMES:
                picture = desk.shot(view, width, 900, scheme, whole=True)
                picture.save(out / f"{name}-{width}-{scheme}.png")
        print(out / name)


def views_of(store: Store) -> dict[str, View]:
    """All pages of the demo, by name."""
    samples = {state: list(store.samples(states=[state])) for state in STATES}
    longest = {state: max(some, key=lambda one: len(one.content.components)).id for state, some in samples.items()}
    fresh = next(one for one in samples["answer_review"] if not one.reviews and len(one.content.components) > 1)
    documents = {one.state: one.id for one in store.documents()}
    judges = {"expert_review": "eve", "adjudication": "eve", "accepted": "ada", "answer_review": "ann"}
    views = {
        "login": View("", "/login"),
        "queue": View("ann", "/"),
        "queue_expert": View("eve", "/"),
        "queue_state": View("ben", "/?state=drafted"),
        "help": View("ann", "/", open_help),
        "documents": View("ann", "/documents"),
        "adding": View("ann", "/documents", open_adding),
        "compliance": View("eve", "/compliance"),
        "document": View("ann", f"/documents/{documents['available']}"),
        "document_collected": View("eve", f"/documents/{documents['collected']}"),
        "progress": View("ann", "/progress"),
        "quality": View("eve", "/quality"),
        "rating": View("ada", "/quality", begin_rating),
        "account": View("ann", "/account"),
        "users": View("ada", "/users"),
        "log": View("ada", "/log"),
        "error": View("ann", "/nowhere"),
        "history": View("ada", f"/samples/{longest['audited']}/history"),
    }
    for state in STATES:
        views[state] = View(judges.get(state, "ann"), f"/samples/{longest[state]}", show_evidence)
    views["answer_review"] = View("ann", f"/samples/{fresh.id}", show_evidence)
    return views


if __name__ == "__main__":
    main()
