"""Intervals: the one bootstrap engine behind every interval of fathom.

The unit of resampling is the *item*: its scores at all lengths are resampled together, so differences between lengths
are paired, and its epochs are averaged first. Tasks are strata: each resamples its own items.

The engine is the Bayesian bootstrap (Rubin 1981, "The Bayesian Bootstrap", Annals of Statistics 9): a replicate gives
every item a random weight instead of a random count. Two additions make it suitable for benchmark scores, where the
plain percentile bootstrap fails (50 correct of 50 gives [1, 1]):

* Jeffreys' prior: every replicate also contains one pseudo-item, split at random between the scores 0 and 1. For 0/1
  scores the result is the Jeffreys interval of a proportion (Brown, Cai and DasGupta 2001, "Interval Estimation for a
  Binomial Proportion", Statistical Science 16); for any other score in [0, 1] the interval is never of width zero.
  A mean over T tasks, or over some lengths, has one pseudo-item in all: 1/T for each.
* Weights are slightly more uneven than Rubin's, so that the variance of a mean of n items is s^2/n with the unbiased
  s^2. Without this, intervals over many tasks with few items each are too narrow.

`performance/coverage.py` measures the coverage of both engines against a known truth.
"""

import math
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.types import FathomError

Floats: TypeAlias = NDArray[np.float64]

LEVEL = 0.95
REPLICATES = 2000

ROOM = 256_000_000
"""Bytes of variates that are kept."""
_MANY = 400
_BLOCK = 4_000_000
"""Maximum number of weights in memory: 32 MB, for any number of items."""


@dataclass(slots=True)
class _Draws:
    """Gamma variates that are kept: by the state of the generator, their shapes and their number, with the next state.

    Attributes:
        room: Bytes that may still be kept.
        found: The variates.
    """

    room: int
    found: dict[tuple[str, bytes, tuple[int, ...]], tuple[Floats, Any]] = field(default_factory=dict)


_kept: ContextVar[_Draws | None] = ContextVar("kept draws", default=None)


@contextmanager
def kept_draws(room: int = ROOM) -> Iterator[None]:
    """Keeps gamma variates, which take most of the time, for the intervals of other models on the same tasks.

    Tasks seed their generators, so that models with as many items have the same weights: they are equal with and
    without. What is kept is freed at the end, of the outermost block if there are several.

    Args:
        room: Bytes that it may take.
    """
    if _kept.get() is not None:
        yield
        return
    token = _kept.set(_Draws(room))
    try:
        yield
    finally:
        _kept.reset(token)


def _gamma(rng: np.random.Generator, shapes: Floats, size: tuple[int, ...]) -> Floats:
    """``rng.standard_gamma``, or the same variates as they were drawn before."""
    kept = _kept.get()
    if kept is None:
        return rng.standard_gamma(shapes, size)
    key = str(rng.bit_generator.state), shapes.tobytes(), size
    if key in kept.found:
        draws, rng.bit_generator.state = kept.found[key]
        return draws
    draws = rng.standard_gamma(shapes, size)
    if draws.nbytes <= kept.room:
        draws.flags.writeable = False
        kept.room -= draws.nbytes
        kept.found[key] = draws, rng.bit_generator.state
    return draws


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


def generator(seed: int, stratum: str) -> np.random.Generator:
    """The random generator of one stratum, so that a task's intervals do not depend on other tasks.

    Args:
        seed: Seed of the analysis, 0 or more.
        stratum: Name of the task.

    Raises:
        FathomError: The seed is below 0.
    """
    if seed < 0:
        raise FathomError(f"seed {seed}: expected a whole number from 0")
    return np.random.default_rng([seed, zlib.crc32(stratum.encode("utf-8", "surrogatepass"))])


def resampled_means(
    scores: Floats, rng: np.random.Generator, *, replicates: int = REPLICATES, prior: float | Floats = 1.0
) -> Floats:
    """Means of every column in ``replicates`` Bayesian bootstrap replicates over the items.

    Args:
        scores: Items x columns, values in [0, 1], NaN without a score. Columns are lengths (or lengths of two models):
            within a replicate an item has the same weight in all of them.
        rng: Source of the weights.
        replicates: Number of replicates.
        prior: Weight of the pseudo-item in units of items, for all columns or for each; 0 for columns that are facts
            instead of measurements.

    Returns:
        Replicates x columns; NaN for a column without any score.
    """
    return means_of_sums(resampled_sums(scores, rng, replicates=replicates), rng, prior=prior)


