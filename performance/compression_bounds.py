"""How far a sample of so many items can go at all: the default method beside versions of it that know the answers.

    python performance/compression_bounds.py SCORES [--budget 237] [--splits 50]

SCORES is whatever `fathom compress validate` takes. Each version is tried on the same splits of models into known and
new ones, at random and with the weakest half known:

* ``sampled``: the default.
* ``oracle allocation``: items are drawn by how much the new models' own scores spread, which nobody can know.
* ``oracle spread and means``: expected scores and slopes are learned from the new models themselves, too.
* ``boosted variance``: gradient-boosted trees predict, from the item's known scores and the model's expected one, the
  variance of each score; what could be gained by choosing items for each model.

The first three are errors of real draws. The last one is a ratio: the standard error that drawing by predicted
variances would have, to that of the default, item by item drawn independently.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from fathom.compress.abilities import expected, learn
from fathom.compress.assisted import stretched
from fathom.compress.design import Design, design
from fathom.compress.matrix import Floats, ScoreMatrix
from fathom.compress.ranks import spearman
from fathom.compress.sampling import inclusion
from fathom.compress.tables import read_matrix
from fathom.compress.validate import Split, splits_of
from fathom.parallel.units import one_thread

SHOWN = (0, 4, 9, 14, 18)  # ranks among an item's known scores that the trees are shown


def versions(made: Design, new: ScoreMatrix) -> dict[str, Design]:
    own = learn(new.scores, made.strata)
    chances = inclusion(made.targets.shares[0] * own.spread, made.budget)
    return {
        "sampled": made,
        "oracle allocation": replace(made, chances=chances),
        "oracle spread and means": replace(made, chances=chances, known=own),
    }


def tried(made: Design, new: ScoreMatrix) -> tuple[float, float, float]:
    items = made.sample()
    found = made.estimate(items, new.scores[:, items], stretched(made.targets.shares)).values[:, 0]
    apart = found - new.totals()
    return spearman(found, new.totals()), float(np.abs(apart).mean()), float(apart.mean())


def features(made: Design, scores: Floats, guess: Floats) -> Floats:
    ordered = np.sort(scores, axis=0).T[:, [min(rank, len(scores) - 1) for rank in SHOWN]]
    known = made.known
    level = np.full(len(guess), guess @ made.targets.shares[0])
    return np.column_stack([guess, known.spread, known.means, made.strata, level, ordered])


def boosted(matrix: ScoreMatrix, split: Split, budget: int) -> float:
    """Standard error with predicted variances, over that of the default."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    made = design(matrix.of_models(split.known), budget, seed=split.number)
    items, scores = made.sample(), made.matrix.scores
    rows, squares = [], []
    for model in range(len(scores)):
        others = np.delete(scores, model, axis=0)
        without = replace(made, known=learn(others, made.strata))
        guess = expected(without.known, items, scores[model : model + 1, items])[0]
        rows.append(features(without, others, guess))
        squares.append((scores[model] - guess) ** 2)
    trees = HistGradientBoostingRegressor(max_iter=150, learning_rate=0.05, min_samples_leaf=200, random_state=0)
    trees.fit(np.concatenate(rows), np.concatenate(squares))
    share, ours, theirs = made.targets.shares[0], 0.0, 0.0
    for row in matrix.of_models(split.new).scores:
        guess = expected(made.known, items, row[None, items])[0]
        predicted = np.sqrt(np.maximum(trees.predict(features(made, scores, guess)), 1e-4))
        left = share**2 * (row - guess) ** 2
        ours += float((left * (1 / made.chances - 1)).sum())
        theirs += float((left * (1 / inclusion(share * predicted, budget) - 1)).sum())
    return float(np.sqrt(theirs / ours))


@one_thread("scipy.cluster.hierarchy")
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path)
    parser.add_argument("--budget", type=int, default=237)
    parser.add_argument("--splits", type=int, default=50)
    arguments = parser.parse_args()
    matrix = read_matrix(arguments.scores)
    splits = splits_of(matrix, arguments.splits)
    for kind in ("random", "extrapolation"):
        part = [split for split in splits if split.kind == kind]
        found: dict[str, list[tuple[float, float, float]]] = {}
        for split in part:
            new = matrix.of_models(split.new)
            made = design(matrix.of_models(split.known), arguments.budget, seed=split.number)
            for name, version in versions(made, new).items():
                found.setdefault(name, []).append(tried(version, new))
        print(f"{kind}, {arguments.budget} items, {len(part)} draws, full trust in the correction")
        for name, lines in found.items():
            rank, error, bias = np.mean(lines, axis=0)
            spread = np.std(lines, axis=0)[0] / np.sqrt(len(lines))
            print(f"  {name:24} Spearman {rank:.3f} ± {spread:.3f}  error {error:.4f}  bias {bias:+.4f}")
        ratios = [boosted(matrix, split, arguments.budget) for split in part[:5]]
        print(f"  boosted variance: standard error {np.mean(ratios):.3f} times that of the default")


if __name__ == "__main__":
    main()
