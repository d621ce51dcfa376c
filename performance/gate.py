"""How often ``fathom gate`` fails equal models, and how often it finds a loss at one length.

Items are right or wrong with a probability of their own, the same for both sides, at eight lengths; both sides draw
anew at every length. Equal sides must fail in at most alpha of the pairs. Then one side loses points at one length.

    python performance/gate.py                 # 1,000 equal pairs and 100 with a loss of 5 points at 32k, alpha .01
    python performance/gate.py --pairs 100 --items 50
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import polars as pl

from fathom.analysis.gate import gate
from fathom.rows import to_frame
from fathom.types import Row

LENGTHS = tuple(1024 * 2**power for power in range(8))
LOST_AT = LENGTHS[5]


def rows(right: np.ndarray, model: str) -> pl.DataFrame:
    """Rows of one side: scores of items x lengths."""

    def each() -> Iterator[Row]:
        for item, line in enumerate(right):
            for length, value in zip(LENGTHS, line, strict=True):
                name = f"kv/{item}"
                yield Row("s", "kv", name, f"{name}@{length}", model, length, float(value))

    return to_frame(each())


def decided(
    seed: int, items: int, shared: float, loss: float, margin: float, alpha: float
) -> tuple[str, tuple[str, ...]]:
    """The decision on one pair, and the claims that fail.

    Args:
        seed: Seed of the pair.
        items: Items at each length.
        shared: Share of the samples that both sides answer alike whatever happens.
        loss: Share of right answers that the candidate loses at ``LOST_AT``.
        margin: Margin of the gate.
        alpha: Level of the gate.
    """
    rng = np.random.default_rng(seed)
    ability = rng.beta(4, 1, size=(items, 1))
    same = rng.random((items, len(LENGTHS))) < shared
    common = rng.random(same.shape) < ability
    first, second = (np.where(same, common, rng.random(same.shape) < ability) for _ in range(2))
    at = LENGTHS.index(LOST_AT)
    first[:, at] &= rng.random(items) >= loss / 0.8  # four fifths of the answers are right
    found = gate(rows(first, "candidate"), rows(second, "baseline"), margin=margin, alpha=alpha, seed=seed)
    return found.decision, tuple(one.name for one in found.claims if one.decision == "FAIL")


def main() -> None:
    """Simulate, and print how often each decision was made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of equal sides")
    parser.add_argument("--items", type=int, default=100, help="items of these")
    parser.add_argument("--losses", type=int, default=100, help="pairs with a loss")
    parser.add_argument("--many", type=int, default=1500, help="items of these")
    parser.add_argument("--shared", type=float, default=0.6, help="share of samples that both answer alike")
    parser.add_argument("--loss", type=float, default=0.05)
    parser.add_argument("--margin", type=float, default=0.03)
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.workers) as pool:
        for title, pairs, items, loss in (
            ("equal", given.pairs, given.items, 0.0),
            (f"a loss of {given.loss:g} at {LOST_AT:,} tokens", given.losses, given.many, given.loss),
        ):
            work = partial(decided, items=items, shared=given.shared, loss=loss, margin=given.margin, alpha=given.alpha)
            made = list(pool.map(work, range(pairs), chunksize=4))
            counts = Counter(decision for decision, _ in made)
            named = Counter(name for _, names in made for name in names)
            pair = f"{pairs} pairs of {items} items at {len(LENGTHS)} lengths, alpha {given.alpha:g}"
            print(f"{title}: {pair}: {dict(counts)}")
            print(f"  claims that failed: {dict(named)}")


if __name__ == "__main__":
    main()
