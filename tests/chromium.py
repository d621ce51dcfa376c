"""Headless Chromium for tests of pages; a fixture is made of the generator."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# The first has no window, and takes a fifth less of the processor.
CANDIDATES = ("chromium-headless-shell", "/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# The rules that depend on the colour scheme.
COLOURS = ("color-contrast", "link-in-text-block")
# Names begin with what is seen (WCAG 2.5.3); axe does not ask that of its own accord. What is in order is not listed,
# which takes half the time.
AXE = {
    "preload": False,
    "resultTypes": ["violations"],
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}


def browsers() -> Iterator[Browser]:
    """One browser; skips where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    named = (os.environ.get("FATHOM_CHROMIUM", ""), *CANDIDATES)
    executable = next((path for name in named if name and (path := shutil.which(name))), None)
    if executable is None:
        pytest.skip("no Chromium here: install one, or name its executable in FATHOM_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield found
        found.close()


def load(tab: Page, address: str) -> None:
    """Open a page and wait until everything is there that it and its scripts ask for; without a pause to be sure."""
    asked: set[Any] = set()
    listeners: dict[Any, Any] = {
        "request": lambda request: asked.add(request),
        "requestfinished": lambda request: asked.discard(request),
        "requestfailed": lambda request: asked.discard(request),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    tab.goto(address)
    drawn = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    tab.evaluate(drawn)
    while asked:
        tab.evaluate(drawn)
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)


def violations(tab: Page, *rules: str) -> list[tuple[str, list[str]]]:
    """What axe finds in a tab: its rule and the first elements that break it; skips where there is no axe.

    Args:
        tab: The tab.
        rules: Only these rules; all by default.
    """
    options = {**AXE, "runOnly": list(rules)} if rules else AXE
    if not tab.evaluate("Boolean(window.axe)"):
        tab.evaluate(_axe())
    results: dict[str, Any] = tab.evaluate("(options) => axe.run(options)", options)
    return [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in results["violations"]]


@cache
def _axe() -> str:
    """Its program."""
    reason = "axe-playwright-python is not installed"
    source: str = pytest.importorskip("axe_playwright_python.base", reason=reason).AXE_SCRIPT
    return source
