from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from simulated import LENGTHS, drawn, row, table

from fathom.analysis import LongScore, longscore, longscore_of_means
from fathom.rows import to_frame


def of(scores: list[LongScore], task: str) -> LongScore:
    (found,) = [score for score in scores if score.task == task]
    return found


def values(score: LongScore) -> list[float | None]:
    return [point.value for point in score.points]


def test_the_formula() -> None:
    assert longscore_of_means(0.5, 0.4) == pytest.approx(-0.2)
    assert longscore_of_means(0.0, 0.4) is None


def test_tasks_are_averaged_before_the_ratio() -> None:
    rows = pl.concat([table([[1, 1, 1, 0.5]] * 4, task="a"), table([[0.5, 0.5, 0.5, 0.5]] * 4, task="b")])
    score = of(longscore(rows), "all")
    assert score.base == pytest.approx(0.75)
    assert values(score) == pytest.approx([0.5 / 0.75 - 1])
    assert score.average == pytest.approx(0.5 / 0.75 - 1)


def test_the_average_is_over_the_lengths_beyond_the_base() -> None:
    score = of(longscore(table([[1, 1, 1, 0.8, 0.4]] * 5)), "kv")
    assert values(score) == pytest.approx([-0.2, -0.6])
    assert score.average == pytest.approx(-0.4)
    assert score.average_interval is not None
    assert score.average_interval.low < -0.4 < score.average_interval.high
    assert score.base_lengths == (2048, 4096, 6144)
    assert (score.undefined, score.note) == ("", "")


def test_missing_base_lengths_are_said() -> None:
    rows = table([[1, 1, 1, 0.5]] * 5).filter(pl.col("length") != 4096)
    score = of(longscore(rows), "kv")
    assert values(score) == pytest.approx([-0.5])
    assert "2k, 6k only" in score.note
    assert "no score at 4k" in score.note


def test_no_base_length_at_all() -> None:
    score = of(longscore(to_frame([row(1.0, length=8192), row(1.0, length=16384)])), "kv")
    assert (score.base, score.base_interval, score.average) == (None, None, None)
    assert values(score) == [None, None]
    assert "2k, 4k, 6k" in score.undefined
    assert "8k, 16k" in score.undefined


def test_no_longer_length() -> None:
    score = of(longscore(table([[1, 1, 1]] * 5)), "kv")
    assert (score.base, score.points, score.average) == (1.0, (), None)
    assert "beyond 6k" in score.undefined


def test_lengths_between_the_base_lengths_have_no_part() -> None:
    rows = to_frame(
        row(1.0, length=length, item=item) for item in range(9) for length in (1024, 2048, 5000, 6144, 8192)
    )
    assert [point.length for point in of(longscore(rows), "kv").points] == [8192]


def test_undefined_where_the_base_is_chance() -> None:
    rng = np.random.default_rng(0)
    rows = drawn([0.2] * 5, 40, rng).with_columns(pl.lit(0.2).alias("chance"))
    score = of(longscore(rows), "kv")
    assert score.average is None
    assert values(score) == [None, None]
    assert "chance (20.0%)" in score.undefined
    assert score.base is not None
    assert f"{score.base:.1%}" in score.undefined
    assert score.chance == pytest.approx(0.2)


def test_undefined_where_the_base_is_below_chance() -> None:
    rows = table([[0, 0, 0, 1]] * 40).with_columns(pl.lit(0.2).alias("chance"))
    assert "below chance" in of(longscore(rows), "kv").undefined


def test_undefined_where_the_base_is_zero_and_so_is_chance() -> None:
    assert "means nothing" in of(longscore(table([[0, 0, 0, 1]] * 40)), "kv").undefined


def test_a_base_clearly_above_chance_is_defined() -> None:
    rows = drawn([0.6] * 5, 60, np.random.default_rng(1)).with_columns(pl.lit(0.2).alias("chance"))
    assert of(longscore(rows), "kv").undefined == ""


