"""The report as one self-contained HTML page."""

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from fathom.printing import printable
from fathom.report.colours import css_variables
from fathom.report.drawing import style
from fathom.report.figure import Figure
from fathom.report.parts import Mark, PagePart, soft
from fathom.report.results import Results, System
from fathom.report.sections import SECTIONS
from fathom.report.sections.lengths import first_figure
from fathom.report.summary import WHOLE, Summary, summary
from fathom.report.table import Replies, Table
from fathom.types import FathomError

if TYPE_CHECKING:
    import jinja2

TITLE = "Long-context reliability"
UNMEASURED, FEW = 5, 1
"""Sentences on what was not measured that are not folded, and those above a comparison."""
MANY, EACH = 12, 10
"""Models up to which one page has everything, and models of each page that has details of more."""
MODEL = "Model"
"""Heading of the first column of tables with a row for each model."""


class ShownSection(NamedTuple):
    """A section of the page, which is folded to its title and one line."""

    id: str
    title: str
    finding: str
    about: str
    tables_class: str
    opened: bool
    parts: Sequence[PagePart]


class Details(NamedTuple):
    """Some models out of many, whose details are on one page.

    Attributes:
        tables: The tables of all models, by section.
        first: On further pages, the address of the first one.
        pages: On the first page, the addresses of those with the other models, and what they are about.
        models: The address of each of these models, by its number in the ranking.
    """

    shown: Results
    tables: Mapping[str, Sequence[Table]]
    first: str = ""
    pages: Sequence[tuple[str, str]] = ()
    models: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is on a page.

    Attributes:
        summary: What it begins with.
        curve: The chart below, or None.
        systems: Models in the order of their colours.
        whole: What it says if nothing was left unmeasured.
        lacking: Heading of what was left unmeasured.
        paired: Whether the chart is beside the table instead of below it.
        numbers: Everything as JSON, for programs that read the page; "" for none.
    """

    title: str
    summary: Summary
    curve: Figure | None
    sections: Sequence[ShownSection]
    systems: Sequence[System]
    whole: str = WHOLE
    lacking: str = "Not measured"
    paired: bool = False
    numbers: str = ""


def details_folder(page: Path) -> Path:
    """The folder of further pages, beside the first one."""
    return page.with_name(f"{page.stem}-details")


def pages(
    results: Results,
    first: Path,
    *,
    title: str = TITLE,
    link: Callable[[Replies], str] | None = None,
    numbers: str = "",
) -> Iterator[tuple[Path, str]]:
    """The pages of a report: one for few models; of many the first has all rankings, further ones details of ten each.

    Args:
        results: What was measured.
        first: The file of the first page.
        title: Title of the first page.
        link: See :func:`page`; relative addresses are those from the first page.
        numbers: See :func:`page`; those of all models, on the first page.

    Yields:
        Each page with its text; the first one comes last, when those that it links to exist.
    """
    systems = results.systems
    if len(systems) <= MANY or results.setups is not None:
        yield first, page(results, title=title, link=link, numbers=numbers)
        return
    parts = [systems[start : start + EACH] for start in range(0, len(systems), EACH)]
    ends = [(EACH * number + 1, EACH * number + len(part)) for number, part in enumerate(parts)]
    tables = {section.name: section.tables(results) for section in SECTIONS}
    above = (lambda replies: f"../{link(replies)}") if link is not None else None
    addresses: list[tuple[str, str]] = []
    models: dict[int, str] = {}
    for (start, end), part in list(zip(ends, parts, strict=True))[1:]:
        name, about = f"models-{start}-{end}.html", f"models {start} to {end}"
        own = results.only(part)
        details = Details(own, tables, f"../{quote(first.name)}")
        yield details_folder(first) / name, page(own, title=f"{title}: {about}", link=above, details=details)
        addresses.append((f"{quote(details_folder(first).name)}/{name}", about))
        models |= dict.fromkeys(range(start - 1, end), addresses[-1][0])
    details = Details(results.only(parts[0]), tables, pages=addresses, models=models)
    yield first, page(results, title=title, link=link, details=details, numbers=numbers)


def page(
    results: Results,
    *,
    title: str = TITLE,
    link: Callable[[Replies], str] | None = None,
    details: Details | None = None,
    numbers: str = "",
) -> str:
    """The page as HTML text. All text from the rows is escaped; a content security policy forbids loading anything.

    Args:
        results: What was measured.
        title: Title of the page.
        link: Gives the address of the replies behind a figure; None without links.
        details: The models whose details are on it, if not those of all.
        numbers: Everything as JSON, for programs that read the page; "" for none.
    """
    shown = results if details is None else details.shown
    content = Content(
        title=title,
        summary=summary(results),
        curve=first_figure(shown),
        sections=_sections(results, details),
        systems=shown.systems,
        numbers=numbers,
    )
    return rendered(content, link=link, details=details)


def rendered(content: Content, *, link: Callable[[Replies], str] | None = None, details: Details | None = None) -> str:
    """A page of these parts as HTML text; arguments as in :func:`page`.

    Raises:
        FathomError: The templates are missing.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fathom.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["soft"] = soft
    environment.filters["kind"] = lambda part: type(part).__name__
    environment.filters["address"] = lambda replies: link(replies) if link and replies else ""
    values = files("fathom.web").joinpath("values.js").read_text("utf-8")
    script = Markup(_resource(environment, "theme.js") + values)
    text = environment.get_template("page.html.j2").render(
        systems=[Mark(system.name, *style(number)[1:]) for number, system in enumerate(content.systems)],
        title=printable(content.title),
        summary=content.summary,
        most=FEW if content.paired else UNMEASURED,
        whole=content.whole,
        lacking=content.lacking,
        paired=content.paired,
        curve=content.curve,
        sections=content.sections,
        details=details,
        elsewhere=details.models if details else {},
        linked=link is not None,
        light=Markup(css_variables("light")),
        dark=Markup(css_variables("dark")),
        style=Markup(_resource(environment, "style.css")),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        numbers=Markup(content.numbers.replace("<", "\\u003c")),
    )
    # The template's macros leave line ends before the page.
    return text.lstrip()


def _sections(results: Results, details: Details | None) -> list[ShownSection]:
    """The sections that have anything to show."""
    sections = []
    shown = results if details is None else details.shown
    for section in SECTIONS:
        tables = section.tables(shown)
        if details is not None:
            tables = _of_all(tables, details.tables[section.name], rankings=shown is not results)
        if parts := list(section.page(shown, tables)):
            sections.append(
                ShownSection(
                    id=f"section-{section.name}",
                    title=section.title,
                    finding=section.finding(results),
                    about=section.about_of(results, tables),
                    tables_class=section.tables_class,
                    opened=section.opened(results),
                    parts=parts,
                )
            )
    return sections


def _of_all(tables: Sequence[Table], every: Sequence[Table], *, rankings: bool) -> list[Table]:
    """Tables of some models with the sentences of those of all, and those with a row for each model as they are."""
    if rankings:
        whole = {table.name: table for table in every if table.columns[0].label == MODEL}
        tables = [whole.get(table.name, table) for table in tables]
    abouts = [table.about for table in every if table.about]
    own = [number for number, table in enumerate(tables) if table.about]
    about = dict(zip(own, abouts, strict=True)) if len(own) == len(abouts) else {}
    return [replace(table, about=about.get(number, table.about)) for number, table in enumerate(tables)]


def _resource(environment: "jinja2.Environment", name: str) -> str:
    if environment.loader is None:
        raise FathomError("The templates of the report are missing: reinstall fathom.")
    return environment.loader.get_source(environment, name)[0]
