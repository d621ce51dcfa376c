"""Intervals: the one bootstrap engine behind every interval of fathom.

The unit of resampling is the *cluster*: an item with everything that was asked about it, or all items that share a
document, a book or a thread where a suite says so (the facet ``cluster``). Its scores at all lengths, in all epochs, at
all positions and of all its questions are resampled together: however often an item is asked, it is one witness. Tasks
are strata: each resamples its own clusters.

The engine is the Bayesian bootstrap (Rubin 1981, "The Bayesian Bootstrap", Annals of Statistics 9): a replicate gives
every cluster a random weight w, and a mean is the ratio of two weighted sums, sum w_i A_i / sum w_i N_i, where A_i is
the sum of the scores of cluster i and N_i their number. Two additions make it suitable for benchmark scores, where the
plain percentile bootstrap fails (50 correct of 50 gives [1, 1]):

* A pseudo-cluster, split at random between the scores 0 and 1 by Jeffreys' prior, so that no interval is of width zero.
  It is asked as often as clusters are, so that its split is drawn once for all lengths of a task. A mean over T tasks
  has one in all: 1/T for each.
* Weights are slightly more uneven than Rubin's, so that the variance of a mean of n clusters is s^2/n with the unbiased
  s^2. Without this, intervals over many tasks with few items each are too narrow.

If all clusters are entirely right or entirely wrong, the interval of their mean is exact instead of drawn: quantiles of
Beta(k + 1/2, n - k + 1/2) for k of n right, Jeffreys' interval of a proportion (Brown, Cai and DasGupta 2001, "Interval
Estimation for a Binomial Proportion", Statistical Science 16).

Replicates depend on the scores, their shape and the seed of the analysis: equal data have equal ends. Names matter
through the order of clusters only, which is theirs.
`performance/coverage.py` measures the coverage against a known truth.
"""

import math
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.stats.beta import beta_quantile
from fathom.types import FathomError

Floats: TypeAlias = NDArray[np.float64]

Z = 1.959963984540054
"""Half the width of a 95% interval of a normal distribution, in standard errors."""
LEVEL = 0.95
REPLICATES = 10_000
OWN, OTHER = 0, 1
"""Streams of the pseudo-cluster: of a mean, and of what is compared with it."""
_COMMON = 16
"""Streams below are the same for all models, others belong to the scores of one."""

ROOM = 256_000_000
"""Bytes of variates that are kept."""
_MANY = 400
_BLOCK = 4_000_000
"""Maximum number of weights in memory: 32 MB, for any number of clusters."""
_WHOLE = 1e-9  # what an average of equal scores may be off by, from its summation
_MOSTLY = 0.8
"""Share of all clusters from which a column has as many as the others, for the evenness of weights."""


@dataclass(slots=True)
class _Draws:
    """Variates that are kept: by the state of the generator, their shapes and their number, with the next state.

    Attributes:
        room: Bytes that may still be kept.
        most: Bytes of the largest variates that are kept, so that those of a few large tasks leave room for others.
    """

    room: int
    most: int
    variates: dict[tuple[str, bytes, tuple[int, ...]], tuple[Floats, Any]] = field(default_factory=dict)


_kept: ContextVar[_Draws | None] = ContextVar("kept draws", default=None)


