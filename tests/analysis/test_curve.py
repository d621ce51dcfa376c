from __future__ import annotations

import math

import polars as pl
import pytest
from simulated import LENGTHS, row, table

from fathom.analysis import CurvePoint, curve
from fathom.analysis.ability import APART
from fathom.rows import to_frame
from fathom.types import FathomError


def at(points: list[CurvePoint], task: str, length: int) -> CurvePoint:
    (found,) = [point for point in points if (point.task, point.length) == (task, length)]
    return found


def test_an_empty_table_has_no_curve() -> None:
    assert curve(to_frame([])) == []


def test_means_counts_and_order() -> None:
    points = curve(table([[1, 1, 0.5], [1, 0, 0.0]]))
    assert [(point.task, point.length, point.mean) for point in points] == [
        ("kv", 2048, 1.0), ("kv", 4096, 0.5), ("kv", 6144, 0.25),
        ("all", 2048, 1.0), ("all", 4096, 0.5), ("all", 6144, 0.25),
    ]  # fmt: skip
    assert all(point.items == point.scored == 2 and point.complete for point in points)
    assert all(point.interval and point.interval.low <= (point.mean or 0) <= point.interval.high for point in points)


def test_epochs_are_averaged_within_an_item_first() -> None:
    rows = [row(1.0, item=0, epoch=epoch) for epoch in (1, 2, 3)] + [row(0.0, item=1)]
    assert at(curve(to_frame(rows)), "kv", 2048).mean == 0.5


def test_not_answering_is_wrong_and_what_is_missing_is_not_measured() -> None:
    said = [row(1.0, item=item) for item in (0, 1)]
    silent = [row(None, item=2, status="incomplete"), row(None, item=3, status="refused")]
    zeroed = at(curve(to_frame([*said, *silent])), "kv", 2048)
    assert (zeroed.mean, zeroed.other, zeroed.items, zeroed.scored, zeroed.unanswered) == (0.5, 1.0, 4, 4, 2)
    dropped = at(curve(to_frame([*said, *silent]), unanswered="drop"), "kv", 2048)
    assert (dropped.mean, dropped.other, dropped.items, dropped.scored) == (1.0, 0.5, 4, 2)
    for lost in (row(None, item=4, status="error"), row(None, item=4, status="ok")):
        gone = at(curve(to_frame([*said, *silent, lost])), "kv", 2048)
        assert (gone.mean, gone.scored, gone.complete, gone.gap) == (None, 0, False, "1 of 5 replies is missing")
        kept = at(curve(to_frame([*said, *silent, lost]), unanswered="drop"), "kv", 2048)
        assert (kept.mean, kept.complete, kept.gap) == (1.0, False, "1 of 5 replies is missing")
    with pytest.raises(FathomError, match="drop"):
        curve(to_frame(said), unanswered="nothing")  # type: ignore[arg-type]  # what a command line may pass on


def test_a_task_that_is_not_measured_takes_the_mean_over_tasks_with_it() -> None:
    rows = [row(1.0, item=item, task=task, length=length) for item in range(3) for task in "ab" for length in (1, 2)]
    rows[1] = row(None, status="overflow", task="a", length=2)
    points = curve(to_frame(rows))
    assert [(one.length, one.mean, one.gap) for one in points if one.task == "all"] == [
        (1, 1.0, ""),
        (2, None, "1 of 3 prompts did not fit"),
    ]
    # A task that was not asked at a length is another matter: the mean there is over the others, and says so.
    points = curve(to_frame([one for one in rows if (one.task, one.length) != ("a", 2)]))
    assert [(one.length, one.mean, one.complete) for one in points if one.task == "all"] == [
        (1, 1.0, True),
        (2, 1.0, False),
    ]


def test_a_task_of_two_suites_has_no_score_where_one_of_them_is_not_measured() -> None:
    rows = [row(float(suite == "r"), item=item, suite=suite) for item in range(3) for suite in "rs"]
    assert at(curve(to_frame(rows)), "kv", 2048).mean == 0.5
    wrong = [row(None, item=one, suite="s", status="error") for one in range(3)]
    points = curve(to_frame([one for one in rows if one.suite == "r"] + wrong))
    assert [point.mean for point in points] == [None, None]


