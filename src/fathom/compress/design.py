"""The default method for smaller benchmarks: a probability sample with optimal allocation, spread over similar items.

Items are drawn with probabilities proportional to their weight times the spread of their score among known models,
which is Neyman's optimal allocation item by item (divided by the square root of the cost, if costs differ), and
spread over items of one task that known models answer similarly. Every item can be drawn, which unbiased estimates
need; ``assisted`` describes their remaining bias.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.compress.abilities import Abilities, learn, numbered, without_gaps
from fathom.compress.assisted import Calibration, Estimates, calibrate, estimated
from fathom.compress.matrix import Floats, ScoreMatrix, as_matrix, check_scores
from fathom.compress.sampling import Tree, draw, inclusion, likeness_tree
from fathom.types import FathomError, Json, Member, Subset

OVERALL = "overall"
SHARED = 2  # mean items per length from which lengths are strata: exact lengths of single texts are not
LAYOUTS = 4
"""Benchmarks whose groups stay in memory: validations and adaptive evaluations ask for them all the time."""
METHOD = "sampled"
ADAPTIVE = "adaptive"
Groups: TypeAlias = tuple[tuple[Hashable, ...], ...]
Unit: TypeAlias = Literal["items", "cost"]


@dataclass(frozen=True)
class Targets:
    """The estimated scores: T weighted means over items.

    Attributes:
        names: ``overall``, then the categories (if there are two or more).
        shares: Share of each item in each of them, shape (T, N), rows summing to 1.
    """

    names: tuple[str, ...]
    shares: Floats


def targets_of(matrix: ScoreMatrix) -> Targets:
    """The whole benchmark, and each category with a share in it."""
    labels = np.array(matrix.categories)
    weights = {name: float(matrix.weights[labels == name].sum()) for name in dict.fromkeys(matrix.categories)}
    categories = [name for name, weight in weights.items() if weight > 0] if len(weights) > 1 else []
    rows = [matrix.weights, *(np.where(labels == name, matrix.weights, 0.0) / weights[name] for name in categories)]
    return Targets((OVERALL, *categories), np.array(rows))


def strata_of(matrix: ScoreMatrix) -> NDArray[np.int64]:
    """Number of each item's stratum: its task at its length, if items share lengths. It cannot be changed."""
    return _strata(matrix.categories, matrix.tasks, tuple(matrix.lengths.tolist()))


def groups_of(matrix: ScoreMatrix) -> Groups:
    """Groups of each item, the widest first: category, task, length (0 if the task's items do not share lengths)."""
    return _groups(matrix.categories, matrix.tasks, tuple(matrix.lengths.tolist()))


@lru_cache(LAYOUTS)
def _strata(categories: tuple[str, ...], tasks: tuple[str, ...], lengths: tuple[int, ...]) -> NDArray[np.int64]:
    strata = numbered(_groups(categories, tasks, lengths))
    strata.flags.writeable = False
    return strata


@lru_cache(LAYOUTS)
def _groups(categories: tuple[str, ...], tasks: tuple[str, ...], lengths: tuple[int, ...]) -> Groups:
    task_of_item = list(zip(categories, tasks, strict=True))
    items = Counter(task_of_item)
    different = Counter(task for task, _ in set(zip(task_of_item, lengths, strict=True)))
    shared = {task for task in items if items[task] >= SHARED * different[task]}
    return tuple((*task, length if task in shared else 0) for task, length in zip(task_of_item, lengths, strict=True))


