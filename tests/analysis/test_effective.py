from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from simulated import LENGTHS, drawn, row, table

from fathom.analysis import DEFINITIONS, EffectiveLength, effective_length
from fathom.analysis.effective import falling_fit
from fathom.rows import to_frame
from fathom.stats.outcomes import UNANSWERED, Unanswered


def of(found: list[EffectiveLength], definition: str, task: str = "kv") -> EffectiveLength:
    (one,) = [length for length in found if (length.definition, length.task) == (definition, task)]
    return one


def ends(found: EffectiveLength) -> tuple[float, float]:
    assert found.interval is not None
    return found.interval.low, found.interval.high


def window(size: int) -> list[float]:
    """A reader that sees ``size`` tokens of a prompt cut in the middle: right where the gold text was kept."""
    return [min(1.0, size / length) for length in LENGTHS]


def test_no_rows() -> None:
    assert effective_length(to_frame([])) == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [4096, 8192, 16384])
def test_a_reader_behind_a_window_is_measured_as_such(size: int) -> None:
    held = dict.fromkeys(DEFINITIONS, 0)
    truth = {"ruler": size, "own_base": size, "half_base": 2 * size}
    for seed in range(10):
        found = effective_length(drawn(window(size), 50, np.random.default_rng(seed)), seed=seed)
        for definition in DEFINITIONS:
            low, high = ends(of(found, definition))
            held[definition] += low <= truth[definition] <= high
    # Where the window is 4k the base itself is cut: half of a base of 0.89 is met at 2.25 windows, still inside.
    assert min(held.values()) >= 9


@pytest.mark.slow
def test_few_items_widen_the_interval_and_it_still_holds_the_window() -> None:
    for seed in range(5):
        low, high = ends(of(effective_length(drawn(window(8192), 8, np.random.default_rng(seed))), "ruler"))
        assert low <= 8192 <= high


def test_the_first_failing_length_ends_it() -> None:
    found = effective_length(table([[1, 1, 0.2, 1, 1]] * 40))
    assert of(found, "ruler").tokens == 4096
    assert ends(of(found, "ruler")) == (4096, 6144)


def test_passing_everywhere_is_censored_above() -> None:
    found = effective_length(table([[1] * 6] * 50))
    for definition in DEFINITIONS:
        one = of(found, definition)
        assert (one.tokens, one.censored) == (32768, "above")
        assert ends(one)[1] == math.inf
    assert ends(of(found, "half_base"))[0] == 32768


def test_failing_at_the_shortest_is_censored_below() -> None:
    one = of(effective_length(table([[0.5, 0.5, 0.5, 0.4]] * 50)), "ruler")
    assert (one.tokens, one.censored) == (None, "below")
    assert ends(one) == (0, 2048)


def test_own_base_is_relative() -> None:
    found = effective_length(table([[0.5, 0.5, 0.5, 0.45, 0.1]] * 50))
    one = of(found, "own_base")
    assert one.tokens == 8192
    assert one.threshold == pytest.approx(0.425)


def grown(means: dict[int, float], items: int = 40) -> pl.DataFrame:
    return to_frame(row(value, length=length, item=item) for item in range(items) for length, value in means.items())


@pytest.mark.parametrize(
    ("means", "tokens", "censored"),
    [
        ({1024: 0.4, 2048: 0.6, 4096: 0.65, 6144: 0.7, 8192: 0.75, 16384: 0.8}, 16384, "above"),
        ({2048: 0.5, 4096: 0.7, 6144: 0.9, 8192: 0.95, 16384: 0.9}, 16384, "above"),
        ({1024: 0.0, 2048: 0.5, 4096: 0.7, 6144: 0.9, 8192: 0.95, 16384: 0.1}, 8192, ""),
        ({2048: 1.0, 4096: 1.0, 6144: 0.4, 8192: 1.0}, 4096, ""),
        ({1024: 0.1, 2048: 1.0, 4096: 0.2, 6144: 0.2, 8192: 0.2}, 2048, ""),
        ({8192: 0.4, 16384: 0.6, 32768: 0.8}, 32768, "above"),
    ],
    ids=["improves", "improves within the base", "then fails", "fails within the base", "falls at once", "no base"],
)  # fmt: skip
def test_what_is_shorter_than_the_base_cannot_fail_it(means: dict[int, float], tokens: int, censored: str) -> None:
    found = effective_length(grown(means))
    one = of(found, "own_base")
    assert (one.tokens, one.censored) == (tokens, censored)
    half = of(found, "half_base")
    assert half.tokens is not None
    assert half.censored != "below"
    # The absolute definition begins at the shortest tested length.
    assert (of(found, "ruler").censored == "below") is (min(means.items())[1] < 0.856)


