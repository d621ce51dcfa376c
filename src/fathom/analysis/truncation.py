"""Truncation: how much of a task needs the full text, from whole prompts and the same prompts truncated.

Source: Ada-LEval (Wang et al. 2024), section 4.6 and table 10: a task needs its whole text if the score falls sharply
when the text is truncated. A row with the facet ``cut_from`` has a prompt that was truncated to its length from that
length (``fathom build --truncate``); it belongs to the row of the same item, question and depth with the whole
prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import polars as pl

from fathom.analysis.grid import ALL
from fathom.stats.columns import cluster_name, facet, item_name, mean_of
from fathom.stats.differences import PAIRED_REPLICATES, Differences, Resampler, paired
from fathom.stats.intervals import Floats, Interval, exact_interval, interval_of
from fathom.stats.outcomes import counted, over_suites, scored_rows
from fathom.stats.side_rows import cut_from

_SYSTEM = ["model", "variant", "full"]
_QUESTION = ["suite", "task", "item", "question", "depth", "full"]


@dataclass(frozen=True, slots=True)
class Truncation:
    """One model on one task, with the same prompts at full length and truncated to another length.

    Only samples with a score at both count; epochs, questions and depths are averaged within the item.

    Attributes:
        task: Name of the task, ``all`` for the mean over tasks.
        cut_from: Full length in tokens.
        length: Length in tokens of the truncated prompts.
        tokens: Mean tokens of a truncated prompt, in the suite's tokenizer; None if unknown.
        full: Mean score at full length.
        full_interval: Its 95% interval.
        score: Mean score of the truncated prompts.
        interval: Its 95% interval.
        difference: ``full`` minus ``score``: how much the task needs of the text that was removed.
        difference_interval: Its 95% interval, paired over items.
        p_value: Two-sided p-value of the difference by the sign-flip test over items.
        share: ``score`` over ``full``, the share that is kept; None if ``full`` is 0.
        share_interval: Its 95% interval; None if that is.
        chance: Mean chance level; None if unknown.
        items: Items.
    """

    model: str
    variant: str
    task: str
    cut_from: int
    length: int
    tokens: float | None
    full: float
    full_interval: Interval
    score: float
    interval: Interval
    difference: float
    difference_interval: Interval
    p_value: float
    share: float | None
    share_interval: Interval | None
    chance: float | None
    items: int


def truncation(rows: pl.DataFrame, *, seed: int = 0, replicates: int = PAIRED_REPLICATES) -> list[Truncation]:
    """Compares whole prompts with truncated ones, per model, task and length.

    The mean over tasks (``all``) is included if there are several, at the lengths that all of them have.

    Returns:
        By model, task (as the rows name them, ``all`` last), full length and length, ascending; empty if no prompt
        was truncated. Cells without a score are left out (``fathom.stats.outcomes``).
    """
    if not rows.select(cut_from().is_not_null().any()).item():
        return []
    whole, cut = _sides(rows)
    pairs, lost = _pairs(whole, cut), _lost(whole, cut)
    truncations: list[Truncation] = []
    for (model, variant, full), group in pairs.group_by(_SYSTEM, maintain_order=True):
        tasks = {str(task): part for (task,), part in group.group_by("task", maintain_order=True)}
        system = (str(model), str(variant), int(str(full)))
        for task, part in tasks.items():
            truncations += _of_tasks({task: part}, task, system, seed, replicates)
        gone = [(task, length) for *key, task, length in lost if tuple(key) == system]
        # A task without a score at every length is missing from every mean over tasks.
        if len(tasks) > 1 and all(task in tasks for task, _ in gone):
            every = _of_tasks(tasks, ALL, system, seed, replicates)
            truncations += [point for point in every if all(point.length != length for _, length in gone)]
    return truncations


def _sides(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The counted rows of whole prompts, and those of truncated ones; ``full`` is the whole length."""
    marked = rows.with_columns(
        question=facet("question").fill_null(""),
        depth=facet("depth").fill_null(""),
        cut_from=cut_from(),
    )
    cut = counted(marked.filter(pl.col("cut_from").is_not_null())).with_columns(full="cut_from")
    return over_suites(scored_rows(marked).with_columns(full="length")), over_suites(cut, "full")


