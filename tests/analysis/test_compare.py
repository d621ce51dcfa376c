from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import drawn, row, table

import naive
from fathom.analysis import Comparison, compare
from fathom.analysis.compare import pair_up
from fathom.rows import to_frame
from fathom.stats.differences import Resampler, paired
from fathom.stats.flips import flip_p_value
from fathom.types import FathomError


def of(found: list[Comparison], length: int | None, task: str = "kv") -> Comparison:
    (one,) = [item for item in found if (item.task, item.length) == (task, length)]
    return one


def test_only_shared_cells_count() -> None:
    rows = pl.concat([table([[1, 1], [1, None], [0, 1]], model="a"), table([[0, 1], [1, 0]], model="b")])
    rows = rows.drop_nulls("value")
    found = compare(rows, "a", "b")
    assert (of(found, 2048).difference, of(found, 2048).items) == (0.5, 2)
    assert (of(found, 4096).difference, of(found, 4096).items) == (0.0, 1)
    assert (of(found, None).difference, of(found, None).items) == (0.25, 2)


def test_a_cell_that_is_not_measured_is_in_no_comparison() -> None:
    full, gap = [[1.0, 1.0], [1.0, 1.0]], [[0.0, None], [0.0, None]]
    tables = [table(full, model="a"), table(gap, model="b"), table(full, model="a", task="qa")]
    rows = pl.concat([*tables, table(full, model="b", task="qa")])
    found = {(one.task, one.length) for one in compare(rows, "a", "b")}
    assert found == {("kv", 2048), ("qa", 2048), ("qa", 4096), ("qa", None), ("all", 2048)}
    # A task that is measured nowhere takes every mean over tasks with it.
    nothing = [[None, None], [None, None]]
    rows = pl.concat([tables[0], table(nothing, model="b"), tables[2], table(full, model="b", task="qa")])
    assert {(one.task, one.length) for one in compare(rows, "a", "b")} == {("qa", 2048), ("qa", 4096), ("qa", None)}


def test_what_was_not_answered_counts_against_its_model() -> None:
    refused = row(None, model="b", item=1, status="refused")
    rows = to_frame([row(1.0, model="a"), row(1.0, model="a", item=1), row(1.0, model="b"), refused])
    assert (of(compare(rows, "a", "b"), 2048).difference, of(compare(rows, "a", "b"), 2048).unanswered_b) == (0.5, 1)
    dropped = of(compare(rows, "a", "b", unanswered="drop"), 2048)
    assert (dropped.difference, dropped.items) == (0.0, 1)


def test_the_other_way_round_has_the_other_sign() -> None:
    rng = np.random.default_rng(0)
    rows = pl.concat([drawn([0.9, 0.5], 40, rng, model="a"), drawn([0.6, 0.4], 40, rng, model="b")])
    there, back = compare(rows, "a", "b"), compare(rows, "b", "a")
    for one, other in zip(there, back, strict=True):
        assert one.difference == pytest.approx(-other.difference)
        assert one.p_value == pytest.approx(other.p_value, abs=0.03)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.25, 1.0])), min_size=1, max_size=10)
)
@settings(max_examples=25)
def test_p_value_is_that_of_all_sign_flips_and_the_interval_has_its_own_say(scores: list[tuple[float, float]]) -> None:
    rows = pl.concat([table([[pair[side]] for pair in scores], model=model) for side, model in enumerate("ab")])
    for one in compare(rows, "a", "b", replicates=200):
        assert one.p_value == pytest.approx(naive.flips([first - second for first, second in scores]))
        assert one.interval.low <= one.difference <= one.interval.high


@pytest.mark.slow
def test_p_value_of_many_items_is_that_of_all_sign_flips() -> None:
    """The permutation test of Dror et al. 2018, section 3.2, which needs no bootstrap."""
    rng = np.random.default_rng(5)
    first = rng.beta(2, 2, 300)
    second = np.clip(first + rng.normal(0.01, 0.15, 300), 0, 1)
    signs = rng.choice((-1, 1), (20_000, 300))
    exact = (np.abs(signs @ (first - second)) >= abs((first - second).sum())).mean()
    assert 0.1 < exact < 0.5
    scores = {"a": first, "b": second}
    rows = pl.concat([table([[float(score)] for score in own], model=model) for model, own in scores.items()])
    assert of(compare(rows, "a", "b"), 2048).p_value == pytest.approx(exact, abs=0.05)


def test_equal_models_are_equal() -> None:
    rows = pl.concat([table([[1], [0], [1]], model="a"), table([[1], [0], [1]], model="b")])
    one = of(compare(rows, "a", "b"), None)
    assert (one.difference, one.p_value) == (0, 1)
    assert one.interval.low < 0 < one.interval.high


