"""The sign-flip test against closed forms; against full enumeration in ``test_naive.py``."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from fathom.stats import flips
from fathom.stats.flips import DRAWN, ENUMERATED, flip_p_value, random_signs, sign_p_value


def test_no_difference_has_p_1() -> None:
    assert flip_p_value(np.empty(0)) == flip_p_value(np.zeros(5)) == 1
    assert flip_p_value(np.array([0.5, -0.5, 0.25, -0.25])) == 1
    assert flip_p_value(np.array([0.1, 0.2, -0.3])) == 1  # which sums to 5e-17


@pytest.mark.parametrize("size", [1.0, 0.3, 1e-9])
def test_differences_of_one_size_are_the_sign_test(size: float) -> None:
    assert flip_p_value(np.array([size] * 3)) == pytest.approx(0.25)
    assert flip_p_value(np.array([-size] * 3)) == pytest.approx(0.25)
    assert flip_p_value(np.array([size] * 5 + [-size])) == pytest.approx(2 * 7 / 64)
    assert flip_p_value(np.array([size])) == 1
    assert flip_p_value(np.array([size] * 60 + [-size] * 40)) == pytest.approx(2 * scipy.stats.binom.sf(59, 100, 0.5))
    assert flip_p_value(np.array([size] * 900 + [-size] * 700)) == pytest.approx(
        2 * scipy.stats.binom.sf(899, 1600, 0.5)
    )


def test_sign_test() -> None:
    assert sign_p_value(1, 1) == 1
    assert sign_p_value(2, 4) == 1
    assert sign_p_value(10, 10) == pytest.approx(2 / 1024)
    assert sign_p_value(8, 10) == pytest.approx(2 * 56 / 1024)


def test_sizes_that_differ_by_their_summation_only_are_one_size() -> None:
    values = np.array([0.1 + 0.2, 0.3, 0.3, -(0.1 + 0.2)])
    assert flip_p_value(values) == pytest.approx(sign_p_value(3, 4))
    assert flip_p_value(np.array([1.0, 1e-12, -1e-12])) == 1  # two that are nothing but rounding
    assert flip_p_value(np.array([1.0, 1.0, 1.0, 1e-12])) == pytest.approx(0.25)


def test_sums_that_are_equal_count_as_large() -> None:
    """.3 + .1 - .1 against .3: ties must not depend on the order of a summation."""
    values = np.array([0.3, 0.1, 0.1, -0.1])
    # |sum| >= .4: both signs of (+, two or more of three) 4 of 8, and none of (-, ...).
    assert flip_p_value(values) == pytest.approx(0.5)
    assert flip_p_value(values[::-1]) == pytest.approx(0.5)
    assert flip_p_value(-values) == pytest.approx(0.5)


def test_all_sign_vectors_are_tried_up_to_a_number_of_clusters() -> None:
    sizes = np.linspace(1, 1.5, ENUMERATED)
    assert flip_p_value(sizes) == 2 / 2**ENUMERATED
    # Of one more, sign vectors are drawn: the share includes the observed one.
    assert flip_p_value(np.linspace(1, 1.5, ENUMERATED + 1)) >= 1 / (1 + DRAWN)


def test_zeros_do_not_count_as_clusters() -> None:
    values = np.linspace(1, 1.5, ENUMERATED)
    assert flip_p_value(np.concatenate([np.zeros(50), values])) == flip_p_value(values)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.25])
def test_random_signs_agree_with_the_normal_distribution(shift: float) -> None:
    """60 clusters: the sum of random signs is nearly normal, with variance sum c^2."""
    values = np.random.default_rng(4).normal(shift, 0.5, 60)
    expected = 2 * scipy.stats.norm.sf(abs(values.sum()) / math.sqrt(float((values**2).sum())))
    assert flip_p_value(values) == pytest.approx(expected, abs=0.02)
    assert flip_p_value(-values) == flip_p_value(values)
    assert flip_p_value(3 * values) == pytest.approx(flip_p_value(values), abs=1e-3)


def test_no_drawn_p_value_is_below_its_resolution() -> None:
    values = np.linspace(1, 2, 100)
    assert flip_p_value(values) == 1 / (1 + DRAWN)


def test_many_clusters_use_the_normal_distribution() -> None:
    values = np.random.default_rng(5).normal(0.05, 0.5, 3000)
    observed, error = abs(float(values.sum())), math.sqrt(float((values**2).sum()))
    assert flip_p_value(values) == pytest.approx(2 * scipy.stats.norm.sf(observed / error), rel=1e-2)
    assert flip_p_value(values + 1) < 1e-12


def test_the_normal_distribution_is_corrected_for_steps() -> None:
    """Half a step, as for a binomial distribution: sizes 1 and 1/2 in equal numbers, sums in steps of 1."""
    values = np.array([1.0] * 330 + [-1.0] * 270 + [0.5] * 300 + [-0.5] * 300)
    ones, halves = scipy.stats.binom.pmf(range(601), 600, 0.5), scipy.stats.binom.pmf(range(601), 600, 0.5)
    # P(|X + Y / 2| >= 60) for X and Y sums of 600 signs each.
    exact = 0.0
    for first in range(601):
        x = 2 * first - 600
        y = 2 * np.arange(601) - 600
        exact += ones[first] * halves[np.abs(x + y / 2) >= 60].sum()
    assert flip_p_value(values) == pytest.approx(exact, rel=0.01)


@pytest.mark.slow
def test_a_few_large_differences_among_many_are_drawn() -> None:
    """Far from normal: the signs of eight large ones agree in 2 of 256, half of these with a larger sum of the rest."""
    rest = np.random.default_rng(6).uniform(-1e-4, 1e-4, 2000)
    values = np.concatenate([np.full(8, 1.0), rest - rest.mean()])
    assert flip_p_value(values) == pytest.approx(1 / 256, abs=0.002)


def test_random_signs_of_fewer_clusters_are_the_first_of_more() -> None:
    many, few = random_signs(150), random_signs(20)
    assert many.shape == (DRAWN, 150)
    assert (many[:, :20] == few).all()
    assert (random_signs(64) == many[:, :64]).all()
    assert np.unique(many).tolist() == [-1, 1]
    assert abs(many.mean()) < 0.005
    assert np.abs(np.corrcoef(many[:, 40:90].T) - np.eye(50)).max() < 0.06  # blocks are independent


@pytest.mark.slow
def test_false_alarms_of_the_test() -> None:
    """Two equal models, 30 items with luck shared over lengths: at most 5% below .05."""
    rng, alarms = np.random.default_rng(7), 0
    for _ in range(600):
        values = rng.normal(size=(30, 1)) + 0.3 * rng.normal(size=(30, 4))
        alarms += flip_p_value(values.mean(axis=1) * rng.random(30)) <= 0.05
    assert 0.025 <= alarms / 600 <= 0.075


def test_all_signs_are_all_of_them() -> None:
    signs = flips._all_signs(3)
    assert sorted(map(tuple, signs.tolist())) == sorted((a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1))


def test_rounding_is_no_difference() -> None:
    equal = np.array([0.1 + 0.2 - 0.3, 0.0, 0.7 - 0.1 - 0.6, 1e-16, 2e-16]) / 5
    assert np.abs(equal).max() > 0
    assert flip_p_value(equal) == 1
    assert flip_p_value(np.array([0.25, *equal])) == flip_p_value(np.array([0.25]))
