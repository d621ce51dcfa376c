"""Paired comparison of two models on the questions that both have a score for.

Intervals and p-values come from the same replicates (``fathom.stats.differences``). The differences of an item at all
lengths are resampled together, tasks independently.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import polars as pl

from fathom.analysis.grid import ALL, Grid, blank_means, grids
from fathom.stats.differences import PAIRED_REPLICATES, Differences, Gap, paired, system_key
from fathom.stats.intervals import Floats, Interval
from fathom.stats.outcomes import Unanswered, added, scored_rows, tallies
from fathom.types import FathomError


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
        p_value: Two-sided p-value, which agrees with the interval.
        items: Shared items.
        variant_a: Variant of the first model.
        variant_b: Variant of the second model.
        unanswered_a: Number of unanswered replies of the first model.
        unanswered_b: The same for the second.
        cut_a: Number of replies of the first model truncated at the output cap.
        cut_b: The same for the second.
        missing_a: Number of missing replies of the first model.
        missing_b: The same for the second.
    """

    model_a: str
    model_b: str
    task: str
    length: int | None
    difference: float
    interval: Interval
    p_value: float
    items: int
    variant_a: str = ""
    variant_b: str = ""
    unanswered_a: int = 0
    unanswered_b: int = 0
    cut_a: int = 0
    cut_b: int = 0
    missing_a: int = 0
    missing_b: int = 0


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
    within the item, the unit of intervals and p-values. Over lengths, the differences at the lengths are averaged with
    equal weight; over tasks, those of the tasks. ``all`` at a length needs every shared task there. If a cell of one of
    the two has no score (``fathom.stats.outcomes``), there is no comparison at its length or of a mean that includes
    it.

    Args:
        rows: A rows table with both models.
        model_a: First model.
        model_b: Second model.
        variant_a: Variant of the first model.
        variant_b: Variant of the second model.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        seed: Seed of intervals and p-values.
        replicates: Number of replicates; the smallest p-value is 2 / (replicates + 1).

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
    """

    shared: Mapping[str, "_Pair"]
    drawn: Mapping[str, Differences]
    blank: Collection[tuple[str, int | None]]
    whole: bool
    named: Mapping[str, Any]
    numbers: Mapping[tuple[object, ...], Mapping[str, int]]

    def comparisons(self, null: float = 0.0) -> list[Comparison]:
        """The comparisons of ``compare``; p-values test a true difference of ``null``."""
        found: list[Comparison] = []
        for task, pair in self.shared.items():
            found += _compared({task: pair}, self.drawn, task, self.named, null)
        if self.whole:
            found += _compared(self.shared, self.drawn, ALL, self.named, null)
        return [replace(one, **_sides(one, self.numbers)) for one in found if (one.task, one.length) not in self.blank]

    def over(self, lengths: Collection[int]) -> Gap | None:
        """The difference of the mean over all tasks and some lengths, as ``compare`` gives it for one length or all.

        Args:
            lengths: Lengths in tokens.

        Returns:
            None without lengths, or if a task has no comparison at one of them.
        """
        common = _common(self.shared)
        known = {length for length in common if (ALL, length) not in self.blank}
        if not lengths or not self.whole or not known.issuperset(lengths):
            return None
        return _together(self.shared, self.drawn, common).gap([common.index(length) for length in sorted(lengths)])


def pair_up(
    rows: pl.DataFrame,
    a: tuple[str, str],
    b: tuple[str, str],
    *,
    unanswered: Unanswered = "zero",
    seed: int = 0,
    replicates: int = PAIRED_REPLICATES,
) -> Pairing:
    """Pairs two models, given as model and variant; arguments and errors as in ``compare``."""
    (model_a, variant_a), (model_b, variant_b) = a, b
    systems = set(rows.select("model", "variant").unique().rows())
    for model, variant in ((model_a, variant_a), (model_b, variant_b)):
        if (model, variant) not in systems:
            known = ", ".join(map(repr, sorted(systems))) or "none"
            raise FathomError(f"no rows of model {model!r}, variant {variant!r}; the rows have {known}")
    if (model_a, variant_a) == (model_b, variant_b):
        raise FathomError(f"cannot compare model {model_a!r} with itself; give two models or two variants")
    counts = scored_rows(rows, unanswered)
    first, second = (
        counts.filter(pl.col("model") == model, pl.col("variant") == variant)
        for model, variant in ((model_a, variant_a), (model_b, variant_b))
    )
    both = _shared(first, second)
    found = {(grid.model, grid.variant, grid.task): grid for grid in grids(both)}
    shared = {
        task: pair
        for model, variant, task in found
        if (model, variant) == (model_a, variant_a) and (model_b, variant_b, task) in found
        if (pair := _paired(found[model_a, variant_a, task], found[model_b, variant_b, task])) is not None
    }
    named: dict[str, Any] = {"model_a": model_a, "model_b": model_b, "variant_a": variant_a, "variant_b": variant_b}
    called = system_key(model_a, variant_a), system_key(model_b, variant_b)
    drawn = {
        task: paired(pair.names, pair.first, pair.second, task, seed, called=called, replicates=replicates)
        for task, pair in shared.items()
    }
    blank = blank_means(first, second)
    # A task that both were asked and that has no score anywhere is missing from every mean over tasks.
    whole = all(task in shared for task, _ in blank if task != ALL)
    numbers = tallies(both, ("model", "variant", "task", "length"))
    return Pairing(shared, drawn, blank, whole, named, numbers)


def _sides(one: Comparison, numbers: Mapping[tuple[object, ...], Mapping[str, int]]) -> dict[str, Any]:
    """How many replies were unanswered, truncated or missing, on each side."""
    found: dict[str, Any] = {}
    for side, system in (("a", (one.model_a, one.variant_a)), ("b", (one.model_b, one.variant_b))):
        tally = added(
            part
            for (model, variant, task, length), part in numbers.items()
            if (model, variant) == system and one.task in (ALL, task) and one.length in (None, length)
        )
        found |= {f"{name}_{side}": tally[name] for name in ("unanswered", "cut", "missing")}
    return found


def _shared(*systems: pl.DataFrame) -> pl.DataFrame:
    """The scored rows of two systems on the samples that both have a score for."""
    names = ["suite", "task", "sample"]
    first, second = (rows.filter(pl.col("value").is_not_null()) for rows in systems)
    return pl.concat([first.join(second, on=names, how="semi"), second.join(first, on=names, how="semi")])


@dataclass(frozen=True, slots=True)
class _Pair:
    """Scores of both models on shared cells, items x lengths; NaN in both if either is."""

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    first: Floats
    second: Floats


def _paired(a: Grid, b: Grid) -> _Pair | None:
    names, in_a, in_b = np.intersect1d(a.names, b.names, return_indices=True)
    lengths, at_a, at_b = np.intersect1d(a.lengths, b.lengths, return_indices=True)
    first, second = a.scores[np.ix_(in_a, at_a)], b.scores[np.ix_(in_b, at_b)]
    both = ~np.isnan(first) & ~np.isnan(second)
    lines, columns = both.any(axis=1), both.any(axis=0)
    if not columns.any():
        return None
    first, second = np.where(both, first, np.nan), np.where(both, second, np.nan)
    kept = np.ix_(lines, columns)
    return _Pair(tuple(names[lines]), tuple(int(length) for length in lengths[columns]), first[kept], second[kept])


def _common(pairs: Mapping[str, _Pair]) -> list[int]:
    """Lengths at which all tasks have scores of both."""
    lengths = [set(pair.lengths) for pair in pairs.values()]
    return sorted(set.intersection(*lengths)) if lengths else []


def _together(pairs: Mapping[str, _Pair], drawn: Mapping[str, Differences], lengths: Sequence[int]) -> Differences:
    """The replicates of all tasks, with these lengths as their columns."""
    parts = (drawn[name].at([pair.lengths.index(length) for length in lengths]) for name, pair in pairs.items())
    return reduce(add, parts)


def _compared(
    pairs: Mapping[str, _Pair], drawn: Mapping[str, Differences], task: str, named: Mapping[str, Any], null: float
) -> list[Comparison]:
    if not pairs:
        return []
    common = _common(pairs)
    places = {name: [pair.lengths.index(length) for length in common] for name, pair in pairs.items()}
    both = _together(pairs, drawn, common)
    known = [~np.isnan(pair.first[:, places[name]]) for name, pair in pairs.items()]
    columns: list[tuple[int | None, list[int]]] = [(length, [column]) for column, length in enumerate(common)]
    if common:
        columns.append((None, list(range(len(common)))))
    comparisons = []
    for length, chosen in columns:
        gap = both.gap(chosen, null)
        comparisons.append(
            Comparison(
                **named,
                task=task,
                length=length,
                difference=gap.difference,
                interval=gap.interval,
                p_value=gap.p_value,
                items=sum(int(there[:, chosen].any(axis=1).sum()) for there in known),
            )
        )
    return comparisons
