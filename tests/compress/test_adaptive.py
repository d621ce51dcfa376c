"""Adaptive evaluation: when it stops, what it asks, and whether its intervals hold the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fathom.compress.adaptive import (
    AdaptiveSettings,
    Progress,
    current,
    drive,
    half_width,
    next_items,
    rounds,
    start,
    stretch,
)
from fathom.compress.design import Design, design
from fathom.compress.matrix import Floats
from made_scores import made_scores

WORLD = made_scores(30, 200, seed=4)
DESIGN = design(WORLD.of_models(range(12)), 40)


def evaluated(made: Design, scores: Floats, width: float, budget: int, seed: int = 0, wider: float = 1.0) -> Progress:
    rng = np.random.default_rng(seed)
    plan = rounds(made, AdaptiveSettings(width, budget, 30, 10), stretch=wider, rng=rng)
    return drive(plan, scores.__getitem__)


def test_it_stops_as_soon_as_the_width_is_reached() -> None:
    for model in range(12, 18):
        widths: list[float] = []

        def watch(progress: Progress, widths: list[float] = widths) -> None:
            widths.append(half_width(current(DESIGN, progress, 1.0)) if len(progress.items) else np.inf)

        plan = rounds(DESIGN, AdaptiveSettings(0.05, 200, 30, 10), stretch=1.0, rng=np.random.default_rng(0))
        end = drive(plan, WORLD.scores[model].__getitem__, watch)
        assert len(end.items) == 30 + 10 * (len(widths) - 2) < 200
        assert widths[-1] <= 0.05 < min(widths[:-1])


def test_a_narrower_interval_takes_more_items() -> None:
    counts = [
        np.mean([len(evaluated(DESIGN, WORLD.scores[model], width, 200).items) for model in range(12, 20)])
        for width in (0.06, 0.04, 0.025)
    ]
    assert counts[0] < counts[1] < counts[2]


def test_it_stops_at_the_budget_and_never_asks_twice() -> None:
    asked: list[int] = []
    seen: list[int] = []

    def ask(items: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
        asked.extend(items.tolist())
        return np.asarray(WORLD.scores[12, items])

    plan = rounds(DESIGN, AdaptiveSettings(1e-6, 75, 30, 10), stretch=1.0, rng=np.random.default_rng(0))
    end = drive(plan, ask, lambda progress: seen.append(len(progress.items)))
    assert seen == [0, 30, 40, 50, 60, 70]  # another round would exceed the budget
    assert len(set(asked)) == len(asked) == 70
    assert end.items.tolist() == asked
    assert np.array_equal(end.scores, WORLD.scores[12, asked])
    assert (end.chances > 0).all()


def test_a_larger_budget_goes_on_from_the_same_rounds() -> None:
    short, long = (evaluated(DESIGN, WORLD.scores[12], 1e-6, budget).items.tolist() for budget in (55, 80))
    assert (len(short), len(long)) == (50, 80)
    assert long[:50] == short
    assert len(evaluated(DESIGN, WORLD.scores[12], 1e-6, 20).items) == 20  # below the first round


def test_all_items_give_the_score_itself() -> None:
    made = design(made_scores(6, 45), 20)
    scores = made_scores(7, 45).scores[6]
    end = evaluated(made, scores, 1e-9, 1000)
    found = current(made, end, 1.0)
    assert sorted(end.items.tolist()) == list(range(45))
    assert found.values[0, 0] == pytest.approx(float(scores @ made.matrix.weights))
    assert half_width(found) == pytest.approx(0, abs=1e-9)


def asked_in_rounds(made: Design, scores: Floats, rounds: int, count: int, rng: np.random.Generator) -> Progress:
    progress = start(made)
    for _ in range(rounds):
        items, chances = next_items(made, progress, count, rng)
        asked = np.concatenate([progress.items, items])
        progress = Progress(asked, scores[asked], chances)
    return progress


def test_rounds_have_their_size_and_items_weigh_at_least_themselves() -> None:
    progress, rng = start(DESIGN), np.random.default_rng(1)
    for _ in range(8):
        items, chances = next_items(DESIGN, progress, 25, rng)
        assert len(items) == 25
        assert not set(items.tolist()) & set(progress.items.tolist())
        assert (chances[: len(progress.items)] >= progress.chances).all()
        assert 0 < chances.min() <= chances.max() <= 1
        asked = np.concatenate([progress.items, items])
        progress = Progress(asked, WORLD.scores[15, asked], chances)
    assert chances.tolist() == [1.0] * 200
    items, chances = next_items(DESIGN, progress, 25, rng)
    assert (len(items), chances.tolist()) == (0, [1.0] * 200)


def test_rounds_of_equal_probabilities_are_one_random_sample() -> None:
    made = design(replace(WORLD.of_models([]), scores=np.empty((0, 200))), 40)
    progress = asked_in_rounds(made, np.full(200, np.nan), 4, 15, np.random.default_rng(0))
    assert progress.chances == pytest.approx(np.full(60, 0.3))


@pytest.mark.slow
def test_weights_of_rounds_are_unbiased() -> None:
    # Scores of a model decide the next rounds: probabilities of the design in place of those of the draws give a total
    # weight that is .005 too low, and a score that is .007 off, 5 standard errors.
    world = made_scores(20, 120, seed=4, binary=True)
    made = design(world.of_models(range(12)), 40)
    shares, means = made.targets.shares[0], made.known.means
    missed = []
    for model in (12, 15):
        for seed in range(500):
            end = asked_in_rounds(made, world.scores[model], 4, 15, np.random.default_rng([seed, model]))
            weights = shares[end.items] / end.chances
            # The difference estimator, with expectations that depend on the known models alone.
            value = means @ shares + weights @ (end.scores - means[end.items])
            missed.append([weights.sum() - 1, value - world.totals()[model]])
    errors = np.std(missed, axis=0) / np.sqrt(len(missed))
    assert (np.abs(np.mean(missed, axis=0)) < 3 * errors).all()


def test_rounds_of_earlier_versions_are_drawn_as_they_were() -> None:
    plan = rounds(DESIGN, AdaptiveSettings(1e-6, 30, 10, 10), stretch=1.0, rng=np.random.default_rng(0), top_up=True)
    end = drive(plan, WORLD.scores[12].__getitem__)
    # By fathom 0.1.0.
    assert end.items[10:20].tolist() == [10, 13, 14, 46, 68, 75, 88, 143, 181, 197]
    assert end.items[20:].tolist() == [21, 27, 28, 57, 76, 118, 163, 166, 170, 188]
    assert end.chances[[0, 10, 20]] == pytest.approx([0.143915, 0.146549, 0.13514], abs=1e-6)


def test_items_that_are_uncertain_for_this_model_come_first() -> None:
    # Known models are strong on all of one task, and this one is not: its scores there are open.
    rng = np.random.default_rng(0)
    scores = np.clip(rng.normal(0.95, 0.05, (10, 80)), 0, 1)
    scores[:, 40:] = rng.uniform(0.3, 0.7, (10, 40))
    tasks = ("a",) * 40 + ("b",) * 40
    made = design(replace(made_scores(10, 80), scores=scores, tasks=tasks, categories=tasks), 20)
    asked = np.arange(0, 80, 4)
    weak = Progress(asked, np.full(20, 0.5), np.full(20, 0.25))
    plain = Progress(asked, np.where(asked < 40, 0.95, 0.5), np.full(20, 0.25))
    more = [
        np.mean([(next_items(made, one, 10, np.random.default_rng(seed))[0] < 40).sum() for seed in range(40)])
        for one in (weak, plain)
    ]
    assert more[0] > 1.1 * more[1] > 0


def test_costly_items_come_later() -> None:
    costs = np.where(np.arange(200) % 2, 100.0, 1.0)
    made = design(replace(WORLD.of_models(range(12)), costs=costs), 1000, unit="cost")
    items, _ = next_items(made, start(made), 40, np.random.default_rng(0))
    assert (items % 2).sum() < 0.2 * (items % 2 == 0).sum()


def test_scores_that_are_missing_are_no_scores() -> None:
    scores = WORLD.scores[14].copy()
    scores[::3] = np.nan
    end = evaluated(DESIGN, scores, 0.05, 200)
    found = current(DESIGN, end, 1.0)
    assert np.isnan(end.scores).any()
    assert half_width(found) <= 0.05
    assert found.values[0, 0] == pytest.approx(WORLD.totals()[14], abs=0.1)
    nothing = evaluated(DESIGN, np.full(200, np.nan), 0.05, 60)
    assert len(nothing.items) == 60  # the width is never reached
    assert len(evaluated(DESIGN, np.full(200, np.nan), 0.05, 1000).items) == 200  # and it ends all the same
    assert half_width(current(DESIGN, nothing, 1.0)) == np.inf


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("binary", [False, True])
def test_intervals_hold_the_truth_at_the_stop(binary: bool) -> None:
    held, apart = [], []
    for seed in range(3):
        world = made_scores(32, 200, seed=seed, binary=binary)
        made = design(world.of_models(range(12)), 40, seed=seed)
        width = 0.09 if binary else 0.035
        wider = stretch(made, AdaptiveSettings(width, 200, 30, 10))
        assert wider >= 1
        for model in range(12, 32):
            end = evaluated(made, world.scores[model], width, 200, seed=model, wider=wider)
            found = current(made, end, wider)
            assert half_width(found) <= width
            missed = found.values[0, 0] - world.totals()[model]
            held.append(abs(missed) <= half_width(found))
            apart.append(missed)
    assert np.mean(held) >= 0.88
    assert abs(np.mean(apart)) < 4 * np.std(apart) / np.sqrt(len(apart)) + 0.003


def test_the_stretch_of_few_models_is_nominal() -> None:
    assert stretch(design(WORLD.of_models(range(4)), 40), AdaptiveSettings(0.05, 100)) == 1.0
