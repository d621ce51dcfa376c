"""The static files of the board: what can be said of them without a browser."""

from __future__ import annotations

import re
from pathlib import Path

import fathom.board
import fathom.web
from fathom.report.colours import NAMES

SITE = Path(fathom.board.__file__).parent / "site"
SHARED = Path(fathom.web.__file__).parent
SCRIPTS = sorted([*SITE.glob("*.js"), *SHARED.glob("*.js")], key=lambda path: path.name)


def test_colours_are_those_of_the_report() -> None:
    light, dark = SHARED.joinpath("colours.css").read_text("utf-8").split("[data-theme", 1)
    for theme, text in (("light", light), ("dark", dark)):
        found = dict(re.findall(r"--([a-z]+(?:-\d)?): (#[0-9a-f]{6});", text))
        shared = {name for name in NAMES if not name.startswith(("change", "ability"))}
        assert {name: found.get(name) for name in shared} == {name: getattr(NAMES[name], theme) for name in shared}


def test_the_page_loads_every_script_and_nothing_else() -> None:
    page = SITE.joinpath("index.html").read_text("utf-8")
    named = re.findall(r'<script [^>]*src="([^"]+)"', page)
    assert sorted(named) == [path.name for path in SCRIPTS]
    assert re.findall(r"<script(?![^>]* src=)", page) == []
    assert "default-src 'none'" in page
    assert "require-trusted-types-for 'script'" in page


def test_scripts_make_no_markup_and_ask_nobody() -> None:
    banned = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttpRequest|import\("
    )
    assert len(SCRIPTS) > 10
    for path in SCRIPTS:
        text = path.read_text("utf-8")
        assert re.findall(banned, text) == [], path.name
        assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}, path.name
