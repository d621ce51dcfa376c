"""Charts as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from fathom.atomic import whole_file
from fathom.report import svg
from fathom.report.colours import PAPER
from fathom.types import FathomError


def _page(spec: dict[str, Any]) -> bytes:
    """A page with nothing but the drawing, which loads nothing from elsewhere."""
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
    """Refuse a file that no figure can be written to, before any work is done.

    Args:
        out: The file.

    Raises:
        FathomError: Its suffix is not one of ``FORMATS``.
    """
    if out.suffix.lower() not in FORMATS:
        raise FathomError(
            f"{out}: a figure is a {', '.join(FORMATS)} file, not {out.suffix or 'one without a suffix'!r}."
        )


def save(chart: alt.TopLevelMixin, out: Path) -> Path:
    """Draws a chart as a file, in the look that all figures share.

    Args:
        chart: The chart.
        out: A ``.svg``, ``.png``, ``.pdf`` or ``.html`` file, or ``.json`` for the Vega-Lite specification.

    Returns:
        ``out``; a reader sees the old file or the whole new one.

    Raises:
        FathomError: The suffix is another one, or the file cannot be written.
    """
    check_format(out)
    drawn = FORMATS[out.suffix.lower()](svg.specification(chart, PAPER.light))
    with whole_file(out, "wb") as stream:
        stream.write(drawn)
    return out
