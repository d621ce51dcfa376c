"""The largest losses: found where there are any, and none in scores that do not change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import scipy

from fathom.analysis import ScoreCell, ScoreTable, profiles, score_profiles
from fathom.analysis.drops import Drop, drops_of
from fathom.rows import to_frame
from fathom.types import Row

LENGTHS = (1024, 2048, 4096, 8192)


def drops(scores: Mapping[str, tuple[float, ...]], *, items: int = 40, seed: int = 0) -> list[Drop]:
    """The drops of one model with these probabilities to be right, by task and length."""
    rng = np.random.default_rng(seed)
    rows = [
        Row("s", task, f"{task}/{item}", f"{task}/{item}@{length}", "m", length, float(rng.random() < probability))
        for task, probabilities in scores.items()
        for length, probability in zip(LENGTHS, probabilities, strict=True)
        for item in range(items)
    ]
    return drops_of(profiles(to_frame(rows)))


def test_the_largest_loss_of_a_task_and_where_it_is_reached_first() -> None:
    found = drops({"falls": (1, 1, 0.5, 0), "flat": (1, 1, 1, 1), "falls_early": (1, 0, 0, 0)})
    assert [(one.task, one.shortest, one.length) for one in found] == [
        ("falls", 1024, 8192),
        ("falls_early", 1024, 2048),
    ]
    assert [(one.before, one.after, one.difference) for one in found] == [(1, 0, -1), (1, 0, -1)]
    assert all(one.interval.low <= -1 < one.interval.high < -0.8 and one.p_value < 1e-6 for one in found)


def test_a_gain_is_no_drop_and_one_length_has_none() -> None:
    assert drops({"rises": (0, 0.5, 1, 1)}) == []
    assert drops_of([]) == []
    rows = [Row("s", "t", f"t/{item}", f"t/{item}@1024", "m", 1024, 1.0) for item in range(5)]
    assert drops_of(profiles(to_frame(rows))) == []


@pytest.mark.slow
@pytest.mark.long
def test_scores_that_do_not_change_have_drops_in_a_few_of_a_hundred_reports() -> None:
    tasks = {f"task-{number}": (0.6, 0.6, 0.6, 0.6) for number in range(8)}
    wrong = sum(bool(drops(tasks, items=10, seed=seed)) for seed in range(40))
    assert wrong <= 4


@pytest.mark.parametrize("items", [3, 100])
def test_few_items_show_only_what_is_clear(items: int) -> None:
    assert bool(drops({"a": (0.7, 0.6, 0.5, 0.45), "b": (0.5,) * 4}, items=items)) is (items == 100)


def test_the_p_value_is_that_of_student_s_distribution_of_the_clusters_but_one() -> None:
    """Of the fewest at the two lengths: six of ten were asked at the longer one."""
    scores = {1024: [0.9, 0.8, 1.0, 0.7, 0.9, 0.8, 1.0, 0.9, 0.8, 0.9], 8192: [0.3, 0.5, 0.2, 0.4, 0.1, 0.6]}
    rows = [
        Row("s", "t", f"t/{item}", f"t/{item}@{length}", "m", length, value)
        for length, values in scores.items()
        for item, value in enumerate(values)
    ]
    ready = profiles(to_frame(rows))
    (drop,) = drops_of(ready)
    error = float((ready[0].compared[:, 1] - ready[0].draws[:, 0]).std())
    assert drop.difference == pytest.approx(0.35 - 0.87)
    assert drop.p_value == pytest.approx(float(scipy.stats.t.cdf(drop.difference / error, 6 - 1)), rel=1e-6)
    # Of three losses that could have been found the clearest has three times its p-value.
    flat = [
        Row("s", "u", f"u/{item}", f"u/{item}@{length}", "m", length, 0.5 + item % 2 / 4)
        for length in LENGTHS[:3]
        for item in range(10)
    ]
    (among,) = drops_of(profiles(to_frame([*rows, *flat])))
    assert among.task == "t"
    assert among.p_value == pytest.approx(3 * drop.p_value, rel=1e-6)


def test_items_of_one_document_are_one_in_the_p_value() -> None:
    first, last = [0.9, 0.8, 1.0, 0.7, 0.9, 0.8, 1.0, 0.9], [0.1, 0.2, 0.1, 0.2, 0.1, 0.1, 0.2, 0.1]
    scores = {1024: first + first, 8192: last + last}
    rows = [
        Row("s", "t", f"t/{item}", f"t/{item}@{length}", "m", length, value, facets={"cluster": item // 2})
        for length, values in scores.items()
        for item, value in enumerate(values)
    ]
    ready = profiles(to_frame(rows))
    (drop,) = drops_of(ready)
    error = float((ready[0].compared[:, 1] - ready[0].draws[:, 0]).std())
    assert drop.p_value == pytest.approx(float(scipy.stats.t.cdf(drop.difference / error, 8 - 1)), rel=1e-6)


def test_a_loss_in_a_table_of_scores_rests_on_its_number_of_items() -> None:
    cells = (ScoreCell("m", "t", 2048, 0.9, 12, 0.0), ScoreCell("m", "t", 8192, 0.2, 9, 0.0))
    ready = score_profiles(ScoreTable(cells, ""))
    (drop,) = drops_of(ready)
    error = float((ready[0].compared[:, 1] - ready[0].draws[:, 0]).std())
    assert drop.p_value == pytest.approx(float(scipy.stats.t.cdf(-0.7 / error, 9 - 1)), rel=1e-6)
