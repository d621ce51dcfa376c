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