def resampled_sums(scores: Floats, rng: np.random.Generator, *, replicates: int = REPLICATES) -> tuple[Floats, Floats]:
    """The expensive part of :func:`resampled_means`: weighted sums of scores, and sums of their weights.

    Returns:
        Two arrays, replicates x columns; the second is 0 for a column without any score.
    """
    items, columns = scores.shape
    known = ~np.isnan(scores)
    table = np.concatenate([np.where(known, scores, 0.0), known], axis=1)
    sums = np.empty((replicates, 2 * columns))
    block = max(1, _BLOCK // max(items, 1))
    for start in range(0, replicates, block):
        stop = min(start + block, replicates)
        sums[start:stop] = _weights(rng, stop - start, items) @ table
    return sums[:, :columns], sums[:, columns:]


def sums_of_means(
    values: Sequence[float], counts: Sequence[float], rng: np.random.Generator, *, replicates: int = REPLICATES
) -> tuple[Floats, Floats]:
    """What :func:`resampled_sums` would give for zeros and ones of which only the means are known: gamma variates.

    No scores in [0, 1] have a larger variance than zeros and ones of the same mean, so that no interval is wider.

    Args:
        values: Means in [0, 1], one per column; columns are independent.
        counts: Number of scores of each mean.
        rng: Source of the sums.
        replicates: Number of replicates.
    """
    mass = np.array([count * _evenness(count) for count in counts], dtype=np.float64)
    right = rng.standard_gamma(mass * np.array(values), (replicates, len(mass)))
    return right, right + rng.standard_gamma(mass * (1 - np.array(values)), right.shape)


def means_of_sums(sums: tuple[Floats, Floats], rng: np.random.Generator, *, prior: float | Floats) -> Floats:
    """The cheap part of :func:`resampled_means`: adds the pseudo-item and divides.

    Args:
        sums: Result of :func:`resampled_sums`.
        rng: Source of how the pseudo-item splits between 0 and 1.
        prior: Its weight, for all columns or for each.
    """
    return _means(sums, _pseudo_item(sums[1].shape, rng, prior))


def shared_pseudo_item(shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> list[tuple[Floats, Floats]]:
    """The pseudo-item of one mean over the columns of several tasks.

    With one pseudo-item per column, a mean over k columns would have k, which pull it towards one half by more than its
    own error. Here all columns of all tasks share one.

    Args:
        shapes: For each task the shape of the result of :func:`resampled_sums`.
        rng: Source of how the pseudo-item splits between 0 and 1.

    Returns:
        For each task what it adds to the ones and to the zeros of each column, both replicates x columns.
    """
    prior = 1 / sum(columns for _, columns in shapes)
    return [_pseudo_item(shape, rng, prior) for shape in shapes]


def shared_draws(tasks: Sequence[tuple[Floats, Floats]], pseudo: Sequence[tuple[Floats, Floats]]) -> list[Floats]:
    """Replicates of the means of all columns of several tasks, for one mean over all of them.

    Args:
        tasks: For each task the result of :func:`resampled_sums`.
        pseudo: Result of :func:`shared_pseudo_item`.

    Returns:
        For each task, replicates x columns.
    """
    return [_means(sums, parts) for sums, parts in zip(tasks, pseudo, strict=True)]


def _pseudo_item(shape: tuple[int, ...], rng: np.random.Generator, prior: float | Floats) -> tuple[Floats, Floats]:
    half = np.broadcast_to(np.asarray(prior, dtype=np.float64) / 2, shape[1:])
    return _gamma(rng, half, shape), _gamma(rng, half, shape)


def _means(sums: tuple[Floats, Floats], pseudo: tuple[Floats, Floats]) -> Floats:
    (scored, mass), (right, wrong) = sums, pseudo
    means = np.full(mass.shape, math.nan)
    np.divide(scored + right, mass + right + wrong, out=means, where=mass > 0)
    return means


def _weights(rng: np.random.Generator, replicates: int, items: int) -> Floats:
    # Dirichlet(a, ..., a) weights give the mean a variance of s_n^2 / (n a + 1), where s_n^2 divides by n; a = (n-2)/n
    # turns that into s_n^2 / (n - 1). Beyond a few hundred items that is about 1, and exponentials are much faster.
    if items > _MANY:
        return rng.standard_exponential((replicates, items))
    return _gamma(rng, np.array(_evenness(items)), (replicates, items))


def _evenness(items: float) -> float:
    """Shape of the gamma variates for the weights of this many items."""
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
    found: Floats = below + (above - below) * rest if rest < 0.5 else above - (above - below) * (1 - rest)
    return found


def mean_interval(
    scores: Floats, rng: np.random.Generator, *, replicates: int = REPLICATES, level: float = LEVEL
) -> tuple[float, Interval]:
    """Mean of one score per item, with its interval.

    Args:
        scores: One value in [0, 1] per item; NaN ones are left out; at least one is not NaN.
        rng: Source of the weights.
        replicates: Number of replicates.
        level: Nominal coverage.
    """
    point = float(np.nanmean(scores))
    draws = resampled_means(scores[:, None], rng, replicates=replicates)
    return point, interval_of(draws[:, 0], point, level)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Scores of some questions.

    Attributes:
        stratum: Name of their stratum.
        names: Names of the questions, in the same order in all tables.
        values: Their scores, questions x columns; NaN without a score.
    """

    stratum: str
    names: tuple[str, ...]
    values: Floats


def resampled_together(tables: Sequence[Scored], seed: int) -> Iterator[tuple[int, Floats]]:
    """Bayesian bootstrap replicates of the means of all columns of several tables, with one pseudo-item each.

    Args:
        tables: The tables.
        seed: Seed of the analysis.

    Yields:
        The number of a table and its replicates, replicates x columns; tables of the same questions together.
    """
    alike: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, table in enumerate(tables):
        alike.setdefault((table.stratum, table.names), []).append(number)
    for (stratum, _), numbers in alike.items():
        values = np.concatenate([tables[number].values for number in numbers], axis=1)
        weighted, mass = resampled_sums(values, generator(seed, stratum))
        start = 0
        for number in numbers:
            part = slice(start, start := start + tables[number].values.shape[1])
            rng = generator(seed, f"{stratum} prior")
            yield number, means_of_sums((weighted[:, part], mass[:, part]), rng, prior=1.0)
