"""What a report measures with equal weight for every question: breakdowns, repeats, the gain by thinking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from fathom.analysis import GroupScore, Repeats, ThinkingGain
from fathom.analysis.breakdown import RUN, adjusted_scores, group_scores
from fathom.analysis.questions import Means, asked, means_of
from fathom.analysis.ranking import Ranked, ranking_of_questions
from fathom.analysis.repeats import repeats_of
from fathom.analysis.thinking import gains_of
from fathom.stats.columns import facet
from fathom.stats.ranks import with_adjusted

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
        present = {score.dimension for score in self.scores}
        return tuple(name for name in SHOWN if name in present)

    def only(self, systems: Sequence[tuple[str, str]]) -> ByQuestion:
        """The results of some systems, in their order."""
        models = {model for model, _ in systems}
        return replace(
            self,
            systems=tuple(system for system in systems if system in self.systems),
            scores=tuple(score for score in self.scores if (score.model, score.variant) in systems),
            trends=tuple(score for score in self.trends if (score.model, score.variant) in systems),
            runs=tuple(score for score in self.runs if (score.model, score.variant) in systems),
            gains=tuple(gain for gain in self.gains if gain.model in models),
            repeats=tuple(repeat for repeat in self.repeats if (repeat.model, repeat.variant) in systems),
            chosen=True,
        )


@dataclass(frozen=True, slots=True)
class Outline:
    """What rows have in common that are measured in parts.

    Attributes:
        groups: The values of each dimension that scored questions have.
        named: Dimensions of published averages.
        epochs: The numbers of the repeats.
        models: Models with replies.
    """

    groups: Mapping[str, frozenset[object]]
    named: frozenset[str] = frozenset()
    epochs: frozenset[int] = frozenset()
    models: frozenset[str] = frozenset()

    def __add__(self, other: Outline) -> Outline:
        """The outline of both parts."""
        return Outline(
            {name: self.groups[name] | other.groups[name] for name in self.groups},
            self.named | other.named,
            self.epochs | other.epochs,
            self.models | other.models,
        )

    @property
    def groupings(self) -> frozenset[str]:
        """Dimensions with two groups or more, except length alone, which is shown by the curves."""
        several = frozenset(name for name, groups in self.groups.items() if len(groups) > 1)
        return frozenset() if several <= {"length"} else several


def outline_of(replies: pl.DataFrame, averages: pl.DataFrame) -> Outline:
    """The outline of some rows; arguments as in :func:`by_question`."""
    scored = replies.filter(pl.col("value").is_not_null())
    groups = {name: frozenset(scored.select(facet(name)).to_series().drop_nulls().unique()) for name in FACETS}
    for name in ("language", "length"):
        groups[name] = frozenset(scored[name].unique())
    return Outline(
        groups,
        frozenset(averages.select(facet("aggregate").alias("name"))["name"].drop_nulls()),
        frozenset(replies["epoch"].unique()),
        frozenset(replies["model"].unique()),
    )


@dataclass(frozen=True, slots=True)
class PartByQuestion:
    """The same of some models.

    Attributes:
        scores: See ``ByQuestion``; the same below.
        trends: Likewise.
        runs: Likewise.
        gains: Of replies.
        published_gains: Of published averages.
        repeats: See ``ByQuestion``.
        means: What a ranking needs.
        published: See ``ByQuestion``.
    """

    scores: Sequence[GroupScore]
    trends: Sequence[GroupScore]
    runs: Sequence[GroupScore]
    gains: Sequence[ThinkingGain]
    published_gains: Sequence[ThinkingGain]
    repeats: Sequence[Repeats]
    means: Sequence[Means]
    published: frozenset[tuple[str, str]]


def part_by_question(replies: pl.DataFrame, averages: pl.DataFrame, whole: Outline, *, seed: int = 0) -> PartByQuestion:
    """Measures some models, with equal weight for every question.

    Args:
        replies: Their counted rows of questions over their whole context; may be empty.
        averages: Their rows that are published averages; may be empty.
        whole: The outline of all rows.
        seed: Seed of the intervals.
    """
    averages = _renamed(averages, whole)
    rows = pl.concat([replies, averages])
    own, named = whole.groupings, whole.named
    by = [name for name in SHOWN if name in own or name in named]
    repeated, again = len(whole.epochs) > 1 or OVERALL in named, len(whole.epochs) > 1
    known = asked(rows)
    best = ("best_of", "pass_at")
    return PartByQuestion(
        scores=group_scores(rows, known, by=(OVERALL, *by), seed=seed) if by else [],
        trends=group_scores(rows, known, by=(OVERALL,), measures=best, seed=seed) if repeated else [],
        runs=group_scores(averages, (), by=(RUN,), seed=seed) if RUN in named else [],
        gains=_gains(replies, own, seed),
        published_gains=_gains(averages, named, seed),
        repeats=repeats_of(known, seed=seed) if again else [],
        means=[mean for question in known if (mean := means_of(question))],
        published=frozenset(averages.select("model", "variant").unique().rows()),
    )


def together(parts: Sequence[PartByQuestion], *, seed: int = 0, ranked: bool = False) -> ByQuestion:
    """The parts as one.

    Args:
        parts: The parts, in the order of the rows.
        seed: Seed of the intervals.
        ranked: Whether models are ranked by their mean over questions.
    """
    scores, trends = (
        [score for part in parts for score in part.scores],
        [score for part in parts for score in part.trends],
    )
    gains = with_adjusted([gain for part in parts for gain in part.gains])
    means = (mean for part in parts for mean in part.means)
    return ByQuestion(
        systems=order((*scores, *trends)),
        published=frozenset(system for part in parts for system in part.published),
        scores=tuple(adjusted_scores(scores)),
        trends=tuple(trends),
        runs=tuple(run for part in parts for run in part.runs),
        gains=(*_by_dimension(gains), *_by_dimension(gain for part in parts for gain in part.published_gains)),
        repeats=tuple(repeat for part in parts for repeat in part.repeats),
        ranking=tuple(ranking_of_questions(means, seed=seed)) if ranked else (),
    )


def _by_dimension(gains: Iterable[ThinkingGain]) -> list[ThinkingGain]:
    return sorted(gains, key=lambda gain: GAINS.index(gain.dimension))


def _renamed(averages: pl.DataFrame, whole: Outline) -> pl.DataFrame:
    """Published averages, renamed if there are replies of the same model too."""
    if averages.is_empty() or not whole.models:
        return averages
    models = list(whole.models)
    return averages.with_columns(
        model=pl.when(pl.col("model").is_in(models))
        .then(pl.concat_str("model", pl.lit(f" ({PUBLISHED})")))
        .otherwise("model")
    )


def _gains(rows: pl.DataFrame, groups: frozenset[str], seed: int) -> list[ThinkingGain]:
    modes = rows.select("model", facet("thinking").alias("mode")).drop_nulls().unique()
    both = modes.filter(pl.col("model").is_duplicated())["model"].unique().implode()
    both_modes = rows.filter(pl.col("model").is_in(both))
    if both_modes.is_empty():
        return []
    by = [name for name in GAINS if name == OVERALL or name in groups]
    return gains_of(both_modes, by=by, seed=seed)[0]


def order(scores: Sequence[GroupScore]) -> tuple[tuple[str, str], ...]:
    """Systems by overall score, the highest first, then those without one."""
    means = {(score.model, score.variant): score.score for score in reversed(scores) if score.dimension == OVERALL}
    systems = dict.fromkeys((score.model, score.variant) for score in scores)
    return tuple(sorted(systems, key=lambda system: -means.get(system, -1.0)))
