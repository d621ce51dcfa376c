"""A finished comparison and its report: a page, with the tables and figures of its setups first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from fathom.analysis.setups import SetupResult, Tuned
from fathom.extend.published import published_comparisons
from fathom.report.made import Report, measured, write
from fathom.report.published import published_tables
from fathom.report.setup_charts import setup_figures
from fathom.report.setups import ComparedSetups, numbers
from fathom.report.studies import Tables
from fathom.report.table import Table
from fathom.stats.outcomes import Unanswered

PAGE = "report.html"
FIGURES = "figures"
Figures: TypeAlias = Literal["svg", "pdf", "png", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The finished comparison of one model.

    Attributes:
        model: Its name.
        folder: Folder of its runs, its record and its page.
        results: One for each setup, the base first.
        base: Name of the base.
        window: Trained window, in tokens.
        tuned: The values that were tried.
        rows: All rows; their model is the name of the setup.
        notes: What a reader must know.
        failed: Why a setup could not be asked, by its name.
    """

    model: str
    folder: Path
    results: tuple[SetupResult, ...]
    base: str
    window: int
    tuned: tuple[Tuned, ...]
    rows: pl.DataFrame
    notes: tuple[str, ...]
    failed: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The tables of the setups."""
        return repr(Tables(table for table in report_of(self) if table.section == "setups" and not table.detail))

    def _repr_html_(self) -> str:
        return report_of(self)._repr_html_()


def report_of(
    comparison: Comparison, *, unanswered: Unanswered = "zero", seed: int = 0, made: Sequence[tuple[str, str]] = ()
) -> Report:
    """The report of the comparison of one model, with published comparisons beside it.

    Args:
        unanswered: How unanswered replies count.
        seed: Seed of the bootstrap.
        made: How it was made: name and value.
    """
    compared = _compared(comparison, tuple(published_tables(published_comparisons())))
    return measured(
        comparison.rows,
        title=f"How far {comparison.model.rpartition('/')[2]} reads",
        seed=seed,
        unanswered=unanswered,
        notes=comparison.notes,
        made=made,
        setups=compared,
    )


def numbers_of(comparison: Comparison) -> dict[str, Any]:
    """The comparison of one model as numbers, without the tables of papers."""
    return {
        "model": comparison.model,
        "folder": comparison.folder,
        "notes": comparison.notes,
        **numbers(_compared(comparison)),
    }


def _compared(comparison: Comparison, published: tuple[Table, ...] = ()) -> ComparedSetups:
    return ComparedSetups(
        comparison.results, comparison.window, comparison.base, comparison.tuned, published, comparison.failed
    )


def write_page(comparison: Comparison, report: Report, figures: Figures = "svg") -> Path:
    """Write the page into the folder of the comparison, and its charts as files for a paper.

    Args:
        figures: Format of the charts; ``none`` for none.

    Returns:
        The address of the page.
    """
    path = comparison.folder / PAGE
    write(report, path)
    compared = report.results.setups
    if figures != "none" and compared is not None and compared.others:
        setup_figures(compared, comparison.folder / FIGURES, f".{figures}")
    return path
