from __future__ import annotations

import math

import polars as pl
import pytest
from simulated import LENGTHS, row, table

from fathom.analysis import CurvePoint, curve
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


def test_absent_is_not_zero_unless_asked_for() -> None:
    rows = to_frame(
        [
            row(1.0, item=0),
            row(None, item=1, status="overflow"),
            row(None, item=2, status="incomplete"),
            row(None, item=3, status="refused"),
            row(None, item=4, status="error"),
            row(None, item=5, status="ok"),
        ]
    )
    dropped = at(curve(rows), "kv", 2048)
    assert (dropped.mean, dropped.items, dropped.scored) == (1.0, 6, 1)
    zeroed = at(curve(rows, unscored="zero"), "kv", 2048)
    assert (zeroed.mean, zeroed.items, zeroed.scored) == (0.25, 6, 4)
    with pytest.raises(FathomError, match="drop"):
        curve(rows, unscored="nothing")  # type: ignore[arg-type]  # what a command line may pass on


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
    rows = [row(1.0, item=0, chance=0.2), row(1.0, item=1, chance=0.4), row(None, item=2, status="error", chance=1.0)]
    assert at(curve(to_frame(rows)), "kv", 2048).chance == pytest.approx(0.3)
    assert at(curve(to_frame([row(1.0, chance=None)])), "all", 2048).chance is None


def test_intervals_do_not_depend_on_other_models_or_the_order_of_rows() -> None:
    rows = table([[1, 0], [0, 0], [1, 1], [1, 0]])
    others = table([[0, 0]] * 7, model="other")
    alone = [point for point in curve(rows) if point.model == "m"]
    shuffled = pl.concat([others, rows.sample(fraction=1, shuffle=True, seed=1)])
    assert [point for point in curve(shuffled) if point.model == "m"] == alone
    assert curve(rows, seed=1) != alone


def test_the_name_of_the_mean_is_reserved() -> None:
    with pytest.raises(FathomError, match="all"):
        curve(to_frame([row(1.0, task="all")]))
