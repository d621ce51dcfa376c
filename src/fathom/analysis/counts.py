"""Counts of replies by outcome, so that every mean shows what it leaves out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from fathom.stats.outcomes import COUNTED, LOST, NOT_JUDGED, not_asked, outcome
from fathom.stats.side_rows import is_aggregate, is_side_row

_TASK = ["model", "variant", "task"]
JUDGE = "judge"
"""Prefix of the names of graders that are models."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Outcomes of the replies of one model, or of one model on one task at one length.

    Attributes:
        task: Name of the task; None if counted over all tasks.
        length: Length in tokens; None if counted over all lengths.
        replies: Rows, one per sample and epoch.
        scored: Rows whose reply has content and a score, including ``cut`` ones.
        valid: Those of them in the requested form.
        invalid: Those of them in another form; they stay in every mean.
        cut: Those of them that were truncated at the output cap.
        unanswered: Rows of a refusal, or without any visible text: they count 0.
        overflow: Rows whose prompt did not fit the window.
        missing: Rows whose prompt was not asked, whose request failed, or whose reply has no score.
        refused: Those among ``unanswered`` that the model or provider refused.
        error: Those among ``missing`` whose request failed.
        not_asked: Those among ``missing`` whose prompt was never sent.
        not_judged: Those among ``missing`` that wait for a judge.
        truncated: Rows whose prompt was truncated by the overflow policy.
        tokens_in: Prompt tokens as the provider counts them, summed where known.
        tokens_out: Completion tokens, summed where known.
        tokens_reasoning: Reasoning tokens, summed where known.
        cost: US dollars, summed where known; None if no row has a price.
        seconds: Sum of request times, where known.
        scorer_error: Rows on whose reply the scorer raised an exception.
    """

    model: str
    variant: str
    task: str | None
    length: int | None
    replies: int
    scored: int
    valid: int
    invalid: int
    cut: int
    unanswered: int
    overflow: int
    missing: int
    refused: int
    error: int
    not_asked: int
    not_judged: int
    truncated: int
    tokens_in: int
    tokens_out: int
    tokens_reasoning: int
    cost: float | None
    seconds: float
    scorer_error: int = 0


def counts(rows: pl.DataFrame) -> list[Counts]:
    """Counts per model and variant (``task`` and ``length`` are None), in the order in which the rows name them.

    All replies count, including closed-book ones and those to truncated prompts: they were requested and paid for.
    Published averages are not replies.

    Args:
        rows: A rows table, not counted by ``fathom.stats.outcomes``; may be empty.
    """
    return _counts(rows.filter(~is_aggregate()), ["model", "variant"])


def cell_counts(rows: pl.DataFrame) -> list[Counts]:
    """Counts per model, variant, task and length; lengths ascending within a task.

    Closed-book questions, truncated prompts and published averages are left out.
    """
    asked = rows.filter(~is_side_row())
    order = {key: place for place, key in enumerate(dict.fromkeys(asked.select(_TASK).iter_rows()))}
    cells = _counts(asked, [*_TASK, "length"])
    return sorted(cells, key=lambda cell: (order[cell.model, cell.variant, cell.task], cell.length or 0))


def _counts(rows: pl.DataFrame, keys: list[str]) -> list[Counts]:
    ended = outcome()
    scored = ended.is_in(["answered", "cut"])
    # In ascending order, so that the last bit does not depend on the threads of polars.
    cost, seconds = (pl.col(name).fill_nan(None).sort() for name in ("cost", "seconds"))
    table = rows.group_by(keys, maintain_order=True).agg(
        replies=pl.len(),
        scored=scored.sum(),
        valid=(scored & pl.col("valid")).sum(),
        invalid=(scored & ~pl.col("valid")).sum(),
        **{name: (ended == name).sum() for name in COUNTED},
        refused=(pl.col("status") == "refused").sum(),
        error=((pl.col("status") == "error") & ~not_asked()).sum(),
        not_asked=not_asked().sum(),
        not_judged=((ended == "missing") & pl.col("detail").str.starts_with(NOT_JUDGED)).sum(),
        truncated=(pl.col("truncated") > 0).sum(),
        **{name: pl.col(name).sum() for name in ("tokens_in", "tokens_out", "tokens_reasoning")},
        cost=pl.when(cost.is_not_null().any()).then(cost.sum()),
        seconds=seconds.sum(),
    )
    return [Counts(**{"task": None, "length": None, **row}) for row in table.iter_rows(named=True)]


@dataclass(frozen=True, slots=True)
class Graded:
    """Rows of one task that one grader scored.

    Attributes:
        grader: Name of the rule or judge.
        failed: Rows with a reply that it could not score, for example because a judge's reply was unreadable.
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
    """
    scored = outcome().is_in(["answered", "cut"])
    table = (
        rows.filter(pl.col("grader").fill_null("") != "", ~is_aggregate())
        .group_by("task", "metric", "grader", maintain_order=True)
        .agg(scored=scored.sum(), failed=(outcome().is_in(LOST) & (pl.col("status") != "error")).sum())
    )
    order = {task: place for place, task in enumerate(rows["task"].unique(maintain_order=True))}
    graded = [Graded(**record) for record in table.iter_rows(named=True)]
    return sorted(graded, key=lambda grader: order[grader.task])


def all_graders(parts: Sequence[Sequence[Graded]]) -> list[Graded]:
    """The graders of rows that were counted in parts."""
    joined: dict[tuple[str, str, str], Graded] = {}
    for grader in (grader for part in parts for grader in part):
        had = joined.get(key := (grader.task, grader.metric, grader.grader), replace(grader, scored=0, failed=0))
        joined[key] = replace(had, scored=had.scored + grader.scored, failed=had.failed + grader.failed)
    order = {task: place for place, task in enumerate(dict.fromkeys(grader.task for grader in joined.values()))}
    return sorted(joined.values(), key=lambda grader: order[grader.task])
