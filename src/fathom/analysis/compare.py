"""Paired comparison of two models on the questions that both have a score for.

See ``fathom.stats.differences``. The differences of an item at all lengths are resampled together, tasks independently.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations_with_replacement
from operator import add
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.grid import ALL, Cell, blank_cells, blank_means
from fathom.parallel.units import one_thread
from fathom.rows.schema import NUMBER
from fathom.stats.columns import cluster_name, item_name
from fathom.stats.differences import PAIRED_REPLICATES, Differences, Gap, Resampler, gaps_over, paired
from fathom.stats.intervals import Floats, Interval, kept_draws
from fathom.stats.outcomes import COUNTED, LOST, Unanswered, added, scored_rows
from fathom.stats.ranks import with_adjusted
from fathom.types import FathomError

NEEDED = (
    *("suite", "task", "item", "sample", "model", "variant", "length", "epoch"),
    *("value", "status", "detail", "answered", "chance", "facets"),
)
"""Columns of rows that comparisons use."""
_BLOCK = 12
"""Models that are compared with as many others before the next ones."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference ``a - b`` on the items that both models have a score for.

    Attributes:
        model_a: First model.
        model_b: Second model.
        task: Name of the task, ``all`` for the mean over tasks.
        length: Length in tokens; None for the mean over shared lengths.
        difference: Mean of a minus mean of b over shared items.
        interval: 95% interval of the difference, paired over items.
        p_value: Two-sided p-value of the sign-flip test over items (``fathom.stats.flips``).
        items: Shared items.
        p_adjusted: The p-value adjusted by Holm's method for all comparisons of the table: some of them are below .05
            in at most 5% of tables of equal models.
        cells: Tasks and lengths that it is over: those at which both models have a score.
        cells_of: Tasks and lengths that one of them was asked at, of this task and length.
        variant_a: Variant of the first model.
        variant_b: Variant of the second model.
        unanswered_a: Number of unanswered replies of the first model.
        unanswered_b: The same for the second.
        cut_a: Number of replies of the first model truncated at the output cap.
        cut_b: The same for the second.
        missing_a: Number of missing replies of the first model.
        missing_b: The same for the second.
        scorer_error_a: Number of replies of the first model on which the scorer raised an exception.
        scorer_error_b: The same for the second.
    """

    model_a: str
    model_b: str
    task: str
    length: int | None
    difference: float
    interval: Interval
    p_value: float
    items: int
    p_adjusted: float = 1.0
    cells: int = 1
    cells_of: int = 1
    variant_a: str = ""
    variant_b: str = ""
    unanswered_a: int = 0
    unanswered_b: int = 0
    cut_a: int = 0
    cut_b: int = 0
    missing_a: int = 0
    missing_b: int = 0
    scorer_error_a: int = 0
    scorer_error_b: int = 0


@one_thread()
def compare(
    rows: pl.DataFrame,
    model_a: str,
    model_b: str,
    *,
    variant_a: str = "",
    variant_b: str = "",
    unanswered: Unanswered = "zero",
    seed: int = 0,
    replicates: int = PAIRED_REPLICATES,
) -> list[Comparison]:
    """Compares two models on shared items, per task and length, over lengths (None) and over tasks (``all``).

    Only samples (a question of an item at a length) that both models have a score for are used; they are averaged
    within the item. Intervals and p-values are over items, or clusters of items (``fathom.stats.intervals``). Over
    lengths, the differences at the lengths are averaged with equal weight; over tasks, those of the tasks. ``all`` at a
    length needs every shared task there. If a cell of one of the two has no score (``fathom.stats.outcomes``), there is
    no comparison at its length or of a mean that includes it.

    Args:
        rows: A rows table with both models.
        model_a: First model.
        model_b: Second model.
        variant_a: Variant of the first model.
        variant_b: Variant of the second model.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        seed: Seed of intervals and p-values.
        replicates: Number of replicates.

    Returns:
        Comparisons; empty if the models share no scored item.

    Raises:
        FathomError: A model has no rows, or both are the same.
    """
    names = (model_a, variant_a), (model_b, variant_b)
    return pair_up(rows, *names, unanswered=unanswered, seed=seed, replicates=replicates).comparisons()


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """Two models paired on their shared items, from which differences are tested.

    Attributes:
        shared: Their scores by task.
        drawn: The replicates of their differences by task.
        blank: Tasks and lengths (None for all) without a comparison.
        whole: Whether the mean over tasks can be compared.
        named: The names of both, as fields of ``Comparison``.
        numbers: Outcomes of the replies of each cell.
        asked: Tasks and lengths that one of the two was asked at.
    """

    shared: Mapping[str, "_Pair"]
    drawn: Mapping[str, Differences]
    blank: Collection[tuple[str, int | None]]
    whole: bool
    named: Mapping[str, Any]
    numbers: Mapping[tuple[object, ...], Mapping[str, int]]
    asked: Collection[tuple[str, int]]

    def comparisons(self, null: float = 0.0) -> list[Comparison]:
        """The comparisons of ``compare``; p-values test a true difference of ``null``."""
        asked = [cell for task, pair in self.shared.items() for cell in _cells({task: pair}, self.drawn, task)]
        if self.whole:
            asked += _cells(self.shared, self.drawn, ALL)
        gaps = gaps_over([(cell.drawn, cell.columns) for cell in asked], null)
        compared = [cell.compared(gap, self.named) for cell, gap in zip(asked, gaps, strict=True)]
        shown = [comparison for comparison in compared if (comparison.task, comparison.length) not in self.blank]
        whole = [replace(own, **_sides(own, self.numbers), cells_of=self._asked(own)) for own in shown]
        return with_adjusted(whole)

    def _asked(self, compared: Comparison) -> int:
        """Number of cells of its task and length that one of the two was asked at."""
        return sum(compared.task in (ALL, task) and compared.length in (None, length) for task, length in self.asked)

    def clusters(self, task: str, length: int | None) -> int:
        """Number of clusters that a comparison rests on; over all tasks that of the smallest task, times the tasks.

        Args:
            task: Name of a task that both share, or ``all``.
            length: Length in tokens; None for all.
        """
        names = list(self.shared) if task == ALL else [task]
        numbers = []
        for name in names:
            counts = self.drawn[name].tasks[0].first.counts
            known = counts if length is None else counts[:, [self.shared[name].lengths.index(length)]]
            numbers.append(int(known.any(axis=1).sum()))
        return len(names) * min(numbers)

    def over(self, lengths: Collection[int]) -> Gap | None:
        """The difference of the mean over all tasks and some lengths, as ``compare`` gives it for one length or all.

        Args:
            lengths: Lengths in tokens.

        Returns:
            None without lengths, or if a task has no comparison at one of them.
        """
        known = {length for length in _common(self.shared) if (ALL, length) not in self.blank}
        if not lengths or not self.whole or not known.issuperset(lengths):
            return None
        common, drawn = self.differences(ALL)
        return drawn.gap([common.index(length) for length in sorted(lengths)])

    def differences(self, task: str) -> tuple[list[int], Differences]:
        """The lengths at which a task, or each of all tasks, has scores of both, and the differences at these.

        Args:
            task: Name of a task that both share, or ``all``.
        """
        pairs = self.shared if task == ALL else {task: self.shared[task]}
        lengths = _common(pairs)
        return lengths, _together(pairs, self.drawn, lengths)


@one_thread()
def compare_all(
    parts: Iterable[pl.DataFrame],
    *,
    unanswered: Unanswered = "zero",
    seed: int = 0,
    replicates: int = PAIRED_REPLICATES,
) -> list[Comparison]:
    """Compares every two models and variants.

    Args:
        parts: The rows in parts of whole models (:meth:`fathom.rows.RowsTable.parts`) with the columns of ``NEEDED``;
            only the scores of samples are kept of each.
        unanswered: See ``compare``; the same below.
        seed: Seed of intervals and p-values.
        replicates: Number of replicates.

    Raises:
        FathomError: There are fewer than two models or variants.
    """
    samples = _Samples()
    sides = [side for part in parts for side in _sides_of(part, unanswered, samples)]
    if len(sides) < 2:
        raise FathomError("a comparison needs rows of two models or variants; name the runs of both")
    resampler = Resampler(seed, replicates)
    compared: dict[tuple[int, int], list[Comparison]] = {}
    with kept_draws():
        for first, second in _in_blocks(len(sides)):
            pairing = _pair_up(sides[first], sides[second], samples, resampler)
            compared[first, second] = pairing.comparisons()
    return with_adjusted([comparison for pair in sorted(compared) for comparison in compared[pair]])


def _in_blocks(models: int) -> Iterator[tuple[int, int]]:
    """Every two of several models; those of a few follow each other, so that their replicates are still kept."""
    for start, after in combinations_with_replacement(range(0, models, _BLOCK), 2):
        for first in range(start, min(start + _BLOCK, models)):
            yield from ((first, second) for second in range(max(first + 1, after), min(after + _BLOCK, models)))


def pair_up(
    rows: pl.DataFrame,
    a: tuple[str, str],
    b: tuple[str, str],
    *,
    unanswered: Unanswered = "zero",
    seed: int = 0,
    replicates: int = PAIRED_REPLICATES,
) -> Pairing:
    """Pairs two models, given as model and variant; arguments as in ``compare``.

    Raises:
        FathomError: The rows have no such model, or the two are one.
    """
    systems = set(rows.select("model", "variant").unique().rows())
    for model, variant in (a, b):
        if (model, variant) not in systems:
            known = ", ".join(map(repr, sorted(systems))) or "none"
            raise FathomError(f"no rows of model {model!r}, variant {variant!r}; the rows have {known}")
    if a == b:
        raise FathomError(f"cannot compare model {a[0]!r} with itself; give two models or two variants")
    both = [{"model": model, "variant": variant} for model, variant in (a, b)]
    named = pl.struct("model", "variant").is_in(both)
    samples = _Samples()
    sides = {side.system: side for side in _sides_of(rows.filter(named), unanswered, samples)}
    return _pair_up(sides[a], sides[b], samples, Resampler(seed, replicates))


class _Samples:
    """Numbers of samples and of items, the same for all models."""

    def __init__(self) -> None:
        self._samples: dict[str, int] = {}
        self._items: dict[str, int] = {}
        self.names: list[str] = []
        """Names of the items, by number."""
        self.clusters: dict[tuple[str, str], str] = {}
        """The cluster of each item, by its task and name."""

    def numbers(self, samples: Iterable[str]) -> NDArray[np.int64]:
        known = self._samples
        return np.array([known.setdefault(name, len(known)) for name in samples], dtype=np.int64)

    def items(self, names: Iterable[str]) -> NDArray[np.int64]:
        known = self._items
        numbers = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
        self.names += list(known)[len(self.names) :]
        return numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """The scored samples of one model on one task, as columns.

    Attributes:
        first: Number of their first row.
        samples: Their numbers.
        items: Numbers of their items.
        lengths: Lengths in tokens.
        totals: Sums of the scores of their replies.
        counts: Numbers of these replies.
        ended: Numbers of replies with each outcome of ``COUNTED``, samples x outcomes.
    """

    first: NDArray[np.int64]
    samples: NDArray[np.int64]
    items: NDArray[np.int64]
    lengths: NDArray[np.int64]
    totals: Floats
    counts: Floats
    ended: NDArray[np.int64]

    def at(self, places: NDArray[Any]) -> "_Scores":
        """Some of the samples."""
        return _Scores(*(getattr(self, name)[places] for name in _Scores.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One model: its scored samples by task, and its cells (``blank_cells``)."""

    system: tuple[str, str]
    tasks: Mapping[str, _Scores]
    cells: Mapping[Cell, bool]


