"""What is said of lines that cannot simply be compared: asked less than the whole, or graded in another way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fathom.benchmarks.leader.suite import GRIDS
from fathom.benchmarks.pro.secondary_tasks import LENGTHS
from fathom.board.caveats import graded_otherwise, whole
from fathom.board.measured import measured
from fathom.board.model import Entry
from fathom.board.published import published
from fathom.board.results import Batch
from fathom.board.standing import standing
from fathom.rows import to_frame
from fathom.rows.table import RowsTable
from fathom.suites.registry import boards, get_board
from fathom.types import Row
from fathom.types.boards import Board
from made_results_board import row

ADA = get_board("ada")
BOARDS = tuple(boards().values())
LEADER_32K = get_board("leader-32k")
LEADER_128K = get_board("leader-128k")
MINI = get_board("mini")
PRO = get_board("pro")

NEEDLE = "leader_needle_short"


def lines(rows: list[Row]) -> dict[str, Entry]:
    """The only line on each board that rows make."""
    found = measured(BOARDS, Batch(RowsTable(to_frame(rows)))).entries
    return {board: entry for board, (entry,) in found.items()}


def leader(board: Board, items: int | None = None, **more: object) -> list[Row]:
    """All tasks of a board at all their lengths; published questions at one length each."""
    rows = []
    for task in board.tasks:
        grid = GRIDS[task]
        moved = any(name in task for name in ("passkey", "needle", "bestchoice", "dialogre", "fewnerd"))
        for n in range(min(items or grid.items, grid.items)):
            for length in grid.lengths if moved else (grid.lengths[-1 - n % len(grid.lengths)],):
                rows.append(row(task, f"{task}/{n}", float(n % 2), length, suite="leader", **more))
    return rows


# --------------------------------------------------------------------------------------------- where runs land


@pytest.mark.slow
def test_a_run_of_the_32k_set_is_complete_on_its_board_and_not_on_the_other() -> None:
    found = lines(leader(LEADER_32K, items=20))
    assert found.keys() == {"leader-32k", "leader-128k"}
    assert standing(LEADER_32K, found["leader-32k"]).complete
    beyond = {task for task in LEADER_128K.tasks if task not in LEADER_32K.tasks}
    assert set(standing(LEADER_128K, found["leader-128k"]).missing) == beyond


@pytest.mark.slow
def test_a_run_of_all_of_leader_is_complete_on_both_boards() -> None:
    found = lines(leader(LEADER_128K, items=3))
    assert all(standing(board, found[board.id]).complete for board in (LEADER_32K, LEADER_128K))


def test_the_first_rounds_of_examples_alone_are_no_whole_score() -> None:
    for task in ("leader_dialogre", "leader_fewnerd"):
        rows = [each for each in leader(LEADER_32K, items=3) if each.task == task]
        short = [each for each in rows if each.length <= 10_000]
        whole, part = lines(rows)["leader-32k"], lines(short)["leader-32k"]
        assert (whole.partial, part.partial) == ((), (task,))
        assert task not in standing(LEADER_32K, whole).missing
        assert task in standing(LEADER_32K, part).missing


def pro(lengths: tuple[int, ...], items: int = 60) -> list[Row]:
    return [
        row(task, f"{task}/{n}", float(n % 2), lengths[n % len(lengths)], suite="pro")
        for task in PRO.tasks
        for n in range(items)
    ]


@pytest.mark.slow
def test_pro_at_some_of_its_lengths_is_not_complete() -> None:
    lengths = tuple(LENGTHS.values())
    assert standing(PRO, lines(pro(lengths))["pro"]).complete
    assert standing(PRO, lines(pro(lengths[:4]))["pro"]).missing == PRO.tasks


@pytest.mark.slow
def test_a_run_on_the_authors_files_is_marked_and_not_complete() -> None:
    rows = [
        replace(each, facets={**each.facets, "form": "authors"}) if each.task == "leader_hotpotqa" else each
        for each in leader(LEADER_32K, items=3)
    ]
    entry = lines(rows)["leader-32k"]
    found = standing(LEADER_32K, entry)
    assert (found.complete, found.missing, found.substituted) == (False, (), ("leader_hotpotqa",))
    assert found.overall is not None
    assert entry.origin.note.startswith(
        "Not the data of the benchmark, so that scores are not comparable: HotpotQA (made from the authors' files, "
        "without LongBench's records: about 1,700 tokens instead of 15,300)."
    )


# ------------------------------------------------------------------------------------------------ asked less


@pytest.mark.slow
def test_the_sizes_of_tasks_are_those_of_the_published_scores() -> None:
    sizes = {task: whole(PRO, task) for task in PRO.tasks}
    assert sum(size or 0 for size in sizes.values()) == 1500
    assert sum(whole(MINI, task) or 0 for task in MINI.tasks) == 237
    assert whole(ADA, "tsort") == 100
    # LongLeader counts samples; a task whose items stand at one length has as many.
    entry = next(one for one in published()["leader-128k"] if one.model == "Claude-3-Sonnet")
    beyond = ("en_qa", "en_mc", "en_sum", "code_debug", "math_find")
    for task in (f"leader_{name}" for name in ("kv_short", "kv_long", "musique", "qmsum", *beyond)):
        cell = entry.cells[task, 0]
        assert cell is not None
        assert whole(LEADER_128K, task) == cell.n, task


def test_a_line_of_few_items_says_so() -> None:
    note = lines(leader(LEADER_32K, items=2))["leader-32k"].origin.note
    assert "Scores over fewer items than the benchmark has: Passkey 5 (32k) 2 of 10, Passkey 100 (32k) 2 of 10" in note
    assert f"and {len(LEADER_32K.tasks) - 3} more" in note


@pytest.mark.slow
def test_a_line_of_all_items_says_nothing() -> None:
    assert lines(pro(tuple(LENGTHS.values())))["pro"].origin.note.startswith("Scored by rule, without a judge")
    assert "fewer" not in lines(pro(tuple(LENGTHS.values())))["pro"].origin.note
    assert "fewer" in lines(pro(tuple(LENGTHS.values()), items=54))["pro"].origin.note


# -------------------------------------------------------------------------------------------- graded otherwise

JUDGED = "judge someone/opus (rating v1)"


def needle(model: str, **more: object) -> list[Row]:
    return [row(NEEDLE, f"n/{n}", 1.0, 2000, suite="leader", model=model, **more) for n in range(2)]


def entries(*rows: list[Row]) -> list[Entry]:
    return measured([LEADER_32K], Batch(RowsTable(to_frame([one for own in rows for one in own])))).entries[
        "leader-32k"
    ]


def test_a_line_says_who_judged_it() -> None:
    judged, ruled = entries(needle("a", grader=JUDGED), needle("b", grader="token F1"))
    assert "Scored by judge someone/opus (rating v1): Needle (32k)." in judged.origin.note
    assert "Scored by rule, without a judge: Needle (32k)." in ruled.origin.note


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"grader": "token F1"}, "no judge"),
        ({"grader": "judge someone/else (rating v1)"}, "by judge someone/else (rating v1)"),
        ({"grader": JUDGED, "rule": "official"}, "rule official"),
        ({"grader": JUDGED, "task_version": 2}, "task version 2"),
    ],
)
def test_lines_that_are_graded_in_different_ways_are_said(other: dict[str, object], said: str) -> None:
    (sentence,) = graded_otherwise(LEADER_32K, entries(needle("a", grader=JUDGED), needle("b", **other)))
    assert sentence.startswith("Graded differently in some entries: Needle (32k) (")
    assert said in sentence
    assert "by judge someone/opus (rating v1)" in sentence


@pytest.mark.slow
def test_lines_that_are_graded_alike_are_not() -> None:
    alike = entries(needle("a", grader="token F1"), needle("b", grader="answer in full"))
    assert list(graded_otherwise(LEADER_32K, alike)) == []
    other = replace(alike[0], origin=replace(alike[0].origin, provenance="published"))
    assert list(graded_otherwise(LEADER_32K, [*published()["leader-32k"], other])) == []
