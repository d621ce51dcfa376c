"""Where replies end, prompts without a chat template, and second requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_suites import FILLER, TOKENS, make_suite
from scripted_server import Act, ScriptedServer, completion, continuation, refusal

from engine_calls import run
from fathom.models import baselines as baselines_module
from fathom.models.completions import CompletionsClient, ContinuingClient, open_continuing_client, read_completion
from fathom.models.protocol import RequestError, Settings
from fathom.models.request_mode import RequestMode, ended, request_modes, together
from fathom.rows import load
from fathom.run import Preflight, RunSummary, StoredReply, replies
from fathom.suites.registry import get_task
from fathom.types import AnswerKind, FathomError, Reply, Sample, Task

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

PASSKEY = get_task("passkey")
CAP = 50


def again(reply: str, sample: Sample) -> str:
    return f"[sample {100 + int(sample.item.removeprefix('item'))}] You said: {reply}. So?"


TASKS: Mapping[str, Task] = {
    "passkey": PASSKEY,
    "line": replace(PASSKEY, name="line", stop=("\n", "END")),
    "code": replace(PASSKEY, name="code", continued=True, stop=("\n\n",)),
    "thought": replace(PASSKEY, name="thought", follow_up=again),
}


@pytest.fixture(autouse=True)
def _tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.models.request_mode.tasks", lambda: TASKS)
    monkeypatch.setattr("fathom.run.runner.task_cap", lambda task: TASKS[task].max_output_tokens)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def go(suite: Path, server: ScriptedServer, out: Path, **options: object) -> RunSummary:
    arguments: dict[str, object] = {"max_output_tokens": CAP, "backoff": 0.002, "retries": 3, "timeout": 30.0}
    arguments |= {"model_base_url": server.base_url} | options
    return run(suite, "openai/scripted", out=out, **arguments)


def by_number(out: Path) -> dict[int, StoredReply]:
    return {int(row.item.removeprefix("item")): row for row in replies(out)}


# ------------------------------------------------------------------------------------------- where replies end


@pytest.mark.slow
def test_the_model_is_told_where_replies_end(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: completion(f"answer {number}\nand more", finish="length")
    go(make_suite(tmp_path, 4, tasks=("passkey", "line")), server, tmp_path / "run")
    told = {number: request.get("stop") for number, request in zip(order_of(server), server.requests, strict=True)}
    # White space alone is no stop for a chat.
    assert told == {0: None, 1: ["END"], 2: None, 3: ["END"]}
    rows = by_number(tmp_path / "run")
    assert [(row.reply.status, row.reply.text) for _, row in sorted(rows.items())] == [
        ("incomplete", "answer 0\nand more"),
        ("ok", "answer 1"),
        ("incomplete", "answer 2\nand more"),
        ("ok", "answer 3"),
    ]


def order_of(server: ScriptedServer) -> list[int]:
    return [int(text.split("[sample ")[1].split("]")[0]) for text in server.texts]


def test_stops_of_the_user_and_of_the_task_go_together(tmp_path: Path, server: ScriptedServer) -> None:
    suite = make_suite(tmp_path, 1, tasks=("line",))
    go(suite, server, tmp_path / "run", generation={"stop_seqs": ["###"]})
    assert server.requests[0]["stop"] == ["###", "END"]


def test_a_model_that_reasons_is_not_told_but_its_reply_is_cut(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: completion("nine\nor ten", reasoning="One line.\nAnother.")
    go(make_suite(tmp_path, 1, tasks=("line",)), server, tmp_path / "run", reasoning_tokens=100)
    assert "stop" not in server.requests[0]
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.text, reply.reasoning) == ("nine", "One line.\nAnother.")


def test_baselines_end_there_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines_module, "get_baseline", lambda name: lambda prompt, answer, rng, form: "one\ntwo")
    run(make_suite(tmp_path, 2, tasks=("passkey", "line")), "fathom/fake", out=tmp_path / "run")
    assert [row.reply.text for _, row in sorted(by_number(tmp_path / "run").items())] == ["one\ntwo", "one"]


@pytest.mark.slow
@given(text=st.text("ab\n;"), stop=st.lists(st.sampled_from(["\n", ";", "ab", ""]), max_size=3).map(tuple))
def test_what_is_left_is_a_beginning_without_any_stop(text: str, stop: tuple[str, ...]) -> None:
    left = ended(Reply("ok", text), RequestMode(stop)).text
    assert text.startswith(left)
    assert not any(one in left for one in stop if one)
    assert left == text or text[len(left) :].startswith(tuple(one for one in stop if one))


def test_failures_have_no_end() -> None:
    reply = Reply("error", "a\nb", error="gone")
    assert ended(reply, RequestMode(("\n",), endless=True)) == reply


# ---------------------------------------------------------------------------------- without a chat template


@pytest.mark.parametrize("choice", ["always", "by-task", "never"])
def test_prompts_to_be_continued_go_as_they_are(tmp_path: Path, server: ScriptedServer, choice: str) -> None:
    raw = {"always": [], "by-task": [1, 3], "never": [0, 1, 2, 3]}[choice]
    server.script = lambda number, before: (
        continuation("  x = 1\n\ny = 2", tokens_in=110, tokens_out=7) if number in raw else completion("nine")
    )
    suite = make_suite(tmp_path, 4, tasks=("passkey", "code"))
    go(suite, server, tmp_path / "run", chat_template=choice, seed=5, generation={"top_p": 0.5})
    sent = dict(zip(order_of(server), server.requests, strict=True))
    assert [number for number in sorted(sent) if "prompt" in sent[number]] == raw
    for number in raw:
        request = sent[number]
        assert (request["max_tokens"], request["seed"], request["temperature"], request["top_p"]) == (CAP, 5, 0, 0.5)
        assert request.get("stop") == (["\n\n"] if number in (1, 3) else None)
        assert request["prompt"] == len(f"[sample {number}] Read.\n{FILLER}\nWhen does it leave?")
    rows = by_number(tmp_path / "run")
    for number, row in rows.items():
        assert row.reply.status == "ok"
        if number in raw:
            # The indent of a line of code stays.
            assert row.reply.text == ("  x = 1" if number in (1, 3) else "  x = 1\n\ny = 2")
            assert (row.reply.tokens_in, row.reply.tokens_out) == (110, 7)


def test_a_continuation_that_reaches_the_cap_is_whole(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: continuation("x = 1", finish="length")
    go(make_suite(tmp_path, 1, tasks=("code",)), server, tmp_path / "run", chat_template="by-task")
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.status, reply.stop, reply.text, reply.error) == ("ok", "max_tokens", "x = 1", "")


def test_a_base_model_that_writes_nothing_but_blanks_has_answered_nothing(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script = lambda number, before: continuation(" \n" * 9, finish="length")
    go(make_suite(tmp_path, 1, tasks=("code",)), server, tmp_path / "run", chat_template="by-task")
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.status, reply.text, reply.error) == ("ok", "", "")


LONG = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"
FAULTS: tuple[tuple[Act, Act, str, int], ...] = (
    (refusal(500, "oops"), continuation("nine"), "ok", 2),
    (refusal(429, "slow", headers={"Retry-After-Ms": "5"}), continuation("nine"), "ok", 2),
    (Act(body="<html>"), continuation("nine"), "ok", 2),
    (Act(body={"choices": []}), continuation("nine"), "ok", 2),
    (Act(body={"x": "y" * 500}, cut=True), continuation("nine"), "ok", 2),
    (refusal(503, "gone"), refusal(503, "gone"), "error", 4),
    (refusal(400, "unknown parameter"), continuation("nine"), "error", 1),
    (refusal(400, LONG), continuation("nine"), "overflow", 1),
    (continuation("", finish="content_filter"), continuation("nine"), "refused", 1),
    (continuation("<think>Let me", finish="length"), continuation("nine"), "incomplete", 1),
)


def test_faults_end_as_they_do_for_chat(tmp_path: Path, server: ScriptedServer) -> None:
    def script(number: int, before: int) -> Act:
        first, later, _, _ = FAULTS[number] if number < len(FAULTS) else FAULTS[0]
        return continuation("nine") if number >= len(FAULTS) else later if before else first

    server.script = script
    go(make_suite(tmp_path, 30), server, tmp_path / "run", chat_template="never")
    rows = by_number(tmp_path / "run")
    for number, (_, _, status, attempts) in enumerate(FAULTS):
        reply = rows[number].reply
        assert (number, reply.status, reply.attempts) == (number, status, attempts)
        assert reply.text == ("nine" if status == "ok" else "")
    assert all(rows[number].reply.text == "nine" for number in range(len(FAULTS), 30))


def test_runs_with_another_chat_template_do_not_mix(tmp_path: Path, server: ScriptedServer) -> None:
    suite = make_suite(tmp_path, 1)
    go(suite, server, tmp_path / "run")
    with pytest.raises(FathomError, match="chat template = 'always', but chat template = 'by-task'"):
        go(suite, server, tmp_path / "run", chat_template="by-task")


def test_rows_tell_runs_with_another_chat_template_apart(tmp_path: Path, server: ScriptedServer) -> None:
    suite, folders = make_suite(tmp_path, 2), [tmp_path / "run", tmp_path / "raw"]
    go(suite, server, folders[0])
    server.script = lambda number, before: continuation("nine")
    go(suite, server, folders[1], chat_template="never")
    assert set(load(folders)["variant"]) == {"chat_template=always", "chat_template=never"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings("anthropic/claude", chat_template="never"), "needs a server that speaks .*`chat_template` always"),
        (Settings("vllm/base", chat_template="by-task"), "needs `model_base_url`"),
        (
            Settings("vllm/b", chat_template="never", base_url="http://x/v1", generation={"reasoning_effort": "low"}),
            "'reasoning_effort' is not supported",
        ),
    ],
)
def test_models_that_always_have_a_template_are_refused(settings: Settings, message: str) -> None:
    with pytest.raises(FathomError, match=message):
        open_continuing_client(settings)


def test_an_unknown_choice_is_refused(tmp_path: Path, server: ScriptedServer) -> None:
    with pytest.raises(FathomError, match="chat_template='sometimes': expected always, by-task, never"):
        go(make_suite(tmp_path, 1), server, tmp_path / "run", chat_template="sometimes")


def test_both_ways_are_opened_only_where_both_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings("openai-api/mine/base-7b", chat_template="never", base_url="http://127.0.0.1:9/v1")
    monkeypatch.setenv("MINE_API_KEY", "secret")
    never = open_continuing_client(settings)
    assert isinstance(never, CompletionsClient)
    assert (never._model, never._client.api_key) == ("base-7b", "secret")
    both = open_continuing_client(replace(settings, model="openai/m", chat_template="by-task"))
    assert isinstance(both, ContinuingClient)


@pytest.mark.parametrize("body", [[], {}, {"choices": [{}]}, {"choices": [{"text": None}]}, {"choices": "x"}, None])
def test_what_is_no_completion_is_asked_for_again(body: object) -> None:
    with pytest.raises(RequestError) as caught:
        read_completion(body)
    assert caught.value.failure.kind == "busy"


# ------------------------------------------------------------------------------------------------ second requests


def test_the_second_reply_counts_and_the_first_is_kept_as_reasoning(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: (
        completion("It leaves early", reasoning="hm", tokens_in=100, tokens_out=9)
        if number < 100
        else refusal(500, "oops")
        if before == 0
        else completion("nine", tokens_in=20, tokens_out=1)
    )
    shown: list[Preflight] = []

    def confirm(preflight: Preflight) -> bool:
        shown.append(preflight)
        return True

    go(make_suite(tmp_path, 3, tasks=("thought",)), server, tmp_path / "run", confirm=confirm)
    assert server.prompts == {0: 1, 1: 1, 2: 1, 100: 2, 101: 2, 102: 2}
    for number, row in by_number(tmp_path / "run").items():
        reply = row.reply
        assert (reply.status, reply.text, reply.reasoning) == ("ok", "nine", "hm\n\nIt leaves early")
        assert (reply.tokens_in, reply.tokens_out, reply.attempts) == (120, 10, 3)
        assert f"[sample {100 + number}] You said: It leaves early. So?" in server.texts
    assert shown[0].requests == 6
    assert (shown[0].total, shown[0].tokens_out) == (3, 6 * CAP)
    assert shown[0].tokens_in == 3 * (TOKENS + min(TOKENS, CAP + 1024))


def test_a_first_reply_that_failed_ends_the_sample_and_one_that_was_cut_does_not(
    tmp_path: Path, server: ScriptedServer
) -> None:
    acts = [completion("It leaves", finish="length"), refusal(400, LONG), refusal(400, "unknown parameter")]
    server.script = lambda number, before: acts[number] if number < len(acts) else completion("nine")
    go(make_suite(tmp_path, 4, tasks=("thought",)), server, tmp_path / "run")
    statuses = {number: row.reply.status for number, row in by_number(tmp_path / "run").items()}
    assert statuses == {0: "ok", 1: "overflow", 2: "error", 3: "ok"}
    assert set(server.prompts) == {0, 1, 2, 3, 100, 103}


def test_a_second_reply_that_failed_is_the_status_and_both_are_asked_again(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script = lambda number, before: (
        completion("It leaves") if number < 100 else completion("nine") if before else refusal(400, "unknown parameter")
    )
    suite = make_suite(tmp_path, 2, tasks=("passkey", "thought"))
    go(suite, server, tmp_path / "run")
    reply = by_number(tmp_path / "run")[1].reply
    assert (reply.status, reply.text, reply.reasoning) == ("error", "", "It leaves")
    go(suite, server, tmp_path / "run")
    assert by_number(tmp_path / "run")[1].reply.text == "nine"
    assert server.prompts == {0: 1, 1: 2, 101: 2}


@given(
    first=st.none() | st.integers(0, 9),
    second=st.none() | st.integers(0, 9),
    attempts=st.tuples(st.integers(1, 5), st.integers(1, 5)),
)
def test_numbers_of_two_replies_are_added_up(first: int | None, second: int | None, attempts: tuple[int, int]) -> None:
    made = together(
        Reply("ok", "a", tokens_in=first, seconds=1.0, attempts=attempts[0], truncated=4),
        Reply("refused", "", tokens_in=second, seconds=2.0, attempts=attempts[1], error="no"),
    )
    assert made.tokens_in == (None if None in (first, second) else (first or 0) + (second or 0))
    assert (made.seconds, made.attempts, made.truncated) == (3.0, sum(attempts), 4)
    assert (made.status, made.text, made.reasoning, made.error) == ("refused", "", "a", "no")


def test_tasks_that_are_not_installed_are_asked_plainly() -> None:
    assert request_modes("by-task", reasons=False)("unheard_of") == RequestMode()
    assert request_modes("never", reasons=False)("unheard_of") == RequestMode(continued=True, endless=True)


def test_a_baseline_answers_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(prompt: str, answer: AnswerKind, rng: Random, form: object) -> str:
        return "nine" if "You said" in prompt else "thinking"

    monkeypatch.setattr(baselines_module, "get_baseline", lambda name: read)
    run(make_suite(tmp_path, 1, tasks=("thought",)), "fathom/fake", out=tmp_path / "run")
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.text, reply.reasoning) == ("nine", "thinking")


class Killed(BaseException):
    """Ends a process wherever it stands."""


def test_a_process_that_ends_between_the_two_keeps_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[str] = []

    def read(prompt: str, answer: AnswerKind, rng: Random, form: object) -> str:
        prompts.append(prompt)
        if len(prompts) == 2:
            raise Killed
        return "nine" if "You said" in prompt else "thinking"

    monkeypatch.setattr(baselines_module, "get_baseline", lambda name: read)
    suite = make_suite(tmp_path, 1, tasks=("thought",))
    with pytest.raises(BaseExceptionGroup):
        run(suite, "fathom/fake", out=tmp_path / "run")
    assert by_number(tmp_path / "run") == {}
    run(suite, "fathom/fake", out=tmp_path / "run")
    assert by_number(tmp_path / "run")[0].reply.text == "nine"
    assert ["You said" in prompt for prompt in prompts] == [False, True, False, True]
