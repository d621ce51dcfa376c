"""The report of a comparison: a page, with the tables and figures of its setups first."""

from collections.abc import Sequence
from pathlib import Path

from fathom.extend.published import published_comparisons
from fathom.lab.compare import Comparison
from fathom.report import Report
from fathom.report.made import measured, write
from fathom.report.published import published_tables
from fathom.report.setups import ComparedSetups
from fathom.stats.outcomes import Unanswered

PAGE = "report.html"


def report_of(
    found: Comparison, *, unanswered: Unanswered = "zero", seed: int = 0, made: Sequence[tuple[str, str]] = ()
) -> Report:
    """The report of the comparison of one model, with published comparisons beside it.

    Args:
        found: The comparison.
        unanswered: How unanswered replies count.
        seed: Seed of the bootstrap.
        made: How it was made: name and value.
    """
    compared = ComparedSetups(
        results=found.results,
        window=found.window,
        base=found.base,
        tuned=found.tuned,
        published=tuple(published_tables(published_comparisons())),
    )
    return measured(
        found.rows,
        title=f"How far {found.model.rpartition('/')[2]} reads",
        seed=seed,
        unanswered=unanswered,
        notes=found.notes,
        made=made,
        setups=compared,
    )


def write_page(found: Comparison, report: Report) -> Path:
    """Write the page into the folder of the comparison; its address."""
    path = found.folder / PAGE
    write(report, path)
    return path
