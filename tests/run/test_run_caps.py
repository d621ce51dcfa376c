"""Output caps that are part of a task, and the cap of a second request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from run_suites import make_suite
from scripted_server import Act, ScriptedServer, completion

from engine_calls import run
from fathom.models.request_mode import RequestMode, ended
from fathom.run import Preflight, StoredReply, replies
from fathom.suites.registry import get_task
from fathom.types import Reply, Sample, Task

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

PASSKEY = get_task("passkey")
OWN, LAST = 20, 7


def again(reply: str, sample: Sample) -> str:
    return f"[sample {100 + int(sample.item.removeprefix('item'))}] You said: {reply}. So?"


TASKS: Mapping[str, Task] = {
    "passkey": PASSKEY,
    "short": replace(PASSKEY, name="short", max_output_tokens=OWN, capped=True),
    "choice": replace(
        PASSKEY, name="choice", max_output_tokens=OWN, capped=True, follow_up=again, follow_up_tokens=LAST
    ),
}


@pytest.fixture(autouse=True)
def _tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.models.request_mode.tasks", lambda: TASKS)
    monkeypatch.setattr("fathom.run.runner.task_cap", lambda task: TASKS[task].max_output_tokens)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def go(suite: Path, server: ScriptedServer, out: Path, **options: object) -> None:
    options |= {"model_base_url": server.base_url, "backoff": 0.002}
    run(suite, "openai/scripted", out=out, **options)


def by_number(out: Path) -> dict[int, StoredReply]:
    return {int(row.item.removeprefix("item")): row for row in replies(out)}


@pytest.mark.parametrize(
    ("options", "statuses"),
    [
        ({}, ["incomplete", "ok"]),
        ({"max_output_tokens": OWN}, ["incomplete", "ok"]),
        # Another cap is not the task's.
        ({"max_output_tokens": OWN + 1}, ["incomplete", "incomplete"]),
        ({"max_output_tokens": OWN - 1}, ["incomplete", "incomplete"]),
        # With room for thoughts, it is not the task's either.
        ({"reasoning_tokens": 100}, ["incomplete", "incomplete"]),
        ({"reasoning_effort": "none"}, ["incomplete", "ok"]),
    ],
)
def test_a_reply_that_reaches_the_cap_of_a_capped_task_is_whole(
    tmp_path: Path, server: ScriptedServer, options: dict[str, object], statuses: list[str]
) -> None:
    server.script = lambda number, before: completion("at nine, or", finish="length")
    go(make_suite(tmp_path, 2, tasks=("passkey", "short")), server, tmp_path / "run", **options)
    rows = by_number(tmp_path / "run")
    assert [rows[number].reply.status for number in (0, 1)] == statuses
    assert {(row.reply.text, row.reply.stop) for row in rows.values()} == {("at nine, or", "max_tokens")}
    assert (rows[1].reply.error == "") == (statuses[1] == "ok")


@pytest.mark.parametrize(
    "act",
    [
        completion("<think>The ferry", finish="length"),
        completion("<think>The ferry</think>at nine, or", finish="length"),
        completion("at nine <think>or", finish="length"),
        completion("at nine, or", reasoning="The ferry", finish="length"),
        completion(None, reasoning="The ferry", finish="length"),
        # It may have thought where nobody sees it.
        completion("", finish="length"),
    ],
)
def test_thoughts_take_of_the_cap(tmp_path: Path, server: ScriptedServer, act: Act) -> None:
    server.script = lambda number, before: act
    go(make_suite(tmp_path, 1, tasks=("short",)), server, tmp_path / "run")
    reply = by_number(tmp_path / "run")[0].reply
    assert reply.status == "incomplete"
    assert "stopped at the output cap" in reply.error


def test_thoughts_that_are_only_counted_take_of_the_cap_too() -> None:
    cut = Reply("incomplete", "nine", stop="max_tokens", error="stopped")
    assert ended(replace(cut, tokens_reasoning=0), RequestMode(capped=True)).status == "ok"
    assert ended(replace(cut, tokens_reasoning=3), RequestMode(capped=True)) == replace(cut, tokens_reasoning=3)
    assert ended(replace(cut, stop="stop"), RequestMode(capped=True)).status == "incomplete"


def test_the_second_request_has_a_cap_of_its_own_and_follows_a_capped_first_reply(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script = lambda number, before: completion("It leaves" if number < 100 else "nine, or", finish="length")
    shown: list[Preflight] = []

    def confirm(preflight: Preflight) -> bool:
        shown.append(preflight)
        return True

    suite = make_suite(tmp_path, 2, tasks=("choice",))
    go(suite, server, tmp_path / "run", confirm=confirm)
    asked = zip(server.texts, server.requests, strict=True)
    assert sorted(("You said" in text, request["max_tokens"]) for text, request in asked) == [
        *[(False, OWN)] * 2,
        *[(True, LAST)] * 2,
    ]
    assert shown[0].tokens_out == 2 * (OWN + LAST)
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.status, reply.text, reply.reasoning) == ("ok", "nine, or", "It leaves")


@pytest.mark.parametrize(
    ("options", "caps"),
    [({"max_output_tokens": OWN}, [OWN, OWN]), ({"reasoning_tokens": 100}, [OWN + 100, LAST + 100])],
)
def test_caps_of_the_user_and_room_for_thoughts_are_those_of_both_requests(
    tmp_path: Path, server: ScriptedServer, options: dict[str, object], caps: list[int]
) -> None:
    server.script = lambda number, before: (
        completion("It leaves") if number < 100 else completion("nine, or", finish="length")
    )
    go(make_suite(tmp_path, 1, tasks=("choice",)), server, tmp_path / "run", **options)
    assert [request["max_tokens"] for request in server.requests] == caps
    # One of the two caps is not the task's.
    assert by_number(tmp_path / "run")[0].reply.status == "incomplete"
