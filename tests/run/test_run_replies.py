"""No reply, header or number of a server stops a run or leaves a row that cannot be read."""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from fault_server import FAULTS, HUGE, NAMES, TAGS, Fault, Schedule, choice, well
from hypothesis import given
from hypothesis import strategies as st
from run_suites import make_suite
from scripted_server import Act, ScriptedServer, completion
from test_run_faults import by_number, go

from fathom.api import rows as table_of
from fathom.models.answers import MOST_CHARACTERS, Output, to_reply
from fathom.models.protocol import RequestError
from fathom.models.usage import MOST_TOKENS, count
from fathom.models.wire import check_response, normalized
from fathom.run import replies, status
from fathom.runfile.judgements import FILE as JUDGEMENTS
from fathom.runfile.judgements import JudgementStore, Spent, spent
from fathom.runfile.store import FILE
from fathom.score.dialects import split_reasoning
from fathom.types import Reply

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


# -------------------------------------------------------------------------------------------------- all faults at once


@pytest.mark.slow
def test_every_fault_ends_as_it_should(tmp_path: Path) -> None:
    faults = [FAULTS[name] for name in NAMES for _ in range(2)]
    with ScriptedServer(lambda number, before: _act(faults, number, before)) as server:
        suite = make_suite(tmp_path, 2 * len(faults))
        summary = go(suite, server, tmp_path / "run")
        rows = by_number(tmp_path / "run")
        names = [name for name in NAMES for _ in range(2)]
        for number, row in rows.items():
            fault = faults[number // 2] if number % 2 else None
            wanted = (fault.status, fault.text) if fault else ("ok", None)
            said = f"answer {number}" if wanted[1] is None else wanted[1]
            name = names[number // 2] if fault else "well"
            assert (name, row.reply.status, row.reply.text) == (name, wanted[0], said)
            assert bool(row.reply.error) == (row.reply.status != "ok")
        assert sorted(rows) == list(range(2 * len(faults)))
        assert summary.progress is not None
        assert summary.progress.finished == len(rows)
        assert status(tmp_path / "run") is not None


def _act(faults: list[Fault], number: int, before: int) -> Act:
    return faults[number // 2].act(number, before) if number % 2 and number >= 0 else well(number)


@pytest.mark.slow
def test_a_schedule_accounts_for_every_sample(tmp_path: Path) -> None:
    schedule = Schedule(seed=3, share=0.2)
    with ScriptedServer(schedule.script(), remembers=False) as server:
        go(make_suite(tmp_path, 120), server, tmp_path / "run")
    rows = by_number(tmp_path / "run")
    assert {number: (row.reply.status, row.reply.text) for number, row in rows.items()} == {
        number: schedule.expected(number) for number in range(120)
    }
    assert 10 < sum(schedule.fault(number) is not None for number in range(120)) < 40


# ---------------------------------------------------------------------------------------------------- counts of tokens

ODD: tuple[object, ...] = (10**30, 2**63, -1, 1.5, "12", None, True, [], {}, float("inf"))


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("template", ["always", "never"])
def test_a_count_that_cannot_be_is_unknown_and_the_reply_is_kept(tmp_path: Path, odd: object, template: str) -> None:
    usage = {"prompt_tokens": odd, "completion_tokens": 5, "total_tokens": odd}
    usage["prompt_tokens_details"] = {"cached_tokens": odd}
    usage["completion_tokens_details"] = {"reasoning_tokens": odd}
    body = {"choices": [{"text": "nine", "finish_reason": "stop"}], "usage": usage, "model": None}
    act = Act(body=body) if template == "never" else completion("nine", usage=usage, model=None)
    with ScriptedServer(lambda number, before: act) as server:
        go(make_suite(tmp_path, 2), server, tmp_path / "run", chat_template=template)
    for row in replies(tmp_path / "run"):
        reply = row.reply
        assert (reply.status, reply.text, reply.tokens_out, reply.attempts) == ("ok", "nine", 5, 1)
        assert (reply.tokens_in, reply.tokens_cached, reply.tokens_reasoning) == (None, None, None)


@pytest.mark.parametrize("usage", [None, [], "none", 7, {"prompt_tokens": {}}])
def test_usage_that_is_none_is_unknown(tmp_path: Path, server: ScriptedServer, usage: object) -> None:
    server.script = lambda number, before: completion("nine", usage=usage)
    go(make_suite(tmp_path, 1), server, tmp_path / "run")
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("nine", None, None)


@given(st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.booleans()))
def test_a_count_is_a_number_that_a_request_can_have(value: object) -> None:
    found = count(value)
    assert found is None or (type(found) is int and found == value and 0 <= found <= MOST_TOKENS)


@pytest.mark.slow
def test_folders_that_an_earlier_version_poisoned_are_read(tmp_path: Path, server: ScriptedServer) -> None:
    go(make_suite(tmp_path, 6), server, tmp_path / "run")
    odd = (2**62, -5, 12.5, "many", b"x", 2**63 - 1)
    with closing(sqlite3.connect(tmp_path / "run" / FILE)) as db, db:
        for number, value in enumerate(odd):
            query = "UPDATE replies SET tokens_in = ?, tokens_out = ?, tokens_cached = ?, cost = ? WHERE item = ?"
            db.execute(query, (value, value, value, -1.0, f"item{number}"))
        db.execute("PRAGMA user_version = 0")  # of a time before checksums
        db.execute("ALTER TABLE replies DROP COLUMN checksum")
    for row in replies(tmp_path / "run"):
        assert (row.reply.text, row.reply.tokens_in, row.reply.tokens_out) == (row.reply.text, None, None)
        assert (row.reply.tokens_cached, row.cost) == (None, None)
    assert len(table_of([tmp_path / "run"])) == 6
    state = status(tmp_path / "run")
    assert (state.finished, state.tokens_out, state.cost) == (6, 0, None)
    again = go(make_suite(tmp_path, 7, name="more", fingerprint="f00d"), server, tmp_path / "run")
    assert again.progress is not None


def test_judgements_that_an_earlier_version_poisoned_are_read(tmp_path: Path) -> None:
    store = JudgementStore(tmp_path, "judge")
    for number in range(4):
        store.keep(f"prompt{number}", 1, "step", Reply("ok", "yes", tokens_in=7, tokens_out=1), 0.5)
    store.close()
    with closing(sqlite3.connect(tmp_path / JUDGEMENTS)) as db, db:
        for number, value in enumerate((2**63 - 1, 2**63 - 1, "many")):
            query = "UPDATE said SET tokens_in = ?, tokens_out = ? WHERE prompt = ?"
            db.execute(query, (value, value, f"prompt{number}"))
        db.execute("PRAGMA user_version = 0")  # of a time before checksums
        for table in ("said", "judgements"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
    assert spent(tmp_path, "judge") == Spent(requests=4, tokens_in=7, tokens_out=1, paid=0.5, unpriced=3)
    store = JudgementStore(tmp_path, "judge")
    reply = store.reply_to("prompt0", 1)
    store.close()
    assert reply is not None
    assert (reply.text, reply.tokens_in) == ("yes", None)


# ----------------------------------------------------------------------------------- errors in replies with status 200


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ({"error": {"message": "overloaded", "code": 502}}, "busy", "overloaded"),
        ({"error": {"message": "Content Exists Risk"}, "choices": []}, "refused", "Risk"),
        ({"error": "down", "choices": [{"message": {"content": "hi"}}]}, "busy", "down"),
        ({"error": {"message": "no such key", "code": "401"}}, "denied", "no such key"),
        ({"object": "error", "message": "maximum context length is 8192", "code": 400}, "overflow", "8192"),
        ({"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}, "refused", "new"),
        ({"choices": None, "base_resp": {"status_code": 1000, "status_msg": "unknown"}}, "busy", "unknown"),
        ({"code": 500, "msg": "404 NOT_FOUND", "success": False}, "busy", "no choice"),
        ({"choices": [{"error": {"message": "upstream"}, "finish_reason": "stop"}]}, "busy", "upstream"),
        ({"choices": [{"finish_reason": "error", "message": {"content": "half"}}]}, "busy", "error"),
        ({"choices": [{"finish_reason": "network_error", "message": {"content": ""}}]}, "busy", "network"),
        ({"choices": [{"finish_reason": "odd", "message": {"content": None}}]}, "busy", "unknown reason"),
        ({"choices": [{"finish_reason": None, "message": {}}]}, "busy", "unknown reason"),
        ({"choices": [{"finish_reason": "stop", "message": None}]}, "busy", "no message"),
        ({"choices": [{"finish_reason": "stop"}]}, "busy", "no message"),
        ({"choices": [{"finish_reason": "stop", "message": {"content": 7}}]}, "busy", "not text"),
        ({"choices": ["nine"]}, "busy", "no choice"),
        ([], "busy", "no choice"),
        ("nine", "busy", "no choice"),
        (None, "busy", "no choice"),
        ({"choices": [{"finish_reason": "stop", "message": {"content": HUGE}}]}, "bad", "8,000,001 characters"),
        ({"choices": [{"finish_reason": "stop", "text": HUGE}]}, "bad", "8,000,001 characters"),
    ],
    ids=str,
)
def test_what_a_reply_with_status_200_says_that_is_none(body: object, kind: str, words: str) -> None:
    with pytest.raises(RequestError, match=words) as caught:
        normalized(body)
    assert caught.value.failure.kind == kind
    assert len(caught.value.failure.message) < 700


@pytest.mark.parametrize(
    ("parts", "status", "text"),
    [
        ({"finish_reason": "model_context_window_exceeded", "message": {"content": None}}, "overflow", ""),
        ({"finish_reason": "model_context_window_exceeded"}, "incomplete", "nine"),
        ({"finish_reason": "sensitive", "message": {"content": ""}}, "refused", ""),
        ({"finish_reason": "end_turn", "message": {"content": ""}}, "ok", ""),
        ({"finish_reason": "model_context_window_exceeded", "message": None}, "overflow", ""),
        ({"finish_reason": "content_filter", "message": None}, "refused", ""),
        ({"finish_reason": None}, "ok", "nine"),
        ({"finish_reason": "odd"}, "ok", "nine"),
        ({"message": {"content": [{"type": "text", "text": "ni"}, {"type": "text", "text": "ne"}]}}, "ok", "nine"),
        ({"message": {"content": "", "tool_calls": [{"oddly": 1}]}, "finish_reason": "tool_calls"}, "ok", ""),
        ({"message": {"content": "No.", "refusal": "I cannot"}}, "refused", "I cannot"),
    ],
    ids=str,
)
def test_other_ways_to_stop(
    tmp_path: Path, server: ScriptedServer, parts: dict[str, object], status: str, text: str
) -> None:
    server.script = lambda number, before: choice(**parts)
    go(make_suite(tmp_path, 1), server, tmp_path / "run", retries=0)
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.status, reply.text) == (status, text)


def test_an_output_that_says_nothing_for_an_unknown_reason_is_an_error() -> None:
    assert to_reply(Output("", stop="unknown")).status == "error"
    assert to_reply(Output("nine", stop="unknown")).status == "ok"
    assert to_reply(Output("", stop="stop")).status == "ok"
    assert to_reply(Output("", reasoning="so", stop="unknown")).status == "incomplete"


def test_errors_in_continuations_are_tried_again(tmp_path: Path, server: ScriptedServer) -> None:
    bad = Act(body={"choices": [{"text": "half", "finish_reason": "abort"}]})
    good = Act(body={"choices": [{"text": "nine", "finish_reason": "stop"}]})
    server.script = lambda number, before: bad if before == 0 else good
    go(make_suite(tmp_path, 2), server, tmp_path / "run", chat_template="never")
    assert [(row.reply.text, row.reply.attempts) for row in replies(tmp_path / "run")] == [("nine", 2)] * 2


# ------------------------------------------------------------------------------------------------------ large and slow


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream; charset=utf-8"])
def test_a_body_without_end_is_not_read_to_its_end(tmp_path: Path, server: ScriptedServer, kind: str) -> None:
    packed = gzip.compress(b" " * (9 * MOST_CHARACTERS))
    act = Act(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": kind})
    server.script = lambda number, before: act if number == 0 else well(number)
    go(make_suite(tmp_path, 2), server, tmp_path / "run")
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.status, reply.attempts) == ("error", 1)
    assert "the response is larger than 64 MB" in reply.error


@pytest.mark.parametrize("asked", [b'{"stream": true}', b'{"stream": false}', b"{}", b"[]", b"nine"])
def test_a_stream_that_was_asked_for_comes_piece_by_piece_and_not_without_end(asked: bytes) -> None:
    given: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        for number in range(1000):
            given.append(number)
            yield b" " * 1_000_000

    async def ask() -> None:
        request = httpx.Request("POST", "http://server/v1/chat/completions", content=asked)
        kind = {"Content-Type": "text/event-stream"}
        response = httpx.Response(200, headers=kind, content=endless(), request=request)
        await check_response(response)
        assert asked == b'{"stream": true}'
        assert not given
        async for _ in response.aiter_bytes():
            pass

    with pytest.raises(RequestError, match="larger than 64 MB"):
        asyncio.run(ask())
    assert len(given) == 65


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_every_status_of_success_is_normalized(status: int) -> None:
    async def ask(content: bytes) -> object:
        request = httpx.Request("POST", "http://server/v1/chat/completions", content=b"{}")
        response = httpx.Response(status, content=content, request=request)
        await check_response(response)
        return response.json()

    reply = {"choices": [{"message": {"content": "x"}}]}
    assert asyncio.run(ask(json.dumps(reply).encode())) == normalized(reply)
    with pytest.raises(RequestError):
        asyncio.run(ask(b"{}"))


def test_a_body_that_cannot_be_decoded_is_no_silence(tmp_path: Path, server: ScriptedServer) -> None:
    act = Act(body=b"garbage", headers={"Content-Encoding": "gzip"})
    server.script = lambda number, before: act if number == 0 else well(number)
    go(make_suite(tmp_path, 2), server, tmp_path / "run", retries=1)
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.status, reply.attempts) == ("error", 2)
    assert reply.error.startswith("DecodingError: ")


def test_a_reply_that_is_too_long_says_so(tmp_path: Path) -> None:
    reply = to_reply(Output("x" * MOST_CHARACTERS, reasoning="y"))
    assert (reply.status, reply.text) == ("error", "")
    assert reply.error == "the reply holds 8,000,001 characters, more than the 8,000,000 (8 MB) that are kept"
    assert to_reply(Output("x" * MOST_CHARACTERS)).status == "ok"


TAGGED = {
    "never closed": "<think>" * TAGS,
    "never ended": "<think " * TAGS,
    "closed": "<think>so</think>nine" * TAGS,
    "nested": "<think>" * TAGS + "so" + "</think>" * TAGS,
    "ends alone": "</think>" * TAGS,
    "begun": "<think " + "<" * (20 * TAGS),
    "another tag": "<thinker>" * TAGS,
}


@pytest.mark.parametrize("name", TAGGED)
def test_tags_are_split_in_a_time_that_grows_with_their_number(name: str) -> None:
    text = TAGGED[name]
    part = text[: len(text) // 8]
    split_reasoning(part[1:])
    times = []
    for given_text in (part, text):
        started = time.process_time()
        split_reasoning(given_text)
        times.append(time.process_time() - started)
    # Eight times the text; the square would take 64 times as long. Times too short to measure say nothing.
    assert times[1] < 30 * times[0] or times[1] < 0.2


@pytest.mark.slow
def test_tags_reach_the_store_and_do_not_stop_others(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: completion(list(TAGGED.values())[number % 7])
    started = time.process_time()
    go(make_suite(tmp_path, 7), server, tmp_path / "run", max_connections=7)
    assert time.process_time() - started < 60  # the library alone took minutes
    assert {row.reply.status for row in replies(tmp_path / "run")} <= {"ok", "incomplete"}


def _split_by_halves(text: str) -> tuple[str, str]:
    """The rule in its plainest form: one block after another."""
    import re

    begins, ends = re.compile(r"<think(?:ing)?\b[^<>]*>", re.I), re.compile(r"</think(?:ing)?>", re.I)
    first_begin, first_end = begins.search(text), ends.search(text)
    if first_begin is None and first_end is None:
        return text.strip(), ""
    answer, thoughts, rest = [], [], text
    if first_end is not None and (first_begin is None or first_end.start() < first_begin.start()):
        thoughts.append(text[: first_end.start()])
        rest = text[first_end.end() :]
    while (begin := begins.search(rest)) is not None:
        answer.append(rest[: begin.start()])
        end = ends.search(rest, begin.end())
        thoughts.append(rest[begin.end() : end.start() if end else len(rest)])
        rest = rest[end.end() :] if end else ""
    answer.append(rest)
    return "".join(answer).strip(), "\n\n".join(thought.strip() for thought in thoughts if thought.strip())


@given(st.lists(st.sampled_from(["<think>", "</think>", "<thinking a='b'>", "</THINKING>", "a", " ", "<", ">", "b\n"])))
def test_tags_are_split_as_they_were(parts: list[str]) -> None:
    assert split_reasoning("".join(parts)) == _split_by_halves("".join(parts))
