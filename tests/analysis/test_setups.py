"""Setups of one model compared with a base: differences, verdicts, and what a reply takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fathom.analysis import Setup, SetupResult, Timing, compare, compare_setups, frontier
from fathom.analysis.setup_costs import Amount, ratio, spent_by
from fathom.analysis.setups import verdict_levels
from fathom.rows import to_frame
from fathom.stats.intervals import Interval
from fathom.types import FathomError, Row
from made_setups import DEMO, LENGTHS, WHOLE, WINDOW, rows_of, timings

sys.path.insert(0, str(Path(__file__).parents[2] / "performance"))

ITEMS = 40
Scores = Mapping[int, Sequence[float | None]]


def alike(share: float) -> list[float | None]:
    """Scores of which this share is 1, the first items first."""
    return [1.0 if item < share * ITEMS else 0.0 for item in range(ITEMS)]


def rows(model: str, scores: Scores, **facts: object) -> list[Row]:
    return [
        Row("s", "kv", f"kv/{item}", f"kv/{item}@{length}", model, length, value, tokens=length, chance=0.0, **facts)  # type: ignore[arg-type]
        for length, values in scores.items()
        for item, value in enumerate(values)
    ]


def shares(*found: float) -> Scores:
    """Shares of right items at the first lengths, the easiest items first."""
    return {length: alike(share) for length, share in zip(LENGTHS, found, strict=False)}


def result(own: Scores, base: Scores, **facts: object) -> SetupResult:
    table = to_frame([*rows("base", base), *rows("own", own, **facts)])
    return compare_setups(table, [Setup("base", "none"), Setup("own", "position")], "base", WINDOW)[1]


@pytest.fixture(scope="module")
def demo() -> list[SetupResult]:
    made = rows_of(DEMO, np.random.default_rng(0), items=30)
    return compare_setups(made, [one.setup for one in DEMO], WHOLE, WINDOW, timings=timings(DEMO))


# Differences


@pytest.mark.slow
def test_differences_are_those_of_every_other_table() -> None:
    made = rows_of(DEMO[:3], np.random.default_rng(1), items=25, tasks=("kv", "qa"))
    found = compare_setups(made, [one.setup for one in DEMO[:3]], WHOLE, WINDOW, seed=3)
    name = DEMO[1].setup.name
    paired = {one.length: one for one in compare(made, name, WHOLE, seed=3) if one.task == "all"}
    for point in found[1].points:
        other = paired[point.length]
        assert point.difference is not None
        assert point.difference.difference == pytest.approx(other.difference)
        assert (point.difference.interval, point.difference.p_value) == (other.interval, other.p_value)
    long = compare(made.filter(pl.col("length") > WINDOW), name, WHOLE, seed=3)
    (mean,) = [one for one in long if (one.task, one.length) == ("all", None)]
    assert found[1].gain is not None
    assert found[1].gain.difference == pytest.approx(mean.difference)
    assert found[1].gain.interval.low == pytest.approx(mean.interval.low, abs=0.01)


@pytest.mark.slow
def test_p_values_are_adjusted_within_a_family(demo: list[SetupResult]) -> None:
    family = [one for one in demo if one.setup.name != WHOLE and not one.setup.trained]
    for length in LENGTHS[:-1]:  # at the last one a setup has no score
        gaps = [point.difference for one in family if (point := one.at(length))]
        ordered = sorted((gap.p_value, gap.adjusted) for gap in gaps if gap)
        assert len(ordered) == 6
        largest = 0.0
        for place, (p_value, adjusted) in enumerate(ordered):
            largest = max(largest, min(1.0, (6 - place) * p_value))
            assert adjusted == pytest.approx(largest)
    # A setup without a score still counts as a test.
    last = [gap for one in family if (point := one.at(LENGTHS[-1])) and (gap := point.difference)]
    lowest = min(last, key=lambda gap: gap.p_value)
    assert lowest.adjusted == pytest.approx(len(family) * lowest.p_value)
    (trained,) = [one for one in demo if one.setup.trained]
    assert all(point.difference.adjusted == point.difference.p_value for point in trained.points if point.difference)


@pytest.mark.slow
def test_trained_setups_change_nothing_for_the_others(demo: list[SetupResult]) -> None:
    made = rows_of(DEMO, np.random.default_rng(0), items=30)
    alone = [one.setup for one in DEMO if not one.setup.trained]
    assert compare_setups(made, alone, WHOLE, WINDOW, timings=timings(DEMO[:-1])) == demo[:-1]


@pytest.mark.slow
def test_pairing_finds_a_small_gain_on_items_of_different_difficulty() -> None:
    ease = np.linspace(0, 0.9, ITEMS)
    base = {length: ease.tolist() for length in LENGTHS}
    own = {length: (ease + 0.05).tolist() for length in LENGTHS}
    found = result(own, base)
    assert found.gain is not None
    assert found.gain.difference == pytest.approx(0.05)
    assert (found.gain.sign, found.verdict) == (1, "better")
    assert found.gain.interval.low > 0


@pytest.mark.slow
def test_a_gain_is_above_zero_where_the_setup_is_higher() -> None:
    found = result(shares(0.5, 0.5, 0.5, 0.9, 0.9, 0.9), shares(0.9, 0.9, 0.9, 0.5, 0.5, 0.5))
    assert found.gain is not None
    assert found.loss is not None
    assert found.gain.difference == pytest.approx(0.4)
    assert found.loss.difference == pytest.approx(-0.4)
    assert [point.difference.sign for point in found.points if point.difference] == [-1, -1, -1, 1, 1, 1]
    where = "at 8k, 16k and 32k, and in the mean beyond the window"
    assert (found.verdict, found.reason) == ("better", f"higher {where}")
    turned = result(shares(*(0.9,) * 3, *(0.5,) * 3), shares(*(0.9,) * 6))
    assert (turned.verdict, turned.reason) == ("worse", f"lower {where}")


@pytest.mark.slow
def test_the_window_itself_counts_among_the_lengths_up_to_it() -> None:
    found = result(shares(0.9, 0.9, 0.45, 0.9, 0.9, 0.9), shares(*(0.9,) * 6))
    assert LENGTHS[2] == WINDOW
    assert found.loss is not None
    assert found.gain is not None
    assert found.loss.difference == pytest.approx(-0.15)
    assert found.gain.difference == 0
    assert found.first_better is None  # as good is not better


def test_only_where_both_are_right_throughout_a_difference_could_not_show() -> None:
    found = result(shares(1.0, 1.0, 1.0), shares(1.0, 0.5, 1.0))
    assert [point.limit for point in found.points] == ["ceiling", "", "ceiling"]
    assert found.reason == "no tested length is beyond the window"


# Verdicts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "base", "verdict", "reason"),
    [
        ((0.9,) * 6, (0.9, 0.9, 0.9, 0.5, 0.4, 0.3), "better", "higher at 8k, 16k and 32k, and in the mean"),
        ((0.9,) * 3 + (0.1,) * 3, (0.9,) * 3 + (0.6,) * 3, "worse", "lower at 8k, 16k and 32k, and in the mean"),
        ((0.9,) * 6, (0.9,) * 6, "no difference shown", ""),
        # One length alone is not enough, if the mean does not show it.
        ((0.9,) * 3 + (0.5, 0.5, 0.8), (0.9,) * 3 + (0.5, 0.525, 0.55), "better", "higher in the mean"),
        ((0.9,) * 3 + (0.8, 0.5, 0.55), (0.9,) * 3 + (0.5, 0.6, 0.75), "no difference shown", ""),
        # The two rules against each other.
        ((0.9,) * 3 + (0.8, 0.8, 0.0), (0.9,) * 3 + (0.5, 0.5, 1.0), "cannot tell", "higher at 8k and 16k, but lower"),
        ((0.9,) * 3 + (0.0,) * 3, (0.9,) * 3 + (0.0,) * 3, "cannot tell", "floor at 8k, floor at 16k"),
        ((0.9,) * 3 + (1.0,) * 3, (0.9,) * 3 + (1.0,) * 3, "cannot tell", "ceiling at 8k, ceiling at 16k"),
        ((0.9,) * 3, (0.5,) * 3, "cannot tell", "no tested length is beyond the window"),
    ],
)
def test_verdicts(own: Sequence[float], base: Sequence[float], verdict: str, reason: str) -> None:
    found = result(shares(*own), shares(*base))
    assert found.verdict == verdict
    assert reason in found.reason
    assert bool(found.reason) == bool(reason)


def test_levels_of_the_two_rules_add_up_to_five_percent() -> None:
    for lengths in range(2, 12):
        at_lengths, in_mean = verdict_levels(lengths)
        # Lengths that every adjacent pair has one of: every other one.
        cover = len(range(1, lengths, 2))
        assert cover * at_lengths + in_mean == pytest.approx(0.05)
    assert list(verdict_levels(1)) == pytest.approx([0.0, 0.05])


@pytest.mark.slow
def test_guessing_is_a_floor_and_a_difference_above_it_is_none() -> None:
    rng = np.random.default_rng(2)
    quarter = {length: (rng.random(ITEMS) < 0.25).astype(float).tolist() for length in LENGTHS}
    other = {length: (rng.random(ITEMS) < 0.25).astype(float).tolist() for length in LENGTHS}
    table = to_frame([*rows("base", quarter), *rows("own", other)]).with_columns(chance=pl.lit(0.25))
    setups = [Setup("base", "none"), Setup("own", "cache")]
    found = compare_setups(table, setups, "base", WINDOW)[1]
    assert [point.limit for point in found.points] == ["floor"] * 6
    assert found.verdict == "cannot tell"
    # Without chance they are above zero.
    found = compare_setups(table.with_columns(chance=pl.lit(0.0)), setups, "base", WINDOW)[1]
    assert [point.limit for point in found.points] == [""] * 6


def test_a_difference_that_is_significant_is_no_floor() -> None:
    """Although both intervals contain chance."""
    setups = [Setup("base", "none"), Setup("own", "cache")]
    table = to_frame([*rows("base", shares(*(0.2,) * 6)), *rows("own", shares(*(0.375,) * 6))])
    found = compare_setups(table.with_columns(chance=pl.lit(0.25)), setups, "base", WINDOW)
    assert all(point.interval and point.interval.low < 0.25 for one in found for point in one.points)
    assert [point.limit for point in found[1].points] == [""] * 6
    assert found[1].verdict == "better"


@pytest.mark.slow
def test_a_length_from_which_on_a_setup_is_better() -> None:
    base = (0.9, 0.9, 0.9, 0.5, 0.4, 0.3)
    assert result(shares(*(0.9,) * 6), shares(*base)).first_better == 8192
    # Not at the longest.
    assert result(shares(0.9, 0.9, 0.9, 0.9, 0.9, 0.3), shares(*base)).first_better is None
    # Not at one between.
    assert result(shares(0.9, 0.9, 0.9, 0.9, 0.4, 0.9), shares(*base)).first_better == 32768


# Replies that are missing


@pytest.mark.slow
def test_a_setup_that_refuses_long_prompts_is_not_better(demo: list[SetupResult]) -> None:
    (refuses,) = [one for one in demo if "refused" in one.setup.name]
    assert refuses.verdict == "cannot tell"
    assert "no score at 32k: 30 of 30 prompts did not fit" in refuses.reason
    assert (refuses.gain, refuses.first_better) == (None, None)
    last = refuses.points[-1]
    assert (last.mean, last.difference, last.gap) == (None, None, "30 of 30 prompts did not fit")
    assert refuses.points[-2].difference is not None


@pytest.mark.slow
def test_wrong_replies_that_were_deleted_are_missing() -> None:
    scores = {length: alike(0.5) for length in LENGTHS}
    table = to_frame([*rows("base", scores), *rows("own", scores)])
    kept = table.filter((pl.col("model") == "base") | (pl.col("value") == 1) | (pl.col("length") < 32768))
    setups = [Setup("base", "none"), Setup("own", "cache")]
    found = compare_setups(kept, setups, "base", WINDOW)[1]
    assert found.points[-1].gap == "20 of 40 replies are missing"
    assert (found.points[-1].difference, found.gain, found.verdict) == (None, None, "cannot tell")
    dropped = compare_setups(kept, setups, "base", WINDOW, unanswered="drop")[1]
    assert (dropped.points[-1].difference, dropped.gain, dropped.verdict) == (None, None, "cannot tell")


@pytest.mark.slow
def test_a_length_that_a_setup_was_not_asked_is_named() -> None:
    found = result(shares(*(0.9,) * 4), shares(*(0.5,) * 6))
    assert found.points[4].gap == "40 of 40 replies are missing"
    assert found.verdict == "cannot tell"
    base = result(shares(*(0.5,) * 6), shares(*(0.9,) * 4))
    assert base.reason.startswith("no score at 16k for the base: 40 of 40 replies are missing")


@pytest.mark.slow
def test_refusals_count_zero() -> None:
    base = {length: alike(0.5) for length in LENGTHS}
    table = to_frame([*rows("base", base), *rows("own", base)])
    silent = (pl.col("model") == "own") & (pl.col("value") == 1) & (pl.col("length") > WINDOW)
    refused = table.with_columns(
        value=pl.when(~silent).then("value"), status=pl.when(silent).then(pl.lit("refused")).otherwise("status")
    )
    found = compare_setups(refused, [Setup("base", "none"), Setup("own", "cache")], "base", WINDOW)[1]
    assert found.gain is not None
    assert found.gain.difference == pytest.approx(-0.5)
    assert found.verdict == "worse"


# What a reply takes


def test_tokens_and_costs_are_means_of_replies(demo: list[SetupResult]) -> None:
    (retrieval,) = [one for one in demo if one.setup.kind == "system"]
    point = retrieval.points[-1]
    expected = float(np.mean([900 - item % 7 for item in range(30)]))
    assert point.tokens_in is not None
    assert point.tokens_in.mean == pytest.approx(expected)
    assert point.tokens_in.interval.low < expected < point.tokens_in.interval.high
    assert point.tokens_out is not None
    assert point.tokens_out.mean == 12
    assert point.cost is not None
    assert point.cost.mean == pytest.approx(0.0018)
    assert point.seconds is not None
    assert point.seconds.mean == pytest.approx(0.445)
    first = retrieval.first_better
    assert first is not None
    assert retrieval.tokens_ratio == pytest.approx(
        (expected + 12) / (first - float(np.mean([i % 7 for i in range(30)])) + 12)
    )
    assert retrieval.dollars_ratio == pytest.approx(900 / first)
    assert [one.length for one in retrieval.timings] == list(LENGTHS)


@pytest.mark.slow
def test_unknown_amounts_are_none_and_baselines_have_prompts_alone() -> None:
    scores = shares(*(0.9,) * 6)
    found = result(scores, shares(*(0.5,) * 6), tokens_in=500, tokens_out=None).points[0]
    assert found.tokens_in is not None
    assert (found.tokens_in.mean, found.tokens_out, found.cost) == (500, None, None)
    assert found.spent.tokens is not None
    assert found.spent.tokens.mean == 500
    table = to_frame([*rows("base", scores), *rows("own", scores, tokens_out=10)])
    few = pl.col("item") == "kv/0"
    table = table.with_columns(tokens_out=pl.when(~few).then("tokens_out"))
    setups = [Setup("base", "none"), Setup("own", "cache")]
    point = compare_setups(table, setups, "base", WINDOW)[1].points[0]
    # One of 40 is more than 2%. The suite's count stands for the provider's.
    assert (point.tokens_out, point.spent.tokens) == (None, None)
    assert point.tokens_in is not None
    assert point.tokens_in.mean == 1024


def test_what_was_cut_off_a_prompt_was_not_sent() -> None:
    table = to_frame(rows("own", {1024: [1.0, 0.0]}))
    cut = spent_by(table.with_columns(truncated=pl.Series([24, 0], dtype=table.schema["truncated"])))
    known = cut["own", 1024].tokens_in
    assert known is not None
    assert known.mean == 1012  # of 1000 and 1024


def test_an_amount_is_known_if_at_most_one_reply_of_fifty_lacks_it() -> None:
    table = to_frame(rows("own", {1024: [1.0] * 50}, cost=0.5))
    for lacking, known in ((1, True), (2, False)):
        without = pl.col("item").is_in([f"kv/{item}" for item in range(lacking)])
        spent = spent_by(table.with_columns(cost=pl.when(~without).then("cost")))["own", 1024]
        assert (spent.cost is not None) is known


def test_prompts_that_were_not_sent_took_nothing() -> None:
    sent, unsent = rows("own", {1024: [1.0] * 4}, tokens_in=1000), rows("own", {1024: [None] * 8}, status="overflow")
    known = spent_by(to_frame([*sent, *unsent[4:]]))["own", 1024].tokens_in
    assert known is not None
    assert known.mean == 1000


def test_nothing_is_a_multiple_of_what_is_free() -> None:
    some, free = (Amount(mean, Interval(mean, mean)) for mean in (0.5, 0.0))
    assert (ratio(some, some), ratio(free, some), ratio(some, free), ratio(some, None)) == (1, 0, None, None)


def test_frontier_of_score_and_tokens() -> None:
    points = [
        ("whole", 0.8, 1000.0),
        ("top 8", 0.8, 100.0),
        ("top 4", 0.7, 50.0),
        ("top 2", 0.6, 60.0),
        ("two", 0.8, 100.0),
    ]
    assert frontier(points) == ["top 8", "top 4", "two"]
    assert frontier([]) == []
    # As dear as a better one, and as good as a cheaper one: neither is worth what it takes.
    assert frontier([("low", 0.7, 100.0), ("high", 0.8, 100.0), ("dear", 0.8, 101.0)]) == ["high"]


# Errors


def test_what_cannot_be_compared_is_said() -> None:
    table = to_frame(rows("base", shares(0.5)))
    base, own = Setup("base", "none"), Setup("own", "cache")
    with pytest.raises(FathomError, match="two setups have the name 'base'"):
        compare_setups(table, [base, base], "base", WINDOW)
    with pytest.raises(FathomError, match="'other' is no setup"):
        compare_setups(table, [base], "other", WINDOW)
    with pytest.raises(FathomError, match="no rows of the setup 'own'"):
        compare_setups(table, [base, own], "base", WINDOW)
    with pytest.raises(FathomError, match="window 0"):
        compare_setups(table, [base], "base", 0)
    with pytest.raises(FathomError, match="timing is of 'else'"):
        compare_setups(table, [base], "base", 1, timings=[Timing("else", 1, None, None, None, None, 0)])


# Simulations


@pytest.mark.slow
@pytest.mark.long
def test_equal_setups_are_rarely_called_different_and_intervals_hold_the_truth() -> None:
    """A short run of the simulation, whose figures are on the page of measurements."""
    import setup_errors

    equal, apart = [list(setup_errors.BASE)] * 7, setup_errors.different()
    trials = 15
    null = [setup_errors.compared(seed, equal, 30, 0.8, replicates=1000) for seed in range(trials)]
    real = [setup_errors.compared(seed, apart, 40, 0.5, replicates=1000) for seed in range(trials, 2 * trials)]
    assert setup_errors.errors(null, equal).verdicts <= 0.05 + 2 * (0.05 * 0.95 / trials) ** 0.5
    found = setup_errors.errors(real, apart)
    assert 0.9 <= found.gain <= 0.995
    assert 0.9 <= found.loss <= 0.995
