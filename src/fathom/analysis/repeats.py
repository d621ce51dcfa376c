"""Repeats: how much of the error of a mean comes from the questions, and how much from asking only a few times.

Question i has the true mean m_i, and each of its R_i replies a score around it with variance s_i^2.

* If the same n questions were asked again, their mean would change with the variance sum(s_i^2 / R_i) / n^2
  (``error_replies``).
* If n other questions were drawn, and each asked infinitely often, it would change with var(m) / n. The variance of the
  questions' observed means over n is the sum of both, so that the difference is this one (``error_questions``).

Best of n and pass at n are given twice: for the first n repeats, as in the released code of LongBench Pro, and as the
expected value for n of the repeats drawn without replacement, which uses all of them and is unbiased. For pass at n
that is 1 - C(N - c, n) / C(N, n) if c of N repeats pass (Chen et al. 2021, "Evaluating Large Language Models Trained
on Code", section 2.1); for best of n it is the sum over j of the j-th highest score times C(N - j, n - 1) / C(N, n),
the share of draws of which it is the best. A reply without a score is not counted as a repeat; if fewer than n have
one, the best of those counts, so that every n is over the same questions.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.questions import ModelReplies, asked, best_of_first, passed
from fathom.stats.intervals import LEVEL, Clusters, Floats, Interval, clusters_of, interval_at, resampled_means
from fathom.stats.outcomes import Unanswered, tally


@dataclass(frozen=True, slots=True)
class Trend:
    """Best of n and pass at n of one model.

    Attributes:
        n: Number of repeats.
        best_of: Mean over questions of the best of their first n repeats.
        best_of_unbiased: Mean over questions of the expected best of n of their repeats drawn without replacement.
        pass_at: Share of questions for which one of the first n repeats passes.
        pass_at_unbiased: The expected share for n of their repeats drawn without replacement.
        best_of_interval: 95% interval of ``best_of_unbiased``.
        pass_at_interval: 95% interval of ``pass_at_unbiased``.
    """

    n: int
    best_of: float
    best_of_unbiased: float
    pass_at: float
    pass_at_unbiased: float
    best_of_interval: Interval
    pass_at_interval: Interval


@dataclass(frozen=True, slots=True)
class Repeats:
    """Results of repeated questions of one model.

    Attributes:
        questions: Questions with a score.
        runs: Repeats that most questions were asked.
        uneven: Questions with fewer scored repeats than that.
        mean: Mean over questions of the mean of their repeats.
        interval: Its 95% interval, with both sources of error.
        error: Standard error of the mean, with both sources; NaN for a single question.
        error_questions: The part due to the choice of questions; NaN if ``error_replies`` is.
        error_replies: The part due to the variation of replies to the same question; NaN if no question has two scored
            repeats.
        interval_replies: 95% interval of the mean of these questions, if asked infinitely often: from the second part
            alone. None if unknown.
        run_means: Mean of each repeat over the questions that it has a score for; NaN without any.
        trend: Best of n and pass at n, for n from 1 to ``runs``, if some question has n scored repeats.
        note: Caveats; "" if none.
    """

    model: str
    variant: str
    questions: int
    runs: int
    uneven: int
    mean: float
    interval: Interval
    error: float
    error_questions: float
    error_replies: float
    interval_replies: Interval | None
    run_means: tuple[float, ...]
    trend: tuple[Trend, ...]
    note: str = ""
    other: float | None = None
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0
    scorer_error: int = 0


def repeats(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[Repeats]:
    """Errors and trends of repeats, per model and variant.

    Questions of one item are resampled together (``fathom.stats.intervals``). Questions with one scored repeat get the
    mean variance of the others.

    Args:
        rows: A rows table; may be empty. Published averages have no repeats and are left out.
        seed: Seed of the intervals (Bayesian bootstrap over questions, each with its repeats).

    Returns:
        One result for each model and variant, in the order in which the rows name them; none for those with a cell
        without a score (``fathom.stats.outcomes``).
    """
    return repeats_of(asked(rows, unanswered), seed=seed)


def repeats_of(known: Sequence[ModelReplies], *, seed: int = 0) -> list[Repeats]:
    """The same from questions (:func:`fathom.analysis.questions.asked`)."""
    return [_of_model(model, seed) for model in known if model.blank.is_empty()]


def expected_best(table: Floats, n: int) -> Floats:
    """The expected maximum of n values of each row, drawn without replacement from its values.

    Args:
        table: Rows of values, NaN if missing.
        n: Number of drawn values, 1 or more.

    Returns:
        One value for each row, its maximum if it has fewer than n values; NaN without any.
    """
    count = (~np.isnan(table)).sum(axis=1)
    falling = -np.sort(-table, axis=1)  # NaN comes last
    best = np.full(len(table), math.nan)
    for known in np.unique(count[count > 0]):
        drawn = min(n, known)
        shares = [math.comb(known - place, drawn - 1) / math.comb(known, drawn) for place in range(1, known + 1)]
        rows = count == known
        best[rows] = falling[rows, :known] @ np.array(shares)
    return best


def _of_model(model: ModelReplies, seed: int) -> Repeats:
    count = (~np.isnan(model.scores)).sum(axis=1)
    most = int(count.max())
    sizes = range(1, min(model.runs, most) + 1)
    best = [expected_best(model.scores, n) for n in sizes]
    passes = [expected_best(model.passes, n) for n in sizes]
    groups = model.about["cluster"].to_list()
    clusters = clusters_of(np.stack([model.means, *best, *passes], axis=1), groups)
    draws = resampled_means(clusters, seed, replicates=model.replicates(clusters))
    mean = float(model.means.mean())
    error, questions, replies = _errors(model.scores, clusters.at([0]))
    return Repeats(
        model=model.model,
        variant=model.variant,
        questions=len(model.about),
        runs=model.runs,
        uneven=int((count < model.runs).sum()),
        mean=mean,
        interval=interval_at(clusters, draws, 0, mean),
        error=error,
        error_questions=questions,
        error_replies=replies,
        interval_replies=_around(mean, replies),
        run_means=tuple(_mean(column) for column in model.scores.T[: model.runs]),
        trend=tuple(_trend(model, best, passes, clusters, draws)),
        note="; ".join(_notes(model, count)),
        other=model.other,
        **tally(model.ended),
    )


def _around(mean: float, error: float) -> Interval | None:
    """The mean plus and minus 1.96 standard errors, within the range of scores."""
    if math.isnan(error):
        return None
    reach = NormalDist().inv_cdf((1 + LEVEL) / 2) * error
    return Interval(max(0.0, mean - reach), min(1.0, mean + reach))


def _errors(scores: Floats, clusters: Clusters) -> tuple[float, float, float]:
    """Standard errors of the mean: both sources, questions, replies.

    That of both is of a ratio of sums over clusters: sqrt(sum (A_i - m N_i)^2 n / (n - 1)) / sum N_i.
    """
    known = ~np.isnan(scores)
    count = known.sum(axis=1)
    means = np.where(known, scores, 0.0).sum(axis=1) / count
    left, number = clusters.totals - clusters.counts * clusters.means, len(clusters.totals)
    both = float((left**2).sum()) * number / (number - 1) / len(means) ** 2 if number > 1 else math.nan
    several = count > 1
    if not several.any():
        return math.sqrt(both), math.nan, math.nan
    squares = np.where(known, (scores - means[:, None]) ** 2, 0.0).sum(axis=1)
    within = squares[several] / (count[several] - 1)
    variance = np.full(len(scores), within.mean())
    variance[several] = within
    replies = float((variance / count).sum()) / len(scores) ** 2
    # The difference of two estimates may be below 0; that of a single question is unknown.
    questions = math.sqrt(max(0.0, both - replies)) if number > 1 else math.nan
    return math.sqrt(both), questions, math.sqrt(replies)


def _trend(
    model: ModelReplies, best: Sequence[Floats], passes: Sequence[Floats], clusters: Clusters, draws: Floats
) -> Iterable[Trend]:
    """One for each n; columns of clusters and draws are the mean, then the best of every n, then passes."""
    tried = passed(model.tries, model.threshold[:, None])
    for place, (values, passing) in enumerate(zip(best, passes, strict=True)):
        best_of, pass_at = _mean(values), _mean(passing)
        yield Trend(
            n=place + 1,
            best_of=_mean(best_of_first(model.tries, place + 1)),
            best_of_unbiased=best_of,
            pass_at=_mean(best_of_first(tried, place + 1)),
            pass_at_unbiased=pass_at,
            best_of_interval=interval_at(clusters, draws, 1 + place, best_of),
            pass_at_interval=interval_at(clusters, draws, 1 + len(best) + place, pass_at),
        )


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _notes(model: ModelReplies, count: NDArray[np.int_]) -> Iterable[str]:
    most, single = int(count.max()), int((count == 1).sum())
    if model.unscored:
        yield f"questions without a score, left out: {model.unscored}"
    if most < 2:
        yield "no question has two scored repeats: the errors of questions and of replies cannot be separated"
    elif single:
        yield f"questions with one scored repeat, assumed to vary like the others: {single}"
    if most > model.runs:
        yield f"some questions have {most} repeats, most have {model.runs}"
