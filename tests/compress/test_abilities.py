"""What known models teach of new ones: simulations whose truth is known, and matrices that teach little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.compress.abilities import expected, learn, numbered, without_gaps
from fathom.compress.matrix import Floats
from made_scores import made_scores

ITEMS = 200


def linear(models: int, noise: float, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Scores that rise with one ability by the slope of each item; the slopes, and each item's mean."""
    rng = np.random.default_rng(seed)
    slopes = rng.uniform(0.2, 1.8, ITEMS)
    slopes /= slopes.mean()
    means = rng.uniform(0.3, 0.7, ITEMS)
    ability = np.linspace(-0.15, 0.15, models)
    return means + ability[:, None] * slopes + rng.normal(0, noise, (models, ITEMS)), slopes, means


@pytest.mark.parametrize("noise", [0.03, 0.12])
def test_slopes_are_nearer_to_the_truth_than_without_shrinking(noise: float) -> None:
    scores, truth, _ = linear(8, noise)
    known = learn(scores, np.zeros(ITEMS, dtype=np.int64))
    apart = scores - scores.mean(axis=0)
    ability = apart.mean(axis=1)
    plain = ability @ apart / (ability @ ability)
    missed = ((known.slopes - truth) ** 2).mean()
    assert missed < ((plain - truth) ** 2).mean()
    assert missed < ((1 - truth) ** 2).mean()
    # Each by as much as it should be: nearly the plain ones where there is little noise, far less where there is much.
    kept = float(known.slopes.std() / plain.std())
    assert (0.9 < kept <= 1) if noise < 0.1 else (0.3 < kept < 0.9)


def test_noise_and_spread_are_those_of_the_simulation() -> None:
    scores, slopes, _ = linear(40, 0.1)
    known = learn(scores, np.zeros(ITEMS, dtype=np.int64))
    assert known.noise.mean() == pytest.approx(0.01, rel=0.1)
    ability = np.linspace(-0.15, 0.15, 40)
    varied = 0.01 + ability.var(ddof=1) * (slopes - 1) ** 2
    assert (known.spread**2).mean() == pytest.approx(varied.mean(), rel=0.1)
    assert np.corrcoef(known.spread**2, varied)[0, 1] > 0.3


def test_expected_scores_are_nearer_than_the_means_of_items() -> None:
    scores, slopes, means = linear(12, 0.05)
    known = learn(scores, np.zeros(ITEMS, dtype=np.int64))
    truth = means + 0.2 * slopes  # beyond all that were known
    rng = np.random.default_rng(1)
    seen = rng.choice(ITEMS, 20, replace=False)
    (found,) = expected(known, seen, truth[None, seen] + rng.normal(0, 0.05, 20))
    assert np.abs(found - truth).mean() < 0.3 * np.abs(known.means - truth).mean()
    assert found.mean() == pytest.approx(truth.mean(), abs=0.03)


def test_what_a_model_shows_in_one_task_is_expected_in_tasks_that_go_with_it() -> None:
    rng = np.random.default_rng(0)
    skill, other = rng.normal(0, 0.1, 15), rng.normal(0, 0.1, 15)
    strata = np.repeat([0, 1, 2], 30)
    ability = np.stack([skill, skill, other], axis=1)[:, strata]
    known = learn(0.5 + ability + rng.normal(0, 0.05, (15, 90)), strata)
    seen = np.arange(20)  # of the first task
    (found,) = expected(known, seen, np.full((1, 20), 0.7))
    moved = [float((found - known.means)[strata == one].mean()) for one in range(3)]
    assert moved[0] == pytest.approx(0.2, abs=0.03)
    assert moved[1] > 0.08
    assert abs(moved[2]) < 0.6 * moved[1]


def test_nothing_seen_is_the_mean() -> None:
    known = learn(made_scores(4).scores, np.zeros(120, dtype=np.int64))
    found = expected(known, np.zeros(0, dtype=np.int64), np.zeros((3, 0)))
    assert found.tolist() == [known.means.tolist()] * 3


# --------------------------------------------------------------------------------------- matrices that teach little


