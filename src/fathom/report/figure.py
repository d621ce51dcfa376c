"""A figure on the page, with its text, and charts as files; what draws is imported when something is drawn."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup

from fathom.plugins.extras import missing_library
from fathom.report.charts import Chart
from fathom.report.colours import PAPER
from fathom.report.drawing import Size
from fathom.report.table import Replies
from fathom.storage.atomic import whole_file
from fathom.types import FathomError

SMALL = Size(250, 150)
"""Plotting area of small multiples, in pixels."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing on the page.

    Attributes:
        title: Its heading, "" for none.
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


def drawn(chart: Chart, label: str, *, whole: bool = False) -> Markup:
    """A chart as an element of a page.

    Args:
        label: What it shows, for screen readers.
        whole: Whether it keeps its size on narrow screens and scrolls instead.
    """
    # The drawing escapes what it holds.
    return Markup(inline(chart, label, whole=whole))


def inline(chart: Chart, label: str, *, whole: bool = False) -> str:
    """Draws a chart as an ``<svg>`` element for a page.

    Args:
        label: What it shows, for screen readers.
        whole: Whether it keeps its size on narrow screens and scrolls instead.

    Returns:
        The element: its size comes from the page, its type from the surrounding text, and each colour of
        ``colours.NAMES`` is a CSS variable, so that one drawing serves both themes.
    """
    from fathom.report.svg import element

    return element(chart, label, whole=whole)


def _svg(chart: Chart) -> str:
    """The drawing as a file."""
    from fathom.report.svg import document

    return document(chart)


def _vega_lite(chart: Chart) -> bytes:
    """The Vega-Lite specification as a file."""
    from fathom.report.vegalite import specification

    return json.dumps(specification(chart, PAPER.light), ensure_ascii=False, indent=1).encode()


def _page(chart: Chart) -> bytes:
    """A page with only the drawing, which loads no other file."""
    title = escape(chart.title or "figure")
    style = f"body{{margin:1em;background:{PAPER.light}}} svg{{max-width:100%;height:auto}}"
    head = f'<meta charset="utf-8"><title>{title}</title><style>{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{_svg(chart)}</body></html>\n'.encode()


def _converter() -> Any:
    """The library that converts drawings to other formats."""
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        raise missing_library(error) or error from None
    return vl_convert


FORMATS: dict[str, Callable[[Chart], bytes]] = {
    ".svg": lambda chart: _svg(chart).encode(),
    ".png": lambda chart: bytes(_converter().svg_to_png(_svg(chart), scale=3)),
    ".pdf": lambda chart: bytes(_converter().svg_to_pdf(_svg(chart))),
    ".html": _page,
    ".json": _vega_lite,
}
CONVERTED = (".png", ".pdf")
"""Formats that need the extra ``figures``."""


def check_format(out: Path) -> None:
    """Checks the suffix of a figure's file before any work is done.

    Raises:
        FathomError: Its suffix is not one of ``FORMATS``.
        MissingLibraryError: It needs the extra ``figures``.
    """
    if out.suffix.lower() not in FORMATS:
        raise FathomError(f"{out}: a figure must end in one of {', '.join(FORMATS)}.")
    if out.suffix.lower() in CONVERTED:
        _converter()


def save(chart: Chart, out: Path) -> Path:
    """Draws a chart as a file, in the look that all figures share.

    Args:
        out: A ``.svg``, ``.png``, ``.pdf`` or ``.html`` file, or ``.json`` for the Vega-Lite specification.

    Returns:
        ``out``; the file is replaced atomically.

    Raises:
        FathomError: The suffix is another one, or the file cannot be written.
    """
    check_format(out)
    drawn = FORMATS[out.suffix.lower()](chart)
    with whole_file(out, "wb") as stream:
        stream.write(drawn)
    return out
