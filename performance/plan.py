"""Does a plan keep what it promises? Half-widths that pilots predict beside those that are measured then.

    python performance/plan.py [STUDIES]

Answers are right or wrong at three lengths that share an item's luck; a pilot has 20 items, each asked twice. The
prediction is for 200 items asked once; what is measured is the interval of the average score of a report.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import polars as pl

from fathom.analysis.average import average_scores
from fathom.analysis.plan import Goal, plan_from
from fathom.rows import to_frame
from fathom.types import Row

LENGTHS = (8192, 32768, 131072)
SETTINGS = {"60% right, falling to 30%": (0.6, 0.3), "95% right, falling to 85%": (0.95, 0.85)}


def drawn(rng: np.random.Generator, items: int, repeats: int, ends: tuple[float, float]) -> pl.DataFrame:
    """Rows of a model whose items are easy or hard at all lengths, with some luck of each reply."""
    shares = np.linspace(*ends, len(LENGTHS))
    rows = []
    for item in range(items):
        luck = rng.normal()
        for length, share in zip(LENGTHS, shares, strict=True):
            edge = math.sqrt(1 + 0.5**2 + 0.5**2) * normal_quantile(share)
            here = luck + 0.5 * rng.normal()
            for epoch in range(repeats):
                value = float(here + 0.5 * rng.normal() < edge)
                name = f"item {item}"
                rows.append(Row("s", "task", name, f"{name}@{length}", "m", length, value, epoch=epoch + 1))
    return to_frame(rows)


def normal_quantile(share: float) -> float:
    """The value below which a share of the standard normal distribution lies."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def main(studies: int = 100) -> None:
    """Print the table."""
    rng = np.random.default_rng(45)
    print("| scores | predicted, median | 10% to 90% | measured | items enough | enough to be sure |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, ends in SETTINGS.items():
        predicted, sure = [], []
        for _ in range(studies):
            variance = plan_from(drawn(rng, 20, 2, ends), Goal(half_width=0.05)).variance
            predicted.append(1.96 * math.sqrt(variance.of_item / 200))
            sure.append(1.96 * math.sqrt(variance.upper / 200))
        measured = []
        for _ in range(max(1, studies // 5)):
            score = average_scores(drawn(rng, 200, 1, ends))[0]
            assert score.interval is not None
            measured.append((score.interval.high - score.interval.low) / 2)
        true = float(np.mean(measured))
        shares = [100 * np.mean(np.array(widths) >= true) for widths in (predicted, sure)]
        low, middle, high = np.quantile(predicted, [0.1, 0.5, 0.9])
        print(f"| {name} | {middle:.3f} | {low:.3f} to {high:.3f} | {true:.3f} | {shares[0]:.0f}% | {shares[1]:.0f}% |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