def _lost(whole: pl.DataFrame, cut: pl.DataFrame) -> list[tuple[object, ...]]:
    """Model, variant, full length, task and length of cells without a score, whole or truncated."""
    keys = [*_SYSTEM, "task"]
    whole_blank = whole.group_by(keys).agg(pl.col("blank").any().alias("blank_whole"))
    both = cut.select(*keys, "length", "blank").unique().join(whole_blank, on=keys)
    return both.filter(pl.col("blank") | pl.col("blank_whole")).select(*keys, "length").unique().rows()


def _pairs(whole: pl.DataFrame, cut: pl.DataFrame) -> pl.DataFrame:
    """One row for each model, item and length: its mean scores truncated (``value``) and whole (``whole``)."""
    keys = ["model", "variant", *_QUESTION]
    means = (pl.col("value", "chance", "tokens").mean(), pl.col("cluster").first())
    whole, cut = (side.filter(pl.col("value").is_not_null()).with_columns(cluster_name()) for side in (whole, cut))
    scores = whole.group_by(keys, maintain_order=True).agg(whole=pl.col("value").mean())
    return (
        cut.group_by([*keys, "length"], maintain_order=True)
        .agg(*means)
        .join(scores, on=keys, maintain_order="left")
        .with_columns(item_name())
        .group_by([*_SYSTEM, "task", "name", "length"], maintain_order=True)
        .agg(*means, pl.col("whole").mean())
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The pairs of one task: scores whole and truncated, items x lengths; mean tokens and chance of each length.

    ``groups`` are the clusters of the items.
    """

    groups: tuple[str, ...]
    whole: Floats
    cut: Floats
    tokens: tuple[float | None, ...]
    chance: tuple[float | None, ...]


def _table(pairs: pl.DataFrame, lengths: Sequence[int]) -> _Table:
    """The table of some lengths, ascending; each has an item."""
    part = pairs.filter(pl.col("length").is_in(lengths))
    column = np.searchsorted(lengths, part["length"].to_numpy())
    names, line = np.unique(part["name"].to_numpy().astype(str), return_inverse=True)
    whole, cut = np.full((2, len(names), len(lengths)), np.nan)
    whole[line, column], cut[line, column] = part["whole"].to_numpy(), part["value"].to_numpy()
    means = part.group_by("length").agg(mean_of("tokens"), mean_of("chance")).sort("length")
    known = dict(part.select("name", "cluster").iter_rows())
    groups = tuple(known[name] for name in names.tolist())
    return _Table(groups, whole, cut, tuple(means["tokens"]), tuple(means["chance"]))


def _of_tasks(
    parts: Mapping[str, pl.DataFrame], task: str, system: tuple[str, str, int], seed: int, replicates: int
) -> list[Truncation]:
    """One task, or the mean over several at the lengths that all of them have."""
    lengths = sorted(set.intersection(*(set(part["length"]) for part in parts.values())))
    if not lengths:
        return []
    tables = {name: _table(part, lengths) for name, part in parts.items()}
    resampler = Resampler(seed, replicates)
    differences = [paired(table.whole, table.cut, name, resampler, table.groups) for name, table in tables.items()]
    both = reduce(add, differences)
    model, variant, full_length = system
    return [
        _truncation((model, variant, task, full_length, length), list(tables.values()), both, column)
        for column, length in enumerate(lengths)
    ]


def _truncation(
    named: tuple[str, str, str, int, int], tables: Sequence[_Table], both: Differences, column: int
) -> Truncation:
    full = float(np.mean([np.nanmean(table.whole[:, column]) for table in tables]))
    score = float(np.mean([np.nanmean(table.cut[:, column]) for table in tables]))
    share = score / full if full else None
    first, second = both.sides([column])
    gap = both.gap([column])
    alone = (both.tasks[0].first, both.tasks[0].second) if len(both.tasks) == 1 else ()
    exact = [exact_interval(side.at([column])) for side in alone] or [None, None]
    return Truncation(
        *named,
        tokens=_mean([table.tokens[column] for table in tables]),
        full=full,
        full_interval=exact[0] or interval_of(first, full),
        score=score,
        interval=exact[1] or interval_of(second, score),
        difference=gap.difference,
        difference_interval=gap.interval,
        p_value=gap.p_value,
        share=share,
        share_interval=None if share is None else interval_of(second / first, share),
        chance=_mean([table.chance[column] for table in tables]),
        items=sum(int((~np.isnan(table.whole[:, column])).sum()) for table in tables),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Their mean; None if any of them is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
