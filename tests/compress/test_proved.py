"""Adaptive evaluation with a theorem: probabilities of single draws, and an interval that holds at every look."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fathom.compress.abilities import expected
from fathom.compress.adaptive import AdaptiveSettings, Progress, drive, rounds
from fathom.compress.design import Design, design
from fathom.compress.matrix import Floats
from fathom.compress.proved import NOTHING, Drawn, after, draw_singly, interval_of
from made_scores import made_scores

WORLD = made_scores(30, 120, seed=4, binary=True)
DESIGN = design(WORLD.of_models(range(12)), 40)


def evaluated(made: Design, scores: Floats, *, seed: int, width: float = 1e-6, budget: int = 90) -> Progress:
    settings = AdaptiveSettings(width, budget, 30, 20, proved=True)
    return drive(rounds(made, settings, stretch=1.0, rng=np.random.default_rng(seed)), scores.__getitem__)


def plain_low(values: list[float], least: list[float], width: float) -> float:
    """The lower end by plain multiplication, on a grid of scores."""
    kept = [score for score in np.linspace(0, 1, 401) if plain_money(values, least, float(score), width) < 40]
    return float(kept[0])


def plain_money(values: list[float], least: list[float], score: float, width: float) -> float:
    """The largest money of a bettor on a score above this one."""
    money, most, squares, total = [0.6, 0.25, 0.15], 1.0, 10 * 0.06, 10 / 2
    for place, value in enumerate(values):
        variance = squares / (place + 10)
        for number, distance in enumerate((width, 2 * width, 5 * width)):
            stake = min(0.98 / (1 - least[place]), distance / (variance + distance**2))
            money[number] *= 1 + stake * (value - score)
            assert money[number] > 0
        squares += (value - total / (place + 10)) ** 2
        total += value
        most = max(most, sum(money))
    return most


def test_ends_are_those_of_plain_multiplication() -> None:
    end = evaluated(DESIGN, WORLD.scores[20], seed=1, width=0.05)
    drawn = end.drawn
    found = interval_of(drawn, 0.05)
    low = plain_low(drawn.values.tolist(), drawn.least.tolist(), 0.05)
    high = 1 - plain_low((1 - drawn.values).tolist(), (1 - drawn.most).tolist(), 0.05)
    assert max(low, drawn.asked) == pytest.approx(found.low, abs=1 / 400)
    assert min(high, drawn.asked + drawn.left) == pytest.approx(found.high, abs=1 / 400)
    assert (drawn.least <= drawn.values).all()
    assert (drawn.values <= drawn.most).all()


def test_the_value_of_a_draw_has_the_score_on_all_items_as_its_mean() -> None:
    """Over every item that could be drawn next, whatever was expected of it."""
    scores, shares = WORLD.scores[20], DESIGN.targets.shares[0]
    asked = np.array([3, 50, 51, 100])
    rng = np.random.default_rng(0)
    guess, spread = rng.random(120), rng.random(120) + 0.01
    before = replace(NOTHING, asked=float(shares[asked] @ scores[asked]), left=1 - float(shares[asked].sum()))
    mean = total = 0.0
    for item in range(120):
        if item in asked:
            continue
        own = np.array([item])
        made = after(before, DESIGN, asked, own, scores=scores[own], expected=guess, spread=spread)
        heavy = (float(made.values[0]) - before.asked - float(np.delete(shares, asked) @ np.delete(guess, asked))) / (
            scores[item] - guess[item]
        )
        chance = shares[item] / heavy
        mean, total = mean + chance * float(made.values[0]), total + chance
        assert made.least[0] <= made.values[0] <= made.most[0]
    assert total == pytest.approx(1)
    assert mean == pytest.approx(float(shares @ scores))


@pytest.mark.slow
def test_probabilities_are_those_of_the_draws_and_none_is_too_small() -> None:
    spread = DESIGN.known.spread
    first = np.zeros(120)
    for seed in range(3000):
        items, chances, _ = draw_singly(
            DESIGN, np.zeros(0, dtype=np.int64), np.zeros(0), spread, 1, np.random.default_rng(seed)
        )
        first[items[0]] += 1
        assert chances[0] > 0.5 / 120  # more than half of equal shares
    own = spread * DESIGN.targets.shares[0]
    wanted = 0.4 * own / own.sum() + 0.6 / 120
    assert ((first / 3000 - wanted) ** 2).sum() < 3 * wanted.sum() / 3000


def test_all_items_give_the_score_itself() -> None:
    scores = WORLD.scores[20]
    end = evaluated(DESIGN, scores, seed=1, budget=1000)
    assert sorted(end.items.tolist()) == list(range(120))
    found = interval_of(end.drawn, 0.05)
    truth = float(scores @ DESIGN.targets.shares[0])
    assert (found.low, found.high) == pytest.approx((truth, truth))
    assert end.chances == pytest.approx(np.ones(120))


def test_a_narrower_interval_takes_more_items_and_looks_never_widen_it() -> None:
    end = evaluated(DESIGN, WORLD.scores[20], seed=2, budget=110)
    widths = []
    for n in (1, 30, 60, 110):
        part = Drawn(end.drawn.values[:n], end.drawn.least[:n], end.drawn.most[:n], 0.0, 1.0)
        found = interval_of(part, 0.05)
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)
    assert math.isclose(interval_of(NOTHING, 0.05).high, 1)
    counts = [len(evaluated(DESIGN, WORLD.scores[20], seed=3, width=width, budget=120).items) for width in (0.2, 0.1)]
    assert counts[0] < counts[1]


def test_bets_keep_the_width_with_which_they_started_whatever_is_wanted_later() -> None:
    settings = AdaptiveSettings(0.03, 90, 30, 20, proved=True, bets=0.2)
    drawn = evaluated(DESIGN, WORLD.scores[20], seed=2, width=0.2).drawn
    assert settings.proved_of(drawn) == interval_of(drawn, 0.2)
    assert replace(settings, bets=None).proved_of(drawn) == interval_of(drawn, 0.03)


def test_values_that_could_only_be_one_number_are_not_bet_on() -> None:
    sure = Drawn(np.ones(40), np.ones(40), np.ones(40), 0.0, 1.0)
    with np.errstate(all="raise"):
        found = interval_of(sure, 0.05)
    assert (found.low, found.high) == pytest.approx((0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("mislead", [False, True])
def test_the_truth_is_rarely_excluded_at_any_look_even_if_known_models_mislead(mislead: bool) -> None:
    """In at most 5 of 100: 8 of 60 or more have a probability of 1%. The last interval is within all before."""
    known = WORLD.of_models(range(12))
    made = design(replace(known, scores=1 - known.scores) if mislead else known, 40)
    missed = 0
    for seed in range(60):
        scores = WORLD.scores[12 + seed % 18]
        end = evaluated(made, scores, seed=seed, budget=70)
        found = interval_of(end.drawn, 0.08)
        missed += not found.low <= float(scores @ made.targets.shares[0]) <= found.high
    assert missed < 8


def test_expected_scores_of_a_round_come_from_earlier_rounds() -> None:
    scores = WORLD.scores[20]
    plan = rounds(DESIGN, AdaptiveSettings(1e-6, 60, 30, 20, proved=True), stretch=1.0, rng=np.random.default_rng(0))
    progress, items = next(plan)
    assert progress.probabilities is not None
    assert len(progress.probabilities) == len(items) == 30
    later, _ = plan.send(scores[items])
    guess = expected(DESIGN.known, np.zeros(0, dtype=np.int64), np.zeros((1, 0)))[0]
    shares = DESIGN.targets.shares[0]
    first = float(shares @ guess) + shares[items[0]] * (scores[items[0]] - guess[items[0]]) / progress.probabilities[0]
    assert later.drawn.values[0] == pytest.approx(first)
