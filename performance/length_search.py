"""Effective lengths searched, with known truth: coverage at every look, questions and tokens beside a grid.

    python performance/length_search.py [STUDIES] [--within RATIO ...] [--curves NUMBER ...] [--no-grid]

Lengths from 1k to 128k, four to an octave; the true length is anywhere from 2k to 64k, off the grid. The grid asks so
many questions at every length that the 95% interval of a report (``fathom.analysis.effective.reach``, one look) is as
narrow in 80% of studies; of grids with four, two and one length to an octave it is the cheapest. "To twice the length"
is the grid of somebody who knows where to end it.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np

from fathom.analysis.effective import RULER_THRESHOLD, reach
from fathom.stats.length_search import LengthSearch

LENGTHS = [round(1024 * 2 ** (step / 4)) for step in range(29)]
MOST = 800
GRID_STUDIES, GRID_MOST, DRAWS = 60, 512, 200


@dataclass(frozen=True)
class Curve:
    """A falling curve: its scores, and whether they are right or wrong or graded."""

    name: str
    kind: str
    graded: bool = False

    def means(self, crossing: float) -> np.ndarray:
        """True scores at the lengths; they reach the threshold up to the crossing."""
        at = np.array(LENGTHS, dtype=float)
        if self.kind == "window":
            return np.where(at <= crossing, 0.98, 0.02)
        if self.kind == "cut":  # the start of a prompt remains, and its share of the needles
            return np.minimum(1.0, RULER_THRESHOLD * crossing / at)
        top, bottom, width = (0.98, 0.1, 0.25) if self.kind == "octave" else (0.95, 0.3, 0.6)
        share = (RULER_THRESHOLD - bottom) / (top - bottom)
        middle = math.log2(crossing) + width * math.log(share / (1 - share))
        return np.asarray(bottom + (top - bottom) / (1 + np.exp((np.log2(at) - middle) / width)))


CURVES = (
    Curve("window, then nothing", "window"),
    Curve("prompts cut at a window", "cut"),
    Curve("falls within an octave", "octave"),
    Curve("falls within an octave, graded", "octave", graded=True),
    Curve("falls slowly", "slow"),
)


def drawn(rng: np.random.Generator, mean: float, count: int, *, graded: bool) -> np.ndarray:
    """Scores of a mean."""
    return rng.beta(4 * mean, 4 * (1 - mean), count) if graded else (rng.random(count) < mean).astype(float)


def searched(rng: np.random.Generator, curve: Curve, within: float) -> tuple[float, ...]:
    """Questions, tokens by the true length, whether the truth was ever excluded, whether it ended, error in octaves."""
    crossing = 1024 * 2 ** rng.uniform(1, 6)
    means = curve.means(crossing)
    search, truth = LengthSearch(LENGTHS, RULER_THRESHOLD), int((means >= RULER_THRESHOLD).sum())
    asked = tokens = 0
    while asked < MOST and not search.is_within(within) and search.falling:
        place = search.next_length(within)
        for score in drawn(rng, means[place], 4, graded=curve.graded):
            search.add(place, float(score))
        asked, tokens = asked + 4, tokens + 4 * LENGTHS[place]
    missed = search.money[truth] >= math.log(20)
    return asked, tokens / crossing, missed, search.is_within(within), abs(math.log2(search.estimate / crossing))


def grid_items(rng: np.random.Generator, curve: Curve, within: float, lengths: np.ndarray) -> int:
    """Questions at each length with which a report's interval is as narrow in 80% of studies; 0 for too many."""
    places = [LENGTHS.index(length) for length in lengths.tolist()]

    def enough(items: int) -> bool:
        narrow = 0
        for _ in range(GRID_STUDIES):
            means = curve.means(1024 * 2 ** rng.uniform(1, 6))[places]
            scores = np.array([drawn(rng, mean, items, graded=curve.graded) for mean in means])
            if curve.graded:  # the Bayesian bootstrap, with half an item at each end of the scale
                weights, ends = rng.gamma(1.0, size=(DRAWS, *scores.shape)), rng.gamma(0.5, size=(2, DRAWS, len(means)))
                draws = ((weights * scores).sum(axis=2) + ends[0]) / (weights.sum(axis=2) + ends.sum(axis=0))
            else:  # the same, exactly
                right = scores.sum(axis=1)
                draws = rng.beta(right + 0.5, items - right + 0.5, (DRAWS, len(means)))
            curves = scores.mean(axis=1)[None], draws
            found = reach(lengths, curves, (RULER_THRESHOLD, np.full(DRAWS, RULER_THRESHOLD)), interpolated=False)
            narrow += found.interval.high <= within * found.interval.low
        return narrow >= 0.8 * GRID_STUDIES

    low, high = 4, 8
    while not enough(high):
        low, high = high, 2 * high
        if high > GRID_MOST:
            return 0
    while high > 1.1 * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def cheapest_grid(rng: np.random.Generator, curve: Curve, within: float) -> tuple[str, float, float]:
    """The grid with the fewest tokens: its description, and tokens by the true length, all and to twice the length."""
    crossings = 1024 * 2 ** rng.uniform(1, 6, 2000)
    grids = [("none", math.inf, math.inf)]
    for step in (1, 2, 4):
        lengths = np.array(LENGTHS[::step])
        if 2 ** (step / 4) > within * 1.01:
            continue
        if items := grid_items(rng, curve, within * 1.01, lengths):
            whole = float(np.mean(items * lengths.sum() / crossings))
            known = float(np.mean([items * lengths[lengths <= 2 * c].sum() / c for c in crossings]))
            grids.append((f"{items} at each of {len(lengths)}", whole, known))
    return min(grids, key=lambda grid: grid[2])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", type=int, nargs="?", default=1000)
    parser.add_argument("--within", type=float, nargs="+", default=[1.5, 2.0], help="ratios of the ends of intervals")
    parser.add_argument("--curves", type=int, nargs="+", default=range(len(CURVES)), help="numbers of curves")
    parser.add_argument("--no-grid", action="store_true", help="without the grids, which take most of the time")
    given = parser.parse_args()
    rng = np.random.default_rng(45)
    print(
        f"| {given.studies:,} studies each | within | ended | questions | covered at every look | off by, octaves "
        "| tokens / length | grid | grid to twice the length |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for number in given.curves:
        for within in given.within:
            curve = CURVES[number]
            runs = np.array([searched(rng, curve, within) for _ in range(given.studies)], dtype=float)
            spent = runs[:, 1].mean()
            grids = ["", ""]
            if not given.no_grid:
                words, whole, known = cheapest_grid(rng, curve, within)
                grids = [f"{words}: {whole:,.0f} ({spent / whole:.2f})", f"{known:,.0f} ({spent / known:.2f})"]
            cells = [
                f"{within:g}", f"{100 * runs[:, 3].mean():.0f}%", f"{runs[:, 0].mean():,.0f}",
                f"{100 - 100 * runs[:, 2].mean():.1f}%", f"{np.median(runs[:, 4]):.2f}", f"{spent:,.0f}", *grids,
            ]  # fmt: skip
            print(f"| {curve.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
