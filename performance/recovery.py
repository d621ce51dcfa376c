"""How often the intervals of recovery contain the truth: python performance/recovery.py [RUNS].

Questions are right or wrong in four contexts. A share of an item's luck is the same in all of them, as a hard question
is hard everywhere; items with several questions share it too. A quarter of the items has a neutral context.
"""

import sys
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import polars as pl

from fathom.analysis.recovery import recovery
from fathom.rows import to_frame
from fathom.stats.intervals import kept_draws
from fathom.types import Row

LENGTH, EVERY, REPLICATES = 4096, 4, 1000
MEASURES = ("recovery", "reasoning", "by_length", "finding")


class Truth(NamedTuple):
    """Probabilities of a right answer in each context; the share of luck; items of a task, their questions, tasks."""

    alone: float
    full: float
    none: float
    luck: float
    items: int
    questions: int = 1
    tasks: int = 1

    @property
    def padded(self) -> float:
        """Half way between."""
        return (self.alone + self.full) / 2

    def of(self, measure: str) -> float:
        """What is to be found."""
        values = {
            "recovery": (self.full - self.none) / (self.alone - self.none),
            "reasoning": 1 - self.alone,
            "by_length": self.alone - self.padded,
            "finding": self.padded - self.full,
        }
        return values[measure]


TRUTHS = (
    Truth(0.9, 0.6, 0.05, 0.3, items=25),
    Truth(0.9, 0.8, 0.1, 0.5, items=50),
    Truth(0.95, 0.95, 0.02, 0.5, items=100),
    Truth(0.5, 0.3, 0.2, 0.5, items=50),
    Truth(0.8, 0.5, 0.1, 0.3, items=300),
    Truth(0.9, 0.6, 0.05, 0.5, items=40, questions=5),
    Truth(0.98, 0.2, 0.01, 0.3, items=50),
    Truth(0.9, 0.6, 0.05, 0.3, items=25, tasks=4),
)


def rows_of(truth: Truth, seed: int) -> Iterator[Row]:
    """The rows of one model."""
    rng, threshold = np.random.default_rng(seed), NormalDist().inv_cdf
    for task in range(truth.tasks):
        for item in range(truth.items):
            shared = rng.normal()
            for question in range(truth.questions):
                chances = {"none": truth.none, "alone": truth.alone, "": truth.full, "padded": truth.padded}
                for context, chance in chances.items():
                    drawn = truth.luck**0.5 * shared + (1 - truth.luck) ** 0.5 * rng.normal()
                    if context == "padded" and item % EVERY:
                        continue
                    length, name = (0 if context in ("none", "alone") else LENGTH), f"task{task}/{item}"
                    facets = {"question": question} | ({"context": context} if context else {})
                    right = float(drawn < threshold(chance))
                    yield Row(
                        "s", f"task{task}", name, f"{name}@{length}", "m", length, right, chance=0.0, facets=facets
                    )


def covered(truth: Truth, seed: int) -> dict[str, bool | None]:
    """Whether each interval contains the truth; None for a recovery that is undefined."""
    found = recovery(to_frame(rows_of(truth, seed)), replicates=REPLICATES)[-1]
    estimates = {name: getattr(found, name) for name in MEASURES}
    return {
        name: None if value is None else value.interval.low <= truth.of(name) + 1e-12 <= value.interval.high + 2e-12
        for name, value in estimates.items()
    }


def main(runs: int) -> None:
    """Print one line for each truth."""
    heads = (*Truth._fields, *MEASURES, "undefined")
    print(f"| {' | '.join(heads)} |")
    print("| ---: " * len(heads) + "|")
    with kept_draws():
        for truth in TRUTHS:
            table = pl.DataFrame([covered(truth, seed) for seed in range(runs)])
            shares = [f"{100 * value:.1f}" for value in table.select(pl.col(MEASURES).mean()).row(0)]
            undefined = f"{100 * table['recovery'].null_count() / runs:.1f}"
            print(f"| {' | '.join(map(str, truth))} | {' | '.join(shares)} | {undefined} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
