"""Student's distribution."""

import math

from fathom.stats.beta import beta_quantile, split_lower_tail


def lower_tail(t: float, degrees: float) -> float:
    """Probability that a variable with Student's distribution is at most t.

    Args:
        degrees: Degrees of freedom, above 0.

    Returns:
        The probability, which keeps its relative precision where it is small: half of the regularized incomplete beta
        function at degrees / (degrees + t^2).
    """
    if t > 0:
        return 1 - lower_tail(-t, degrees)
    if math.isinf(t):
        return 0.0
    square = t * t
    at, rest = degrees / (degrees + square), square / (degrees + square)
    return 0.5 if rest == 0 else split_lower_tail(at, rest, degrees / 2, 0.5) / 2


def upper_quantile(share: float, degrees: float) -> float:
    """The value that a variable with Student's distribution exceeds with a probability.

    Args:
        share: The probability, above 0 and at most 1/2.
        degrees: Degrees of freedom, above 0.
    """
    at = beta_quantile(2 * share, degrees / 2, 0.5)
    return math.sqrt(degrees * (1 - at) / at)
