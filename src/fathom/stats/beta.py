"""The beta distribution: its lower tail and its quantiles, without scipy, which is an extra."""

import math
from functools import lru_cache

_STEPS = 10_000
_CLOSE = 1e-15
_TINY = 1e-300
_HALVINGS = 80
_STEP = 1e-8  # Newton's next step would be of its square
_NEAR = 1e-11  # relative: more than rounding can move a quantile


def beta_lower_tail(x: float, a: float, b: float) -> float:
    """Probability that a variable with a beta distribution is at most x: the regularized incomplete beta function.

    Args:
        x: The value, from 0 to 1.
        a: First parameter, above 0.
        b: Second parameter, above 0.

    Returns:
        The probability, by Lentz's continued fraction (Press et al., "Numerical Recipes", 6.4); it keeps its relative
        precision where it is small.
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    return split_lower_tail(x, 1 - x, a, b)


def split_lower_tail(at: float, rest: float, a: float, b: float) -> float:
    """The same for x = ``at`` and 1 - x = ``rest``; one may be too small to be distinguished from 1 minus the other."""
    beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(at) + b * math.log(rest) - beta) if at > 0 and rest > 0 else 0.0
    # The fraction converges quickly on one side of the mean only.
    if at < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, at) / a
    return 1 - front * _fraction(b, a, rest) / b


@lru_cache(maxsize=65_536)  # tables ask for the same few counts again and again
def beta_quantile(share: float, a: float, b: float) -> float:
    """The value at or below which a share of a beta distribution lies, to about 1e-12.

    Args:
        share: Above 0 and below 1.
        a: First parameter, above 0.
        b: Second parameter, above 0.
    """
    near, low, high = _near(share, a, b), 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        # Only close to the quantile does it take a tail to know on which side of it this lies.
        far = abs(middle - near) > _NEAR * near
        if middle < near if far else beta_lower_tail(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _near(share: float, a: float, b: float) -> float:
    """The quantile up to rounding, by Newton's method within halved bounds."""
    low, high, at = 0.0, 1.0, a / (a + b)
    beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    for _ in range(_STEPS):
        above = beta_lower_tail(at, a, b) - share
        low, high = (at, high) if above < 0 else (low, at)
        following = (low + high) / 2
        if 0 < at < 1:
            slope = math.exp((a - 1) * math.log(at) + (b - 1) * math.log1p(-at) - beta)
            by_slope = at - above / slope if slope > 0 else math.nan
            if low <= by_slope <= high:
                following = by_slope
        if abs(following - at) <= _STEP * min(at, 1 - at):
            return following
        at = following
    return at


def _fraction(a: float, b: float, x: float) -> float:
    below = 1 / _nonzero(1 - (a + b) * x / (a + 1))
    above, value = 1.0, below
    for step in range(1, _STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            below, above = 1 + term * below, 1 + term / above
            # Most of the time of an interval is spent here: no calls.
            below = 1 / (below if not -_TINY <= below <= _TINY else _TINY)
            above = above if not -_TINY <= above <= _TINY else _TINY
            change = below * above
            value *= change
        if -_CLOSE < change - 1 < _CLOSE:
            break
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
