"""Averages of lines of boards, on lines made here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.board.means import average, combined, over_lengths
from fathom.board.model import Cell, Entry, Estimate, Origin, OutcomeCounts, Source
from fathom.board.standing import averages_as_paper, standing
from fathom.suites.registry import boards, get_board, get_suite, tasks
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
    ("a", 0): Estimate(0.2, n=10),
    ("b", 0): Estimate(0.4, n=20),
    ("c", 0): Estimate(0.9, n=30),
    ("d", 0): Estimate(0.1, n=40),
}


def line(cells: Mapping[Cell, Estimate | None], **printed: float) -> Entry:
    return Entry("m", "", Origin("published", "a paper"), cells, {name: Estimate(it) for name, it in printed.items()})


def value(estimate: Estimate | None) -> float:
    assert estimate is not None
    return estimate.value


# ------------------------------------------------------------------------------------------------------ means


def printed(value: float, n: int | None) -> Source:
    score = Estimate(value, n=n)
    return Source(score, printed=(score,))


def width(estimate: Estimate) -> float:
    assert estimate.interval is not None
    return estimate.interval.high - estimate.interval.low


def test_the_interval_of_a_mean_is_that_of_independent_parts() -> None:
    sources = {"a": printed(0.2, 100), "b": printed(0.5, 60), "c": printed(0.9, 300)}
    weights = {"a": 1 / 8, "b": 2 / 8, "c": 5 / 8}
    found = average(sources, weights, "m")
    assert found.value == pytest.approx(0.2 / 8 + 1 / 8 + 4.5 / 8)
    variance = sum(weights[name] ** 2 * one.score.value * (1 - one.score.value) / ((one.score.n or 0) - 1)
                   for name, one in sources.items())  # fmt: skip
    assert width(found) == pytest.approx(2 * 1.96 * math.sqrt(variance), rel=0.06)
    assert (found.n, found.bound) == (460, True)
    assert average({"a": sources["a"]}, {"a": 1.0}, "m") == sources["a"].score


def test_lengths_of_the_same_questions_add_no_certainty() -> None:
    at = [Estimate(0.2, n=50), Estimate(0.6, n=50)]
    apart, together = (over_lengths(at, "a", "m", paired=paired).score for paired in (False, True))
    assert apart.value == together.value == pytest.approx(0.4)
    assert (apart.n, together.n) == (100, 50)
    # Each question has a mean over both lengths in [0, 1], which varies no more than right and wrong.
    assert width(together) == pytest.approx(2 * 1.96 * math.sqrt(0.4 * 0.6 / 50), rel=0.06)
    assert width(apart) == pytest.approx(1.96 * math.sqrt((0.2 * 0.8 + 0.6 * 0.4) / 50), rel=0.06)


def test_without_one_n_there_is_no_interval() -> None:
    found = average({"a": printed(0.5, 10), "b": printed(0.7, None)}, {"a": 0.5, "b": 0.5}, "m")
    assert (found.value, found.interval, found.n, found.bound) == (0.6, None, None, False)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_a_mean_lies_among_its_parts(values: list[float]) -> None:
    found = combined([Estimate(value, n=1) for value in values], [1 / len(values)] * len(values))
    assert min(values) - 1e-12 <= found.value <= max(values) + 1e-12
    assert found.n == len(values)


def test_the_other_mean_is_over_the_same_parts_and_none_without_one() -> None:
    answered = Estimate(0.5, ended=OutcomeCounts(10, 2), other=0.625)
    found = combined([answered, Estimate(0.1)], [0.5, 0.5])
    assert [found.value, found.other] == pytest.approx([0.3, 0.3625])
    assert found.ended == OutcomeCounts(10, 2)
    assert combined([replace(answered, other=None), Estimate(0.1)], [0.5, 0.5]).other is None


def tasks_of(board: Board, entry: Entry) -> dict[str, float]:
    return {task: one.score.value for task, one in standing(board, entry).tasks.items()}


# ------------------------------------------------------------------------------------- tasks and their lengths


def test_a_cell_over_all_lengths_goes_before_the_mean_over_lengths() -> None:
    at: dict[Cell, Estimate | None] = {("a", 1024): Estimate(0.2), ("a", 2048): Estimate(0.6)}
    assert tasks_of(TWO, line(at))["a"] == pytest.approx(0.4)
    assert tasks_of(TWO, line(at | {("a", 0): Estimate(0.35)}))["a"] == 0.35
    assert "a" not in tasks_of(TWO, line(at | {("a", 0): None}))


def test_only_lengths_that_count_make_a_score_and_all_of_them() -> None:
    board = replace(TWO, counted={"a": (1024, 2048)})
    at: dict[Cell, Estimate | None] = {("a", 1024): Estimate(0.2), ("a", 4096): Estimate(1.0)}
    assert tasks_of(board, line(at)) == {}
    assert "a" in standing(board, line(at)).missing
    assert tasks_of(board, line(at | {("a", 2048): Estimate(0.4)}))["a"] == pytest.approx(0.3)
    assert tasks_of(board, line(at | {("a", 2048): None})) == {}


# -------------------------------------------------------------------------------------- categories, the whole


def test_parts_count_alike_whatever_their_numbers() -> None:
    found = standing(TWO, line(SCORES))
    assert value(found.categories["find"]) == pytest.approx((0.3 + 0.9) / 2)
    assert value(found.overall) == pytest.approx((0.6 + 0.1) / 2)
    assert found.overall is not None
    assert found.weights == {"a": 1 / 8, "b": 1 / 8, "c": 1 / 4, "d": 1 / 2}
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
    with pytest.raises(FathomError, match="board two: all questions have equal weight"):
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
    if board.suites:  # others have published scores alone, also of tasks that are not here
        assert set(board.tasks) <= known & set(tasks())
    assert {*board.counted, *board.paired, *board.length_tasks} <= set(board.tasks)
    assert list(board.lengths) == sorted(set(board.lengths))
    ids = [category.id for category in board.categories]
    assert len(set(ids)) == len(ids)
    in_parts = [task for category in board.categories for part in category.parts for task in part.tasks]
    assert sorted(in_parts) == sorted(board.tasks), "a task stands in one part only"
    assert board.url.startswith("https://")
    assert all((board.title, board.about, board.rule, board.licence, board.citation))


def test_the_boards_of_papers_but_leader_32k_hold_all_tasks_of_their_suites() -> None:
    for board in BOARDS:
        if board is not LEADER_32K and board.order < get_board("nolima").order:
            assert set(board.tasks) == {task for suite in board.suites for task in get_suite(suite).tasks}


def test_the_32k_set_is_the_first_half_of_the_whole() -> None:
    halves = {part.title: part.tasks for category in LEADER_128K.categories for part in category.parts[:1]}
    assert set(halves) == {"up to 32k", "32k to 128k"}
    first = [
        task
        for category in LEADER_128K.categories
        for part in category.parts
        if part.title == "up to 32k"
        for task in part.tasks
    ]
    assert tuple(first) == LEADER_32K.tasks


def test_an_unknown_board_is_refused() -> None:
    with pytest.raises(FathomError, match="unknown board 'leader'; did you mean leader-"):
        get_board("leader")