def test_unknown_chance_is_said() -> None:
    rows = table([[1, 1, 1, 0.5]] * 9).with_columns(pl.lit(None, dtype=pl.Float64).alias("chance"))
    score = of(longscore(rows), "kv")
    assert score.chance is None
    assert "chance level unknown" in score.note
    assert score.average == pytest.approx(-0.5)


def test_over_all_tasks_only_complete_lengths_count() -> None:
    rows = pl.concat([table([[1, 1, 1, 0.5, 0.1]] * 5, task="a"), table([[1, 1, 1, 0.5]] * 5, task="b")])
    score = of(longscore(rows), "all")
    assert values(score) == pytest.approx([-0.5])
    assert "without 16k: not every task was scored there" in score.note


def test_there_is_no_average_where_a_length_is_not_measured_and_it_is_said() -> None:
    rows = table([[1, 1, 1, 0.5, None]] * 5)
    score = of(longscore(rows), "kv")
    assert values(score) == pytest.approx([-0.5])
    assert (score.average, score.average_interval, score.undefined) == (None, None, "")
    assert "not measured at 16k (5 of 5 replies are missing)" in score.note


def test_there_is_no_base_where_a_base_length_is_not_measured() -> None:
    score = of(longscore(table([[1, None, 1, 0.5]] * 5)), "kv")
    assert (score.base, values(score), score.average) == (None, [None], None)
    assert score.undefined == "the base is not measured at 4k (5 of 5 replies are missing)"


def test_the_code_base_takes_no_other_place_where_it_is_not_measured() -> None:
    over_gold = [row(1.0, item=item, length=0, facets={"context": "alone"}) for item in range(5)]
    rows = pl.concat([table([[0.5, 0.5, 0.5, 0.5]] * 5), to_frame(over_gold)])
    assert of(longscore(rows, base="code"), "kv").base == 1.0
    lost = [*over_gold[1:], row(None, length=0, status="error", facets={"context": "alone"})]
    score = of(longscore(pl.concat([table([[0.5, 0.5, 0.5, 0.5]] * 5), to_frame(lost)]), base="code"), "kv")
    assert (score.base, score.average) == (None, None)
    assert score.undefined == "the base is not measured over the gold document alone (1 of 5 replies is missing)"


def test_pairing_narrows_the_interval() -> None:
    rng = np.random.default_rng(3)
    ease = rng.beta(0.5, 0.5, 60)
    paired = of(longscore(table([[e, e, e, 0.8 * e] for e in ease])), "kv").points[0].interval
    mixed = rng.permutation(ease)
    unpaired = (
        of(longscore(table([[e, e, e, 0.8 * o] for e, o in zip(ease, mixed, strict=True)])), "kv").points[0].interval
    )
    assert paired is not None
    assert unpaired is not None
    assert (paired.high - paired.low) < 0.6 * (unpaired.high - unpaired.low)


def test_equal_scores_have_an_interval_with_a_width() -> None:
    interval = of(longscore(table([[1, 1, 1, 1]] * 50)), "kv").points[0].interval
    assert interval is not None
    assert interval.low < 0 <= interval.high
    assert interval.high - interval.low > 0.02


def test_one_item_and_no_rows() -> None:
    assert longscore(to_frame([])) == []
    score = of(longscore(table([[1, 1, 1, 0]])), "kv")
    assert score.undefined or score.average == -1


def test_coverage() -> None:
    rng = np.random.default_rng(8)
    truth, held = [0.9, 0.9, 0.9, 0.6, 0.3], 0
    for seed in range(40):
        score = of(longscore(drawn(truth, 40, rng), seed=seed), "kv")
        assert score.average_interval is not None
        held += score.average_interval.low <= 0.45 / 0.9 - 1 <= score.average_interval.high
    assert held >= 35
    assert len(truth) < len(LENGTHS)
