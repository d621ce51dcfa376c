"""The studies: what they vary, and the shape of their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fathom.compress import study
from fathom.compress.irt import ItemParameters
from fathom.compress.matrix import ScoreMatrix, checked_matrix
from fathom.compress.minilongbench import predict, published, select
from fathom.compress.ranks import spearman
from fathom.compress.study import redundancy
from fathom.compress.tables import read_matrix
from fathom.types import FathomError

pytestmark = pytest.mark.slow

COLUMNS = ["setting", "draw", "models", "estimate", "category", "spearman", "error", "bias"]


@pytest.fixture(scope="module")
def matrix() -> ScoreMatrix:
    rng = np.random.default_rng(0)
    truth = ItemParameters(rng.normal(size=(120, 2)), rng.normal(size=120))
    tasks = [f"t{number % 4}" for number in range(120)]
    return checked_matrix(
        "made",
        [f"model {number}" for number in range(12)],
        [f"{task}/{number:04d}" for number, task in enumerate(tasks)],
        truth.chances(rng.normal(size=(12, 2))),
        tasks=tasks,
        categories=["a" if task in ("t0", "t1") else "b" for task in tasks],
    )


@pytest.fixture
def plan() -> study.Plan:
    vectors = np.random.default_rng(1).normal(size=(120, 6))
    return study.Plan(tuple(range(8)), 20, vectors, dimensions=2)


def values(table: pl.DataFrame, column: str = "setting") -> list[object]:
    return table[column].unique(maintain_order=True).to_list()


def test_every_estimate_is_measured_over_all_known_and_new_models(matrix: ScoreMatrix) -> None:
    mini = select(matrix.of_models(range(8)), 20, dimensions=2)
    table = study.measured(mini, matrix, range(8))
    # The whole score has three estimates, each of two categories two; all of them in three groups of models.
    assert len(table) == (3 + 2 * 2) * 3
    scores = predict(mini, matrix)
    new = table.filter(models="new", estimate="predicted", category="all").row(0, named=True)
    truth = matrix.totals()[8:]
    found = np.array([one.predicted for one in scores[8:]])
    assert new["spearman"] == pytest.approx(spearman(found, truth))
    assert new["error"] == pytest.approx(np.abs(found - truth).mean())
    assert new["bias"] == pytest.approx((found - truth).mean())
    inside = [place for place, category in enumerate(matrix.categories) if category == "b"]
    weights = matrix.weights[inside] / matrix.weights[inside].sum()
    ours = table.filter(models="all", estimate="direct", category="b")["error"][0]
    direct = np.array([one.direct_categories["b"] for one in scores])
    assert ours == pytest.approx(np.abs(direct - matrix.scores[:, inside] @ weights).mean())


@pytest.mark.parametrize(
    ("run", "settings"),
    [
        (lambda m, p: study.dimensions(m, p, [1, 3]), ["1", "3"]),
        (lambda m, p: study.ratios(m, p, [0.9, 0.75]), ["0.9", "0.75"]),
        (lambda m, p: study.embeddings(m, p, {"none": None, "own": p.embeddings}), ["none", "own"]),
        (lambda m, p: study.components(m, p), ["PCA to 2", "all 6 dimensions"]),
        (lambda m, p: study.biases(m, p), ["zero", "uniform", "normal", "none"]),
        (lambda m, p: study.numbers(m, p, [3, 6], 2), ["3", "6"]),
        (lambda m, p: study.choices(m, p, 3), ["8"]),
    ],
)
def test_tables_of_the_studies(
    matrix: ScoreMatrix,
    plan: study.Plan,
    run: Callable[[ScoreMatrix, study.Plan], pl.DataFrame],
    settings: list[str],
) -> None:
    told: list[str] = []
    table = run(matrix, replace(plan, tell=told.append))
    assert table.columns == COLUMNS
    assert values(table) == settings
    assert len(told) == len(table.unique(["setting", "draw"]))
    assert table.equals(run(matrix, plan))
    assert table.filter(models="all")["spearman"].is_between(-1, 1).all()


def test_draws_of_models_differ(matrix: ScoreMatrix, plan: study.Plan) -> None:
    table = study.choices(matrix, plan, 3).filter(models="all", estimate="predicted", category="all")
    assert table["draw"].to_list() == [0, 1, 2]
    assert table["error"].n_unique() == 3


@pytest.mark.parametrize(("ratio", "budget"), [(0.95, 6), (0.9, 12), (0.85, 18), (0.5, 60)])
def test_a_ratio_is_a_budget(matrix: ScoreMatrix, plan: study.Plan, ratio: float, budget: int) -> None:
    own = replace(plan, budget=budget)
    assert (
        study.ratios(matrix, plan, [ratio]).drop("setting").equals(study.dimensions(matrix, own, [2]).drop("setting"))
    )


def test_what_cannot_be_studied(matrix: ScoreMatrix, plan: study.Plan) -> None:
    with pytest.raises(FathomError, match="a ratio of 95"):
        study.ratios(matrix, plan, [95])
    with pytest.raises(FathomError, match="only be tried with embeddings"):
        study.components(matrix, replace(plan, embeddings=None))
    with pytest.raises(FathomError, match="13 known models of 12"):
        study.numbers(matrix, plan, [13], 1)


def test_rankings(matrix: ScoreMatrix) -> None:
    table = study.rankings(select(matrix, 30, dimensions=2), matrix, models=5, draws=4)
    assert len(table) == 20
    totals = dict(zip(matrix.models, matrix.totals(), strict=True))
    for _, draw in table.group_by("draw"):
        assert sorted(draw["full"]) == [1, 2, 3, 4, 5]
        best = draw.filter(full=1)["model"][0]
        assert totals[best] == max(totals[name] for name in draw["model"])
    with pytest.raises(FathomError, match="20 of 12 models"):
        study.rankings(select(matrix, 30, dimensions=2), matrix, models=20)


def test_items_that_are_alike_are_neighbours(matrix: ScoreMatrix) -> None:
    mini = select(matrix, 20, dimensions=2)
    slopes = np.where(np.arange(120)[:, None] % 4 < 2, 5.0, -5.0) * np.ones(2)
    slopes = slopes + np.random.default_rng(2).normal(0, 0.1, slopes.shape)
    apart = replace(mini, parameters=ItemParameters(slopes, np.zeros(120)))
    table = study.neighbourhoods(apart)
    assert table["chosen"].sum() == 20
    plane = table.select("x", "y").to_numpy()
    groups = np.array([category == "a" for category in table["category"]])
    nearest = [np.argsort(((plane - point) ** 2).sum(axis=1))[1] for point in plane]
    assert (groups[nearest] == groups).mean() > 0.95
    only = study.neighbourhoods(mini, tasks=["t2"])
    assert values(only, "task") == ["t2"]
    with pytest.raises(FathomError, match="unknown task 'x': choose t0, t1, t2, t3"):
        study.neighbourhoods(mini, tasks=["x"])


def test_larger_random_subsets_agree_better(matrix: ScoreMatrix) -> None:
    table = redundancy(matrix, [0.9, 0.5], draws=300)
    assert table.columns == ["category", "ratio", "items", "draw", "spearman"]
    assert len(table) == 2 * 2 * 300
    for category in ("a", "b"):
        few, many = (table.filter(category=category, ratio=ratio)["spearman"] for ratio in (0.9, 0.5))
        assert few.mean() < many.mean() <= 1  # type: ignore[operator]
    assert values(table, "items") == [6, 30]
    assert redundancy(matrix, [0.9, 0.5], draws=300).equals(table)


def test_all_items_agree_with_themselves(matrix: ScoreMatrix) -> None:
    assert redundancy(matrix, [0.0], draws=2)["spearman"].to_list() == pytest.approx([1.0] * 4)


def test_a_subset_of_one_item_orders_models_as_that_item_does(matrix: ScoreMatrix) -> None:
    table = redundancy(matrix, [0.999], draws=400).filter(category="a")
    inside = [place for place, category in enumerate(matrix.categories) if category == "a"]
    whole = matrix.scores[:, inside].mean(axis=1)
    of_items = {round(spearman(matrix.scores[:, place], whole), 9) for place in inside}
    assert {round(value, 9) for value in table["spearman"]} <= of_items


def test_keeping_the_best_subsets_only(matrix: ScoreMatrix) -> None:
    whole = redundancy(matrix, [0.9], draws=100)
    best = redundancy(matrix, [0.9], draws=100, top=0.75)
    assert len(best) == 150
    for category in ("a", "b"):
        kept = best.filter(category=category)["spearman"].to_list()
        assert kept == whole.filter(category=category)["spearman"].to_list()[:75]


def test_random_subsets_that_cannot_be_drawn(matrix: ScoreMatrix) -> None:
    gaps = matrix.scores.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(FathomError, match="without gaps"):
        redundancy(replace(matrix, scores=gaps), [0.9])
    with pytest.raises(FathomError, match="a ratio of 1"):
        redundancy(matrix, [1.0])
    with pytest.raises(FathomError, match="a share above 0"):
        redundancy(matrix, [0.9], top=0.0)


def test_the_published_subset_ranks_models_nearly_as_the_whole(shared: Path) -> None:
    folder = shared / "data" / "minilongbench"
    table = study.rankings(published(folder), read_matrix(folder))
    assert len(table) == 16 * 8
    assert (table["full"] - table["predicted"]).abs().mean() < 1  # type: ignore[operator]
