"""Averages of lines of boards, on lines made here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.board.model import Cell, Entry, Estimate, Origin
from fathom.board.standing import averages_as_paper, mean, standing, task_scores
from fathom.registry import boards, get_board, get_suite, tasks
from fathom.types import FathomError
from fathom.types.boards import Board, Category, Part

BOARDS = tuple(boards().values())
LEADER_32K = get_board("leader-32k")
LEADER_128K = get_board("leader-128k")

TWO = Board(
    id="two",
    title="Two",
    suites=("two",),
    about="",
    rule="",
    categories=(
        Category("find", "Find", (Part(("a", "b"), "short"), Part(("c",), "long"))),
        Category("count", "Count", (Part(("d",)),)),
    ),
    lengths=(1024, 2048),
    missing_is_zero=True,
)
SCORES: dict[Cell, Estimate | None] = {
    ("a", 0): Estimate(0.2, 0.02, 10),
    ("b", 0): Estimate(0.4, 0.04, 20),
    ("c", 0): Estimate(0.9, 0.01, 30),
    ("d", 0): Estimate(0.1, 0.03, 40),
}


def line(cells: Mapping[Cell, Estimate | None], **printed: float) -> Entry:
    return Entry("m", "", Origin("published", "a paper"), cells, {name: Estimate(it) for name, it in printed.items()})


def value(estimate: Estimate | None) -> float:
    assert estimate is not None
    return estimate.value


# ------------------------------------------------------------------------------------------------------ means


def test_the_error_of_a_mean_is_that_of_independent_parts() -> None:
    rng = np.random.default_rng(5)
    errors, weights = np.array([0.02, 0.05, 0.01]), np.array([1.0, 2.0, 5.0])
    draws = np.average(rng.normal([0.2, 0.5, 0.9], errors, (40_000, 3)), axis=1, weights=weights)
    parts = [Estimate(each, float(error), 10) for each, error in zip((0.2, 0.5, 0.9), errors, strict=True)]
    found = mean(parts, list(weights))
    assert found.error == pytest.approx(draws.std(), rel=0.02)
    assert found.value == pytest.approx(draws.mean(), abs=0.001)
    assert (found.n, found.bound) == (30, False)


def test_the_error_of_the_same_questions_covers_scores_that_move_together() -> None:
    rng = np.random.default_rng(5)
    both = rng.normal(0, 0.03, 40_000)
    found = mean([Estimate(0.2, 0.03, 10), Estimate(0.6, 0.03, 10)], paired=True)
    assert found.error == pytest.approx(both.std(), rel=0.02)
    assert (found.n, found.bound) == (10, True)


unit = st.floats(0, 1)
part = st.builds(Estimate, unit, unit, st.integers(1, 100))


@given(st.lists(part, min_size=1, max_size=6))
def test_a_mean_lies_among_its_parts_and_its_error_is_most_when_they_move_together(parts: list[Estimate]) -> None:
    apart, together = mean(parts), mean(parts, paired=True)
    values = [one.value for one in parts]
    assert min(values) - 1e-12 <= apart.value <= max(values) + 1e-12
    assert apart.value == together.value
    assert apart.error is not None
    assert together.error is not None
    assert apart.error <= together.error + 1e-12


def test_without_one_error_there_is_none_and_without_one_n_there_is_none() -> None:
    found = mean([Estimate(0.5, 0.1, 10, bound=True), Estimate(0.7, None, 5)])
    assert (found.error, found.n, found.bound) == (None, 15, False)
    assert mean([Estimate(0.5, 0.1, 10, bound=True), Estimate(0.7, 0.1)]).n is None


# ------------------------------------------------------------------------------------- tasks and their lengths


def test_a_cell_over_all_lengths_goes_before_the_mean_over_lengths() -> None:
    at: dict[Cell, Estimate | None] = {("a", 1024): Estimate(0.2), ("a", 2048): Estimate(0.6)}
    assert task_scores(TWO, line(at))["a"].value == pytest.approx(0.4)
    assert task_scores(TWO, line(at | {("a", 0): Estimate(0.35)}))["a"].value == 0.35
    assert "a" not in task_scores(TWO, line(at | {("a", 0): None}))


def test_only_lengths_that_count_make_a_score_and_all_of_them() -> None:
    board = replace(TWO, counted={"a": (1024, 2048)})
    at: dict[Cell, Estimate | None] = {("a", 1024): Estimate(0.2), ("a", 4096): Estimate(1.0)}
    assert task_scores(board, line(at)) == {}
    assert "a" in standing(board, line(at)).missing
    assert task_scores(board, line(at | {("a", 2048): Estimate(0.4)}))["a"].value == pytest.approx(0.3)
    assert task_scores(board, line(at | {("a", 2048): None})) == {}


def test_lengths_of_the_same_questions_add_no_certainty() -> None:
    at: dict[Cell, Estimate | None] = {("a", 1024): Estimate(0.2, 0.1, 50), ("a", 2048): Estimate(0.6, 0.1, 50)}
    apart = task_scores(TWO, line(at))["a"]
    same = task_scores(replace(TWO, paired=("a",)), line(at))["a"]
    assert apart.error == pytest.approx(0.1 / math.sqrt(2))
    assert same.error == pytest.approx(0.1)
    assert (apart.n, same.n) == (100, 50)


# -------------------------------------------------------------------------------------- categories, the whole


def test_parts_count_alike_whatever_their_numbers() -> None:
    found = standing(TWO, line(SCORES))
    assert value(found.categories["find"]) == pytest.approx((0.3 + 0.9) / 2)
    assert value(found.overall) == pytest.approx((0.6 + 0.1) / 2)
    assert found.overall is not None
    assert found.overall.error == pytest.approx(math.hypot(0.02 / 8, 0.04 / 8, 0.01 / 4, 0.03 / 2))
    assert found.overall.n == 100
    assert found.complete
    assert found.as_paper == pytest.approx(0.35)


def test_what_is_missing_is_left_out_and_said_and_zero_as_the_paper_counts() -> None:
    cells = SCORES | {("b", 0): None}
    del cells["d", 0]
    found = standing(TWO, line(cells))
    assert value(found.overall) == pytest.approx((0.2 + 0.9) / 2)
    assert found.categories["count"] is None
    assert found.missing == ("b", "d")
    assert not found.complete
    assert found.as_paper == pytest.approx(((0.1 + 0.9) / 2 + 0) / 2)
    assert averages_as_paper(TWO, line(cells))[1] == {"find": pytest.approx(0.5), "count": 0}
    assert standing(replace(TWO, missing_is_zero=False), line(cells)).as_paper is None


def test_nothing_gives_nothing() -> None:
    found = standing(TWO, line({}))
    assert (found.overall, found.as_paper, dict(found.lengths)) == (None, None, {})
    assert found.missing == TWO.tasks


def test_questions_that_count_alike() -> None:
    board = replace(TWO, weighting="questions")
    found = standing(board, line(SCORES))
    assert value(found.categories["find"]) == pytest.approx((0.2 * 10 + 0.4 * 20 + 0.9 * 30) / 60)
    assert value(found.overall) == pytest.approx((0.2 * 10 + 0.4 * 20 + 0.9 * 30 + 0.1 * 40) / 100)
    with pytest.raises(FathomError, match="board two: all questions count alike"):
        standing(board, line(SCORES | {("a", 0): Estimate(0.2)}))


def test_printed_averages_stand_in_only_for_cells_that_are_not_given() -> None:
    count = line({("d", 0): Estimate(0.1)}, find=0.7, count=0.9)
    found = standing(TWO, count)
    assert value(found.categories["find"]) == 0.7
    assert value(found.categories["count"]) == 0.1
    assert value(found.overall) == pytest.approx(0.4)
    assert found.complete
    # A cell that the source prints as missing is given: its average counts it as something else.
    lacking = standing(TWO, line({("a", 0): None, ("d", 0): Estimate(0.1)}, find=0.7, overall=0.5))
    assert lacking.categories["find"] is None
    assert value(lacking.overall) == 0.1
    assert lacking.missing == ("a", "b", "c")
    whole = standing(TWO, line({}, find=0.7, overall=0.5))
    assert (value(whole.overall), whole.complete) == (0.5, True)


def test_a_length_is_averaged_where_all_its_tasks_are() -> None:
    cells: dict[Cell, Estimate | None] = {(task, 1024): Estimate(0.5) for task in TWO.tasks}
    cells["a", 2048] = Estimate(0.9)
    found = standing(TWO, line(cells, **{"length/2048": 0.3}))
    assert {length: one.value for length, one in found.lengths.items()} == {1024: 0.5, 2048: 0.3}
    assert 2048 not in standing(TWO, line(cells)).lengths
    only = standing(replace(TWO, length_tasks=("a",)), line(cells))
    assert value(only.lengths[2048]) == 0.9


# ------------------------------------------------------------------------------------------------- the boards


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.id)
def test_boards_are_made_of_tasks_of_their_suites(board: Board) -> None:
    known = {task for suite in board.suites for task in get_suite(suite).tasks}
    assert set(board.tasks) <= known & set(tasks())
    assert {*board.counted, *board.paired, *board.length_tasks} <= set(board.tasks)
    assert list(board.lengths) == sorted(set(board.lengths))
    ids = [category.id for category in board.categories]
    assert len(set(ids)) == len(ids)
    in_parts = [task for category in board.categories for part in category.parts for task in part.tasks]
    assert sorted(in_parts) == sorted(board.tasks), "a task stands in one part only"
    assert board.url.startswith("https://")
    assert all((board.title, board.about, board.rule, board.licence, board.citation))


def test_the_boards_but_leader_32k_hold_all_tasks_of_their_suites() -> None:
    for board in BOARDS:
        if board is not LEADER_32K:
            assert set(board.tasks) == {task for suite in board.suites for task in get_suite(suite).tasks}


def test_the_32k_set_is_the_first_half_of_the_whole() -> None:
    halves = {part.title: part.tasks for category in LEADER_128K.categories for part in category.parts[:1]}
    assert set(halves) == {"up to 32k", "32k to 128k"}
    first = [
        task for one in LEADER_128K.categories for part in one.parts if part.title == "up to 32k" for task in part.tasks
    ]
    assert tuple(first) == LEADER_32K.tasks


def test_an_unknown_board_is_refused() -> None:
    with pytest.raises(FathomError, match="unknown board 'leader'; did you mean leader-"):
        get_board("leader")
