"""How often a comparison of setups is wrong: coverage of gain and loss, and verdicts on equal setups.

Items are right or wrong with a probability of their own, at three lengths up to the window and three beyond it. With a
given persistence a setup that is lucky on an item is lucky at every length, as real setups are. Equal setups have the
true scores of the base at every length, so that every "better" or "worse" is an error. The others have true
differences, of which the intervals of gain and loss must include 95%.

    python performance/setup_errors.py                    # 1,000 comparisons each of 6 setups with a base
    python performance/setup_errors.py --trials 50 --items 30
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import polars as pl

from fathom.analysis import Setup, SetupResult, compare_setups
from fathom.rows import to_frame
from fathom.types import Row

LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
WINDOW = 4096
BASE = (0.9, 0.88, 0.85, 0.5, 0.3, 0.15)
"""True scores of the base."""
SHIFTS = ((0.0, 0.0), (-0.05, 0.3), (0.0, 0.15), (-0.2, 0.05), (0.03, -0.1), (-0.4, -0.1))
"""True differences of the setups, up to the window and beyond it."""
SPREAD = 1.5
"""Standard deviation of the items' difficulty in logits."""


class Errors(NamedTuple):
    """What went wrong in some comparisons.

    Attributes:
        verdicts: Share of the comparisons with a verdict "better" or "worse" on any setup.
        first: Share with a length from which on any setup is called better.
        lengths: Share with any difference that is significant after adjustment, at the length where this is most
            frequent.
        gain: Share of the intervals of the gain that include the truth.
        loss: The same of the loss.
    """

    verdicts: float
    first: float
    lengths: float
    gain: float
    loss: float


def simulated(
    rng: np.random.Generator, truths: Sequence[Sequence[float]], items: int, persistence: float, tasks: int = 1
) -> pl.DataFrame:
    """Rows of setups with these true scores at each length; the first one is the base."""

    def each() -> Iterator[Row]:
        for task in range(tasks):
            hard = rng.normal(0, SPREAD, items)
            for number, scores in enumerate(truths):
                lucky = rng.random(items)
                for length, score in zip(LENGTHS, scores, strict=True):
                    luck = np.where(rng.random(items) < persistence, lucky, rng.random(items))
                    right = luck < 1 / (1 + np.exp(-(offset(score) + hard)))
                    for item, value in enumerate(right.tolist()):
                        name = f"{task}/{item}"
                        yield Row("s", str(task), name, f"{name}@{length}", str(number), length, float(value))

    return to_frame(each())


@cache
def offset(score: float) -> float:
    """The logit of an item of middle difficulty, so that the mean over all items is the score."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    logits = np.linspace(-15, 15, 6001)
    means = (1 / (1 + np.exp(-(logits[:, None] + SPREAD * nodes)))) @ (weights / weights.sum())
    return float(np.interp(score, means, logits))


def compared(
    seed: int, truths: Sequence[Sequence[float]], items: int, persistence: float, tasks: int = 1, replicates: int = 2000
) -> list[SetupResult]:
    """One comparison; the first setup is the base."""
    rows = simulated(np.random.default_rng(seed), truths, items, persistence, tasks)
    setups = [Setup(str(number), "position" if number else "none") for number in range(len(truths))]
    return compare_setups(rows, setups, "0", WINDOW, seed=seed, replicates=replicates)[1:]


def errors(found: Sequence[Sequence[SetupResult]], truths: Sequence[Sequence[float]]) -> Errors:
    """The errors of comparisons of setups with these true scores; the first one is the base."""
    within = [place for place, length in enumerate(LENGTHS) if length <= WINDOW]
    beyond = [place for place, length in enumerate(LENGTHS) if length > WINDOW]

    def share(said: Callable[[SetupResult], bool]) -> float:
        return float(np.mean([any(map(said, results)) for results in found]))

    def coverage(places: Sequence[int], name: str) -> float:
        held = []
        for results in found:
            for one, truth in zip(results, truths[1:], strict=True):
                gap = float(np.mean([truth[place] - truths[0][place] for place in places]))
                interval = getattr(one, name).interval
                held.append(interval.low <= gap <= interval.high)
        return float(np.mean(held))

    at = [share(lambda one, place=place: bool(one.points[place].difference.sign)) for place in range(len(LENGTHS))]  # type: ignore[misc]
    return Errors(
        share(lambda one: one.verdict in ("better", "worse")),
        share(lambda one: one.first_better is not None),
        max(at),
        coverage(beyond, "gain"),
        coverage(within, "loss"),
    )


def different() -> list[list[float]]:
    """True scores of the base and of six setups that differ from it."""
    made = [list(BASE)]
    for short, long in SHIFTS:
        shifts = [short if length <= WINDOW else long for length in LENGTHS]
        made.append([min(0.99, max(0.01, score + shift)) for score, shift in zip(BASE, shifts, strict=True)])
    return made


def main() -> None:
    """Simulate, and print the shares of errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="comparisons of each kind")
    parser.add_argument("--items", type=int, nargs="+", default=[20, 50, 200], help="items of each length")
    parser.add_argument("--persistence", type=float, nargs="+", default=[0.0, 0.5, 1.0])
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    equal, apart = [list(BASE)] * (len(SHIFTS) + 1), different()
    print(f"{given.trials:,} comparisons of {len(SHIFTS)} setups with a base, window {WINDOW:,}, lengths {LENGTHS}")
    print("Share of comparisons with an error (equal setups); share of intervals with the truth (different setups)")
    print("persistence  items   verdict  first better  at a length    gain    loss")
    with ProcessPoolExecutor(given.workers) as pool:
        for persistence in given.persistence:
            for items in given.items:
                work = partial(compared, items=items, persistence=persistence)
                null = errors(list(pool.map(partial(work, truths=equal), range(given.trials), chunksize=4)), equal)
                seeds = range(given.trials, 2 * given.trials)
                real = errors(list(pool.map(partial(work, truths=apart), seeds, chunksize=4)), apart)
                print(
                    f"{persistence:11.1f}  {items:5d}  {null.verdicts:8.3f}  {null.first:12.3f}  {null.lengths:11.3f}"
                    f"  {real.gain:6.3f}  {real.loss:6.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
