"""Charts as values: layers of marks over two axes. ``svg`` draws them, ``vegalite`` writes them as a specification.

A record of a layer is a mapping. Marks take their place from the fields that a layer names, and the text that is shown
under the pointer from the field ``says``, if there is one. All colours are the light form of ``colours.NAMES``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from fathom.report.colours import INK, Colour

Records: TypeAlias = Sequence[Mapping[str, object]]
SAYS = "says"
"""The field with the text that a mark has under the pointer."""


class Size(NamedTuple):
    """Size of a chart's plotting area, in pixels."""

    width: int
    height: int


class Style(NamedTuple):
    """Style of one system. Colours repeat after six and markers after eight, so that both repeat only after 24.

    ``name`` is the colour's name in ``colours.NAMES``.
    """

    colour: Colour
    name: str
    dash: tuple[int, ...]
    shape: str


# -------------------------------------------------------------------------------------------------------------- layers


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line through points in their order, or one for each series; ``colour`` "" is that of the series.

    ``detail`` names the field that separates lines of one colour, ``order`` the field that gives the order of points
    where it is not that of ``x``; records are in this order.
    """

    records: Records
    x: str
    y: str
    colour: str = ""
    width: float = 2
    dash: Sequence[int] = ()
    detail: str = ""
    order: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A faint band between two fields, in the colour of its series."""

    records: Records
    x: str
    low: str
    high: str
    opacity: float = 0.13


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A straight line from ``low`` to ``high``, across the axis of which ``x`` or ``y`` names the place.

    With no ``low``, it crosses the whole plotting area. With ``x`` it is upright. ``colour`` "" is that of the series.
    """

    records: Records
    x: str = ""
    y: str = ""
    low: str = ""
    high: str = ""
    colour: str = ""
    width: float = 1.5
    dash: Sequence[int] = ()
    opacity: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Markers. ``size`` is their area, or the field that has it; ``colour`` and ``shape`` "" are those of the series.

    ``hollow`` markers have the colour of the paper inside, ``outlined`` ones a thin line of that colour around them.
    """

    records: Records
    x: str
    y: str
    size: float | str = 34
    colour: str = ""
    shape: str = ""
    hollow: bool = False
    outlined: bool = False
    width: float = 1.5
    opacity: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """Short lines across the axis of values, in rows; ``colour`` "" is that of the series."""

    records: Records
    x: str
    y: str
    length: float
    colour: str = ""
    width: float = 1.2
    opacity: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """A tile for each pair of names; ``heat`` is the field with its colour, "" for the colour of the series."""

    records: Records
    x: str
    y: str
    heat: str = ""
    gap: float = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Texts: ``text`` is their field, or ``fixed`` the text of all; ``hue`` is a field with colours.

    ``y`` "" is the upper end. The text begins at its place with ``left``, otherwise its middle is there.
    """

    records: Records
    x: str
    y: str = ""
    text: str = ""
    fixed: str = ""
    colour: str = INK.light
    hue: str = ""
    font: int = 11
    left: bool = True
    dx: float = 0
    dy: float = 0
    limit: float = 0


Layer: TypeAlias = Line | Area | Rule | Points | Ticks | Tiles | Labels


# ---------------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A scale of numbers from ``low`` to ``high``, which is the smaller one on a reversed axis, with its axis.

    Attributes:
        low: At the left or lower end.
        high: At the right or upper end.
        ticks: Numbers with their labels.
        log: Whether the scale is logarithmic.
        grid: Whether there are grid lines at the ticks.
        marks: Whether there are short marks at the ticks.
        top: Whether labels are above.
        title: Of the axis, "" for none.
        font: Size of labels.
    """

    low: float
    high: float
    ticks: Sequence[tuple[float, str]] = ()
    log: bool = False
    grid: bool = False
    marks: bool = False
    top: bool = False
    title: str = ""
    font: int = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """A band for each name, with its axis.

    Attributes:
        names: From left to right, or from top to bottom.
        labels: The names that have a label; None for all.
        top: Whether labels are above.
        title: Of the axis, "" for none.
        widest: Maximum width of labels in pixels; longer ones are shortened.
        font: Size of labels.
        rows: Names of the rows within each band; their field is that of the series.
        gap: Pixels of each band that its rows leave free.
    """

    names: Sequence[str]
    labels: Sequence[str] | None = None
    top: bool = False
    title: str = ""
    widest: float = 220
    font: int = 11
    rows: Sequence[str] = ()
    gap: float = 0


Axis: TypeAlias = Numbers | Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What colours, dashes and markers mean.

    Attributes:
        field: The field of records with the name of their series.
        styles: Style of each name, in the order of the legend.
        columns: Columns of the legend, 0 for none.
        title: Of the legend, "" for none.
        hollow: Names whose markers in the legend are hollow.
        dashed: Whether lines have the dashes of their style.
    """

    field: str
    styles: Mapping[str, Style]
    columns: int = 0
    title: str = ""
    hollow: frozenset[str] = frozenset()
    dashed: bool = False


# -------------------------------------------------------------------------------------------------------------- charts


class _Shown:
    """A chart that gives its specification and shows itself in notebooks; both modules import this one."""

    def to_dict(self, validate: bool = True) -> dict[str, Any]:
        """The Vega-Lite specification, without the look that all figures share; ``validate`` is not used."""
        specification: dict[str, Any] = import_module("fathom.report.vegalite").vega_lite(self)
        return specification

    def _repr_html_(self) -> str:
        return str(import_module("fathom.report.svg").image(self, "Chart"))


@dataclass(frozen=True, kw_only=True)
class LayerChart(_Shown):
    """Layers in one plotting area.

    Attributes:
        layers: From the lowest to the uppermost.
        x: The horizontal axis.
        y: The vertical axis.
        series: What colours, dashes and markers mean; None if nothing differs by series.
        title: A heading, "" for none.
        note: Lines in small type under it.
        aligned: Whether the heading begins at the plotting area instead of the left end.
        frame: Colour of a frame around the plotting area, "" for none.
    """

    layers: Sequence[Layer]
    size: Size
    x: Axis
    y: Axis
    series: Series | None = None
    title: str = ""
    note: Sequence[str] = ()
    aligned: bool = False
    frame: str = ""


@dataclass(frozen=True, kw_only=True)
class ConcatChart(_Shown):
    """Charts in columns under one heading.

    Attributes:
        columns: How many in a row.
        spacing: Pixels between them.
        title: A heading, "" for none.
        note: Lines in small type under it.
        shared: Whether they share a legend, which is below all of them.
    """

    concat: Sequence[LayerChart]
    columns: int
    spacing: float = 24
    title: str = ""
    note: Sequence[str] = ()
    shared: bool = False


Chart: TypeAlias = LayerChart | ConcatChart
