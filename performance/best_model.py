"""Errors and cost of `fathom analyze best` with known truth: is the best ever called not the best, what is spared.

    python performance/best_model.py [STUDIES]

Models answer items at three lengths that share an item's luck, in a random order. Looks are after every item. Every two
models are compared as ``fathom.analysis.best`` does, by plain computation. "Spared" are the requests that need not be
sent to a model once another is shown to score more.
"""

from __future__ import annotations

import math
import sys
from statistics import NormalDist

import numpy as np

from fathom.stats.bets import MONEY, STAKES

ITEMS, LENGTHS, ALPHA = 600, 3, 0.05
SETTINGS = {
    "five equal models": (0.7, 0.7, 0.7, 0.7, 0.7),
    "the best leads by 6 points": (0.7, 0.64, 0.64, 0.6, 0.5),
    "the best leads by 12 points": (0.7, 0.58, 0.58, 0.5, 0.4),
}


def excluded_at(rng: np.random.Generator, shares: tuple[float, ...]) -> np.ndarray:
    """After how many items each model is shown not to be the best; infinity if never."""
    luck = 0.8 * rng.normal(size=(ITEMS, 1)) + 0.6 * rng.normal(size=(ITEMS, LENGTHS))
    edges = [math.sqrt(1 + 0.4**2) * NormalDist().inv_cdf(share) for share in shares]
    scores = [(luck + 0.4 * rng.normal(size=luck.shape) < edge).mean(axis=1) for edge in edges]
    ends = np.full(len(shares), np.inf)
    for own in range(len(shares)):
        for other in range(len(shares)):
            gains = scores[other] - scores[own]
            money = MONEY @ np.cumprod(1 + np.outer(STAKES, gains), axis=1)
            reached = money >= (len(shares) - 1) / ALPHA
            if own != other and reached.any():
                ends[own] = min(ends[own], float(np.argmax(reached)) + 1)
    return ends


def main(studies: int = 1000) -> None:
    """Print the table."""
    rng = np.random.default_rng(45)
    print(f"| {studies:,} studies of {ITEMS} items | a best one is ever out | some | one left | items to it | spared |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, shares in SETTINGS.items():
        ends = np.array([excluded_at(rng, shares) for _ in range(studies)])
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
