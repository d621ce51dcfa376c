"""What other models of three tiers would answer: how many of each are right, given how many of the models asked were.

A logistic-normal model of random effects (as in item response theory; Bock and Aitkin 1981, Psychometrika 46, for the
marginal likelihood by quadrature). Of the models of tier t, Binomial(size, p) are right on question q:

    logit p = centre_t + spread_t * (sin(a) * u_q + cos(a) * e_qt)

u is the easiness of the question for all tiers, e what is its own for the tier; both are standard normal. sin(a)^2 is
the correlation of two tiers: a question that is hard for one tends to be hard for another, which decides how likely it
is that other models agree on all three. Given u, the tiers are independent, so that the sums over e are done for each
tier by itself and nothing larger than nodes x questions is held.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import Floats

# Values of u and of e at which the model is computed. They are evenly spaced: where logistic curves are steep, nodes of
# Gauss and Hermite lie too far apart in the middle, and twice as many were still worse.
NODES = np.linspace(-4.0, 4.0, 33)
WEIGHTS = np.exp(-(NODES**2) / 2)
WEIGHTS /= WEIGHTS.sum()

# Means and standard deviations of weak normal priors of the three centres, the three spreads and the angle. They matter
# where there are few questions, or none that differ; with the bounds they keep every estimate finite.
MEANS = np.array([0.0] * 3 + [2.0] * 3 + [math.pi / 4])
DEVIATIONS = np.array([2.0] * 6 + [0.5])
BOUNDS = [(-8.0, 8.0)] * 3 + [(0.0, 6.0)] * 3 + [(0.0, math.pi / 2)]
TINY = 1e-300
"""Added where a product of many chances may be too small for a number."""


def beyond_others(right: NDArray[np.int64], sizes: tuple[int, int, int], allowed: int) -> Floats:
    """Probability that a question is beyond each set of tiers, if as many other models of the same tiers are asked.

    Args:
        right: How many models of each tier are right, questions x 3.
        sizes: Models of each tier.
        allowed: How many models of a tier may be right in spite of which a question is beyond it.

    Returns:
        Shape (questions, 2, 2, 2): 1 on the axis of each tier that the question is beyond, else 0.
    """
    kinds, kind, times = np.unique(right, axis=0, return_inverse=True, return_counts=True)
    if not len(kinds):
        return np.zeros((0, 2, 2, 2))
    packed = _fitted(kinds, times.astype(np.float64), sizes)
    easiness = WEIGHTS * np.ones((len(kinds), 1))  # what is known of u, kinds x nodes
    sides = []
    for tier, (size, chances) in enumerate(zip(sizes, _chances(packed), strict=True)):
        table = _binomial(size, chances)
        asked = table[kinds[:, tier]] * WEIGHTS  # kinds x nodes of u x nodes of e
        known = asked.sum(axis=-1)
        beyond = (asked * table[: allowed + 1].sum(axis=0)).sum(axis=-1) / np.maximum(known, TINY)
        easiness *= known
        sides.append(np.stack([1 - beyond, beyond]))
    easiness /= easiness.sum(axis=1, keepdims=True)
    joint: Floats = np.einsum("qu,aqu,bqu,cqu->qabc", easiness, *sides, optimize=True)
    return joint[kind.ravel()]


def _fitted(kinds: NDArray[np.int64], times: Floats, sizes: tuple[int, int, int]) -> Floats:
    """The three centres, the three spreads and the angle that are most probable, from counts and how often they are."""
    from scipy.optimize import minimize

    def loss(packed: Floats) -> float:
        likelihood = WEIGHTS * np.ones((len(kinds), 1))
        for tier, (size, chances) in enumerate(zip(sizes, _chances(packed), strict=True)):
            likelihood *= (_binomial(size, chances) @ WEIGHTS)[kinds[:, tier]]
        return float(
            -times @ np.log(likelihood.sum(axis=1) + TINY) + 0.5 * (((packed - MEANS) / DEVIATIONS) ** 2).sum()
        )

    return np.asarray(minimize(loss, MEANS, method="L-BFGS-B", bounds=BOUNDS).x, dtype=np.float64)


def _chances(packed: Floats) -> Floats:
    """Probability that a model of each tier is right, 3 x nodes of u x nodes of e."""
    from scipy.special import expit

    mixed = math.sin(packed[6]) * NODES[:, None] + math.cos(packed[6]) * NODES
    chances: Floats = expit(packed[:3, None, None] + packed[3:6, None, None] * mixed)
    return chances


def _binomial(size: int, chances: Floats) -> Floats:
    """Probability that 0, 1, ... of so many models are right, (size + 1) x the shape of the chances."""
    from scipy.special import comb

    counts = np.arange(size + 1).reshape(-1, *[1] * chances.ndim)
    table: Floats = comb(size, counts) * chances**counts * (1 - chances) ** (size - counts)
    return table
