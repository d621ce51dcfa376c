"""The default choice of items: budgets, weights, costs, and benchmarks of which little or everything is taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.compress.design import SHARED, Unit, design, select, strata_of, targets_of
from fathom.compress.estimates import estimate
from fathom.compress.matrix import checked_matrix
from fathom.types import FathomError
from made_scores import made_scores


@given(st.integers(0, 50), st.integers(0, 7), st.integers(1, 60), st.booleans())
def test_a_subset_is_a_probability_sample(seed: int, models: int, budget: int, binary: bool) -> None:
    matrix = made_scores(7, 60, seed=seed, binary=binary).of_models(range(models))
    subset = select(matrix, budget, seed=seed)
    assert len({member.item for member in subset.members}) == len(subset.members) == budget
    assert (subset.method, subset.design["budget"], subset.design["seed"]) == ("sampled", budget, seed)
    shares = dict(zip(matrix.items, matrix.weights, strict=True))
    for member in subset.members:
        assert member.probability is not None
        assert member.weight == pytest.approx(shares[member.item] / member.probability)
        assert member.item.startswith(member.stratum)


def test_weights_sum_to_one_in_the_mean() -> None:
    matrix = made_scores(8)
    made = design(matrix, 30)
    weights = made.targets.shares[0] / made.chances
    sums = np.array([weights[replace(made, seed=seed).sample()].sum() for seed in range(300)])
    assert sums.mean() == pytest.approx(1.0, abs=4 * sums.std() / np.sqrt(300))
    assert sums.std() < 0.2


def test_items_that_tell_models_apart_are_drawn_more_often() -> None:
    matrix = made_scores(10)
    scores = matrix.scores.copy()
    scores[:, ::4] = 0.5  # one task in which all are alike
    made = design(replace(matrix, scores=scores), 30)
    assert made.chances[::4].max() < 0.5 * np.delete(made.chances, slice(None, None, 4)).min()
    assert made.chances.min() > 0


@pytest.mark.parametrize("budget", [20.0, 400.0, 3000.0])
def test_a_budget_of_costs_is_kept_on_average(budget: float) -> None:
    costs = np.where(np.arange(120) % 4 == 0, 100.0, np.where(np.arange(120) % 4 == 1, 10.0, 1.0))
    matrix = replace(made_scores(8), costs=costs)
    made = design(matrix, budget, unit="cost")
    assert made.chances @ costs == pytest.approx(budget)
    spent = np.array([costs[replace(made, seed=seed).sample()].sum() for seed in range(200)])
    assert spent.mean() == pytest.approx(budget, abs=4 * spent.std() / np.sqrt(200) + 1e-9)
    # What costs a hundred times as much is drawn a tenth as often.
    plain, open_ones = design(matrix, 20), (made.chances < 1) & (made.chances > 0)
    ratio = made.chances / plain.chances * np.sqrt(costs)
    assert ratio[open_ones] == pytest.approx(np.full(int(open_ones.sum()), ratio[open_ones][0]), rel=1e-6)


@pytest.mark.parametrize(
    ("budget", "unit", "message"),
    [
        (0, "items", "a budget of 0: expected a whole number of items, 1 to 120"),
        (121, "items", "a budget of 121: .* 1 to 120"),
        (2.5, "items", "a budget of 2.5: expected a whole number"),
        (float("nan"), "items", "a budget of nan"),
        (float("inf"), "items", "a budget of inf"),
        (1.5, "cost", "a budget of 1.5: expected a cost between the cheapest item's and that of all, 2 to 240"),
        (241, "cost", "a budget of 241"),
    ],
)
def test_impossible_budgets_are_refused(budget: float, unit: Unit, message: str) -> None:
    matrix = replace(made_scores(5), costs=np.full(120, 2.0))
    with pytest.raises(FathomError, match=message):
        select(matrix, budget, unit=unit)


def test_a_budget_that_draws_nothing_is_refused() -> None:
    matrix = replace(made_scores(5), costs=np.where(np.arange(120) == 0, 1.0, 100.0))
    empty = [seed for seed in range(20) if not len(design(matrix, 1.0, unit="cost", seed=seed).sample())]
    assert empty
    with pytest.raises(FathomError, match=f"a budget of 1 drew no item with seed {empty[0]}: raise it"):
        select(matrix, 1.0, unit="cost", seed=empty[0])


def test_without_known_models_shares_decide() -> None:
    matrix = made_scores(0)
    made = design(matrix, 24)
    assert made.chances == pytest.approx(matrix.weights * 24)
    subset = select(matrix, 24)
    strata = [member.stratum for member in subset.members]
    assert {name: strata.count(name) for name in strata} == {"t0": 6, "t1": 6, "t2": 6, "t3": 6}
    assert subset.provenance["models"] == []


def test_one_item_stands_for_itself() -> None:
    matrix = checked_matrix("made", ["m", "n"], ["x"], np.array([[0.25], [1.0]]), tasks=[""], categories=[""])
    subset = select(matrix, 1)
    assert [(member.item, member.weight, member.probability) for member in subset.members] == [("x", 1.0, 1.0)]
    (first, second) = estimate(subset, matrix, matrix)
    assert (first.overall.value, first.overall.low, first.overall.high) == (1.0, 1.0, 1.0)
    assert (second.model, second.overall.value) == ("m", 0.25)


@pytest.mark.parametrize("models", [0, 1, 4, 9])
def test_the_whole_benchmark_is_its_own_score(models: int) -> None:
    world = made_scores(12, 60)
    known, new = world.of_models(range(models)), world.of_models(range(9, 12))
    subset = select(known, 60)
    assert sum(member.weight for member in subset.members) == pytest.approx(1.0)
    truth = dict(zip(new.models, new.totals(), strict=True))
    for one in estimate(subset, new, known if models else None):
        assert one.overall.value == pytest.approx(truth[one.model])
        assert one.overall.low == pytest.approx(truth[one.model])
        assert one.overall.high == pytest.approx(truth[one.model])
        assert one.full == pytest.approx(truth[one.model])


def test_known_scores_with_gaps_are_filled() -> None:
    matrix = made_scores(8)
    scores = matrix.scores.copy()
    scores[np.random.default_rng(0).random(scores.shape) < 0.3] = np.nan
    scores[:, 5] = np.nan  # an item that nobody was asked
    made = design(replace(matrix, scores=scores), 30)
    assert not np.isnan(made.matrix.scores).any()
    assert made.chances.sum() == pytest.approx(30)
    assert np.corrcoef(made.chances, design(matrix, 30).chances)[0, 1] > 0.4


def test_equal_orders_give_equal_subsets() -> None:
    matrix = made_scores(8)
    assert select(matrix, 20, seed=3) == select(matrix, 20, seed=3)
    assert select(matrix, 20, seed=3) != select(matrix, 20, seed=4)


# ---------------------------------------------------------------------------------------------- targets and strata


def test_targets_are_the_whole_and_its_categories() -> None:
    matrix = made_scores(3)
    found = targets_of(matrix)
    assert found.names == ("overall", "a", "b")
    assert found.shares.sum(axis=1) == pytest.approx([1, 1, 1])
    only = replace(matrix, categories=("a",) * 120)
    assert targets_of(only).names == ("overall",)
    weights = np.where(np.array(matrix.categories) == "a", matrix.weights, 0.0)
    assert targets_of(replace(matrix, weights=weights / weights.sum())).names == ("overall", "a")  # b does not count


def test_lengths_that_items_share_are_strata() -> None:
    matrix = made_scores(3, 24)
    shared = replace(matrix, lengths=np.where(np.arange(24) < 12, 8192, 16384))
    assert int(strata_of(shared).max()) + 1 == 8
    exact = replace(matrix, lengths=5000 + np.arange(24))  # every text has its own length
    assert strata_of(exact).tolist() == strata_of(matrix).tolist()
    assert SHARED == 2


def test_a_plain_array_with_costs_and_strata_will_do() -> None:
    scores = np.random.default_rng(0).random((6, 60))
    assert len(select(scores, 12).members) == 12
    strata = ["a"] * 50 + ["b"] * 10
    chosen = select(scores, 12, strata=strata)
    assert {member.stratum for member in chosen.members} == {"a", "b"}
    assert sum(member.stratum == "b" for member in chosen.members) >= 4  # both strata count alike
    dear = np.where(np.arange(60) < 30, 100.0, 1.0)
    by_cost = select(scores, 300, cost=dear)
    cheap = sum(int(member.item) >= 30 for member in by_cost.members)
    assert cheap > len(by_cost.members) / 2
    with pytest.raises(FathomError, match="cost of 3 items for 60: expected one for each"):
        select(scores, 12, cost=np.ones(3))
    with pytest.raises(FathomError, match=r"scores of shape .* expected"):
        select(scores[0], 12)
    with pytest.raises(FathomError, match="not between 0 and 1; scores in percent"):
        select(100 * scores, 12)
    with pytest.raises(FathomError, match="unit 'foo': expected items or cost"):
        select(scores, 12, unit="foo")  # type: ignore[arg-type]
