"""Agreement of people who rate the same items: Fleiss' kappa and Krippendorff's alpha, with intervals over items.

Both are 1 for full agreement and 0 for the agreement of ratings dealt out at random. Alpha takes any number of ratings
for each item; kappa needs the same number for all.

Sources: Fleiss (1971), "Measuring Nominal Scale Agreement Among Many Raters", Psychological Bulletin 76; Krippendorff
(2011), "Computing Krippendorff's Alpha-Reliability".

Intervals are those of ``fathom.stats.intervals``, a Bayesian bootstrap over the items (or groups of items that are not
independent) with one pseudo-item: in part its raters agree on a random rating, in part they differ as much as they can.
So an interval is not of width zero if all raters agree on all items, and it is wide while some ratings are rare.
``performance/agreement.py`` measures their coverage.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import LEVEL, REPLICATES, Clusters, Floats, Interval, interval_of, resampled_sums
from fathom.types import FathomError

Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]
SCALES: tuple[Scale, ...] = get_args(Scale)
IntArray: TypeAlias = NDArray[np.int64]
Measure: TypeAlias = Literal["kappa", "alpha"]

_MANY = 100
"""Distinct ratings from which a scale is not ordinal any more: memory grows with their square."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of several raters.

    Attributes:
        measure: ``kappa`` (Fleiss) or ``alpha`` (Krippendorff).
        scale: Scale of the ratings; always ``nominal`` for kappa.
        value: 1 for full agreement, 0 for chance; None if all ratings are equal, so that nothing can be told.
        interval: Interval of the value over items; unbounded if there is no value.
        same: Share of the pairs of ratings of one item that are equal.
        items: Items with two ratings or more; others say nothing about agreement.
        ratings: Their ratings.
    """

    measure: Measure
    scale: Scale
    value: float | None
    interval: Interval
    same: float
    items: int
    ratings: int


def fleiss_kappa(ratings: Floats) -> float:
    """Fleiss' kappa.

    Args:
        ratings: Items x raters, categories as any numbers; NaN for a missing rating. Raters may differ from item to
            item, but all items have the same number of ratings.

    Returns:
        At most 1; NaN if all ratings are equal.

    Raises:
        FathomError: Items have different numbers of ratings, or fewer than two.
    """
    counts = _items(ratings, "nominal").counts
    rated = counts.sum(axis=1)
    if len(set(rated.tolist())) > 1:
        raise FathomError(
            f"Fleiss' kappa needs the same number of ratings for every item, found {int(rated.min())} to "
            f"{int(rated.max())}; use Krippendorff's alpha"
        )
    each = rated[0]
    observed = float(((counts**2).sum(axis=1) - each).mean() / (each * (each - 1)))
    chance = float(((counts.sum(axis=0) / rated.sum()) ** 2).sum())
    return (observed - chance) / (1 - chance) if chance < 1 else math.nan


def krippendorff_alpha(ratings: Floats, scale: Scale = "nominal") -> float:
    """Krippendorff's alpha.

    Args:
        ratings: Items x raters, as numbers; NaN for a missing rating. Items with fewer than two ratings are left out.
        scale: ``nominal`` for categories, ``ordinal`` for ranks, ``interval`` for quantities.

    Returns:
        At most 1; NaN if all ratings are equal.

    Raises:
        FathomError: No item has two ratings, or the scale is unknown.
    """
    items = _items(ratings, scale)
    return float(_alpha(_columns(items.counts, items).sum(axis=0, keepdims=True), items)[0])


def agreement(
    ratings: Floats,
    rng: np.random.Generator,
    *,
    measure: Measure = "alpha",
    scale: Scale = "nominal",
    groups: IntArray | None = None,
    replicates: int = REPLICATES,
    level: float = LEVEL,
) -> Agreement:
    """A measure of agreement with its interval.

    Args:
        ratings: Items x raters, as numbers; NaN for a missing rating.
        rng: Source of the weights of items.
        measure: ``kappa`` or ``alpha``.
        scale: Scale of the ratings; ``nominal`` for kappa.
        groups: Group of each item, such as the answer of which it is a component: items of a group are not independent
            and are resampled together. Each item is a group by default.
        replicates: Number of replicates.
        level: Nominal coverage.

    Raises:
        FathomError: No item has two ratings; or for kappa, the scale is not nominal or items have different numbers of
            ratings.
    """
    if measure == "kappa" and scale != "nominal":
        raise FathomError(f"Fleiss' kappa is for nominal ratings; use Krippendorff's alpha for {scale} ones")
    value = fleiss_kappa(ratings) if measure == "kappa" else krippendorff_alpha(ratings, scale)
    items = _items(ratings, scale)
    rated = items.counts.sum(axis=1)
    same = float(((items.counts**2).sum() - rated.sum()) / (rated**2 - rated).sum())
    facts = same, len(rated), int(rated.sum())
    if math.isnan(value):
        return Agreement(measure, scale, None, Interval(-math.inf, math.inf, level), *facts)
    columns = _columns(items.counts, items)
    if groups is not None:
        columns = _sums_of_groups(columns, groups[(~np.isnan(ratings)).sum(axis=1) >= 2])
    clusters = Clusters(columns, np.ones_like(columns))
    weighted = resampled_sums(clusters, int(rng.integers(2**32)), replicates=replicates).scored
    # A group weighs as much as its items, and so does the one that is added.
    pseudo = _pseudo_item(items, rng, replicates) * (len(rated) / len(columns))
    # Kappa and nominal alpha differ by the factor (n - 1) / n of the disagreement alone.
    draws = _alpha(weighted + pseudo, items, corrected=measure == "alpha")
    return Agreement(measure, scale, value, interval_of(draws, value, level), *facts)


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """The items with two ratings or more.

    Attributes:
        counts: How often each distinct rating was given, items x ratings.
        values: The distinct ratings, ascending; on an interval scale from -1 to 1, which does not change alpha.
    """

    counts: Floats
    values: Floats
    scale: Scale

    @property
    def total(self) -> float:
        """Number of ratings."""
        return float(self.counts.sum())


def _items(ratings: Floats, scale: Scale) -> _Items:
    if scale not in SCALES:
        raise FathomError(f"scale {scale!r}: expected {', '.join(SCALES)}")
    ratings = np.asarray(ratings, dtype=np.float64)
    if ratings.ndim != 2:
        raise FathomError(f"ratings: expected items x raters, found {ratings.ndim} dimensions")
    if np.isinf(ratings).any():
        raise FathomError("ratings: infinite; use NaN for a missing rating")
    several = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    if not len(several):
        raise FathomError("agreement needs items with two ratings or more, found none")
    values = np.unique(several[~np.isnan(several)])
    if scale == "ordinal" and len(values) > _MANY:
        raise FathomError(f"{len(values):,} distinct ratings: an ordinal scale has at most {_MANY}; use interval")
    counts = np.stack([(several == value).sum(axis=1) for value in values], axis=1).astype(np.float64)
    return _Items(counts, (values - values.mean()) / (np.ptp(values) or 1.0), scale)


def _columns(counts: Floats, items: _Items) -> Floats:
    """What alpha needs of each item, so that it is a function of sums over items.

    The disagreement within the item and the number of its ratings; then, nominal: its counts; interval: the sum of its
    ratings and of their squares; ordinal: its counts and its coincidences.
    """
    rated = counts.sum(axis=1)
    if items.scale == "nominal":
        disagreement = (rated**2 - (counts**2).sum(axis=1)) / (rated - 1)
        return np.column_stack([disagreement, rated, counts])
    if items.scale == "interval":
        first, second = counts @ items.values, counts @ items.values**2
        disagreement = 2 * (rated * second - first**2) / (rated - 1)
        return np.column_stack([disagreement, rated, first, second])
    pairs = counts[:, :, None] * counts[:, None, :] - np.eye(counts.shape[1]) * counts[:, :, None]
    together = (pairs / (rated - 1)[:, None, None]).reshape(len(counts), -1)
    return np.column_stack([np.zeros(len(counts)), rated, counts, together])


def _sums_of_groups(columns: Floats, groups: IntArray) -> Floats:
    _, places = np.unique(groups, return_inverse=True)
    sums = np.zeros((places.max() + 1, columns.shape[1]))
    np.add.at(sums, places, columns)
    return sums


def _pseudo_item(items: _Items, rng: np.random.Generator, replicates: int) -> Floats:
    """The columns of the pseudo-item in each replicate, weighted."""
    raters, kinds = max(2, round(items.total / len(items.counts))), items.counts.shape[1]
    alike = raters * np.eye(kinds)[rng.integers(0, kinds, replicates)]
    # As many different ratings as possible: each is given once before any is given twice.
    order = rng.permuted(np.tile(np.arange(kinds), (replicates, 1)), axis=1)
    apart = np.eye(kinds)[order[:, np.arange(raters) % kinds]].sum(axis=1)
    weights = rng.standard_gamma(0.5, (2, replicates, 1))
    matrix: Floats = weights[0] * _columns(alike, items) + weights[1] * _columns(apart, items)
    return matrix


def _alpha(columns: Floats, items: _Items, *, corrected: bool = True) -> Floats:
    """Alpha of each row of (weighted) sums over items; NaN without any disagreement by chance.

    Args:
        columns: Sums of ``_columns``, replicates x columns.
        corrected: Whether to correct for the number of ratings; without it the nominal alpha is Fleiss' kappa.
    """
    mass = columns[:, 1]
    disagreement, chance = _disagreements(columns, items.scale)
    observed, expected = disagreement / mass, chance / mass**2
    if corrected:
        expected *= items.total / (items.total - 1)
    ratio = np.full(len(mass), math.nan)
    np.divide(observed, expected, out=ratio, where=expected > 0)
    return 1 - ratio


def _disagreements(columns: Floats, scale: Scale) -> tuple[Floats, Floats]:
    """The disagreement within items, and of all ratings with each other."""
    mass = columns[:, 1]
    if scale == "nominal":
        return columns[:, 0], mass**2 - (columns[:, 2:] ** 2).sum(axis=1)
    if scale == "interval":
        return columns[:, 0], 2 * (mass * columns[:, 3] - columns[:, 2] ** 2)
    levels = math.isqrt(columns.shape[1] - 2)  # levels + levels ** 2 columns
    counts = columns[:, 2 : 2 + levels]
    together = columns[:, 2 + levels :].reshape(len(columns), levels, levels)
    # The ordinal difference of two ratings is that of their mean ranks among all ratings.
    ranks = (np.cumsum(counts, axis=1) - counts / 2) / mass[:, None]
    square = (counts * ranks**2).sum(axis=1)
    within = 2 * (square - np.einsum("ni,nij,nj->n", ranks, together, ranks))
    return within, 2 * (mass * square - (counts * ranks).sum(axis=1) ** 2)
