"""Questions without their long context: in no curve, and the base of the released code where it asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from simulated import row, table

from fathom.analysis import (
    average_scores,
    cell_counts,
    compare,
    counts,
    curve,
    effective_length,
    longscore,
    position,
    profiles,
    steady,
)
from fathom.rows import to_frame
from fathom.types import FathomError, Row


def side(value: float, context: str, *, item: int = 0, task: str = "kv", model: str = "m") -> Row:
    one = row(value, task=task, item=item, length=0, model=model, facets={"context": context, "depth": 0.5})
    return replace(one, sample=f"{task}/{item}@{context}")


def asked(task: str = "kv", model: str = "m") -> pl.DataFrame:
    scores: list[list[float | None]] = [
        [1, 1, 0.5, 0.5, 0.25],
        [1, 0.5, 1, 0.5, 0.5],
        [0.5, 1, 1, 1, 0.5],
        [1, 1, 1, 1, 0],
    ]
    return table(scores, task=task, model=model)


@pytest.mark.slow
def test_they_change_no_analysis() -> None:
    rows = pl.concat([asked(), asked(model="b")])
    more = to_frame(
        side(0.0, context, item=item, model=m) for context in ("none", "alone") for item in (0, 1) for m in "mb"
    )
    both = pl.concat([more, rows])
    for study in (curve, longscore, effective_length, average_scores, position, steady, cell_counts):
        assert study(both) == study(rows), study.__name__
    assert compare(both, "m", "b") == compare(rows, "m", "b")
    assert (counts(both)[0].replies, counts(rows)[0].replies) == (24, 20)


def test_a_model_with_nothing_else_has_no_profile() -> None:
    only = to_frame([side(1.0, "none"), side(1.0, "alone")])
    assert profiles(only) == []
    assert compare(pl.concat([only, asked(model="b")]), "m", "b") == []


def test_length_0_of_other_harnesses_is_an_unknown_length() -> None:
    assert [point.length for point in curve(to_frame([row(1.0, length=0)]))] == [0, 0]


def test_the_code_base_of_questions_is_the_gold_document_alone() -> None:
    alone = to_frame(side(value, "alone", item=item, task="single_doc_qa") for item, value in enumerate((1, 0.5, 1, 1)))
    none = to_frame([side(0.0, "none", task="single_doc_qa")])
    rows = pl.concat([asked("single_doc_qa"), asked("kv_retrieval"), alone, none])
    paper = {one.task: one for one in longscore(rows)}
    code = {one.task: one for one in longscore(rows, base="code")}
    assert paper["single_doc_qa"].base == pytest.approx(10.5 / 12)
    assert code["single_doc_qa"].base == pytest.approx(3.5 / 4)
    assert "gold document alone" in code["single_doc_qa"].note
    assert code["kv_retrieval"].base == pytest.approx(10.5 / 12)
    assert "pooled" in code["kv_retrieval"].note
    assert code["all"].base == pytest.approx((3.5 / 4 + 10.5 / 12) / 2)
    assert [point.length for point in code["all"].points] == [8192, 16384]


def test_the_code_base_falls_back_with_a_note() -> None:
    one = longscore(asked("single_doc_qa"), base="code")[0]
    assert one.base == pytest.approx(10.5 / 12)
    assert "no rows with the gold document alone" in one.note


def test_the_pooled_base_counts_items_not_lengths() -> None:
    rows = table([[1, 1, 1, 0.5], [0, None, None, 0.5]], task="passage_count").drop_nulls("value")
    assert longscore(rows)[0].base == pytest.approx((0.5 + 1 + 1) / 3)
    assert longscore(rows, base="code")[0].base == pytest.approx(3 / 4)


def test_the_code_base_is_paired_with_the_lengths() -> None:
    rng = np.random.default_rng(0)
    ease = rng.random(60)
    rows = table([[e, e, e, 0.9 * e] for e in ease], task="single_doc_qa")

    def width(order: Sequence[float]) -> float:
        alone = to_frame(side(e, "alone", item=item, task="single_doc_qa") for item, e in enumerate(order))
        interval = longscore(pl.concat([rows, alone]), base="code")[0].average_interval
        assert interval is not None
        return interval.high - interval.low

    assert width(ease.tolist()) < 0.5 * width(rng.permutation(ease).tolist())


def test_rows_have_no_given_base() -> None:
    with pytest.raises(FathomError, match="given"):
        longscore(asked(), base="given")
