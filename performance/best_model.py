"""Errors and cost of `fathom analyze best` with known truth: is the best ever called not the best, what is spared.

    python performance/best_model.py [STUDIES]

The second table is of `fathom search-best`: rounds of 20 items, after which models that are beaten are asked no more,
so that what they could still show against others is lost.

Models answer items at three lengths that share an item's luck, in a random order. Looks are after every item. Every two
models are compared as ``fathom.analysis.best`` does, by plain computation. "Spared" are the requests that need not be
sent to a model once another is shown to score more.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from fathom.stats.bets import MONEY, STAKES

ITEMS, LENGTHS, ALPHA, ROUND = 600, 3, 0.05, 20
SETTINGS = {
    "five equal models": (0.7, 0.7, 0.7, 0.7, 0.7),
    "the best leads by 6 points": (0.7, 0.64, 0.64, 0.6, 0.5),
    "the best leads by 12 points": (0.7, 0.58, 0.58, 0.5, 0.4),
}


def drawn(rng: np.random.Generator, shares: tuple[float, ...]) -> list[np.ndarray]:
    """The scores of each model on each item."""
    luck = 0.8 * rng.normal(size=(ITEMS, 1)) + 0.6 * rng.normal(size=(ITEMS, LENGTHS))
    edges = [math.sqrt(1 + 0.4**2) * NormalDist().inv_cdf(share) for share in shares]
    return [(luck + 0.4 * rng.normal(size=luck.shape) < edge).mean(axis=1) for edge in edges]


def money(scores: list[np.ndarray], own: int, other: int) -> np.ndarray:
    """The money of a bettor on the other model after each item."""
    grown: np.ndarray = MONEY @ np.cumprod(1 + np.outer(STAKES, scores[other] - scores[own]), axis=1)
    return grown


def dropped_at(scores: list[np.ndarray]) -> np.ndarray:
    """After how many items each model is dropped in rounds; infinity if never. The last one ends the rounds."""
    size = len(scores)
    most = {
        (own, other): np.maximum.accumulate(money(scores, own, other))
        for own in range(size)
        for other in range(size)
        if own != other
    }
    ends = np.full(size, np.inf)
    for items in range(ROUND, ITEMS + 1, ROUND):
        left = np.flatnonzero(np.isinf(ends))
        if len(left) < 2:
            break
        beaten = [
            own
            for own in left
            if any(
                most[own, other][int(min(items, ends[other])) - 1] >= (size - 1) / ALPHA
                for other in range(size)
                if other != own
            )
        ]
        ends[beaten] = items
    return ends


def excluded_at(scores: list[np.ndarray]) -> np.ndarray:
    """After how many items each model is shown not to be the best; infinity if never."""
    ends = np.full(len(scores), np.inf)
    for own in range(len(scores)):
        for other in range(len(scores)):
            reached = money(scores, own, other) >= (len(scores) - 1) / ALPHA
            if own != other and reached.any():
                ends[own] = min(ends[own], float(np.argmax(reached)) + 1)
    return ends


def main(studies: int = 1000) -> None:
    """Print the table."""
    for look, ends_of in (("every item", excluded_at), (f"rounds of {ROUND}", dropped_at)):
        table(look, ends_of, studies)


def table(look: str, ends_of: Callable[[list[np.ndarray]], np.ndarray], studies: int) -> None:
    """Print a table of studies."""
    rng = np.random.default_rng(45)
    print(f"\n{studies:,} studies of {ITEMS} items, {look}:\n")
    print("| | a best one is ever out | some | one left | items to it | spared |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, shares in SETTINGS.items():
        ends = np.array([ends_of(drawn(rng, shares)) for _ in range(studies)])
        out = np.isfinite(ends[:, np.array(shares) == max(shares)])
        last = np.sort(ends, axis=1)[:, -2]  # all but one are out
        spared = 1 - np.minimum(ends, np.minimum(last, ITEMS)[:, None]).mean() / ITEMS
        median = np.median(last)
        cells = [
            f"{100 * out.mean():.1f}%",
            f"{100 * out.any(axis=1).mean():.1f}%",
            f"{100 * np.isfinite(last).mean():.0f}%",
            f"{median:,.0f}" if np.isfinite(median) else "more",
            f"{100 * spared:.0f}%",
        ]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
