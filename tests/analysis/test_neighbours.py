"""Neighbours: the order of models, and which of them cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from repeated import frame
from simulated import row

from fathom.analysis import average_scores, neighbours
from fathom.analysis.grid import grids
from fathom.analysis.questions import asked
from fathom.analysis.ranking import Ranked, ranking_of, ranking_of_questions
from fathom.rows import to_frame
from fathom.types import Row


def model(name: str, scores: Sequence[float | None], epochs: int = 1, start: int = 0) -> list[Row]:
    return [
        row(value, model=name, item=item, epoch=epoch, status="ok" if value is not None else "incomplete")
        for item, value in enumerate(scores, start)
        for epoch in range(1, epochs + 1)
    ]


def test_the_order_is_that_of_the_scores() -> None:
    rows = [*model("low", [0.0, 0.5]), *model("high", [1.0, 1.0]), *model("mid", [0.5, 1.0], epochs=3)]
    found = neighbours(to_frame(rows))
    assert [(one.rank, one.model, one.score, one.questions) for one in found] == [
        (1, "high", 1.0, 2),
        (2, "mid", 0.75, 2),
        (3, "low", 0.25, 2),
    ]
    assert [one.gap for one in found] == [0.25, 0.5, None]
    assert found[-1].gap_interval is None
    assert not found[-1].tied
    assert all(one.interval.low <= one.score <= one.interval.high for one in found)
    assert neighbours(to_frame(rows).clear()) == []


@pytest.mark.slow
def test_gaps_are_paired() -> None:
    """A small gap on every question is a gap, though the intervals of both scores hold the other score."""
    rng = np.random.default_rng(0)
    low = rng.random(200) * 0.9
    first, second = neighbours(to_frame([*model("a", list(low + 0.03)), *model("b", list(low))]))
    assert first.interval.low < second.score
    assert not first.tied
    assert first.gap == pytest.approx(0.03)
    mixed = rng.permutation(low)
    first, _ = neighbours(to_frame([*model("a", list(mixed + 0.01)), *model("b", list(low))]))
    assert first.tied


def test_gaps_are_over_shared_questions_only() -> None:
    rows = [*model("a", [1.0, 0.0]), *model("a", [1.0], start=3), *model("b", [0.0, 1.0], start=1)]
    first, second = neighbours(to_frame(rows))
    assert (first.model, first.questions, second.questions) == ("a", 3, 2)
    assert first.gap == 0.0
    assert first.tied
    assert (first.gap_questions, first.p_value) == (1, 1.0)
    # Without any question in common there is no difference, and both share all ranks.
    apart = [*model("a", [1.0]), *model("b", [0.0], start=5)]
    assert [(one.best, one.worst, one.gap) for one in neighbours(to_frame(apart))] == [(1, 2, None), (1, 2, None)]
    three = neighbours(to_frame([*apart, *model("c", [0.5] * 6)]))
    assert [(one.model, one.gap, one.gap_questions) for one in three] == [("a", 0.5, 1), ("c", 0.5, 1), ("b", None, 0)]


def test_replies_without_an_answer_count_as_wrong() -> None:
    rows = to_frame([*model("a", [0.6, 0.5]), *model("b", [1.0, None])])
    assert [(one.model, one.unanswered) for one in neighbours(rows)] == [("a", 0), ("b", 1)]
    assert [one.score for one in neighbours(rows, unanswered="drop")] == [1.0, 0.55]


def test_ranks_know_the_mean_under_the_other_choice() -> None:
    rows = to_frame([*model("a", [0.6, 0.5]), *model("b", [1.0, None])])
    assert [(one.model, one.other) for one in ranking_of_questions(asked(rows))] == [("a", 0.55), ("b", 1.0)]
    by_task = ranking_of(grids(rows), average_scores(rows))
    assert [(one.model, one.other) for one in by_task] == [("a", pytest.approx(0.55)), ("b", 1.0)]


@pytest.mark.slow
def test_intervals_and_gaps_of_ranks_have_the_seed_and_the_replicates_asked_for() -> None:
    rng = np.random.default_rng(6)
    rows = pl.concat([frame(rng.random((30, 1)), name) for name in "ab"])

    def by_question(**options: int) -> Ranked:
        return ranking_of_questions(asked(rows), **options)[0]

    def by_task(**options: int) -> Ranked:
        return ranking_of(grids(rows), average_scores(rows), **options)[0]

    for options in ({"seed": 1}, {"replicates": 500}):
        assert by_question(**options).interval != by_question().interval
        for ranked in (by_question, by_task):
            usual, other = ranked().gaps[1], ranked(**options).gaps[1]
            assert usual is not None
            assert other is not None
            assert usual.difference == other.difference
            assert usual.interval != other.interval


def test_a_gap_seen_from_the_other_model_is_turned() -> None:
    rng = np.random.default_rng(7)
    scores = rng.random((30, 1))
    rows = pl.concat([frame(scores, "a"), frame(scores * 0.5, "b")])
    first, second = ranking_of_questions(asked(rows))
    down, up = first.gaps[1], second.gaps[0]
    assert down is not None
    assert up is not None
    assert 0 < down.interval.low < down.difference < down.interval.high
    assert (up.interval.low, up.difference, up.interval.high) == (
        -down.interval.high,
        -down.difference,
        -down.interval.low,
    )
    assert up.p_value == down.p_value


def test_models_without_any_question_in_common_come_last_the_higher_mean_first() -> None:
    apart = [*model("low", [0.1], start=5), *model("high", [0.9], start=6), *model("mid", [0.5], start=7)]
    assert [one.model for one in neighbours(to_frame(apart))] == ["high", "mid", "low"]


def test_a_model_with_a_cell_that_is_not_measured_has_no_rank() -> None:
    lost = row(None, model="b", item=2, status="error")
    assert [one.model for one in neighbours(to_frame([*model("a", [0.5]), *model("b", [1.0, 1.0]), lost]))] == ["a"]


def test_published_averages_have_no_neighbours() -> None:
    average = replace(row(0.9, model="told", length=0), facets={"aggregate": "overall", "group": "all"})
    found = neighbours(to_frame([average, *model("a", [0.5])]))
    assert [one.model for one in found] == ["a"]


@pytest.mark.slow
@pytest.mark.long
def test_equal_models_are_tied_as_often_as_they_should_be() -> None:
    rng = np.random.default_rng(3)
    tied = 0
    for _ in range(100):
        shares = rng.beta(2, 2, (80, 1))
        rows = pl.concat([frame((rng.random((80, 1)) < shares).astype(float), name) for name in "ab"])
        tied += neighbours(rows)[0].tied is True
    assert 0.88 <= tied / 100 <= 1.0  # 0.95 with three standard errors
