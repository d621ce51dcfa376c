"""Notebooks as Markdown with their stored outputs; nothing is executed."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Made:
    """A notebook as a page.

    Attributes:
        text: Its Markdown.
        images: Pictures by name, which the page shows.
    """

    text: str
    images: Mapping[str, bytes]


def page_of(path: Path) -> Made:
    """Read a notebook of format 4.

    Args:
        path: The file.

    Raises:
        ValueError: It is no notebook of format 4.
    """
    notebook = json.loads(path.read_text("utf-8"))
    if notebook.get("nbformat") != 4:
        raise ValueError(f"{path}: expected a notebook of format 4")
    parts: list[str] = []
    images: dict[str, bytes] = {}
    for number, cell in enumerate(notebook["cells"], 1):
        source = _joined(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source:
            parts.append(_fenced(source, "sh" if source.startswith("%%") else "python"))
            for count, output in enumerate(cell.get("outputs", []), 1):
                parts.append(_shown(output, f"{path.stem}-{number}-{count}", images))
    first, *rest = parts or [""]
    download = f"[Download this page as a notebook]({path.name}){{ .notebook download }}"
    return Made("\n\n".join([first, download, *filter(None, rest)]) + "\n", images)


def _shown(output: Mapping[str, Any], name: str, images: dict[str, bytes]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        images[f"{name}.png"] = base64.b64decode(_joined(data["image/png"]))
        return f"![{_alternative(data)}]({name}.png)"
    if "image/svg+xml" in data:
        images[f"{name}.svg"] = _joined(data["image/svg+xml"]).encode()
        return f"![{_alternative(data)}]({name}.svg)"
    if "text/html" in data:
        lines = (line for line in _joined(data["text/html"]).splitlines() if line.strip())
        return '<div class="output">\n' + "\n".join(lines) + "\n</div>"
    text = _joined(output.get("text", data.get("text/plain", output.get("traceback", ""))))
    return _fenced(ESCAPES.sub("", text).strip("\n"), "{ .text .printed }") if text.strip() else ""


def _alternative(data: Mapping[str, Any]) -> str:
    """What a picture shows, for those who do not see it; brackets would end it."""
    text = _joined(data.get("text/plain", "")).strip()
    return "Output of the cell above" if not text or text.startswith("<") else re.sub(r"[\[\]\n]", " ", text)


def _fenced(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