@dataclass(frozen=True)
class Design:
    """A benchmark of N items with its sampling design.

    Attributes:
        matrix: Scores of known models, gaps filled (see ``abilities.without_gaps``).
        targets: The estimated scores.
        strata: Number of each item's stratum, shape (N,).
        known: Statistics from known models.
        chances: Inclusion probability of each item, shape (N,).
        budget: Number of items, or their total cost.
        unit: Unit of the budget.
    """

    matrix: ScoreMatrix
    targets: Targets
    strata: NDArray[np.int64]
    known: Abilities
    chances: Floats
    tree: Tree
    budget: float
    unit: Unit
    seed: int

    def sample(self) -> NDArray[np.int64]:
        """Numbers of the drawn items, ascending."""
        return draw(self.chances, self.tree, np.random.default_rng([self.seed, 0]))

    def calibration(self) -> Calibration:
        """See ``assisted.calibrate``; the same for equal designs."""
        return calibrate(
            self.matrix.scores,
            self.strata,
            self.targets.shares,
            groups_of(self.matrix),
            self.budget,
            np.random.default_rng([self.seed, 1]),
            self.matrix.costs if self.unit == "cost" else None,
        )

    def estimate(self, seen: NDArray[np.int64], scores: Floats, calibration: Calibration) -> Estimates:
        """Estimates for new models.

        Args:
            seen: Numbers of the n drawn items.
            scores: Scores of M models on them, shape (M, n); NaN without a score.
            calibration: Result of ``calibration``.
        """
        return estimated(self.known, self.targets.shares, seen, self.chances[seen], scores, calibration)


def design(matrix: ScoreMatrix, budget: float, *, unit: Unit = "items", seed: int = 0) -> Design:
    """Prepares a benchmark for sampling.

    Args:
        matrix: Scores of known models. Without any, items are drawn by their shares (and costs) alone; calibrated
            intervals need five.
        budget: Number of items or, with the unit ``cost``, their mean total cost.
        unit: Unit of the budget.
        seed: Seed of the sample.

    Raises:
        FathomError: The budget is impossible, or a score lies outside [0, 1].
    """
    if unit not in ("items", "cost"):
        raise FathomError(f"unit {unit!r}: expected items or cost")
    check_scores("scores", matrix.models, matrix.items, matrix.scores)
    least, whole = float(matrix.costs.min()), float(matrix.costs.sum())
    what = "a cost between the cheapest item's and that of all"
    if unit == "items":
        least, whole, what = 1.0, float(len(matrix.items)), "a whole number of items"
    if not least <= budget <= whole or (unit == "items" and budget != int(budget)):
        raise FathomError(f"a budget of {budget:,g}: expected {what}, {least:,g} to {whole:,g}")
    strata = strata_of(matrix)
    filled = ScoreMatrix(**{**vars(matrix), "scores": without_gaps(matrix.scores, strata)})
    known = learn(filled.scores, strata)
    targets = targets_of(matrix)
    costs = matrix.costs if unit == "cost" else None
    return Design(
        filled,
        targets,
        strata,
        known,
        inclusion(targets.shares[0] * known.spread, budget, costs),
        likeness_tree(filled.scores.T, groups_of(matrix)),
        budget,
        unit,
        seed,
    )


def select(
    scores: ScoreMatrix | Floats,
    budget: float,
    *,
    cost: Floats | None = None,
    strata: Sequence[str] | None = None,
    unit: Unit | None = None,
    seed: int = 0,
) -> Subset:
    """Chooses items by the default method.

    Args:
        scores: Scores of known models; also a plain array, shape (M, N), whose items are named ``0``, ``1``, ...
        budget: Number of items or, with costs, their mean total cost.
        cost: Cost of each item, shape (N,); by default that of the matrix.
        strata: Stratum of each item, shape (N,), instead of the tasks and categories of the matrix; all strata have
            equal weight in the score.
        unit: Unit of the budget; by default costs if ``cost`` is given, else items.
        seed: Seed of the draw.

    Returns:
        A subset whose weights are each item's share divided by its probability (summing to about 1).

    Raises:
        FathomError: See ``design``; or a budget of costs was too small to draw any item.
    """
    matrix = as_matrix(scores, cost=cost, strata=strata)
    counted: Unit = unit or ("items" if cost is None else "cost")
    made = design(matrix, budget, unit=counted, seed=seed)
    weights = made.targets.shares[0] / made.chances
    drawn = made.sample().tolist()
    if not drawn:
        raise FathomError(f"a budget of {budget:,g} drew no item with seed {seed}: raise it, most items cost more")
    members = tuple(
        Member(matrix.items[item], float(weights[item]), matrix.tasks[item], float(made.chances[item]))
        for item in drawn
    )
    facts: dict[str, Json] = {"budget": budget, "unit": counted, "seed": seed, "weights": "inverse probabilities"}
    return Subset(METHOD, members, METHOD, facts, {"models": list(matrix.models), "items": len(matrix.items)})
