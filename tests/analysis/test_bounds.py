"""Bounds: what a mean is with all missing replies wrong and with all of them right, against a plain recount."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from simulated import LENGTHS, row

from fathom.analysis import AverageScore, CurvePoint, LongScore, average_scores, curve, effective_length
from fathom.analysis.average import average_scores_of
from fathom.analysis.counts import cell_counts
from fathom.analysis.curve import curve_of
from fathom.analysis.longscore import longscore_of
from fathom.analysis.profile import profiles
from fathom.rows import to_frame
from fathom.stats.outcomes import NOT_ASKED, UNANSWERED, Bounds, Unanswered

ITEMS = 15


def simulated(
    right: Sequence[float], lost: dict[tuple[str, int], int], tasks: Sequence[str] = ("a", "b"), seed: int = 0
) -> pl.DataFrame:
    """Replies right with a probability at each length, of which the first few of some cells are missing."""
    rng = np.random.default_rng(seed)
    return to_frame(
        row(
            None if number < lost.get((task, length), 0) else float(rng.random() < chance),
            task=task,
            item=number,
            length=length,
        )
        for task in tasks
        for number in range(ITEMS)
        for length, chance in zip(LENGTHS, right, strict=True)
    )


def filled(rows: pl.DataFrame, value: float) -> pl.DataFrame:
    return rows.with_columns(pl.col("value").fill_null(value))


def point(rows: pl.DataFrame, task: str, length: int) -> CurvePoint:
    (only,) = [one for one in curve(rows) if (one.task, one.length) == (task, length)]
    return only


def average(rows: pl.DataFrame, task: str) -> AverageScore:
    (only,) = [one for one in average_scores(rows) if one.task == task]
    return only


def long(rows: pl.DataFrame, task: str) -> LongScore:
    (only,) = [one for one in longscore_of(profiles(rows, replicates=100)) if one.task == task]
    return only


def ends(bounds: Bounds | None) -> tuple[float, float] | None:
    return None if bounds is None else (bounds.low, bounds.high)


@pytest.mark.parametrize(
    "right",
    [(0.9, 0.8, 0.8, 0.6, 0.4, 0.2), (0.4, 0.5, 0.6, 0.7, 0.8, 0.9), (1.0,) * 6, (0.0,) * 6],
    ids=["fades", "improves", "ceiling", "floor"],
)
@pytest.mark.parametrize(
    "lost",
    [{("a", 4096): 1}, {("a", 4096): 3, ("b", 16384): 2}, {("a", 2048): 14, ("b", 2048): 1}],
    ids=["one", "two tasks", "nearly all"],
)
def test_bounds_are_the_means_of_filled_replies(right: Sequence[float], lost: dict[tuple[str, int], int]) -> None:
    rows = simulated(right, lost)
    ready = [profiles(each, replicates=100) for each in (rows, filled(rows, 0.0), filled(rows, 1.0))]
    for own, wrong, good in zip(*map(curve_of, ready), strict=True):
        missing = any(own.length == at and own.task in (name, "all") for name, at in lost)
        assert (own.mean is None) is missing
        assert ends(own.bounds) == (pytest.approx((wrong.mean, good.mean)) if missing else None)
    for whole, wrong, good in zip(*map(average_scores_of, ready), strict=True):
        missing = any(whole.task in (name, "all") for name, _ in lost)
        assert (whole.mean is None) is missing
        assert ends(whole.bounds) == (pytest.approx((wrong.mean, good.mean)) if missing else None)


@pytest.mark.slow
def test_bounds_of_longscore_are_the_extremes_of_all_fillings() -> None:
    rows = simulated((0.9, 0.8, 0.8, 0.6, 0.4, 0.2), {("a", 4096): 2, ("a", 16384): 2}, tasks=("a",))
    found = long(rows, "a")
    assert (found.average, found.base) == (None, None)
    gone = rows.with_row_index("number").filter(pl.col("value").is_null())["number"].to_list()
    values = []
    for choice in itertools.product((0.0, 1.0), repeat=len(gone)):
        chosen = pl.col("number").replace_strict(dict(zip(gone, choice, strict=True)), default=None)
        whole = rows.with_row_index("number").with_columns(value=pl.coalesce("value", chosen)).drop("number")
        values.append(long(whole, "a").average)
    known = [value for value in values if value is not None]
    assert len(known) == len(values)
    assert ends(found.bounds) == pytest.approx((min(known), max(known)))
    assert found.base_bounds is not None
    assert found.base_bounds.low < found.base_bounds.high


def test_a_scored_cell_with_few_missing_replies_has_bounds_too() -> None:
    rows = to_frame(row(None if number == 0 else 1.0, item=number) for number in range(60))
    own = point(rows, "kv", 2048)
    assert own.mean == pytest.approx(59 / 60)
    assert ends(own.bounds) == pytest.approx((59 / 60, 1.0))


@pytest.mark.parametrize("unanswered", UNANSWERED)
def test_no_bounds_without_missing_replies_or_without_any_reply(unanswered: Unanswered) -> None:
    rows = simulated((0.5,) * 6, {("a", 4096): ITEMS}, tasks=("a",))
    points = curve(rows, unanswered=unanswered)
    assert all(one.bounds is None for one in points)
    # An average over a cell of which nothing is known is still bounded.
    (own, _) = average_scores(rows, unanswered=unanswered)
    assert own.mean is None
    if unanswered == "zero":
        assert own.bounds is not None
        assert own.bounds.high - own.bounds.low == pytest.approx(1 / 6)


def test_no_bounds_where_prompts_did_not_fit() -> None:
    rows = to_frame(
        row(None if number < 8 else 1.0, item=number, status="overflow" if number < 7 else "ok")
        for number in range(ITEMS)
    )
    assert point(rows, "kv", 2048).bounds is None
    assert average(rows, "kv").bounds is None


def test_longscore_has_no_bounds_where_a_later_length_does_not_fit() -> None:
    rows = simulated((0.9,) * 6, {("a", 4096): 1}, tasks=("a",))
    beyond = (pl.col("length") == LENGTHS[-1]) & pl.col("item").is_in([f"a/{number}" for number in range(8)])
    late = rows.with_columns(
        value=pl.when(~beyond).then("value"),
        status=pl.when(beyond).then(pl.lit("overflow")).otherwise("status"),
    )
    assert long(rows, "a").bounds is not None
    assert (long(late, "a").bounds, long(late, "a").base_bounds) == (None, long(rows, "a").base_bounds)


def steps(means: Sequence[float], lost: int | None, chance: Sequence[float] = (0.0,) * 6) -> pl.DataFrame:
    """Ten items with these scores, and chance levels, at each length; at one length the last of them is missing."""
    return to_frame(
        row(None if (length, number) == (lost, 9) else mean, item=number, length=length, chance=level)
        for number in range(10)
        for length, mean, level in zip(LENGTHS, means, chance, strict=False)
    )


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        (2048, (0.25 / (1.55 / 3) - 1, 0.25 / (1.45 / 3) - 1)),
        (8192, (0.225 / 0.5 - 1, 0.325 / 0.5 - 1)),
        (None, None),
    ],
    ids=["base", "later", "none"],
)
def test_bounds_of_longscore_need_missing_replies_on_one_side_only(
    lost: int | None, expected: tuple[float, float] | None
) -> None:
    found = long(steps((0.5, 0.5, 0.5, 0.25), lost), "kv")
    assert ends(found.bounds) == (None if expected is None else pytest.approx(expected))


def test_a_base_that_may_be_chance_at_one_of_its_lengths_bounds_nothing() -> None:
    means = (0.5, 0.5, 0.5, 0.25)
    assert long(steps(means, 8192, (0.25, 0.25, 0.25, 0.25)), "kv").bounds is not None
    assert long(steps(means, 8192, (0.25, 0.5, 0.25, 0.25)), "kv").bounds is None
    assert long(steps(means, 8192, (0.25, 0.75, 0.25, 0.25)), "kv").bounds is None


def test_another_base_than_the_mean_at_its_lengths_has_no_bounds() -> None:
    alone = to_frame(row(0.5, item=item, length=0, facets={"context": "alone"}) for item in range(10))
    rows = pl.concat([steps((0.5, 0.5, 0.5, 0.25, 0.25), 4096), alone])
    usual, code = (longscore_of(profiles(rows, replicates=100, base=one))[0] for one in ("paper", "code"))
    assert (usual.bounds is None, usual.base_bounds is None) == (False, False)
    assert (code.bounds, code.base_bounds) == (None, None)


def test_bounds_of_a_base_are_over_the_lengths_that_every_task_was_asked_at() -> None:
    rows = simulated((0.9,) * 6, {("a", 4096): 2})
    fewer = rows.filter((pl.col("task") == "a") | (pl.col("length") != 2048))
    common = rows.filter(pl.col("length") != 2048)
    assert long(fewer, "all").base_bounds is not None
    assert long(fewer, "all").base_bounds == long(common, "all").base_bounds
    assert long(fewer, "all").bounds == long(common, "all").bounds


def test_dropped_replies_are_in_no_bound() -> None:
    rows = to_frame(
        row(None if number < 4 else 1.0, item=number, status="refused" if number < 2 else "ok")
        for number in range(ITEMS)
    )
    (own, _) = curve(rows, unanswered="drop")
    assert ends(own.bounds) == pytest.approx((11 / 13, 1.0))


def test_nothing_ranks_or_reaches_by_bounds() -> None:
    rows = simulated((0.9,) * 6, {("a", 2048): 1}, tasks=("a",))
    assert all(one.tokens is None for one in effective_length(rows))
    assert long(rows, "a").average is None


def test_counts_distinguish_why_replies_are_missing() -> None:
    rows = to_frame(row(None if number < 4 else 1.0, item=number) for number in range(ITEMS)).with_columns(
        status=pl.when(pl.col("item").is_in(["kv/0", "kv/1"])).then(pl.lit("error")).otherwise("status"),
        detail=pl.when(pl.col("item") == "kv/0")
        .then(pl.lit(f"{NOT_ASKED}; run the same command again"))
        .when(pl.col("item") == "kv/2")
        .then(pl.lit("not judged yet by lab/judge"))
        .otherwise("detail"),
    )
    (own,) = cell_counts(rows)
    assert (own.missing, own.error, own.not_asked, own.not_judged) == (4, 1, 1, 1)
    assert point(rows, "kv", 2048).gap == "3 of 15 replies are missing, and 1 of 15 prompts was not asked"


def test_bounds_are_numbers() -> None:
    rows = simulated((0.5,) * 6, {("a", 4096): 1})
    for one in curve(rows):
        assert one.bounds is None or 0 <= one.bounds.low < one.bounds.high <= 1
        assert one.bounds is None or not math.isnan(one.bounds.low)
