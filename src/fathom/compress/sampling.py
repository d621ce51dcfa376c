"""Probability sampling: inclusion probabilities, and samples that are spread over similar items.

Items are drawn by the pivotal method along a tree (Deville and Tillé 1998; Chauvet 2012): two neighbouring items
compete for their probabilities, and the winner moves up the tree. Every item keeps its exact probability, the sample
has a fixed size, and groups of similar items are represented in proportion, like strata without borders.
"""

from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.compress.matrix import Floats

Tree: TypeAlias = tuple[int, ...]
"""A binary tree as a stack program: an item's number pushes the item, ``JOIN`` joins the upper two."""

JOIN = -1
LAYOUTS = 4
"""Benchmarks whose groups stay in memory: every model that is left out asks for the same ones."""
LARGEST_LINKED = 2000  # items; larger groups are first halved, since linkage takes quadratic memory
_ROUNDING = 1e-9


def inclusion(sizes: Floats, budget: float, costs: Floats | None = None) -> Floats:
    """Probabilities proportional to size, none above 1, with the budget as mean cost.

    Args:
        sizes: Size of each item, shape (N,), 0 or more: its weight times the spread of its score is optimal
            (Neyman's allocation, item by item).
        budget: Number of items or, with ``costs``, their total cost.
        costs: Cost of each item, shape (N,); sizes are then divided by the square roots of the costs, which is optimal.

    Returns:
        Probabilities, shape (N,), summing to the budget (times cost); all 1 if the budget covers everything. If all
        sizes are 0, items have equal probabilities.
    """
    prices = np.ones_like(sizes) if costs is None else costs
    if budget >= prices.sum():
        return np.ones_like(sizes)
    most = sizes.max(initial=0.0)
    wanted = np.maximum(sizes, most * _ROUNDING if most > 0 else 1.0) / np.sqrt(prices)
    sure = np.zeros(len(sizes), dtype=bool)
    while True:
        left = budget - prices[sure].sum()
        probabilities = np.where(sure, 1.0, wanted * (left / (wanted * prices)[~sure].sum()))
        over = (probabilities > 1.0) & ~sure
        if not over.any():
            return probabilities
        sure |= over


def likeness_tree(profiles: Floats, groups: Sequence[Sequence[Hashable]]) -> Tree:
    """A tree in which similar items are close to each other.

    Args:
        profiles: Features of each item, shape (N, F), for example its scores by known models. F may be 0.
        groups: Names of the groups of each item, the widest first (category, then task); items of one group are joined
            with each other before any other.

    Returns:
        The tree; within the narrowest groups by Ward's linkage of the profiles.
    """
    tree: list[int] = []
    for part in _narrowest(tuple(map(tuple, groups))):
        tree += _linked(profiles, np.array(part)) if isinstance(part, tuple) else (JOIN,)
    return tuple(tree)


def draw(probabilities: Floats, tree: Tree, rng: np.random.Generator) -> NDArray[np.int64]:
    """One sample.

    Args:
        probabilities: Probability of each item, shape (N,).
        tree: Of all items.

    Returns:
        Numbers of the drawn items, ascending; as many as the probabilities sum to, randomly rounded up or down.
    """
    chance = probabilities.tolist()
    draws = rng.random(len(tree) + 1).tolist()
    drawn: list[int] = np.flatnonzero(probabilities >= 1 - _ROUNDING).tolist()
    unsure = (probabilities > _ROUNDING) & (probabilities < 1 - _ROUNDING)
    undecided = np.where(unsure, np.arange(len(chance)), JOIN).tolist()
    stack: list[int] = []  # the undecided item of each subtree, or JOIN if there is none
    for step, what in enumerate(tree):
        if what != JOIN:
            stack.append(undecided[what])
            continue
        second, first = stack.pop(), stack[-1]
        if first == JOIN or second == JOIN:
            stack[-1] = second if first == JOIN else first
        else:
            stack[-1] = _decide(first, second, chance, draws[step], drawn)
    last = stack.pop() if stack else JOIN
    if last != JOIN and draws[-1] < chance[last]:
        drawn.append(last)
    return np.array(sorted(drawn), dtype=np.int64)


def _decide(first: int, second: int, chance: list[float], die: float, drawn: list[int]) -> int:
    """Decides one of two items; returns the other with the remaining probability, or ``JOIN``."""
    total = chance[first] + chance[second]
    if total < 1 - _ROUNDING:  # one is out, the other gets both probabilities
        winner = first if die < chance[first] / total else second
        chance[winner] = total
        return winner
    if total <= 1 + _ROUNDING:
        drawn.append(first if die < chance[first] else second)
        return JOIN
    winner, loser = (first, second) if die < (1 - chance[second]) / (2 - total) else (second, first)
    drawn.append(winner)  # one is in, the other keeps the rest
    chance[loser] = total - 1
    return loser


@lru_cache(LAYOUTS)
def _narrowest(groups: tuple[tuple[Hashable, ...], ...]) -> tuple[tuple[int, ...] | int, ...]:
    """Stack program of the narrowest groups: the items of a group, or ``JOIN``."""
    return tuple(_grouped(groups, tuple(range(len(groups))), 0))


def _grouped(
    groups: tuple[tuple[Hashable, ...], ...], items: tuple[int, ...], level: int
) -> Iterator[tuple[int, ...] | int]:
    if level >= max((len(groups[item]) for item in items), default=0):
        yield items
        return
    parts: dict[Hashable, list[int]] = {}
    for item in items:
        parts.setdefault(groups[item][level] if level < len(groups[item]) else None, []).append(item)
    for number, part in enumerate(parts.values()):
        yield from _grouped(groups, tuple(part), level + 1)
        if number:
            yield JOIN


def _linked(profiles: Floats, items: NDArray[np.int64]) -> Tree:
    from scipy.cluster.hierarchy import linkage

    if len(items) <= 1:
        return tuple(map(int, items))
    if not profiles.shape[1]:  # without features: in the order of the benchmark
        return (int(items[0]), *(step for item in items[1:] for step in (int(item), JOIN)))
    if len(items) > LARGEST_LINKED:
        inside = profiles[items] - profiles[items].mean(axis=0)
        _, _, directions = np.linalg.svd(inside.T @ inside)
        order = np.argsort(inside @ directions[0], kind="stable")
        halves = np.array_split(items[order], 2)
        return (*_linked(profiles, halves[0]), *_linked(profiles, halves[1]), JOIN)
    merges = linkage(profiles[items], "ward")[:, :2].astype(np.int64).tolist()
    # Of items, then of clusters in the order of their creation, as linkage numbers them.
    programs: list[list[int]] = [[item] for item in items.tolist()]
    for first, second in merges:
        programs.append([*programs[first], *programs[second], JOIN])
        programs[first] = programs[second] = []
    return tuple(programs[-1])
