"""An interval of the score on all items that holds at every look by a theorem, whatever the known models were.

Items are drawn one by one. The probability of each that is left is fixed before the draw: a part goes by weight times
spread, as in ``adaptive``, the rest by weight alone, so that no item is too improbable. Before a reply comes, the score
on all items is guessed: the weighted scores of the items that were asked, and the expected ones of the others
(``abilities``). The reply corrects the guess by its error, times the item's weight over its probability:

    value = guess + weight (score - expected score) / probability

Its mean, given everything before the draw, is the score on all items: the difference estimator (Särndal, Swensson and
Wretman 1992), one draw at a time. Known models that mislead only make it vary more. Two bettors bet on these values,
one that the score is higher than a number, one that it is lower (``fathom.stats.bets``; Waudby-Smith and Ramdas 2024):
numbers against which one of them has ever multiplied his money by 2 / .05 are excluded. Stakes follow from earlier
values alone, and are so small that no value can take all the money.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.compress.design import Design
from fathom.compress.matrix import Floats
from fathom.compress.sampling import inclusion
from fathom.stats.intervals import LEVEL, Interval

BY_SHARE = 0.6
"""Share of an item's probability that goes by its weight alone."""
_PLANS = ((1, 0.6), (2, 0.25), (5, 0.15))  # distances that are bet on, in wanted half-widths, and the money on each
_BEFORE, _SQUARE = 10, 0.06  # values with this variance around 1/2 that are believed before the first
_MOST = 0.98  # of the stake that could lose everything
_HALVINGS = 30
_NONE = 1e-12


@dataclass(frozen=True)
class Drawn:
    """What is known of the draws so far.

    Attributes:
        values: The value of each draw, shape (n,).
        least: The lowest that each could have been, whatever was drawn and scored, shape (n,).
        most: The highest.
        asked: Weighted scores of the items that were asked.
        left: Weight of the others.
    """

    values: Floats
    least: Floats
    most: Floats
    asked: float
    left: float


NOTHING = Drawn(np.zeros(0), np.zeros(0), np.zeros(0), 0.0, 1.0)


def draw_singly(
    design: Design,
    asked: NDArray[np.int64],
    chances: Floats,
    spread: Floats,
    count: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Draw items one by one.

    Args:
        design: The benchmark.
        asked: Numbers of the m items asked so far.
        chances: Their inverse weights (``adaptive.Progress.chances``).
        spread: Spread of the model's score on each item, shape (N,).
        count: Number of items to draw; fewer if no more are left.

    Returns:
        Their numbers in the order of the draws, the probability of each draw, and the inverse weights of all items:
        each draw is a round of ``adaptive.next_items``.
    """
    whole, unseen = len(spread), np.ones(len(spread), dtype=bool)
    unseen[asked] = False
    items, drawn = list[int](), list[float]()
    for _ in range(min(count, int(unseen.sum()))):
        probabilities = _probabilities(design, spread, unseen)
        item = int(rng.choice(whole, p=probabilities))
        share = whole / ((whole - unseen.sum() + 1) * unseen.sum())
        chances = np.append(1 / ((1 - share) / chances + share), min(1.0, probabilities[item] / share))
        items.append(item)
        drawn.append(float(probabilities[item]))
        unseen[item] = False
    return np.array(items, dtype=np.int64), np.array(drawn), np.minimum(chances, 1.0)


def after(
    before: Drawn,
    design: Design,
    asked: NDArray[np.int64],
    items: NDArray[np.int64],
    *,
    scores: Floats,
    expected: Floats,
    spread: Floats,
) -> Drawn:
    """What is known after a round.

    Args:
        before: What was known before it.
        design: The benchmark.
        asked: Numbers of the items asked before.
        items: Numbers of the items of the round, in the order of the draws.
        scores: Scores on them, in [0, 1].
        expected: Expected score on every item, from earlier rounds alone, shape (N,).
        spread: As it was for the draws, shape (N,).
    """
    unseen = np.ones(len(expected), dtype=bool)
    unseen[asked] = False
    values, least, most, known, left = [], [], [], before.asked, before.left
    for item, score in zip(items.tolist(), scores.tolist(), strict=True):
        own = np.where(unseen, design.targets.shares[0], 0.0)
        probabilities = _probabilities(design, spread, unseen)
        heavy = np.divide(own, probabilities, out=np.zeros_like(own), where=unseen)
        guess = known + float(own @ expected)
        values.append(guess + float(heavy[item]) * (score - float(expected[item])))
        least.append(guess - float((heavy * expected).max()))
        most.append(guess + float((heavy * (1 - expected)).max()))
        unseen[item] = False
        known += float(own[item]) * score
        left -= float(own[item])
    return Drawn(
        np.append(before.values, values), np.append(before.least, least), np.append(before.most, most),
        known, max(0.0, left),
    )  # fmt: skip


def interval_of(drawn: Drawn, width: float, level: float = LEVEL) -> Interval:
    """The interval that holds at this and all earlier looks together.

    Args:
        drawn: What is known of the draws.
        width: The half-width that is wanted in the end, for which the bets are best; the same at all looks.
        level: Probability with which the score is in the intervals of all looks.
    """
    # A value that could only be one number says nothing by chance: nobody bets on it.
    varies = drawn.most - drawn.least > _NONE
    low = _lowest(drawn.values, drawn.least, varies, width, level)
    high = 1 - _lowest(1 - drawn.values, 1 - drawn.most, varies, width, level)
    # What is left can add nothing, or all of its weight.
    return Interval(max(low, drawn.asked), min(high, drawn.asked + drawn.left))


def _lowest(values: Floats, least: Floats, varies: NDArray[np.bool_], width: float, level: float) -> float:
    """The lowest score that a bettor on a higher one has never excluded."""
    before = np.arange(len(values))
    means = (np.cumsum(values) - values + _BEFORE / 2) / (before + _BEFORE)
    squares = (values - means) ** 2
    variances = (np.cumsum(squares) - squares + _BEFORE * _SQUARE) / (before + _BEFORE)
    distances, money = np.array(_PLANS).T * np.array([[width], [1.0]])
    most = _MOST / np.maximum(1 - least, _NONE)
    stakes = np.where(varies, np.minimum(most, distances[:, None] / (variances + distances[:, None] ** 2)), 0.0)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        grown = np.cumsum(np.log1p(stakes * (values - middle)), axis=1) + np.log(money)[:, None]
        if len(values) and np.logaddexp.reduce(grown, axis=0).max() >= math.log(2 / (1 - level)):
            low = middle
        else:
            high = middle
    return low


def _probabilities(design: Design, spread: Floats, unseen: NDArray[np.bool_]) -> Floats:
    """The probability of each item at the next draw, 0 for those that were drawn, shape (N,)."""
    own = np.where(unseen, design.targets.shares[0], 0.0)
    if not own.any():  # only items without weight are left
        own = unseen / unseen.sum()
    sized = own * spread
    sizes = (1 - BY_SHARE) * sized / sized.sum() + BY_SHARE * own / own.sum()
    count, whole = int(unseen.sum()), len(spread)
    # None is so probable that its weight in the average of all rounds would be below 1.
    chances = np.zeros(whole)
    chances[unseen] = inclusion(sizes[unseen], count * (whole - count + 1) / whole)
    drawn: Floats = chances / chances.sum()
    return drawn
