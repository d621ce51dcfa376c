"""Paired comparison of two models on the questions that both have a score for.

See ``fathom.stats.differences``. The differences of an item at all lengths are resampled together, tasks independently.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement, compress
from operator import add
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.grid import ALL, blank_means
from fathom.analysis.scored_samples import OUTCOMES, Scores, Side, sides_of
from fathom.parallel.units import one_thread
from fathom.stats.differences import PAIRED_REPLICATES, Differences, Gap, Resampler, gaps_over, paired
from fathom.stats.intervals import Floats, Interval, kept_draws
from fathom.stats.outcomes import Unanswered
from fathom.stats.ranks import with_adjusted
from fathom.types import FathomError

NEEDED = (
    *("suite", "task", "item", "sample", "model", "variant", "length", "epoch"),
    *("value", "status", "detail", "answered", "chance", "facets"),
)
"""Columns of rows that comparisons use."""
_ENDED = [f"{name}_{side}" for side in "ab" for name in OUTCOMES]
"""Fields with numbers of outcomes."""
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
        asked: Tasks and lengths that one of the two was asked at.
    """

    shared: Mapping[str, "_Pair"]
    drawn: Mapping[str, Differences]
    blank: Collection[tuple[str, int | None]]
    whole: bool
    named: Mapping[str, Any]
    asked: Collection[tuple[str, int]]

    def comparisons(self, null: float = 0.0) -> list[Comparison]:
        """The comparisons of ``compare``; p-values test a true difference of ``null``."""
        return with_adjusted(self.unadjusted(null))

    def unadjusted(self, null: float = 0.0) -> list[Comparison]:
        """The same with ``p_adjusted`` still 1."""
        asked = [cell for task, pair in self.shared.items() for cell in _cells({task: pair}, self.drawn, task)]
        if self.whole:
            asked += _cells(self.shared, self.drawn, ALL)
        asked = [cell for cell in asked if (cell.task, cell.length) not in self.blank]
        gaps = gaps_over([(cell.drawn, cell.columns) for cell in asked], null)
        return [self._compared(cell, gap) for cell, gap in zip(asked, gaps, strict=True)]

    def _compared(self, cell: "_Cell", gap: Gap) -> Comparison:
        pairs = [pair for task, pair in self.shared.items() if cell.task in (ALL, task)]
        ended = sum(pair.ended_at(cell.length) for pair in pairs)
        return Comparison(
            **self.named,
            task=cell.task,
            length=cell.length,
            difference=gap.difference,
            interval=gap.interval,
            p_value=gap.p_value,
            items=cell.items,
            cells=cell.cells,
            cells_of=sum(cell.task in (ALL, task) and cell.length in (None, length) for task, length in self.asked),
            **dict(zip(_ENDED, np.ravel(ended).tolist(), strict=True)),
        )

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
    sides = sides_of(parts, unanswered)
    if len(sides) < 2:
        raise FathomError("a comparison needs rows of two models or variants; name the runs of both")
    resampler = Resampler(seed, replicates)
    compared: dict[tuple[int, int], list[Comparison]] = {}
    with kept_draws():
        for first, second in _in_blocks(len(sides)):
            compared[first, second] = _pair_up(sides[first], sides[second], resampler).unadjusted()
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
    sides = {side.system: side for side in sides_of([rows.filter(named)], unanswered)}
    return _pair_up(sides[a], sides[b], Resampler(seed, replicates))


def _pair_up(a: Side, b: Side, resampler: Resampler) -> Pairing:
    both = {task: _paired(own, b.tasks[task]) for task, own in a.tasks.items() if task in b.tasks}
    shared = {task: pair for task, pair in both.items() if pair is not None}
    shared = dict(sorted(shared.items(), key=lambda named: named[1].start))
    named: dict[str, Any] = {}
    for side, (model, variant) in (("a", a.system), ("b", b.system)):
        named |= {f"model_{side}": model, f"variant_{side}": variant}
    differences = {
        task: paired(*pair.whole, task, resampler, pair.clusters, pair.columns) for task, pair in shared.items()
    }
    blank = blank_means(a.cells, b.cells)
    # A task that both were asked and that has no score anywhere is missing from every mean over tasks.
    whole = all(task in shared for task, _ in blank if task != ALL)
    return Pairing(shared, differences, blank, whole, named, a.cells.keys() | b.cells.keys())


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Scores of both models on shared cells.

    Attributes:
        clusters: The clusters of the items.
        lengths: Lengths in tokens.
        known: Where they have scores, items x lengths.
        whole: Their scores, items x the lengths of all models; at these lengths NaN in both if either is.
        columns: The lengths among those of all models.
        ended: Numbers of replies to shared samples: models x lengths x outcomes.
        start: Number of the first row of the first model.
    """

    clusters: tuple[str, ...]
    lengths: tuple[int, ...]
    known: NDArray[np.bool_]
    whole: tuple[Floats, Floats]
    columns: tuple[int, ...]
    ended: NDArray[np.int64]
    start: int

    def ended_at(self, length: int | None) -> NDArray[np.int64]:
        """Numbers of replies at a length or at all of them, models x outcomes."""
        total: NDArray[np.int64] = self.ended.sum(axis=1)
        if length is None:
            return total
        return self.ended[:, self.lengths.index(length)] if length in self.lengths else 0 * total


def _paired(a: Scores, b: Scores) -> _Pair | None:
    """Two models on one task; None without a sample that both have a score for."""
    shared = a.scored & b.scored
    if not np.any(shared):
        return None
    first, second, samples = a.over(shared), b.over(shared), a.samples
    known = ~np.isnan(first)
    items, lengths = np.any(known, axis=1), np.any(known, axis=0)
    sides = (a.means, first), (b.means, second)
    if all(np.array_equal(own[:, lengths], scores[:, lengths], equal_nan=True) for own, scores in sides):
        first, second = a.means, b.means  # of other lengths too, of which the sums are drawn once for all pairs
    return _Pair(
        clusters=tuple(compress(samples.clusters, items)),
        lengths=tuple(compress(samples.lengths, lengths)),
        known=known[np.ix_(items, lengths)],
        whole=(first[items], second[items]),
        columns=tuple(np.flatnonzero(lengths).tolist()),
        ended=np.stack([samples.at_length[lengths] @ (side.ended * shared[:, None]) for side in (a, b)]),
        start=int(a.first[shared].min()),
    )


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


def _cells(pairs: Mapping[str, _Pair], drawn: Mapping[str, Differences], task: str) -> list[_Cell]:
    """The differences at each length, and over all of them."""
    if not pairs:
        return []
    common = _common(pairs)
    places = {name: [pair.lengths.index(length) for length in common] for name, pair in pairs.items()}
    both = _together(pairs, drawn, common)
    known = [pair.known[:, places[name]] for name, pair in pairs.items()]
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
