"""What models answer without any context: closed-book rows, question by question.

A closed-book row has length 0 and the facet ``context`` "none". The facet ``question`` is the number of the question
where an item has several over one context.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from fathom.stats.columns import facet
from fathom.stats.intervals import Interval, generator, mean_interval
from fathom.stats.outcomes import outcome

ABSTAINED = ("unanswerable", "无法回答")
"""An answer with one of these words, which the prompts ask for, says that the model does not know."""

SYSTEM = ["model", "variant"]
QUESTION = ["suite", "task", "item", "question", "gold"]


@dataclass(frozen=True, slots=True)
class Known:
    """What one model knows of one task without reading, and what is left of its results.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is one only.
        task: Name of the task.
        questions: Questions that it was asked with a context, each counted once at however many lengths.
        asked: Questions that it was asked without any context.
        unscored: Those among ``asked`` whose answer has no score: whether they are known is not known.
        abstained: Those among ``asked`` whose answers say that they cannot be answered.
        known: Those among ``asked`` that it knows.
        removed: Those among ``questions`` that the policy removes from its results.
        score: Mean score without context in [0, 1], epochs and then the questions of an item averaged first; answers
            that abstain count 0. None where nothing was scored.
        interval: 95% interval of ``score``; None where that is.
    """

    model: str
    variant: str
    task: str
    questions: int
    asked: int
    unscored: int
    abstained: int
    known: int
    removed: int
    score: float | None
    interval: Interval | None

    @property
    def share(self) -> float | None:
        """Share of its questions that are removed; None where it has none."""
        return self.removed / self.questions if self.questions else None


def marked(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the columns of ``QUESTION`` and ``closed``: whether they are closed-book rows."""
    return rows.with_columns(
        question=facet("question").fill_null(""),
        gold=pl.col("target").fill_null(""),
        closed=((pl.col("length") == 0) & (facet("context") == "none")).fill_null(False),
    )


def answers_of(rows: pl.DataFrame) -> pl.DataFrame:
    """One line for each model and question asked without any context: its score, and whether it abstained.

    Not answering is not knowing: it scores 0. A question of which every answer is missing has no score.
    """
    abstained = pl.col("answer").fill_null("").str.to_lowercase().str.contains_any(list(ABSTAINED))
    said = outcome().is_in(["answered", "cut"])
    value = pl.when(abstained | (outcome() == "unanswered")).then(0.0).when(said).then("value")
    # An answer that is missing counts 0 beside others: without it the mean would be higher.
    mean = pl.when(pl.col("value").is_not_null().any()).then(pl.col("value").fill_null(0.0).mean())
    return (
        marked(rows)
        .filter("closed")
        .with_columns(value=value, abstained=abstained)
        .group_by(SYSTEM + QUESTION, maintain_order=True)
        .agg(mean.alias("value"), pl.col("abstained").all())
    )


def counted(
    questions: pl.DataFrame, answers: pl.DataFrame, lost: pl.DataFrame, threshold: float, seed: int
) -> Iterator[Known]:
    """What each model knows of each task.

    Args:
        questions: What it was asked with a context, in the columns of ``SYSTEM`` and ``QUESTION``.
        answers: What it answered without, see :func:`answers_of`.
        lost: Those of ``questions`` that are removed.
        threshold: Score from which on a question is known.
        seed: Seed of the intervals.
    """
    keys = [*SYSTEM, "task"]
    named = pl.concat([questions.select(keys), answers.select(keys)]).unique(maintain_order=True)
    for model, variant, task in named.rows():
        here = (pl.col("model") == model) & (pl.col("variant") == variant) & (pl.col("task") == task)
        own = answers.filter(here)
        scores = own.group_by("suite", "item", maintain_order=True).agg(pl.col("value").mean())["value"].drop_nulls()
        score, interval = None, None
        if len(scores):
            score, interval = mean_interval(scores.to_numpy(), generator(seed, f"{task} closed book"))
        yield Known(
            model=model,
            variant=variant,
            task=task,
            questions=len(questions.filter(here)),
            asked=len(own),
            unscored=own["value"].null_count(),
            abstained=int(own["abstained"].sum()),
            known=int((own["value"] >= threshold).sum()),
            removed=len(lost.filter(here)),
            score=score,
            interval=interval,
        )
