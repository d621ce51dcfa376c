"""How often the intervals of recovery by depth contain the truth: python performance/recovery_depth.py [RUNS [CASE]].

Questions are right or wrong in three contexts, at two lengths, with evidence in each fifth of the context. A share of
an item's luck is the same in all contexts and at both lengths. What a model reads in each fifth is known; it is less at
the second length. Prints the percentage of 95% intervals that contain the truth: of what is recovered, of the points
that are lost, and of the score, over all fifths and lengths; and the share of recoveries that are not given.
"""

import sys
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fathom.analysis.recovery import recovery
from fathom.rows import to_frame
from fathom.stats.intervals import kept_draws
from fathom.types import Row

LENGTHS = (4096, 32768)
REPLICATES = 1000
FIFTHS = 5


class Truth(NamedTuple):
    """Probabilities of a right answer: with the evidence alone, without, and in each fifth of the shorter context."""

    name: str
    alone: float
    none: float
    fifths: tuple[float, ...]
    luck: float
    items: int
    drop: float = 0.2

    def full(self, fifth: int, length: int) -> float:
        """In a fifth of the context; less in the longer one."""
        return self.fifths[fifth] - (self.drop if length == LENGTHS[-1] else 0)


U = (0.8, 0.6, 0.5, 0.6, 0.8)
TRUTHS = (
    Truth("lost in the middle", 0.9, 0.05, U, 0.5, 100),
    Truth("few items: 8 in a fifth", 0.9, 0.05, U, 0.5, 40),
    Truth("many items", 0.8, 0.1, U, 0.3, 500),
    Truth("all luck shared: ties", 0.9, 0.05, U, 0.95, 100),
    Truth("no luck shared", 0.9, 0.05, U, 0.0, 100),
    Truth("ceiling", 0.98, 0.02, (0.98, 0.98, 0.95, 0.98, 0.98), 0.5, 100, drop=0.0),
    Truth("floor", 0.6, 0.1, (0.3, 0.15, 0.12, 0.15, 0.3), 0.5, 100, drop=0.02),
)


def rows_of(truth: Truth, seed: int) -> Iterator[Row]:
    """The rows of one model."""
    rng, threshold = np.random.default_rng(seed), NormalDist().inv_cdf
    for item in range(truth.items):
        shared, depth = rng.normal(), (item + 0.5) / truth.items
        fifth = int(depth * FIFTHS)
        asked: list[tuple[int, dict[str, str | float], float]]
        asked = [(0, {"context": "none"}, truth.none), (0, {"context": "alone"}, truth.alone)]
        asked += [(length, {"depth": depth}, truth.full(fifth, length)) for length in LENGTHS]
        for length, facets, chance in asked:
            drawn = truth.luck**0.5 * shared + (1 - truth.luck) ** 0.5 * rng.normal()
            ident, right = f"{item}@{length}{facets.get('context', '')}", float(drawn < threshold(chance))
            yield Row("s", "t", str(item), ident, "m", length, right, chance=0.0, facets=facets)


def covered(truth: Truth, seed: int) -> Iterator[tuple[str, bool | None]]:
    """For each fifth and length, whether each interval contains the truth; None for a recovery that is not given."""
    for result in recovery(to_frame(rows_of(truth, seed)), replicates=REPLICATES):
        assert len(result.depths) == FIFTHS
        for fifth, part in enumerate(result.depths):
            full = truth.full(fifth, result.length)
            truths = {
                "recovery": (full - truth.none) / (truth.alone - truth.none),
                "lost": truth.alone - full,
                "full": full,
            }
            for name, true in truths.items():
                found = getattr(part, name)
                yield (
                    name,
                    None if found is None else bool(found.interval.low - 1e-12 <= true <= found.interval.high + 1e-12),
                )


def main(runs: int, case: str = "") -> None:
    """Print one line for each truth whose name begins so."""
    print("| case | items | recovery | lost | full | not given |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    with kept_draws():
        for truth in (truth for truth in TRUTHS if truth.name.startswith(case)):
            seen: dict[str, list[bool | None]] = {"recovery": [], "lost": [], "full": []}
            for seed in range(runs):
                for name, inside in covered(truth, seed):
                    seen[name].append(inside)
            known = {name: [one for one in every if one is not None] for name, every in seen.items()}
            shares = " | ".join(f"{100 * sum(every) / len(every):.1f}" if every else "-" for every in known.values())
            missing = 1 - len(known["recovery"]) / len(seen["recovery"])
            print(f"| {truth.name} | {truth.items} | {shares} | {100 * missing:.1f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, *sys.argv[2:3])
