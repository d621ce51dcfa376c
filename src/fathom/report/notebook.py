"""A report in a notebook: the ranking and the chart, the breakdowns folded below; the rest is only in the page."""

from collections.abc import Sequence

from markupsafe import Markup

from fathom.report.charts import Chart
from fathom.report.plot import chart_of
from fathom.report.results import Results
from fathom.report.sections import SECTIONS
from fathom.report.setup_charts import PAPER_SIZE, score_chart
from fathom.report.studies import as_markup
from fathom.report.summary import WHOLE, summary
from fathom.report.svg import image as image
from fathom.report.table import Table
from fathom.types import FathomError

FIRST = ("headline", "setups")
FOLDED = "setups-costs"
"""Beginning of the names of tables with a row for each setup at each length."""
LABEL = "Score against length; the figures are in the tables"
LEFT_OUT = (*(section.name for section in SECTIONS if not section.in_notebook), "published")
"""Sections that are about how the report was made; they are on the page."""


def as_notebook(results: Results, tables: Sequence[Table]) -> str:
    """The report as HTML for a notebook.

    Args:
        results: What was measured.
        tables: Those of the report.
    """
    seen = [
        table for table in tables if table.section in FIRST and not table.detail and not table.name.startswith(FOLDED)
    ]
    folded = [table for table in tables if table not in seen and table.section not in LEFT_OUT]
    shown = summary(results)
    missing = "".join(Markup("<li>{}</li>").format(sentence) for sentence in map(str, shown.unmeasured))
    parts: list[str] = [Markup("<p>{}</p>").format(sentence) for sentence in map(str, shown.answers)]
    parts += [Markup("<p>Not measured:</p><ul>{}</ul>").format(Markup(missing)) if missing else f"<p>{WHOLE}</p>"]
    parts += [as_markup(table) for table in seen]
    parts += [image(chart, LABEL) for chart in _charts(results)]
    if folded:
        more = "\n".join(map(as_markup, folded))
        parts.append(f"<details><summary>By task, LongScore and effective lengths</summary>{more}</details>")
    return "\n".join(parts)


def _charts(results: Results) -> list[Chart]:
    compared = results.setups
    if compared is not None and compared.others:
        return [score_chart(compared, family, PAPER_SIZE, legend=True) for _, family in compared.families]
    try:
        return [chart_of(results, "curve")]
    except FathomError:  # nothing has a score
        return []
