"""Repeats: two sources of error, best of n and pass at n, against a known truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeated import frame
from simulated import row

from fathom.analysis import Repeats, breakdown, repeats
from fathom.analysis.questions import asked
from fathom.analysis.repeats import expected_best
from fathom.rows import to_frame
from fathom.stats.intervals import REPLICATES, clusters_of, jeffreys_interval, replicates_for


def of(scores: Sequence[Sequence[float | None]], **options: str) -> Repeats:
    (found,) = repeats(
        to_frame(
            row(value, item=item, epoch=epoch, status="ok" if value is not None else "incomplete")
            for item, values in enumerate(scores)
            for epoch, value in enumerate(values, 1)
        ),
        **options,  # type: ignore[arg-type]  # a test's own words
    )
    return found


def test_the_sources_by_hand() -> None:
    found = of([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.5, 1.0]])
    means = np.array([0.5, 1.0, 0.0, 0.75])
    assert (found.questions, found.runs, found.uneven, found.note) == (4, 2, 0, "")
    assert found.mean == pytest.approx(means.mean())
    assert found.error == pytest.approx(means.std(ddof=1) / 2)
    # Variances of the replies: 1/2, 0, 0, 1/8, each over two repeats.
    assert found.error_replies == pytest.approx(math.sqrt((0.5 + 0.125) / 2) / 4)
    assert found.error_questions**2 + found.error_replies**2 == pytest.approx(found.error**2)
    assert found.run_means == (0.625, 0.5)
    assert [(one.n, one.best_of, one.pass_at) for one in found.trend] == [(1, 0.625, 0.5), (2, 0.75, 0.75)]
    assert [(one.best_of_unbiased, one.pass_at_unbiased) for one in found.trend] == [(0.5625, 0.5), (0.75, 0.75)]


def test_repeats_that_differ_only_by_chance_leave_nothing_for_the_questions() -> None:
    found = of([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert (found.error, found.error_questions) == (0.0, 0.0)
    assert found.error_replies > 0
    assert found.interval.low < 0.5 < found.interval.high


def test_uneven_questions_stay_in_the_mean() -> None:
    scores: list[list[float | None]] = [
        [1.0, 0.0, 1.0],
        [0.0, 1.0, 0.0],
        [1.0, None, None],
        [None, None, None],
        [1.0, 1.0, None],
    ]
    found = of(scores, unanswered="drop")
    assert (found.questions, found.runs, found.uneven) == (4, 3, 2)
    assert found.mean == pytest.approx((2 / 3 + 1 / 3 + 1 + 1) / 4)
    assert found.note == (
        "questions without a score, left out: 1; questions with one scored repeat, assumed to vary like the others: 1"
    )
    # The question with one reply is given the mean of the others' variances: 1/3, 1/3 and 0.
    assert found.error_replies == pytest.approx(math.sqrt(1 / 9 + 1 / 9 + 2 / 9) / 4)
    assert [one.best_of for one in found.trend] == pytest.approx([0.75, 1.0, 1.0])
    # A question with fewer than n replies has the best of those, so that no question leaves.
    assert found.trend[1].best_of_unbiased == pytest.approx((1 + 2 / 3 + 1 + 1) / 4)
    assert found.trend[2].best_of_unbiased == 1.0
    zero = of(scores)
    assert (zero.questions, zero.uneven, zero.note) == (5, 0, "")
    assert zero.mean == pytest.approx((2 / 3 + 1 / 3 + 1 / 3 + 0 + 2 / 3) / 5)


def test_without_repeats_the_sources_cannot_be_told_apart() -> None:
    found = of([[1.0], [0.0], [1.0]])
    assert found.runs == 1
    assert found.error > 0
    assert math.isnan(found.error_replies)
    assert found.interval_replies is None
    assert math.isnan(found.error_questions)
    assert "cannot be separated" in found.note
    single = of([[1.0, 0.0]])
    assert math.isnan(single.error)
    assert math.isnan(single.error_questions)
    assert single.error_replies == pytest.approx(0.5)


def test_repeats_that_only_few_questions_have() -> None:
    found = of([[1.0], [0.0], [0.5, 1.0]])
    assert (found.runs, found.uneven, len(found.trend)) == (1, 0, 1)
    assert found.run_means == (0.5,)
    assert found.mean == pytest.approx((1 + 0 + 0.75) / 3)
    assert found.note == (
        "questions with one scored repeat, assumed to vary like the others: 2; "
        "some questions have 2 repeats, most have 1"
    )


def test_intervals_of_best_of_n_and_pass_at_n_are_each_of_their_own_figure() -> None:
    """Nothing passes, and every second best is good."""
    found = of([[0.5, 0.9]] * 8 + [[0.4, 0.8]] * 8)
    for one, low, high in zip(found.trend, (0.5, 0.7), (0.75, 0.95), strict=True):
        assert (one.pass_at, one.pass_at_interval) == (0.0, jeffreys_interval(0, 16))
        assert low - 0.15 < one.best_of_interval.low < one.best_of_unbiased < one.best_of_interval.high < high


@pytest.mark.parametrize(("scores", "low", "high"), [([1.0, 1.0], None, 1.0), ([0.0, 0.0], 0.0, None)])
def test_the_range_of_repeats_ends_where_scores_do(scores: list[float], low: float | None, high: float | None) -> None:
    found = of([[1.0, 0.0], scores]).interval_replies
    assert found is not None
    reach = 1.96 * 0.25  # of a variance of 1/2 over two replies to one of two questions
    assert found.low == (low if low is not None else pytest.approx(0.75 - reach, abs=1e-4))
    assert found.high == (high if high is not None else pytest.approx(0.25 + reach, abs=1e-4))


def test_a_mean_over_many_questions_of_several_tasks_has_fewer_replicates() -> None:
    """That of one task is in other tables too, with as many as there."""
    table = np.random.default_rng(2).random((450, 1))
    one = asked(frame(table))[0]
    assert one.replicates(clusters_of(one.means[:, None])) == REPLICATES
    halves = frame(table).with_columns(task=pl.Series(["kv", "qa"] * 225))
    (several,) = asked(halves)
    assert several.replicates(clusters_of(several.means[:, None])) == replicates_for(450) < REPLICATES
    assert several.replicates(clusters_of(several.means[:400, None])) == REPLICATES
    # One mean has one interval, in whichever table.
    (repeated,), (grouped,) = repeats(halves), breakdown(halves, by=("overall",))
    assert repeated.interval == grouped.interval


def test_a_repeat_without_any_score_is_no_number() -> None:
    found = of([[1.0, None], [0.0, None]], unanswered="drop")
    assert found.runs == 2
    assert found.run_means[0] == 0.5
    assert math.isnan(found.run_means[1])
    assert len(found.trend) == 1
    assert of([[1.0, None], [0.0, None]]).run_means == (0.5, 0.0)


def test_a_model_with_a_cell_that_is_not_measured_has_no_repeats() -> None:
    rows = [row(1.0, item=item, model=model, length=length) for item in range(3) for model in "ab" for length in (1, 2)]
    assert [one.model for one in repeats(to_frame(rows))] == ["a", "b"]
    rows[0] = row(None, status="error", model="a", length=1)
    assert [one.model for one in repeats(to_frame(rows))] == ["b"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(1, 6))
def test_the_expected_best_is_the_mean_over_all_choices(values: list[float], n: int) -> None:
    table = np.array([[*values, math.nan]])
    drawn = min(n, len(values))
    expected = np.mean([max(chosen) for chosen in combinations(values, drawn)])
    assert expected_best(table, n)[0] == pytest.approx(expected)


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from([None, 0.0, 0.3, 1.0]), min_size=4, max_size=4), min_size=1, max_size=6))
def test_more_tries_are_never_worse(scores: list[list[float | None]]) -> None:
    """Replies without a score leave the questions behind each n the same, so that no figure falls with n."""
    found = of([[1.0], *scores])
    for figures in ("best_of", "best_of_unbiased", "pass_at", "pass_at_unbiased"):
        values = [getattr(one, figures) for one in found.trend]
        assert all(later >= earlier - 1e-12 for earlier, later in pairwise(values))


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 12))
def test_passing_is_the_published_estimator(replies: int, right: int, n: int) -> None:
    right, n = min(right, replies), min(n, replies)
    table = np.array([[1.0] * right + [0.0] * (replies - right)])
    expected = 1 - math.comb(replies - right, n) / math.comb(replies, n)
    assert expected_best(table, n)[0] == pytest.approx(expected, abs=1e-12)


# -------------------------------------------------------------------------------------------- known truth

QUESTIONS, RUNS, DRAWS = 60, 3, 300
A, B = 2.0, 1.5
TRUTH = A / (A + B)
# Variance of a question's true share, and mean variance of one reply around it: shares are drawn from Beta(A, B).
OF_QUESTIONS = A * B / ((A + B) ** 2 * (A + B + 1))
OF_REPLIES = TRUTH * (1 - TRUTH) - OF_QUESTIONS


@pytest.fixture(scope="module")
def simulated() -> list[Repeats]:
    """One model on other questions every time: shares from Beta(A, B), replies right or wrong."""
    rng = np.random.default_rng(6)
    shares = rng.beta(A, B, (DRAWS, QUESTIONS, 1))
    scores = (rng.random((DRAWS, QUESTIONS, RUNS)) < shares).astype(float)
    rows = pl.concat([frame(table, f"m{number}") for number, table in enumerate(scores)])
    return repeats(rows)


@pytest.mark.slow
@pytest.mark.long
def test_intervals_hold_the_true_mean_as_often_as_they_say(simulated: list[Repeats]) -> None:
    held = np.mean([one.interval.low <= TRUTH <= one.interval.high for one in simulated])
    assert 0.92 <= held <= 0.98  # 0.95 with three standard errors of 300 draws


@pytest.mark.slow
def test_both_sources_have_their_known_size(simulated: list[Repeats]) -> None:
    questions = np.mean([one.error_questions**2 for one in simulated])
    replies = np.mean([one.error_replies**2 for one in simulated])
    both = np.mean([one.error**2 for one in simulated])
    assert questions == pytest.approx(OF_QUESTIONS / QUESTIONS, rel=0.05)
    assert replies == pytest.approx(OF_REPLIES / RUNS / QUESTIONS, rel=0.05)
    assert both == pytest.approx(np.var([one.mean for one in simulated]), rel=0.25)


@pytest.mark.slow
def test_asking_the_same_questions_again_moves_the_mean_by_the_error_of_replies() -> None:
    rng = np.random.default_rng(7)
    shares = rng.beta(A, B, (1, QUESTIONS, 1))
    scores = (rng.random((150, QUESTIONS, RUNS)) < shares).astype(float)
    found = repeats(pl.concat([frame(table, f"m{number}") for number, table in enumerate(scores)]))
    spread = np.std([one.mean for one in found])
    assert np.sqrt(np.mean([one.error_replies**2 for one in found])) == pytest.approx(spread, rel=0.2)
    assert np.mean([one.error for one in found]) > 1.2 * spread
    intervals = [one.interval_replies for one in found if one.interval_replies]
    held = np.mean([interval.low <= shares.mean() <= interval.high for interval in intervals])
    assert 0.9 <= held <= 1.0  # 0.95 with three standard errors of 150 draws


@pytest.mark.slow
def test_estimators_from_many_repeats_agree_with_the_truth() -> None:
    """Of 6 repeats, best of n and pass at n against those of 60 repeats of the same 4,000 questions."""
    rng = np.random.default_rng(8)
    shares = rng.beta(1, 3, (4000, 1))
    # Half credit for some replies, so that best of n and pass at n are two things.
    many = np.round(2 * np.minimum(1, rng.random((4000, 60)) * 2 * shares)) / 2
    few, whole = (repeats(frame(table))[0] for table in (many[:, :6], many))
    for n in range(1, 7):
        one, truth = few.trend[n - 1], whole.trend[n - 1]
        assert one.best_of_unbiased == pytest.approx(truth.best_of_unbiased, abs=0.005)
        assert one.pass_at_unbiased == pytest.approx(truth.pass_at_unbiased, abs=0.005)
        assert one.best_of == pytest.approx(truth.best_of_unbiased, abs=0.02)
        assert one.best_of_interval.low <= truth.best_of_unbiased <= one.best_of_interval.high
        assert one.pass_at_interval.low <= truth.pass_at_unbiased <= one.pass_at_interval.high
    assert few.trend[-1].best_of == pytest.approx(few.trend[-1].best_of_unbiased)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_both_estimators_are_unbiased(n: int) -> None:
    """Over 20,000 questions with the share p: pass at n is 1 - (1 - p)^n, best of n of uniform scores n / (n + 1)."""
    rng = np.random.default_rng(n)
    right = (rng.random((20_000, 4)) < 0.3).astype(float)
    assert expected_best(right, n).mean() == pytest.approx(1 - 0.7**n, abs=0.008)
    assert expected_best(rng.random((20_000, 4)), n).mean() == pytest.approx(n / (n + 1), abs=0.006)
