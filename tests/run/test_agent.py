"""The agent over real HTTP: what the model is sent, what it may do wrong, and what is counted and kept."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from agent_server import AgentServer, Asked, Play, answering, by_steps, calling, reader
from run_suites import FILLER, make_suite
from scripted_server import Act, completion, refusal

from engine_calls import run
from fathom import api
from fathom.run import replies
from fathom.run.systems.agent import CALLS, DROPPED, NOW
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Reply
from processes import start_program, until

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

SEARCH = calling(("search", {"query": "ferry leaves"}))
READ = calling(("read", {"first": 2, "last": 3}))
TOO_LONG = refusal(400, "This model's maximum context length is 300 tokens", code="context_length_exceeded")


def asked_for(
    tmp_path: Path, play: Play, system: str = "agent?steps=6&passage=16", samples: int = 1, **more: Any
) -> tuple[list[Asked], list[Reply]]:
    """What a server was asked, and the replies of the run."""
    suite, out = make_suite(tmp_path, samples), tmp_path / "run"
    options: dict[str, Any] = {"max_output_tokens": 50, "retries": 0, "backoff": 0.01, **more}
    with AgentServer(play) as server:
        run(suite, "openai/scripted", out=out, model_base_url=server.base_url, system=system, **options)
        return server.asked, [row.reply for row in replies(out)]


def error_then(error: Act, after: int, play: Play) -> Play:
    """The play, with an error in the place of one request."""
    seen = 0

    def changed(asked: Asked) -> Act:
        nonlocal seen
        seen += 1
        return error if seen == after + 1 else play(asked)

    return changed


@pytest.mark.slow
def test_it_searches_reads_and_answers(tmp_path: Path) -> None:
    asked, (reply,) = asked_for(tmp_path, by_steps(SEARCH, READ, answering("nine")))
    assert (reply.status, reply.text) == ("ok", "nine")
    assert (reply.tokens_in, reply.tokens_out, reply.attempts) == (300, 15, 3)
    assert reply.seconds > 0
    first, second, third = asked
    assert FILLER[:30] not in str(first.messages)
    assert "14 parts" in first.messages[0]["content"]
    assert first.messages[0]["content"].endswith("\nWhen does it leave?")
    assert [tool["function"]["name"] for tool in first.body["tools"]] == ["search", "read"]
    assert [message["role"] for message in third.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    found, read = (json.loads(result) for result in third.results)
    assert second.results == third.results[:1]
    assert len(found["found"]) == 4
    assert read == {
        "parts": [{"part": part, "text": "The ferry leaves at nine. " * 2 + FILLER[:25]} for part in (2, 3)]
    }
    assert "[1] search: ferry leaves\n    part 1: The ferry" in reply.reasoning
    assert "[2] read: 2 to 3\n    part 2: The ferry" in reply.reasoning


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("fetch", {"url": "x"}, "Tool fetch not found"),
        ("search", '{"query": "nin', "Error parsing"),
        ("search", {}, "'query' is a required property"),
        ("search", {"query": ["nine"]}, "not of type 'string'"),
        ("read", {"first": "two", "last": 3}, "not of type 'integer'"),
        ("read", {"first": 1, "last": 2, "whole": True}, "'whole' was unexpected"),
        ("read", {"first": 0, "last": 3}, "there is no part 0; expected a number from 1 to 14"),
        ("read", {"first": 10**30, "last": 10**30}, "there is no part 1000"),
        ("read", {"first": 4, "last": 3}, "last is 3; expected 4 or more"),
        ("search", '{"query": "' + "x" * 5000, "Error parsing"),
        ("search", "[" * 50_000, "Error"),
    ],
)
def test_wrong_calls_have_an_error_as_their_result(tmp_path: Path, name: str, given: object, words: str) -> None:
    asked, (reply,) = asked_for(tmp_path, by_steps(calling((name, given)), answering("nine")))
    assert (reply.status, reply.text) == ("ok", "nine")
    (result,) = asked[1].results
    assert result.startswith("Error: ")
    assert words in result
    assert len(result) < 400
    assert words[:20] in reply.reasoning


@pytest.mark.slow
def test_calls_of_one_turn_share_its_room(tmp_path: Path) -> None:
    many = calling(*[("read", {"first": 1, "last": 14})] * (CALLS + 2))
    asked, (reply,) = asked_for(tmp_path, by_steps(many, answering("nine")), "agent?passage=16&read=128")
    assert reply.text == "nine"
    results = asked[1].results
    assert len(results) == CALLS + 2
    assert json.loads(results[0])["next"] == 7
    assert sum(get_tokenizer("words").count(result) for result in results[:CALLS]) < 128 + CALLS * 20
    assert results[-1] == results[-2] == f"Error: not run: a step runs {CALLS} calls"


def test_the_last_step_asks_for_the_answer(tmp_path: Path) -> None:
    asked, (reply,) = asked_for(
        tmp_path, lambda asked: answering("nine") if asked.final else SEARCH, "agent?steps=4&passage=16"
    )
    assert [one.final for one in asked] == [False, False, False, True]
    assert asked[-1].messages[-1] == {"role": "user", "content": NOW}
    assert [one.body["max_tokens"] for one in asked] == [50] * 4
    assert (reply.text, reply.attempts) == ("nine", 4)


def test_a_model_that_never_answers_is_unanswered(tmp_path: Path) -> None:
    asked, (reply,) = asked_for(tmp_path, lambda asked: SEARCH, "agent?steps=3&passage=16")
    assert len(asked) == 3
    assert (reply.status, reply.text, reply.tokens_in) == ("ok", "", 300)


def test_a_turn_without_a_call_is_the_answer(tmp_path: Path) -> None:
    asked, (reply,) = asked_for(tmp_path, by_steps(answering("nine")))
    assert len(asked) == 1
    assert (reply.text, reply.reasoning, reply.tokens_in) == ("nine", "", 100)


@pytest.mark.parametrize(
    "nothing", [completion(""), completion(None, reasoning="Hm."), completion("<think>Hm.</think>")]
)
def test_after_a_turn_that_says_nothing_the_answer_is_asked_for(tmp_path: Path, nothing: Act) -> None:
    asked, (reply,) = asked_for(tmp_path, lambda asked: answering("nine") if asked.final else nothing)
    assert [one.final for one in asked] == [False, True]
    assert (reply.status, reply.text, reply.tokens_in) == ("ok", "nine", 200)


def test_words_and_thoughts_beside_a_call_are_kept(tmp_path: Path) -> None:
    thinking = calling(("search", {"query": "ferry"}), text="Let me look.", reasoning_content="It is about a ferry.")
    _, (reply,) = asked_for(tmp_path, by_steps(thinking, answering("nine")))
    assert reply.reasoning.startswith("It is about a ferry.\n\nLet me look.\n\n[1] search: ferry\n")
    assert reply.tokens_reasoning == 5


@pytest.mark.slow
def test_a_failure_in_the_middle_is_tried_again(tmp_path: Path) -> None:
    play = error_then(Act(status=500, body={}), 1, by_steps(SEARCH, READ, answering("nine")))
    asked, (reply,) = asked_for(tmp_path, play, retries=1)
    assert len(asked) == 4
    assert (reply.status, reply.text, reply.attempts, reply.tokens_in) == ("ok", "nine", 4, 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "status"),
    [(Act(status=500, body={}), "error"), (refusal(400, "content filter", code="content_filter"), "refused")],
)
def test_a_failure_ends_the_sample_with_the_tokens_so_far(tmp_path: Path, error: Act, status: str) -> None:
    play = error_then(error, 2, by_steps(SEARCH, READ, answering("nine")))
    _, (first, second) = asked_for(tmp_path, play, samples=2, max_connections=1)
    assert (first.status, first.tokens_in, first.tokens_out, first.attempts) == (status, 200, 10, 3)
    assert first.error
    assert "[2] read" in first.reasoning
    assert second.text == "nine"


@pytest.mark.slow
def test_only_failed_samples_are_asked_again(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 2), tmp_path / "run"
    play = by_steps(SEARCH, READ, answering("nine"))
    with AgentServer(error_then(Act(status=500, body={}), 2, play)) as server:
        options: dict[str, Any] = {"model_base_url": server.base_url, "system": "agent?passage=16", "retries": 0}
        for _ in range(2):
            run(suite, "openai/scripted", out=out, max_connections=1, **options)
        numbers = [asked.messages[0]["content"][:10] for asked in server.asked]
    assert numbers == ["[sample 0]"] * 3 + ["[sample 1]"] * 3 + ["[sample 0]"] * 3
    assert [(row.reply.text, row.reply.tokens_in) for row in replies(out)] == [("nine", 300)] * 2


def test_a_conversation_keeps_to_the_window(tmp_path: Path) -> None:
    everything = calling(("read", {"first": 1, "last": 14}))
    asked, (reply,) = asked_for(tmp_path, lambda asked: answering("nine") if asked.final else everything, window=800)
    assert (reply.status, reply.text) == ("ok", "nine")
    assert [one.final for one in asked[-2:]] == [False, True]
    assert json.loads(asked[1].results[0])["parts"][-1]["part"] == 14
    assert json.loads(asked[-1].results[-1]).get("next") or "error" in json.loads(asked[-1].results[-1])
    words = get_tokenizer("words")
    assert max(words.count("".join(str(message["content"]) for message in one.messages)) for one in asked) < 750


def test_long_turns_push_out_the_oldest_results(tmp_path: Path) -> None:
    wordy = calling(("read", {"first": 1, "last": 3}), text="I go on. " * 100)
    asked, (reply,) = asked_for(tmp_path, lambda asked: answering("nine") if asked.final else wordy, window=1200)
    assert (reply.status, reply.text) == ("ok", "nine")
    assert asked[-1].results[0] == DROPPED
    assert "dropped the results of" in reply.reasoning


def test_a_question_that_exceeds_the_window_is_not_sent(tmp_path: Path) -> None:
    asked, (reply,) = asked_for(tmp_path, by_steps(answering("nine")), window=300)
    assert not asked
    assert (reply.status, reply.attempts) == ("overflow", 0)
    assert "exceed the window" in reply.error


def test_when_the_server_finds_it_too_long_older_results_are_dropped(tmp_path: Path) -> None:
    def play(asked: Asked) -> Act:
        if sum(result != DROPPED for result in asked.results) > 2:
            return TOO_LONG
        return answering("nine") if asked.final else SEARCH

    asked, (reply,) = asked_for(tmp_path, play)
    assert [one.final for one in asked] == [False, False, False, False, True]
    assert [result == DROPPED for result in asked[-1].results] == [True, True, False]
    assert (reply.status, reply.text, reply.tokens_in) == ("ok", "nine", 400)


def test_a_server_without_room_ends_in_overflow(tmp_path: Path) -> None:
    asked, (reply,) = asked_for(tmp_path, lambda asked: TOO_LONG if asked.results or asked.final else SEARCH)
    assert [len(one.results) for one in asked] == [0, 1, 1, 0]
    assert (reply.status, reply.tokens_in, reply.text) == ("overflow", 100, "")


def test_answers_have_the_cap_of_the_task(tmp_path: Path) -> None:
    asked, (reply,) = asked_for(tmp_path, by_steps(completion("nine " * 900, tokens_out=900)), max_output_tokens=None)
    assert asked[0].body["max_tokens"] == 1024
    assert reply.status == "incomplete"
    assert 0 < len(reply.text.split()) < 100


@pytest.mark.parametrize(
    ("model", "more", "words"),
    [
        ("fathom/lexical", {}, "an offline baseline, which cannot call tools"),
        ("hf/models/none", {}, "a model in this process, which cannot call tools"),
        (
            "openai/x",
            {"chat_template": "by-task", "model_base_url": "http://127.0.0.1:1/v1"},
            "`chat_template` by-task",
        ),
    ],
)
def test_models_without_tools_are_refused(tmp_path: Path, model: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(FathomError, match=words):
        run(make_suite(tmp_path, 1), model, out=tmp_path / "run", system="agent", **more)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("option", "words"), [("steps=1", "2 or more"), ("read=10", "128 or more")])
def test_wrong_options_are_refused(tmp_path: Path, option: str, words: str) -> None:
    with pytest.raises(FathomError, match=words):
        run(make_suite(tmp_path, 1), "openai/x", out=tmp_path / "run", system=f"agent?{option}")


@pytest.mark.slow
def test_a_reader_without_a_model_is_run_and_scored(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    api.build("starter", suite, lengths="8k", items=2, seed=3)
    with AgentServer(reader(suite)) as server:
        options: dict[str, Any] = {"model_base_url": server.base_url}
        api.run(
            suite,
            "openai/reader",
            tmp_path / "run",
            system="agent?steps=4",
            tasks=["passkey", "kv_retrieval"],
            **options,
        )
    rows = api.rows([tmp_path / "run"])
    assert rows["variant"].unique().to_list() == ["agent?steps=4&top=4&passage=256&read=2048"]
    assert rows["value"].to_list() == [1.0] * 4
    assert 0 < rows["tokens_in"].max() < 4096  # type: ignore[operator]


PROGRAM = """
import sys
from pathlib import Path
from fathom.run import run
from fathom.runfile.settings import RunSettings
suite, out, url = sys.argv[1:]
settings = RunSettings(model_base_url=url, system="agent?passage=16", max_connections=1)
run(Path(suite), "openai/scripted", settings, out=Path(out))
"""


@pytest.mark.slow
@pytest.mark.long
def test_after_a_kill_only_the_unfinished_sample_is_repeated(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 3), tmp_path / "run"
    play = by_steps(SEARCH, READ, answering("nine"))

    def hangs(asked: Asked) -> Act:
        stuck = asked.messages[0]["content"].startswith("[sample 1]") and len(asked.results) == 1
        return Act(hang=True) if stuck else play(asked)

    def numbers(server: AgentServer) -> list[str]:
        return [asked.messages[0]["content"][8] for asked in server.asked]

    with AgentServer(hangs) as server:
        process = start_program(PROGRAM, suite, out, server.base_url)
        until(lambda: numbers(server) == ["0", "0", "0", "1", "1"], process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        server.asked, server.play = [], play
        run(
            suite,
            "openai/scripted",
            out=out,
            model_base_url=server.base_url,
            system="agent?passage=16",
            max_connections=1,
        )
        assert numbers(server) == ["1"] * 3 + ["2"] * 3
    assert [(row.reply.text, row.reply.tokens_in) for row in replies(out)] == [("nine", 300)] * 3
