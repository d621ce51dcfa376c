"""Simulated replies have the truth that ``performance/coverage.py`` compares figures with."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

from coverage_figures import COMMANDS, alike, any_of, rank_ranges
from coverage_scenarios import SCENARIOS, Scenario, latent, scores_of, simulate

ITEMS = 4000


def scores(scenario: Scenario) -> np.ndarray:
    """Models x items x questions x columns x epochs."""
    return scores_of(scenario, 0, latent(np.random.default_rng(1), scenario, ITEMS, None)[1])


@pytest.mark.parametrize("luck", [0.0, 0.5, 0.8, 1.0])
def test_right_and_wrong_have_the_given_correlation_between_lengths(luck: float) -> None:
    made = scores(Scenario("", ((0.9, 0.9),), (ITEMS,), luck, ()))
    assert np.corrcoef(made[0, :, 0, :, 0].T)[0, 1] == pytest.approx(luck, abs=0.06)


@pytest.mark.parametrize("continuous", [False, True])
def test_mean_scores_are_the_true_ones(continuous: bool) -> None:
    levels = (0.97, 0.5, 0.03)
    made = scores(Scenario("", (levels,), (ITEMS,), 0.8, (), continuous=continuous, per_document=2))
    assert made.mean(axis=(0, 1, 2, 4)) == pytest.approx(levels, abs=0.03)


def test_best_of_n_and_equal_scores_have_the_true_probabilities() -> None:
    scenario = Scenario("", ((0.7,),), (ITEMS,), 0.8, (), epochs=3)
    made = scores(scenario)
    assert made.max(axis=-1).mean() == pytest.approx(any_of(scenario, 3), abs=0.02)
    alone = scores(Scenario("", ((0.7,),), (ITEMS,), 0.8, ()))
    assert (alone[0] == alone[1]).mean() == pytest.approx(alike(scenario), abs=0.03)


def test_a_range_of_ranks_is_wrong_if_it_lacks_a_rank_that_the_truth_leaves_open() -> None:
    equal = [(0.5, (1, 2)), (0.5, (1, 2))]
    assert not rank_ranges("", equal).value
    assert rank_ranges("", [(0.5, (1, 1)), (0.5, (2, 2))]).value
    assert not rank_ranges("", [(0.6, (1, 1)), (0.5, (2, 2))]).value
    assert rank_ranges("", [(0.6, (2, 2)), (0.5, (1, 1))]).value


@pytest.mark.parametrize("name", ["compare", "truncation", "closed-book"])
def test_figures_are_measured_by_the_commands(name: str, tmp_path: Path) -> None:
    scenario = next(scenario for scenario in SCENARIOS if name in scenario.commands)
    outcomes = list(COMMANDS[name](simulate(scenario, [1], tmp_path)))
    assert outcomes
    assert {outcome.kind for outcome in outcomes} <= {"coverage", "false alarms", "families"}


def test_scenarios_have_different_names() -> None:
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
