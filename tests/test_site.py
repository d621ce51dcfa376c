"""The documentation site: it builds without a warning, its links lead somewhere, and it works from disk.

What blocks of code say about themselves is tested in ``test_docs.py``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

from chromium import browsers, violations
from made_once import made_once

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
pytest.importorskip("material", reason="mkdocs-material is not installed")

import site_notebooks as notebooks  # noqa: E402
import site_pages as pages  # noqa: E402

SHOWN = (
    "index",
    "tutorials/getting-started",
    "tutorials/choose-a-model",
    "how-to/run-a-model",
    "reference/commands/run",
    "reference/python/results",
)

# The theme's script says that scripts run, and puts tables into boxes of their own, which scroll.
BOXED = """document.documentElement.classList.replace("no-js", "js");
for (const table of document.querySelectorAll("article table:not([class])")) {
    const outer = document.createElement("div"), inner = document.createElement("div");
    outer.className = "md-typeset__scrollwrap";
    inner.className = "md-typeset__table";
    table.replaceWith(outer);
    outer.append(inner);
    inner.append(table);
}"""

pytestmark = [pytest.mark.slow, pytest.mark.long]


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(ROOT / "mkdocs.yml"), "-d", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "", "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The site, built once for all workers."""

    def make(folder: Path) -> None:
        done = build(folder)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert not re.search("^(WARNING|ERROR)", said, re.MULTILINE), said

    return made_once(tmp_path_factory, worker_id, "built-site", make)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browsers()