@pytest.mark.slow
@pytest.mark.parametrize("items", [5, 20])
def test_a_system_that_improves_with_length_never_fails_below_its_base(items: int) -> None:
    lengths = (1024, *LENGTHS)
    for seed in range(10):
        right = np.random.default_rng(seed).random((items, len(lengths))) < np.linspace(0.5, 0.95, len(lengths))
        rows = to_frame(
            row(float(value), length=length, item=item)
            for item, values in enumerate(right)
            for length, value in zip(lengths, values, strict=True)
        )
        found = effective_length(rows, seed=seed)
        for one in (of(found, "own_base"), of(found, "half_base")):
            if one.interval is not None:  # with few items a base may not differ from chance
                assert one.censored != "below"
                assert one.interval.low >= 2048
                assert one.interval.high == math.inf


def test_a_ceiling_and_a_floor() -> None:
    found = effective_length(grown(dict.fromkeys((1024, *LENGTHS), 1.0), items=5))
    assert all((of(found, one).tokens, of(found, one).censored) == (32768, "above") for one in DEFINITIONS)
    found = effective_length(grown(dict.fromkeys((1024, *LENGTHS), 0.0), items=5))
    assert of(found, "ruler").censored == "below"
    assert all("not distinguishable from chance" in of(found, one).note for one in DEFINITIONS[1:])


def test_a_missing_reply_below_the_base_does_not_end_it() -> None:
    rows = grown({1024: 0.9, 2048: 0.9, 4096: 0.9, 6144: 0.9, 8192: 0.9}, items=15)
    rows = rows.with_columns(
        value=pl.when((pl.col("length") > 1024) | (pl.col("item") != "kv/0")).then("value"),
    )
    found = effective_length(rows)
    assert (of(found, "own_base").tokens, of(found, "own_base").censored) == (8192, "above")
    assert of(found, "ruler").tokens is None


def test_half_base_is_interpolated_in_log_length_within_the_bracket() -> None:
    one = of(effective_length(table([[0.8, 0.8, 0.8, 0.8, 0.0]] * 60)), "half_base")
    assert one.tokens == pytest.approx(8192 * math.sqrt(2))
    assert ends(one) == (8192, 16384)


def test_a_sharp_edge_between_tested_lengths_is_inside_the_interval() -> None:
    # The true window is 9,000; nothing between 8k and 16k was tested, so an interval inside would be a guess.
    found = effective_length(table([[1, 1, 1, 1, 0, 0]] * 50))
    for definition in DEFINITIONS:
        low, high = ends(of(found, definition))
        assert low <= 9000 <= high


def test_without_base_lengths_the_shortest_length_is_the_base() -> None:
    rows = to_frame(
        row(value, length=length, item=item)
        for item in range(30)
        for length, value in ((8192, 0.8), (16384, 0.8), (32768, 0.2))
    )
    one = of(effective_length(rows), "own_base")
    assert one.tokens == 16384
    assert "8k, the shortest scored length" in one.note


def test_a_base_that_is_chance_has_no_own_length() -> None:
    rows = drawn([0.25] * 6, 40, np.random.default_rng(0)).with_columns(pl.lit(0.25).alias("chance"))
    found = effective_length(rows)
    for definition in ("own_base", "half_base"):
        one = of(found, definition)
        assert (one.tokens, one.interval, one.censored) == (None, None, "")
        assert "chance" in one.note
    assert of(found, "ruler").censored == "below"


def test_no_length_where_guessing_would_pass() -> None:
    rows = table([[0.9, 0.9, 0.9, 0.6, 0.5]] * 60).with_columns(pl.lit(0.5).alias("chance"))
    found = effective_length(rows)
    assert "would pass" in of(found, "half_base").note
    assert of(found, "half_base").interval is None
    assert of(found, "own_base").tokens == 6144


def test_guessing_that_just_reaches_the_threshold_passes_it() -> None:
    rows = grown(dict.fromkeys(LENGTHS[:4], 1.0)).with_columns(chance=pl.lit(0.5))
    assert of(effective_length(rows), "half_base").note == "guessing scores 50.0% and would pass the threshold of 50.0%"
    assert of(effective_length(rows), "own_base").tokens == 8192


def test_the_fitted_length_weighs_lengths_by_their_items() -> None:
    """At 8k many items fell below half of the base; a rise of a few at 16k does not bring the curve back."""
    rows = [row(1.0, item=item, length=length) for item in range(40) for length in LENGTHS[:3]]
    rows += [row(0.4, item=item, length=8192) for item in range(40)]
    few = [row(0.8, item=item, length=16384) for item in range(4)]
    many = [row(0.8, item=item, length=16384) for item in range(40)]
    alone, pooled = (of(effective_length(to_frame([*rows, *more])), "half_base") for more in (few, many))
    assert (alone.censored, pooled.tokens, pooled.censored) == ("", 16384, "above")
    assert alone.tokens is not None
    assert alone.tokens < 8192


