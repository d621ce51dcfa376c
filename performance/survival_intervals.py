"""How often do the intervals of `fathom analyze survival`, and its ranks, hold? Simulated facts with known truth.

    python performance/survival_intervals.py shares [RUNS]    # shares of facts, as at one age or of one kind
    python performance/survival_intervals.py kept [RUNS]      # the share that each compaction keeps
    python performance/survival_intervals.py ranks [RUNS]     # five ways to compact, asked for the same facts

Each conversation has luck of its own: its facts are right with a probability from a beta distribution around the truth,
whose correlation between facts of one conversation is named. The functions are those of
the study, with 2,000 replicates.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from fathom.analysis.questions import Means
from fathom.analysis.ranking import ranking_of_questions
from fathom.analysis.survival import share_kept
from fathom.stats.intervals import Clusters, Interval, interval_at, kept_draws, resampled_means

SIZES = (20, 50, 100, 300)
SHARES, FACTS, CORRELATIONS = (0.02, 0.5, 0.98), 6, (0.0, 0.3)
KEPT, MOST, FRESH, LUCK = (0.05, 0.5, 0.8, 0.95, 0.995), (1, 3, 7, 20), 0.9, 0.1
WAYS = {
    "five equal ways": (0.5, 0.5, 0.5, 0.5, 0.5),
    "five equal ways, near 1": (0.98, 0.98, 0.98, 0.98, 0.98),
    "five equal ways, near 0": (0.03, 0.03, 0.03, 0.03, 0.03),
    "two equal pairs and one": (0.8, 0.8, 0.5, 0.5, 0.2),
    "steps of 10 points": (0.9, 0.8, 0.7, 0.6, 0.5),
}
TINY, REPLICATES, BLOCK = 1e-9, 2000, 250


def lucky(rng: np.random.Generator, share: float, correlation: float, size: tuple[int, ...]) -> np.ndarray:
    """Probabilities around a share; ones and zeros drawn with one of them have this correlation."""
    if correlation == 0:
        return np.full(size, share)
    total = 1 / correlation - 1
    return rng.beta(share * total, (1 - share) * total, size)


def rate(hits: Sequence[bool]) -> str:
    """A share of runs, in percent."""
    return f"{100 * float(np.mean(hits)):.1f}"


def holds(interval: Interval, truth: float) -> bool:
    """Whether an interval includes the truth."""
    return interval.low - TINY <= truth <= interval.high + TINY


def shares(runs: int) -> None:
    """Shares of facts: conversations with as many facts in the group, or with one to six."""
    print("| share right | correlation | facts of a conversation |", *(f" {size} |" for size in SIZES))
    for share in SHARES:
        for correlation in CORRELATIONS:
            for uneven in (False, True):
                cells = [rate(share_hits(size, share, correlation, uneven, runs)) for size in SIZES]
                facts = f"1 to {FACTS}" if uneven else str(FACTS)
                print(f"| {share:.0%} | {correlation} | {facts} | {' | '.join(cells)} |", flush=True)


def share_hits(size: int, share: float, correlation: float, uneven: bool, runs: int) -> list[bool]:
    """In each run, whether the interval of the share includes it. Runs are columns that are resampled together."""
    rng, hits = np.random.default_rng([45, size, round(1000 * share), round(10 * correlation), uneven]), []
    with kept_draws():
        for start in range(0, runs, BLOCK):
            shape = (size, min(BLOCK, runs - start))
            counts = rng.integers(1, FACTS + 1, shape) if uneven else np.full(shape, FACTS)
            right = rng.binomial(counts, lucky(rng, share, correlation, shape))
            clusters = Clusters(right.astype(float), counts.astype(float))
            draws = resampled_means(clusters, 0, replicates=REPLICATES)
            for column, mean in enumerate(clusters.means.tolist()):
                hits.append(holds(interval_at(clusters, draws, column, mean), share))
    return hits


def kept(runs: int) -> None:
    """The share that each compaction keeps, with luck of the conversation."""
    print("| kept | compactions up to |", *(f" {size} |" for size in SIZES), *(f" width {size} |" for size in SIZES))
    for share in KEPT:
        for most in MOST:
            cells = [kept_hits(size, share, most, runs) for size in SIZES]
            columns = [rate(hits) if hits else "" for hits, _ in cells] + [f"{width:.3f}" for _, width in cells]
            print(f"| {share} | {most} | {' | '.join(columns)} |", flush=True)


def kept_hits(size: int, share: float, most: int, runs: int) -> tuple[list[bool], float]:
    """In each run with an interval, whether it includes the truth; and the mean width of the intervals."""
    rng, hits, widths = np.random.default_rng([46, size, round(1000 * share), most]), [], []
    numbers = np.round(np.linspace(0, most, min(most + 1, 8))).astype(np.int64)
    facts = np.tile(numbers, 2 if most == 1 else 1)
    groups = [f"{conversation:04}" for conversation in np.repeat(np.arange(size), len(facts))]
    truth = true_share(share, facts)
    with kept_draws():
        for _ in range(runs):
            own = lucky(rng, share, LUCK, (size, 1))
            scores = (rng.random((size, len(facts))) < FRESH * own**facts).astype(float)
            _, interval = share_kept(scores.ravel(), np.tile(facts, size), groups, replicates=REPLICATES)
            if interval is not None:
                hits.append(holds(interval, truth))
                widths.append(interval.high - interval.low)
    return hits, float(np.mean(widths)) if widths else float("nan")


def true_share(share: float, facts: np.ndarray) -> float:
    """The share at which a geometric decline has the expected sum, when the shares of conversations differ."""
    own = lucky(np.random.default_rng(0), share, LUCK, (400_000, 1))
    later = facts[facts > 0]
    wanted, low, high = float((own**later).mean(axis=0).sum()), 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float((middle**later).sum()) < wanted else (low, middle)
    return low


def ranks(runs: int) -> None:
    """Five ways that are asked for the same facts, which are easier or harder for all of them."""
    print("| ways | conversations | some range is wrong | some difference is outside | best is first | mean width |")
    for name, truth in WAYS.items():
        for size in SIZES:
            wrong, outside, first, widths = zip(*rankings(truth, size, runs), strict=True)
            cells = [rate(wrong), rate(outside), "" if truth[0] == truth[1] else rate(first), f"{np.mean(widths):.1f}"]
            print(f"| {name} | {size} | {' | '.join(cells)} |", flush=True)


def rankings(truth: Sequence[float], size: int, runs: int) -> list[tuple[bool, bool, bool, float]]:
    """In each run: a wrong range, a wrong interval of a difference, the best way first, the mean width of ranges."""
    rng = np.random.default_rng([47, size, round(100 * truth[0]), round(100 * truth[-1])])
    names = tuple(f"{conversation:04}/{fact}" for conversation in range(size) for fact in range(FACTS))
    groups = tuple(name.split("/")[0] for name in names)
    score_of = {str(way): score for way, score in enumerate(truth)}
    results = []
    with kept_draws():
        for _ in range(runs):
            luck = shared_luck(rng, size)
            means = [(own < score).astype(float).ravel() for own, score in zip(luck, truth, strict=True)]
            models = [Means("m", way, names, groups, each, None) for way, each in zip(score_of, means, strict=True)]
            ranked = ranking_of_questions(models, replicates=REPLICATES)
            order = [score_of[place.variant] for place in ranked]
            wrong = any(
                place.best > 1 + sum(other > own for other in order)
                or place.worst < len(order) - sum(other < own for other in order)
                for place, own in zip(ranked, order, strict=True)
            )
            outside = any(
                bounds is not None and not holds(bounds, own - order[0])
                for place, own in zip(ranked[1:], order[1:], strict=True)
                for bounds in place.bounds[:1]
            )
            width = float(np.mean([place.worst - place.best + 1 for place in ranked]))
            results.append((wrong, outside, order[0] == truth[0], width))
    return results


def shared_luck(rng: np.random.Generator, size: int) -> np.ndarray:
    """Uniform numbers, ways x conversations x facts; thirds are of the conversation, of the fact, of the way alone."""
    normal = rng.normal(size=(1, size, 1)) + rng.normal(size=(1, size, FACTS)) + rng.normal(size=(5, size, FACTS))
    return uniform(normal / np.sqrt(3))


def uniform(normal: np.ndarray) -> np.ndarray:
    """The normal distribution's function, from a table."""
    grid = np.linspace(-8, 8, 20_001)
    density = np.exp(-(grid**2) / 2)
    shares: np.ndarray = np.interp(normal, grid, np.cumsum(density) / density.sum())
    return shares


if __name__ == "__main__":
    {"shares": shares, "kept": kept, "ranks": ranks}[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