@pytest.fixture(params=[1440, 390])
def tab(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A tab that fails where a script fails, or where it asks any other computer for anything."""
    wrong: list[str] = []
    found = browser.new_page(viewport={"width": request.param, "height": 900})
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None)
    found.on("request", lambda asked: wrong.append(asked.url) if asked.url.startswith("http") else None)
    yield found
    found.close()
    assert not wrong


@cache
def trees(site: Path) -> dict[str, Any]:
    """The pages of a site by their paths."""
    html = pytest.importorskip("lxml.html")
    return {str(path.relative_to(site)): html.parse(path).getroot() for path in sorted(site.rglob("*.html"))}


def dead(trees: dict[str, Any], site: Path) -> list[str]:
    """Links that lead nowhere: to no file, to no element of a page, or to another site without encryption."""
    ids = {path: {*tree.xpath("//@id"), *tree.xpath("//a/@name"), "", "__top"} for path, tree in trees.items()}
    found = []
    for path, tree in trees.items():
        for target in tree.xpath("//*[self::a or self::link]/@href | //*[self::img or self::script]/@src"):
            parts = urlsplit(target)
            if parts.scheme in ("data", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                local = parts.hostname in ("127.0.0.1", "localhost")
                good = parts.netloc and (parts.scheme == "https" or (parts.scheme == "http" and local))
            else:
                file = (site / path).parent / unquote(parts.path) if parts.path else site / path
                there = os.path.relpath(file.resolve(), site.resolve())
                good = file.is_file() and unquote(parts.fragment) in ids.get(there, {unquote(parts.fragment)})
            if not good:
                found.append(f"{path}: {target}")
    return found


def test_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    assert dead(trees(site), site) == []


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path: Path) -> None:
    hrefs = ["b.html#x", "b.html#y", "c.html", "http://example.org", "https://example.org", "#x"]
    links = "".join(f'<a href="{href}">x</a>' for href in hrefs)
    (tmp_path / "a.html").write_text(f"<html><body>{links}</body></html>")
    (tmp_path / "b.html").write_text("<html><body><p id=x>x</p></body></html>")
    expected = ["a.html: b.html#y", "a.html: c.html", "a.html: http://example.org", "a.html: #x"]
    assert dead(trees(tmp_path), tmp_path) == expected


def test_a_wrong_link_in_a_page_fails_the_build(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "docs").mkdir(parents=True)
    shutil.copytree(DOCS / "theme", copy / "docs" / "theme")
    (copy / "docs" / "index.md").write_text("# Home\n\n## Pages\n\n- [One](one.md)\n- [Two](two.md)\n")
    (copy / "docs" / "one.md").write_text("# One\n\n[nowhere](two.md#nowhere)\n")
    (copy / "docs" / "two.md").write_text("# Two\n")
    (copy / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text("utf-8"))
    (copy / "src").symlink_to(ROOT / "src")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = {**os.environ, "PYTHONWARNINGS": "", "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "'two.md#nowhere'" in done.stderr


def test_the_site_has_every_page_of_the_docs_once(site: Path) -> None:
    sources = {path.relative_to(DOCS) for kind in ("*.md", "*.ipynb") for path in DOCS.rglob(kind)}
    expected = {path.with_suffix(".html").as_posix() for path in sources}
    made = {path for path in trees(site) if path != "404.html"}
    assert {path for path in made if not path.startswith("project/")} == expected

    def listed(nav: Any) -> Iterator[str]:
        for one in nav:
            for value in one.values():
                yield from [value] if isinstance(value, str) else listed(value)

    shown = sorted(listed(pages.nav_of((DOCS / "index.md").read_text("utf-8"))))
    assert shown == sorted(path.removesuffix(".html") + ".md" for path in made)


def test_titles_in_the_navigation_are_short() -> None:
    text = (DOCS / "index.md").read_text("utf-8")
    titles = re.findall(r"'([^']+)': '[^']+\.md'", str(pages.nav_of(text)))
    assert titles
    assert max(map(len, titles)) <= 45


def test_nothing_is_loaded_from_another_computer(site: Path) -> None:
    loading = "//script/@src | //img/@src | //iframe/@src | //source/@src | //link[not(@rel='canonical')]/@href"
    for path, tree in trees(site).items():
        assert not [target for target in tree.xpath(loading) if urlsplit(target).netloc], path
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text("utf-8")), style.name


def test_no_page_shows_an_instruction_to_the_site(site: Path) -> None:
    """Marks of fences, unresolved names of the Python reference and Markdown within HTML would be seen as text."""
    for path, tree in trees(site).items():
        text = "".join(tree.xpath("//article//text()[not(ancestor::code) and not(ancestor::pre)]"))
        assert not [one for one in tree.xpath("//article//comment()") if "api:" in one.text], path
        assert not re.search(r"```|needs=|^::: |\]\[|<!--", text, re.MULTILINE), path


def test_lists_and_tables_are_those_that_code_hosts_show(site: Path) -> None:
    """Python-Markdown wants a blank line before a list and four spaces within one; code hosts do not."""
    markdown_it = pytest.importorskip("markdown_it")
    html = pytest.importorskip("lxml.html")
    parser = markdown_it.MarkdownIt("gfm-like", {"linkify": False})
    made = trees(site)
    for path in sorted(DOCS.rglob("*.md")):
        text = re.sub(r"<!-- api:.*?-->", "", path.read_text("utf-8"), flags=re.DOTALL)
        if "<!-- api:" in path.read_text("utf-8") or path == DOCS / "index.md":
            continue
        there = html.fromstring(f"<div>{parser.render(text)}</div>")
        here = made[path.relative_to(DOCS).with_suffix(".html").as_posix()].xpath("//article")[0]
        for tag in ("li", "tr", "pre", "h2", "h3"):
            counted = [len(tree.xpath(f".//{tag}[not(ancestor::nav)]")) for tree in (there, here)]
            assert counted[0] == counted[1], f"{path.relative_to(DOCS)}: {tag}: {counted}"


def test_every_public_function_is_in_the_reference_with_its_options(site: Path) -> None:
    from fathom import api

    functions = {name: value for name, value in vars(api).items() if hasattr(value, "options")}
    former = {name for name, value in functions.items() if value.__name__ != name}
    headings: dict[str, list[Any]] = {}
    for path, tree in trees(site).items():
        if path.startswith("reference/python/"):
            for element in tree.xpath("//*[starts-with(@id, 'fathom.api.')]"):
                headings.setdefault(element.get("id"), []).append(element)
    assert len(functions) > 60
    for name in functions.keys() - former:
        assert len(headings[f"fathom.api.{name}"]) == 1, name
        (heading,) = headings[f"fathom.api.{name}"]
        shown = set(heading.getparent().xpath(".//ul/li/code/b/text() | .//ul/li/b/code/text()"))
        assert shown >= set(functions[name].__signature__.parameters), name


def test_types_in_the_reference_lead_to_each_other(site: Path) -> None:
    tree = trees(site)["reference/python/types.html"]
    assert tree.xpath("//*[@id='fathom.types.Task']/..//a[@href='#fathom.types.Sample' or contains(@href, 'Draw')]")


def test_the_index_of_the_search_has_the_words_of_the_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    found = {one["location"].partition("#")[0] for one in index["docs"] if "retrieval" in one["text"]}
    assert "how-to/systems.html" in found
    assert (site / "search" / "search_index.js").stat().st_size > 100_000


@pytest.mark.browser
def test_search_finds_a_word_in_a_site_that_was_opened_from_disk(site: Path, tab: Page) -> None:
    tab.goto((site / "index.html").as_uri())
    if tab.evaluate("innerWidth") < 1000:
        tab.locator("label[for=__search]").first.click()
    tab.locator(".md-search__input").click()
    tab.locator(".md-search__input").press_sequentially("effective context length")
    first = tab.locator(".md-search-result__link").first
    first.wait_for()
    assert tab.locator(".md-search-result__link").count() > 3
    first.click()
    tab.wait_for_url("**/*.html**")
    assert "effective" in tab.locator("article").inner_text().lower()


QUESTIONS = {
    "how long does it take": "how-long-does-it-take",
    "how much does it cost": "what-does-it-cost",
    "which lengths": "which-lengths-should-i-choose",
    "how many items": "how-many-items-do-i-need",
    "n/a in the table": "why-does-a-score-say-na-a-dash-or-undefined",
    "rerun failed": "how-do-i-rerun-failed-requests",
    "reply cut off": "why-is-a-reply-cut-off-before-the-answer",
    "use ollama": "how-do-i-measure-a-model-on-ollama-llamacpp-vllm-or-sglang",
    "base model": "how-do-i-measure-a-base-model",
    "slurm": "how-do-i-run-on-slurm-or-many-machines",
    "my own judge": "how-do-i-use-my-own-model-as-the-judge",
    "compare two checkpoints": "how-do-i-compare-two-checkpoints-that-have-one-name",
    "is the difference significant": "is-a-difference-significant",
    "use my own documents": "how-do-i-use-my-own-documents-and-questions",
    "share results": "how-do-i-share-results",
}
"""What people type, and the heading of the page of questions that answers it."""
AMONG_THE_FIRST_FOUR = """heading => [...document.querySelectorAll(".md-search-result__item")].slice(0, 4).some(item =>
    [...item.querySelectorAll("a")]
        .some(link => link.href.includes("how-to/questions.html") && link.hash === `#${heading}`))"""


@pytest.mark.browser
def test_each_question_that_people_type_is_answered_within_the_first_four_hits(site: Path, browser: Browser) -> None:
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    field = tab.locator(".md-search__input")
    for question, heading in QUESTIONS.items():
        tab.goto((site / "index.html").as_uri())  # what was found for another question is gone
        field.click()
        tab.wait_for_selector(".md-search-result__meta:text('Type to start searching')")  # its index is loaded
        field.press_sequentially(question)
        tab.wait_for_function(AMONG_THE_FIRST_FOUR, arg=heading)
    tab.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", SHOWN)
def test_pages_fit_and_axe_finds_nothing(site: Path, tab: Page, name: str) -> None:
    """Wide in light, narrow in dark: colours hardly depend on the width."""
    tab.emulate_media(color_scheme="light" if tab.evaluate("innerWidth") > 1000 else "dark")
    tab.goto((site / f"{name}.html").as_uri())
    assert violations(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_no_page_is_wider_than_a_phone(site: Path, browser: Browser) -> None:
    """Below the header, and without the theme's scripts, which take most of the time; tables are boxed for them."""
    page = browser.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False).new_page()
    wide = []
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri(), wait_until="load")
        if page.evaluate(
            f"() => {{ {BOXED}; return document.querySelector('.md-container').scrollWidth > innerWidth; }}"
        ):
            wide.append(str(path.relative_to(site)))
    page.context.close()
    assert wide == []