def test_nothing_scored() -> None:
    rows = to_frame([row(None, status="error"), row(None, length=8192, status="overflow")])
    found = effective_length(rows)
    assert len(found) == 6
    note = "not measured at 2k (1 of 1 replies is missing), 8k (1 of 1 prompts did not fit)"
    assert all((one.tokens, one.interval, one.note) == (None, None, note) for one in found)


def test_prompts_of_unknown_length_have_no_effective_length() -> None:
    found = effective_length(to_frame([row(1.0, length=0), row(0.0, length=0, item=1)]))
    assert [(one.task, one.definition) for one in found] == [
        (task, one) for task in ("kv", "all") for one in DEFINITIONS
    ]
    assert all((one.tokens, one.interval, one.censored) == (None, None, "") for one in found)
    assert all(math.isnan(one.threshold) and one.note == "the lengths of the prompts are unknown" for one in found)


def test_without_a_score_at_the_first_length_that_was_asked_there_is_no_length() -> None:
    rows = [row(None, item=item, length=1024, status="error") for item in range(20)]
    found = effective_length(to_frame([*rows, *(row(1.0, item=item, length=8192) for item in range(20))]))
    for definition in DEFINITIONS:
        one = of(found, definition)
        assert (one.tokens, one.interval) == (None, None)
        assert one.note == "not measured at 1k (20 of 20 replies are missing)"


@pytest.mark.parametrize("unanswered", UNANSWERED)
def test_it_ends_before_a_length_that_does_not_fit(unanswered: Unanswered) -> None:
    lost = {16384: 18, 32768: 11}
    rows = to_frame(
        row(None if over else 1.0, length=length, item=item, status="overflow" if over else "ok")
        for item in range(20)
        for length in LENGTHS
        for over in [item < lost.get(length, 0)]
    )
    found = of(effective_length(rows, unanswered=unanswered), "ruler")
    assert (found.tokens, found.censored) == (8192, "unmeasured")
    assert found.note == "not measured at 16k (18 of 20 prompts did not fit), 32k (11 of 20 prompts did not fit)"


def test_prompts_that_do_not_fit_count_as_wrong_where_they_are_few() -> None:
    rows = to_frame(
        row(None if over else 1.0, length=length, item=item, status="overflow" if over else "ok")
        for item in range(20)
        for length in LENGTHS
        for over in [length > 8192 and item < 4]
    )
    zeroed, dropped = (of(effective_length(rows, unanswered=one), "ruler") for one in UNANSWERED)
    assert (zeroed.tokens, zeroed.censored) == (8192, "")
    assert (dropped.tokens, dropped.censored) == (32768, "above")


def test_a_length_beyond_one_that_is_not_measured_does_not_count() -> None:
    full: list[float | None] = [1, 1, 1, 1, None, 1]
    found = of(effective_length(table([full] * 20)), "ruler")
    assert (found.tokens, found.censored) == (8192, "unmeasured")
    assert found.note == "not measured at 16k (20 of 20 replies are missing)"


def test_a_base_length_that_is_not_measured_leaves_no_own_base() -> None:
    """Neither a shorter length nor the other base lengths take its place."""
    rows = to_frame(
        row(1.0 if length != 4096 else None, length=length, item=item, status="error" if length == 4096 else "ok")
        for item in range(20)
        for length in (1024, 2048, 4096, 8192)
    )
    for definition in ("own_base", "half_base"):
        found = of(effective_length(rows), definition)
        assert (found.tokens, found.note) == (None, "the base is not measured at 4k (20 of 20 replies are missing)")
    assert of(effective_length(rows), "ruler").tokens == 2048


def test_over_all_tasks() -> None:
    rows = pl.concat([table([[1, 1, 1, 1, 0]] * 30, task=task) for task in ("a", "b")])
    one = of(effective_length(rows), "ruler", task="all")
    assert ends(one) == (8192, 16384)


def test_the_fit_is_the_nearest_falling_curve() -> None:
    fitted = falling_fit(np.array([[1.0, 0.2, 0.6, 0.1], [0.4, 0.3, 0.2, 0.1]]), np.array([1.0, 1.0, 1.0, 1.0]))
    assert fitted[0] == pytest.approx([1.0, 0.4, 0.4, 0.1])
    assert fitted[1] == pytest.approx([0.4, 0.3, 0.2, 0.1])
    weighted = falling_fit(np.array([[0.0, 1.0]]), np.array([3.0, 1.0]))
    assert weighted[0] == pytest.approx([0.25, 0.25])
