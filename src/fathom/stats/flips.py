"""The sign-flip test of paired differences: how often signs at random give a mean difference as large.

If two models are equally good, the difference of each cluster is as likely to be positive as negative. The p-value is
the share of sign vectors s with |sum s_i c_i| >= |sum c_i|, where c_i is what cluster i adds to the mean difference
(Fisher 1935, "The Design of Experiments", section 21). Clusters without a difference say nothing. The share is exact if
all differences have one size (the sign test), or for up to ``ENUMERATED`` of them; for more, random sign vectors are
drawn, and where so many matter that their sum is normal, its distribution is used.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fathom.stats.beta import beta_lower_tail
from fathom.stats.intervals import Floats, generator

ENUMERATED = 14
"""Clusters with a difference up to which all sign vectors are tried: 2 ** 13, as the overall sign does not matter."""
DRAWN = 9_999
"""Random sign vectors for more clusters; with the observed one, such p-values are 1 / 10,000 or more."""
SIGNED = 2_048
"""Clusters up to which random signs are drawn for ranks; 80 MB."""
_NORMAL = 400.0
"""Effective number of clusters, (sum c^2)^2 / sum c^4, from which the sum of random signs is normal."""
_EQUAL = 1e-9  # relative difference of sizes that differ by the order of a summation only
_NOTHING = 1e-13  # what equal scores add by the order of a summation; a million clusters add more
_ROUNDED = 1e-6  # error of sums with four bytes, of the sum of all sizes
_WIDTH = 64


def flip_p_value(contributions: Floats) -> float:
    """The two-sided p-value of the sum of differences.

    Args:
        contributions: What each cluster adds to the mean difference, shape (clusters,).

    Returns:
        The p-value; 1 without a difference.
    """
    return flip_p_values([contributions])[0]


def flip_p_values(many: Sequence[Floats]) -> list[float]:
    """The p-values of several sums of differences, with the same random signs; faster than one by one.

    Args:
        many: As in :func:`flip_p_value`, one array for each.
    """
    p_values = [_without_drawing(contributions) for contributions in many]
    drawn = [nonzero for nonzero in p_values if not isinstance(nonzero, float)]
    if drawn:
        table = np.zeros((max(map(len, drawn)), len(drawn)), dtype=np.float32)
        for column, nonzero in enumerate(drawn):
            table[: len(nonzero), column] = nonzero
        sums = np.abs(random_signs(len(table)) @ table)
        least = [abs(math.fsum(sizes.tolist())) - _ROUNDED * float(np.abs(sizes).sum()) for sizes in drawn]
        reached = np.count_nonzero(sums >= np.array(least, dtype=np.float32), axis=0)
        shares = iter([float((1 + count) / (1 + DRAWN)) for count in reached.tolist()])
    return [p_value if isinstance(p_value, float) else next(shares) for p_value in p_values]


def _without_drawing(contributions: Floats) -> float | Floats:
    """The p-value, or the differences themselves, of which the largest is 1, if signs must be drawn."""
    sizes = np.abs(contributions)
    largest = float(sizes.max(initial=0.0))
    if largest <= _NOTHING:
        return 1.0
    nonzero: Floats = contributions[sizes > max(_EQUAL * largest, _NOTHING)] / largest
    observed, count = abs(math.fsum(nonzero.tolist())), len(nonzero)
    if observed <= _EQUAL * count:
        return 1.0
    smallest = float(np.abs(nonzero).min())
    if smallest > 1 - _EQUAL:
        return sign_p_value(round((count + observed) / 2), count)
    if count <= ENUMERATED:
        sums = np.abs(_all_signs(count - 1) @ nonzero[1:] + nonzero[0])
        return float((sums >= observed - _EQUAL).mean())
    squares = float((nonzero**2).sum())
    if squares**2 > _NORMAL * float((nonzero**4).sum()):
        # Sums may be multiples of twice the smallest difference: half a step, as for a binomial distribution.
        return math.erfc(max(0.0, observed - smallest) / math.sqrt(2 * squares))
    return nonzero


def sign_p_value(wins: int, count: int) -> float:
    """The two-sided p-value of the sign test: twice the probability of so many heads in as many tosses, or of more.

    Args:
        wins: Clusters with the more frequent sign, at least half of all.
        count: All clusters with a difference, 1 or more.
    """
    return min(1.0, 2 * beta_lower_tail(0.5, wins, count - wins + 1))


def noise_of(contributions: Floats, draws: Floats) -> Floats:
    """What a sum of differences, or one side of them, would be without a true difference.

    Args:
        contributions: What each cluster adds to the sum, shape (clusters,).
        draws: Replicates of the sum, at least ``DRAWN``.

    Returns:
        The sum with random signs, shape (``DRAWN``,); of more clusters than ``SIGNED`` replicates less their mean,
        which are as good.
    """
    if len(contributions) > SIGNED:
        centred: Floats = draws[:DRAWN] - draws.mean()
        return centred
    return (random_signs(len(contributions)) @ contributions.astype(np.float32)).astype(np.float64)


def random_signs(clusters: int) -> NDArray[np.float32]:
    """Random signs, ``DRAWN`` x clusters; those of fewer clusters are the first of those of more."""
    blocks = max(1, -(-clusters // _WIDTH))
    return _signs(1 << (blocks - 1).bit_length())[:, :clusters]  # of few widths, so that they are kept


@lru_cache(maxsize=6)
def _signs(blocks: int) -> NDArray[np.float32]:
    bits = [generator(0, [3, block]).integers(0, 256, (DRAWN, _WIDTH // 8), dtype=np.uint8) for block in range(blocks)]
    return np.unpackbits(np.concatenate(bits, axis=1), axis=1).astype(np.float32) * 2 - 1


@lru_cache(maxsize=ENUMERATED)
def _all_signs(clusters: int) -> Floats:
    """All sign vectors of so many clusters, 2 ** clusters x clusters."""
    numbers = np.arange(2**clusters)[:, None] >> np.arange(clusters)
    signs: Floats = 1.0 - 2.0 * (numbers & 1)
    return signs
