"""How steady are LongScore and the measures beside it? Simulated scores with a known truth.

    python performance/longscore.py [--scores scores.csv] [--simulations 500]

First: how often 95% intervals hold the truth, and the bias of the point. Second: two replications of one study, in
which every score is drawn anew for 100 items, and how well they agree on the order of the models (Spearman's rho, a
measure that is undefined counting as the worst), task by task and over all tasks; also the order against that of the
truth. The true scores of the second part are those of a table (`--scores`), or made up: eight models on four tasks.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fathom.analysis import ScoreCell, ScoreTable, longscore_of, read_scores, score_profiles, steady_of
from fathom.analysis.profile import Profile
from fathom.analysis.steady import doublings
from fathom.stats.intervals import Floats, Interval

ITEMS = 100
LENGTHS = (8192, 16384, 32768, 65536, 131072)

TRUTHS: dict[str, tuple[float, tuple[float, ...]]] = {
    "flat at 0.9": (0.0, (0.9, 0.9, 0.9, 0.9, 0.9, 0.9)),
    "flat at 0.5": (0.0, (0.5, 0.5, 0.5, 0.5, 0.5, 0.5)),
    "flat at 0.1": (0.0, (0.1, 0.1, 0.1, 0.1, 0.1, 0.1)),
    "gentle": (0.0, (0.9, 0.85, 0.8, 0.75, 0.7, 0.6)),
    "steep": (0.0, (0.8, 0.6, 0.4, 0.2, 0.1, 0.03)),
    "cliff": (0.0, (0.9, 0.9, 0.9, 0.02, 0.02, 0.02)),
    "low": (0.0, (0.1, 0.08, 0.06, 0.05, 0.04, 0.03)),
    "towards chance of 0.2": (0.2, (0.6, 0.5, 0.4, 0.3, 0.25, 0.22)),
}

Figure = tuple[float, Interval]


def table_of(scores: Sequence[float], chance: float, model: str = "m", task: str = "t") -> list[ScoreCell]:
    """Cells of one model and task: the base, then the lengths beyond it."""
    lengths = (0, *LENGTHS)
    return [ScoreCell(model, task, length, score, ITEMS, chance) for length, score in zip(lengths, scores, strict=True)]


def drawn(cells: Sequence[ScoreCell], rng: np.random.Generator) -> list[ScoreCell]:
    """The same cells as a study of so many right-or-wrong items would find them."""
    return [replace(cell, score=rng.binomial(cell.items, cell.score) / cell.items) for cell in cells]


def measured(profile: Profile) -> dict[str, Figure]:
    """Every measure of one profile that is defined, with its interval."""
    (ratio,), (steady,) = longscore_of([profile]), steady_of([profile])
    found: dict[str, Figure] = {}
    if ratio.average is not None and ratio.average_interval is not None:
        found["LongScore"] = ratio.average, ratio.average_interval
    for name, one in (("retention", steady.retention), ("log-ratio", steady.log_ratio), ("area", steady.area)):
        if one is not None:
            found[name] = one.value, one.interval
    for name, reached in (("L85", steady.l85), ("L50", steady.l50)):
        if reached is not None:
            found[name] = (
                octaves(reached.tokens),
                Interval(octaves(reached.interval.low), octaves(reached.interval.high)),
            )
    return found


def octaves(tokens: float | None) -> float:
    return math.log2(tokens) if tokens else 0.0


def true_figures(chance: float, scores: Sequence[float]) -> dict[str, float]:
    values = np.array(scores)
    ability, positions = values - chance, np.array([4096.0, *LENGTHS])
    shrunk = np.log(ability + 0.5 / ITEMS)
    return {
        "LongScore": float(values[1:].mean() / values[0] - 1),
        "retention": float(ability[1:].mean() / ability[0]),
        "log-ratio": float((shrunk[1:] - shrunk[0]).mean()),
        "area": float(ability @ doublings(positions) / (1 - chance)),
        "L85": crossing(ability, positions, 0.85),
        "L50": crossing(ability, positions, 0.5),
    }


def crossing(ability: Floats, positions: Floats, share: float) -> float:
    """Octaves at which a falling curve, straight in log length, meets a share of its start; else the last ones."""
    logs, below = np.log2(positions), np.flatnonzero(ability < share * ability[0] - 1e-12)
    if not len(below):
        return float(logs[-1])
    after = below[0]
    part = (ability[after - 1] - share * ability[0]) / (ability[after - 1] - ability[after])
    return float(logs[after - 1] + part * (logs[after] - logs[after - 1]))


def print_coverage(simulations: int, rng: np.random.Generator) -> None:
    names = ("LongScore", "retention", "log-ratio", "area", "L85", "L50")
    print(f"\nShare of 95% intervals that hold the truth (bias of the point; L85 and L50 in octaves), {ITEMS} items")
    print(f"{'truth':22}" + "".join(f"{name:>18}" for name in names))
    for name, (chance, scores) in TRUTHS.items():
        truth = true_figures(chance, scores)
        holds: dict[str, list[bool]] = {measure: [] for measure in names}
        errors: dict[str, list[float]] = {measure: [] for measure in names}
        for seed in range(simulations):
            cells = drawn(table_of(scores, chance), rng)
            profile = score_profiles(ScoreTable(tuple(cells), ""), seed=seed, replicates=1000)[0]
            for measure, (point, interval) in measured(profile).items():
                holds[measure].append(interval.low <= truth[measure] <= interval.high)
                errors[measure].append(point - truth[measure])
        cells_of = [f"{np.mean(holds[measure]):.3f} ({np.mean(errors[measure]):+.3f})" for measure in names]
        print(f"{name:22}" + "".join(f"{cell:>18}" for cell in cells_of))


def made_up(rng: np.random.Generator) -> list[ScoreCell]:
    """Eight models on four tasks: bases from 5% to 95%, of which 20% to 100% are kept at 128k."""
    cells = []
    for model in range(8):
        for task in range(4):
            base, kept = rng.uniform(0.05, 0.95), rng.uniform(0.2, 1.0)
            scores = [base * kept ** (step / 5) for step in range(6)]
            cells += table_of(scores, 0.0, f"model {model}", f"task {task}")
    return cells


def figures(cells: Sequence[ScoreCell]) -> dict[str, dict[str, list[float]]]:
    """By measure and task the figure of each model; minus infinity where it is undefined."""
    ready = score_profiles(ScoreTable(tuple(cells), ""), replicates=200)
    found: dict[str, dict[str, list[float]]] = {}
    for profile in ready:
        every = measured(profile)
        for measure in ("LongScore", "retention", "log-ratio", "area", "L85", "L50"):
            value = every[measure][0] if measure in every else -math.inf
            found.setdefault(measure, {}).setdefault(profile.task, []).append(value)
    return found


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Rank correlation with mean ranks for ties; NaN where one side has no order."""
    from scipy.stats import rankdata

    one, other = rankdata(first), rankdata(second)
    return float(np.corrcoef(one, other)[0, 1]) if one.std() and other.std() else math.nan


