"""How the results came about: what the rows say of suites, tasks, rules and versions."""

from __future__ import annotations

import json

import polars as pl

from fathom.printing import printable
from fathom.stats.columns import facet


def settings_of(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Settings by name, without those of which the rows say nothing.

    Args:
        rows: The rows of all questions that were asked over their context; at least one.
    """
    named = {
        "Suite": "suite",
        "Source of the rows": "source",
        "Tokenizer of the lengths": "tokenizer",
        "Scoring rule": "rule",
        "Graded by": "grader",
        "Languages": "language",
        "fathom version": "fathom_version",
    }
    settings = [(label, ", ".join(distinct(rows, column))) for label, column in named.items()]
    epochs = rows["epoch"].max()
    versions = rows.select("task", "task_version", "metric").unique(maintain_order=True).sort("task").rows()
    settings.append(("Epochs per sample", str(epochs)))
    settings.extend(
        (f"Task {task}", f"version {version}" + (f", scored by {metric}" if metric else ""))
        for task, version, metric in versions
    )
    settings.extend(
        (f"Items of {task}", f"{items:,} with {questions:,} questions; those of one item share a context")
        for task, items, questions in _several_questions(rows)
    )
    settings.append(("What results can be broken down by", ", ".join(_facets(rows))))
    return [(label, value) for label, value in settings if value]


def settings_of_averages(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """What published averages are of: nothing where there are none.

    Args:
        rows: Rows that are published averages; may be empty.
    """
    whole = rows.filter(facet("aggregate") == "overall", facet("measure") == "mean")
    if whole.is_empty():
        return []
    count = whole.select(
        *(facet(name).cast(pl.Int64, strict=False).alias(name) for name in ("questions", "n", "failed_replies"))
    )
    said = [
        ("Published averages", f"{', '.join(distinct(whole, 'suite'))}, from {', '.join(distinct(whole, 'source'))}"),
        ("Models published", f"{whole['model'].n_unique():,}, {len(whole):,} with their modes"),
        ("Questions behind them", _range(count["questions"])),
        ("Repeats behind them", _range(count["n"])),
        ("Replies that failed, of each", _range(count["failed_replies"])),
    ]
    return [(label, value) for label, value in said if value]


def _range(values: pl.Series) -> str:
    """ "1,500", or "0 to 69" where values differ; "" where none is known."""
    known = sorted(values.drop_nulls().unique())
    return " to ".join(f"{value:,}" for value in dict.fromkeys((*known[:1], *known[-1:])))


def _several_questions(rows: pl.DataFrame) -> list[tuple[str, int, int]]:
    """Tasks whose items have several questions, with their numbers of items and of questions."""
    number = facet("question")
    table = (
        rows.filter(number.is_not_null())
        .group_by("task", maintain_order=True)
        .agg(
            items=pl.struct("suite", "item").n_unique(),
            questions=pl.struct("suite", "item", number.alias("question")).n_unique(),
        )
    )
    return [(str(task), int(items), int(questions)) for task, items, questions in table.rows()]


def distinct(rows: pl.DataFrame, column: str) -> list[str]:
    """The different values of a column of names, in the order of the rows, without empty ones."""
    return [str(value) for value in rows[column].drop_nulls().unique(maintain_order=True) if str(value)]


def _facets(rows: pl.DataFrame) -> list[str]:
    names: set[str] = set()
    for text in rows["facets"].drop_nulls().unique():
        try:
            names.update(json.loads(text))
        except (ValueError, TypeError):
            # Rows of other tools may carry what they like here; it names nothing that we could break down by.
            continue
    return [printable(name) for name in sorted(names)]
