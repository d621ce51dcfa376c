"""The report as one self-contained HTML page."""

import base64
import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from fathom.printing import printable
from fathom.report.colours import css_variables
from fathom.report.drawing import style
from fathom.report.parts import Mark, PagePart, soft
from fathom.report.results import Results
from fathom.report.sections import SECTIONS
from fathom.report.sections.lengths import first_figure
from fathom.report.summary import WHOLE, summary
from fathom.report.table import Replies
from fathom.types import FathomError

if TYPE_CHECKING:
    import jinja2

TITLE = "Long-context reliability"
UNMEASURED = 5
"""Sentences on what was not measured that are not folded."""


class ShownSection(NamedTuple):
    """A section of the page, which is folded to its title and one line."""

    id: str
    title: str
    finding: str
    about: str
    tables_class: str
    opened: bool
    parts: Sequence[PagePart]


def page(results: Results, *, title: str = TITLE, link: Callable[[Replies], str] | None = None) -> str:
    """The page as HTML text. All text from the rows is escaped; a content security policy forbids loading anything.

    Args:
        results: What was measured.
        title: Title of the page.
        link: Gives the address of the replies behind a figure; None without links.
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
    script = Markup("".join(_resource(environment, name) for name in ("theme.js", "values.js")))
    text = environment.get_template("page.html.j2").render(
        systems=[Mark(system.name, *style(number)[1:]) for number, system in enumerate(results.systems)],
        title=printable(title),
        summary=summary(results),
        most=UNMEASURED,
        whole=WHOLE,
        curve=first_figure(results),
        sections=_sections(results),
        linked=link is not None,
        light=Markup(css_variables("light")),
        dark=Markup(css_variables("dark")),
        style=Markup(_resource(environment, "style.css")),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    # The template's macros leave line ends before the page.
    return text.lstrip()


def _sections(results: Results) -> list[ShownSection]:
    """The sections that have anything to show."""
    shown = []
    for section in SECTIONS:
        tables = section.tables(results)
        if parts := list(section.page(results, tables)):
            shown.append(
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
    return shown


def _resource(environment: "jinja2.Environment", name: str) -> str:
    if environment.loader is None:
        raise FathomError("The templates of the report are missing: reinstall fathom.")
    return environment.loader.get_source(environment, name)[0]
