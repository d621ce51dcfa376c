"""What a report measures with equal weight for every question: breakdowns, repeats, the gain by thinking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from fathom.analysis import GroupScore, Repeats, ThinkingGain
from fathom.analysis.breakdown import RUN, breakdown
from fathom.analysis.questions import asked
from fathom.analysis.ranking import Ranked, ranking_of_questions
from fathom.analysis.repeats import repeats
from fathom.analysis.thinking import thinking_gain
from fathom.stats.columns import facet

OVERALL = "overall"
FACETS = ("difficulty", "contextual_requirement", "primary_task", "secondary_task")
SHOWN = ("language", "difficulty", "length", "contextual_requirement", "primary_task", "secondary_task")
"""Dimensions that questions are grouped by, in the order of the report."""
GAINS = (OVERALL, "difficulty", "length")
PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class ByQuestion:
    """What is measured over questions.

    Attributes:
        systems: Models and variants with a score here, the highest first, or in the order they were chosen.
        published: Those with published averages and without replies.
        scores: Scores by groups of questions, of every system overall; empty without groups.
        trends: Best of n and pass at n over all questions, if questions were repeated.
        runs: Published means of single repeats.
        gains: Gains by thinking of models that were asked in both modes.
        repeats: Variation between repeats.
        ranking: Models by their mean over questions, if there are no average scores that can be compared.
        chosen: Whether the systems were chosen by name, so that figures leave none out.
    """

    systems: tuple[tuple[str, str], ...] = ()
    published: frozenset[tuple[str, str]] = frozenset()
    scores: tuple[GroupScore, ...] = ()
    trends: tuple[GroupScore, ...] = ()
    runs: tuple[GroupScore, ...] = ()
    gains: tuple[ThinkingGain, ...] = ()
    repeats: tuple[Repeats, ...] = ()
    ranking: tuple[Ranked, ...] = ()
    chosen: bool = False

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Dimensions that questions are grouped by here, in the order of the report."""
        there = {one.dimension for one in self.scores}
        return tuple(name for name in SHOWN if name in there)

    def only(self, systems: Sequence[tuple[str, str]]) -> ByQuestion:
        """The results of some systems, in their order."""
        models = {model for model, _ in systems}
        return replace(
            self,
            systems=tuple(system for system in systems if system in self.systems),
            scores=tuple(one for one in self.scores if (one.model, one.variant) in systems),
            trends=tuple(one for one in self.trends if (one.model, one.variant) in systems),
            runs=tuple(one for one in self.runs if (one.model, one.variant) in systems),
            gains=tuple(one for one in self.gains if one.model in models),
            repeats=tuple(one for one in self.repeats if (one.model, one.variant) in systems),
            chosen=True,
        )


def by_question(replies: pl.DataFrame, averages: pl.DataFrame, *, seed: int = 0, ranked: bool = False) -> ByQuestion:
    """Measures everything that gives questions equal weight.

    Args:
        replies: Rows of questions over their whole context; may be empty.
        averages: Rows that are published averages; may be empty.
        seed: Seed of the intervals.
        ranked: Whether models are ranked by their mean over questions.
    """
    averages = _renamed(averages, replies)
    rows = pl.concat([replies, averages])
    own, named = groupings(replies), _named(averages)
    by = [name for name in SHOWN if name in own or name in named]
    repeated = replies["epoch"].n_unique() > 1 or OVERALL in named
    scores = breakdown(rows, by=(OVERALL, *by), seed=seed) if by else []
    trends = breakdown(rows, by=(OVERALL,), measures=("best_of", "pass_at"), seed=seed) if repeated else []
    return ByQuestion(
        systems=order((*scores, *trends)),
        published=frozenset(averages.select("model", "variant").unique().rows()),
        scores=tuple(scores),
        trends=tuple(trends),
        runs=tuple(breakdown(averages, by=(RUN,), seed=seed)) if RUN in named else (),
        gains=(*_gains(replies, own, seed), *_gains(averages, named, seed)),
        repeats=tuple(repeats(replies, seed=seed)) if replies["epoch"].n_unique() > 1 else (),
        ranking=tuple(ranking_of_questions(asked(replies), seed=seed)) if ranked else (),
    )


def groupings(replies: pl.DataFrame) -> frozenset[str]:
    """Dimensions with two groups or more, except length alone, which is shown by the curves."""
    scored = replies.filter(pl.col("value").is_not_null())
    counts = scored.select(
        *(facet(name).drop_nulls().n_unique().alias(name) for name in FACETS), pl.col("language", "length").n_unique()
    ).row(0, named=True)
    found = frozenset(name for name, groups in counts.items() if groups > 1)
    return frozenset() if found <= {"length"} else found


def _named(averages: pl.DataFrame) -> frozenset[str]:
    return frozenset(averages.select(facet("aggregate").alias("name"))["name"].drop_nulls())


def _renamed(averages: pl.DataFrame, replies: pl.DataFrame) -> pl.DataFrame:
    """Published averages, renamed if there are replies of the same model and variant too."""
    if averages.is_empty() or replies.is_empty():
        return averages
    models = replies["model"].unique().implode()
    return averages.with_columns(
        model=pl.when(pl.col("model").is_in(models))
        .then(pl.concat_str("model", pl.lit(f" ({PUBLISHED})")))
        .otherwise("model")
    )


def _gains(rows: pl.DataFrame, groups: frozenset[str], seed: int) -> tuple[ThinkingGain, ...]:
    modes = rows.select("model", facet("thinking").alias("mode")).drop_nulls().unique()
    both = modes.filter(pl.col("model").is_duplicated())["model"].unique().implode()
    asked = rows.filter(pl.col("model").is_in(both))
    if asked.is_empty():
        return ()
    # Each dimension by itself: models with both modes may lack some of the groups that others have.
    by = [name for name in GAINS if name == OVERALL or name in groups]
    return tuple(gain for name in by for gain in thinking_gain(asked, by=(name,), seed=seed))


def order(scores: Sequence[GroupScore]) -> tuple[tuple[str, str], ...]:
    """Systems by overall score, the highest first, then those without one."""
    means = {(one.model, one.variant): one.score for one in reversed(scores) if one.dimension == OVERALL}
    there = dict.fromkeys((one.model, one.variant) for one in scores)
    return tuple(sorted(there, key=lambda system: -means.get(system, -1.0)))
