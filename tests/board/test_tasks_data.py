"""What the site says of tasks: the licence of their own data, and what a guess scores."""

from __future__ import annotations

from typing import Any

import pytest

from fathom.board.tasks_data import GENERATED, Levels, tasks_data
from fathom.documents.sources.registry import sources
from fathom.suites.registry import boards, tasks

BOARDS = tuple(boards().values())


@pytest.fixture(scope="module")
def told() -> Any:
    return tasks_data(BOARDS, {}, {})


def test_every_data_source_that_a_task_names_is_one() -> None:
    named = {name: task.data for name, task in tasks().items() if task.data}
    assert len(named) > 60
    assert not [(name, one) for name, data in named.items() for one in data if one not in sources()]


def test_a_task_has_the_licence_of_its_own_data(told: Any) -> None:
    known = sources()
    assert told["leader_en_qa"]["citation"] == known["infinitebench_longbook_qa_eng"].citation
    assert told["leader_en_qa"]["licence"] == (
        f"infinitebench_longbook_qa_eng: {known['infinitebench_longbook_qa_eng'].licence}"
    )
    assert {one["name"] for one in told["leader_dialogre"]["data"]} == {"dialogre", "longicl_dialogre"}
    assert told["longbench_repobench-p"]["data"][0]["name"] == "longbench_repobench_p"
    assert told["leader_kv_long"]["licence"] == GENERATED


def test_chance_is_what_the_papers_say_until_it_was_measured(told: Any) -> None:
    assert told["tsort"]["chance"] == pytest.approx(0.042, abs=0.0005)
    assert told["leader_en_mc"]["chance"] == told["leader_code_debug"]["chance"] == 0.25
    assert told["leader_bestchoice"]["chance"] == told["bestanswer"]["chance"]
    assert told["leader_musique"]["chance"] is None
    measured: Any = tasks_data(BOARDS, {"leader_en_mc": Levels(chance=0.3, closed_book=0.4)}, {})
    assert (measured["leader_en_mc"]["chance"], measured["leader_en_mc"]["closedBook"]) == (0.3, 0.4)
