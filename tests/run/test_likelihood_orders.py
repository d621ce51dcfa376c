"""Texts of a question, and the order that their likelihoods choose."""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise, permutations
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.run.likelihood.client import (
    Method,
    Name,
    best_chains,
    candidates,
    how_many,
    least_perplexed,
    perplexity,
    too_many,
)
from fathom.types import Ordering

THREE = Ordering("Before.", ("One.", "Two.", "Three."), "After.")


def test_all_orders_stand_between_what_is_before_and_after() -> None:
    texts = {candidate.name: candidate for candidate in candidates(THREE, "orders")}
    assert list(texts) == [(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)]
    found = texts[2, 3, 1]
    assert found.text == "Before.\n\nTwo.\n\nThree.\n\nOne.\n\nAfter."
    assert found.text[found.start :] == "Two.\n\nThree.\n\nOne.\n\nAfter."


def test_pairs_are_two_pieces_each_and_count_the_second() -> None:
    found = [
        (candidate.name, candidate.text, candidate.text[candidate.start :]) for candidate in candidates(THREE, "pairs")
    ]
    assert found[:5] == [
        ((0, 1), "Before.\n\nOne.", "One."),
        ((0, 2), "Before.\n\nTwo.", "Two."),
        ((0, 3), "Before.\n\nThree.", "Three."),
        ((1, 2), "One.\n\nTwo.", "Two."),
        ((1, 3), "One.\n\nThree.", "Three."),
    ]
    assert found[-1] == ((3, 4), "Three.\n\nAfter.", "After.")
    assert len(found) == how_many(3, "pairs") == 12


@pytest.mark.parametrize("method", ["orders", "pairs"])
def test_what_is_not_there_is_left_out(method: Method) -> None:
    bare = list(candidates(Ordering("", ("One.", "Two."), ""), method))
    assert all(not candidate.text.startswith("\n") and not candidate.text.endswith("\n") for candidate in bare)
    assert [(candidate.name, candidate.start) for candidate in bare] == (
        [((1, 2), 0), ((2, 1), 0)] if method == "orders" else [((0, 1), 0), ((0, 2), 0), ((1, 2), 6), ((2, 1), 6)]
    )


@given(st.integers(2, 5), st.sampled_from(["orders", "pairs"]))
def test_neighbours_share_as_much_as_any_arrangement_lets_them(segments: int, method: Method) -> None:
    ordering = Ordering("b", tuple(chr(ord("A") + i) * 3 for i in range(segments)), "a")
    texts = [candidate.text for candidate in candidates(ordering, method)]
    assert len(texts) == len(set(texts)) == how_many(segments, method)
    new = sum(len(text) - _shared(last, text) for last, text in pairwise(["", *texts]))
    # Every distinct beginning is new at least once, and here exactly once.
    assert new == len({text[:end] for text in texts for end in range(1, len(text) + 1)})


def _shared(first: str, second: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(map(len, (first, second)))
    )


def test_perplexity_is_what_it_is_called() -> None:
    assert perplexity(math.log(1 / 8) * 3, 3) == pytest.approx(8)
    assert perplexity(-1e6, 1) == math.inf
    # A longer text with the same mean is no less likely a choice than a shorter one.
    assert least_perplexed({(2, 1): (-30.0, 30), (1, 2): (-22.0, 20)}) == ((2, 1),)
    assert least_perplexed({(2, 1): (-2.0, 2), (1, 2): (-1.0, 1)}) == ((1, 2), (2, 1))


@pytest.mark.slow
@given(st.integers(1, 5), st.data())
def test_the_best_chain_is_the_best_of_all_orders(segments: int, data: st.DataObject) -> None:
    names: list[Name] = [
        (a, b) for a in range(segments + 1) for b in range(1, segments + 2) if a != b and (a, b) != (0, segments + 1)
    ]
    scores = {name: float(data.draw(st.integers(-3, 0))) for name in names}

    def total(order: Name) -> float:
        return sum(scores[pair] for pair in pairwise((0, *order, segments + 1)))

    orders = list(permutations(range(1, segments + 1)))
    best = {order for order in orders if total(order) == max(map(total, orders))}
    found = best_chains(segments, scores)
    assert set(found) <= best
    assert len(set(found)) == min(2, len(best))


def test_sums_of_the_same_numbers_in_another_order_are_equal() -> None:
    first, second = (-0.1, -0.2, -0.3), (-0.3, -0.2, -0.1)
    assert reduce(add, first) != reduce(add, second)  # from Python 3.12 on, `sum` compensates
    scores: dict[Name, float] = dict(zip(((0, 1), (1, 2), (2, 3)), first, strict=True))
    scores |= zip(((0, 2), (2, 1), (1, 3)), second, strict=True)
    assert best_chains(2, scores) == ((1, 2), (2, 1))


def test_twelve_segments_are_chained_and_more_are_not() -> None:
    order = (7, 3, 12, 1, 9, 5, 11, 2, 8, 4, 10, 6)
    near = set(pairwise((0, *order, 13)))
    scores: dict[Name, float] = {
        (a, b): -1.0 if (a, b) in near else -2.0 for a in range(13) for b in range(1, 14) if a != b
    }
    assert best_chains(12, scores) == (order,)
    assert too_many(12, "pairs", 120) == ""
    assert "at most 12" in too_many(13, "pairs", 120)
    assert "`most_orders`" in too_many(6, "orders", 120)
    assert too_many(5, "orders", 120) == too_many(6, "orders", 720) == ""
