"""How often do the intervals hold the truth? Simulated replies with a known truth, 95% intervals.

    python performance/coverage.py [--simulations 1000]

Three tables: the mean of one task and of several (our engine beside the plain percentile bootstrap), LongScore, and
effective context length under the three definitions (with the candidates for the fitted curve of ``half_base``).
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from fathom.analysis import effective_length, longscore
from fathom.analysis.effective import falling_fit
from fathom.rows import to_frame
from fathom.stats.intervals import Floats, interval_of, resampled_means
from fathom.types import Row

LENGTHS = (2048, 4096, 6144, 8192, 16384, 32768, 65536, 131072)
Draw = Callable[[np.random.Generator, int], Floats]
Truth = Callable[[Floats], Floats]

SCORES: dict[str, tuple[float, Draw]] = {
    "0/1, p = 0.50": (0.5, lambda rng, n: (rng.random(n) < 0.5).astype(np.float64)),
    "0/1, p = 0.80": (0.8, lambda rng, n: (rng.random(n) < 0.8).astype(np.float64)),
    "0/1, p = 0.95": (0.95, lambda rng, n: (rng.random(n) < 0.95).astype(np.float64)),
    "0/1, p = 0.99": (0.99, lambda rng, n: (rng.random(n) < 0.99).astype(np.float64)),
    "beta(2, 2)": (0.5, lambda rng, n: rng.beta(2, 2, n)),
    "beta(.3, .3)": (0.5, lambda rng, n: rng.beta(0.3, 0.3, n)),
    "beta(9, 1)": (0.9, lambda rng, n: rng.beta(9, 1, n)),
    "beta(.5, 3)": (1 / 7, lambda rng, n: rng.beta(0.5, 3, n)),
}


def logistic(middle: float, slope: float) -> Truth:
    return lambda lengths: 1 / (1 + np.exp(slope * (np.log2(lengths) - math.log2(middle))))


CURVES: dict[str, Truth] = {
    "window of 8k, prompt cut in the middle": lambda lengths: np.minimum(1.0, 8192 / lengths),
    "window of 8k, nothing beyond": lambda lengths: np.where(lengths <= 8192, 0.97, 0.02),
    "logistic around 24k": logistic(24_000, 1.5),
    "logistic around 12k, gentle": logistic(12_000, 0.8),
    "a line in log length": lambda lengths: np.clip(1 - 0.12 * (np.log2(lengths) - 11), 0, 1),
}


def simulated_rows(truth: Truth, items: int, rng: np.random.Generator, spread: float = 0.0) -> pl.DataFrame:
    """Rows of one task; ``spread`` makes some items easier than others at all lengths."""
    chances = truth(np.array(LENGTHS, dtype=np.float64))
    ease = rng.normal(0, spread, items)
    rows = []
    for item, (place, length) in itertools.product(range(items), enumerate(LENGTHS)):
        right = rng.random() < min(1.0, max(0.0, chances[place] + ease[item] * chances[place] * (1 - chances[place])))
        name = f"task/{item}"
        rows.append(Row("simulated", "task", name, f"{name}@{length}", "model", length, float(right), chance=0.0))
    return to_frame(rows)


def held(draws: Floats, truth: float, point: float) -> bool:
    found = interval_of(draws, point)
    return found.low <= truth <= found.high


def percentile_draws(scores: Floats, rng: np.random.Generator, replicates: int) -> Floats:
    draws: Floats = (
        rng.multinomial(len(scores), np.full(len(scores), 1 / len(scores)), replicates) @ scores / len(scores)
    )
    return draws


def print_means(simulations: int, rng: np.random.Generator, replicates: int = 1000) -> None:
    print("\nMean: share of 95% intervals that hold it (width)")
    print(f"{'scores':16} {'items':>5} {'tasks':>5}   {'percentile':>16}   {'ours':>16}")
    for (name, (truth, draw)), (items, tasks) in itertools.product(
        SCORES.items(), ((10, 1), (20, 1), (50, 1), (200, 1), (10, 4), (20, 8))
    ):
        holds, widths = np.zeros(2), np.zeros(2)
        for _ in range(simulations):
            scores = [draw(rng, items) for _ in range(tasks)]
            point = float(np.mean([part.mean() for part in scores]))
            plain = np.mean([percentile_draws(part, rng, replicates) for part in scores], axis=0)
            ours = np.mean(
                [resampled_means(part[:, None], rng, replicates=replicates, prior=1 / tasks) for part in scores], axis=0
            )[:, 0]
            for which, draws in enumerate((plain, ours)):
                found = interval_of(draws, point)
                holds[which] += found.low <= truth <= found.high
                widths[which] += found.high - found.low
        cells = [
            f"{hold / simulations:7.3f} ({width / simulations:.3f})" for hold, width in zip(holds, widths, strict=True)
        ]
        print(f"{name:16} {items:5} {tasks:5}   {cells[0]:>16}   {cells[1]:>16}")


def print_longscore(simulations: int, rng: np.random.Generator, items: Sequence[int] = (20, 50)) -> None:
    print("\nLongScore: share of 95% intervals that hold it, over the lengths beyond the base, and for their mean")
    for (name, truth), count in itertools.product(CURVES.items(), items):
        real = truth(np.array(LENGTHS, dtype=np.float64))
        base = real[:3].mean()
        wanted = real[3:] / base - 1
        each, mean = [], []
        for seed in range(simulations):
            found = longscore(simulated_rows(truth, count, rng), seed=seed)[0]
            for point, right in zip(found.points, wanted, strict=True):
                if point.interval is not None:
                    each.append(point.interval.low <= right <= point.interval.high)
            if found.average_interval is not None:
                mean.append(found.average_interval.low <= wanted.mean() <= found.average_interval.high)
        print(f"{name:42} {count:4} items   {np.mean(each):.3f}   {np.mean(mean):.3f}")


def true_lengths(truth: Truth) -> dict[str, float]:
    """Where the true curve first falls below each threshold (base: its true mean at 2k, 4k, 6k), on a fine grid."""
    grid = np.geomspace(LENGTHS[0], LENGTHS[-1], 200_001)
    grid = np.sort(np.concatenate([grid, np.array(LENGTHS, dtype=np.float64)]))
    values = truth(grid)
    base = float(truth(np.array(LENGTHS[:3], dtype=np.float64)).mean())
    found = {}
    for name, threshold in (("ruler", 0.856), ("own_base", 0.85 * base), ("half_base", 0.5 * base)):
        failing = values < threshold - 1e-12
        first = int(failing.argmax())
        found[name] = float(grid[first - 1]) if failing.any() and first else 0.0 if failing.any() else math.inf
    return found


def crossing(curve: Floats, half: float) -> float:
    """Where a falling curve, straight in log length, meets ``half``."""
    below = np.flatnonzero(curve < half)
    if not len(below):
        return math.inf
    if below[0] == 0:
        return 0.0
    after = below[0]
    share = (curve[after - 1] - half) / (curve[after - 1] - curve[after])
    return float(LENGTHS[after - 1] * (LENGTHS[after] / LENGTHS[after - 1]) ** share)


def logistic_crossings(curves: Floats, bases: Floats) -> Floats:
    """Half-base lengths of the nearest curves ``base / (1 + exp(slope (log2 L - middle)))``, by search over a grid."""
    logs = np.log2(np.array(LENGTHS))
    middles, slopes = (part.ravel() for part in np.meshgrid(np.linspace(9, 20, 89), np.geomspace(0.2, 8, 24)))
    shapes = 1 / (1 + np.exp(np.clip(slopes[:, None] * (logs - middles[:, None]), -50, 50)))
    # |y - b f|^2 without |y|^2, which is the same for every candidate.
    misfit = bases[:, None] ** 2 * (shapes**2).sum(axis=1) - 2 * bases[:, None] * (curves @ shapes.T)
    found: Floats = 2 ** middles[misfit.argmin(axis=1)]
    return found


def print_effective(simulations: int, rng: np.random.Generator, items: int = 50) -> None:
    print(f"\nEffective length, {items} items: share of intervals that hold the truth")
    print("half_base candidates: interval of the fit's own crossing (median error of the point, octaves)")
    print(f"{'truth':40} {'ruler':>6} {'own':>6} {'half':>6}   {'isotonic':>14} {'logistic':>14}")
    for name, truth in CURVES.items():
        real = true_lengths(truth)
        holds = dict.fromkeys(real, 0)
        fits, errors = np.zeros(2), np.zeros((simulations, 2))
        for seed in range(simulations):
            rows = simulated_rows(truth, items, rng, spread=0.5)
            for found in effective_length(rows, seed=seed)[:3]:
                if found.interval is not None:
                    holds[found.definition] += found.interval.low <= real[found.definition] <= found.interval.high
            scores = rows["value"].to_numpy().reshape(items, len(LENGTHS))
            means = np.concatenate([scores.mean(axis=0)[None], resampled_means(scores, rng, replicates=500)])
            bases = means[:, :3].mean(axis=1)
            fitted = falling_fit(means, np.ones(len(LENGTHS)))
            isotonic = np.array([crossing(curve, half) for curve, half in zip(fitted, bases / 2, strict=True)])
            for which, lengths in enumerate((isotonic, logistic_crossings(means, bases))):
                low, high = np.quantile(lengths[1:], [0.025, 0.975], method="nearest")
                fits[which] += low <= real["half_base"] <= high
                errors[seed, which] = abs(math.log2(min(max(lengths[0], 1), 2**20) / real["half_base"]))
        shares = [f"{holds[definition] / simulations:6.3f}" for definition in real]
        candidates = [f"{fits[which] / simulations:6.3f} ({np.median(errors[:, which]):.2f})" for which in range(2)]
        print(f"{name:40} {' '.join(shares)}   {candidates[0]:>14} {candidates[1]:>14}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000, help="simulations a cell")
    simulations = parser.parse_args().simulations
    print_means(simulations, np.random.default_rng([0, 1]))
    print_longscore(max(simulations // 2, 1), np.random.default_rng([0, 2]))
    print_effective(max(simulations // 5, 1), np.random.default_rng([0, 3]))


if __name__ == "__main__":
    main()
