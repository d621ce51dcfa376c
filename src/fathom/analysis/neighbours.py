"""Neighbours: models in the order of their scores, and whether each is ahead of the next one below.

Gaps are paired: both models' scores of the same question are compared, so that hard questions are hard for both. The
order itself is that of the plain means, which a gap over shared questions need not follow where models were asked
different ones.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.questions import Asked, asked
from fathom.analysis.ranking import Ranked, ranking_of_questions
from fathom.stats.differences import Gap, paired, system_key
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Unanswered, tally


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One model in the order of scores, and how far the next one below is.

    Attributes:
        rank: Place in the order of scores, from 1.
        best: Best rank that the data allow (``fathom.stats.ranks``).
        worst: Worst rank that the data allow.
        model: Name of the model.
        variant: Name of the variant, "" if there is one only.
        score: Mean over its questions, repeats averaged first.
        interval: 95% interval of the score.
        questions: Number of its questions.
        gap: Mean difference to the next one below on the questions of both; None for the last, and where they share
            none.
        gap_interval: 95% interval of the gap, paired over questions.
        tied: Whether that interval holds 0; None where there is none.
        other: The mean by the other choice of ``unanswered``; None where there is none.
        unanswered: Replies behind it that were not answered.
        cut: Replies behind it that the output cap cut off.
        overflow: Prompts behind it that did not fit.
        missing: Replies behind it that are missing.
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
    other: float | None = None
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0


def neighbours(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[Neighbour]:
    """Models and variants from the highest score to the lowest.

    Every question is taken as drawn for itself, whether or not it shares a context with others. The intervals are of
    two models at a time: among many models some gap is found by chance. Ranks take all differences together.

    Args:
        rows: A rows table; may be empty. Models of which only averages are published are left out: how their scores
            move together is not known; so are models with a cell that is not measured (``fathom.stats.outcomes``).
        unanswered: How replies count that were not answered, see ``fathom.stats.outcomes``.
        seed: Seed of the intervals (Bayesian bootstrap over questions).
    """
    models = {(one.model, one.variant): one for one in asked(rows, unanswered)}
    ranges = ranking_of_questions(list(models.values()), seed=seed)
    ranked = [models[one.model, one.variant] for one in ranges]
    gaps = [*(_gap(one, below, seed) for one, below in pairwise(ranked)), *([None] if ranked else [])]
    return [_neighbour(*found) for found in zip(range(1, len(ranked) + 1), ranked, gaps, ranges, strict=True)]


def shared_questions(first: Asked, second: Asked) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which questions both were asked and have a score for: their lines in each."""
    _, one, other = np.intersect1d(
        first.about["name"].to_numpy(), second.about["name"].to_numpy(), assume_unique=True, return_indices=True
    )
    return one, other


def _gap(one: Asked, below: Asked, seed: int) -> Gap | None:
    here, there = shared_questions(one, below)
    if not len(here):
        return None
    names = one.about["name"].gather(here).to_list()
    called = (system_key(one.model, one.variant), system_key(below.model, below.variant))
    first, second = one.means[here][:, None], below.means[there][:, None]
    return paired(names, first, second, "questions", seed, called=called).gap([0])


def _neighbour(place: int, one: Asked, gap: Gap | None, ranked: Ranked) -> Neighbour:
    between = None if gap is None else gap.interval
    return Neighbour(
        rank=place,
        best=ranked.best,
        worst=ranked.worst,
        model=one.model,
        variant=one.variant,
        score=ranked.mean,
        interval=ranked.interval,
        questions=len(one.about),
        gap=None if gap is None else gap.difference,
        gap_interval=between,
        tied=None if between is None else between.low <= 0 <= between.high,
        other=one.other,
        **tally(one.ended),
    )
