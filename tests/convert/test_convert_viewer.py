"""Inspect's own viewer shows the logs, and texts in them stay texts."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from made_results import SCRIPT, row, rows_file

from chromium import browsers
from fathom import api

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog

pytestmark = [pytest.mark.slow, pytest.mark.browser]
browser = pytest.fixture(browsers)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing on standard error."""


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[str]:
    """The address of the viewer with one log, whose texts are scripts."""
    replies = [row(number, task="passkey", answer=SCRIPT, target=SCRIPT, detail=SCRIPT) for number in range(9)]
    api.convert(rows_file(tmp_path, replies), to="inspect", out=tmp_path / "logs")
    bundle = [sys.executable, "-m", "inspect_ai", "view", "bundle"]
    done = subprocess.run(
        [*bundle, "--log-dir", tmp_path / "logs", "--output-dir", tmp_path / "site"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "site"))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_inspects_viewer_shows_scores_and_runs_no_text(viewer: str, browser: Browser) -> None:
    said: list[str] = []

    def dismissed(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page = browser.new_page()
    page.on("dialog", dismissed)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(viewer)
    page.get_by_text("fathom/passkey").first.click()
    page.get_by_text("stderr at 1k", exact=False).first.wait_for()
    page.get_by_text("item0@1024").first.click()
    page.get_by_text("alert(1)", exact=False).first.wait_for()
    page.get_by_role("tab", name="Scoring").click()
    page.get_by_text("accuracy").first.wait_for()
    assert said == []
    page.close()
