from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import drawn, table

from fathom.analysis import ScoreCell, ScoreTable, Steady, longscore_of, score_profiles, steady, steady_of
from fathom.analysis.steady import doublings

LENGTHS = (8192, 16384, 32768, 65536, 131072)


def of(scores: list[float], *, items: int = 100, chance: float | None = 0.0, replicates: int = 1000) -> Steady:
    """Steady measures of one model with a given base and scores beyond it."""
    cells = [
        ScoreCell("m", "t", length, score, items, chance) for length, score in zip((0, *LENGTHS), scores, strict=False)
    ]
    return steady_of(score_profiles(ScoreTable(tuple(cells), ""), replicates=replicates))[0]


def test_the_figures_without_chance() -> None:
    one = of([0.8, 0.8, 0.4, 0.2])
    assert one.retention is not None
    assert one.retention.value == pytest.approx((1 + 0.5 + 0.25) / 3)
    assert [point.retention.value for point in one.points if point.retention] == pytest.approx([1, 0.5, 0.25])
    shrunk = [math.log((score + 0.005) / 0.805) for score in (0.8, 0.4, 0.2)]
    assert [point.log_ratio.value for point in one.points] == pytest.approx(shrunk)
    assert one.log_ratio is not None
    assert one.log_ratio.value == pytest.approx(sum(shrunk) / 3)
    assert one.area is not None
    assert one.area.value == pytest.approx(((0.8 + 0.8) / 2 + (0.8 + 0.4) / 2 + (0.4 + 0.2) / 2) / 3)
    assert one.l50 is not None
    assert one.l50.tokens == 16384
    assert one.l85 is not None
    assert one.l85.tokens == pytest.approx(8192 * 2**0.3)


def test_the_interval_of_mean_retention_is_that_of_a_ratio_to_the_base() -> None:
    """Of 20,000 independent items at each length: the variance of a ratio, by the delta method."""
    base, later, items = 0.8, (0.6, 0.2), 20_000
    one = of([base, *later], items=items, replicates=10_000)
    mean = sum(later) / 2
    variance = sum(score * (1 - score) for score in later) / 4 / items / mean**2 + (1 - base) / base / items
    reach = 1.96 * mean / base * math.sqrt(variance)
    assert one.retention is not None
    assert one.retention.value == pytest.approx(0.5)
    ends = one.retention.interval.low, one.retention.interval.high
    assert ends == pytest.approx((0.5 - reach, 0.5 + reach), abs=0.1 * reach)


def test_without_chance_retention_is_longscore_and_one() -> None:
    cells = tuple(ScoreCell("m", "t", length, 0.9 - length / 400_000, 80, 0.0) for length in (0, *LENGTHS))
    ready = score_profiles(ScoreTable(cells, ""))
    (ratio, _), (one, _) = longscore_of(ready), steady_of(ready)
    assert one.retention is not None
    assert ratio.average is not None
    assert one.retention.value == pytest.approx(ratio.average + 1)


def test_chance_is_taken_off_first() -> None:
    one = of([0.6, 0.4], chance=0.2)
    assert one.retention is not None
    assert one.retention.value == pytest.approx(0.5)
    assert one.area is not None
    assert one.area.value == pytest.approx((0.5 + 0.25) / 2)
    assert one.l50 is not None
    assert one.l50.tokens == 8192


def test_a_base_at_chance_has_no_ratio_but_an_area_and_a_log_ratio() -> None:
    one = of([0.2, 0.25, 0.2], chance=0.2)
    assert (one.retention, one.l50, one.l85) == (None, None, None)
    assert "is not distinguishable from chance" in one.undefined
    assert one.area is not None
    assert one.area.interval.low < 0.05
    assert one.log_ratio is not None
    assert math.isfinite(one.log_ratio.value)
    assert all(point.retention is None for point in one.points)


def test_a_model_that_gets_nothing_right_stays_finite() -> None:
    one = of([0.0, 0.0, 0.0])
    assert one.log_ratio is not None
    assert (one.log_ratio.value, one.area is not None) == (0.0, True)
    lost = of([1.0, 0.0])
    assert lost.log_ratio is not None
    assert lost.log_ratio.value == pytest.approx(math.log(0.005 / 1.005))