def print_stability(cells: Sequence[ScoreCell], simulations: int, rng: np.random.Generator) -> None:
    truth = figures(cells)
    agree: dict[str, tuple[list[float], list[float], list[float]]] = {measure: ([], [], []) for measure in truth}
    for _ in range(simulations):
        first, second = figures(drawn(cells, rng)), figures(drawn(cells, rng))
        for measure, tasks in truth.items():
            between, right, overall = agree[measure]
            one, other = first[measure], second[measure]
            between += [spearman(one[task], other[task]) for task in tasks if task != "all"]
            right += [spearman(one[task], tasks[task]) for task in tasks if task != "all"]
            overall.append(spearman(one["all"], other["all"]))
    print(f"\nOrder of the models in two replications of {ITEMS} items a cell: mean Spearman's rho")
    print(f"{'measure':12} {'task by task':>14} {'with the truth':>15} {'all tasks':>11}")
    for measure, (between, right, overall) in agree.items():
        print(f"{measure:12} {np.nanmean(between):14.3f} {np.nanmean(right):15.3f} {np.nanmean(overall):11.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", type=Path, help="table of scores whose figures are taken for the truth")
    parser.add_argument("--simulations", type=int, default=500, help="simulations a line")
    wanted = parser.parse_args()
    print_coverage(wanted.simulations, np.random.default_rng([0, 1]))
    rng = np.random.default_rng([0, 2])
    cells = read_scores(wanted.scores, items=ITEMS).cells if wanted.scores else made_up(rng)
    print_stability(cells, max(wanted.simulations // 5, 1), rng)


if __name__ == "__main__":
    main()