@contextmanager
def kept_draws(room: int = ROOM) -> Iterator[None]:
    """Keeps the variates of weights, which take most of the time, for the intervals of as many clusters.

    Generators are seeded by the number of clusters: intervals are equal with and without. What is kept is freed at the
    end, of the outermost block if there are several.

    Args:
        room: Bytes that it may take.
    """
    if _kept.get() is not None:
        yield
        return
    token = _kept.set(_Draws(room, room // 4))
    try:
        yield
    finally:
        _kept.reset(token)


def _drawn(rng: np.random.Generator, shapes: Floats, size: tuple[int, ...]) -> Floats:
    """Gamma variates, or the same as they were drawn before."""
    kept = _kept.get()
    if kept is None:
        return _gamma(rng, shapes, size)
    key = str(rng.bit_generator.state), shapes.tobytes(), size
    if key in kept.variates:
        draws, rng.bit_generator.state = kept.variates[key]
        return draws
    draws = _gamma(rng, shapes, size)
    if draws.nbytes <= min(kept.room, kept.most):
        draws.flags.writeable = False
        kept.room -= draws.nbytes
        kept.variates[key] = draws, rng.bit_generator.state
    return draws


def _gamma(rng: np.random.Generator, shapes: Floats, size: tuple[int, ...]) -> Floats:
    # Exponentials are gamma variates of shape 1, and much faster.
    return rng.standard_exponential(size) if (shapes == 1).all() else rng.standard_gamma(shapes, size)


@dataclass(frozen=True, slots=True)
class Interval:
    """A range of values that the data do not exclude.

    Attributes:
        low: Lower end.
        high: Upper end; ``math.inf`` without an upper bound.
        level: Nominal coverage, 0.95 for a 95% interval.
    """

    low: float
    high: float
    level: float = LEVEL


def generator(seed: int, stream: str | Sequence[int]) -> np.random.Generator:
    """A random generator of its own for each stream.

    Args:
        seed: Seed of the analysis, 0 or more.
        stream: A name, or whole numbers from 0.

    Raises:
        FathomError: The seed is below 0.
    """
    if seed < 0:
        raise FathomError(f"seed {seed}: expected a whole number from 0")
    numbers = [zlib.crc32(stream.encode("utf-8", "surrogatepass"))] if isinstance(stream, str) else list(stream)
    return np.random.default_rng([seed, *numbers])


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Scores of one task by cluster.

    Attributes:
        totals: Sums of the scores of each cluster in each column, clusters x columns; 0 without any.
        counts: Their numbers, as weights: a question that counts as much as others has 1.
    """

    totals: Floats
    counts: Floats

    def at(self, columns: Sequence[int] | NDArray[np.bool_]) -> "Clusters":
        """Some of the columns."""
        return Clusters(self.totals[:, columns], self.counts[:, columns])

    @property
    def means(self) -> Floats:
        """The mean of each column, shape (columns,); NaN without a score."""
        return _ratio(self.totals.sum(axis=0), self.counts.sum(axis=0))

    @property
    def often(self) -> Floats:
        """Mean number of scores of a cluster that has any, for each column; 0 without a score."""
        often: Floats = self.counts.sum(axis=0) / np.maximum((self.counts > 0).sum(axis=0), 1)
        return often

    @property
    def contributions(self) -> Floats:
        """What each cluster adds to the mean of each column, clusters x columns."""
        mass, shares = self.counts.sum(axis=0), np.zeros_like(self.totals)
        np.divide(self.totals, mass, out=shares, where=mass > 0)
        return shares

    @property
    def key(self) -> int:
        """A number that is the same for equal scores."""
        return zlib.crc32(self.totals.tobytes(), zlib.crc32(self.counts.tobytes()))


def clusters_of(scores: Floats, groups: Sequence[str] | None = None) -> Clusters:
    """Clusters from a table of scores.

    Args:
        scores: Items or questions x columns, in [0, 1], NaN without a score.
        groups: The cluster of each row; every row is one by default. Clusters are in the order of their names.
    """
    known = ~np.isnan(scores)
    totals, counts = np.where(known, scores, 0.0), known.astype(np.float64)
    if groups is None:
        return Clusters(totals, counts)
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    if len(names) == len(groups):
        order = np.argsort(place)
        return Clusters(totals[order], counts[order])
    summed = np.zeros((2, len(names), scores.shape[1]))
    np.add.at(summed[0], place, totals)
    np.add.at(summed[1], place, counts)
    return Clusters(summed[0], summed[1])


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Resampled sums: the expensive part of replicates.

    Attributes:
        scored: Weighted sums of scores, replicates x columns.
        mass: Sums of their weights; 0 for a column without any score.
        often: Mean number of scores of a cluster that has any in the column: how often the pseudo-cluster is asked.
    """

    scored: Floats
    mass: Floats
    often: Floats

    def at(self, columns: Sequence[int] | NDArray[np.bool_]) -> "Sums":
        """The sums of some columns."""
        return Sums(self.scored[:, columns], self.mass[:, columns], self.often[columns])

    def means(self, seed: int, prior: float = 1.0, stream: int = OWN) -> Floats:
        """Replicates of the mean of each column.

        Args:
            seed: Seed of the analysis.
            prior: Weight of the pseudo-cluster, in clusters; 0 for columns that are facts instead of measurements.
            stream: Another number for another split of the pseudo-cluster, independent of this one: for what is
                compared with this.

        Returns:
            Replicates x columns; NaN for a column without any score.
        """
        if prior == 0:
            return _ratio(self.scored, self.mass)
        right, wrong = _split(len(self.mass), seed, prior, stream)
        return _ratio(self.scored + right * self.often, self.mass + (right + wrong) * self.often, self.mass > 0)


def _split(replicates: int, seed: int, prior: float, stream: int) -> tuple[Floats, Floats]:
    """The weights of the pseudo-cluster's ones and of its zeros, both replicates x 1."""
    rng, half = generator(seed, [1, stream]), np.array(prior / 2)
    draw = _drawn if stream < _COMMON else _gamma  # one that is drawn once is not kept
    right, wrong = draw(rng, half, (2, replicates, 1))
    return right, wrong


def _ratio(above: Floats, below: Floats, where: NDArray[np.bool_] | None = None) -> Floats:
    where = below > 0 if where is None else where
    if where.all():  # several times faster than with a mask
        return np.asarray(above / below)
    ratios = np.full(below.shape, math.nan)
    np.divide(above, below, out=ratios, where=where)
    return ratios


def replicates_for(clusters: int) -> int:
    """The number of replicates of a mean that no other task joins: ``REPLICATES``, or fewer of many clusters.

    From 400 clusters on the time grows with their number and the ends hardly depend on the draw: 2,000 replicates of
    2,000 clusters and more have ends that differ from draw to draw by 3% of half the width.
    """
    return REPLICATES if clusters <= _MANY else max(REPLICATES // 5, _BLOCK // clusters)


def resampled_sums(clusters: Clusters, seed: int, *, replicates: int = REPLICATES) -> Sums:
    """Sums over clusters in replicates of the Bayesian bootstrap.

    Args:
        clusters: The clusters: within a replicate one has the same weight in all columns.
        seed: Seed of the analysis: which cluster has which of the weights, which are those of as many clusters.
    """
    count, columns = clusters.totals.shape
    order = generator(seed, [4, count]).permutation(count) if seed else np.arange(count)
    rng, shapes = generator(0, [0, count]), weight_shapes(clusters.counts)
    shapes = shapes[order] if shapes.ndim else shapes
    table = np.concatenate([clusters.totals, clusters.counts], axis=1)[order]
    sums = np.empty((replicates, 2 * columns), order="F")  # all that follows is done to columns
    block = max(1, _BLOCK // max(count, 1))
    for start in range(0, replicates, block):
        stop = min(start + block, replicates)
        sums[start:stop] = _drawn(rng, shapes, (stop - start, count)) @ table
    return Sums(sums[:, :columns], sums[:, columns:], clusters.often)


def resampled_means(clusters: Clusters, seed: int, *, replicates: int = REPLICATES, prior: float = 1.0) -> Floats:
    """Replicates of the mean of every column, replicates x columns; see :func:`resampled_sums` and :class:`Sums`."""
    return resampled_sums(clusters, seed, replicates=replicates).means(seed, prior)


def sums_of_means(
    values: Sequence[float], counts: Sequence[float], rng: np.random.Generator, *, replicates: int = REPLICATES
) -> Sums:
    """What :func:`resampled_sums` would give for zeros and ones of which only the means are known: gamma variates.

    No scores in [0, 1] have a larger variance than zeros and ones of the same mean, so that no interval is wider.

    Args:
        values: Means in [0, 1], one per column; columns are independent.
        rng: Source of the sums.
    """
    mass = np.array([count * _evenness(count) for count in counts], dtype=np.float64)
    right = rng.standard_gamma(mass * np.array(values), (replicates, len(mass)))
    return Sums(right, right + rng.standard_gamma(mass * (1 - np.array(values)), right.shape), np.ones(len(mass)))


def shuffled(draws: Floats, place: int) -> Floats:
    """Replicates in another order, so that they are independent of others of as many clusters.

    Tasks with as many clusters have the same weights. A mean over tasks takes the replicates of each stratum
    (``fathom.stats.strata``) in an order of its own, which leaves the interval of the task unchanged.

    Args:
        draws: Replicates, in the first axis.
        place: Number of the task among those of the mean, in the order of their names; 0 leaves the order unchanged.
    """
    return draws if place == 0 else draws[_order(len(draws), place)]


@lru_cache(maxsize=64)  # of 80 kB each
def _order(replicates: int, place: int) -> NDArray[np.int64]:
    return np.random.default_rng([2, place]).permutation(replicates)


def weight_shapes(counts: Floats) -> Floats:
    """Shapes of the gamma variates: one for all clusters if all columns have about as many, or else one for each."""
    present = counts > 0
    number = present.sum(axis=0)
    number = np.where(number >= _MOSTLY * len(counts), len(counts), number)
    if (number[number > 0] == len(counts)).all():
        return np.array(_evenness(len(counts)))
    # A cluster counts among those of its smallest column.
    fewest = np.where(present, number, len(counts)).min(axis=1)
    return np.array([_evenness(items) for items in fewest.tolist()])


def _evenness(items: float) -> float:
    """Shape of the gamma variates for the weights of this many clusters.

    Dirichlet(a, ..., a) weights give the mean a variance of s_n^2 / (n a + 1), where s_n^2 divides by n; a = (n-2)/n
    turns that into s_n^2 / (n - 1).
    """
    return 1.0 if items > _MANY else max(items - 2, 0.5) / max(items, 1)


def interval_of(draws: Floats, point: float, level: float = LEVEL) -> Interval:
    """The equal-tailed interval of replicates.

    Args:
        draws: Replicates of one value; NaN ones (a ratio to 0) are left out.
        point: The value itself, which the interval always contains (at 50 correct of 50, Jeffreys' ends below 1).
        level: Nominal coverage.

    Returns:
        The interval; ``[-inf, inf]`` without any finite replicate.
    """
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return Interval(-math.inf, math.inf, level)
    return intervals_of(draws[None, :], [point], level)[0]


def intervals_of(draws: Floats, points: Sequence[float], level: float = LEVEL) -> list[Interval]:
    """The intervals of several values at once.

    Args:
        draws: Replicates of each, shape (values, replicates), none of them NaN.
        points: The values themselves.
        level: Nominal coverage.
    """
    return ordered_intervals(np.sort(draws, axis=1), points, level)


def ordered_intervals(ordered: Floats, points: Sequence[float], level: float = LEVEL) -> list[Interval]:
    """The same from replicates in ascending order."""
    tail = (1 - level) / 2
    lows, highs = (_quantile(ordered, share).tolist() for share in (tail, 1 - tail))
    return [
        Interval(min(low, point), max(high, point), level) for low, high, point in zip(lows, highs, points, strict=True)
    ]


def _quantile(ordered: Floats, share: float) -> Floats:
    """``numpy.quantile`` of each row, bit for bit; numpy would look for its place among the values anew."""
    at = share * (ordered.shape[1] - 1)
    place = int(at)
    rest, below, above = at - place, ordered[:, place], ordered[:, min(place + 1, ordered.shape[1] - 1)]
    quantile: Floats = below + (above - below) * rest if rest < 0.5 else above - (above - below) * (1 - rest)
    return quantile


def jeffreys_interval(right: float, clusters: float, level: float = LEVEL) -> Interval:
    """The interval of a proportion under Jeffreys' prior, with the proportion itself inside.

    Args:
        right: Number of clusters that are right.
        clusters: Number of all, 1 or more.
        level: Nominal coverage.
    """
    tail, share = (1 - level) / 2, right / clusters
    low, high = (beta_quantile(end, right + 0.5, clusters - right + 0.5) for end in (tail, 1 - tail))
    return Interval(min(low, share), max(high, share), level)


def exact_interval(clusters: Clusters, level: float = LEVEL) -> Interval | None:
    """The exact interval of the mean over the columns, if all clusters are entirely right or entirely wrong.

    Args:
        clusters: The clusters, each with as many scores as the others.
        level: Nominal coverage.

    Returns:
        Jeffreys' interval; None if a cluster is partly right, or has another number of scores.
    """
    present = clusters.counts.sum(axis=1) > 0
    totals, counts = clusters.totals[present], clusters.counts[present]
    if not len(counts) or (counts != counts[0]).any():
        return None
    shares = totals.sum(axis=1) / counts.sum(axis=1)
    right = shares > 1 - _WHOLE
    if not (right | (shares < _WHOLE)).all():
        return None
    return jeffreys_interval(float(right.sum()), float(len(shares)), level)


def interval_at(clusters: Clusters, draws: Floats, column: int, point: float) -> Interval:
    """The interval of the mean of one column: exact if all clusters are entirely right or wrong, or else drawn.

    Args:
        draws: Replicates of the means of their columns, replicates x columns.
    """
    return exact_interval(clusters.at([column])) or interval_of(draws[:, column], point)


def mean_interval(
    scores: Floats,
    seed: int,
    *,
    groups: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    level: float = LEVEL,
) -> tuple[float, Interval]:
    """Mean of single scores, with its interval.

    Args:
        scores: One value in [0, 1] per item or question; NaN ones are left out; at least one is not NaN.
        seed: Seed of the analysis.
        groups: The cluster of each; every score is one by default.
        level: Nominal coverage.
    """
    known = ~np.isnan(scores)
    named = None if groups is None else [name for name, here in zip(groups, known.tolist(), strict=True) if here]
    clusters = clusters_of(scores[known][:, None], named)
    point = float(scores[known].mean())
    exact = exact_interval(clusters, level)
    if exact is not None:
        return point, exact
    draws = resampled_means(clusters, seed, replicates=replicates)
    return point, interval_of(draws[:, 0], point, level)


@dataclass(frozen=True, slots=True)
class Design:
    """How much information scores have that belong together.

    Attributes:
        scores: Number of scores that the mean is over.
        effect: Design effect: variance of the mean over that of as many independent scores; NaN if all are equal, or
            with a single cluster.
        effective: Effective number of scores: as many independent ones would have this variance; NaN likewise.
        independent: Variance of the mean of as many independent scores.
    """

    scores: int
    clusters: int
    effect: float
    effective: float
    independent: float


def design_of(scores: Floats, groups: Sequence[str]) -> Design:
    """The design effect of clusters (Kish 1965, "Survey Sampling", section 8.2).

    Args:
        scores: One value per score; NaN ones are left out.
    """
    known = ~np.isnan(scores)
    values = scores[known]
    clusters = clusters_of(values[:, None], [name for name, here in zip(groups, known.tolist(), strict=True) if here])
    total, count = len(values), len(clusters.totals)
    alone = float(values.var(ddof=1)) / total if total > 1 else math.nan
    if total > 1 and np.ptp(values) == 0:
        alone = 0.0  # the mean of equal values may differ from them in the last digit
    if count < 2 or not alone > 0:
        return Design(total, count, math.nan, math.nan, alone)
    errors = clusters.totals[:, 0] - clusters.counts[:, 0] * values.mean()
    effect = float((errors**2).sum()) * count / (count - 1) / total**2 / alone
    return Design(total, count, effect, total / effect if effect > 0 else math.nan, alone)