def _sides_of(rows: pl.DataFrame, unanswered: Unanswered, samples: _Samples) -> Iterator[_Side]:
    """The models of some rows."""
    counts = scored_rows(rows, unanswered)
    if (counts["task"] == ALL).any():
        raise FathomError(f"A task is named {ALL!r}, the reserved name of the mean over tasks. Rename it in the rows.")
    systems = counts.partition_by("model", "variant", maintain_order=True, as_dict=True)
    for model, variant in rows.select("model", "variant").unique(maintain_order=True).rows():
        own = systems.get((model, variant), counts.clear())
        yield _Side((model, variant), _scores_of(own, samples), blank_cells(own))


def _scores_of(counts: pl.DataFrame, samples: _Samples) -> dict[str, _Scores]:
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
            *((pl.col("outcome") == name).sum().alias(f"_{name}") for name in COUNTED),
        )
    )
    scores = {}
    named_clusters = summed.select("task", item_name().alias("name"), "cluster").iter_rows()
    samples.clusters.update({(task, name): cluster for task, name, cluster in named_clusters})
    for (task,), own in summed.partition_by("task", maintain_order=True, as_dict=True).items():
        named = pl.concat_str("suite", "task", "sample", separator="\x1f")
        scores[str(task)] = _Scores(
            first=own[NUMBER].to_numpy().astype(np.int64),
            samples=samples.numbers(own.select(named).to_series()),
            items=samples.items(own.select(item_name()).to_series()),
            lengths=own["length"].to_numpy(),
            totals=own["value"].to_numpy(),
            counts=own["replies"].to_numpy().astype(np.float64),
            ended=own.select(f"_{name}" for name in COUNTED).to_numpy().astype(np.int64),
        )
    return scores


