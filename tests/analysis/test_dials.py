"""Scores along dials, twins, and what explains the loss with length, against a known truth."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest

from fathom.analysis import DialLoss, DialPoint, dials
from fathom.analysis.dials import CONSTANT, WHOLE, order_of
from fathom.report.sections.dials import loss_tables, point_tables
from fathom.rows import to_frame
from fathom.types import Facet, FathomError, Row
from fathom.types.choices import DIALS
from fathom.world.dials import HEEDED

LENGTHS = (8192, 32768)
HOPS, NEAR = (2, 3, 4), (3, 6)
LOST = {2: 0.0, 3: 0.1, 4: 0.4}
"""What each number of hops adds to the loss."""
Value = Callable[[int, int, int], float]


def rows(value: Value, rounds: int = 4, task: str = "t", settings: Sequence[tuple[int, int]] = ()) -> pl.DataFrame:
    """Items of some rounds at every setting; ``value`` gives the score at hops, near and length."""
    made = []
    settings = settings or [(hops, near) for hops in HOPS for near in NEAR]
    for number in range(rounds):
        for turn, (hops, near) in enumerate(settings):
            item = f"{task}/en/{number * len(settings) + turn:04d}"
            facets: dict[str, Facet] = {"hops": hops, "near": near, "cluster": f"{task}|{number}"}
            for length in LENGTHS:
                name = f"{item}@{length}"
                made.append(Row("s", task, item, name, "m", length, value(hops, near, length), facets=facets, chance=0))
    return to_frame(made)


def exact(hops: int, near: int, length: int) -> float:
    """A score that loses .1 with length, more with hops, nothing with near misses."""
    return 0.9 - 0.05 * hops - (0.1 + LOST[hops] if length > LENGTHS[0] else 0.0)


def parts_of(losses: Sequence[DialLoss], task: str = "t") -> dict[str, float]:
    return {loss.part: loss.loss for loss in losses if loss.task == task}


def test_every_dial_of_the_world_is_a_dial_of_the_study() -> None:
    assert set().union(*HEEDED.values()) == set(DIALS)


def test_points_are_means_at_each_setting_and_differences_are_to_the_first() -> None:
    points, _ = dials(rows(exact))
    at = {(point.dial, point.setting, point.length): point for point in points}
    assert at["hops", "2", LENGTHS[0]].mean == pytest.approx(0.8)
    assert at["hops", "2", LENGTHS[0]].difference is None
    assert at["hops", "4", LENGTHS[0]].difference == pytest.approx(-0.1)
    assert at["hops", "4", LENGTHS[1]].difference == pytest.approx(-0.5)
    assert at["hops", "4", None].difference == pytest.approx(-0.3)
    assert at["near", "6", None].difference == pytest.approx(0)
    assert at["near", "6", LENGTHS[0]].items == 12
    for point in points:
        assert point.interval.low <= point.mean <= point.interval.high
        if point.difference is not None and point.difference_interval is not None:
            assert point.difference_interval.low <= point.difference <= point.difference_interval.high


def test_parts_of_the_loss_are_the_true_ones_and_add_up() -> None:
    _, losses = dials(rows(exact))
    parts = parts_of(losses)
    assert parts[CONSTANT] == pytest.approx(0.1)
    assert parts["hops"] == pytest.approx((0.1 + 0.4) / 3)
    assert parts["near"] == pytest.approx(0)
    assert parts[WHOLE] == pytest.approx(parts[CONSTANT] + parts["hops"] + parts["near"])
    assert all(loss.interval.low < loss.loss < loss.interval.high for loss in losses)


def test_a_part_is_right_where_settings_are_not_balanced() -> None:
    settings = [(2, 3), (2, 3), (2, 6), (4, 6), (4, 6), (4, 3)]
    _, losses = dials(rows(exact, settings=settings))
    parts = parts_of(losses)
    assert parts["hops"] == pytest.approx(0.4 / 2)
    assert parts["near"] == pytest.approx(0)


def test_dials_that_vary_together_are_named_and_only_the_other_parts_are_kept() -> None:
    _, losses = dials(rows(exact, settings=[(2, 3), (4, 6)]))
    assert parts_of(losses) == pytest.approx({WHOLE: 0.1 + 0.4 / 2, CONSTANT: 0.1})
    assert {loss.together for loss in losses} == {("hops", "near")}
    assert "vary together" in loss_tables(losses)[0].notes[0]


def with_names(made: pl.DataFrame, turns: int) -> pl.DataFrame:
    """A third dial that is crossed with the others, by the round of an item."""
    facets = pl.col("facets")
    real = pl.col("item").str.tail(4).cast(pl.Int64) // turns % 2 == 1
    return made.with_columns(
        pl.when(real).then(facets.str.replace(r"\{", '{"names":"real",')).otherwise(
            facets.str.replace(r"\{", '{"names":"invented",')
        )
    )  # fmt: skip


def test_a_dial_that_is_crossed_with_those_that_vary_together_keeps_its_part() -> None:
    _, losses = dials(with_names(rows(exact, settings=[(2, 3), (4, 6)]), 2))
    assert {loss.together for loss in losses} == {("hops", "near")}
    assert parts_of(losses).keys() == {WHOLE, CONSTANT, "names"}
    assert parts_of(losses)["names"] == pytest.approx(0)
    assert not any(loss.few for loss in losses)


def test_too_few_items_are_said_to_be_too_few() -> None:
    _, losses = dials(rows(exact, rounds=1, settings=[(2, 3), (3, 6), (4, 6)]))
    assert all(loss.few for loss in losses)
    assert "fewer items than settings" in loss_tables(losses)[0].notes[0]


def test_a_length_at_which_a_setting_has_no_score_is_left_out_and_the_others_are_kept() -> None:
    gap = (pl.col("length") == LENGTHS[0]) & pl.col("facets").str.contains(r'"hops":\s*4')
    points, _ = dials(rows(exact).filter(~gap))
    own = [point for point in points if point.dial == "hops"]
    assert [(point.setting, point.length, point.left_out) for point in own] == [
        (str(hops), LENGTHS[1], LENGTHS[:1]) for hops in HOPS
    ]
    assert [point.mean for point in own] == pytest.approx([exact(hops, 3, LENGTHS[1]) for hops in HOPS])
    assert {point.length for point in points if point.dial == "near"} == {*LENGTHS, None}
    assert "no score at 8k" in point_tables(points)[0].notes[0]


def noisy(seed: int, rounds: int) -> pl.DataFrame:
    rng = random.Random(seed)
    return rows(lambda hops, near, length: float(rng.random() < exact(hops, near, length)), rounds)


@pytest.mark.slow
def test_intervals_of_parts_and_differences_hold_the_truth() -> None:
    truth = {WHOLE: 0.1 + 0.5 / 3, CONSTANT: 0.1, "hops": 0.5 / 3, "near": 0.0}
    held = dict.fromkeys((*truth, "difference"), 0)
    errors = dict.fromkeys(truth, 0.0)
    runs = 40
    for seed in range(runs):
        points, losses = dials(noisy(seed, 16))
        for loss in losses:
            held[loss.part] += loss.interval.low <= truth[loss.part] <= loss.interval.high
            errors[loss.part] += (loss.loss - truth[loss.part]) / runs
        (point,) = (each for each in points if (each.dial, each.setting, each.length) == ("hops", "4", LENGTHS[1]))
        assert point.difference_interval is not None
        held["difference"] += point.difference_interval.low <= -0.5 <= point.difference_interval.high
    # 40 runs at a coverage of 95% hold the truth at least 34 times with a probability of 99%.
    assert min(held.values()) >= 34, held
    # Four standard errors of a part over 40 runs.
    assert max(map(abs, errors.values())) < 0.08


def test_twins_are_compared_in_pairs() -> None:
    """The items differ much, the twins always by the same."""
    made = []
    for number in range(10):
        for kind, twin in (("invented", 0.0), ("real", 0.08)):
            item = f"t/en/{number}{kind}"
            facets: dict[str, Facet] = {"names": kind, "cluster": f"c{number}"}
            made.append(Row("s", "t", item, item, "m", 8192, number / 12 + twin, facets=facets, chance=0))
    points, losses = dials(to_frame(made))
    first, second = points
    assert not losses
    assert second.difference == pytest.approx(0.08)
    assert second.difference_interval is not None
    # Unpaired, the standard error would be .13, and the interval .5 wide.
    assert second.difference_interval.high - second.difference_interval.low < 0.35
    assert first.interval.high - first.interval.low > 0.3


def test_a_mean_over_tasks_is_over_settings_and_lengths_of_all() -> None:
    table = pl.concat([rows(exact, task="a"), rows(exact, task="b", settings=[(2, 3), (3, 3), (4, 3)])])
    points, losses = dials(table)
    of_all = [point for point in points if point.task == "all"]
    assert {point.dial for point in of_all} == {"hops"}
    parts, first, second = (parts_of(losses, task) for task in ("all", "a", "b"))
    assert parts["near"] == pytest.approx(first["near"] / 2)
    assert parts["hops"] == pytest.approx((first["hops"] + second["hops"]) / 2)
    assert parts[WHOLE] == pytest.approx(sum(parts[name] for name in (CONSTANT, "hops", "near")))


def test_any_facet_is_a_dial_by_its_name_and_another_is_refused() -> None:
    table = rows(exact).with_columns(facets=pl.col("facets").str.replace("hops", "steps"))
    assert {point.dial for point in dials(table)[0]} == {"near"}
    assert {point.dial for point in dials(table, by=["steps"])[0]} == {"steps"}
    with pytest.raises(FathomError, match="the rows have the facets"):
        dials(table, by=["nothing"])


def test_without_dials_there_are_no_results() -> None:
    assert dials(rows(exact).with_columns(facets=pl.lit("{}"))) == ([], [])
    assert dials(rows(exact).clear()) == ([], [])


def test_settings_are_in_the_order_of_numbers() -> None:
    assert sorted(["yes", "10", "2", "0.5", "no"], key=order_of) == ["0.5", "2", "10", "no", "yes"]


def test_tables_have_a_row_for_each_setting_and_a_column_for_each_part() -> None:
    points, losses = dials(rows(exact))
    (table,), (lost,) = point_tables(points), loss_tables(losses)
    assert [row[2].text for row in table.rows] == ["2", "3", "4", "3", "6"]
    assert [column.label for column in lost.columns] == [
        "Task", "Lengths", "Items", "in all", "length alone", "hops", "near",
    ]  # fmt: skip
    assert lost.rows[0][1].text == "8k to 32k"


def test_equal_rows_give_equal_results_whatever_their_order() -> None:
    table = noisy(0, 6)
    first, second = dials(table), dials(table.sample(fraction=1, shuffle=True, seed=1))
    assert all(isinstance(point, DialPoint) for point in first[0])
    for one, other in zip(first[1], second[1], strict=True):
        assert np.isclose(one.loss, other.loss)
        assert np.isclose(one.interval.low, other.interval.low)
