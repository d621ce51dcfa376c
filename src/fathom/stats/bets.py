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
_HALVINGS = 40


def evidence_above(
    values: Floats | Sequence[float], bound: float, weights: Floats | Sequence[float] | None = None
) -> float:
    """The largest money so far of a bettor on a mean above a bound, as its logarithm.

    Args:
        values: Values of -1 to 1 in an order that is as good as random and was fixed before they were seen, shape (N,).
        bound: The null hypothesis is that the mean is at most this, above -1 and below 1.
        weights: How much each counts in the mean, in (0, 1]; known before the first value. 1 each by default.

    Returns:
        At least 0, the money at the start. If the null hypothesis is true, it is ever log(1 / alpha) with a probability
        of at most alpha.
    """
    if not len(values):
        return 0.0
    # A stake times weight times (value - bound) is above -1, and its expected value is 0 if the mean is the bound.
    gains = (np.asarray(values) - bound) * (1.0 if weights is None else np.asarray(weights))
    grown = np.cumsum(np.log1p(np.outer(STAKES / (1 + bound), gains)), axis=1)
    return max(0.0, float(np.logaddexp.reduce(grown + np.log(MONEY)[:, None], axis=0).max()))


def evidence_below(
    values: Floats | Sequence[float], bound: float, weights: Floats | Sequence[float] | None = None
) -> float:
    """The same of a bettor on a mean below a bound."""
    return evidence_above(-np.asarray(values), -bound, weights)


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
    """The number of items after which a loss of the margin is excluded if both models score alike on each."""
    wanted = math.log(1 / alpha)
    few, enough = 0, 1
    while evidence_above(np.zeros(enough), -margin) < wanted:
        few, enough = enough, 2 * enough
    return bisect_left(range(enough), wanted, few, key=lambda items: evidence_above(np.zeros(items), -margin))
