"""A figure as a value: a drawing for the page, with its words."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
from markupsafe import Markup

from fathom.report import svg
from fathom.report.drawing import Size

SMALL = Size(250, 150)
"""Plotting area of small multiples, in pixels."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing on the page.

    Attributes:
        title: Its heading, "" for none.
        wide: The drawing.
        narrow: The drawing for narrow screens, where another is better.
        note: A line beneath it, "" for none.
    """

    title: str
    wide: Markup
    narrow: Markup | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Figures under one heading, "" for none."""

    title: str
    figures: tuple[Figure, ...]


def drawn(chart: alt.LayerChart, label: str, *, whole: bool = False) -> Markup:
    """A chart as an element of a page.

    Args:
        chart: The chart.
        label: What it shows, for those who do not see it.
        whole: Whether it keeps its size where there is less room, and is moved into view instead.
    """
    # The drawing comes from an XML writer that escapes what it holds.
    return Markup(svg.inline(chart, label, whole=whole))
