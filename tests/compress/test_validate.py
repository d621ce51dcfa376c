"""Methods compared on models they have never seen: splits, every method, and items until intervals are narrow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from fathom.benchmarks.longbench.records import ANCHORS
from fathom.compress.design import targets_of
from fathom.compress.methods import METHODS
from fathom.compress.validate import Split, gaps_in, reach, splits_of, summary, truth_of, validate
from fathom.types import FathomError
from made_scores import made_scores

MATRIX = made_scores(12, 60, seed=1)
ANYWHERE = tuple(name for name in METHODS if name != "published")
WITH_INTERVALS = {"random", "stratified", "neyman", "sampled"}


# --------------------------------------------------------------------------------------------------------- methods


@pytest.mark.parametrize("method", ANYWHERE)
def test_every_method_chooses_its_budget_and_estimates(method: str) -> None:
    known, new = MATRIX.of_models(range(6)), MATRIX.of_models(range(6, 12))
    plan = METHODS[method](known, 20, 3, None)
    assert len(set(plan.items.tolist())) == len(plan.items) == 20
    assert METHODS[method](known, 20, 3, None).items.tolist() == plan.items.tolist()
    found = plan.estimate(new.scores[:, plan.items])
    assert found.values.shape == found.low.shape == (6, 3)
    truth = new.scores @ targets_of(MATRIX).shares.T
    assert np.abs(found.values - truth).mean() < 0.12
    assert np.isfinite(found.low).all() == np.isfinite(found.high).all() == (method in WITH_INTERVALS)
    if method in WITH_INTERVALS:
        assert (found.low <= found.values).all()
        assert (found.values <= found.high).all()


@pytest.mark.parametrize("method", [name for name in ANYWHERE if name != "minilongbench"])
def test_all_items_give_the_scores_themselves(method: str) -> None:
    plan = METHODS[method](MATRIX, 60, 0, None)
    found = plan.estimate(MATRIX.scores[:, plan.items])
    assert found.values == pytest.approx(MATRIX.scores @ targets_of(MATRIX).shares.T)
    if method in WITH_INTERVALS:
        assert found.high - found.low == pytest.approx(np.zeros((12, 3)), abs=1e-9)


def test_published_items_need_their_benchmark_and_their_budget() -> None:
    with pytest.raises(FathomError, match=r"the published items of MiniLongBench are 237 .* have 0 of them"):
        METHODS["published"](MATRIX, 20, 0, None)
    pairs = [(dataset, index) for dataset, anchors in ANCHORS.items() for index in {*anchors, *range(3)}]
    benchmark = replace(
        made_scores(6, len(pairs)),
        items=tuple(f"longbench_{dataset}/en/{index:04d}" for dataset, index in pairs),
        tasks=tuple(dataset for dataset, _ in pairs),
    )
    plan = METHODS["published"](benchmark, 237, 0, None)
    assert [pairs[item][1] in ANCHORS[pairs[item][0]] for item in plan.items] == [True] * 237
    with pytest.raises(FathomError, match="and the budget is 236"):
        METHODS["published"](benchmark, 236, 0, None)
    by_sample = replace(benchmark, items=tuple(f"{item}@8k" for item in benchmark.items))
    with pytest.raises(FathomError, match="have 0 of them"):
        METHODS["published"](by_sample, 237, 0, None)


def test_a_budget_below_the_strata_is_refused() -> None:
    with pytest.raises(FathomError, match="a budget of 3 for 4 strata"):
        METHODS["stratified"](MATRIX, 3, 0, None)


@pytest.mark.parametrize("method", ["random", "stratified", "neyman"])
def test_baselines_are_honest(method: str) -> None:
    values, held = [], []
    for seed in range(60):
        plan = METHODS[method](MATRIX.of_models(range(6)), 20, seed, None)
        found = plan.estimate(MATRIX.scores[6:, plan.items])
        values.append(found.values[:, 0])
        truth = MATRIX.totals()[6:]
        held.append((found.low[:, 0] <= truth) & (truth <= found.high[:, 0]))
    apart = np.array(values) - MATRIX.totals()[6:]
    assert np.abs(apart.mean(axis=0)).max() < 4 * apart.std() / np.sqrt(60) + 0.005
    assert 0.87 <= np.mean(held) <= 0.995


# ---------------------------------------------------------------------------------------------------------- splits


def test_splits_are_halves_and_extrapolate() -> None:
    found = splits_of(MATRIX, 3, seed=5, published=([0, 1, 2], [3, 4]))
    assert [(one.kind, one.number) for one in found] == [
        (kind, number) for kind in ("random", "extrapolation", "published") for number in range(3)
    ]
    for split in found[:6]:
        assert len(split.known) == len(split.new) == 6
        assert {*split.known, *split.new} == set(range(12))
    assert len({split.known for split in found[:3]}) == 3
    totals = MATRIX.totals()
    assert max(totals[list(found[3].known)]) <= min(totals[list(found[3].new)])
    assert found[6] == Split("published", 0, (0, 1, 2), (3, 4))
    assert splits_of(MATRIX, 3, seed=5)[:3] == found[:3]
    assert splits_of(MATRIX, 3, seed=6)[0] != found[0]


def test_models_without_a_task_are_left_out_and_named() -> None:
    scores = MATRIX.scores.copy()
    scores[[1, 4], 7] = np.nan
    scores[2, ::4] = np.nan  # all of a task
    gaps = replace(MATRIX, scores=scores)
    for split in splits_of(gaps, 4):
        assert {*split.known, *split.new} == {*range(12)} - {2}
    assert gaps_in(MATRIX) == []
    assert gaps_in(gaps) == [
        "2 of 660 scores are missing, of 2 of 11 models: the true score of a model is over the items that it has a "
        "score for, and its estimate uses the chosen ones of these",
        "1 of 12 models are left out, because they have no score in a task (at a length) that counts: model 2",
    ]
    scores[3:, ::4] = np.nan
    with pytest.raises(FathomError, match=r"a validation needs 4 models, .*; there: 2"):
        splits_of(replace(MATRIX, scores=scores), 4)


# ------------------------------------------------------------------------------------------------------------ gaps


def test_the_truth_is_over_the_items_with_a_score_and_tasks_keep_their_shares() -> None:
    scores = MATRIX.scores.copy()
    scores[0, [0, 4, 8, 13]] = np.nan  # three items of task t0, one of t1
    scores[1, ::4] = np.nan
    found = truth_of(replace(MATRIX, scores=scores))
    tasks = [float(np.nanmean(scores[0, task::4])) for task in range(4)]
    assert found[0] == pytest.approx([np.mean(tasks), np.mean(tasks[:2]), np.mean(tasks[2:])])
    assert np.isnan(found[1]).tolist() == [True, True, False]
    assert np.array_equal(found[2:], (MATRIX.scores @ targets_of(MATRIX).shares.T)[2:])


@pytest.mark.parametrize("method", ANYWHERE)
def test_chosen_items_without_a_score_are_represented_by_their_tasks(method: str) -> None:
    plan = METHODS[method](MATRIX.of_models(range(6)), 32, 3, None)
    scores = MATRIX.scores[6:, plan.items].copy()
    whole = plan.estimate(scores).values
    scores[0, ::5] = np.nan
    scores[1] = np.nan
    found = plan.estimate(scores)
    assert np.isnan(found.values).all(axis=1).tolist() == [False, True, False, False, False, False]
    assert found.values[2:] == pytest.approx(whole[2:])
    assert found.values[0] == pytest.approx(whole[0], abs=0.12)
    if method in ("stratified", "neyman", "best_of"):  # the weights of tasks do not depend on which items are missing
        alike = np.where(np.isnan(scores), np.nan, np.array([0.0, 0.3, 0.6, 0.9])[plan.items % 4])
        same = plan.estimate(alike).values
        assert same[0] == pytest.approx(same[2])


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_random_gaps_hardly_change_errors_and_coverage(share: float) -> None:
    methods = ("random", "stratified", "sampled")
    frames: dict[bool, list[pl.DataFrame]] = {False: [], True: []}
    for seed in range(4):
        matrix = made_scores(24, 240, seed=seed)
        lost = np.random.default_rng(seed).random(matrix.scores.shape) < share
        for gaps, of_gaps in frames.items():
            world = replace(matrix, scores=np.where(lost & gaps, np.nan, matrix.scores))
            of_gaps.append(validate(world, [48], methods=methods, splits=splits_of(world, 5)))
    overall = (pl.concat(part).filter(target="overall").group_by("method") for part in frames.values())
    plain, with_gaps = (
        {line["method"]: line for line in part.agg(pl.col("error", "bias", "coverage").mean()).to_dicts()}
        for part in overall
    )
    for method in methods:
        # Fewer chosen items have a score, and the true score is over fewer items too.
        assert with_gaps[method]["error"] < (1 + 2 * share) * plain[method]["error"]
        assert with_gaps[method]["coverage"] > max(0.92, plain[method]["coverage"] - 0.03)
        assert abs(with_gaps[method]["bias"]) < 0.005


# ------------------------------------------------------------------------------------------------------ validation


def test_a_validation_has_a_line_for_everything() -> None:
    told: list[tuple[int, int]] = []
    splits = splits_of(MATRIX, 2)
    methods = ("random", "clustered", "sampled")
    found = validate(
        MATRIX, [12, 60], methods=methods, splits=splits, progress=lambda done, of: told.append((done, of))
    )
    assert told == [(done, 12) for done in range(1, 13)]  # budgets are tried together
    assert len(found) == 2 * 3 * 4 * 3  # budgets, methods, splits, targets
    assert found["coverage"].null_count() == found["half_width"].null_count() == 24  # clusters have no intervals
    whole = found.filter(budget=60)
    assert whole["error"].to_numpy() == pytest.approx(np.zeros(len(whole)), abs=1e-9)
    assert whole["spearman"].to_numpy() == pytest.approx(np.ones(len(whole)))
    assert whole["cost_share"].to_numpy() == pytest.approx(np.ones(len(whole)))
    part = found.filter(budget=12)
    assert part["cost_share"].to_numpy() == pytest.approx(np.full(len(part), 0.2))
    assert (part["error"] >= part["bias"].abs() - 1e-12).all()
    assert part["error"].min() > 0  # type: ignore[operator]
    assert set(found["items"]) == {12, 60}

    means = summary(found)
    assert len(means) == 2 * 3 * 2 * 3
    (line,) = means.filter(method="sampled", budget=12, split="random", target="a").to_dicts()
    own = part.filter(method="sampled", split="random", target="a")
    assert line["draws"] == 2
    assert line["error"] == pytest.approx(own["error"].mean())
    assert line["error_se"] == pytest.approx(own["error"].to_numpy().std(ddof=1) / np.sqrt(2))
    clusters = means.filter(method="clustered")
    assert clusters["coverage"].null_count() == len(clusters)


def test_methods_without_intervals_alone_make_a_table() -> None:
    found = summary(validate(MATRIX, [12], methods=("clustered",), splits=splits_of(MATRIX, 1)))
    assert found["coverage"].to_list() == [None] * 6
    assert found["error_se"].to_list() == [None] * 6  # of one draw


def test_constant_rows_have_no_rank_correlation() -> None:
    flat = replace(MATRIX, scores=np.repeat(np.full((12, 1), 0.5), 60, axis=1))
    found = validate(flat, [12], methods=("random", "sampled"), splits=splits_of(flat, 1))
    assert found["spearman"].null_count() == len(found)
    assert found["error"].to_numpy() == pytest.approx(np.zeros(len(found)), abs=1e-9)


@pytest.mark.slow
def test_the_default_is_closer_than_a_random_sample() -> None:
    matrix = made_scores(24, 200, seed=7)
    found = summary(validate(matrix, [30], methods=("random", "sampled"), splits=splits_of(matrix, 8)))
    errors = {
        (line["split"], line["method"]): line["error"] for line in found.filter(target="overall").iter_rows(named=True)
    }
    for split in ("random", "extrapolation"):
        assert errors[split, "sampled"] < 0.75 * errors[split, "random"]


def test_what_cannot_be_validated() -> None:
    splits = splits_of(MATRIX, 1)
    with pytest.raises(FathomError, match=r"unknown method 'sampeld'.*did you mean sampled"):
        validate(MATRIX, [12], methods=("sampeld",), splits=splits)
    for budget in (0, -1, 61):
        with pytest.raises(FathomError, match=f"a budget of {budget}: expected 1 to 60 items"):
            validate(MATRIX, [budget], splits=splits)


# --------------------------------------------------------------------------------------------------------- reaching


@pytest.mark.slow
def test_items_until_intervals_are_narrow() -> None:
    matrix = made_scores(12, 200, seed=1)
    (split,) = splits_of(matrix, 1)[:1]
    found = {line["method"]: line for line in reach(matrix, 0.05, splits=[split]).iter_rows(named=True)}
    assert list(found) == ["stratified", "sampled", "adaptive"]
    for line in found.values():
        assert 4 <= line["mean_items"] <= 200
        assert line["mean_items"] <= line["most_items"] + 1
        assert 0 <= line["coverage"] <= 1
        assert abs(line["bias"]) <= line["error"] < 0.1
    assert found["sampled"]["mean_items"] < found["stratified"]["mean_items"]
    known, new = matrix.of_models(split.known), matrix.of_models(split.new)
    plan = METHODS["sampled"](known, int(found["sampled"]["mean_items"]), 0, None)
    widths = plan.estimate(new.scores[:, plan.items])
    assert float((widths.high - widths.low)[:, 0].mean() / 2) <= 0.05


@pytest.mark.slow
def test_items_until_intervals_are_narrow_with_gaps() -> None:
    matrix = made_scores(12, 200, seed=1)
    scores = np.where(np.random.default_rng(0).random(matrix.scores.shape) < 0.1, np.nan, matrix.scores)
    gaps = replace(matrix, scores=scores)
    for line in reach(gaps, 0.05, splits=splits_of(gaps, 1)[:1]).iter_rows(named=True):
        assert 4 <= line["mean_items"] <= 200
        assert abs(line["bias"]) <= line["error"] < 0.1


@pytest.mark.parametrize("width", [0.0, 0.5, -1.0, float("nan")])
def test_impossible_widths_are_refused(width: float) -> None:
    with pytest.raises(FathomError, match=r"expected more than 0 and less than 0\.5"):
        reach(MATRIX, width, splits=splits_of(MATRIX, 1))