def test_pairing_finds_a_small_difference() -> None:
    ease = np.random.default_rng(1).beta(0.5, 0.5, 80)
    rows = pl.concat([table([[0.9 * e + 0.05] for e in ease], model="a"), table([[0.9 * e] for e in ease], model="b")])
    one = of(compare(rows, "a", "b"), 2048)
    assert one.p_value < 0.01
    assert one.interval.low > 0


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("items", "tasks"), [(15, 1), (20, 1), (60, 1), (5, 8)])
def test_false_alarms_are_as_rare_as_they_should_be(items: int, tasks: int) -> None:
    """Of right and wrong: the test itself, which needs no replicates."""
    rng = np.random.default_rng(items)
    alarms, trials = 0, 1000
    for _ in range(trials):
        parts = []
        for task in range(tasks):
            chance = 1 / (1 + np.exp(-rng.normal(0, 1.5, items)))
            first, second = (rng.random((2, items)) < chance).astype(np.float64)
            parts.append(paired(first[:, None], second[:, None], f"{task}", Resampler(0)))
        alarms += flip_p_value(reduce(add, parts).contributions([0])) < 0.05
    assert alarms / trials <= 0.063


def test_tasks_are_averaged_with_equal_weight() -> None:
    rows = pl.concat(
        [
            table([[1]] * 30, model="a", task="x"),
            table([[0]] * 30, model="b", task="x"),
            table([[0.5]], model="a", task="y"),
            table([[0.5]], model="b", task="y"),
            table([[1]], model="a", task="only of a"),
        ]
    )
    one = of(compare(rows, "a", "b"), 2048, task="all")
    assert (one.difference, one.items) == (0.5, 31)


def test_variants_of_one_model() -> None:
    rows = to_frame(
        row(value, item=item, variant=variant)
        for item in range(5)
        for variant, value in (("short", 0.0), ("long", 1.0))
    )
    one = of(compare(rows, "m", "m", variant_a="long", variant_b="short"), 2048)
    assert (one.difference, one.variant_a, one.variant_b) == (1.0, "long", "short")


def test_samples_of_one_name_in_two_suites_are_two() -> None:
    """What one model alone was asked is neither compared nor counted."""
    both = [row(value, model=model) for model, value in (("a", 1.0), ("b", 0.0))]
    alone = row(None, model="a", suite="other", status="refused")
    one = of(compare(to_frame([*both, alone]), "a", "b"), 2048)
    assert (one.difference, one.items, one.unanswered_a) == (1.0, 1, 0)
    one = of(compare(to_frame([*both, alone, row(1.0, model="b", suite="other")]), "a", "b"), 2048)
    assert (one.difference, one.items, one.unanswered_a) == (0.0, 2, 1)


def test_nothing_shared() -> None:
    rows = pl.concat([table([[1]], model="a", task="x"), table([[1]], model="b", task="y")])
    assert compare(rows, "a", "b") == []
    unscored = to_frame([row(1.0, model="a"), row(None, model="b", status="error")])
    assert compare(unscored, "a", "b") == []


def test_unknown_models_are_named() -> None:
    rows = table([[1]], model="a")
    with pytest.raises(FathomError, match=r"'b'.*'a'"):
        compare(rows, "a", "b")
    with pytest.raises(FathomError, match="itself"):
        compare(rows, "a", "a")


def test_a_pair_counts_what_was_not_answered_as_wrong_unless_told_otherwise() -> None:
    refused = row(None, model="b", item=1, status="refused")
    rows = to_frame([row(1.0, model="a"), row(1.0, model="a", item=1), row(1.0, model="b"), refused])
    assert of(pair_up(rows, ("a", ""), ("b", "")).comparisons(), 2048).difference == 0.5


def test_a_pair_that_shares_nothing_has_no_difference_over_any_length() -> None:
    rows = pl.concat([table([[1]], model="a", task="x"), table([[1]], model="b", task="y")])
    pairing = pair_up(rows, ("a", ""), ("b", ""))
    assert pairing.over([2048]) is None
    assert pairing.over([]) is None


@pytest.mark.parametrize("lost", [(), (2,)], ids=["every item", "an item less"])
def test_a_length_that_one_model_lacks_changes_nothing_at_the_others(lost: tuple[int, ...]) -> None:
    """Sums of all lengths of a model are drawn once and serve every pair: those at some lengths must be the same."""
    rows = [
        row(float((item * length) % 3 == 0) if model == "a" else item / 8, model=model, item=item, length=length)
        for model in "ab"
        for length in (1024, 2048, 4096)
        for item in range(8)
        if (model, length) != ("b", 4096) and not (model == "b" and length == 1024 and item in lost)
    ]
    both, without = to_frame(rows), to_frame([own for own in rows if own.length != 4096])
    found, alone = (compare(table, "a", "b") for table in (both, without))
    assert [replace(own, cells_of=0) for own in found] == [replace(own, cells_of=0) for own in alone]
