"""Kendall's tau and neighbours of orders, against scipy and over all orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from fathom.analysis.answers import adjacent_share, kendall_tau, order_of


@given(
    st.integers(2, 12).flatmap(lambda n: st.tuples(st.permutations(range(1, n + 1)), st.permutations(range(1, n + 1))))
)
def test_tau_is_that_of_scipy(pair: tuple[list[int], list[int]]) -> None:
    answered, true = pair
    places = [[order.index(part) for part in range(1, len(true) + 1)] for order in (answered, true)]
    assert kendall_tau(answered, true) == pytest.approx(scipy.stats.kendalltau(*places).statistic)
    assert kendall_tau(true, true) == adjacent_share(true, true) == 1
    assert kendall_tau(true[::-1], true) == -1
    assert kendall_tau(answered, true) == kendall_tau(true, answered)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_mean_over_all_orders_is_chance(n: int) -> None:
    true = list(range(1, n + 1))
    every = list(itertools.permutations(true))
    assert np.mean([kendall_tau(one, true) for one in every]) == pytest.approx(0)
    assert np.mean([adjacent_share(one, true) for one in every]) == pytest.approx(1 / n)


@given(st.text(alphabet="[]0123456789, -A.é", max_size=30))
def test_an_order_is_a_list_of_different_numbers(text: str) -> None:
    found = order_of(text)
    if found is not None:
        assert len(found) == len(set(found)) >= 2
        assert order_of(str(list(found))) == found
    assert order_of(None) is None


@pytest.mark.parametrize("text", ["", "[]", "[3]", "[1, 1]", "3142", "[1, 2", "[1, true]", "[1, 2.0]", "[[1, 2]]"])
def test_what_is_no_order(text: str) -> None:
    assert order_of(text) is None
