"""Agreement of raters: equal to independent libraries, and intervals that contain the truth as often as they say."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.stats.agreement import SCALES, Measure, Scale, agreement, fleiss_kappa, krippendorff_alpha
from fathom.types import FathomError

NAN = math.nan
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", the example with missing data.
PAPER = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
# Fleiss (1971) as retold everywhere: 10 subjects, 14 raters, 5 categories.
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)


def ratings_of(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.array([[kind for kind, count in enumerate(row) for _ in range(count)] for row in counts], dtype=float)


def drawn(rng: np.random.Generator, items: int, raters: int, missing: float = 0.0) -> np.ndarray[Any, Any]:
    found = rng.integers(1, 5, (items, 1)) * np.ones((1, raters))
    noise = rng.random(found.shape) < 0.4
    found[noise] = rng.integers(1, 5, noise.sum())
    found[rng.random(found.shape) < missing] = NAN
    return found


@pytest.mark.parametrize(("scale", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_papers_example_of_alpha(scale: Scale, value: float) -> None:
    assert krippendorff_alpha(PAPER, scale) == pytest.approx(value, abs=5e-4)


def test_the_papers_example_of_kappa() -> None:
    assert fleiss_kappa(ratings_of(FLEISS)) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(8))
def test_alpha_equals_an_independent_library(scale: Scale, seed: int) -> None:
    krippendorff = pytest.importorskip("krippendorff", reason="pip install 'fathom-eval[test]'")
    rng = np.random.default_rng(seed)
    ratings = drawn(rng, items=30, raters=int(rng.integers(2, 6)), missing=0.25)
    theirs = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=scale)
    assert krippendorff_alpha(ratings, scale) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_kappa_equals_an_independent_library(seed: int) -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="pip install 'fathom-eval[test]'")
    rng = np.random.default_rng(seed)
    ratings = drawn(rng, items=30, raters=int(rng.integers(2, 6)))
    table, _ = rater.aggregate_raters(ratings)
    assert fleiss_kappa(ratings) == pytest.approx(rater.fleiss_kappa(table), abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(SCALES), st.floats(-50, 50), st.floats(0.1, 50))
@settings(max_examples=50, deadline=None)
def test_alpha_depends_neither_on_order_nor_on_unit(seed: int, scale: Scale, start: float, unit: float) -> None:
    rng = np.random.default_rng(seed)
    ratings = drawn(rng, items=12, raters=3, missing=0.2)
    value = krippendorff_alpha(ratings, scale)
    mixed = rng.permuted(ratings[rng.permutation(len(ratings))], axis=1)
    assert krippendorff_alpha(start + unit * mixed, scale) == pytest.approx(value, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("scale", SCALES)
def test_full_agreement_is_1_with_an_interval_of_some_width(scale: Scale) -> None:
    ratings = np.array([[1.0, 1, 1], [2, 2, 2], [3, 3, 3]] * 5)
    found = agreement(ratings, np.random.default_rng(0), scale=scale)
    assert found.value == pytest.approx(1)
    assert found.interval.high == pytest.approx(1)
    assert 0.6 < found.interval.low < 0.95
    assert (found.same, found.items, found.ratings) == (1, 15, 45)


def test_equal_ratings_only_have_no_value() -> None:
    found = agreement(np.ones((5, 3)), np.random.default_rng(0))
    assert found.value is None
    assert found.interval.low == -math.inf
    assert math.isnan(fleiss_kappa(np.ones((5, 3))))


def test_items_with_one_rating_say_nothing() -> None:
    ratings = np.array([[1.0, 1, NAN], [2, 1, NAN], [2, 2, 2], [1, NAN, NAN], [NAN, NAN, NAN]])
    found = agreement(ratings, np.random.default_rng(0))
    assert (found.items, found.ratings) == (3, 7)
    assert found.value == pytest.approx(krippendorff_alpha(ratings[:3]))


def test_kappa_and_nominal_alpha_differ_by_the_correction_only() -> None:
    ratings = drawn(np.random.default_rng(3), items=40, raters=3)
    kappa, alpha = fleiss_kappa(ratings), krippendorff_alpha(ratings)
    assert 1 - alpha == pytest.approx((1 - kappa) * (120 - 1) / 120)


@pytest.mark.parametrize("measure", ["kappa", "alpha"])
def test_ratings_of_one_answer_are_resampled_together(measure: Measure) -> None:
    def half_width(ratings: Any, groups: Any = None) -> float:
        found = agreement(ratings, np.random.default_rng(1), measure=measure, groups=groups)
        return (found.interval.high - found.interval.low) / 2

    once = drawn(np.random.default_rng(5), items=60, raters=3)
    copied, answers = np.repeat(once, 5, axis=0), np.repeat(np.arange(60), 5)
    # Five equal ratings of an answer say as much as one, and those of different answers more.
    assert half_width(copied, answers) == pytest.approx(half_width(once), rel=0.03)
    assert half_width(copied) < 0.6 * half_width(once)
    assert half_width(copied, np.arange(300)) == half_width(copied)
    # Items with one rating are left out, with their groups.
    alone = np.concatenate([np.full((7, 3), NAN), copied])
    alone[:7, 0] = 1
    assert half_width(alone, np.concatenate([np.arange(100, 107), answers])) == half_width(copied, answers)


def test_the_pseudo_item_lets_raters_agree_and_differ() -> None:
    """So the interval includes more and less agreement than was seen, and it is the same for the same seed."""
    ratings = np.tile([[1.0, 1, 1], [2, 2, 2], [1, 2, 1], [2, 2, 1]], (5, 1))
    found = [agreement(ratings, np.random.default_rng(seed)).interval for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert found[0].low < 0.05
    assert found[0].high > 0.6
    agreed = agreement(np.tile([[1.0, 1, 1], [2, 2, 2]], (5, 1)), np.random.default_rng(1)).interval
    assert 0.3 < agreed.low < 0.9
    assert agreed.high == 1
    differing = agreement(np.tile([[1.0, 2], [2, 1]], (10, 1)), np.random.default_rng(1))
    assert differing.value is not None
    assert differing.value < -0.8
    assert differing.interval.high > -0.8


@pytest.mark.parametrize(
    ("ratings", "options", "message"),
    [
        (np.full((4, 3), NAN), {}, "two ratings or more"),
        (np.array([[1.0, 2, 2], [1, 1, NAN]]), {"measure": "kappa"}, "2 to 3; use Krippendorff's alpha"),
        (np.ones((4, 3)), {"measure": "kappa", "scale": "ordinal"}, "nominal"),
        (np.ones((4, 3)), {"scale": "ratio"}, "expected nominal, ordinal, interval"),
        (np.ones(4), {}, "items x raters"),
        (np.full((4, 3), math.inf), {}, "NaN"),
        (np.arange(300.0).reshape(150, 2), {"scale": "ordinal"}, "use interval"),
    ],
)
def test_what_cannot_be_computed_is_refused(ratings: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FathomError, match=message):
        agreement(ratings, np.random.default_rng(0), **options)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("agreeing", [0.5, 0.9])
def test_coverage_of_the_intervals(scale: Scale, agreeing: float) -> None:
    """Of 300 studies with 40 items and three raters, about 95% of the intervals contain the true value."""
    rng = np.random.default_rng(7)
    truth = krippendorff_alpha(studied(rng, 100_000, agreeing), scale)
    inside = 0
    for _ in range(300):
        found = agreement(studied(rng, 40, agreeing), rng, scale=scale, replicates=400).interval
        inside += found.low <= truth <= found.high
    assert 0.91 <= inside / 300 <= 0.99


def studied(rng: np.random.Generator, items: int, agreeing: float) -> np.ndarray[Any, Any]:
    """Ratings 1 to 3 by three raters, of whom each sees the true value with this probability and else guesses."""
    truth = rng.choice([1.0, 2.0, 3.0], (items, 1), p=[0.2, 0.3, 0.5])
    guessed = rng.choice([1.0, 2.0, 3.0], (items, 3), p=[0.2, 0.3, 0.5])
    return np.where(rng.random((items, 3)) < agreeing, truth, guessed)