def strata_and_scores(kind: str) -> tuple[Floats, list[int]]:
    rng = np.random.default_rng(0)
    plain: Floats = rng.random((6, 12))
    tasks = [0, 1, 2] * 4
    made: dict[str, tuple[Floats, list[int]]] = {
        "no model": (plain[:0], tasks),
        "one model": (plain[:1], tasks),
        "two models": (plain[:2], tasks),
        "constant rows": (np.repeat(plain[:, :1], 12, axis=1), tasks),
        "constant items": (np.repeat(plain[:1], 6, axis=0), tasks),
        "all right": (np.ones((6, 12)), tasks),
        "fewer models than strata": (plain[:3], list(range(12))),
        "an item alone": (plain, [0] * 11 + [1]),
    }
    return made[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "no model",
        "one model",
        "two models",
        "constant rows",
        "constant items",
        "all right",
        "fewer models than strata",
        "an item alone",
    ],
)
def test_little_is_learned_without_harm(kind: str) -> None:
    scores, strata = strata_and_scores(kind)
    known = learn(scores, np.array(strata))
    for part in (known.means, known.slopes, known.noise, known.spread):
        assert part.shape == (12,)
        assert np.isfinite(part).all()
    assert known.spread.min() > 0
    assert np.linalg.eigvalsh(known.covariance).min() > 0
    seen = np.array([0, 5, 11])
    found = expected(known, seen, np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 1.0]]))
    assert found.shape == (2, 12)
    assert found.min() >= 0
    assert found.max() <= 1
    if len(scores) < 3:
        assert known.slopes.tolist() == [1.0] * 12


def test_one_model_does_not_make_a_task_look_certain() -> None:
    # A task of right and wrong answers has more spread than one of middling scores, though a single model shows none.
    scores = np.array([[0.0, 1, 1, 0, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]])
    known = learn(scores, np.repeat([0, 1], 6))
    assert known.spread[:6] == pytest.approx(known.spread[6:], rel=0.1)
    solved = learn(np.ones((1, 6)), np.zeros(6, dtype=np.int64))
    assert solved.spread == pytest.approx(np.full(6, np.sqrt(7 / 8 * 1 / 8)), abs=1e-3)


def test_an_item_that_is_a_task_by_itself_keeps_its_spread() -> None:
    scores = made_scores(10).scores[:, :21]
    known = learn(scores, np.array([0] * 20 + [1]))
    assert known.spread[20] == pytest.approx(scores[:, 20].std(ddof=1), rel=0.1)


# ------------------------------------------------------------------------------------------------------------ gaps


def test_gaps_are_filled_by_item_and_model() -> None:
    nan = np.nan
    scores = np.array([[0.2, 0.4, 0.6, nan], [0.4, 0.6, nan, nan], [nan, nan, nan, 0.3]])
    found = without_gaps(scores, np.array([0, 0, 0, 1]))
    # The second model lies 0.1 above the means 0.3 and 0.5, the first 0.1, 0.1 and 0 below those of its three items.
    expected_rows = [[0.2, 0.4, 0.6, 0.3], [0.4, 0.6, 0.7, 0.3], [0.3, 0.5, 0.6, 0.3]]
    assert found == pytest.approx(np.array(expected_rows))
    assert without_gaps(found, np.array([0, 0, 0, 1])) is found
    nobody = without_gaps(np.array([[0.2, nan, nan], [0.4, nan, nan]]), np.array([0, 0, 1]))
    assert nobody == pytest.approx(np.array([[0.2, 0.2, 0.5], [0.4, 0.4, 0.5]]))


@given(st.integers(0, 1000), st.integers(1, 6), st.floats(0, 1))
def test_filled_scores_keep_what_is_there(seed: int, models: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random((models, 10))
    scores[rng.random(scores.shape) < share] = np.nan
    found = without_gaps(scores, rng.permutation([0, 0, 0, 1, 1, 1, 1, 2, 2, 3]))
    told = ~np.isnan(scores)
    assert np.array_equal(found[told], scores[told])
    assert found.min() >= 0
    assert found.max() <= 1


def test_labels_are_numbered_in_their_order() -> None:
    assert numbered(["b", "a", "b", ("c", 1)]).tolist() == [0, 1, 0, 2]
    assert numbered([]).tolist() == []