@pytest.mark.browser
def test_a_wide_table_scrolls_in_its_own_box(site: Path, tab: Page) -> None:
    tab.goto((site / "reference" / "rows.html").as_uri())
    tab.wait_for_selector(".md-typeset__scrollwrap table")
    assert tab.locator("article table:not([class])").count() == tab.locator(".md-typeset__scrollwrap table").count() > 0
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


# ---------------------------------------------------------------------------------------------------- notebooks


def cell(kind: str, source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": kind, "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def test_a_notebook_is_a_page_with_its_stored_outputs(tmp_path: Path) -> None:
    printed = {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mthree\x1b[0m\n", "```\n"]}
    table = {"output_type": "execute_result", "data": {"text/html": "<table>\n\n<tr></tr></table>", "text/plain": "x"}}
    image = {"output_type": "display_data", "data": {"image/png": "aGVsbG8=", "text/plain": "score [by] length"}}
    cells = [cell("markdown", "# Title\n\nText."), cell("code", "print(3)", printed), cell("code", "t", table, image)]
    path = tmp_path / "made.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    made = notebooks.page_of(path)
    assert made.text.startswith("# Title\n\nText.\n\n[Download")
    assert "```python\nprint(3)\n```\n\n````{ .text .printed }\nthree\n```\n````" in made.text
    assert '<div class="output">\n<table>\n<tr></tr></table>\n</div>' in made.text
    assert "![score  by  length](made-3-2.png)" in made.text
    assert made.images == {"made-3-2.png": b"hello"}


def test_an_older_notebook_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "old.ipynb"
    path.write_text('{"nbformat": 3, "worksheets": []}')
    with pytest.raises(ValueError, match=r"old\.ipynb: expected a notebook of format 4"):
        notebooks.page_of(path)
