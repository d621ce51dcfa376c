"""A figure on the page, with its text, and charts as files.

Charts become SVG without network access, reduced to what a page needs, in the colours of the page.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import vl_convert
from markupsafe import Markup

from fathom.report.colours import NAMES, PAPER
from fathom.report.drawing import CONFIG, Size
from fathom.report.table import Replies
from fathom.storage.atomic import whole_file
from fathom.types import FathomError

SMALL = Size(250, 150)
"""Plotting area of small multiples, in pixels."""
_VARIABLES = {colour.light: f"var(--{name}, {colour.light})" for name, colour in NAMES.items()}
_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
# The figure has one label for screen readers; Vega's labels, one per mark, only repeat the table below it.
_DROPPED = ("aria-", "role", "class", "pointer-events", "font-family", "xmlns", "version")
_USUAL = {("opacity", "1"), ("transform", "translate(0,0)"), ("stroke-opacity", "1"), ("fill-opacity", "1")}


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing on the page.

    Attributes:
        title: Its heading, "" for none.
        wide: The drawing.
        narrow: Another drawing for narrow screens, if that is better.
        note: A line under it, "" for none.
        replies: The replies that it shows the scores of, or None.
    """

    title: str
    wide: Markup
    narrow: Markup | None = None
    note: str = ""
    replies: Replies | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Figures under one heading, "" for none."""

    title: str
    figures: tuple[Figure, ...]


def drawn(chart: alt.LayerChart, label: str, *, whole: bool = False) -> Markup:
    """A chart as an element of a page.

    Args:
        chart: The chart.
        label: What it shows, for screen readers.
        whole: Whether it keeps its size on narrow screens and scrolls instead.
    """
    # The drawing comes from an XML writer that escapes what it holds.
    return Markup(inline(chart, label, whole=whole))


def specification(chart: alt.TopLevelMixin, background: str = "transparent") -> dict[str, Any]:
    """The Vega-Lite specification of a chart, with the look that all figures share."""
    # Validation finds our mistakes, not the user's, and takes longer than drawing; the tests validate every kind.
    return chart.to_dict(validate=False) | {"config": dict(CONFIG), "background": background}


def inline(chart: alt.TopLevelMixin, label: str, *, whole: bool = False) -> str:
    """Draws a chart as an ``<svg>`` element for a page.

    Args:
        chart: The chart.
        label: What it shows, for screen readers.
        whole: Whether it keeps its size on narrow screens and scrolls instead.

    Returns:
        The element: its size comes from the page, its type from the surrounding text, and each colour of
        ``colours.NAMES`` is a CSS variable, so that one drawing serves both themes.
    """
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(specification(chart)))
    _slim(root)
    width, height = root.attrib.pop("width"), root.attrib.pop("height")
    room = f"max-width:{round(1.35 * float(width))}px"
    if whole:
        room += f";min-width:{round(float(width))}px"
    root.attrib |= {"role": "img", "aria-label": label, "style": room}
    root.attrib.setdefault("viewBox", f"0 0 {width} {height}")
    return ElementTree.tostring(root, encoding="unicode")


def _slim(element: ElementTree.Element) -> None:
    element.tag = element.tag.rpartition("}")[2]
    for child in list(element):
        _slim(child)
        if _is_empty(child):
            element.remove(child)
    for name, value in list(element.attrib.items()):
        if name.rpartition("}")[2].startswith(_DROPPED) or (name, value) in _USUAL:
            del element.attrib[name]
        else:
            element.attrib[name] = _VARIABLES.get(value) or _NUMBER.sub(_rounded, value)


def _is_empty(element: ElementTree.Element) -> bool:
    if element.tag == "g":
        return len(element) == 0
    # Vega draws a frame for every group; ours have neither stroke nor fill.
    invisible = element.get("display") == "none" or not (element.get("fill") or element.get("stroke"))
    return element.tag == "path" and (not element.get("d") or (invisible and "clip-path" not in element.attrib))


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match.group()):.1f}".removesuffix(".0")


def _page(spec: dict[str, Any]) -> bytes:
    """A page with only the drawing, which loads no other file."""
    drawing = str(vl_convert.vegalite_to_svg(spec))
    title = escape(str(spec.get("description", "figure")))
    style = f"body{{margin:1em;background:{PAPER.light}}} svg{{max-width:100%;height:auto}}"
    head = f'<meta charset="utf-8"><title>{title}</title><style>{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{drawing}</body></html>\n'.encode()


FORMATS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    ".svg": lambda spec: str(vl_convert.vegalite_to_svg(spec)).encode(),
    ".png": lambda spec: bytes(vl_convert.vegalite_to_png(spec, scale=3)),
    ".pdf": lambda spec: bytes(vl_convert.vegalite_to_pdf(spec)),
    ".html": _page,
    ".json": lambda spec: json.dumps(spec, ensure_ascii=False, indent=1).encode(),
}


def check_format(out: Path) -> None:
    """Checks the suffix of a figure's file before any work is done.

    Args:
        out: The file.

    Raises:
        FathomError: Its suffix is not one of ``FORMATS``.
    """
    if out.suffix.lower() not in FORMATS:
        raise FathomError(f"{out}: a figure must end in one of {', '.join(FORMATS)}.")


def save(chart: alt.TopLevelMixin, out: Path) -> Path:
    """Draws a chart as a file, in the look that all figures share.

    Args:
        chart: The chart.
        out: A ``.svg``, ``.png``, ``.pdf`` or ``.html`` file, or ``.json`` for the Vega-Lite specification.

    Returns:
        ``out``; the file is replaced atomically.

    Raises:
        FathomError: The suffix is another one, or the file cannot be written.
    """
    check_format(out)
    drawn = FORMATS[out.suffix.lower()](specification(chart, PAPER.light))
    with whole_file(out, "wb") as stream:
        stream.write(drawn)
    return out
