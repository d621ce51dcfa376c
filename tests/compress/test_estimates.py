"""Estimates for people: what subsets and scores must have in common, categories, ranks and ties."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.compress.design import select
from fathom.compress.estimates import Estimate, ModelEstimate, estimate, ranked
from fathom.compress.matrix import ScoreMatrix
from fathom.compress.tables import read_matrix
from fathom.rows import to_frame, write_rows
from fathom.types import FathomError, Member, Row, Subset
from made_scores import made_scores

WORLD = made_scores(14, seed=2)
KNOWN, NEW = WORLD.of_models(range(10)), WORLD.of_models(range(10, 14))
SUBSET = select(KNOWN, 40)


def only(matrix: ScoreMatrix, items: list[int]) -> ScoreMatrix:
    """Some items of a matrix, as a run of a subset gives them."""
    return ScoreMatrix(
        matrix.models,
        tuple(matrix.items[item] for item in items),
        matrix.scores[:, items],
        tuple(matrix.tasks[item] for item in items),
        tuple(matrix.categories[item] for item in items),
        matrix.lengths[items],
        np.full(len(items), 1 / len(items)),
        matrix.costs[items],
    )


def members() -> list[int]:
    places = {name: number for number, name in enumerate(WORLD.items)}
    return sorted(places[member.item] for member in SUBSET.members)


# --------------------------------------------------------------------------------------------------- what is said


def test_estimates_come_from_the_subset_alone() -> None:
    whole = {one.model: one for one in estimate(SUBSET, NEW, KNOWN)}
    part = {one.model: one for one in estimate(SUBSET, only(NEW, members()), KNOWN)}
    truth = dict(zip(NEW.models, NEW.totals(), strict=True))
    for name, one in part.items():
        assert one.overall == whole[name].overall
        assert one.categories == whole[name].categories
        assert one.items == 40
        assert one.full is None
        assert whole[name].full == pytest.approx(truth[name])
        assert set(one.categories) == {"a", "b"}
        # Both categories count alike in the whole.
        assert one.overall.value == pytest.approx(np.mean([part.value for part in one.categories.values()]), abs=0.03)
        assert one.overall.low is not None
        assert one.overall.high is not None
        assert one.overall.low < one.overall.value < one.overall.high


def test_known_scores_make_intervals_narrower() -> None:
    widths: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(5):
        subset = select(KNOWN, 40, seed=seed)
        for with_known in (True, False):
            for one in estimate(subset, NEW, KNOWN if with_known else None):
                widths[with_known].append((one.overall.high or 0) - (one.overall.low or 0))
    assert np.mean(widths[True]) < 0.8 * np.mean(widths[False])


def test_the_direct_score_is_the_mean_of_categories_over_tasks() -> None:
    scores = only(NEW, members())
    for row, one in enumerate(sorted(estimate(SUBSET, scores), key=lambda one: one.model)):
        means = {
            category: np.mean(
                [
                    scores.scores[row, np.array(scores.tasks) == task].mean()
                    for task in {t for t, c in zip(scores.tasks, scores.categories, strict=True) if c == category}
                ]
            )
            for category in ("a", "b")
        }
        assert one.others["direct"] == pytest.approx(np.mean(list(means.values())))


def test_without_known_scores_a_probability_sample_still_has_intervals() -> None:
    for one in estimate(SUBSET, NEW):
        assert one.overall.low is not None
        assert set(one.categories) == {"a", "b"}
    chosen = replace(SUBSET, members=tuple(Member(one.item, one.weight, one.stratum) for one in SUBSET.members))
    for one in estimate(replace(chosen, method="by hand"), NEW):
        assert (one.overall.low, one.ranks, one.group) == (None, None, 0)
        weights = np.array([member.weight for member in chosen.members])
        row = NEW.scores[NEW.models.index(one.model), [NEW.items.index(member.item) for member in chosen.members]]
        assert one.overall.value == pytest.approx(row @ weights / weights.sum())


def test_missing_scores_are_counted() -> None:
    scores = NEW.scores.copy()
    scores[0, members()[::2]] = np.nan
    scores[1, members()] = np.nan
    for known in (KNOWN, None):
        found = {one.model: one for one in estimate(SUBSET, replace(NEW, scores=scores), known)}
        assert {name: one.items for name, one in found.items()} == {"model 10": 20, "model 12": 40, "model 13": 40}
        assert found["model 10"].full is None


def test_a_part_of_the_benchmark_is_not_its_full_score() -> None:
    more = sorted({*members(), *range(60)})
    assert all(one.full is None for one in estimate(SUBSET, only(NEW, more), KNOWN))
    assert all(one.full is None for one in estimate(SUBSET, only(NEW, more)))


def test_the_full_score_counts_items_as_the_estimate_does() -> None:
    weights = np.linspace(1, 5, 120)
    known = replace(KNOWN, weights=weights / weights.sum())
    subset = select(known, 40)
    found = {one.model: one.full for one in estimate(subset, NEW, known)}
    assert found == pytest.approx(dict(zip(NEW.models, NEW.scores @ known.weights, strict=True)))


def test_the_category_of_an_item_that_was_not_asked_has_no_value() -> None:
    chosen = Subset("s", (Member("t0/0000", 0.5), Member("t2/0002", 0.5)), "by hand")
    scores = NEW.scores.copy()
    scores[0, 2] = np.nan
    found = {one.model: one for one in estimate(chosen, replace(NEW, scores=scores))}
    assert np.isnan(found["model 10"].categories["b"].value)
    assert found["model 11"].categories["b"].value == NEW.scores[1, 2]


# --------------------------------------------------------------------------------------------------- what is refused


def test_subsets_and_scores_that_do_not_belong_together() -> None:
    other = replace(NEW, items=tuple(f"other/{name}" for name in NEW.items))
    for known in (KNOWN, None):
        with pytest.raises(FathomError, match="no item of the subset 'sampled' has a score, for example 't"):
            estimate(SUBSET, other, known)
    with pytest.raises(
        FathomError, match="40 of its items are not in the scores that it was chosen with, for example t"
    ):
        estimate(SUBSET, NEW, replace(KNOWN, items=other.items))
    renamed = (replace(SUBSET.members[0], item="unknown/0001"), *SUBSET.members[1:])
    with pytest.raises(FathomError, match=r"1 of its items are not in .* for example unknown/0001"):
        estimate(replace(SUBSET, members=renamed), NEW, KNOWN)
    with pytest.raises(FathomError, match="was chosen with other scores"):
        estimate(SUBSET, NEW, KNOWN.of_models(range(9)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": None}, "its design: budget: expected a number"),
        ({"budget": 41}, "was chosen with other scores"),
        ({"unit": "miles"}, "its design: unit: expected items, cost"),
        ({"seed": "x"}, "its design: seed: expected a whole number"),
    ],
)
def test_designs_that_were_changed(change: dict[str, int | str | None], message: str) -> None:
    with pytest.raises(FathomError, match=message):
        estimate(replace(SUBSET, design={**SUBSET.design, **change}), NEW, KNOWN)


def test_members_without_probabilities_are_not_estimated_as_a_sample() -> None:
    bare = (replace(SUBSET.members[0], probability=None), *SUBSET.members[1:])
    with pytest.raises(FathomError, match="its members have no probabilities"):
        estimate(replace(SUBSET, members=bare), NEW, KNOWN)


# ------------------------------------------------------------------------------------------------------------- names


def test_items_may_be_named_by_their_samples(tmp_path: Path) -> None:
    rows = [
        Row(suite="s", sample=f"{item}@8k", task=task, item=item, model="new", length=8192, tokens=8000, value=value)
        for item, task, value in zip(NEW.items, NEW.tasks, NEW.scores[0].tolist(), strict=True)
    ]
    write_rows(to_frame(rows), tmp_path / "rows.parquet")
    named = replace(KNOWN, items=tuple(f"{item}@8k" for item in KNOWN.items))
    found = []
    for known in (KNOWN, named):
        subset = select(known, 40)
        scores = read_matrix(tmp_path / "rows.parquet", wanted={member.item for member in subset.members})
        found.append(estimate(subset, scores, known)[0].overall)
    assert found[0] == found[1]


# ----------------------------------------------------------------------------------------------------- ranks and ties


def of(model: str, value: float, half: float) -> ModelEstimate:
    return ModelEstimate(model, Estimate(value, value - half, value + half))


def test_ranks_and_ties_by_hand() -> None:
    # One difference in both directions takes 1.96 of its errors; the second of Holm's six steps 2.33, the first 2.39.
    assert [one.ranks for one in ranked([of("a", 0.55, 0.03), of("c", 0.5, 0.03)])] == [(1, 1), (2, 2)]
    assert [one.ranks for one in ranked([of("a", 0.54, 0.03), of("c", 0.5, 0.03)])] == [(1, 2), (1, 2)]
    found = ranked([of("c", 0.5, 0.03), of("a", 0.55, 0.03), of("d", 0.30, 0.04), of("b", 0.53, 0.04)])
    assert [one.model for one in found] == ["a", "b", "c", "d"]
    assert [one.group for one in found] == [1, 1, 1, 2]
    assert [one.ranks for one in found] == [(1, 3), (1, 3), (1, 3), (4, 4)]


def test_models_that_are_alike_share_all_ranks() -> None:
    found = ranked([of(name, 0.5, 0.02) for name in "cab"])
    assert [(one.model, one.ranks, one.group) for one in found] == [
        ("a", (1, 3), 1),
        ("b", (1, 3), 1),
        ("c", (1, 3), 1),
    ]
    exact = ranked([of("a", 0.5, 0.0), of("b", 0.4, 0.0)])
    assert [(one.ranks, one.group) for one in exact] == [((1, 1), 1), ((2, 2), 2)]
    without = ranked([of("a", 0.4, 0.0), ModelEstimate("b", Estimate(0.5))])
    assert [(one.model, one.ranks, one.group) for one in without] == [("b", None, 0), ("a", None, 0)]
    assert ranked([]) == []


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2)), min_size=1, max_size=12))
def test_ranks_hold_each_models_place(given_models: list[tuple[float, float]]) -> None:
    found = ranked([of(f"m{n}", value, half) for n, (value, half) in enumerate(given_models)])
    values = [one.overall.value for one in found]
    assert values == sorted(values, reverse=True)
    groups = [one.group for one in found]
    assert groups[0] == 1
    assert all(later - earlier in (0, 1) for earlier, later in itertools.pairwise(groups))
    for place, one in enumerate(found, start=1):
        assert one.ranks is not None
        assert one.ranks[0] <= place <= one.ranks[1]
