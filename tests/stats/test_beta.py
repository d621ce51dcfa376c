"""The beta distribution against closed forms; against scipy in ``test_naive.py``."""

from __future__ import annotations

import math

import pytest
import scipy

from fathom.stats.beta import beta_lower_tail, beta_quantile, split_lower_tail


def test_the_uniform_distribution_and_powers() -> None:
    for x in (0.001, 0.25, 0.5, 0.999):
        assert beta_lower_tail(x, 1, 1) == pytest.approx(x, rel=1e-12)
        assert beta_lower_tail(x, 3, 1) == pytest.approx(x**3, rel=1e-12)
        assert beta_lower_tail(x, 1, 3) == pytest.approx(1 - (1 - x) ** 3, rel=1e-12)
        assert beta_lower_tail(x, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)), rel=1e-12)


def test_nothing_is_below_0_and_everything_below_1() -> None:
    assert beta_lower_tail(0, 2, 3) == beta_lower_tail(-0.5, 2, 3) == 0
    assert beta_lower_tail(1, 2, 3) == beta_lower_tail(1.5, 2, 3) == 1
    assert split_lower_tail(0.0, 1.0, 2, 3) == 0
    assert split_lower_tail(1.0, 0.0, 2, 3) == 1


@pytest.mark.parametrize(("a", "b"), [(0.5, 5.5), (5.5, 0.5), (40, 60), (700, 300), (2, 3)])
def test_tails_keep_their_relative_precision(a: float, b: float) -> None:
    for x in (1e-6, 0.01, a / (a + b), (a + 1) / (a + b + 2), 0.5, 0.99):
        assert beta_lower_tail(x, a, b) == pytest.approx(float(scipy.stats.beta.cdf(x, a, b)), rel=1e-10, abs=1e-300)
    # One minus a value that is too near to 1 to be told from it.
    assert split_lower_tail(1e-30, 1.0, 0.5, b) == pytest.approx(float(scipy.stats.beta.cdf(1e-30, 0.5, b)), rel=1e-10)


def test_tails_of_tosses_are_those_of_the_binomial_distribution() -> None:
    for wins, count in ((1, 1), (3, 5), (60, 100), (600, 1000), (2700, 5000)):
        tail = beta_lower_tail(0.5, wins, count - wins + 1)
        assert tail == pytest.approx(float(scipy.stats.binom.sf(wins - 1, count, 0.5)), rel=1e-10)


def test_quantiles() -> None:
    assert beta_quantile(0.3, 1, 1) == pytest.approx(0.3, abs=1e-15)
    assert beta_quantile(0.027, 3, 1) == pytest.approx(0.3, abs=1e-14)
    assert beta_quantile(0.5, 7, 7) == pytest.approx(0.5, abs=1e-14)
    for share in (0.001, 0.025, 0.5, 0.975):
        for a, b in ((5.5, 0.5), (0.5, 5.5), (20.5, 5.5), (3.5, 997.5)):
            assert beta_quantile(share, a, b) == pytest.approx(float(scipy.stats.beta.ppf(share, a, b)), abs=1e-11)
