"""Adaptive evaluation with a theorem beside the calibrated one, with known truth: coverage at all looks, items, widths.

    python performance/adaptive_proved.py [EVALUATIONS] [--matrix FOLDER]

Worlds have 400 items of eight tasks and 100 new models. A model has an ability for each task, an item a difficulty; the
12 known models are of the same kind as the new ones, are misleading (their scores are reversed), or there are none. An
evaluation goes on until the half-width is reached. The interval that is proved contains the truth at all looks if it
does at the last one, because it is the intersection of those before. The calibrated design is measured on the first
three worlds. A matrix is MiniLongBench's released one: half of its models are known, in two splits.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from fathom.compress.adaptive import AdaptiveSettings, current, drive, half_width, rounds, stretch
from fathom.compress.design import Design, design
from fathom.compress.matrix import ScoreMatrix
from fathom.compress.proved import interval_of
from fathom.compress.tables import read_matrix

ITEMS, TASKS, KNOWN, NEW = 400, 8, 12, 100
WORLDS = {  # level of the models, whether scores are right or wrong, what is known
    "right or wrong": (0.0, True, "alike"),
    "graded": (0.0, False, "alike"),
    "near the ceiling": (2.5, True, "alike"),
    "near the floor": (-3.0, True, "alike"),
    "known models mislead": (1.0, True, "reversed"),
    "no known models": (0.0, True, "none"),
}


def world(rng: np.random.Generator, level: float, binary: bool, known: str) -> tuple[ScoreMatrix, np.ndarray]:
    """Known models, and the scores of new ones."""
    task = np.arange(ITEMS) % TASKS
    ability = rng.normal(level, 1, (KNOWN + NEW, 1)) + rng.normal(0, 0.7, (KNOWN + NEW, TASKS))
    mean = 1 / (1 + np.exp(-(ability[:, task] - rng.normal(0, 1.5, ITEMS))))
    scores = (rng.random(mean.shape) < mean).astype(float) if binary else rng.beta(8 * mean + 0.1, 8 * (1 - mean) + 0.1)
    names = tuple(f"task {number}" for number in task)
    own = scores[:KNOWN] if known == "alike" else 1 - scores[:KNOWN] if known == "reversed" else scores[:0]
    matrix = ScoreMatrix(
        models=tuple(f"model {number}" for number in range(len(own))),
        items=tuple(f"item {number}" for number in range(ITEMS)),
        scores=own,
        weights=np.full(ITEMS, 1 / ITEMS),
        tasks=names,
        categories=names,
        lengths=np.zeros(ITEMS, dtype=np.int64),
        costs=np.ones(ITEMS),
    )
    return matrix, scores[KNOWN:]


def evaluated(made: Design, scores: np.ndarray, settings: AdaptiveSettings, wider: float, seed: int) -> list[float]:
    """Items, half-width and whether it contains the truth; with a proof also half-width and truth of that interval."""
    plan = rounds(made, settings, stretch=wider, rng=np.random.default_rng(seed))
    end = drive(plan, scores.__getitem__)
    truth = float(scores @ made.targets.shares[0])
    found = current(made, end, wider)
    inside = abs(float(found.values[0, 0]) - truth) <= half_width(found) + 1e-12
    row = [float(len(end.items)), half_width(found), float(inside)]
    if settings.proved:
        proved = interval_of(end.drawn, settings.width)
        row += [(proved.high - proved.low) / 2, float(proved.low - 1e-9 <= truth <= proved.high + 1e-9)]
    return row


def line(name: str, made: list[tuple[Design, np.ndarray]], width: float, seed: int) -> None:
    """Print a line: both designs on the same models."""
    columns = []
    for proved in (True, False):
        settings = AdaptiveSettings(width, 10**9, 60, 20, proved=proved)
        rows = []
        for number, (own, new) in enumerate(made if proved else made[:3]):
            wider = stretch(own, replace(settings, budget=len(own.matrix.items)))
            rows += [
                evaluated(own, scores, settings, wider, seed + 1000 * number + place)
                for place, scores in enumerate(new)
            ]
        columns.append(np.array(rows))
    theorem, calibrated = columns
    cells = [
        f"{width:g}",
        f"{100 * theorem[:, 4].mean():.1f}%",
        f"{theorem[:, 0].mean():,.0f}",
        f"{theorem[:, 3].mean():.3f}",
        f"{theorem[:, 1].mean():.3f}",
        f"{100 * calibrated[:, 2].mean():.1f}%",
        f"{calibrated[:, 0].mean():,.0f}",
    ]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluations", type=int, nargs="?", default=1000)
    parser.add_argument("--matrix", type=Path)
    given = parser.parse_args()
    rng = np.random.default_rng(45)
    print("| | wanted | proved: all looks | items | half-width | calibrated there | calibrated: at the stop | items |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, how in WORLDS.items() if given.evaluations else ():
        drawn = [world(rng, *how) for _ in range(max(1, given.evaluations // NEW))]
        line(name, [(design(known, 100), new) for known, new in drawn], 0.05, 45)
    if given.matrix is not None:
        whole = read_matrix(given.matrix)
        made = []
        for _ in range(2):
            order = rng.permutation(len(whole.models))
            known, new = sorted(order[::2].tolist()), sorted(order[1::2].tolist())
            made.append((design(whole.of_models(known), 237), whole.scores[new]))
        for width in (0.03, 0.02):
            line(f"{len(whole.models)} models on {len(whole.items):,} items", made, width, 45)


if __name__ == "__main__":
    main()
