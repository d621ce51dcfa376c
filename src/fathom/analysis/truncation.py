"""Truncation: how much of a task needs the full text, from the same prompts at full length and cut.

Source: Ada-LEval (Wang et al. 2024), section 4.6 and table 10: a task requires its whole text to be understood if the
score falls sharply where the text is cut. A row with the facet ``cut_from`` has a prompt that was cut to its length
from one of that length (``fathom build --truncate``); it belongs to the row of the same item, question and depth whose
prompt is whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.closed_book import cut_from
from fathom.analysis.grid import ALL, scored_rows
from fathom.analysis.interval import Floats, Interval, generator, interval_of
from fathom.analysis.paired import PERMUTATIONS, Paired, averaged, paired

_SYSTEM = ["model", "variant", "full"]
_QUESTION = ["suite", "task", "item", "question", "depth", "full"]


@dataclass(frozen=True, slots=True)
class Truncation:
    """One model on one task, over the same prompts at full length and cut to another.

    Only samples with a score at both count; epochs, questions and depths are averaged within the item.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is one only.
        task: Name of the task, ``all`` for the mean over tasks.
        cut_from: Full length in tokens.
        length: Length in tokens that prompts were cut to.
        tokens: Mean tokens that a cut prompt has left, in the suite's tokenizer; None where the rows do not say.
        full: Mean score at full length.
        full_interval: Its 95% interval.
        score: Mean score of the cut prompts.
        interval: Its 95% interval.
        difference: ``full`` less ``score``: what the task needs of the text that was cut.
        difference_interval: Its 95% interval, paired over items.
        p_value: Two-sided sign-flip permutation p-value of the difference.
        share: ``score`` over ``full``, the share that is kept; None where ``full`` is 0.
        share_interval: Its 95% interval; None where that is.
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


def truncation(rows: pl.DataFrame, *, seed: int = 0, permutations: int = PERMUTATIONS) -> list[Truncation]:
    """Compares whole prompts with the same ones cut, per model, task and length of the cut.

    The mean over tasks (``all``) is there where there are several, at the cuts that all of them have.

    Args:
        rows: A rows table; may be empty.
        seed: Seed of intervals and permutations.
        permutations: Number of random sign flips.

    Returns:
        By model, task (as the rows name them, ``all`` last), full length and cut, ascending; empty where no prompt
        was cut.
    """
    pairs = _pairs(rows)
    found: list[Truncation] = []
    for (model, variant, full), group in pairs.group_by(_SYSTEM, maintain_order=True):
        tasks = {str(task): part for (task,), part in group.group_by("task", maintain_order=True)}
        named = (str(model), str(variant), int(str(full)))
        for task, part in tasks.items():
            found += _of_tasks({task: part}, task, named, seed, permutations)
        if len(tasks) > 1:
            found += _of_tasks(tasks, ALL, named, seed, permutations)
    return found


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """One line for each model, item and cut: the means of its scores cut (``value``) and whole (``whole``)."""
    marked = rows.with_columns(
        question=pl.col("facets").str.json_path_match("$.question").fill_null(""),
        depth=pl.col("facets").str.json_path_match("$.depth").fill_null(""),
        cut_from=cut_from(),
        value=pl.col("value").fill_nan(None),
        chance=pl.col("chance").fill_nan(None),
    )
    cut = marked.filter(pl.col("cut_from").is_not_null(), pl.col("value").is_not_null())
    whole = scored_rows(marked).filter(pl.col("value").is_not_null())
    keys = ["model", "variant", *_QUESTION]
    means = (pl.col("value").mean(), pl.col("chance").mean(), pl.col("tokens").mean())
    scores = whole.with_columns(full="length").group_by(keys, maintain_order=True).agg(whole=pl.col("value").mean())
    return (
        cut.with_columns(full="cut_from")
        .group_by([*keys, "length"], maintain_order=True)
        .agg(*means)
        .join(scores, on=keys, maintain_order="left")
        .with_columns(name=pl.concat_str("suite", pl.lit("\x1f"), "item"))
        .group_by([*_SYSTEM, "task", "name", "length"], maintain_order=True)
        .agg(*means, pl.col("whole").mean())
    )


@dataclass(frozen=True, slots=True)
class _Cut:
    """The pairs of one task: lengths of the cuts, their means, and scores whole and cut, items x lengths."""

    lengths: tuple[int, ...]
    whole: Floats
    cut: Floats
    tokens: Mapping[int, float | None]
    chance: Mapping[int, float | None]


def _table(part: pl.DataFrame) -> _Cut:
    lengths, column = np.unique(part["length"].to_numpy(), return_inverse=True)
    names, line = np.unique(part["name"].to_numpy().astype(str), return_inverse=True)
    whole, cut = np.full((2, len(names), len(lengths)), np.nan)
    whole[line, column], cut[line, column] = part["whole"].to_numpy(), part["value"].to_numpy()
    means = part.group_by("length").agg(pl.col("tokens").mean(), pl.col("chance").mean())
    return _Cut(
        tuple(int(length) for length in lengths),
        whole,
        cut,
        dict(means.select("length", "tokens").iter_rows()),
        dict(means.select("length", "chance").iter_rows()),
    )


def _of_tasks(
    parts: Mapping[str, pl.DataFrame], task: str, named: tuple[str, str, int], seed: int, permutations: int
) -> list[Truncation]:
    """One task, or the mean over several."""
    tables = {name: _table(part) for name, part in parts.items()}
    lengths = sorted(set.intersection(*(set(table.lengths) for table in tables.values())))
    if not lengths:
        return []
    columns = {name: [table.lengths.index(length) for length in lengths] for name, table in tables.items()}
    whole = np.mean([np.nanmean(table.whole[:, columns[name]], axis=0) for name, table in tables.items()], axis=0)
    cut = np.mean([np.nanmean(table.cut[:, columns[name]], axis=0) for name, table in tables.items()], axis=0)
    both = averaged(
        [
            paired(
                table.whole[:, columns[name]],
                table.cut[:, columns[name]],
                generator(seed, f"{name} truncation"),
                prior=1 / len(tables),
                permutations=permutations,
            )
            for name, table in tables.items()
        ]
    )
    return [
        _truncation(
            (*named[:2], task, named[2], length),
            both,
            place,
            (float(whole[place]), float(cut[place])),
            _mean([table.tokens[length] for table in tables.values()]),
            _mean([table.chance[length] for table in tables.values()]),
        )
        for place, length in enumerate(lengths)
    ]


def _truncation(
    named: tuple[str, str, str, int, int],
    both: Paired,
    place: int,
    scores: tuple[float, float],
    tokens: float | None,
    chance: float | None,
) -> Truncation:
    model, variant, task, full_length, length = named
    (full, score), first, second = scores, both.first[:, place], both.second[:, place]
    gap = both.gap(np.eye(len(both.gaps))[place])
    share = score / full if full else None
    return Truncation(
        model=model,
        variant=variant,
        task=task,
        cut_from=full_length,
        length=length,
        tokens=tokens,
        full=full,
        full_interval=interval_of(first, full),
        score=score,
        interval=interval_of(second, score),
        difference=gap.difference,
        difference_interval=gap.interval,
        p_value=gap.p_value,
        share=share,
        share_interval=None if share is None else interval_of(second / first, share),
        chance=chance,
        items=int(both.items[place]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) and known else None
