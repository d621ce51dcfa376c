"""How often do intervals of agreement contain the truth? Simulated ratings with a known truth, 95% intervals.

    python performance/agreement.py [--simulations 1000]

Every item has a true value; each rater sees it with a given probability and otherwise guesses like the whole. The truth
of a measure is its value on 400,000 such items. Ours is compared with the percentile bootstrap over items.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from fathom.stats.agreement import Measure, Scale, agreement, fleiss_kappa, krippendorff_alpha
from fathom.stats.intervals import Floats

SHARES = {
    "even": (1 / 3, 1 / 3, 1 / 3),
    "uneven": (0.2, 0.3, 0.5),
    "rare": (0.02, 0.03, 0.95),
}

STUDIES: tuple[tuple[Measure, Scale, int, float, float, str], ...] = (
    ("kappa", "nominal", 3, 0.0, 0.85, "uneven"),
    ("kappa", "nominal", 3, 0.0, 0.95, "rare"),
    ("alpha", "nominal", 2, 0.0, 0.7, "even"),
    ("alpha", "nominal", 3, 0.3, 0.85, "uneven"),
    ("alpha", "ordinal", 3, 0.0, 0.7, "uneven"),
    ("alpha", "ordinal", 3, 0.3, 0.95, "uneven"),
    ("alpha", "interval", 3, 0.0, 0.95, "uneven"),
    ("alpha", "interval", 3, 0.3, 0.95, "rare"),
)


def studied(rng: np.random.Generator, items: int, raters: int, seen: float, shares: str, missing: float) -> Floats:
    values, weights = np.array([1.0, 2.0, 3.0]), SHARES[shares]
    truth = rng.choice(values, (items, 1), p=weights)
    found = np.where(rng.random((items, raters)) < seen, truth, rng.choice(values, (items, raters), p=weights))
    found[rng.random(found.shape) < missing] = math.nan
    if (np.isnan(found).sum(axis=1) > raters - 2).all():
        return studied(rng, items, raters, seen, shares, missing)
    return found


def value_of(ratings: Floats, measure: Measure, scale: Scale) -> float:
    if ((~np.isnan(ratings)).sum(axis=1) < 2).all():
        return math.nan
    return fleiss_kappa(ratings) if measure == "kappa" else krippendorff_alpha(ratings, scale)


def percentile(ratings: Floats, measure: Measure, scale: Scale, rng: np.random.Generator) -> tuple[float, float]:
    drawn = [value_of(ratings[rng.integers(0, len(ratings), len(ratings))], measure, scale) for _ in range(200)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000)
    simulations = parser.parse_args().simulations
    print("measure  scale    raters  missing  truth  values   items |  ours  width | percentile  width")
    for measure, scale, raters, missing, seen, shares in STUDIES:
        rng = np.random.default_rng(0)
        truth = value_of(studied(rng, 400_000, raters, seen, shares, missing), measure, scale)
        for items in (10, 30, 100, 300):
            inside, width = np.zeros(2), np.zeros(2)
            for _ in range(simulations):
                ratings = studied(rng, items, raters, seen, shares, missing)
                found = agreement(ratings, rng, measure=measure, scale=scale, replicates=500)
                low, high = max(found.interval.low, -1.0), min(found.interval.high, 1.0)
                plain = (low, high) if found.value is None else percentile(ratings, measure, scale, rng)
                for place, (start, end) in enumerate(((low, high), plain)):
                    inside[place] += start <= truth <= end
                    width[place] += end - start
            inside, width = inside / simulations, width / simulations
            print(
                f"{measure:7}  {scale:8} {raters:6}  {missing:7.0%}  {truth:.2f}   {shares:6} {items:6}  | "
                f"{inside[0]:5.1%}   {width[0]:.2f} |     {inside[1]:6.1%}   {width[1]:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
