"""Somebody at a browser, who does in the studio what people do, with mouse and keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from chromium import violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

WIDTHS: dict[int, Literal["light", "dark"]] = {1440: "light", 390: "dark"}
"""Colours hardly depend on the width: each scheme is looked at once."""
HEIGHT = 900
_ID = re.compile(r"/(samples|documents|quality)/[^/?]+")
# What a page is: its address without ids, the state of its sample, and the forms that it offers to this person.
_KIND = """() => [
    document.querySelector(".work .state")?.textContent ?? "",
    ...new Set([...document.querySelectorAll("main form")].map((form) => {
        const parts = new URL(form.action).pathname.split("/");
        return parts[1] === "samples" && parts[3] || parts[1];
    })),
    ...(document.querySelector(".conflict") ? ["conflict"] : []),
    ...(document.querySelector("dialog[open]") ? ["help"] : []),
]"""
# The rectangle of words in the text pane, which are scrolled into sight.
_PLACE = """(words) => {
    const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const at = walker.currentNode.data.indexOf(words);
        if (at < 0) continue;
        walker.currentNode.parentElement.scrollIntoView({ block: "center" });
        const range = document.createRange();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + words.length);
        const [first, last] = [range.getClientRects()[0], [...range.getClientRects()].at(-1)];
        return [first.left + 1, first.top + first.height / 2, last.right - 1, last.top + last.height / 2];
    }
    return null;
}"""
# Sends the form of a button as the page has it, with the choices checked; the notices that follow.
_SEND = """async ([path, button, chosen, nth]) => {
    const page = (method, path, body) => new Promise((done) => {
        const asked = new XMLHttpRequest();
        asked.open(method, path);
        asked.responseType = "document";
        asked.onload = () => done(asked.response);
        asked.send(body);
    });
    const there = await page("GET", path);
    const pressed = [...there.querySelectorAll("form button")].filter((one) => one.textContent === button)[nth];
    if (!pressed) return null;
    for (const one of chosen ? pressed.form.querySelectorAll(chosen) : []) one.checked = true;
    const body = new URLSearchParams(new FormData(pressed.form, pressed));
    const after = await page("POST", pressed.form.getAttribute("action"), body);
    return [...after.querySelectorAll(".notice")].map((one) => one.textContent).join("\\n");
}"""
_FOCUS = "(selector) => document.activeElement?.matches(selector) ?? false"


@dataclass
class Witness:
    """What the browsers of all people did.

    Attributes:
        host: Address of the studio; a request to any other is a fault.
        requests: Number of requests.
        faults: Errors and warnings of the console, and requests elsewhere.
        checked: Kinds of pages that were checked with axe, wide in light and narrow in dark.
        pictures: Folder for a picture of each of them; None for none.
    """

    host: str
    requests: int = 0
    faults: list[str] = field(default_factory=list)
    checked: dict[str, None] = field(default_factory=dict)
    pictures: Path | None = None

    def watch(self, context: BrowserContext) -> None:
        """Hears everything that the pages of a context say and ask for."""
        context.on("request", self._requested)
        context.on("weberror", lambda error: self.faults.append(str(error.error)))
        context.on("console", self._said)

    def look(self, tab: Page) -> None:
        """Checks the page in a tab if none of its kind was checked: with axe, and that it fits the width."""
        path = _ID.sub(r"/\1/ID", urlsplit(tab.url).path)
        kind = " ".join([path, *tab.evaluate(_KIND)])
        if kind in self.checked:
            return
        self.checked[kind] = None
        before: Any = tab.viewport_size
        for width, scheme in WIDTHS.items():
            tab.set_viewport_size({"width": width, "height": HEIGHT})
            tab.emulate_media(color_scheme=scheme)
            self.faults += [f"{kind} at {width}: {one}" for one in violations(tab)]
            if tab.evaluate("document.documentElement.scrollWidth") > width:
                self.faults.append(f"{kind} is wider than {width}")
            if self.pictures is not None:
                name = f"{len(self.checked):02}-{re.sub('[^a-zA-Z0-9]+', '-', kind).strip('-')[:60]}-{width}.png"
                tab.screenshot(path=self.pictures / name, full_page=True)
        tab.emulate_media(color_scheme="null")
        tab.set_viewport_size(before)

    def _requested(self, request: Any) -> None:
        self.requests += 1
        if not request.url.startswith((f"{self.host}/", "blob:")):
            self.faults.append(f"a request to {request.url}")

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text} ({message.page.url if message.page else ''})")


class Actor:
    """Somebody with a browser of their own.

    Args:
        browser: Chromium.
        witness: Watches what the pages do.
        name: Their account.
        password: Its first password; they choose another one.
        width: Width of their screen; 390 is a phone.
    """

    def __init__(self, browser: Browser, witness: Witness, name: str, password: str, width: int = 1440) -> None:
        self.name, self._browser, self._witness, self._password = name, browser, witness, password
        self._width = width
        self.sit_down()
        self.choose_password()

    def sit_down(self) -> None:
        """Opens the browser and logs in."""
        self._context = self._browser.new_context(viewport={"width": self._width, "height": HEIGHT})
        self._context.set_default_timeout(60_000)
        self._witness.watch(self._context)
        self.tab = self._context.new_page()
        self.go("/login")
        self.tab.fill("[name=name]", self.name)
        self.tab.fill("[name=password]", self._password)
        self.tab.keyboard.press("Enter")
        self.tab.wait_for_selector("h1:text('What waits for you')")
        self.look()

    def choose_password(self) -> None:
        """Chooses a password of their own, instead of the one that was made for them."""
        old, self._password = self._password, f"{self.name} at the harbour"
        self.go("/account")
        for name, password in (("old", old), ("new", self._password), ("again", self._password)):
            self.tab.fill(f"[name={name}]", password)
        self.do("Change", "The password is changed")

    def leave(self) -> None:
        """Closes the browser, whatever was typed."""
        self._context.close()

    def go(self, path: str) -> None:
        """Opens a page, and looks at it."""
        self.tab.goto(f"{self._witness.host}{path}")
        self.tab.wait_for_load_state("load")
        self.look()

    def look(self) -> None:
        """Looks at the page; each kind of page is checked once."""
        self._witness.look(self.tab)

    def open(self, sample: str) -> None:
        """Opens a sample, with its text."""
        self.tab.goto(f"{self._witness.host}/samples/{sample}")
        self.tab.wait_for_selector("#text section")
        self.look()

    def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        for key in keys:
            self.tab.keyboard.press(key)

    def tab_to(self, selector: str) -> None:
        """Presses Tab until something has the focus."""
        for _ in range(200):
            if self.tab.evaluate(_FOCUS, selector):
                return
            self.press("Tab")
        raise AssertionError(f"{self.name} cannot reach {selector} with Tab on {self.tab.url}")

    def do(self, button: str, then: str) -> None:
        """Clicks a button and reads the notice that follows."""
        self.tab.click(f"button:text-is('{button}') >> visible=true")
        self.read(then)

    def read(self, notice: str) -> None:
        """Waits for a notice."""
        self.tab.wait_for_selector(f".notice:text('{notice}')")
        self.look()

    @contextmanager
    def hears(self, words: str) -> Iterator[None]:
        """The browser itself says something once, such as the status of an answer that is an error page."""
        before = len(self._witness.faults)
        yield
        (said,) = [one for one in self._witness.faults[before:] if words in one]
        self._witness.faults.remove(said)

    # Writing

    def select(self, sample: str, draft: int = 0) -> None:
        """Selects a draft of a sample."""
        self.open(sample)
        self.tab.click(f"button:text-is('Select this draft') >> nth={draft}")
        self.read("Selected")

    def type(self, field: str, text: str) -> None:
        """Replaces what a field has, key by key."""
        self.tab.click(f"[name={field}]")
        self.press("Control+a")
        self.tab.keyboard.type(text)

    def mark_by_mouse(self, component: int, words: str) -> None:
        """Drags over words of the text and marks them as evidence of a component."""
        self.tab.click(f"[name=component-{component}]")
        left, top, right, bottom = self.tab.evaluate(_PLACE, words)
        self.tab.mouse.move(left, top)
        self.tab.mouse.down()
        self.tab.mouse.move(right, bottom, steps=3)
        self.tab.mouse.up()
        self.tab.click("#mark")
        self._has_evidence(f"component-evidence-{component}")

    def mark_by_keyboard(self, field: str, words: str) -> None:
        """Finds words in the text, extends the selection, and marks them as evidence of the component of a field."""
        self.tab.wait_for_selector("#text section")
        self.tab.focus(f"[name={field}]")
        self.tab.focus("#text")
        self.press("/", "Control+a", "Delete")
        self.tab.wait_for_selector("#hits:empty", state="attached")
        self.tab.keyboard.insert_text(words)  # at once: on a busy machine a search for half of them would be met
        self.tab.wait_for_selector("#hits:text-matches('1 of [0-9]+')")
        self.press("Escape", "m")
        self._has_evidence(field.replace("component", "component-evidence"))

    def hand_over(self, sample: str = "") -> None:
        """Hands a sample, or the form in sight, to an expert; a form that nobody changed leaves it as it is."""
        if sample:
            self.open(sample)
        self.do("Save and hand to an expert", "Handed to an expert")

    def begin_review(self, sample: str) -> None:
        """Confirms the standard prompts."""
        self.open(sample)
        self.do("Begin the answer review", "The answer review has begun")

    def begin_round(self, sample: str) -> None:
        """Begins the reconstruction."""
        self.open(sample)
        self.do("Begin the next round", "A new round has begun")

    # Deciding

    def decide(self, sample: str, button: str, reason: str = "", then: str = "Decided") -> None:
        """Writes a reason and clicks the button of a decision."""
        self.open(sample)
        form = self.tab.locator("form", has=self.tab.locator(f"button:text-is('{button}')"))
        if not form.is_visible():
            self.tab.click("summary:text('Reject this sample')")
        if reason:
            form.locator("[name=reason]").fill(reason)
        self.look()
        self.do(button, then)

    def review(self, sample: str, *marks: str, note: str = "", missing: str = "", problem: str = "") -> None:
        """Reviews an answer blindly; nothing that models found beyond it is missing.

        Args:
            sample: The sample.
            marks: ``right``, ``wrong`` or ``unsure`` for each component; all are right by default.
            note: On the first component.
            missing: A component that the answer lacks.
            problem: Something else that is wrong.
        """
        self.open(sample)
        for at in range(self.tab.locator(".judged").count()):
            self.tab.check(f"[name=mark-{at}][value={marks[at] if at < len(marks) else 'right'}]")
        if note:
            self.tab.fill("[name=note-0]", note)
        if missing:
            self.tab.fill("[name=missing-0]", missing)
        if problem:
            self.tab.check("[name=problem]")
            self.tab.fill("form:has(.judged) [name=reason]", problem)
        if self.gives_verdicts_first():
            self.do("Send your verdicts", "Your verdicts are stored")
            for found in self.tab.locator(".mined [value='not missing']").all():
                found.check()
        self.do("Send the review", "Your review is stored")

    def send(self, sample: str, button: str, then: str, *, chosen: str = "", nth: int = 0) -> bool:
        """Does with a sample what was done in sight with another: sends its form, without drawing a page.

        Args:
            sample: The sample.
            button: The button of the form.
            then: The notice that follows.
            chosen: Selector of the choices that are made.
            nth: Which of several such buttons.

        Returns:
            Whether there is such a button.
        """
        notices = self.tab.evaluate(_SEND, [f"/samples/{sample}", button, chosen, nth])
        assert notices is None or then in notices, (self.name, button, notices)
        return notices is not None

    def gives_verdicts_first(self) -> bool:
        """Whether the review in sight has two steps, because models have answered."""
        return self.tab.locator("button:text-is('Send your verdicts')").count() > 0

    def _has_evidence(self, field: str) -> None:
        self.tab.wait_for_selector(f".marked[data-field={field}] a.evidence >> nth=-1")
