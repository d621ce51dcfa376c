"""Averages as in LongBench: items within a task, tasks within a category, categories overall.

Every task has equal weight in its category, and every category in the overall score, whatever their numbers of items
(LongBench, table 2; MiniLongBench). A breakdown by another facet of the samples is the mean over tasks within each
group, as for the length buckets of LongBench-E, and over tasks with all of their items overall. So the overall score of
LongBench v2, which is one task, is the share of its questions with a correct answer.

A reply without a choice can get the chance level instead of 0, which v2's released code calls compensated.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fathom.analysis.grid import ALL
from fathom.stats.columns import cluster_name, facet, facet_names, item_name
from fathom.stats.intervals import (
    REPLICATES,
    Clusters,
    Interval,
    Sums,
    clusters_of,
    exact_interval,
    interval_of,
    resampled_sums,
    shuffled,
)
from fathom.stats.outcomes import Unanswered, added, scored_rows, tallies
from fathom.stats.strata import strata, within
from fathom.types import FathomError

CATEGORY = "category"
# The order of the papers, for groups that they have; others follow by name.
_ORDER = (
    *("single_doc_qa", "multi_doc_qa", "summarization", "few_shot", "synthetic", "code"),
    *("easy", "hard", "short", "medium", "long"),
)


@dataclass(frozen=True, slots=True)
class CategoryScore:
    """Mean score of one model over the items of one task in one group, or over tasks, or over groups.

    Attributes:
        group: Value of the facet; ``all`` for the overall score.
        task: Name of the task; ``all`` for the mean over tasks.
        score: The mean, in [0, 1].
        interval: Its 95% interval.
        tasks: Number of tasks.
        items: Number of items.
        note: Caveats; "" if none.
    """

    model: str
    variant: str
    group: str
    task: str
    score: float
    interval: Interval
    tasks: int
    items: int
    note: str = ""
    other: float | None = None
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0
    scorer_error: int = 0


@dataclass(frozen=True, slots=True)
class _Cell:
    """Items of one model in one task and group: their mean, their clusters with names, and their resampled sums."""

    task: str
    mean: float
    other: float
    items: int
    clusters: Clusters
    names: tuple[str, ...]
    sums: Sums


def categories(
    rows: pl.DataFrame,
    *,
    by: str = CATEGORY,
    compensated: bool = False,
    seed: int = 0,
    unanswered: Unanswered = "zero",
) -> list[CategoryScore]:
    """Averages per model and variant: each group's tasks, then the group, then overall.

    Args:
        rows: A rows table; may be empty. Epochs of an item, and its rows at several lengths, are averaged first.
        by: Facet of the samples that names the groups. ``category``: the overall score is the mean over groups; any
            other: the mean over tasks, each with all of its items that have the facet.
        compensated: Whether an invalid reply counts as much as chance; an unanswered one never does.
        seed: Seed of the intervals (Bayesian bootstrap over items, within each task).

    Returns:
        Scores in the order in which the rows name models; empty if no row has a score. A mean over a cell without a
        score (``fathom.stats.outcomes``) is left out.

    Raises:
        FathomError: No row with a score has the facet, or tasks or groups are named ``all``.
    """
    if not by.isidentifier():
        raise FathomError(f"{by!r} is not the name of a facet: expected letters, digits and _, such as {CATEGORY!r}")
    scored = scored_rows(rows, unanswered)
    groups = category_groups(scored, by)
    if groups.is_empty() and scored["value"].count():
        names = facet_names(rows)
        has = f"the rows have {', '.join(names)}: choose one with `by`" if names else "the rows have no facets"
        raise FathomError(f"no row with a score has the facet {by!r} to group by; {has}")
    return _categories(scored, groups, by, compensated, seed)


def category_groups(rows: pl.DataFrame, by: str = CATEGORY) -> pl.DataFrame:
    """The groups and tasks of counted rows with a score (``fathom.stats.outcomes``): ``group`` and ``task``."""
    scored = rows.filter(pl.col("value").is_not_null()).select("task", group=facet(by))
    return scored.filter(pl.col("group").is_not_null()).unique()


def _categories(
    scored: pl.DataFrame, groups: pl.DataFrame, by: str, compensated: bool, seed: int
) -> list[CategoryScore]:
    """The scores of counted rows; ``groups`` may have more groups and tasks than these."""
    blank = _blank(scored, by)
    items = _items(scored, by, compensated)
    table = items.filter(pl.col("group").is_not_null())
    if ((groups["task"] == ALL) | (groups["group"] == ALL)).any():
        raise FathomError(f"A task or group is named {ALL!r}, the reserved name of the mean. Rename it in the rows.")
    widest = {str(group): tasks for group, tasks in groups.group_by("group").agg(pl.col("task").n_unique()).iter_rows()}
    widest[ALL] = groups["task"].n_unique()
    lacking = items.filter(pl.col("group").is_null()).group_by("model", "variant").len()
    without = {(str(model), str(variant)): count for model, variant, count in lacking.iter_rows()}
    numbers = tallies(scored.with_columns(group=facet(by)), ("model", "variant", "group", "task"))
    scores: list[CategoryScore] = []
    for key, part in table.partition_by("model", "variant", maintain_order=True, as_dict=True).items():
        system = str(key[0]), str(key[1])
        *each, whole = _of_model(system, part, by, widest, seed)
        lost = blank.get(system, frozenset())
        scores += [score for score in each if (score.group, score.task) not in lost]
        left = f"items without {by}, left out: {without[system]}" if system in without else ""
        if not lost:
            scores.append(replace(whole, note="; ".join(filter(None, (whole.note, left)))))
    return [replace(score, **added(_of(score, numbers))) for score in scores]


def _of(score: CategoryScore, numbers: Mapping[tuple[object, ...], Mapping[str, int]]) -> Iterable[Mapping[str, int]]:
    """The tallies of the cells that a mean is over."""
    for (model, variant, group, task), tally in numbers.items():
        system = (model, variant) == (score.model, score.variant)
        if system and group is not None and score.group in (ALL, group) and score.task in (ALL, task):
            yield tally


def category_scores(rows: pl.DataFrame, groups: pl.DataFrame, *, seed: int = 0) -> list[CategoryScore]:
    """Scores of categories for a report; empty if there are fewer than two.

    Args:
        rows: The counted rows of some models.
        groups: The groups of all models (:func:`groups_of`).
    """
    if groups["group"].n_unique() < 2 or ALL in groups["group"]:
        return []
    return _categories(scored_rows(rows), groups, CATEGORY, False, seed)


def _items(rows: pl.DataFrame, by: str, compensated: bool) -> pl.DataFrame:
    """Mean score of every item: model, variant, task, group, name, value, cluster."""
    value = pl.col("value")
    if compensated:
        wrong_form = ~pl.col("valid") & pl.col("outcome").is_in(["answered", "cut"])
        value = pl.when(wrong_form).then(pl.max_horizontal("value", "chance")).otherwise(value)
    scored = rows.filter(pl.col("value").is_not_null()).with_columns(
        item_name(), cluster_name(), value, group=facet(by)
    )
    keys = ("model", "variant", "task", "group", "name")
    return scored.group_by(*keys, maintain_order=True).agg(pl.col("value", "other").mean(), pl.col("cluster").first())


def _blank(rows: pl.DataFrame, by: str) -> dict[tuple[str, str], frozenset[tuple[str, str]]]:
    """Groups and tasks of each model, ``all`` included, with a cell without a score."""
    lost_of: dict[tuple[str, str], set[tuple[str, str]]] = {}
    lost = rows.filter("blank").with_columns(group=facet(by)).select("model", "variant", "group", "task")
    for model, variant, group, task in lost.drop_nulls().unique().iter_rows():
        lost_of.setdefault((model, variant), set()).update(((group, task), (group, ALL)))
    return {system: frozenset(groups) for system, groups in lost_of.items()}


def _of_model(
    system: tuple[str, str], items: pl.DataFrame, by: str, widest: Mapping[str, int], seed: int
) -> Iterable[CategoryScore]:
    groups: list[list[_Cell]] = []
    for group in sorted(items["group"].unique(), key=_place):
        cells = _cells(items.filter(pl.col("group") == group), seed)
        groups.append(cells)
        for cell in cells:
            mean = _mean([[cell]], seed)
            yield CategoryScore(*system, group, cell.task, *mean, 1, cell.items, other=_other([[cell]]))
        yield _over(system, group, [cells], widest, seed)
    whole = groups if by == CATEGORY else [_cells(items.drop("group"), seed)]
    overall = _over(system, ALL, whole, widest, seed)
    apart = f"{len(groups)} of the {len(widest) - 1} groups of these rows" if len(groups) < len(widest) - 1 else ""
    yield replace(overall, note=overall.note or apart)


def _over(
    system: tuple[str, str], group: str, parts: Sequence[Sequence[_Cell]], widest: Mapping[str, int], seed: int
) -> CategoryScore:
    """The mean over several tasks, with a note if other models have more of them."""
    cells = [cell for part in parts for cell in part]
    tasks = len({cell.task for cell in cells})
    note = f"{tasks} of the {widest[group]} tasks of these rows" if tasks < widest[group] else ""
    mean = _mean(parts, seed)
    items = sum(cell.items for cell in cells)
    return CategoryScore(*system, group, ALL, *mean, tasks, items, note, other=_other(parts))


def _other(parts: Sequence[Sequence[_Cell]]) -> float | None:
    """The mean under the other choice of ``unanswered``; None if a cell has none."""
    mean = float(np.mean([np.mean([cell.other for cell in part]) for part in parts]))
    return None if np.isnan(mean) else mean


def _cells(items: pl.DataFrame, seed: int) -> list[_Cell]:
    cells = []
    for key, part in items.partition_by("task", maintain_order=True, as_dict=True).items():
        task = str(key[0])
        means = pl.col("value", "other").mean(), pl.col("cluster").first()
        scores = part.group_by("name", maintain_order=True).agg(*means).sort("name")
        values = scores["value"].to_numpy()[:, None]
        clusters = clusters_of(values, scores["cluster"].to_list())
        other = scores["other"].mean()
        other_value = other if isinstance(other, float) else np.nan
        sums = resampled_sums(clusters, seed)
        names = tuple(sorted(set(scores["cluster"])))
        cells.append(_Cell(task, float(values.mean()), other_value, len(values), clusters, names, sums))
    return cells


def _mean(parts: Sequence[Sequence[_Cell]], seed: int) -> tuple[float, Interval]:
    """Mean over parts of the means over their cells; all cells share one pseudo-cluster."""
    cells = [cell for part in parts for cell in part]
    point = float(np.mean([np.mean([cell.mean for cell in part]) for part in parts]))
    if len(cells) == 1 and (exact := exact_interval(cells[0].clusters)) is not None:
        return point, exact
    weights = [1 / (len(parts) * len(part)) for part in parts for _ in part]
    draws = np.zeros(REPLICATES)
    known = strata({f"{place:09}": cell.names for place, cell in enumerate(cells)})
    for cell, weight, (_, stratum) in zip(cells, weights, sorted(known.items()), strict=True):
        every = stratum.clusters
        sums = resampled_sums(within(cell.clusters, cell.names, every), seed) if every else cell.sums
        draws += weight * shuffled(sums.means(seed, 1 / len(cells))[:, 0], stratum.place)
    return point, interval_of(draws, point)


def _place(group: str) -> tuple[int, str]:
    return (_ORDER.index(group) if group in _ORDER else len(_ORDER), group)
