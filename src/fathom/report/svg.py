"""Charts to SVG for a page: drawn offline, freed of what a page does not need, following the page's colours."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import altair as alt
import vl_convert

from fathom.report.colours import NAMES
from fathom.report.drawing import CONFIG

_VARIABLES = {colour.light: f"var(--{name}, {colour.light})" for name, colour in NAMES.items()}
_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
# The figure carries one label for readers of the screen; Vega's own, one a mark, only repeat the table beneath it.
_DROPPED = ("aria-", "role", "class", "pointer-events", "font-family", "xmlns", "version")


def specification(chart: alt.TopLevelMixin, background: str = "transparent") -> dict[str, Any]:
    """The Vega-Lite specification of a chart, with the look that all figures share."""
    # Validation finds our mistakes, not the user's, and takes longer than drawing; the tests validate every kind.
    return chart.to_dict(validate=False) | {"config": dict(CONFIG), "background": background}


def inline(chart: alt.TopLevelMixin, label: str, *, whole: bool = False) -> str:
    """Draws a chart as an ``<svg>`` element for a page.

    Args:
        chart: The chart.
        label: What it shows, for those who do not see it.
        whole: Whether it keeps its size where there is less room, and is moved into view instead.

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


_USUAL = {("opacity", "1"), ("transform", "translate(0,0)"), ("stroke-opacity", "1"), ("fill-opacity", "1")}


def _is_empty(element: ElementTree.Element) -> bool:
    if element.tag == "g":
        return len(element) == 0
    # Vega draws a frame for every group; ours have neither stroke nor fill.
    invisible = element.get("display") == "none" or not (element.get("fill") or element.get("stroke"))
    return element.tag == "path" and (not element.get("d") or (invisible and "clip-path" not in element.attrib))


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match.group()):.1f}".removesuffix(".0")
