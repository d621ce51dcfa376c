"""The search for the length up to which a model scores enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.stats.length_search import LengthSearch, falling_curves

LENGTHS = [round(1024 * 2 ** (step / 4)) for step in range(17)]
LOG20 = math.log(20)


def searched(seed: int, means: np.ndarray, *, within: float = 1.5, most: int = 600) -> tuple[LengthSearch, int]:
    rng, search, asked = np.random.default_rng(seed), LengthSearch(LENGTHS, 0.856), 0
    while asked < most and not search.is_within(within) and search.falling:
        place = search.next_length(within)
        search.add(place, float(rng.random() < means[place]))
        asked += 1
    return search, asked


@given(st.lists(st.tuples(st.integers(0, 16), st.floats(0, 1)), min_size=1, max_size=40), st.floats(0.1, 0.9))
def test_the_money_against_a_gap_is_that_of_bets_on_its_two_sides(
    scores: list[tuple[int, float]], threshold: float
) -> None:
    """Computed plainly for each gap: a stake above the threshold at lengths after it, below it at those before."""
    search = LengthSearch(LENGTHS, threshold)
    money, most = [1.0] * 18, [1.0] * 18
    for place, score in scores:
        up, down = search._stakes()
        assert 0 <= up[place] < 1 / threshold
        assert 0 <= down[place] < 1 / (1 - threshold)
        search.add(place, score)
        for gap in range(18):
            bet = up[place] * (score - threshold) if place >= gap else down[place] * (threshold - score)
            money[gap] *= 1 + bet
            most[gap] = max(most[gap], money[gap])
    assert np.exp(search.money) == pytest.approx(most, rel=1e-9)


def test_curves_fall_and_cross_the_threshold_where_they_say() -> None:
    for threshold in (0.3, 0.856):
        curves = falling_curves(LENGTHS, threshold)
        assert (np.diff(curves.means, axis=1) <= 1e-12).all()
        passed = (curves.means >= threshold - 1e-9).sum(axis=1)
        assert (passed == np.searchsorted(LENGTHS, curves.crossing * (1 + 1e-9), side="right")).all()


def test_a_window_between_two_lengths_is_found_with_few_questions() -> None:
    means = np.where(np.array(LENGTHS) <= 5000, 0.98, 0.02)
    search, asked = searched(1, means)
    assert search.interval.low < 5000 < search.interval.high <= 1.5 * search.interval.low
    assert search.interval.low <= search.estimate <= search.interval.high
    assert asked < 150  # the grid of a report needs 20 at each of 17 lengths


def test_an_unknown_score_counts_as_the_worst_for_either_side() -> None:
    unknown, wrong, right = (LengthSearch(LENGTHS, 0.856) for _ in range(3))
    unknown.add(8, 0.0, 1.0)
    wrong.add(8, 0.0)
    right.add(8, 1.0)
    assert (unknown.money <= np.minimum(wrong.money, right.money) + 1e-12).all()


@pytest.mark.slow
def test_the_true_place_is_rarely_excluded_at_any_look() -> None:
    """At most 5 of 100: 8 of 60 or more have a probability of 1%."""
    means = 0.1 + 0.88 / (1 + np.exp((np.log2(LENGTHS) - 12.3) / 0.3))
    truth, missed = int((means >= 0.856).sum()), 0
    for seed in range(60):
        search, _ = searched(seed, means, most=150)
        missed += search.money[truth] >= LOG20
    assert missed < 8


def test_a_model_that_passes_or_fails_everywhere_has_no_bound() -> None:
    for mean, low, high in ((1.0, LENGTHS[-1], math.inf), (0.0, 0.0, LENGTHS[0])):
        search, asked = searched(3, np.full(17, mean))
        assert (search.interval.low, search.interval.high) == (low, high)
        assert search.is_within(1.5)
        assert asked < 100


def test_scores_that_rise_with_length_are_noticed() -> None:
    search = LengthSearch(LENGTHS, 0.856)
    for _ in range(200):
        search.add(2, 0.0)
        search.add(12, 1.0)
    assert not search.falling
