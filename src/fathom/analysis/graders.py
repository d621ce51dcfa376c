"""Graders: which rule or judge gave the scores of each task, and how often a judge failed to."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fathom.stats.outcomes import outcome
from fathom.stats.side_rows import is_aggregate

JUDGE = "judge"
"""Names of graders that are models begin with this word."""


@dataclass(frozen=True, slots=True)
class Graded:
    """What one grader scored of one task.

    Attributes:
        task: Name of the task.
        metric: Name of the score.
        grader: Name of the rule or judge.
        scored: Rows that it gave a score.
        failed: Rows with a reply that it could not score; a judge whose own reply could not be read, say.
    """

    task: str
    metric: str
    grader: str
    scored: int
    failed: int

    @property
    def judged(self) -> bool:
        """Whether the grader is a model."""
        return self.grader.lower().startswith(JUDGE)


def graders(rows: pl.DataFrame) -> list[Graded]:
    """Graders by task, in the order of the rows.

    Rows without a grader (requests that failed) are left out, and published averages.

    Args:
        rows: A rows table; may be empty.
    """
    scored = outcome().is_in(["answered", "cut"])
    table = (
        rows.filter(pl.col("grader").fill_null("") != "", ~is_aggregate())
        .group_by("task", "metric", "grader", maintain_order=True)
        .agg(scored=scored.sum(), failed=((outcome() == "missing") & (pl.col("status") != "error")).sum())
    )
    order = {task: place for place, task in enumerate(rows["task"].unique(maintain_order=True))}
    found = [Graded(**record) for record in table.iter_rows(named=True)]
    return sorted(found, key=lambda one: order[one.task])
