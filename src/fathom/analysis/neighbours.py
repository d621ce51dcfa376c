"""Adjacent comparisons: models in the order of their scores, each compared with the next one below.

Differences are paired: both models' scores of the same question are compared, which removes its difficulty. The order
is that of the plain means; a difference over shared questions may have another sign if models were asked different
questions.
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
    """One model in the order of scores, and its difference to the next one below.

    Attributes:
        rank: Position in the order of scores, from 1.
        best: Best rank of its range (``fathom.stats.ranks``).
        worst: Worst rank of its range.
        model: Name of the model.
        variant: Name of the variant, "" if there is only one.
        score: Mean over its questions, repeats averaged first.
        interval: 95% interval of the score.
        questions: Number of its questions.
        gap: Mean difference to the next one below on the questions of both; None for the last, and without common
            questions.
        gap_interval: 95% interval of the gap, paired over questions.
        tied: Whether that interval contains 0; None without one.
        other: The mean under the other choice of ``unanswered``; None without one.
        unanswered: Number of unanswered replies.
        cut: Number of replies truncated at the output cap.
        overflow: Number of prompts that did not fit the window.
        missing: Number of missing replies.
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

    Questions are resampled one by one, also if they share a context. The intervals are for single pairs of models:
    among many models some differences are significant by chance. Ranks account for all differences.

    Args:
        rows: A rows table; may be empty. Models with only published averages are left out, because pairing needs their
            replies; so are models with a cell without a score (``fathom.stats.outcomes``).
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        seed: Seed of the intervals (Bayesian bootstrap over questions).
    """
    models = {(one.model, one.variant): one for one in asked(rows, unanswered)}
    ranges = ranking_of_questions(list(models.values()), seed=seed)
    ranked = [models[one.model, one.variant] for one in ranges]
    gaps = [*(_gap(one, below, seed) for one, below in pairwise(ranked)), *([None] if ranked else [])]
    return [_neighbour(*found) for found in zip(range(1, len(ranked) + 1), ranked, gaps, ranges, strict=True)]


def shared_questions(first: Asked, second: Asked) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The questions that both have a score for, as row numbers in each."""
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
