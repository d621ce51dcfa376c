"""Clusters in categories, their sizes, and the items that stand for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.compress.matrix import Floats
from fathom.compress.minilongbench import anchors, shares
from fathom.types import FathomError


@given(st.data())
def test_shares_use_the_budget_and_fit_the_categories(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 300), min_size=1, max_size=8))
    budget = data.draw(st.integers(len(sizes), sum(sizes)))
    counts = shares(sizes, budget)
    assert sum(counts) == budget
    assert all(1 <= count <= size for count, size in zip(counts, sizes, strict=True))


def test_shares_are_those_of_the_published_benchmark() -> None:
    # Single and multiple documents, summaries, few shots, code, synthetic: its 237 items lie so in the categories that
    # the code clusters, which exchange samsum and multi_news.
    assert shares([750, 800, 800, 800, 1000, 600], 237) == [37, 39, 39, 39, 49, 34]


@pytest.mark.parametrize("budget", [1, 11])
def test_a_budget_that_does_not_fit_is_refused(budget: int) -> None:
    with pytest.raises(FathomError, match=f"budget of {budget} .* expected 2 to 10"):
        shares([4, 6], budget)


def test_well_separated_clusters_are_found_with_their_weights() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0], [10, 0], [0, 10], [30, 30]])
    groups = np.repeat(np.arange(4), [10, 20, 30, 5])
    points = centres[groups] + rng.normal(0, 0.1, (65, 2))
    weights: Floats = np.where(groups == 3, 4.0, 1.0) / 80
    found = anchors(points, weights, ["a"] * 65, 4, restarts=5)
    assert sorted(groups[found.items]) == [0, 1, 2, 3]
    assert np.array_equal(groups[found.items][found.clusters], groups)
    held = dict(zip(groups[found.items].tolist(), found.weights, strict=True))
    assert held == pytest.approx({0: 10 / 80, 1: 20 / 80, 2: 30 / 80, 3: 20 / 80})


def test_weights_pull_the_centre() -> None:
    points = np.array([[0.0], [1.0], [5.0], [6.0]])
    assert anchors(points, np.array([0.97, 0.01, 0.01, 0.01]), [""] * 4, 1).items.tolist() == [0]
    assert anchors(points, np.array([0.01, 0.01, 0.01, 0.97]), [""] * 4, 1).items.tolist() == [3]


@pytest.mark.parametrize("budget", [2, 7, 20])
def test_items_that_are_alike_still_give_distinct_anchors(budget: int) -> None:
    categories = ["a"] * 10 + ["b"] * 10
    points = np.zeros((20, 3))
    points[3] = 1.0
    found = anchors(points, np.full(20, 0.05), categories, budget)
    assert len(set(found.items.tolist())) == budget
    assert found.weights.sum() == pytest.approx(1.0)
    of_anchor = [categories[item] for item in found.items]
    assert all(of_anchor[cluster] == own for cluster, own in zip(found.clusters, categories, strict=True))


def test_the_same_seed_gives_the_same_anchors() -> None:
    rng = np.random.default_rng(5)
    points: Floats = rng.normal(size=(200, 4))
    weights: Floats = np.full(200, 1 / 200)
    first, second = (anchors(points, weights, ["a"] * 200, 20, seed=7) for _ in range(2))
    assert np.array_equal(first.items, second.items)
    assert not np.array_equal(first.items, anchors(points, weights, ["a"] * 200, 20, seed=8).items)


def test_a_category_without_weight_is_clustered_all_the_same() -> None:
    weights = np.array([0.5, 0.5, 0.0, 0.0])
    found = anchors(np.array([[0.0], [1.0], [2.0], [3.0]]), weights, ["a", "a", "b", "b"], 3)
    assert sorted(found.weights.tolist())[0] == 0.0
    assert found.weights.sum() == pytest.approx(1.0)
