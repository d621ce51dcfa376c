"""Evidence about a mean that may be looked at after every item: a wealth that grows by bets on each.

A test whose p-value is computed again and again, while replies come, finds a difference sooner or later where there is
none. A bettor cannot: who stakes at most what he has on a mean below its bound multiplies his money by 20 at any time
with a probability of at most 1/20 (Ville 1939; Waudby-Smith and Ramdas 2024, "Estimating means of bounded random
variables by betting", JRSS B 86). So money of 1/alpha is evidence at level alpha whenever it is looked at.

The bettor divides his money among five fixed stakes, from a sixth of the largest possible one up to it, so that one of
them suits any difference. Most of it is on the largest, which suits scores that hardly differ.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from fathom.stats.intervals import Floats, Interval

STAKES = 0.98 * 0.1 ** np.array([0.8, 0.6, 0.4, 0.2, 0.0])
"""The stakes, as shares of that which can lose everything."""
MONEY = np.array([0.15, 0.15, 0.15, 0.15, 0.4])
"""How much of the money is on each."""
PLANNED = 0.5
"""How much of all money is on the stake for a planned difference."""
_CAUTION = 0.75  # of that stake: it loses little of its growth and a quarter of its ups and downs
_BEFORE = 1  # values of variance 1/4 that are believed before the first
_HALVINGS = 40


def evidence_above(
    values: Floats | Sequence[float],
    bound: float,
    weights: Floats | Sequence[float] | None = None,
    *,
    planned: float | None = None,
) -> float:
    """The largest money so far of a bettor on a mean above a bound, as its logarithm.

    Args:
        values: Values of -1 to 1 in an order that is as good as random and was fixed before they were seen, shape (N,).
        bound: The null hypothesis is that the mean is at most this, above -1 and below 1.
        weights: How much each counts in the mean, in (0, 1]; known before the first value. 1 each by default.
        planned: By how much the bettor hopes that the mean is above the bound; chosen before the first value.

    Returns:
        At least 0, the money at the start. If the null hypothesis is true, it is ever log(1 / alpha) with a probability
        of at most alpha.
    """
    if not len(values):
        return 0.0
    # A stake times weight times (value - bound) is above -1, and its expected value is 0 if the mean is the bound.
    sizes = np.ones(len(values)) if weights is None else np.asarray(weights)
    gains = (np.asarray(values) - bound) * sizes
    returns, money = np.outer(STAKES / (1 + bound), gains), MONEY
    if planned is not None:
        stakes = np.minimum(_planned_stakes(gains, sizes, planned), STAKES[-1] / (1 + bound))
        returns, money = np.vstack([returns, stakes * gains]), np.append((1 - PLANNED) * MONEY, PLANNED)
    grown = np.cumsum(np.log1p(returns), axis=1)
    return max(0.0, float(np.logaddexp.reduce(grown + np.log(money)[:, None], axis=0).max()))


def _planned_stakes(gains: Floats, sizes: Floats, planned: float) -> Floats:
    """The stake on each value, from those before it: nearly the one whose money grows fastest if the plan is right."""
    before = np.arange(len(gains))
    size, square = (np.cumsum(sizes**power) / (before + 1) for power in (1, 2))  # weights are known, values are not
    squares = (np.cumsum(gains**2) - gains**2 + _BEFORE * square / 4) / (before + _BEFORE)
    stakes: Floats = _CAUTION * planned * size / squares
    return stakes


def evidence_below(
    values: Floats | Sequence[float],
    bound: float,
    weights: Floats | Sequence[float] | None = None,
    *,
    planned: float | None = None,
) -> float:
    """The same of a bettor on a mean below a bound, by ``planned`` if that is what he hopes."""
    return evidence_above(-np.asarray(values), -bound, weights, planned=planned)


def interval_at_any_look(
    lows: Floats | Sequence[float],
    highs: Floats | Sequence[float],
    level: float,
    weights: Floats | Sequence[float] | None = None,
) -> Interval:
    """The means that neither of two bettors has excluded: an interval that holds at all looks together.

    Args:
        lows: The values, or the lowest that unknown ones may have, in [-1, 1], shape (N,).
        highs: The same values, or the highest that unknown ones may have.
        level: Probability with which the mean is in all of them, for instance 0.95.
        weights: See :func:`evidence_above`.
    """
    enough = math.log(2 / (1 - level))

    def furthest(values: Floats) -> float:
        low, high = -1.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if evidence_above(values, middle, weights) >= enough:
                low = middle
            else:
                high = middle
        return low

    return Interval(furthest(np.asarray(lows)), -furthest(-np.asarray(highs)))


def items_without_loss(margin: float, alpha: float) -> int:
    """The number of items after which a loss of the margin is excluded if both models score alike on each.

    Args:
        margin: The loss, which is also the planned difference.
        alpha: Level of the test.
    """
    wanted = math.log(1 / alpha)

    def evidence(items: int) -> float:
        return evidence_above(np.zeros(items), -margin, planned=margin)

    few, enough = 0, 1
    while evidence(enough) < wanted:
        few, enough = enough, 2 * enough
    return bisect_left(range(enough), wanted, few, key=evidence)
