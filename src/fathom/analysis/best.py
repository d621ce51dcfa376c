"""Which of these models is the best, with a stated error, at any look while replies come.

Every two models are compared by bets on their items in a random order (``fathom.analysis.sequential``). A model is out
as soon as another one is shown to score more, at level alpha divided by the number of others: a best one is ever out
with a probability of at most alpha, whenever one looks (of several that are equally good, each). Ranks are ranges from
the differences that are significant by Holm's correction over all pairs in both directions; they hold for all models
together.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import polars as pl

from fathom.analysis.gate import Claim
from fathom.analysis.sequential import overall_claim
from fathom.stats.intervals import Interval
from fathom.stats.ranks import holm
from fathom.types import FathomError


@dataclass(frozen=True, slots=True)
class BestCandidate:
    """Whether a model may be the best.

    Attributes:
        may_be_best: Whether no other is shown to score more: a pair of which each was shown to score more at some
            moment contradicts itself, and shows nothing.
        p_value: Smallest p-value of another that scores more, times the number of others, at most 1.
        best: Best rank of its range, from 1.
        worst: Worst rank of its range.
        difference: Its mean minus that of the first of the list, over the items that count; 0 for the first.
        interval: 95% interval of the difference, at any look; of this difference alone.
        items: Items that count: those before the first that lacks a reply of either.
    """

    model: str
    variant: str
    may_be_best: bool
    p_value: float
    best: int
    worst: int
    difference: float
    interval: Interval
    items: int


def best_models(rows: pl.DataFrame, *, alpha: float = 0.05) -> list[BestCandidate]:
    """The models that may be the best, and the others, from the highest score to the lowest.

    Args:
        rows: Rows of two models and variants or more, of the same samples, finished or not.
        alpha: Probability with which a model that is the best may ever be called not the best.

    Raises:
        FathomError: There are fewer than two models, two have no samples in common, or ``alpha`` is not in (0, 1).
    """
    if not 0 < alpha < 1:
        raise FathomError(f"alpha {alpha:g}: expected a fraction above 0 and below 1, for instance 0.05")
    systems = rows.select("model", "variant").unique(maintain_order=True).rows()
    if len(systems) < 2:
        raise FathomError(f"the best of several models is asked for, and there is {len(systems)}")
    sides = [rows.filter(model=model, variant=variant) for model, variant in systems]
    claims: dict[tuple[int, int], Claim] = {}
    for own, other in permutations(range(len(systems)), 2):
        claim = overall_claim(sides[own], sides[other])
        if claim is None:
            names = " and ".join(" ".join(filter(None, systems[place])) for place in (own, other))
            raise FathomError(f"{names} have no samples in common")
        claims[own, other] = claim
    size = len(systems)
    differences = np.zeros((size, size))
    worse = np.ones((size, size))
    for (own, other), claim in claims.items():
        differences[own, other], worse[own, other] = claim.difference, claim.p_worse
    off = ~np.eye(size, dtype=bool)
    adjusted = np.ones((size, size))
    adjusted[off] = holm(worse[off], tests=size * (size - 1))
    # Direction and significance are of the same evidence; a pair that is significant in both says nothing.
    shown = adjusted <= alpha
    shown &= ~shown.T
    best, worst = 1 + shown.sum(axis=1), size - shown.sum(axis=0)
    # Of a pair of which each was shown to score more at some moment, neither is beaten.
    beaten = worse * (size - 1) <= alpha
    beaten &= ~beaten.T
    smallest = np.minimum(worse.min(axis=1) * (size - 1), 1.0)
    order = sorted(range(size), key=lambda place: -differences[place].mean())
    first = order[0]
    nothing = Interval(0.0, 0.0)
    return [
        BestCandidate(
            model=systems[place][0],
            variant=systems[place][1],
            may_be_best=not beaten[place].any(),
            p_value=float(smallest[place]),
            best=int(best[place]),
            worst=int(worst[place]),
            difference=float(differences[place, first]),
            interval=nothing if place == first else claims[place, first].interval,
            items=min(claims[place, other].items for other in range(size) if other != place),
        )
        for place in order
    ]
