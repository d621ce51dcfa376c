"""Student's distribution."""

import math

_STEPS = 10_000
_CLOSE = 1e-15
_TINY = 1e-300


def lower_tail(t: float, degrees: float) -> float:
    """Probability that a variable with Student's distribution is at most t.

    Args:
        t: The value.
        degrees: Degrees of freedom, above 0.

    Returns:
        The probability, which keeps its relative precision where it is small: half of the regularized incomplete beta
        function at degrees / (degrees + t^2), by Lentz's continued fraction (Press et al., "Numerical Recipes", 6.4).
    """
    if t > 0:
        return 1 - lower_tail(-t, degrees)
    if math.isinf(t):
        return 0.0
    square = t * t
    at, rest = degrees / (degrees + square), square / (degrees + square)
    first, second = degrees / 2, 0.5
    if rest == 0:
        return 0.5
    beta = math.lgamma(first) + math.lgamma(second) - math.lgamma(first + second)
    front = math.exp(first * math.log(at) + second * math.log(rest) - beta) if at > 0 else 0.0
    # The fraction converges quickly on one side of the mean only.
    if at < (first + 1) / (first + second + 2):
        return front * _fraction(first, second, at) / first / 2
    return (1 - front * _fraction(second, first, rest) / second) / 2


def _fraction(a: float, b: float, x: float) -> float:
    below = 1 / _kept(1 - (a + b) * x / (a + 1))
    above, value = 1.0, below
    for step in range(1, _STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            below, above = 1 / _kept(1 + term * below), _kept(1 + term / above)
            change = below * above
            value *= change
        if abs(change - 1) < _CLOSE:
            break
    return value


def _kept(value: float) -> float:
    """The value, kept from zero."""
    return value if abs(value) > _TINY else _TINY
