"""Ranks: the test behind them, pairing, groups, and whether ranges hold the true rank."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from fathom.board.model import Entry, Estimate, Origin
from fathom.board.ranks import Ranking, ranking, weights
from fathom.board.standing import standing
from fathom.registry import boards
from fathom.types.boards import Board
from made_results_board import BOARD, QUESTIONS, TASKS, made_entry

BOARDS = tuple(boards().values())

Floats = NDArray[np.float64]


def places(found: Ranking) -> dict[int, tuple[int, int, int]]:
    """Best rank, worst rank and tie group by the place of the line among the entries."""
    ranks = found.ranks
    return dict(
        zip(
            found.lines, zip(ranks.best.tolist(), ranks.worst.tolist(), ranks.groups.tolist(), strict=True), strict=True
        )
    )


def ranked(entries: list[Entry], board: Board = BOARD) -> Ranking:
    return ranking(board, entries, [standing(board, entry) for entry in entries])


def printed(value: float, error: float | None, model: str = "m") -> Entry:
    cells = {(task, 0): Estimate(value, error, 100, bound=True) for task in BOARD.tasks}
    return Entry(model, "", Origin("published", "a paper"), cells)


def abilities(scores: Mapping[str, float], items: int, rng: np.random.Generator, binary: bool = False) -> list[Entry]:
    """Lines of models with these true scores, asked the same questions, some of which are harder."""
    hard = {task: rng.uniform(-0.25, 0.25, items) for task in TASKS}
    lines = []
    for model, score in scores.items():
        chances = {task: score + hard[task] for task in TASKS}
        answers = {
            task: (rng.random(items) < own).astype(float) if binary else own + rng.uniform(-0.05, 0.05, items)
            for task, own in chances.items()
        }
        lines.append(made_entry(answers, model))
    return lines


# ---------------------------------------------------------------------------------------------------- tests


def holm(p: list[float], hypotheses: int, level: float = 0.95) -> set[int]:
    """Holm's procedure as it is told: the smallest first, until one is not small enough."""
    rejected: set[int] = set()
    for step, place in enumerate(sorted(range(len(p)), key=lambda n: p[n])):
        if p[place] > (1 - level) / (hypotheses - step):
            break
        rejected.add(place)
    return rejected


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.001, 0.2)), min_size=2, max_size=9))
def test_each_line_is_tested_against_all_others_by_holm(lines: list[tuple[float, float]]) -> None:
    found = ranked([printed(value, error, f"m{n}") for n, (value, error) in enumerate(lines)])
    spread = [standing(BOARD, printed(*lines[place])).overall for place in found.lines]
    for here, own in enumerate(spread):
        others = [n for n in range(len(lines)) if n != here]
        p = []
        for other in others:
            one = spread[other]
            assert own is not None
            assert one is not None
            distance = abs(own.value - one.value) / np.hypot(own.error or 0, one.error or 0)
            p.append(float(norm.sf(distance)))
        sure = {others[n] for n in holm(p, 2 * len(others))}
        assert set(np.flatnonzero(found.ranks.significant[here])) == sure
        assert found.ranks.best[here] == 1 + sum(found.differences[here, other] < 0 for other in sure)
        assert found.ranks.worst[here] == len(lines) - sum(found.differences[here, other] > 0 for other in sure)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.001, 0.2)), min_size=1, max_size=9))
def test_places_lie_in_their_ranges_and_groups_go_on(lines: list[tuple[float, float]]) -> None:
    found = ranked([printed(value, error, f"m{n}") for n, (value, error) in enumerate(lines)])
    places = np.arange(1, len(lines) + 1)
    assert (found.ranks.best <= places).all()
    assert (places <= found.ranks.worst).all()
    assert found.ranks.groups[0] == 1
    assert set(np.diff(found.ranks.groups)) <= {0, 1}
    for line, group in enumerate(found.ranks.groups):
        fellows = np.flatnonzero(found.ranks.groups[:line] == group)
        assert not found.ranks.significant[fellows, line].any()
        if not len(fellows) and line:
            before = np.flatnonzero(found.ranks.groups == group - 1)
            assert found.ranks.significant[before, line].any()


def test_a_line_that_is_hardly_known_holds_no_group_together() -> None:
    entries = [printed(0.9, 0.5, "hardly"), printed(0.8, 0.01, "high"), printed(0.2, 0.01, "low")]
    assert ranked(entries).ranks.groups.tolist() == [1, 1, 2]


def test_lines_without_an_error_or_without_a_task_have_no_rank() -> None:
    part = Entry("part", "", Origin("measured", "made"), {("find", 0): Estimate(0.9, 0.01, 100)})
    found = ranked([printed(0.5, 0.01), printed(0.6, None, "unsure"), part])
    assert places(found) == {0: (1, 1, 1)}


