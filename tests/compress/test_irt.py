"""Item response theory: gradients, known truths, and what must not blow up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.compress.irt import (
    Fit,
    ItemParameters,
    Prior,
    ability,
    binarised,
    cross_entropy,
    fit,
    posterior,
    sigmoid,
    threshold,
)
from fathom.compress.matrix import Floats
from fathom.compress.released import read_released, read_split
from fathom.types import FathomError


def simulated(models: int, items: int, dimensions: int, seed: int = 0) -> tuple[Floats, Floats]:
    """True chances, and responses drawn by them."""
    rng = np.random.default_rng(seed)
    abilities = rng.standard_normal((models, dimensions))
    truth = ItemParameters(rng.standard_normal((items, dimensions)), rng.standard_normal(items))
    chances = truth.chances(abilities)
    return chances, (rng.random(chances.shape) < chances).astype(np.float64)


def chances_of(fitted: Fit) -> Floats:
    return fitted.items.chances(fitted.abilities)


@pytest.mark.parametrize("bias", [True, False])
def test_gradients_are_those_of_the_objective(bias: bool) -> None:
    rng = np.random.default_rng(1)
    responses = rng.random((3, 5))
    responses[1, 2] = np.nan
    objective = posterior(responses, 2, Prior(0.7, 1.3, 2.1), bias, expected=rng.standard_normal((5, 2)))
    point = rng.standard_normal(3 * 2 + 5 * 2 + 5)
    gradient = objective(point)[1]
    steps = np.eye(len(point)) * 1e-6
    numeric = np.array([(objective(point + step)[0] - objective(point - step)[0]) / 2e-6 for step in steps])
    moving = len(point) if bias else len(point) - 5
    assert gradient[:moving] == pytest.approx(numeric[:moving], abs=1e-6)
    assert bias or not gradient[moving:].any()


def test_a_known_truth_is_recovered() -> None:
    chances, responses = simulated(models=80, items=300, dimensions=2)
    fitted = fit(responses, 2)
    assert fitted.converged
    assert np.corrcoef(chances.ravel(), chances_of(fitted).ravel())[0, 1] > 0.95
    # Better than what each item's share of right answers says, and nearly as good as the truth.
    plain = cross_entropy(responses, np.broadcast_to(_logit(responses.mean(axis=0)), responses.shape))
    assert fitted.loss < cross_entropy(responses, _logit(chances)) < plain


def test_held_out_responses_are_predicted_better_than_by_the_items_alone() -> None:
    chances, responses = simulated(models=40, items=300, dimensions=2, seed=3)
    hidden = np.random.default_rng(4).random(responses.shape) < 0.1
    fitted = fit(np.where(hidden, np.nan, responses), 2)
    logits = fitted.abilities @ fitted.items.discrimination.T - fitted.items.difficulty
    held_out = np.where(hidden, responses, np.nan)
    shares = (np.where(hidden, 0, responses).sum(axis=0) + 0.5) / ((~hidden).sum(axis=0) + 1)
    by_items = cross_entropy(held_out, np.broadcast_to(_logit(shares), responses.shape))
    assert cross_entropy(held_out, _logit(chances)) < cross_entropy(held_out, logits) < 0.9 * by_items


def _logit(chances: Floats) -> Floats:
    kept = np.clip(chances, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(kept / (1 - kept)))


def test_the_optimum_does_not_depend_on_where_the_search_begins() -> None:
    responses = simulated(models=12, items=60, dimensions=2)[1]
    start = np.random.default_rng(9).standard_normal((60, 2))
    first, second = fit(responses, 2, seed=0), fit(responses, 2, start=start, bias_start=np.ones(60), seed=1)
    assert chances_of(first) == pytest.approx(chances_of(second), abs=0.02)
    again = fit(responses, 2, seed=0)
    assert np.array_equal(first.items.discrimination, again.items.discrimination)


def test_items_that_all_pass_or_none_stay_finite() -> None:
    responses = np.zeros((6, 8))
    responses[:, :4] = 1.0
    responses[3:, 4:6] = 1.0  # separable: the better half passes
    fitted = fit(responses, 3)
    assert fitted.converged
    assert np.abs(fitted.items.difficulty).max() < 10
    assert np.abs(fitted.items.discrimination).max() < 10
    chances = chances_of(fitted)
    assert chances[:, :4].min() > 0.5 > chances[:, 6:].max()
    assert chances[3:, 4:6].min() > 0.5 > chances[:3, 4:6].max()


@pytest.mark.parametrize("dimensions", [1, 5, 10])
def test_fewer_models_than_dimensions(dimensions: int) -> None:
    responses = simulated(models=3, items=50, dimensions=2)[1]
    fitted = fit(responses, dimensions)
    assert fitted.converged
    rank = np.linalg.matrix_rank(fitted.items.discrimination, tol=0.05)
    assert rank <= 3  # three models tell at most three directions apart; the prior shrinks the others to 0
    assert np.isfinite(chances_of(fitted)).all()


def test_without_bias_difficulties_stay_zero() -> None:
    responses = simulated(models=5, items=20, dimensions=1)[1]
    assert not fit(responses, 2, bias=False, bias_start=np.ones(20)).items.difficulty.any()


def test_an_expected_discrimination_is_kept_where_nothing_speaks_against_it() -> None:
    responses = simulated(models=4, items=10, dimensions=1)[1]
    responses[:, 0] = np.nan
    expected = np.full((10, 2), 0.7)
    fitted = fit(responses, 2, expected=expected)
    assert fitted.items.discrimination[0] == pytest.approx([0.7, 0.7], abs=1e-3)


def test_the_ability_of_a_new_model_is_found_again() -> None:
    rng = np.random.default_rng(2)
    items = ItemParameters(rng.standard_normal((500, 3)), rng.standard_normal(500))
    truth = np.array([1.0, -0.5, 0.3])
    exact = items.chances(truth)  # continuous scores that are the chances themselves: the truth is the optimum
    assert ability(exact, items) == pytest.approx(truth, abs=1e-3)
    some = np.where(np.arange(500) < 60, exact, np.nan)
    assert ability(some, items) == pytest.approx(truth, abs=1e-3)
    assert np.linalg.norm(ability(some, items, prior=0.1)) < np.linalg.norm(truth)


def test_a_prior_holds_the_ability_of_a_model_that_passes_everything() -> None:
    items = ItemParameters(np.ones((30, 2)), np.zeros(30))
    assert np.abs(ability(np.ones(30), items, prior=1.0)).max() < 3
    assert np.isfinite(ability(np.ones(30), items)).all()


def test_the_difficulty_counts_as_often_as_the_parameters_say() -> None:
    once = ItemParameters(np.ones((4, 2)), np.full(4, 0.6))
    twice = ItemParameters(np.ones((4, 2)), np.full(4, 0.3), multiplicity=2)
    theta = np.array([0.4, -0.1])
    assert twice.chances(theta) == pytest.approx(once.chances(theta))
    assert once.chances(theta)[0] == pytest.approx(1 / (1 + np.exp(0.3)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_threshold_is_the_best_of_its_candidates(scores: list[float]) -> None:
    row = np.array([scores])
    cut = threshold(row)
    candidates = np.linspace(0.01, 0.99, 100)
    apart = [abs(float((row > one).mean() - row.mean())) for one in candidates]
    assert abs(float((row > cut).mean() - row.mean())) == pytest.approx(min(apart))
    assert threshold(row, "paper") == cut  # one model: both rules are one
    assert set(np.unique(binarised(row, cut))) <= {0.0, 1.0}


def test_the_two_rules_of_the_threshold_differ() -> None:
    # Over both models together any cut up to .6 is perfect; for each of them alone it is not.
    scores = np.array([[0.1, 0.1, 0.9, 0.9], [0.4, 0.4, 0.4, 0.8]])
    assert threshold(scores, "coded") >= 0.4
    with pytest.raises(FathomError, match="choose coded or paper"):
        threshold(scores, "other")  # type: ignore[arg-type]
    with pytest.raises(FathomError, match="needs scores"):
        threshold(np.full((2, 3), np.nan))


def test_gaps_stay_gaps() -> None:
    scores = np.array([[0.2, np.nan, 0.9]])
    assert np.isnan(binarised(scores, 0.5)).tolist() == [[False, True, False]]
    assert 0 < threshold(scores) < 1


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(FathomError, match="two models or more"):
        fit(np.ones((1, 4)), 2)
    with pytest.raises(FathomError, match="expected 1 or more"):
        fit(np.ones((3, 4)), 0)
    with pytest.raises(FathomError, match=r"expected \(4, 2\)"):
        fit(np.ones((3, 4)), 2, start=np.ones((4, 3)))
    with pytest.raises(FathomError, match="between 0 and 1"):
        fit(np.full((3, 4), 2.0), 2)
    with pytest.raises(FathomError, match="one item or more"):
        ability(np.full(4, np.nan), ItemParameters(np.ones((4, 1)), np.ones(4)))
    with pytest.raises(FathomError, match="3 scores for 4 items"):
        ability(np.ones(3), ItemParameters(np.ones((4, 1)), np.ones(4)))


def test_the_logistic_function_does_not_overflow() -> None:
    assert sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]


def test_the_threshold_gives_the_released_responses(shared: Path) -> None:
    folder = shared / "data" / "minilongbench"
    train, _ = read_split(folder)
    scores = read_released(folder).of_models(train).scores
    cut = threshold(scores)
    with np.load(folder / "binarized_train_responses.npz", allow_pickle=False) as arrays:
        assert np.array_equal(binarised(scores, cut), arrays["responses"])
    assert cut == pytest.approx(0.36636, abs=1e-5)