def _pair_up(a: _Side, b: _Side, samples: _Samples, resampler: Resampler) -> Pairing:
    both = {
        task: (own.at(np.isin(own.samples, other.samples)), other.at(np.isin(other.samples, own.samples)))
        for task, own in a.tasks.items()
        for other in [b.tasks.get(task)]
        if other is not None
    }
    both = {task: sides for task, sides in both.items() if len(sides[0].first)}
    ordered = sorted(both, key=lambda task: int(both[task][0].first.min()))
    shared = {task: pair for task in ordered if (pair := _paired(*both[task], samples.names)) is not None}
    named: dict[str, Any] = {}
    numbers: dict[tuple[object, ...], Mapping[str, int]] = {}
    for place, (side, (model, variant)) in enumerate((("a", a.system), ("b", b.system))):
        named |= {f"model_{side}": model, f"variant_{side}": variant}
        for task, sides in both.items():
            own = sides[place]
            for length in np.unique(own.lengths).tolist():
                ended = own.ended[own.lengths == length].sum(axis=0).tolist()
                numbers[model, variant, task, length] = dict(zip(COUNTED, ended, strict=True))
    differences = {
        task: paired(pair.first, pair.second, task, resampler, [samples.clusters[task, name] for name in pair.names])
        for task, pair in shared.items()
    }
    blank = blank_means(a.cells, b.cells)
    # A task that both were asked and that has no score anywhere is missing from every mean over tasks.
    whole = all(task in shared for task, _ in blank if task != ALL)
    return Pairing(shared, differences, blank, whole, named, numbers, a.cells.keys() | b.cells.keys())