def test_the_other_choice_has_a_mean_over_tasks_only_where_all_have_one() -> None:
    rows = [row(1.0, item=item, task=task) for item in range(3) for task in "ab"]
    rows[0] = row(None, status="error", task="a")
    found = {one.task: (one.mean, one.other) for one in curve(to_frame(rows), unanswered="drop")}
    assert found == {"a": (1.0, None), "b": (1.0, 1.0), "all": (1.0, None)}


def test_invalid_replies_stay_in_the_mean() -> None:
    rows = to_frame([row(1.0, item=0), row(0.0, item=1, valid=False)])
    assert at(curve(rows), "kv", 2048).mean == 0.5


def test_a_length_without_a_score_has_a_point_without_a_mean() -> None:
    rows = to_frame([row(1.0), row(None, length=8192, status="overflow"), row(math.nan, length=16384)])
    for length in (8192, 16384):
        point = at(curve(rows), "kv", length)
        assert (point.mean, point.interval, point.items, point.scored) == (None, None, 1, 0)
        assert not at(curve(rows), "all", length).complete


def test_tasks_have_equal_weight_whatever_their_items() -> None:
    rows = pl.concat([table([[1.0]] * 30, task="a"), table([[0.0]], task="b")])
    point = at(curve(rows), "all", 2048)
    assert (point.mean, point.items, point.tasks) == (0.5, 31, ("a", "b"))


def test_a_missing_task_is_flagged() -> None:
    rows = pl.concat([table([[1.0, 1.0, 1.0]], task="a"), table([[0.0, 0.0]], task="b")])
    points = curve(rows)
    assert [at(points, "all", length).complete for length in LENGTHS[:3]] == [True, True, False]
    assert [at(points, "all", length).mean for length in LENGTHS[:3]] == [0.5, 0.5, 1.0]


def test_models_and_variants_are_apart_whatever_their_names() -> None:
    names = ("a/b?c=1&d", "<script>", "模型 7b", "../x", "")
    rows = to_frame(row(place / 4, model=name, variant=name) for place, name in enumerate(names))
    points = [point for point in curve(rows) if point.task == "kv"]
    assert [(point.model, point.variant, point.mean) for point in points] == [
        (name, name, place / 4) for place, name in enumerate(names)
    ]


def test_items_of_two_suites_are_two_items() -> None:
    point = at(curve(to_frame([row(1.0, suite="a"), row(0.0, suite="b")])), "kv", 2048)
    assert (point.mean, point.items) == (0.5, 2)


def test_chance_is_averaged_over_the_scored_items() -> None:
    rows = [row(1.0, item=0, chance=0.2), row(1.0, item=1, chance=0.4), row(None, item=2, status="refused", chance=0.9)]
    assert at(curve(to_frame(rows)), "kv", 2048).chance == pytest.approx(0.5)
    assert at(curve(to_frame(rows), unanswered="drop"), "kv", 2048).chance == pytest.approx(0.3)
    assert at(curve(to_frame([row(1.0, chance=None)])), "all", 2048).chance is None


def test_intervals_do_not_depend_on_other_models_or_the_order_of_rows() -> None:
    rows = table([[1, 0], [0, 0], [1, 1], [1, 0]])
    others = table([[0, 0]] * 7, model="other")
    alone = [point for point in curve(rows) if point.model == "m"]
    shuffled = pl.concat([others, rows.sample(fraction=1, shuffle=True, seed=1)])
    assert [point for point in curve(shuffled) if point.model == "m"] == alone
    assert curve(rows, seed=1) == alone  # right or wrong: exact
    partly = table([[0.5], [0.25], [1]])
    assert curve(partly, seed=1) != curve(partly)


def test_a_curve_over_other_questions_at_each_length_says_so() -> None:
    once = to_frame(row(1.0, item=item, length=length) for item, length in enumerate((2048, 4096)))
    assert {point.note for point in curve(once)} == {APART}
    assert {point.note for point in curve(table([[1, 1]] * 2))} == {""}


def test_the_name_of_the_mean_is_reserved() -> None:
    with pytest.raises(FathomError, match="all"):
        curve(to_frame([row(1.0, task="all")]))
