"""The section on settings: how the rows were made."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl

from fathom.printing import printable, several
from fathom.report import words
from fathom.report.results import Results
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Table
from fathom.stats.columns import facet

NAMES = (
    *("model", "variant", "task", "suite", "source", "tokenizer"),
    *("rule", "grader", "language", "fathom_version", "metric"),
)
KINDS = ("model", "variant", "length", "task_version", *NAMES[2:])
"""Columns whose different values are settings of a report."""
DRAFTED = "Questions drafted by"
NAMED = ("Suite", "Published averages", "Tokenizer of the lengths", "fathom version")
"""Settings that the line on the section names."""
LABELS = {
    "Suite": "suite",
    "Source of the rows": "source",
    "Tokenizer of the lengths": "tokenizer",
    "Scoring rule": "rule",
    "Graded by": "grader",
    "Languages": "language",
    "fathom version": "fathom_version",
}


class Recorded(NamedTuple):
    """What settings are made of.

    Attributes:
        kinds: The different values of ``KINDS``, in the order of the rows of whole contexts.
        epochs: The largest number of a repeat.
        questions: The different questions of items with several.
        facets: Names of the facets.
        drafted: Models that drafted questions.
    """

    kinds: pl.DataFrame
    epochs: int
    questions: pl.DataFrame
    facets: frozenset[str]
    drafted: frozenset[str]

    def __add__(self, other: "Recorded") -> "Recorded":  # type: ignore[override]  # of tuples
        """What is recorded in both parts."""
        return Recorded(
            pl.concat([self.kinds, other.kinds]).unique(maintain_order=True),
            max(self.epochs, other.epochs),
            pl.concat([self.questions, other.questions]).unique(maintain_order=True),
            self.facets | other.facets,
            self.drafted | other.drafted,
        )


def recorded(asked: pl.DataFrame) -> Recorded:
    """What rows with a whole context record."""
    facets, drafted = set[str](), set[str]()
    for own in _different_facets(asked):
        facets.update(own)
        drafted.update([str(own["drafted"])] if "drafted" in own else ())
    return Recorded(
        kinds=asked.select(KINDS).unique(maintain_order=True),
        epochs=int(asked["epoch"].max() or 0),  # type: ignore[arg-type]  # of a column of whole numbers
        questions=asked.select("task", "suite", "item", facet("question").alias("question"))
        .filter(pl.col("question").is_not_null())
        .unique(maintain_order=True),
        facets=frozenset(facets),
        drafted=frozenset(drafted),
    )


def _different_facets(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for text in rows["facets"].drop_nulls().unique():
        try:
            facets = json.loads(text)
        except (ValueError, TypeError):
            # Rows of other tools may have any value here, which names no field for breakdowns.
            continue
        if isinstance(facets, dict):
            yield facets


def settings_of(whole: Recorded) -> list[tuple[str, str]]:
    """Settings by name, without those that the rows do not record.

    Args:
        whole: What the rows of all questions with a context record.
    """
    settings = [(label, ", ".join(distinct(whole.kinds, column))) for label, column in LABELS.items()]
    versions = whole.kinds.select("task", "task_version", "metric").unique(maintain_order=True).sort("task").rows()
    settings.append(("Epochs per sample", str(whole.epochs)))
    settings.extend(
        (f"Task {task}", f"version {version}" + (f", scored by {metric}" if metric else ""))
        for task, version, metric in versions
    )
    by_task = whole.questions.group_by("task", maintain_order=True).agg(pl.struct("suite", "item").n_unique(), pl.len())
    settings.extend(
        (f"Items of {task}", f"{items:,} with {several(questions, 'question')}; questions of one item share a context")
        for task, items, questions in by_task.rows()
    )
    if whole.drafted:
        settings.append((DRAFTED, ", ".join(printable(name) for name in sorted(whole.drafted))))
    settings.append(("Fields for breakdowns", ", ".join(printable(name) for name in sorted(whole.facets))))
    return [(label, value) for label, value in settings if value]


def settings_of_averages(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Settings of published averages; empty without any.

    Args:
        rows: Rows that are published averages; may be empty.
    """
    whole = rows.filter(facet("aggregate") == "overall", facet("measure") == "mean")
    if whole.is_empty():
        return []
    numbers = whole.select(
        *(facet(name).cast(pl.Int64, strict=False).alias(name) for name in ("questions", "n", "failed_replies"))
    )
    settings = [
        ("Published averages", f"{', '.join(distinct(whole, 'suite'))}, from {', '.join(distinct(whole, 'source'))}"),
        ("Models published", f"{whole['model'].n_unique():,}, {len(whole):,} with their modes"),
        ("Questions of each", _range(numbers["questions"])),
        ("Repeats of each", _range(numbers["n"])),
        ("Failed replies of each", _range(numbers["failed_replies"])),
    ]
    return [(label, value) for label, value in settings if value]


def _range(values: pl.Series) -> str:
    """ "1,500", or "0 to 69" if values differ; "" if none is known."""
    known = sorted(values.drop_nulls().unique())
    return " to ".join(f"{value:,}" for value in dict.fromkeys((*known[:1], *known[-1:])))


def distinct(rows: pl.DataFrame, column: str) -> list[str]:
    """The different values of a column of names, in the order of the rows, without empty values."""
    return [str(value) for value in rows[column].drop_nulls().unique(maintain_order=True) if str(value)]


def _tables(results: Results) -> list[Table]:
    columns = (Column("Setting", number=False), Column("Value", number=False))
    rows = tuple((Cell(label), Cell(value)) for label, value in (*results.settings, *results.made))
    return [Table("settings", "settings", "Settings", "How the rows were made.", columns, rows, denominator="none")]


def _finding(results: Results) -> str:
    values = dict((*results.settings, *results.made))
    named = [f"{name[0].lower()}{name[1:]} {values[name]}" for name in NAMED if name in values]
    return words.sentence(", ".join(named))


SECTION = Section(name="settings", title="Settings", finding=_finding, tables=_tables, in_notebook=False)