def _sides(comparison: Comparison, numbers: Mapping[tuple[object, ...], Mapping[str, int]]) -> dict[str, Any]:
    """How many replies were unanswered, truncated or missing, on each side."""
    fields: dict[str, Any] = {}
    systems = (comparison.model_a, comparison.variant_a), (comparison.model_b, comparison.variant_b)
    for side, system in zip("ab", systems, strict=True):
        tally = added(
            part
            for (model, variant, task, length), part in numbers.items()
            if (model, variant) == system and comparison.task in (ALL, task) and comparison.length in (None, length)
        )
        fields |= {f"{name}_{side}": tally[name] for name in ("unanswered", "cut", *LOST)}
    return fields


@dataclass(frozen=True, slots=True)
class _Pair:
    """Scores of both models on shared cells, items x lengths; NaN in both if either is."""

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    first: Floats
    second: Floats


def _paired(a: _Scores, b: _Scores, names: Sequence[str]) -> _Pair | None:
    """Two models on one task.

    Args:
        a: The scores of one on the samples of both.
        b: Those of the other.
        names: Names of the items, by number.
    """
    items = np.array(sorted(np.intersect1d(a.items, b.items).tolist(), key=names.__getitem__), dtype=np.int64)
    lengths = np.intersect1d(a.lengths, b.lengths)
    first, second = (_table(side, items, lengths) for side in (a, b))
    both = ~np.isnan(first) & ~np.isnan(second)
    lines, columns = both.any(axis=1), both.any(axis=0)
    if not columns.any():
        return None
    first, second = np.where(both, first, np.nan), np.where(both, second, np.nan)
    kept = np.ix_(lines, columns)
    chosen = tuple(names[number] for number in items[lines].tolist())
    return _Pair(chosen, tuple(int(length) for length in lengths[columns]), first[kept], second[kept])


