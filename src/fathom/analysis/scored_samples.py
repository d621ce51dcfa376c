"""The scored samples of models by task, in arrays with the same places for all models."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.grid import ALL, Cell, blank_cells
from fathom.rows.schema import NUMBER
from fathom.stats.columns import cluster_name, item_name
from fathom.stats.intervals import Floats
from fathom.stats.outcomes import LOST, Unanswered, scored_rows
from fathom.types import FathomError

OUTCOMES = ("unanswered", "cut", *LOST)
"""Outcomes of replies whose numbers comparisons show."""


class Samples:
    """The samples of all models on one task, by number, and their places in a table of items x lengths."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._items: list[str] = []
        self._lengths: list[int] = []
        self._clusters: dict[str, str] = {}

    def numbers(self, samples: pl.DataFrame) -> NDArray[np.int64]:
        """The numbers of the samples of one model, given as sample, name and cluster of the item, and length."""
        known, before = self._numbers, len(self._numbers)
        numbers = np.array([known.setdefault(name, len(known)) for name in samples["sample"]], dtype=np.int64)
        new = samples.filter(pl.Series(numbers >= before))
        self._items.extend(new["name"])
        self._lengths.extend(new["length"])
        self._clusters |= dict(new.select("name", "cluster").iter_rows())
        return numbers

    @cached_property
    def clusters(self) -> tuple[str, ...]:
        """The cluster of each item, in the order of their names."""
        return tuple(self._clusters[name] for name in sorted(self._clusters))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Lengths in tokens, ascending."""
        return tuple(sorted(set(self._lengths)))

    @cached_property
    def at_length(self) -> NDArray[np.int64]:
        """Which samples have each length, lengths x samples, as 0 and 1."""
        each: NDArray[np.bool_] = np.equal(np.array(self._lengths), np.array(self.lengths)[:, None])
        return each.astype(np.int64)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Place of each sample in the table."""
        row = {name: row for row, name in enumerate(sorted(self._clusters))}
        column = {length: column for column, length in enumerate(self.lengths)}
        items = zip(self._items, self._lengths, strict=True)
        return np.array([row[name] * len(column) + column[length] for name, length in items], dtype=np.int64)

    def means(self, totals: Floats, counts: Floats, samples: NDArray[Any]) -> Floats:
        """Mean score of each item at each length over some samples, NaN without one; sums and numbers of replies."""
        places, size = self.places[samples], len(self.clusters) * len(self.lengths)
        summed, number = (np.bincount(places, part[samples], size) for part in (totals, counts))
        means = np.full(size, np.nan)
        np.divide(summed, number, out=means, where=number > 0)
        return means.reshape(len(self.clusters), len(self.lengths))


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of one model on one task, by number of the sample.

    Attributes:
        first: Numbers of their first rows.
        totals: Sums of the scores of their replies.
        counts: Numbers of these replies.
        ended: Numbers of replies with each of ``OUTCOMES``, samples x outcomes.
        means: Mean score of each item at each length, NaN without one.
    """

    samples: Samples
    scored: NDArray[np.bool_]
    first: NDArray[np.int64]
    totals: Floats
    counts: Floats
    ended: NDArray[np.int64]
    means: Floats

    def over(self, shared: NDArray[np.bool_]) -> Floats:
        """The means over some of the samples with a score."""
        if np.array_equal(shared, self.scored):
            return self.means
        return self.samples.means(self.totals, self.counts, shared)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One model: its scores by task, and its cells (``blank_cells``)."""

    system: tuple[str, str]
    tasks: Mapping[str, Scores]
    cells: Mapping[Cell, bool]


def sides_of(parts: Iterable[pl.DataFrame], unanswered: Unanswered) -> list[Side]:
    """The models of some rows, given in parts of whole models.

    Raises:
        FathomError: A task has the name of the mean over tasks.
    """
    samples: dict[str, Samples] = {}
    sides: list[tuple[tuple[str, str], dict[str, _Numbered], Mapping[Cell, bool]]] = []
    for rows in parts:
        counts = scored_rows(rows, unanswered)
        if (counts["task"] == ALL).any():
            raise FathomError(
                f"A task is named {ALL!r}, the reserved name of the mean over tasks. Rename it in the rows."
            )
        systems = counts.partition_by("model", "variant", maintain_order=True, as_dict=True)
        for model, variant in rows.select("model", "variant").unique(maintain_order=True).rows():
            own = systems.get((model, variant), counts.clear())
            sides.append(((model, variant), _scored(own, samples), blank_cells(own)))
    return [
        Side(system, {task: _scores_of(*own, samples[task]) for task, own in tasks.items()}, cells)
        for system, tasks, cells in sides
    ]


_Numbered: TypeAlias = tuple[NDArray[np.int64], pl.DataFrame]
"""Numbers of the samples of a model on a task, and the samples."""


def _scored(counts: pl.DataFrame, samples: dict[str, Samples]) -> dict[str, _Numbered]:
    """The scored samples of one model by task."""
    summed = (
        counts.filter(pl.col("value").is_not_null())
        .with_row_index(NUMBER)
        .group_by("suite", "task", "item", "sample", "length", maintain_order=True)
        .agg(
            pl.col(NUMBER).first(),
            pl.col("value").sum(),
            pl.len().alias("replies"),
            cluster_name().first(),
            *((pl.col("outcome") == name).sum().alias(f"_{name}") for name in OUTCOMES),
        )
        .with_columns(item_name(), pl.concat_str("suite", "item", "sample", "length", separator="\x1f").alias("sample"))
    )
    tasks = summed.drop("suite", "item").partition_by("task", maintain_order=True, as_dict=True)
    return {str(task): (samples.setdefault(str(task), Samples()).numbers(own), own) for (task,), own in tasks.items()}


def _scores_of(numbers: NDArray[np.int64], own: pl.DataFrame, samples: Samples) -> Scores:
    """The scores of one model on one task, once the samples of all models are known."""

    def placed(columns: Any, kind: type) -> NDArray[Any]:
        values = np.zeros((len(samples.places), *columns.shape[1:]), dtype=kind)
        values[numbers] = columns
        return values

    scored = placed(np.ones(len(own)), bool)
    totals, counts = placed(own["value"].to_numpy(), float), placed(own["replies"].to_numpy(), float)
    return Scores(
        samples,
        scored,
        first=placed(own[NUMBER].to_numpy(), np.int64),
        totals=totals,
        counts=counts,
        ended=placed(own.select(f"_{name}" for name in OUTCOMES).to_numpy(), np.int64),
        means=samples.means(totals, counts, scored),
    )
