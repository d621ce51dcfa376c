from __future__ import annotations

import math
from dataclasses import replace

from simulated import row

from fathom.analysis import cell_counts, counts
from fathom.rows import to_frame


def test_every_reply_is_counted_once() -> None:
    rows = [
        row(1.0, item=0),
        row(0.0, item=1, valid=False),
        row(None, item=2, status="overflow"),
        row(None, item=3, status="refused"),
        row(None, item=4, status="incomplete"),
        row(None, item=5, status="error"),
        row(None, item=6),
        row(math.nan, item=7),
        row(0.5, item=8, status="incomplete"),
    ]
    (count,) = counts(to_frame(rows))
    assert (count.model, count.task, count.length, count.replies) == ("m", None, None, 9)
    assert (count.scored, count.valid, count.invalid, count.cut) == (3, 2, 1, 1)
    assert (count.unanswered, count.overflow, count.missing) == (2, 1, 3)
    assert (count.refused, count.error) == (1, 1)
    assert count.scored + count.unanswered + count.overflow + count.missing == count.replies


def test_sums_are_over_what_is_known() -> None:
    known = replace(row(1.0), tokens_in=100, tokens_out=7, tokens_reasoning=3, cost=0.5, seconds=2.0, truncated=12)
    (count,) = counts(to_frame([known, row(1.0, item=1)]))
    assert (count.tokens_in, count.tokens_out, count.tokens_reasoning) == (100, 7, 3)
    assert (count.cost, count.seconds, count.truncated) == (0.5, 2.0, 1)


def test_unknown_cost_is_not_free() -> None:
    (count,) = counts(to_frame([row(1.0)]))
    assert count.cost is None
    assert (count.tokens_in, count.seconds) == (0, 0.0)


def test_by_model_and_by_cell() -> None:
    rows = to_frame(
        row(1.0, model=model, variant=variant, task=task, length=length)
        for model, variant in (("b", ""), ("a", "x"), ("a", ""))
        for task in ("kv", "count")
        for length in (8192, 2048)
    )
    assert [(count.model, count.variant, count.replies) for count in counts(rows)] == [
        ("b", "", 4), ("a", "x", 4), ("a", "", 4),
    ]  # fmt: skip
    assert [(cell.task, cell.length, cell.replies) for cell in cell_counts(rows)[:4]] == [
        ("kv", 2048, 1), ("kv", 8192, 1), ("count", 2048, 1), ("count", 8192, 1),
    ]  # fmt: skip
    assert len(cell_counts(rows)) == 12


def test_no_rows() -> None:
    assert counts(to_frame([])) == []
    assert cell_counts(to_frame([])) == []