def _table(scores: _Scores, items: NDArray[np.int64], lengths: NDArray[np.int64]) -> Floats:
    """Mean score of each item at each length, NaN without one."""
    shared = np.isin(scores.items, items) & np.isin(scores.lengths, lengths)
    own, order = scores.at(shared), np.argsort(items)
    line = order[np.searchsorted(items, own.items, sorter=order)]
    place = line * len(lengths) + np.searchsorted(lengths, own.lengths)
    size = len(items) * len(lengths)
    totals, counts = (np.bincount(place, part, size) for part in (own.totals, own.counts))
    means = np.full(size, np.nan)
    np.divide(totals, counts, out=means, where=counts > 0)
    return means.reshape(len(items), len(lengths))


def _common(pairs: Mapping[str, _Pair]) -> list[int]:
    """Lengths at which all tasks have scores of both."""
    lengths = [set(pair.lengths) for pair in pairs.values()]
    return sorted(set.intersection(*lengths)) if lengths else []


def _together(pairs: Mapping[str, _Pair], drawn: Mapping[str, Differences], lengths: Sequence[int]) -> Differences:
    """The replicates of all tasks, with these lengths as their columns."""
    parts = (drawn[name].at([pair.lengths.index(length) for length in lengths]) for name, pair in pairs.items())
    return reduce(add, parts)


@dataclass(frozen=True, slots=True)
class _Cell:
    """A difference that is asked for: its task, its length (None for all) and what it is over."""

    task: str
    length: int | None
    drawn: Differences
    columns: list[int]
    items: int
    cells: int

    def compared(self, gap: Gap, named: Mapping[str, Any]) -> Comparison:
        """The difference as it is shown."""
        return Comparison(
            **named,
            task=self.task,
            length=self.length,
            difference=gap.difference,
            interval=gap.interval,
            p_value=gap.p_value,
            items=self.items,
            cells=self.cells,
        )


def _cells(pairs: Mapping[str, _Pair], drawn: Mapping[str, Differences], task: str) -> list[_Cell]:
    """The differences at each length, and over all of them."""
    if not pairs:
        return []
    common = _common(pairs)
    places = {name: [pair.lengths.index(length) for length in common] for name, pair in pairs.items()}
    both = _together(pairs, drawn, common)
    known = [~np.isnan(pair.first[:, places[name]]) for name, pair in pairs.items()]
    columns: list[tuple[int | None, list[int]]] = [(length, [column]) for column, length in enumerate(common)]
    if common:
        columns.append((None, list(range(len(common)))))
    return [
        _Cell(
            task,
            length,
            both,
            chosen,
            items=sum(int(scored[:, chosen].any(axis=1).sum()) for scored in known),
            cells=len(pairs) * len(chosen),
        )
        for length, chosen in columns
    ]
