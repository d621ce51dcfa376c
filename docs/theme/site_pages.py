"""What the site makes of docs/: its pages and their order from index.md, notebooks as pages, labels of code blocks.

MkDocs calls the functions whose names begin with ``on_``.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import site_blocks as blocks
import site_notebooks as notebooks
import site_reference as reference

EDGE = "e=e+s+o.id"
Nav = list[dict[str, Any]]

HEADING = re.compile(r"(#{2,3}) (.+)")
LINK = re.compile(r"(?<!!)\[((?:[^\]`]|`[^`]*`)+)\]\(([^)#\s]+)\)")
TARGET = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
CODE_OF_CELL = re.compile(r"(?<=\| )`[^`\n]*\\\|[^`\n]*`")
NAME = re.compile(r"(<td[^>]*><code>)([^<]+)(</code>)")


def nav_of(index: str) -> Nav:
    """The navigation that an index page describes.

    Args:
        index: Markdown with a heading of level 2 for each section, of level 3 for each group in it, and lists of links
            to pages.

    Returns:
        Nested lists as in ``nav`` of ``mkdocs.yml``; pages have the texts of their links as titles.
    """
    nav: Nav = [{"Home": "index.md"}]
    section: Nav = []
    group: Nav = section
    for line in index.splitlines():
        heading = HEADING.fullmatch(line)
        if heading is None:
            group += [
                {title.replace("`", ""): site_path(path)} for title, path in LINK.findall(line) if "://" not in path
            ]
        elif len(heading[1]) == 2:
            section = group = []
            nav.append({heading[2]: section})
        else:
            group = []
            section.append({heading[2]: group})
    return [one for one in nav if all(one.values())]


def site_path(path: str) -> str:
    """The path in the site of a file that a page in docs/ links to: a notebook is a page, and so is ../CHANGELOG.md."""
    if path.startswith("../"):
        return "project/" + PurePosixPath(path).name.lower()
    return re.sub(r"\.ipynb$", ".md", path)


BOOSTS = {"how-to/questions": 4, "how-to/": 1.5, "explanation/measurements": 0.5, "explanation/decisions": 0.5}
"""How much more the search weighs pages by the start of their paths: people who ask something want to do something."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the index page."""
    index = Path(config.docs_dir, "index.md")
    config.nav = nav_of(index.read_text("utf-8"))
    config.theme.static_templates.discard("404.html")  # its links are right for one address of the site only
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages of notebooks, and those of the project's own folder that the index names."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        made = notebooks.page_of(Path(file.abs_src_path or ""))
        files.append(File.generated(config, site_path(file.src_uri), content=made.text))
        folder = PurePosixPath(file.src_uri).parent
        for name, content in made.images.items():
            files.append(File.generated(config, str(folder / name), content=content))
    root = Path(config.docs_dir).parent
    for _, target in LINK.findall(Path(config.docs_dir, "index.md").read_text("utf-8")):
        if target.startswith("../"):
            files.append(File.generated(config, site_path(target), abs_src_path=str((root / target[3:]).resolve())))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make a page as code hosts show it one of the site."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    if boost := next((BOOSTS[start] for start in BOOSTS if page.file.src_uri.startswith(start)), None):
        page.meta["search"] = {"boost": boost}
    markdown = blocks.labelled(markdown)
    markdown = CODE_OF_CELL.sub(lambda code: code[0].replace(r"\|", "|"), markdown)
    markdown = TARGET.sub(lambda link: link[1] + _target(link[2], page.file.src_uri, files) + link[3], markdown)
    return reference.expanded(markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the names in tables break between their words, so that a narrow column does not break within one."""
    return NAME.sub(lambda name: name[1] + re.sub(r"(?<=\w)([_|])(?=\w)", r"\1<wbr>", name[2]) + name[3], html)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name what the theme leaves without a name of its own, for those who listen to a page."""
    output = output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )
    return output.replace('<nav class="md-nav" aria-label="', '<nav class="md-nav" aria-label="On this page: ')


def on_post_build(config: MkDocsConfig) -> None:
    """Part the edges by which the search's index knows its nodes, so that no two nodes are taken for one.

    An edge is written as its character and the number of its node: ``1`` and 23 read like ``12`` and 3 without a
    separator, and every search over such a node fails (lunr.js, issue 503).
    """
    for script in Path(config.site_dir, "assets", "javascripts", "workers").glob("search.*.min.js"):
        text = script.read_text("utf-8")
        if EDGE not in text:
            raise PluginError(f"{script.name} no longer writes the edges of its index as {EDGE}: see on_post_build")
        script.write_text(text.replace(EDGE, f'{EDGE}+","'), "utf-8")


def _target(target: str, source: str, files: Files) -> str:
    """Where a link of a page leads in the site."""
    if "://" in target or not target.endswith((".md", ".ipynb")):
        return target
    base = PurePosixPath(source).parent
    folder = PurePosixPath("docs") / base if not source.startswith("project/") else PurePosixPath()
    parts: list[str] = []
    for part in (folder / target).parts:
        parts = parts[:-1] if part == ".." and parts else [*parts, part]
    path = "/".join(parts)
    there = site_path(path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}")
    if files.get_file_from_path(there) is None:
        return target
    return "../" * len(base.parts) + there
