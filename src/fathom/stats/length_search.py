"""The length up to which a model scores enough, found by asking where it tells most, with an interval at any look.

Scores fall with length. Between which two of the lengths of a suite they fall below the threshold is a hypothesis, one
for each gap; exactly one is true. Against each plays a bettor: on scores above the threshold at longer lengths, and on
scores below it at shorter ones. Whoever bets against the true gap multiplies his money by 1/alpha at any time with a
probability of at most alpha (Ville 1939; Waudby-Smith and Ramdas 2024, JRSS B 86), whatever the lengths that were
chosen and whenever one stops: the gaps whose bettor has less are a confidence set at all looks together, and since only
the true one counts, many lengths cost nothing.

The stakes, and the next length, come from a posterior over falling curves (a logistic curve in log length between two
plateaus). It makes the search quick; the interval does not rest on it. The next length is on the cheapest way to a
narrow interval: the two lengths around the crossing, as far as the posterior knows, with the lowest price of the scores
that it takes to show both, at the rate at which money grows for who knows the curve (Kelly 1956).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from fathom.stats.intervals import LEVEL, Floats, Interval

_TOPS, _BOTTOMS = (0.9, 0.97, 0.995), (0.005, 0.15, 0.4, 0.7)
_WIDTHS = (0.02, 0.15, 0.4, 1.0)
"""Widths of the fall, in octaves: from a window that is cut off to a slow decline."""
_PLACES = 3
"""Curves that fall within each gap."""
_MOST = 0.95
"""The largest stake, as a share of that which can lose everything."""
_PRIOR = 4.0
"""Number of scores that the second moment of the prior counts for."""
_TRUST = 20.0
"""Number of scores at a length that the curves count for in the stake there."""


@dataclass(frozen=True)
class Curves:
    """A prior over falling curves, at some lengths.

    Attributes:
        means: The mean score of each curve at each length, shape (curves, lengths).
        crossing: The length in tokens at which each falls below the threshold, shape (curves,).
    """

    means: Floats
    crossing: Floats


def falling_curves(lengths: Sequence[int], threshold: float) -> Curves:
    """Logistic curves in log length between two plateaus, all as probable as each other.

    Args:
        lengths: In tokens, ascending.
        threshold: The score that a length must reach.
    """
    at = np.log2(np.asarray(lengths, dtype=np.float64))
    inner = [
        first + (last - first) * (n + 0.5) / _PLACES for first, last in pairwise(at.tolist()) for n in range(_PLACES)
    ]
    places = np.array([at[0] - 1, at[0] - 0.25, *inner, at[-1] + 0.25, at[-1] + 1])
    tops = [top for top in _TOPS if top > threshold] or [(1 + threshold) / 2]
    bottoms = [bottom for bottom in _BOTTOMS if bottom < threshold] or [threshold / 2]
    grid = np.array([(p, w, t, b) for p in places for w in _WIDTHS for t in tops for b in bottoms])
    place, width, top, bottom = grid.T
    # Places are those of the crossing itself, so that every gap is as probable as the others of its size.
    share = (threshold - bottom) / (top - bottom)
    middle = place - width * np.log(1 / share - 1)
    fall = 1 / (1 + np.exp(np.clip((at[None] - middle[:, None]) / width[:, None], -50, 50)))
    return Curves(bottom[:, None] + (top - bottom)[:, None] * fall, 2**place)


@dataclass
class LengthSearch:
    """The state of a search; ``add`` takes scores, ``next_length`` says where to ask.

    Attributes:
        lengths: In tokens, ascending.
        threshold: The score that a length must reach, in (0, 1).
        costs: What a question costs at each length; its tokens by default.
        level: Probability with which the interval holds at all looks.
    """

    lengths: Sequence[int]
    threshold: float
    costs: Floats | None = None
    level: float = LEVEL
    money: Floats = field(init=False, repr=False)
    """The logarithm of the largest money of the bettor against each gap; gap g follows the first g lengths."""

    def __post_init__(self) -> None:
        self._curves = falling_curves(self.lengths, self.threshold)
        self._weights = np.zeros(len(self._curves.crossing))
        self._now = np.zeros(len(self.lengths) + 1)
        self.money = np.zeros(len(self.lengths) + 1)
        self._count, self._sums, self._squares = np.zeros((3, len(self.lengths)))
        self._spent = np.asarray(self.lengths if self.costs is None else self.costs, dtype=np.float64)
        with np.errstate(divide="ignore"):
            self._logs = np.log(self._curves.means), np.log1p(-self._curves.means)
        means, odds = self._curves.means, (self.threshold, 1 - self.threshold)
        growth = means * (self._logs[0] - math.log(odds[0])) + (1 - means) * (self._logs[1] - math.log(odds[1]))
        self._growth = np.where(means > self.threshold, growth, 0.0), np.where(means > self.threshold, 0.0, growth)
        gaps, places = np.arange(len(self.lengths) + 1), np.arange(len(self.lengths))
        self._longer = places[None, :] >= gaps[:, None]

    @property
    def posterior(self) -> Floats:
        """Probabilities of the curves."""
        shares = np.exp(self._weights - self._weights.max())
        return np.asarray(shares / shares.sum())

    def _stakes(self) -> tuple[Floats, Floats]:
        """The stake on a score above the threshold at each length, and that on one below it."""
        # Where there are many scores at a length, they count for more than the shape of the curves.
        means = (_TRUST * self.posterior @ self._curves.means + self._sums) / (_TRUST + self._count)
        expected = means - self.threshold
        above, below = self.threshold, 1 - self.threshold
        # Two-point scores of this mean have the second moment of the prior; graded ones a smaller one.
        second = (above * below * _PRIOR + self._squares) / (_PRIOR + self._count)
        stake = expected / np.minimum(second, above * below)
        return np.clip(stake, 0, _MOST / above), np.clip(-stake, 0, _MOST / below)

    def add(self, place: int, low: float, high: float | None = None) -> None:
        """Count a score.

        Args:
            place: Number of its length.
            low: The score, in [0, 1], or the lowest that an unknown one may be; of a question of which nothing was
                asked before, at any length.
            high: The highest that it may be, if it is unknown.
        """
        high = low if high is None else high
        up, down = self._stakes()
        longer = math.log1p(up[place] * (low - self.threshold))
        shorter = math.log1p(down[place] * (self.threshold - high))
        self._now += np.where(self._longer[:, place], longer, shorter)
        np.maximum(self.money, self._now, out=self.money)
        middle = (low + high) / 2
        self._weights += middle * self._logs[0][:, place] + (1 - middle) * self._logs[1][:, place]
        self._count[place] += 1
        self._sums[place] += middle
        self._squares[place] += (middle - self.threshold) ** 2

    @property
    def gaps(self) -> tuple[int, int]:
        """The first and the last gap that is not excluded; equal if there is one.

        If all are excluded (scores that do not fall, or bad luck), those of the poorest bettor.
        """
        left = np.flatnonzero(self.money < -math.log(1 - self.level))
        left = left if len(left) else np.flatnonzero(self.money == self.money.min())
        return int(left[0]), int(left[-1])

    @property
    def interval(self) -> Interval:
        """From the longest length that surely passes to the shortest that surely fails: 0 and infinity without one."""
        first, last = self.gaps
        ends = (0.0, *map(float, self.lengths), math.inf)
        return Interval(ends[first], ends[last + 1])

    @property
    def falling(self) -> bool:
        """Whether scores may fall with length: not if every gap is excluded."""
        return bool((self.money < -math.log(1 - self.level)).any())

    def is_within(self, ratio: float) -> bool:
        """Whether the ends of the interval are in this ratio at most, or one gap is left."""
        first, last = self.gaps
        return first == last or self.interval.high <= ratio * self.interval.low

    @property
    def estimate(self) -> float:
        """The median of the posterior, in tokens, within the interval."""
        order = np.argsort(self._curves.crossing, kind="stable")
        place = int(np.searchsorted(np.cumsum(self.posterior[order]), 0.5))
        interval = self.interval
        return float(np.clip(self._curves.crossing[order][min(place, len(order) - 1)], interval.low, interval.high))

    def next_length(self, within: float = 1.0) -> int:
        """The number of the length to ask at next, on the cheapest way to an interval that is narrow enough.

        Args:
            within: Ratio of the ends of the interval that is wanted; a single gap is always enough.
        """
        first, last = self.gaps
        lacks = np.maximum(-math.log(1 - self.level) - self._now, 0.0)
        lacks[:first], lacks[last + 1 :] = 0.0, 0.0
        above, below = (self.posterior @ growth + 1e-6 for growth in self._growth)
        # What is left to pay until all gaps are excluded up to a length, and all after one.
        up = np.concatenate([[0.0], np.maximum.accumulate(lacks)[:-1] / above * self._spent])
        down = np.concatenate([np.maximum.accumulate(lacks[::-1])[-2::-1] / below * self._spent, [0.0]])
        ends = np.concatenate([[0.0], np.asarray(self.lengths, dtype=np.float64), [math.inf]])
        low, high = np.meshgrid(ends[:-1], ends[1:], indexing="ij")
        with np.errstate(invalid="ignore"):
            narrow = (high <= within * low) | np.eye(len(lacks), dtype=bool)
        price = np.where(narrow & (low < high), up[:, None] + down[None, :], math.inf)
        start, stop = np.unravel_index(int(np.argmin(price)), price.shape)
        # What is sooner shown comes first.
        ask_above = up[start] > 0 and (down[stop] <= 0 or up[start] <= down[stop])
        return int(start) - 1 if ask_above else min(int(stop), len(self.lengths) - 1)