def test_an_unsure_base_is_said() -> None:
    assert "the base is uncertain by a factor" in of([0.04, 0.16, 0.13]).note
    assert "factor" not in of([0.8, 0.7, 0.6]).note


def test_a_base_that_came_out_low_is_pooled_for_l50() -> None:
    one = of([0.04, 0.16, 0.13, 0.07, 0.05, 0.04])
    assert one.l50 is not None
    assert one.l50.tokens is not None
    assert 32768 < one.l50.tokens < 131072
    assert one.l50.interval.high == math.inf


def test_averages_over_different_lengths_say_at_which_they_can_be_compared() -> None:
    cells = [ScoreCell(model, "t", length, 0.8, 100, 0.0) for model in "ab" for length in (0, *LENGTHS[:3])]
    even, uneven = (steady_of(score_profiles(ScoreTable(tuple(own), ""), replicates=50)) for own in (cells, cells[:-1]))
    assert not any("lengths" in one.note for one in even)
    said = (
        "not all models have the same lengths (32k only by a): "
        "each uses the model's own lengths; --lengths 8k,16k compares at the same"
    )
    assert len(uneven) == 4
    assert all(one.note.startswith(said) for one in uneven)


def test_the_rows_of_a_run() -> None:
    rows = table([[1, 1, 1, 0.5, 0.5]] * 30)
    found = steady(rows)
    assert [one.task for one in found] == ["kv", "all"]
    assert found[0].retention is not None
    assert found[0].retention.value == pytest.approx(0.5)
    assert [point.length for point in found[0].points] == [8192, 16384]
    # The base stands at 4k, the mean of 2k, 4k and 6k.
    assert found[0].area is not None
    assert found[0].area.value == pytest.approx((0.75 + 0.5) / 2)


def test_no_base_and_no_longer_length() -> None:
    short, none = (
        steady(table([[1, 1, 1]] * 5))[0],
        steady(table([[1, 1, 1, 1]] * 5).filter(pl.col("length") > 6144))[0],
    )
    assert (short.area, none.area) == (None, None)
    assert "beyond" in short.undefined
    assert "no score at a base length" in none.undefined
    assert steady(table([])) == []


def test_weights_of_the_area_are_doublings() -> None:
    assert doublings(np.array([4096.0, 8192, 32768])) == pytest.approx([1 / 6, 1 / 2, 1 / 3])


@given(
    st.lists(st.integers(0, 100).map(lambda right: right / 100), min_size=2, max_size=6),
    st.sampled_from([None, 0.0, 0.2]),
)
def test_figures_are_finite_and_inside_their_intervals(scores: list[float], chance: float | None) -> None:
    one = of(scores, chance=chance, replicates=50)
    for estimate in (one.base, one.retention, one.log_ratio, one.area):
        if estimate is not None:
            assert math.isfinite(estimate.value)
            assert estimate.interval.low <= estimate.value <= estimate.interval.high
    assert one.area is not None
    assert one.area.value <= 1 + 1e-9
    for reached in (one.l50, one.l85):
        if reached is not None and reached.tokens is not None:
            assert reached.interval.low <= reached.tokens <= reached.interval.high


@pytest.mark.slow
@pytest.mark.long
def test_coverage() -> None:
    rng = np.random.default_rng(5)
    held = {"retention": 0, "log_ratio": 0, "area": 0}
    truth = {
        "retention": (0.6 + 0.3) / 2 / 0.9,
        "log_ratio": (math.log(0.6125 / 0.90417) + math.log(0.3125 / 0.90417)) / 2,
        "area": (0.9 + 0.6) / 4 + (0.6 + 0.3) / 4,
    }
    for seed in range(40):
        found = steady(drawn([0.9, 0.9, 0.9, 0.6, 0.3], 40, rng), seed=seed)[0]
        for name, value in truth.items():
            estimate = getattr(found, name)
            held[name] += estimate.interval.low <= value <= estimate.interval.high
    assert min(held.values()) >= 35
