from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from simulated import LENGTHS, drawn, row, table

from fathom.analysis import (
    LongScore,
    ScoreCell,
    ScoreTable,
    at_lengths,
    longscore,
    longscore_of_means,
    score_profiles,
)
from fathom.analysis.longscore import longscore_of
from fathom.analysis.profile import profiles
from fathom.rows import to_frame
from fathom.types import FathomError


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
    score = of(longscore(table([[1, 1, 1, 0.8, 0.4]] * 8)), "kv")
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
    assert "is undefined" in of(longscore(table([[0, 0, 0, 1]] * 40)), "kv").undefined


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


def test_of_many_lengths_that_are_not_measured_three_are_named_and_the_last() -> None:
    lengths = (*LENGTHS, 65536, 131072)
    rows = to_frame(
        row(1.0 if length < 8192 else None, item=item, length=length, status="ok" if length < 8192 else "error")
        for item in range(5)
        for length in lengths
    )
    why = "5 of 5 replies are missing"
    assert of(longscore(rows), "kv").undefined == (
        f"not measured at 8k ({why}), 16k ({why}), 32k ({why}) and 2 more lengths up to 128k"
    )
    fewer = rows.filter(pl.col("length") <= 32768)
    assert of(longscore(fewer), "kv").undefined == f"not measured at 8k ({why}), 16k ({why}), 32k ({why})"


def test_a_length_within_base_lengths_of_ones_own_is_not_beyond_them() -> None:
    rows = table([[1, 1, 1, None, 1, 0.5]] * 40)
    assert of(longscore(rows, base_lengths=(2048, 16384)), "kv").average == pytest.approx(-0.5)
    assert of(longscore(rows), "kv").average is None


