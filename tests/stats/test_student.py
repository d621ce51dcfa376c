"""Student's distribution, against scipy."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit

from fathom.stats.student import lower_tail, upper_quantile


@given(st.floats(-60, 60), st.one_of(st.integers(1, 100_000).map(float), st.floats(0.5, 1000)))
def test_the_lower_tail_is_that_of_scipy(t: float, degrees: float) -> None:
    assert lower_tail(t, degrees) == pytest.approx(float(stdtr(degrees, t)), rel=1e-7, abs=1e-290)


@pytest.mark.parametrize(
    ("t", "degrees", "probability"),
    [
        (0.0, 3, 0.5),
        (-1.0, 1, 0.25),  # Cauchy's distribution
        (1.0, 1, 0.75),
        (-math.sqrt(2), 2, 0.14644660940672624),  # (1 - t / sqrt(2 + t^2)) / 2
        (-math.inf, 5, 0.0),
        (math.inf, 5, 1.0),
    ],
)
def test_known_values(t: float, degrees: float, probability: float) -> None:
    assert lower_tail(t, degrees) == pytest.approx(probability, rel=1e-12)


@given(st.floats(1e-6, 0.5), st.integers(1, 10_000))
def test_the_upper_quantile_is_that_of_scipy(share: float, degrees: int) -> None:
    assert upper_quantile(share, degrees) == pytest.approx(-float(stdtrit(degrees, share)), rel=1e-6, abs=1e-6)
