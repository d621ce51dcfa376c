"""Breakdowns: the plain mean over questions, by language, length, difficulty or any other property of the questions.

As in the released code of LongBench Pro (``modules/utils.py``): the repeats of a question are averaged first, and every
question then has the same weight, whatever its task (``categories`` gives every task the same weight instead). Best of
n takes the best of a question's first n repeats instead of their mean; pass at n is the share of questions for which
one of the first n repeats passes: a summary above 0.65, any other reply with 1. A reply without a score is not counted
as a repeat: later ones move up, so that every n is over the same questions.

Published averages are rows too, without replies. Their facets describe them: ``aggregate`` is the dimension, then
``group``, ``measure``, ``n`` (repeats), ``questions`` if known, and ``thinking`` and ``model_kind`` as for replies.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fathom.analysis.grid import ALL
from fathom.analysis.questions import ModelReplies, asked, best_of_first, other_mean, passed, row_means
from fathom.stats.columns import facet, facet_names
from fathom.stats.differences import Gap, unpaired_gap
from fathom.stats.intervals import (
    OTHER,
    OWN,
    Clusters,
    Floats,
    Interval,
    Sums,
    clusters_of,
    interval_at,
    replicates_for,
    resampled_means,
    resampled_sums,
    shuffled,
)
from fathom.stats.outcomes import Unanswered, nothing_measured, tally
from fathom.stats.ranks import adjusted
from fathom.stats.side_rows import is_aggregate
from fathom.tokens.length import format_length
from fathom.types import FathomError

OVERALL = "overall"
DIMENSIONS = (OVERALL, "language", "difficulty", "length", "contextual_requirement", "primary_task", "secondary_task")
_COLUMNS = ("suite", "task", "language")
# The order of the papers; other groups follow, sorted by the words and numbers in their names.
_ORDER = ("en", "zh", "Easy", "Moderate", "Hard", "Extreme", "Full", "Partial")
_SIZES = {"k": 1024, "m": 1024 * 1024}
MEASURES = ("mean", "best_of", "pass_at")
RUN = "run"
"""The dimension whose groups are single repeats of all questions."""


def groups_of(about: pl.DataFrame, dimension: str) -> pl.Series:
    """The group of every question, null without one.

    Args:
        about: A table with the columns of rows, one row per question.
        dimension: ``overall`` (one group, ``all``), ``length`` (such as "8k"; 0 is unknown), ``language``, ``task`` or
            ``suite``; any other is a facet of the samples.
    """
    if dimension == OVERALL:
        return pl.repeat(ALL, len(about), eager=True)
    if dimension == "length":
        names = [format_length(length) if length else None for length in about["length"]]
        return pl.Series("length", names, dtype=pl.String)
    if dimension in _COLUMNS:
        return about[dimension]
    return about.select(facet(dimension)).to_series()


def place(group: str) -> tuple[int, list[str | float]]:
    """Sort key of a group in its dimension: lengths ascending, tasks by their numbers."""
    if group in _ORDER:
        return 0, [_ORDER.index(group)]
    if length := re.fullmatch(r"(\d+)([km]?)", group):
        return 1, [int(length[1]) * _SIZES.get(length[2], 1)]
    # Words and numbers alternate, so that T2 comes before T10.
    return 2, [int(part) if number % 2 else part for number, part in enumerate(re.split(r"(\d+)", group))]


def check_dimensions(by: Sequence[str]) -> None:
    """Checks that all dimensions are possible names of facets.

    Raises:
        FathomError: One of them is not, or there are none.
    """
    for name in by:
        if not name.isidentifier():
            raise FathomError(
                f"cannot group by {name!r}: choose {', '.join(DIMENSIONS)}, or any other facet of the samples"
            )
    if not by:
        raise FathomError(f"nothing to group by: choose {', '.join(DIMENSIONS)}, or any other facet of the samples")


def not_there(dimension: str, rows: pl.DataFrame) -> FathomError:
    """The error for a dimension that no question in the rows has."""
    names = facet_names(rows)
    has = f"the rows have the facets {', '.join(names)}" if names else "the rows have no facets"
    return FathomError(f"no question with a score has {dimension!r} to group by; {has}")


def published(rows: pl.DataFrame) -> pl.DataFrame:
    """Published averages, one per row, in the order of the rows.

    Returns:
        ``model``, ``variant``, ``value``, ``detail``, ``dimension``, ``group``, ``measure``, ``n``, ``questions`` (null
        if unknown), ``thinking`` and ``model_kind`` ("" if unknown).
    """
    return rows.filter(is_aggregate(), pl.col("value").fill_nan(None).is_not_null()).select(
        "model",
        "variant",
        "value",
        "detail",
        dimension=facet("aggregate"),
        group=facet("group").fill_null(""),
        measure=facet("measure").fill_null("mean"),
        n=facet("n").cast(pl.Int64, strict=False).fill_null(1),
        questions=facet("questions").cast(pl.Int64, strict=False),
        thinking=facet("thinking").fill_null(""),
        model_kind=facet("model_kind").fill_null(""),
    )


@dataclass(frozen=True, slots=True)
class GroupScore:
    """Score of one model over the questions of one group.

    Attributes:
        dimension: Dimension of the groups.
        group: The value in common; ``all`` for ``overall``, the number of a repeat for ``run``.
        measure: One of ``MEASURES``.
        n: Repeats of each question: those that most questions have for ``mean``, the first n for the others.
        score: The score, in [0, 1].
        interval: Its 95% interval; None for a published average.
        questions: Number of questions; None if unknown.
        clusters: Items of these questions, or clusters of items: what is resampled; None for a published average.
        difference: The score minus the mean over the questions of all other groups of the dimension. None with a single
            group, for repeats and published averages, and if a group of the dimension has no score.
        difference_interval: Its 95% interval; None without one.
        p_value: Its two-sided p-value from the replicates; None without one.
        p_adjusted: The p-value adjusted by Holm's method for all differences of the table, those of all models,
            dimensions and measures: some of them are below .05 in at most 5% of tables without a true difference.
        note: Caveats; "" if none.
        other: For ``mean``, the mean under the other choice of ``unanswered``; None otherwise.
    """

    model: str
    variant: str
    dimension: str
    group: str
    measure: str
    n: int
    score: float
    interval: Interval | None
    questions: int | None
    clusters: int | None = None
    difference: float | None = None
    difference_interval: Interval | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    note: str = ""
    other: float | None = None
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0
    scorer_error: int = 0


def breakdown(
    rows: pl.DataFrame,
    *,
    by: Sequence[str] = DIMENSIONS,
    measures: Sequence[str] = ("mean",),
    unanswered: Unanswered = "zero",
    seed: int = 0,
) -> list[GroupScore]:
    """Scores by groups of questions, per model and variant.

    Intervals resample items: the questions of one item, or of one cluster of items, together. A repeat without a score
    is left out of the mean of its question and not counted among the first n; a question without any score is in no
    group. A group with questions of a cell without a score has no score (``fathom.stats.outcomes``). Differences of
    groups resample the items of all groups together: the questions of an item that is in several of them too.

    Args:
        rows: A rows table; may be empty. Published averages are passed through, without an interval.
        by: Dimensions: ``overall``, ``language``, ``length``, ``task``, ``suite``, ``run`` (each repeat of all
            questions), or a facet of the samples. Questions without it are in no group.
        measures: Any of ``MEASURES``; the last two for n from 1 to the number of repeats that most questions have.
        seed: Seed of the intervals (Bayesian bootstrap over items).

    Returns:
        Scores in the order in which the rows name models, then by dimension in the order of ``by``, group, measure, n.

    Raises:
        FathomError: Unknown measure or none, ``run`` without ``mean``, or no question has a dimension of ``by``
            that was given explicitly.
    """
    check_dimensions(by)
    if wrong := [name for name in measures if name not in MEASURES]:
        raise FathomError(f"unknown measure {wrong[0]!r}: choose {', '.join(MEASURES)}")
    if not measures:
        raise FathomError(f"no measure given: choose {', '.join(MEASURES)}")
    if RUN in by and "mean" not in measures:
        raise FathomError(f"{RUN!r} groups single repeats, which only have a mean: add mean to the measures")
    known = asked(rows, unanswered)
    scores = group_scores(rows, known, by=by, measures=measures, seed=seed)
    lacking = [name for name in by if all(score.dimension != name for score in scores)]
    if scores and lacking and tuple(by) != DIMENSIONS and all(model.blank.is_empty() for model in known):
        raise not_there(lacking[0], rows)
    if not scores and known:
        raise not_there(by[0], rows) if all(model.blank.is_empty() for model in known) else nothing_measured(rows)
    return scores


def group_scores(
    rows: pl.DataFrame,
    known: Sequence[ModelReplies],
    *,
    by: Sequence[str],
    measures: Sequence[str] = ("mean",),
    seed: int = 0,
) -> list[GroupScore]:
    """The scores of :func:`breakdown` in its order, none for a dimension that no question has.

    Args:
        known: Its questions (:func:`fathom.analysis.questions.asked`).
        measures: Any of ``MEASURES``.
    """
    cells = [cell for model in known for cell in _cells(model, by, measures, seed)]
    measured = (score for cell in cells for score in _scores(cell, seed))
    scores = [*measured, *_published(rows, by, measures)]
    systems = rows.select("model", "variant").unique(maintain_order=True).rows()
    order = {system: number for number, system in enumerate(systems)}
    ordered = sorted(
        scores,
        key=lambda score: (
            order[score.model, score.variant],
            by.index(score.dimension),
            place(score.group),
            MEASURES.index(score.measure),
            score.n,
        ),
    )
    return adjusted_scores(ordered)


def adjusted_scores(table: Sequence[GroupScore]) -> list[GroupScore]:
    """The scores of one table with the p-values of their differences adjusted for all of them.

    Of two groups, each of which is the rest of the other, there is one difference.
    """
    families: dict[tuple[object, ...], list[int]] = {}
    for number, score in enumerate(table):
        if score.p_value is not None:
            families.setdefault((score.model, score.variant, score.dimension, score.measure, score.n), []).append(
                number
            )
    tests = [numbers[:1] if len(numbers) == 2 else numbers for numbers in families.values()]
    chosen = [number for numbers in tests for number in numbers]
    p_values = dict(zip(chosen, adjusted([table[number].p_value or 0.0 for number in chosen]), strict=True))
    p_values |= {numbers[1]: p_values[numbers[0]] for numbers in families.values() if len(numbers) == 2}
    return [replace(score, p_adjusted=p_values.get(number)) for number, score in enumerate(table)]


def _published(rows: pl.DataFrame, by: Sequence[str], measures: Sequence[str]) -> Iterable[GroupScore]:
    for line in published(rows).iter_rows(named=True):
        if line["dimension"] in by and line["measure"] in measures:
            yield GroupScore(
                model=line["model"],
                variant=line["variant"],
                dimension=line["dimension"],
                group=line["group"],
                measure=line["measure"],
                n=line["n"],
                score=line["value"],
                interval=None,
                questions=line["questions"],
                note=line["detail"] or "",
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """One model in one group.

    Attributes:
        columns: Measure and n of each column.
        clusters: The cluster of each question.
        values: Scores, questions x columns.
        ended: All replies.
        differences: The difference to the other groups for each column, if there is one.
        note: Caveats; "" if none.
    """

    asked: ModelReplies
    dimension: str
    group: str
    columns: Sequence[tuple[str, int]]
    clusters: pl.Series
    values: Floats
    ended: pl.DataFrame
    differences: Sequence[Gap | None] = ()
    note: str = ""


def _cells(model: ModelReplies, by: Sequence[str], measures: Sequence[str], seed: int) -> Iterable[_Cell]:
    columns, values = _columns(model, measures)
    for dimension in by:
        if dimension == RUN:
            yield from _runs(model) if model.blank.is_empty() else ()
            continue
        groups = groups_of(model.about, dimension)
        without, blank = groups.null_count(), set(groups_of(model.blank, dimension))
        replied = groups_of(model.ended, dimension)
        note = f"questions without {dimension}, left out: {without}" if without else ""
        names = groups.drop_nulls().unique().sort()
        differences = {} if blank else _differences(groups, names.to_list(), model.about["cluster"], values, seed)
        for group in names:
            if group in blank:
                continue
            here = (groups == group).fill_null(False)
            clusters, ended = model.about["cluster"].filter(here), model.ended.filter(replied == group)
            gaps = differences.get(group, ())
            yield _Cell(model, dimension, group, columns, clusters, values[here.to_numpy()], ended, gaps, note)


def _differences(
    groups: pl.Series, names: Sequence[str], clusters: pl.Series, values: Floats, seed: int
) -> dict[str, list[Gap | None]]:
    """The difference of each group to the rest, for each column.

    Args:
        groups: The group of each question, null without one.
        clusters: The cluster of each question.
        values: Scores, questions x columns.
    """
    if len(names) < 2:
        return {}
    known, size = groups.is_not_null().to_numpy(), values.shape[1]
    place = groups.drop_nulls().cast(pl.Enum(names)).to_physical().to_numpy()
    table = np.full((len(place), len(names), size), np.nan)
    table[np.arange(len(place)), place] = values[known]
    parts = clusters_of(table.reshape(len(place), -1), clusters.filter(known).to_list())
    totals, counts = (sides.reshape(-1, len(names), size) for sides in (parts.totals, parts.counts))
    own, mass = _sums_of_groups(totals, counts, seed)
    all_scored, all_mass, present = own.sum(axis=1), mass.sum(axis=1), counts.sum(axis=1)
    gaps_of: dict[str, list[Gap | None]] = {}
    for number, name in enumerate(names):
        if number == 1 and len(names) == 2:  # the other way round
            gaps_of[name] = [None if gap is None else gap.reversed for gap in gaps_of[names[0]]]
            continue
        group = Clusters(totals[:, number], counts[:, number])
        rest = Clusters(totals.sum(axis=1) - group.totals, present - group.counts)
        points = group.means - rest.means
        draws = Sums(own[:, number], mass[:, number], group.often).means(seed, 1.0, OWN)
        draws = draws - Sums(all_scored - own[:, number], all_mass - mass[:, number], rest.often).means(
            seed, 1.0, OTHER
        )
        fewest = np.minimum((group.counts > 0).sum(axis=0), (rest.counts > 0).sum(axis=0)).tolist()
        gaps_of[name] = [
            None if fewest[column] == 0 else unpaired_gap(draws[:, column], point, fewest[column] - 1)
            for column, point in enumerate(points.tolist())
        ]
    return gaps_of


def _sums_of_groups(totals: Floats, counts: Floats, seed: int) -> tuple[Floats, Floats]:
    """Weighted sums of the scores of each group and of their weights, replicates x groups x columns.

    Args:
        totals: Sums of the scores of each cluster in each group, clusters x groups x columns.
    """
    size = counts.shape[1:]
    present = np.asarray(counts.any(axis=2))
    if (present.sum(axis=1) > 1).any():
        flat = Clusters(totals.reshape(len(totals), -1), counts.reshape(len(counts), -1))
        together = resampled_sums(flat, seed, replicates=replicates_for(len(totals)))
        return together.scored.reshape(-1, *size), together.mass.reshape(-1, *size)
    # No cluster is in two groups: they are independent, and are drawn with the weights of their scores, which are kept.
    parts = [
        resampled_sums(
            Clusters(totals[present[:, group], group], counts[present[:, group], group]),
            seed,
            replicates=replicates_for(len(totals)),
        )
        for group in range(size[0])
    ]
    scored, mass = (
        np.stack([shuffled(side, place) for place, side in enumerate(sides)], axis=1)
        for sides in ([part.scored for part in parts], [part.mass for part in parts])
    )
    return scored, mass


def _columns(model: ModelReplies, measures: Sequence[str]) -> tuple[list[tuple[str, int]], Floats]:
    """Scores of every question for every measure, and n of each."""
    passing = passed(model.tries, model.threshold[:, None])
    tables: Mapping[str, Floats] = {"best_of": model.tries, "pass_at": passing}
    measured = [(("mean", model.runs), row_means(model.scores))] if "mean" in measures else []
    for measure, table in tables.items():
        if measure in measures:
            measured += [((measure, n), best_of_first(table, n)) for n in range(1, model.runs + 1)]
    return [column for column, _ in measured], np.stack([values for _, values in measured], axis=1)


def _runs(model: ModelReplies) -> Iterable[_Cell]:
    for number, epoch in enumerate(model.ended["epoch"].unique().sort()[: model.runs]):
        clusters, ended = model.about["cluster"], model.ended.filter(pl.col("epoch") == epoch)
        yield _Cell(model, RUN, str(number + 1), [("mean", 1)], clusters, model.scores[:, number, None], ended)


def _scores(cell: _Cell, seed: int) -> Iterable[GroupScore]:
    known = ~np.isnan(cell.values)
    other = other_mean(cell.ended)
    clusters = clusters_of(cell.values, cell.clusters.to_list())
    # What other tables show too has their replicates, so that one mean has one interval.
    own = cell.dimension in ("overall", "length")
    replicates = cell.asked.replicates(clusters) if own else replicates_for(len(clusters.totals))
    draws = resampled_means(clusters, seed, replicates=replicates)
    for column, (measure, n) in enumerate(cell.columns):
        values = cell.values[known[:, column], column]
        if not len(values):
            continue
        score = float(values.mean())
        gap = cell.differences[column] if cell.differences else None
        yield GroupScore(
            model=cell.asked.model,
            variant=cell.asked.variant,
            dimension=cell.dimension,
            group=cell.group,
            measure=measure,
            n=n,
            score=score,
            interval=interval_at(clusters, draws, column, score),
            questions=len(values),
            clusters=int((clusters.counts[:, column] > 0).sum()),
            difference=None if gap is None else gap.difference,
            difference_interval=None if gap is None else gap.interval,
            p_value=None if gap is None else gap.p_value,
            note=cell.note,
            other=other if measure == "mean" else None,
            **tally(cell.ended),
        )
