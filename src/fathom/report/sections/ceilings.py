"""The section on ceilings: how much of the gold texts of a task the excerpts in its prompts can support."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fathom.report import words
from fathom.report.results import Measurement, PartRows, Results, task_title
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Fields, Table, table_of
from fathom.stats.columns import facet

WHOLE = 0.95
"""Mean share of a gold text's words from which a task is not shown: nearly all of them are in the excerpts."""
ABOUT = (
    "Of the distinct content words of a reference, the share that the excerpt in the prompt has: no summary that keeps "
    "to its excerpt can have the others, a ceiling of recall. Of the words that the whole document has, "
    "the excerpt keeps the last share; cutting took away the rest. The facets “coverage” and “support” of each sample "
    "have both shares."
)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How much of its gold texts the excerpts of a task have.

    Attributes:
        items: Number of items.
        mean: Mean share of a gold text's words that the excerpt has.
        low: The share that nine of ten items exceed.
        kept: Mean share, of the words that the whole document has.
    """

    task: str
    items: int
    mean: float
    low: float
    kept: float


def ceilings(rows: pl.DataFrame) -> list[Ceiling]:
    """The ceilings of tasks whose excerpts lack words of their gold texts, in the order of the rows.

    Args:
        rows: A rows table; the facets ``coverage`` and ``support`` of samples are those that builds measure.
    """
    known = rows.select(
        *("task", "sample"),
        coverage=facet("coverage").cast(pl.Float64, strict=False),
        kept=facet("support").cast(pl.Float64, strict=False),
    )
    each = known.filter(pl.col("coverage").is_not_null()).unique(("task", "sample"), maintain_order=True)
    sizes = each.group_by("task", maintain_order=True).agg(
        pl.len().alias("items"),
        pl.col("coverage").mean().alias("mean"),
        pl.col("coverage").quantile(0.1, "lower").alias("low"),
        pl.col("kept").mean(),
    )
    return [Ceiling(**row) for row in sizes.filter(pl.col("mean") < WHOLE).iter_rows(named=True)]


def _measure(rows: PartRows, _: object) -> list[Ceiling]:
    return ceilings(rows.asked)


def _joined(parts: Sequence[Ceiling]) -> Sequence[Ceiling]:
    """One for each task: that over most samples, as models were asked the same ones or fewer."""
    most: dict[str, Ceiling] = {}
    for ceiling in parts:
        if ceiling.task not in most or ceiling.items > most[ceiling.task].items:
            most[ceiling.task] = ceiling
    return tuple(most.values())


CEILINGS: Measurement[Ceiling] = Measurement("ceilings", _measure, finish=_joined)
FIELDS: Fields[Ceiling] = (
    (Column("Task", number=False), lambda ceiling: Cell(task_title(ceiling.task))),
    (Column("Samples"), lambda ceiling: Cell(words.count(ceiling.items))),
    (
        Column("Ceiling", help="Mean share of the words of a reference that its excerpt has, percent"),
        lambda ceiling: Cell(words.percent(ceiling.mean)),
    ),
    (
        Column("Nine of ten above", help="The share that nine of ten samples exceed, percent"),
        lambda ceiling: Cell(words.percent(ceiling.low)),
    ),
    (
        Column(
            "Of the document's words", help="Of the reference's words that the document has, the share kept, percent"
        ),
        lambda ceiling: Cell(words.percent(ceiling.kept)),
    ),
)


def _tables(results: Results) -> list[Table]:
    measured, title = results[CEILINGS], "What excerpts can support"
    return [table_of("ceilings", title, FIELDS, measured, about=ABOUT, denominator="asked")] if measured else []


def _finding(results: Results) -> str:
    lowest = min(results[CEILINGS], key=lambda ceiling: ceiling.mean, default=None)
    return f"Lowest: {words.percent(lowest.mean)}% of the words of a reference on {lowest.task}." if lowest else ""


SECTION = Section(
    name="ceilings",
    title="What excerpts can support",
    finding=_finding,
    tables=_tables,
    measurements=(CEILINGS,),
)
