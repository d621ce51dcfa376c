"""Clusters of items by what they measure, and the item that stands for each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.types import FathomError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Anchors:
    """Items that stand for clusters of items.

    Attributes:
        items: Numbers of K items, each once, category by category.
        weights: Share of the benchmark's score that the cluster of each holds, shape (K,), summing to 1.
        clusters: Which anchor stands for each item, shape (N,): a place in ``items``.
    """

    items: NDArray[np.int64]
    weights: Floats
    clusters: NDArray[np.int64]


def shares(sizes: Sequence[int], budget: int) -> list[int]:
    """Clusters of each category: ``int(size / total * budget)``, and the last category takes the rest.

    That is the rule of MiniLongBench's code, with two departures where it would fail: every category has one cluster
    at least, and none more than it has items; what the last one cannot take goes to those that come first.

    Raises:
        FathomError: The budget is below the number of categories, or above that of all items.
    """
    total = sum(sizes)
    if not len(sizes) <= budget <= total:
        raise FathomError(
            f"a budget of {budget:,} for {total:,} items in {len(sizes)} categories: expected {len(sizes)} to {total:,}"
        )
    counts = [max(1, int(size / total * budget)) for size in sizes[:-1]]
    while sum(counts) > budget - 1:  # only where small categories were given one
        counts[counts.index(max(counts))] -= 1
    counts.append(min(sizes[-1], budget - sum(counts)))
    for place, size in enumerate(sizes):
        counts[place] += min(size - counts[place], budget - sum(counts))
    return counts


def anchors(
    points: Floats, weights: Floats, categories: Sequence[str], budget: int, *, seed: int = 0, restarts: int = 1
) -> Anchors:
    """Weighted k-means in every category, and the item nearest to each centre.

    Args:
        points: What is known of N items, shape (N, F); for MiniLongBench discriminations and difficulty.
        weights: Share of each item in the score, shape (N,).
        categories: Category of each item; clusters do not cross categories.
        budget: K, the clusters altogether.
        seed: Seed of the first centres. The released code has none, and its anchors cannot be had again.
        restarts: How often k-means begins anew; the best end counts.

    Raises:
        FathomError: The budget does not fit, see ``shares``.
    """
    names = list(dict.fromkeys(categories))
    labels = np.array(categories)
    members = [np.flatnonzero(labels == name) for name in names]
    chosen: list[int] = []
    clusters = np.zeros(len(labels), dtype=np.int64)
    for inside, count in zip(members, shares([len(inside) for inside in members], budget), strict=True):
        centres = _centres(points[inside], weights[inside], count, seed, restarts)
        nearest = _nearest(points[inside], centres)
        clusters[inside] = len(chosen) + _closest(points[inside], points[inside[nearest]])
        clusters[inside[nearest]] = len(chosen) + np.arange(count)
        chosen.extend(int(item) for item in inside[nearest])
    held = np.bincount(clusters, weights=weights, minlength=len(chosen))
    return Anchors(np.array(chosen, dtype=np.int64), held / held.sum(), clusters)


def _centres(points: Floats, weights: Floats, count: int, seed: int, restarts: int) -> Floats:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    counted = weights if weights.sum() > 0 else np.ones_like(weights)
    with warnings.catch_warnings():
        # Fewer distinct points than clusters: items that nobody or everybody solves are alike.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(n_clusters=count, n_init=restarts, random_state=seed).fit(points, sample_weight=counted)
    return np.asarray(means.cluster_centers_, dtype=np.float64)


def _nearest(points: Floats, centres: Floats) -> NDArray[np.int64]:
    """The nearest item to each centre; one that an earlier centre took gives way to the next nearest."""
    taken = np.zeros(len(points), dtype=bool)
    found = []
    for centre in centres:
        distances = np.where(taken, np.inf, ((points - centre) ** 2).sum(axis=1))
        found.append(int(np.argmin(distances)))
        taken[found[-1]] = True
    return np.array(found, dtype=np.int64)


def _closest(points: Floats, centres: Floats) -> NDArray[np.int64]:
    squares = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :] - 2 * points @ centres.T
    return np.asarray(np.argmin(squares, axis=1), dtype=np.int64)
