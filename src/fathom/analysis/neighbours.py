"""Adjacent comparisons: models in the order of their scores, each compared with the next one below.

Differences are paired: both models' scores of the same question are compared, which removes its difficulty. The order
is that of the means if all models were asked the same questions, or else that of their mean differences to the others.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.questions import ModelReplies, asked
from fathom.analysis.ranking import Ranked, ranking_of_questions
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Unanswered, tally


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One model in the order of scores, and its difference to the next one below.

    Attributes:
        rank: Position in the order of scores, from 1.
        best: Best rank of its range (``fathom.stats.ranks``).
        worst: Worst rank of its range.
        score: Mean over its questions, repeats averaged first.
        interval: 95% interval of the score.
        questions: Number of its questions.
        gap: Mean difference to the next one below on the questions of both; None for the last, and without common
            questions.
        gap_interval: 95% interval of the gap, paired over items.
        gap_questions: Number of the questions of both.
        p_value: Two-sided p-value of the gap; None without one.
        tied: Whether the two are not significantly different in one test of all differences; None without a gap.
        clusters: Items of its questions, or clusters of items: what is resampled.
    """

    rank: int
    best: int
    worst: int
    model: str
    variant: str
    score: float
    interval: Interval
    questions: int
    gap: float | None
    gap_interval: Interval | None
    tied: bool | None
    gap_questions: int = 0
    p_value: float | None = None
    clusters: int = 0
    other: float | None = None
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0
    scorer_error: int = 0


def neighbours(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[Neighbour]:
    """Models and variants from the highest score to the lowest.

    Questions of one item are resampled together (``fathom.stats.intervals``). The intervals of differences are for
    single pairs of models: among many models some exclude 0 by chance. Ranges of ranks hold for all models together.

    Args:
        rows: A rows table; may be empty. Models with only published averages are left out, because pairing needs their
            replies; so are models with a cell without a score (``fathom.stats.outcomes``).
        seed: Seed of the intervals (Bayesian bootstrap over items).
    """
    models = {(model.model, model.variant): model for model in asked(rows, unanswered)}
    ranges = ranking_of_questions(list(models.values()), seed=seed)
    return [
        _neighbour(place, models[ranked.model, ranked.variant], ranked) for place, ranked in enumerate(ranges, start=1)
    ]


def shared_questions(first: ModelReplies, second: ModelReplies) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The questions that both have a score for, as row numbers in each."""
    _, own, other = np.intersect1d(
        first.about["name"].to_numpy(), second.about["name"].to_numpy(), assume_unique=True, return_indices=True
    )
    return own, other


def _neighbour(place: int, model: ModelReplies, ranked: Ranked) -> Neighbour:
    gap = ranked.gaps[place] if place < len(ranked.gaps) else None
    return Neighbour(
        rank=place,
        best=ranked.best,
        worst=ranked.worst,
        model=model.model,
        variant=model.variant,
        score=ranked.mean,
        interval=ranked.interval,
        questions=len(model.about),
        clusters=model.about["cluster"].n_unique(),
        gap=None if gap is None else gap.difference,
        gap_interval=None if gap is None else gap.interval,
        gap_questions=0 if gap is None else ranked.overlaps[place].samples,
        p_value=None if gap is None else gap.p_value,
        tied=None if gap is None else not ranked.significant[place],
        other=model.other,
        **tally(model.ended),
    )
