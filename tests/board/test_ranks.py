"""Differences and ranks: the test behind them, pairing, groups, and whether ranges hold the true rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fathom.board.differences import OVERALL, Ranking, ranking
from fathom.board.means import bounded
from fathom.board.model import Cell, Entry, Estimate, Origin
from fathom.board.standing import standing
from fathom.stats.intervals import kept_draws
from fathom.suites.registry import boards
from fathom.types.boards import Board
from made_results_board import BOARD, QUESTIONS, TASKS, made_entry

BOARDS = tuple(boards().values())


@pytest.fixture(autouse=True)
def kept_weights() -> Iterator[None]:
    """Each test keeps weights of its own: those of many sizes would leave no room for tests that use the same often."""
    with kept_draws():
        yield


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
    with kept_draws():  # as a site is built
        return ranking(board, entries, [standing(board, entry) for entry in entries])


def printed(value: float, n: int | None, model: str = "m") -> Entry:
    """A published line with this score on every task."""
    origin = Origin("published", "a paper")
    cells: dict[Cell, Estimate | None] = {(task, 0): bounded(Estimate(value, n=n), task, model) for task in BOARD.tasks}
    return Entry(model, "", origin, cells)


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


LINES = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 900)), min_size=1, max_size=6)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(LINES)
def test_one_threshold_for_all_differences_makes_the_ranks(lines: list[tuple[float, int]]) -> None:
    found = ranked([printed(value, n, f"m{place}") for place, (value, n) in enumerate(lines)])
    place = {line: rank for rank, line in enumerate(found.lines)}
    higher: dict[int, set[int]] = {rank: set() for rank in range(len(lines))}
    lower: dict[int, set[int]] = {rank: set() for rank in range(len(lines))}
    for (one, other), difference in found.between[OVERALL].items():
        gap = lines[one][0] - lines[other][0]
        assert difference.gap.difference == pytest.approx(gap)
        if found.ranks.significant[place[one], place[other]]:
            better, worse = (one, other) if gap > 0 else (other, one)
            assert difference.gap.p_value < 0.05  # in a test of all fewer are significant
            higher[place[worse]].add(place[better])
            lower[place[better]].add(place[worse])
    for rank in range(len(lines)):
        assert set(np.flatnonzero(found.ranks.significant[rank])) == higher[rank] | lower[rank]
        assert found.ranks.best[rank] == 1 + len(higher[rank])
        assert found.ranks.worst[rank] == len(lines) - len(lower[rank])
    assert (found.ranks.significant == found.ranks.significant.T).all()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(LINES)
def test_places_lie_in_their_ranges_and_groups_go_on(lines: list[tuple[float, int]]) -> None:
    found = ranked([printed(value, n, f"m{place}") for place, (value, n) in enumerate(lines)])
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
    entries = [printed(0.9, 1, "hardly"), printed(0.8, 800, "high"), printed(0.2, 800, "low")]
    assert ranked(entries).ranks.groups.tolist() == [1, 1, 2]


def test_lines_without_an_error_or_without_a_task_have_no_rank() -> None:
    part = Entry("part", "", Origin("measured", "made"), {("find", 0): Estimate(0.9, n=100)})
    found = ranked([printed(0.5, 800), printed(0.6, None, "unsure"), part])
    assert places(found) == {0: (1, 1, 1)}


def test_two_results_of_one_model_are_two_draws() -> None:
    entries = [printed(0.5, 50), printed(0.5, 50), made_entry({task: np.tile([0.0, 1.0], 25) for task in TASKS})]
    for difference in ranked([*entries, entries[-1]]).between[OVERALL].values():
        assert difference.gap.interval.high > 0.01


def test_no_lines_have_no_ranks() -> None:
    assert places(ranked([])) == {}


def test_clear_differences_are_ranked_and_equal_lines_are_tied() -> None:
    entries = [printed(0.2, 800, "low"), printed(0.9, 800, "high"), printed(0.2, 800, "low too")]
    assert places(ranked(entries)) == {1: (1, 1, 1), 0: (2, 3, 2), 2: (2, 3, 2)}


# -------------------------------------------------------------------------------------------------- pairing


def error_of(found: Ranking) -> float:
    """The standard error of the only difference of the overall scores."""
    (difference,) = found.between[OVERALL].values()
    return (difference.gap.interval.high - difference.gap.interval.low) / 2 / 1.96


@pytest.mark.slow
@pytest.mark.parametrize("board", [BOARD, QUESTIONS], ids=lambda board: board.id)
def test_the_error_of_a_paired_difference_is_that_of_the_differences_of_questions(board: Board) -> None:
    rng = np.random.default_rng(1)
    sizes = {"find": 200, "count": 250, "order": 150}
    first = {task: rng.random(size) for task, size in sizes.items()}
    second = {task: np.clip(first[task] + rng.normal(0, 0.05, size), 0, 1) for task, size in sizes.items()}
    entries = [made_entry(first, "a", board=board), made_entry(second, "b", board=board)]
    found = ranked(entries, board)
    share = standing(board, entries[0]).weights
    variance = sum((share[task] ** 2) * np.var(first[task] - second[task], ddof=1) / sizes[task] for task in sizes)
    # The pseudo-items of the two scores add to what the questions say.
    assert np.sqrt(variance) < error_of(found) < 1.3 * np.sqrt(variance)
    assert found.between[OVERALL][0, 1].shared == 600
    apart = ranked([entries[0], made_entry(second, "b", names="other", board=board)], board)
    assert apart.between[OVERALL][0, 1].shared == 0
    assert error_of(apart) > 5 * error_of(found)


@pytest.mark.slow
def test_lines_that_share_some_questions_are_compared_on_these() -> None:
    rng = np.random.default_rng(2)
    scores = {task: rng.random(80) for task in TASKS}
    easier = {task: np.clip(own + rng.normal(0.1, 0.1, 80), 0, 1) for task, own in scores.items()}
    whole, shared = made_entry(easier, "whole"), {task: own[:40] for task, own in scores.items()}
    half = made_entry(shared, "half")
    found, both = ranked([whole, half]), ranked([made_entry({t: own[:40] for t, own in easier.items()}, "a"), half])
    assert {task: one[0, 1].shared for task, one in found.between.items()} == {OVERALL: 120} | dict.fromkeys(TASKS, 40)
    for name, pairs in found.between.items():
        assert pairs[0, 1] == both.between[name][0, 1]
    assert found.between[OVERALL][0, 1].gap.difference != pytest.approx(
        standing(BOARD, whole).overall.value - standing(BOARD, half).overall.value  # type: ignore[union-attr]
    )


@pytest.mark.slow
@pytest.mark.parametrize("board", [*BOARDS, BOARD, QUESTIONS], ids=lambda board: board.id)
def test_weights_of_tasks_make_the_overall_score(board: Board) -> None:
    rng = np.random.default_rng(3)
    entry = made_entry({task: rng.random(rng.integers(5, 50)) for task in board.tasks}, board=board)
    whole = standing(board, entry)
    share = whole.weights
    assert whole.complete
    assert whole.overall is not None
    assert sum(share.values()) == pytest.approx(1)
    mean = sum(share[task] * one.scores.mean() for (task, _), one in entry.items.items())
    assert mean == pytest.approx(whole.overall.value)


# ------------------------------------------------------------------------------------------------- coverage

ROUNDS = 10


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("items", "binary", "rounds"), [(20, True, ROUNDS), (80, False, 3)], ids=["few right or wrong", "many graded"]
)
def test_ranges_hold_the_true_ranks(items: int, binary: bool, rounds: int) -> None:
    """True scores in steps from clearly apart to equal; a line's range must hold each rank that it shares."""
    true = dict(zip("abcdefghij", (0.7, 0.65, 0.62, 0.6, 0.6, 0.6, 0.58, 0.5, 0.49, 0.3), strict=True))
    values = np.array(list(true.values()))
    best, worst = 1 + (values[None, :] > values[:, None]).sum(1), (values[None, :] >= values[:, None]).sum(1)
    rng = np.random.default_rng(items)
    missed, width = 0, []
    for _ in range(rounds):
        found = places(ranked(abilities(true, items, rng, binary)))
        low, high = np.array([found[place][:2] for place in range(len(true))]).T
        missed += not ((low <= best) & (worst <= high)).all()
        width.append(high - low)
    assert missed <= max(1, rounds // 10)  # half of one of ten is expected at most
    assert np.mean(width) < (8 if binary else 5)  # ranges that say nothing would hold everything


@pytest.mark.slow
@pytest.mark.long
def test_equal_models_are_mostly_all_tied() -> None:
    rng = np.random.default_rng(4)
    tied = []
    for _ in range(ROUNDS):
        found = ranked(abilities(dict.fromkeys("abcdefgh", 0.5), 40, rng))
        tied.append((found.ranks.best == 1).all() and (found.ranks.worst == 8).all())
    assert np.mean(tied) >= 0.9
