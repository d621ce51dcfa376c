"""Draws: every item keeps its probability, samples have their size, and what is alike is drawn in proportion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.compress import sampling
from fathom.compress.matrix import Floats
from fathom.compress.sampling import JOIN, Tree, draw, inclusion, likeness_tree

sizes_of = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e3)), min_size=1, max_size=30)
chances_of = st.lists(st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1)), min_size=1, max_size=30)


def frequencies(chances: Floats, tree: Tree, draws: int) -> Floats:
    rng = np.random.default_rng(0)
    counts = np.zeros(len(chances))
    for _ in range(draws):
        counts[draw(chances, tree, rng)] += 1
    return counts / draws


def between(count: int, wanted: float) -> bool:
    """Whether a count is the wanted one, rounded up or down."""
    return math.floor(wanted + 1e-6) <= count <= math.ceil(wanted - 1e-6)


# ------------------------------------------------------------------------------------------------ probabilities


@given(sizes_of, st.floats(0, 1), st.booleans())
def test_probabilities_cost_the_budget(sizes: list[float], share: float, priced: bool) -> None:
    prices = np.random.default_rng(len(sizes)).uniform(0.5, 30, len(sizes)) if priced else np.ones(len(sizes))
    budget = share * prices.sum()
    found = inclusion(np.array(sizes), budget, prices if priced else None)
    assert found @ prices == pytest.approx(budget, rel=1e-6)
    assert found.min() >= 0
    assert found.max() <= 1


@given(sizes_of, st.floats(0.01, 0.99))
def test_probabilities_are_proportional_to_size_below_1(sizes: list[float], share: float) -> None:
    given_sizes = np.array(sizes)
    found = inclusion(given_sizes, share * len(sizes))
    open_ones = (found < 1) & (given_sizes > 0)
    ratios = found[open_ones] / given_sizes[open_ones]
    assert ratios == pytest.approx(np.full(len(ratios), ratios.mean() if len(ratios) else 0.0))
    if open_ones.any() and (found == 1).any():  # who is sure is as large as anybody who is not
        assert given_sizes[found == 1].min() >= given_sizes[open_ones].max() * (1 - 1e-9)


def test_probabilities_by_hand() -> None:
    assert inclusion(np.array([1.0, 2, 3, 4]), 2).tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert inclusion(np.array([1.0, 1, 8]), 2).tolist() == pytest.approx([0.5, 0.5, 1])
    # Four times the price makes half the probability: 4 x 0.5 + 1 x 1 costs 3, and 4 x 0.25 + 1 x 0.5 costs 1.5.
    assert inclusion(np.ones(2), 3.0, np.array([4.0, 1.0])).tolist() == pytest.approx([0.5, 1.0])
    assert inclusion(np.ones(2), 1.5, np.array([4.0, 1.0])).tolist() == pytest.approx([0.25, 0.5])
    assert inclusion(np.array([0.0, 5]), 2).tolist() == [1, 1]
    assert inclusion(np.zeros(4), 2).tolist() == [0.5] * 4  # without any sizes all count alike
    assert inclusion(np.zeros(0), 0).tolist() == []


# -------------------------------------------------------------------------------------------------------- trees


@given(st.data())
def test_a_draw_keeps_its_size_and_spreads_over_groups(data: st.DataObject) -> None:
    chances = np.array(data.draw(chances_of))
    items = len(chances)
    names = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"))
    groups = data.draw(st.lists(names, min_size=items, max_size=items))
    seed, factors = data.draw(st.integers(0, 1000)), data.draw(st.integers(0, 3))
    rng = np.random.default_rng(seed)
    tree = likeness_tree(rng.normal(size=(items, factors)), groups)
    assert sorted(step for step in tree if step != JOIN) == list(range(items))
    assert tree.count(JOIN) == items - 1
    for _ in range(3):
        drawn = draw(chances, tree, rng).tolist()
        assert drawn == sorted(set(drawn))
        assert between(len(drawn), chances.sum())
        assert set(np.flatnonzero(chances == 1)) <= set(drawn) <= set(np.flatnonzero(chances > 0))
        for group in {*groups, *((wide,) for wide, _ in groups)}:
            inside = [item for item in range(items) if groups[item][: len(group)] == group]
            assert between(len(set(inside) & set(drawn)), chances[inside].sum()), group


@pytest.mark.parametrize("seed", range(3))
def test_every_item_is_drawn_with_its_probability(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chances = inclusion(rng.uniform(0.2, 3, 12), 5)
    tree = likeness_tree(rng.normal(size=(12, 2)), [("a" if number < 7 else "b",) for number in range(12)])
    draws = 4000
    found = frequencies(chances, tree, draws)
    error = np.sqrt(np.maximum(chances * (1 - chances), 1e-12) / draws)
    assert np.abs((found - chances) / error).max() < 4.5
    assert found[chances == 1].tolist() == [1] * int((chances == 1).sum())


def test_a_sum_that_is_not_whole_is_rounded_by_chance() -> None:
    chances = np.array([0.3, 0.3, 0.3])
    tree = likeness_tree(np.zeros((3, 0)), [()] * 3)
    rng = np.random.default_rng(0)
    sizes = np.array([len(draw(chances, tree, rng)) for _ in range(4000)])
    assert set(sizes) == {0, 1}
    assert sizes.mean() == pytest.approx(0.9, abs=4.5 * math.sqrt(0.09 / 4000))
    assert frequencies(chances, tree, 4000) == pytest.approx(chances, abs=4.5 * math.sqrt(0.21 / 4000))


def test_items_that_are_alike_are_spread_without_groups() -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(3), 10)
    profiles = np.array([[0.0, 0], [9, 0], [0, 9]])[clusters] + rng.normal(0, 0.1, (30, 2))
    tree = likeness_tree(profiles, [()] * 30)
    for _ in range(30):
        drawn = draw(np.full(30, 0.25), tree, rng)
        counts = np.bincount(clusters[drawn], minlength=3)
        assert all(between(int(count), 2.5) for count in counts)


def test_more_items_than_are_linked_at_once_are_spread_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "LARGEST_LINKED", 20)
    rng = np.random.default_rng(2)
    clusters = rng.permutation(np.repeat([0, 1], 50))
    profiles = 10.0 * clusters[:, None] + rng.normal(size=(100, 3))
    tree = likeness_tree(profiles, [()] * 100)
    assert sorted(step for step in tree if step != JOIN) == list(range(100))
    for _ in range(30):
        assert np.bincount(clusters[draw(np.full(100, 0.1), tree, rng)]).tolist() == [5, 5]


def test_without_profiles_items_are_spread_in_their_order() -> None:
    tree = likeness_tree(np.zeros((40, 0)), [()] * 40)
    rng = np.random.default_rng(3)
    for _ in range(30):
        drawn = draw(np.full(40, 0.25), tree, rng)
        assert len(drawn) == 10
        assert between(int((drawn < 18).sum()), 4.5)
    assert draw(np.zeros(0), likeness_tree(np.zeros((0, 0)), []), rng).tolist() == []


def test_the_same_dice_give_the_same_draw() -> None:
    chances = inclusion(np.linspace(1, 50, 50), 12)
    profiles = np.random.default_rng(0).normal(size=(50, 4))
    trees = [likeness_tree(profiles, [()] * 50) for _ in range(2)]
    first, second, other = (
        draw(chances, trees[n % 2], np.random.default_rng(seed)) for n, seed in enumerate([7, 7, 8])
    )
    assert trees[0] == trees[1]
    assert first.tolist() == second.tolist()
    assert first.tolist() != other.tolist()
