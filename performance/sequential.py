"""Errors and speed of the sequential gate with known truth: false alarms at any look, power, items to a decision.

    python performance/sequential.py [STUDIES]

Every study draws items whose difficulty all lengths share, and replies of two models to them that share more of their
luck than two models' do by chance. Looks are after every item, so that what is counted is whether a decision was ever
wrong. The fixed design knows the variance and looks once, with 80% and with 95% power.
"""

from __future__ import annotations

import sys
from statistics import NormalDist

import numpy as np

from fathom.stats.bets import MONEY, STAKES

Z = NormalDist().inv_cdf
LENGTHS = {1: "one length", 5: "five lengths"}
SETTINGS = {  # share right of the baseline at the shortest and the longest length; share of luck the models have alone
    "middling": (0.8, 0.5, 0.4),
    "near the ceiling": (0.97, 0.93, 0.4),
    "two checkpoints that hardly differ": (0.8, 0.5, 0.1),
}


def study(rng: np.random.Generator, items: int, lengths: int, setting: str, loss: float) -> np.ndarray:
    """Candidate minus baseline of each item, averaged over its lengths."""
    easy, hard, own = SETTINGS[setting]
    right = np.linspace(easy, hard, lengths)
    cut = np.array([NormalDist().inv_cdf(share) for share in right]) * np.sqrt(1 + own**2)
    lower = np.array([NormalDist().inv_cdf(max(1e-9, share - loss)) for share in right]) * np.sqrt(1 + own**2)
    shared = 0.8 * rng.normal(size=(items, 1)) + 0.6 * rng.normal(size=(items, lengths))
    baseline, candidate = (shared + own * rng.normal(size=(items, lengths)) < edge for edge in (cut, lower))
    differences: np.ndarray = (candidate.astype(float) - baseline).mean(axis=1)
    return differences


def money(values: np.ndarray, bound: float, planned: float) -> np.ndarray:
    """The bettor's money after each item, by plain multiplication: half of it on the stake for what is planned."""
    fixed: np.ndarray = MONEY @ np.cumprod(1 + np.outer(STAKES / (1 + bound), values - bound), axis=1)
    squares = np.concatenate([[0.0], np.cumsum((values - bound) ** 2)[:-1]])
    stakes = 0.75 * planned * (np.arange(len(values)) + 1) / (squares + 0.25)
    return (fixed + np.cumprod(1 + np.minimum(stakes, STAKES[-1] / (1 + bound)) * (values - bound))) / 2


def first(reached: np.ndarray) -> float:
    """The number of items at which something was first reached; infinity if never."""
    return float(np.argmax(reached)) + 1 if reached.any() else np.inf


def main(studies: int = 1000) -> None:
    """Print the tables."""
    rng = np.random.default_rng(20261130)
    print(f"{studies} studies of each line, 1,000 items; margin 3 points.\n")
    print("| lengths | models | worse at alpha .05, .01, A/A, ever | passes at .05, loss of the margin, ever |")
    print("| --- | --- | ---: | ---: |")
    for lengths, name in LENGTHS.items():
        for setting in SETTINGS:
            equal = [money(-study(rng, 1000, lengths, setting, 0.0), 0.0, 0.09).max() for _ in range(studies)]
            lost = [money(study(rng, 1000, lengths, setting, 0.03), -0.03, 0.03).max() for _ in range(studies)]
            shares = [100 * np.mean(np.array(equal) >= 1 / alpha) for alpha in (0.05, 0.01)]
            passed = 100 * np.mean(np.array(lost) >= 20)
            print(f"| {name} | {setting} | {shares[0]:.1f}%, {shares[1]:.1f}% | {passed:.1f}% |")
    print("\n| lengths | models | loss | decision | ever | median | 80% have it by | fixed, 80% | fixed, 95% |")
    print("| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for lengths, name in LENGTHS.items():
        for setting in SETTINGS:
            for loss in (0.0, 0.06, 0.12):
                drawn = [study(rng, 3000, lengths, setting, loss) for _ in range(max(1, studies // 5))]
                away = 0.03 if loss == 0 else loss
                needed = [
                    first(money(values, -0.03, 0.03) >= 20) if loss == 0 else first(money(-values, 0.0, 0.09) >= 20)
                    for values in drawn
                ]
                spread = float(np.mean([values.std() for values in drawn]))
                fixed = [((Z(0.95) + Z(power)) * spread / away) ** 2 for power in (0.8, 0.95)]
                counts = [np.quantile(needed, share, method="lower") for share in (0.5, 0.8)]
                ever = 100 * np.mean(np.isfinite(needed))
                cells = [
                    f"{100 * loss:g}", "not worse" if loss == 0 else "worse", f"{ever:.0f}%",
                    *(f"{number:,.0f}" for number in (*counts, *fixed)),
                ]  # fmt: skip
                print(f"| {name} | {setting} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
