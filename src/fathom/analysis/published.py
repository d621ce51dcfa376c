"""Generated tasks beside the published records of the same benchmark: what contamination or format did.

A generated task asks for the same ability as the records that its benchmark publishes, over texts that nobody has
seen. A model that knows the records, or is used to their form, scores more on these. The items are others: differences
are not paired, and may have another reason. A difference is where to look, not a proof.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.plugins.discovery import declared
from fathom.stats.columns import cluster_name, item_name, mean_of
from fathom.stats.differences import Resampler, unpaired_gap
from fathom.stats.intervals import OTHER, OWN, Clusters, Floats, Interval, clusters_of, mean_interval, shuffled
from fathom.stats.outcomes import Unanswered, over_suites, scored_rows
from fathom.stats.ranks import with_adjusted
from fathom.types import Task


@dataclass(frozen=True, slots=True)
class PublishedAndGenerated:
    """Scores of one model on a generated task and on the published records of it.

    Attributes:
        length: Length in tokens; None for the mean over the lengths that both have.
        generated: Mean score of the generated items, in [0, 1].
        generated_interval: Its 95% interval; None over lengths. The other likewise.
        difference: ``published`` minus ``generated``, with its interval and p-value; not paired.
        p_adjusted: The p-value adjusted by Holm's method for all differences of the table.
        items: Number of generated items, and of published ones.
    """

    model: str
    variant: str
    task: str
    records: str
    length: int | None
    generated: float
    published: float
    generated_interval: Interval | None
    published_interval: Interval | None
    difference: float
    interval: Interval
    p_value: float
    items: tuple[int, int]
    p_adjusted: float | None = None


def published_twins() -> dict[str, str]:
    """The tasks on published records, by the generated tasks that ask for the same ability."""
    tasks: Mapping[str, Task] = declared("tasks", lambda task: task.name)
    return {task.name: task.published for task in tasks.values() if task.published}


def record_tasks() -> set[str]:
    """The tasks on published records."""
    tasks: Mapping[str, Task] = declared("tasks", lambda task: task.name)
    return {task.name for task in tasks.values() if task.gold == ("record",)}


def published_and_generated(
    rows: pl.DataFrame, pairs: Mapping[str, str], *, unanswered: Unanswered = "zero", seed: int = 0
) -> list[PublishedAndGenerated]:
    """Each model on each generated task and its published records, at each length that both have, and over them.

    Args:
        rows: A rows table.
        pairs: See :func:`published_twins`.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        seed: Seed of the intervals.

    Returns:
        Results in the order in which the rows name models and tasks; none for a task whose records were not asked.
    """
    known = {*pairs, *pairs.values()}
    scored = over_suites(scored_rows(rows.filter(pl.col("task").is_in(known)), unanswered)).drop_nulls("value")
    keys = ["model", "variant", "task", "length", "name", "cluster"]
    items = (
        scored.with_columns(item_name(), cluster_name()).group_by(keys, maintain_order=True).agg(value=mean_of("value"))
    )
    resampler, results = Resampler(seed), list[PublishedAndGenerated]()
    for (model, variant), own in items.group_by("model", "variant", maintain_order=True):
        for task in own["task"].unique(maintain_order=True):
            if task in pairs:
                sides = [_Side.of(own.filter(task=name)) for name in (task, pairs[task])]
                results += _compared((str(model), str(variant), task, pairs[task]), sides, resampler)
    return with_adjusted(results)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The items of one task: their clusters, and their scores, items x lengths, NaN where they were not asked."""

    lengths: list[int]
    clusters: list[str]
    scores: Floats

    @classmethod
    def of(cls, items: pl.DataFrame) -> "_Side":
        """Of the mean scores of items at lengths."""
        lengths = sorted(items["length"].unique())
        table = items.pivot("length", index=["name", "cluster"], values="value", maintain_order=True)
        scores = [table[str(length)].cast(pl.Float64).fill_null(np.nan).to_numpy() for length in lengths]
        return cls(lengths, table["cluster"].to_list(), np.stack(scores, axis=1) if scores else np.empty((0, 0)))

    def at(self, lengths: Sequence[int]) -> Floats:
        """The scores at some lengths."""
        return self.scores[:, [self.lengths.index(length) for length in lengths]]


def _compared(
    names: tuple[str, str, str, str], sides: Sequence[_Side], resampler: Resampler
) -> Iterator[PublishedAndGenerated]:
    """Each length that both sides have, and over them if there are several."""
    lengths = [length for length in sides[0].lengths if length in sides[1].lengths]
    tables = [side.at(lengths) for side in sides]
    clusters = [clusters_of(table, side.clusters) for table, side in zip(tables, sides, strict=True)] if lengths else []
    columns: list[tuple[int | None, list[int]]] = [(length, [place]) for place, length in enumerate(lengths)]
    if len(lengths) > 1:
        columns.append((None, list(range(len(lengths)))))
    for length, chosen in columns:
        means = [float(side.means[chosen].mean()) for side in clusters]
        draws = [_draws(side, stream, chosen, resampler) for side, stream in zip(clusters, (OWN, OTHER), strict=True)]
        fewest = min(int((side.counts[:, chosen] > 0).any(axis=1).sum()) for side in clusters)
        gap = unpaired_gap(draws[1] - draws[0], means[1] - means[0], fewest - 1)
        single = len(chosen) == 1
        intervals = [
            mean_interval(table[:, chosen[0]], resampler.seed, groups=side.clusters)[1] if single else None
            for table, side in zip(tables, sides, strict=True)
        ]
        asked = [int((~np.isnan(table[:, chosen])).any(axis=1).sum()) for table in tables]
        yield PublishedAndGenerated(
            *names,
            length=length,
            generated=means[0],
            published=means[1],
            generated_interval=intervals[0],
            published_interval=intervals[1],
            difference=gap.difference,
            interval=gap.interval,
            p_value=gap.p_value,
            items=(asked[0], asked[1]),
        )


def _draws(clusters: Clusters, stream: int, columns: Sequence[int], resampler: Resampler) -> Floats:
    """Replicates of the mean over some columns."""
    draws = resampler.means(clusters, 1.0, stream)[:, list(columns)].mean(axis=1)
    return shuffled(draws, stream)  # sides of as many clusters have the same weights otherwise
