"""Names of tasks for people."""

from __future__ import annotations

import re

import pytest

from fathom.suites.registry import boards, task_title
from fathom.types.boards import Board

BOARDS = tuple(boards().values())

TITLES = {
    "leader_passkey_1000_long": "Passkey 1000 (128k)",
    "leader_kv_short": "Retrieve.KV (32k)",
    "leader_needle_long": "Needle (128k)",
    "leader_narrativeqa": "NarrativeQA",
    "leader_en_qa": "En.QA",
    "leader_dialogre": "Dialog-RE",
    "longbench_narrativeqa": "NarrativeQA",
    "longbench_passage_retrieval_zh": "PassageRetrieval-zh",
    "longbench_repobench-p": "RepoBench-P",
    "passage_retrieval": "Passage retrieval",
    "kv_retrieval": "KV retrieval",
    "single_doc_qa": "Single-doc QA",
    "tsort": "TSort",
    "pro_t3_2": "T3.2 Single-Hop Fact QA",
    "someones_own_task": "Someones own task",
}


@pytest.mark.parametrize(("task", "title"), TITLES.items(), ids=TITLES.keys())
def test_tasks_are_called_as_their_publishers_call_them(task: str, title: str) -> None:
    assert task_title(task) == title


@pytest.mark.parametrize("board", BOARDS, ids=[board.id for board in BOARDS])
def test_titles_of_a_board_are_different_and_fit_to_read(board: Board) -> None:
    titles = [task_title(task) for task in board.tasks]
    assert len(set(titles)) == len(titles)
    assert all(re.fullmatch(r"[A-Z0-9][^_]*", title) for title in titles)
