from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from simulated import LENGTHS, drawn, row

from fathom.analysis import published_and_generated
from fathom.report.measure import measure
from fathom.report.summary import summary
from fathom.rows import to_frame

PAIRS = {"made": "published"}


def _records(rates: tuple[float, float], items: int, rng: np.random.Generator) -> pl.DataFrame:
    """Published items, of which each has one length."""
    return to_frame(
        row(float(rng.random() < rate), task="published", item=1000 * place + number, length=LENGTHS[place])
        for place, rate in enumerate(rates)
        for number in range(items)
    )


def test_a_known_difference_is_measured_at_each_length_and_over_them() -> None:
    rng = np.random.default_rng(3)
    rows = pl.concat([drawn((0.9, 0.5), 200, rng, task="made"), _records((0.9, 0.9), 200, rng)])
    first, second, both = published_and_generated(rows, PAIRS)
    assert [result.length for result in (first, second, both)] == [2048, 4096, None]
    assert first.interval.low < 0 < first.interval.high
    assert second.interval.low < 0.4 < second.interval.high
    assert second.p_adjusted is not None
    assert second.p_adjusted < 0.001
    assert both.difference == pytest.approx((first.difference + second.difference) / 2)
    assert both.items == (200, 400)
    assert second.published == pytest.approx(second.generated + second.difference)


@pytest.mark.slow
def test_a_report_of_both_says_what_its_score_is_over_and_the_mean_of_each() -> None:
    rng = np.random.default_rng(7)
    made = [drawn((1.0, 1.0), 4, rng, task=task) for task in ("graphwalks_bfs", "ruler_vt")]
    records = _records((0.0, 0.0), 4, rng).with_columns(task=pl.lit("graphwalks_published_bfs"))
    note = (
        "The score is over 2 generated tasks and 1 task of published records, which models may know: generated alone "
        "100.0, published alone 0.0."
    )
    assert note in summary(measure(pl.concat([*made, records]))).notes
    assert not any("may know" in other for other in summary(measure(pl.concat(made))).notes)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng, missed, alarms = np.random.default_rng(11), 0, 0
    for _ in range(80):
        rows = pl.concat([drawn((0.7, 0.7), 20, rng, task="made"), _records((0.7, 0.7), 20, rng)])
        results = published_and_generated(rows, PAIRS)
        missed += not results[0].interval.low <= 0 <= results[0].interval.high
        alarms += any((result.p_adjusted or 0) < 0.05 for result in results)
    assert missed <= 9
    assert alarms <= 9


def test_models_are_compared_with_themselves_and_lengths_of_one_side_alone_are_left_out() -> None:
    rng = np.random.default_rng(5)
    made = pl.concat([drawn((0.5, 0.5, 0.5), 8, rng, task="made", model=model) for model in ("a", "b")])
    records = _records((1.0, 1.0), 8, rng).with_columns(model=pl.lit("b"))
    results = published_and_generated(pl.concat([made, records]), PAIRS)
    assert {result.model for result in results} == {"b"}
    assert [result.length for result in results] == [2048, 4096, None]
    assert published_and_generated(made, PAIRS) == []
    assert published_and_generated(made.clear(), PAIRS) == []


def test_replies_without_a_score_leave_their_cell_out() -> None:
    rng = np.random.default_rng(6)
    records = _records((1.0, 1.0), 8, rng)
    lost = records.with_columns(
        value=pl.when(pl.col("length") == LENGTHS[0]).then(None).otherwise("value"),
        status=pl.when(pl.col("length") == LENGTHS[0]).then(pl.lit("error")).otherwise("status"),
    )
    results = published_and_generated(pl.concat([drawn((0.5, 0.5), 8, rng, task="made"), lost]), PAIRS)
    assert [result.length for result in results] == [LENGTHS[1]]