def test_no_lines_have_no_ranks() -> None:
    assert places(ranked([])) == {}


def test_clear_differences_are_ranked_and_equal_lines_are_tied() -> None:
    entries = [printed(0.2, 0.01, "low"), printed(0.9, 0.01, "high"), printed(0.2, 0.01, "low too")]
    assert places(ranked(entries)) == {1: (1, 1, 1), 0: (2, 3, 2), 2: (2, 3, 2)}


# -------------------------------------------------------------------------------------------------- pairing


@pytest.mark.parametrize("board", [BOARD, QUESTIONS], ids=lambda board: board.id)
def test_the_error_of_a_paired_difference_is_that_of_the_differences_of_questions(board: Board) -> None:
    rng = np.random.default_rng(1)
    sizes = {"find": 400, "count": 500, "order": 300}
    first = {task: rng.random(size) for task, size in sizes.items()}
    second = {task: np.clip(first[task] + rng.normal(0, 0.05, size), 0, 1) for task, size in sizes.items()}
    entries = [made_entry(first, "a", board=board), made_entry(second, "b", board=board)]
    found = ranked(entries, board)
    share = weights(board, entries[0])
    variance = sum((share[task] ** 2) * np.var(first[task] - second[task], ddof=1) / sizes[task] for task in sizes)
    assert found.paired[0, 1]
    # Errors of single lines are a little wider than the textbook's; what they have more does not cancel.
    assert np.sqrt(variance) < found.errors[0, 1] < 1.3 * np.sqrt(variance)
    apart = ranked([entries[0], made_entry(second, "b", names="other", board=board)], board)
    assert not apart.paired[0, 1]
    assert apart.errors[0, 1] > 5 * found.errors[0, 1]


def test_lines_that_share_some_questions_are_paired_over_these() -> None:
    rng = np.random.default_rng(2)
    scores = {task: rng.random(200) for task in TASKS}
    whole = made_entry(scores, "whole")
    half = made_entry({task: own[:100] for task, own in scores.items()}, "half")
    found = ranked([whole, half])
    errors = [one.overall.error or 0.0 for one in (standing(BOARD, whole), standing(BOARD, half)) if one.overall]
    independent = math.hypot(*errors)
    assert found.paired[0, 1]
    # Of the variance of the half, what it has in common with the whole is half of the whole's.
    assert found.errors[0, 1] == pytest.approx(independent / math.sqrt(3), rel=0.05)


@pytest.mark.parametrize("board", [*BOARDS, BOARD, QUESTIONS], ids=lambda board: board.id)
def test_weights_of_tasks_make_the_overall_score(board: Board) -> None:
    rng = np.random.default_rng(3)
    entry = made_entry({task: rng.random(rng.integers(5, 50)) for task in board.tasks}, board=board)
    share = weights(board, entry)
    whole = standing(board, entry)
    assert whole.complete
    assert whole.overall is not None
    assert sum(share.values()) == pytest.approx(1)
    assert sum(share[task] * one.scores.mean() for task, one in entry.items.items()) == pytest.approx(
        whole.overall.value
    )


# ------------------------------------------------------------------------------------------------- coverage


@pytest.mark.slow
@pytest.mark.parametrize("binary", [True, False], ids=["right or wrong", "graded"])
@pytest.mark.parametrize("items", [20, 80])
def test_ranges_hold_the_true_ranks(items: int, binary: bool) -> None:
    """True scores in steps from clearly apart to equal; a line's range must hold each rank that it shares."""
    true = dict(zip("abcdefghij", (0.7, 0.65, 0.62, 0.6, 0.6, 0.6, 0.58, 0.5, 0.49, 0.3), strict=True))
    values = np.array(list(true.values()))
    best, worst = 1 + (values[None, :] > values[:, None]).sum(1), (values[None, :] >= values[:, None]).sum(1)
    rng = np.random.default_rng(items)
    held = np.zeros(len(true))
    width = []
    for _ in range(400):
        found = places(ranked(abilities(true, items, rng, binary)))
        low, high = np.array([found[place][:2] for place in range(len(true))]).T
        held += (low <= best) & (worst <= high)
        width.append(high - low)
    assert (held / 400 >= 0.95).all()
    assert np.mean(width) < (8 if binary else 5)  # ranges that say nothing would hold everything


@pytest.mark.slow
def test_equal_models_are_mostly_all_tied() -> None:
    rng = np.random.default_rng(4)
    tied = []
    for _ in range(400):
        found = ranked(abilities(dict.fromkeys("abcdefgh", 0.5), 40, rng))
        tied.append((found.ranks.best == 1).all() and (found.ranks.worst == 8).all())
    assert np.mean(tied) >= 0.8
