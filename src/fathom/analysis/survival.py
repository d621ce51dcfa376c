"""What survives compaction: the share of facts still answered rightly, by age, kind and number of compactions.

A fact is a question with the facets ``kind``, ``age`` (tokens between the fact and the question) and ``compactions``
(how often a system around the model compacted the fact; 0 without such a system). A fact is asked for at every length
of its conversation, at another age: that is several questions, and a share is a mean over questions. Those of one
conversation, at all lengths and in both languages, are resampled together.

Over compactions, a system that keeps the share q of its facts at each has the scores s q^c after c of them, where s is
its score on facts that were not compacted. ``kept`` is the q at which these scores have the observed sum.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.questions import ModelReplies, asked
from fathom.analysis.ranking import Ranked, ranking_of_questions
from fathom.analysis.setup_costs import frontier, prompt_tokens
from fathom.stats.columns import facet
from fathom.stats.intervals import (
    OTHER,
    REPLICATES,
    Floats,
    Interval,
    clusters_of,
    interval_at,
    interval_of,
    resampled_means,
    resampled_sums,
)
from fathom.stats.outcomes import MISSING_AT_MOST, Unanswered, nothing_measured

By: TypeAlias = Literal["all", "age", "kind", "compactions"]
FACETS: tuple[By, ...] = ("age", "kind", "compactions")
_Group: TypeAlias = str | tuple[int, int]
SHORT = 1024
"""Tokens up to which facts are of one group; groups of older facts are twice as wide as those before."""
LEAST_COMPARED = 6
"""Conversations below which no difference of two systems can be significant (random signs), nor has an interval."""
LEAST_KEPT = 20
"""Conversations below which the share that is kept has no interval."""
_STEPS = 32
"""Halvings in the search for the share that is kept."""


@dataclass(frozen=True, slots=True)
class SurvivalPoint:
    """The facts of one group, and how many of them one system still answers rightly.

    Attributes:
        by: What groups are made by: ``age``, ``kind`` or ``compactions``; ``all`` for all facts.
        group: The kind; "" for groups of numbers.
        low: The smallest age in tokens, or number of compactions, of the group; 0 for kinds.
        high: The largest.
        score: Mean score of their questions, in [0, 1].
        interval: Its 95% interval.
        tokens_in: Mean prompt tokens of a question, over all requests; None if unknown for more than 2%.
        tokens_out: Mean tokens of the replies; None likewise.
        cost: Mean cost of a question in US dollars; None likewise.
        frontier: Whether no other system is right as often for less, or more often for as little; see :func:`priced`.
        questions: Number of questions.
        clusters: Number of conversations.
    """

    model: str
    variant: str
    by: By
    group: str
    low: int
    high: int
    score: float
    interval: Interval
    tokens_in: float | None
    cost: float | None
    questions: int
    clusters: int
    tokens_out: float | None = None
    frontier: bool | None = None


@dataclass(frozen=True, slots=True)
class Survival:
    """One system over all facts, with what it costs.

    Attributes:
        score: Mean score over questions, in [0, 1].
        interval: Its 95% interval.
        best: Best rank of its range, from 1; ranges hold for all systems together.
        worst: Worst rank of its range.
        difference: The score minus that of the first system, over the questions of all systems; None without any.
        difference_interval: An interval that holds for the differences of all systems together, 95%, and excludes 0
            only if the ranks do; None for the first system and below six conversations.
        kept: Share of facts that each compaction keeps; None if all facts were compacted, or none was.
        kept_interval: Its 95% interval; None if that is, and below 20 conversations.
        compactions: Mean number of compactions that a fact went through, over facts whose place is known.
        tokens_in: Mean prompt tokens of a question, over all requests; None if unknown for more than 2%.
        tokens_out: Mean tokens of the replies; None likewise.
        cost: Mean cost of a question in US dollars; None likewise.
        questions: Number of questions.
        clusters: Number of conversations.
        frontier: Whether no other system is right as often for less, or more often for as little; see :func:`priced`.
        session_tokens: Mean tokens of the conversations themselves, prompts and replies, if they are transcripts that
            record them; None if unknown for more than 2%.
        session_cost: Their mean cost in US dollars; None likewise.
    """

    model: str
    variant: str
    score: float
    interval: Interval
    best: int
    worst: int
    difference: float | None
    difference_interval: Interval | None
    kept: float | None
    kept_interval: Interval | None
    compactions: float | None
    tokens_in: float | None
    tokens_out: float | None
    cost: float | None
    questions: int
    clusters: int
    frontier: bool | None = None
    session_tokens: float | None = None
    session_cost: float | None = None


Priced = TypeVar("Priced", SurvivalPoint, Survival)


def survival(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[SurvivalPoint]:
    """The share of facts that are answered rightly, by age, kind and number of compactions.

    Returns:
        Points by model, as the rows name them, then by what they are grouped by, and by group, ascending; empty if no
        question is about a fact.

    Raises:
        FathomError: No question about a fact has a score.
    """
    points = []
    for model in _models(rows, unanswered):
        facts = model.about.select(*(facet(name).alias(name) for name in FACETS))
        numbers = {by: [_bin(number, by) for number in _numbers(facts[by])] for by in ("age", "compactions")}
        points += _points(model, "all", [""] * len(facts), seed)
        points += _points(model, "age", numbers["age"], seed)
        points += _points(model, "kind", facts["kind"].to_list(), seed)
        points += _points(model, "compactions", numbers["compactions"], seed)
    return priced(points)


def survivors(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[Survival]:
    """Systems by the share of facts that they still answer rightly, the highest first.

    Returns:
        The systems; empty if no question is about a fact.

    Raises:
        FathomError: No question about a fact has a score.
    """
    models = {(model.model, model.variant): model for model in _models(rows, unanswered)}
    ranked = ranking_of_questions(models.values(), seed=seed)
    ordered = [models[place.model, place.variant] for place in ranked]
    made = []
    for model, place in zip(ordered, ranked, strict=True):
        difference, bounds = _difference(model, place, ordered[0])
        compactions = _compactions(model)
        groups = list(model.about["cluster"])
        known = compactions >= 0
        of_known = [group for group, is_known in zip(groups, known.tolist(), strict=True) if is_known]
        kept, kept_interval = share_kept(model.means[known], compactions[known], of_known, seed)
        means = _used(model, model.about["name"])
        made.append(
            Survival(
                model=model.model,
                variant=model.variant,
                score=place.mean,
                interval=place.interval,
                best=place.best,
                worst=place.worst,
                difference=difference,
                difference_interval=bounds,
                kept=kept,
                kept_interval=kept_interval,
                compactions=float(compactions[known].mean()) if known.any() else None,
                tokens_in=means[0],
                tokens_out=means[1],
                cost=means[2],
                questions=len(groups),
                clusters=len(set(groups)),
                session_tokens=_of_sessions(model, "session_tokens"),
                session_cost=_of_sessions(model, "session_dollars"),
            )
        )
    return priced(made)


def priced(systems: Sequence[Priced]) -> list[Priced]:
    """Systems, or their points, with ``frontier``: no other is right as often for less, or more often for as little.

    What counts are dollars, or tokens where no system cost anything: those of prompts and replies if they are known of
    all, of prompts otherwise. Points of one group are compared, of systems that were asked as many questions of as many
    conversations, by point estimates. None is kept for systems whose amount is unknown.

    Args:
        systems: Systems, or points of any groups.
    """
    groups: dict[object, list[Priced]] = {}
    for system in systems:
        group = (system.by, system.group, system.low) if isinstance(system, SurvivalPoint) else ()
        groups.setdefault((group, system.questions, system.clusters), []).append(system)
    marks: dict[int, bool | None] = {}
    for own in groups.values():
        known = [(str(id(system)), system.score, amount) for system, amount in zip(own, amounts(own), strict=True)]
        best = frontier((name, score, amount) for name, score, amount in known if amount is not None)
        marks |= {int(name): None if amount is None else name in best for name, _, amount in known}
    return [replace(system, frontier=marks[id(system)]) for system in systems]


def amounts(systems: Sequence[Priced]) -> list[float | None]:
    """What a question takes each system: dollars, or tokens where none cost anything; see :func:`priced`."""
    if any(system.cost for system in systems):
        return [system.cost for system in systems]
    if all(system.tokens_out is not None for system in systems):
        used = ((system.tokens_in, system.tokens_out or 0) for system in systems)
        return [None if tokens_in is None else tokens_in + tokens_out for tokens_in, tokens_out in used]
    return [system.tokens_in for system in systems]


def share_kept(
    scores: Floats,
    compactions: NDArray[np.int64],
    groups: Sequence[str],
    seed: int = 0,
    *,
    replicates: int = REPLICATES,
) -> tuple[float | None, Interval | None]:
    """The share of facts that each compaction keeps, with its 95% interval.

    Args:
        scores: Score of each fact, in [0, 1].
        compactions: How often each was compacted.
        groups: The conversation of each.
        seed: Seed of the interval (Bayesian bootstrap over conversations).
        replicates: Replicates of the interval.

    Returns:
        Both None if all facts were compacted, or none was, or those that were not are never right. The interval is None
        with fewer than 20 conversations.
    """
    numbers = np.unique(compactions)
    later = numbers > 0
    if not len(numbers) or later.all() or not later.any():
        return None, None
    table = np.where(compactions[:, None] == numbers, scores[:, None], np.nan)
    table = np.column_stack([table, np.where(compactions > 0, scores, np.nan)])
    clusters = clusters_of(table, groups)
    point = _shares_kept(clusters.means[None, :], clusters.counts.sum(axis=0)[None, :], numbers)[0]
    if math.isnan(point):
        return None, None
    if len(set(groups)) < LEAST_KEPT:
        return float(point), None
    sums = resampled_sums(clusters, seed, replicates=replicates)
    means = sums.means(seed)
    # With one pseudo-conversation for both means, what it adds to them would cancel out where nearly all is kept.
    means[:, -1] = sums.at([-1]).means(seed, stream=OTHER)[:, 0]
    interval = interval_of(_shares_kept(means, sums.mass, numbers), float(point))
    return float(point), Interval(max(0.0, interval.low), min(1.0, interval.high))


def _shares_kept(means: Floats, mass: Floats, numbers: NDArray[np.int64]) -> Floats:
    """The share that is kept, in each replicate; NaN where facts without compaction are never right.

    Args:
        means: Mean scores by number of compactions, 0 first, then that of all compacted facts; replicates x columns.
        mass: Weights of the same columns.
        numbers: The numbers of compactions, ascending.
    """
    fresh, compacted, powers = means[:, 0], means[:, -1], numbers[1:].astype(np.float64)
    weights = mass[:, 1:-1] / mass[:, 1:-1].sum(axis=1, keepdims=True)
    low, high = np.zeros(len(means)), np.ones(len(means))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_more = fresh * (weights * middle[:, None] ** powers).sum(axis=1) < compacted
        low, high = np.where(is_more, middle, low), np.where(is_more, high, middle)
    return np.where(fresh > 0, (low + high) / 2, math.nan)


def _models(rows: pl.DataFrame, unanswered: Unanswered) -> list[ModelReplies]:
    """The replies about facts, of each model."""
    about = rows.filter(pl.any_horizontal(facet(name).is_not_null() for name in ("age", "quoted")))
    models = asked(about, unanswered)
    if len(about) and not models:
        raise nothing_measured(about)
    return models


def _numbers(column: pl.Series) -> list[int | None]:
    return column.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False).to_list()


def _compactions(model: ModelReplies) -> NDArray[np.int64]:
    """How often each fact was compacted; -1 where its place is unknown, and without a system."""
    column = model.about.select(facet("compactions").alias("compactions"))["compactions"]
    return np.array([-1 if number is None else number for number in _numbers(column)], dtype=np.int64)


def _bin(value: int | None, by: str) -> tuple[int, int] | None:
    """The group of an age or of a number of compactions: its ends double."""
    if by == "age":
        if value is None:
            return None
        high = SHORT
        while value >= high:
            high *= 2
        return (0 if high == SHORT else high // 2), high
    if value is None:
        return None
    low = 1 << max(0, value.bit_length() - 1)
    return (0, 0) if value == 0 else (low, 2 * low - 1)


def _points(model: ModelReplies, by: By, groups: Sequence[_Group | None], seed: int) -> list[SurvivalPoint]:
    """The points of one model; all of its groups are resampled together."""
    present = sorted({group for group in groups if group is not None})
    if not present or (by == "compactions" and present == [(0, 0)]):
        return []
    at = np.array([-1 if group is None else present.index(group) for group in groups])
    table = np.where(at[:, None] == np.arange(len(present)), model.means[:, None], np.nan)
    clusters = clusters_of(table, list(model.about["cluster"]))
    draws = resampled_means(clusters, seed, replicates=model.replicates(clusters))
    points = []
    for column, group in enumerate(present):
        low, high = group if isinstance(group, tuple) else (0, 0)
        score, counts = float(clusters.means[column]), clusters.counts[:, column]
        used = _used(model, model.about["name"].filter(at == column))
        points.append(
            SurvivalPoint(
                model=model.model,
                variant=model.variant,
                by=by,
                group=group if isinstance(group, str) else "",
                low=low,
                high=high,
                score=score,
                interval=interval_at(clusters, draws, column, score),
                tokens_in=used[0],
                tokens_out=used[1],
                cost=used[2],
                questions=int(counts.sum()),
                clusters=int((counts > 0).sum()),
            )
        )
    return points


def _used(model: ModelReplies, names: pl.Series) -> tuple[float | None, float | None, float | None]:
    """Mean tokens in and out, and mean cost, of some questions; None where more than 2% are unknown.

    As in ``setup_costs.spent_by``, requests that failed and prompts that were not sent are left out.
    """
    sent = model.ended.filter(pl.col("name").is_in(names.implode()), ~pl.col("status").is_in(["error", "overflow"]))
    own = sent.select(prompt_tokens(), "tokens_out", pl.col("cost").fill_nan(None))
    known = [column.null_count() <= MISSING_AT_MOST * len(own) for column in own]
    tokens_in, tokens_out, cost = (
        float(column.mean()) if is_known and len(own) else None  # type: ignore[arg-type]  # of numbers
        for column, is_known in zip(own, known, strict=True)
    )
    return tokens_in, tokens_out, cost


def _of_sessions(model: ModelReplies, name: str) -> float | None:
    """The mean over conversations of an amount that their transcripts record; None if more than 2% do not."""
    amounts = model.about.group_by("cluster").agg(facet(name).cast(pl.Float64, strict=False).mean().alias(name))[name]
    known = amounts.null_count() <= MISSING_AT_MOST * len(amounts)
    return float(amounts.mean()) if known else None  # type: ignore[arg-type]  # of numbers


def _difference(own: ModelReplies, ranked: Ranked, first: ModelReplies) -> tuple[float | None, Interval | None]:
    """The difference to the first model as the ranks have it; the interval is None with too few conversations."""
    if own is first:
        return 0.0, None
    if (gap := ranked.gaps[0]) is None:
        return None, None
    shared = {*own.about["name"]} & {*first.about["name"]}
    clusters = first.about.filter(pl.col("name").is_in(sorted(shared)))["cluster"].n_unique()
    return gap.difference, ranked.bounds[0] if clusters >= LEAST_COMPARED else None
