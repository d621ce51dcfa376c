"""A section of a report as a value: what it measures, its tables, its part of the page, its figures, its sentences.

``fathom.report.sections`` has the list of all sections. The page, the terminal, Markdown, JSON, notebooks, ``fathom
plot`` and ``fathom analyze`` walk it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fathom.report.charts import LayerChart, Size
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.parts import Figures, PagePart, Text, key_of_models, table_parts
from fathom.report.results import Measurement, Results
from fathom.report.table import Table
from fathom.types.choices import Figure as Kind

PANEL, TILE = Size(230, 160), Size(46, 26)
"""Small multiples, and the tiles of heat maps, in files of figures."""
COLUMNS = 3
"""Columns of small multiples."""
LONG_NAME, LEGEND_LINES = 30, 8
"""Characters of a name that two columns of a legend do not hold in every font, and lines of a legend."""


# ---------------------------------------------------------------------------------------------------------- sections


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A kind of figure that ``fathom plot`` draws into a file.

    Attributes:
        kind: Its name.
        draw: Gives its panels; none if there is nothing to draw.
        heading: Above several panels, which share their legend then; "" for none.
        caption: Under the heading, "" for none.
        lacking: Why there is nothing to draw.
        columns: Panels in a row.
    """

    kind: Kind
    draw: Callable[[Results], Sequence[LayerChart]]
    heading: str = ""
    caption: str = ""
    lacking: str = "no reply has a score"
    columns: int = COLUMNS


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a report.

    Attributes:
        name: Unique; its tables have it as their section, and the page as a part of an id.
        title: Its heading.
        finding: One line on what a reader finds there, "" for none.
        about: A text above it on the page, "" for that of its first table.
        tables: Its tables, in reading order; none if there is nothing to show.
        page: Its part of the page, with the tables; nothing at all leaves the section out.
        tables_class: CSS classes of its tables; with "heat" the page has a scale of colours.
        opened: Whether the page shows it unfolded.
        in_notebook: Whether a notebook shows its tables.
        measurements: What it measures on the rows of each model.
        charts: Figures that can be drawn into files.
        studies: Tables of results of ``fathom.analysis``, by their type.
        markdown: What it adds to the summary in Markdown, "" for nothing.
        numbers: What the JSON of the report has under the section's name, None for nothing.
    """

    name: str
    title: str
    finding: Callable[[Results], str]
    about: str | Callable[[Results], str] = ""
    tables: Callable[[Results], Sequence[Table]] = lambda results: ()
    page: Callable[[Results, Sequence[Table]], Iterable[PagePart]] = lambda results, tables: table_parts(tables)
    tables_class: str = ""
    opened: Callable[[Results], bool] = lambda results: False
    in_notebook: bool = True
    measurements: Sequence[Measurement[Any]] = ()
    charts: Sequence[Chart] = ()
    studies: Mapping[type, Callable[[Any], Sequence[Table]]] = field(default_factory=dict)
    markdown: Callable[[Results], str] = lambda results: ""
    numbers: Callable[[Results], Mapping[str, Any] | None] = lambda results: None

    def about_of(self, results: Results, tables: Sequence[Table]) -> str:
        """The text above it on the page."""
        own = self.about if isinstance(self.about, str) else self.about(results)
        return own or (tables[0].about if tables else "")


@dataclass(frozen=True, kw_only=True)
class Panels:
    """Charts of a section with a heading each: small multiples on the page, and panels of a file of figures.

    Attributes:
        charts: Gives headings and charts for results, a plotting area, columns of legends, and whether charts contain
            their headings.
        label: What a chart shows, before its heading.
        text: Under the charts of the page.
        shared: Whether the lines are the models of the report: then one key of these stands above the charts.
    """

    charts: Callable[[Results, Size, int, bool], Sequence[tuple[str, LayerChart]]]
    label: str
    text: str
    shared: bool = False

    def page(self, results: Results) -> list[PagePart]:
        """The charts on the page; nothing without any."""
        charts = self.charts(results, SMALL, 0 if self.shared else 2, False)
        figures = [Figure(heading, drawn(chart, f"{self.label}, {heading}")) for heading, chart in charts]
        key = [key_of_models(results)] if self.shared else []
        return [*key, Figures(figures), Text(self.text)] if figures else []

    def draw(self, results: Results) -> list[LayerChart]:
        """The charts of a file."""
        legend = legend_columns(results, COLUMNS) if self.shared else COLUMNS
        return [chart for _, chart in self.charts(results, PANEL, legend, True)]


def legend_columns(results: Results, most: int) -> int:
    """Columns of a legend: one for few models, and for up to eight if a name is long."""
    several = len(results.systems)
    wide = max((len(system.name) for system in results.systems), default=0) > LONG_NAME
    return 1 if several <= COLUMNS or (wide and several <= LEGEND_LINES) else most