@pytest.mark.parametrize(("items", "said"), [(20, True), (40, False)])
def test_a_base_that_spans_a_factor_of_two_is_called_uncertain(items: int, said: bool) -> None:
    """Half of 20 items: [0.29, 0.71]; half of 40: [0.35, 0.65]."""
    score = of(longscore(table([[1, 1, 1, 1], [0, 0, 0, 0]] * (items // 2))), "kv")
    assert score.base_factor is not None
    assert (1.5 < score.base_factor < 2, 2 < score.base_factor < 3) == (not said, said)
    assert (f"the base is uncertain by a factor of {score.base_factor:.1f}" in score.note) is said


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
    assert score.undefined == "the base is not measured with the gold document alone (1 of 5 replies is missing)"


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


@pytest.mark.slow
@pytest.mark.long
def test_coverage() -> None:
    rng = np.random.default_rng(8)
    truth, held = [0.9, 0.9, 0.9, 0.6, 0.3], 0
    for _ in range(40):
        score = of(longscore(drawn(truth, 40, rng)), "kv")
        assert score.average_interval is not None
        held += score.average_interval.low <= 0.45 / 0.9 - 1 <= score.average_interval.high
    assert held >= 35
    assert len(truth) < len(LENGTHS)


# ------------------------------------------------------------------------------------- averages that can be compared


def uneven() -> pl.DataFrame:
    """Two models, one of which stands at 32k too: there it gains what it has lost before."""
    rng = np.random.default_rng(12)
    ease = rng.normal(0, 0.1, (50, 1))
    scores = np.clip(np.array([0.7, 0.7, 0.7, 0.5, 0.3, 0.7]) + ease + rng.normal(0, 0.05, (50, 6)), 0, 1)
    return pl.concat([table(scores.tolist(), model="long"), table(scores[:, :5].tolist(), model="short")])


def test_averages_to_be_compared_are_over_the_lengths_that_all_models_have() -> None:
    rows = uneven()
    long, short = longscore(rows)[0], longscore(rows)[2]
    assert (long.model, short.model, long.task, short.task) == ("long", "short", "kv", "kv")
    assert long.shared_lengths == short.shared_lengths == (8192, 16384)
    first = [value for value in values(long) if value is not None]
    assert long.average == pytest.approx(np.mean(first))
    assert long.shared_average == pytest.approx(np.mean(first[:2]))
    assert short.shared_average == short.average == pytest.approx(long.shared_average)
    assert short.shared_interval == short.average_interval
    # The same items at the same lengths: the interval is that of a model that has no other ones.
    assert long.shared_interval is not None
    assert short.shared_interval is not None
    assert long.shared_interval.low == pytest.approx(short.shared_interval.low)
    assert long.shared_interval.high == pytest.approx(short.shared_interval.high)
    assert long.shared_interval.low < np.mean(first[:2]) < long.shared_interval.high
    said = (
        "not all models have the same lengths (32k only by long): LongScores are averaged over 8k, 16k, "
        "which all models have"
    )
    assert long.note == short.note == said


def test_what_there_was_to_know_is_told_after_the_lengths() -> None:
    rows = uneven().filter(pl.col("length") != 4096)
    notes = [one.note for one in longscore(rows)]
    base = "base is the mean at 2k, 6k only: no score at 4k"
    assert all(note.startswith("not all models") and note.endswith(f"which all models have; {base}") for note in notes)


def test_models_without_a_common_length_have_no_average_to_be_compared() -> None:
    left_out = (pl.col("length") == 16384) | ((pl.col("model") == "long") & (pl.col("length") == 8192))
    rows = uneven().filter(~left_out)
    for one in longscore(rows):
        assert one.shared_lengths == ()
        assert (one.shared_average, one.shared_interval) == (None, None)
        assert one.average is not None
        assert "averaged over no length, which all models have" in one.note


def test_profiles_at_some_lengths_keep_their_base() -> None:
    ready = profiles(table([[1, 1, 1, 0.8, 0.4, 0.2]] * 8))
    for profile in at_lengths(ready, [16384]):
        assert profile.lengths.tolist() == [2048, 4096, 6144, 16384]
    found = of(longscore_of(at_lengths(ready, [8192, 32768])), "kv")
    assert found.base == 1.0
    assert values(found) == pytest.approx([-0.2, -0.8])
    with pytest.raises(FathomError, match=r"^`lengths`: no score at 64k; lengths with scores: 2k, 4k, .*, 32k$"):
        at_lengths(ready, [8192, 65536])
    with pytest.raises(FathomError, match=r"^`lengths`: no score at no length; lengths with scores: 2k, "):
        at_lengths(ready, [])


def test_a_given_base_does_not_keep_the_base_lengths_of_the_paper() -> None:
    cells = tuple(ScoreCell("m", "t", length, 0.5, 40, 0.0) for length in (0, 2048, 8192, 16384))
    for profile in at_lengths(score_profiles(ScoreTable(cells, "")), [8192]):
        assert profile.lengths.tolist() == [8192]


def test_a_model_alone_and_one_without_an_average_share_their_own_lengths() -> None:
    rows = pl.concat([table([[1, 1, 1, 0.8, 0.4]] * 8), table([[0, 0, 0, 0.5]] * 8, model="low")])
    found = of([one for one in longscore(rows) if one.model == "m"], "kv")
    assert found.shared_lengths == (8192, 16384)
    assert found.shared_average == found.average
    assert found.shared_interval == found.average_interval
    assert found.note == ""
    low = of([one for one in longscore(rows) if one.model == "low"], "kv")
    assert (low.shared_lengths, low.shared_average, low.base_factor) == ((), None, None)


# ----------------------------------------------------------------------------------------------------- all that is said


def test_a_score_names_what_it_is_of_and_says_how_sure_its_base_is() -> None:
    rng = np.random.default_rng(13)
    rows = drawn([0.6, 0.6, 0.6, 0.4], 40, rng, model="m")
    rows = rows.with_columns(variant=pl.lit("v"), chance=pl.lit(0.2))
    one, whole = longscore(rows)
    assert (one.model, one.variant, one.task, whole.task) == ("m", "v", "kv", "all")
    assert one.base_interval is not None
    assert one.base is not None
    assert one.base_interval.low < one.base < one.base_interval.high
    # The chance level is a fact: the interval above it is that of the base, less 0.2.
    expected = (one.base_interval.high - 0.2) / (one.base_interval.low - 0.2)
    assert one.base_factor == pytest.approx(expected)
    assert one.chance == pytest.approx(0.2)


@pytest.mark.slow
def test_seeds_bases_and_what_counts_are_those_asked_for() -> None:
    rows = drawn([0.8, 0.8, 0.8, 0.4, 0.2], 30, np.random.default_rng(14))
    usual = of(longscore(rows), "kv")
    assert of(longscore(rows), "kv") == usual
    assert of(longscore(rows, seed=1), "kv").average == usual.average
    assert of(longscore(rows, seed=1), "kv").average_interval != usual.average_interval
    at_8k = of(longscore(rows, base_lengths=(8192,)), "kv")
    assert at_8k.base_lengths == (8192,)
    assert [point.length for point in at_8k.points] == [16384]
    refused = rows.with_columns(status=pl.when(pl.col("value") == 0).then(pl.lit("refused")).otherwise("status"))
    assert of(longscore(refused), "kv").average == usual.average
    assert of(longscore(refused, unanswered="drop"), "kv").average == 0


def test_what_is_missing_is_said_in_whole_sentences() -> None:
    only = of(longscore(table([[1, 1, 1]] * 5)), "kv")
    assert only.undefined == "no score at a length beyond 6k"
    without = of(longscore(table([[1, 1, 1]] * 5), base_lengths=(4096,)), "kv")
    assert (without.undefined, without.base_lengths) == ("", (4096,))
    lost = of(longscore(table([[1, 1, 1, None]] * 5)), "kv")
    assert lost.undefined == "not measured at 8k (5 of 5 replies are missing)"
    none = of(longscore(to_frame([row(1.0, length=8192), row(1.0, length=16384)])), "kv")
    assert none.undefined == "no score at a base length (2k, 4k, 6k); scored lengths: 8k, 16k"
    assert (none.base_factor, none.chance, none.base_lengths) == (None, None, ())
    alone = [row(1.0, item=item, length=0, facets={"context": "alone"}) for item in range(5)]
    code = of(longscore(pl.concat([table([[0.5, 0.5]] * 5), to_frame(alone)]), base="code"), "kv")
    assert code.undefined == "no score at a length beyond 6k"
    weak = of(longscore(table([[0, 0, 0]] * 40)), "kv")
    assert weak.undefined.endswith("so a ratio to it is undefined")


def test_the_formula_at_its_edge() -> None:
    assert longscore_of_means(-0.1, 0.4) is None
    assert longscore_of_means(1.0, 0.4) == pytest.approx(-0.6)
    assert longscore_of_means(2.0, 3.0) == 0.5


def test_the_interval_at_each_length_is_that_of_its_own_ratio() -> None:
    rng = np.random.default_rng(15)
    ease = rng.normal(0, 0.15, (120, 1))
    scores = np.clip(np.array([0.7, 0.7, 0.7, 0.6, 0.2]) + ease + rng.normal(0, 0.1, (120, 5)), 0, 1)
    points = of(longscore(table(scores.tolist())), "kv").points
    drawn_scores = np.array([scores[rng.integers(0, 120, 120)].mean(axis=0) for _ in range(3000)])
    for column, point in zip((3, 4), points, strict=True):
        low, high = np.quantile(drawn_scores[:, column] / drawn_scores[:, :3].mean(axis=1) - 1, [0.025, 0.975])
        assert point.interval is not None
        assert point.interval.low == pytest.approx(low, abs=0.12 * (high - low))
        assert point.interval.high == pytest.approx(high, abs=0.12 * (high - low))


def test_base_lengths_of_ones_own_hold_for_all_that_is_said() -> None:
    rows = pl.concat([uneven(), uneven().with_columns(variant=pl.lit("v"))])
    rows = rows.filter((pl.col("variant") == "") | (pl.col("length") != 6144))
    found = longscore(rows, base_lengths=(2048,))
    names = [(one.model, one.variant) for one in found if one.task == "kv"]
    assert names == [("long", ""), ("short", ""), ("long", "v"), ("short", "v")]
    long = found[0]
    # Every length beyond 2k is compared with it; 6k has the one variant only, and 32k the one model.
    assert long.shared_lengths == (4096, 8192, 16384)
    assert "6k only by long and short, 32k only by long and long · v" in long.note
    means = np.mean([1 + (point.value or 0) for point in long.points if point.length in long.shared_lengths])
    assert long.shared_average == pytest.approx(means - 1)
    part = of(longscore(table([[1.0, 0.5]] * 9), base_lengths=(1024, 2048)), "kv")
    assert part.note == "base is the mean at 2k only: no score at 1k"
    nothing = of(longscore(to_frame([row(1.0, length=8192)]), base_lengths=(1024, 4096)), "kv")
    assert nothing.undefined == "no score at a base length (1k, 4k); scored lengths: 8k"


def test_the_base_of_the_code_stands_for_its_own_lengths() -> None:
    alone = [row(1.0, item=item, length=0, facets={"context": "alone"}) for item in range(5)]
    rows = pl.concat([table([[0.5, 0.5]] * 5), to_frame(alone)])
    found = of(longscore(rows, base_lengths=(1024,), base="code"), "kv")
    assert found.undefined == "no score at a length beyond 6k"
    (one, _) = profiles(table([[0.5]] * 5), base="code", replicates=5)
    assert one.base is not None
    bare = replace(one, base=replace(one.base, lengths=()), complete=np.array([False]))
    assert longscore_of([bare])[0].undefined == "no score at a length beyond the base"
