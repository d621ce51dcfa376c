"""Runs with thinking and without, from the option to the rows: what is sent, kept, and called incomplete."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_suites import FILLER, TOKENS, sample
from scripted_server import Act, ScriptedServer, completion, refusal

from command_line import Call
from engine_calls import run
from fathom.rows import load, rows_from_run
from fathom.run import Preflight, RunSummary, StoredReply, read_manifest, replies
from fathom.storage.checksums import with_checksum
from fathom.suites.registry import get_task
from fathom.suites.suitefile import SampleWriter, fresh_folder, write_documents, write_manifest
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.types import Document, FathomError, Json, Task

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

PASSKEY = get_task("passkey")
OWN = 20
THINK = "\nThink step by step. When does it leave?"
THINK_TOKENS = TOKENS + 4
SEAM = 1  # where a middle is cut out, two words meet and are one
TASKS: Mapping[str, Task] = {
    "passkey": PASSKEY,
    "short": replace(PASSKEY, name="short", max_output_tokens=OWN, capped=True),
    "line": replace(PASSKEY, name="line", max_output_tokens=OWN, stop=("\n",)),
    "word": replace(PASSKEY, name="word", max_output_tokens=OWN, stop=("END",)),
}
MODELS = """
[switchable]
kind = "mixed"
truncation = 100
output_thinking = 50
temperature = 0.7
temperature_thinking = 0.6

[deep]
kind = "mixed"
switch = "thinking"
"""


@pytest.fixture(autouse=True)
def _tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fathom.models.request_mode.tasks", lambda: TASKS)
    monkeypatch.setattr("fathom.run.runner.task_cap", lambda task: TASKS[task].max_output_tokens)
    (tmp_path / "models.toml").write_text(MODELS)
    monkeypatch.setenv("FATHOM_MODELS", str(tmp_path / "models.toml"))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def make_suite(place: Path, count: int = 1, *, task: str = "short", thinking: bool = True, name: str = "suite") -> Path:
    """A suite whose prompts have a second end that asks for thoughts."""
    folder = place / name
    manifest: dict[str, Json] = {
        "fathom": "suite",
        "suite": "tiny",
        "tokenizer": "words",
        "fingerprint": "f00d",
        "inputs": {},
        "notes": [],
        "left_out": [],
        "left_out_in_all": 0,
        "duplicates": 0,
        "tasks": [task],
        "lengths": [256],
        "samples": {task: count},
    }
    with fresh_folder(folder) as fresh:
        write_documents(fresh, [Document("doc", FILLER, "test")])
        with SampleWriter(fresh) as writer:
            for number in range(count):
                made = replace(sample(number), task=task)
                writer.add(replace(made, thinking=THINK, thinking_tokens=THINK_TOKENS) if thinking else made)
        write_manifest(fresh, manifest)
    return folder


def go(suite: Path, server: ScriptedServer, out: Path, *, model: str = "openai/scripted", **options: Any) -> RunSummary:
    arguments: dict[str, Any] = {"backoff": 0.002, "retries": 0, "model_base_url": server.base_url} | options
    return run(suite, model, out=out, **arguments)


def only_reply(out: Path) -> StoredReply:
    (row,) = replies(out)
    return row


def prompt_length(end: str) -> int:
    return len(f"[sample 0] Read.\n{FILLER}{end}")


PLAIN = "\nWhen does it leave?"


# ------------------------------------------------------------------------------------------------ what is sent


@pytest.mark.parametrize(
    ("kind", "mode", "end", "cap", "body"),
    [
        ("instruct", "off", PLAIN, OWN, None),
        ("instruct", "on", THINK, 8192, None),
        ("mixed", "off", PLAIN, OWN, False),
        ("mixed", "on", PLAIN, 8192, True),
        ("thinking", "on", PLAIN, 8192, None),
    ],
)
def test_every_kind_is_sent_what_the_protocol_says(
    tmp_path: Path, server: ScriptedServer, kind: str, mode: str, end: str, cap: int, body: bool | None
) -> None:
    go(make_suite(tmp_path), server, tmp_path / "run", thinking=mode, model_kind=kind)
    (request,) = server.requests
    assert request["messages"] == prompt_length(end)
    assert (request["max_tokens"], request["temperature"]) == (cap, 1.0)
    assert request.get("chat_template_kwargs") == (None if body is None else {"enable_thinking": body})
    assert "reasoning_effort" not in request
    manifest = read_manifest(tmp_path / "run")
    score = "thinking" if mode == "on" else "non-thinking"
    assert manifest["variant"] == score
    assert manifest["thinking"] == {
        "mode": mode,
        "kind": kind,
        "prompt": "plain" if end == PLAIN else "thinking",
        "switch": "none" if body is None else "enable_thinking",
        "truncation": None,
    }
    row = rows_from_run(tmp_path / "run").row(0, named=True)
    assert row["variant"] == score
    assert row["tokens"] == (TOKENS if end == PLAIN else THINK_TOKENS)
    facets = {"depth": 0.5, "ort": "Köln", "thinking": mode, "model_kind": kind}
    assert json.loads(row["facets"]) == facets


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"thinking_switch": "type"}, {"thinking": {"type": "enabled"}}),
        ({"thinking_switch": "type", "thinking": "off"}, {"thinking": {"type": "disabled"}}),
        ({"thinking_switch": "thinking"}, {"chat_template_kwargs": {"thinking": True}}),
        ({"thinking_switch": "effort"}, {"reasoning_effort": "medium"}),
        ({"thinking_switch": "effort", "reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        ({"thinking_switch": "effort", "thinking": "off"}, {"reasoning_effort": "none"}),
        ({"thinking_switch": "none"}, {}),
        ({"model": "openai/lab/deep"}, {"chat_template_kwargs": {"thinking": True}}),
        ({"model": "openai-api/lab/m"}, {"chat_template_kwargs": {"enable_thinking": True}}),
        # The user's own fields of the body stay, and go before.
        (
            {"generation": {"extra_body": {"top_k": 3, "chat_template_kwargs": {"lang": "en"}}}},
            {"top_k": 3, "chat_template_kwargs": {"lang": "en", "enable_thinking": True}},
        ),
        (
            {"generation": {"extra_body": {"chat_template_kwargs": {"enable_thinking": "auto"}}}},
            {"chat_template_kwargs": {"enable_thinking": "auto"}},
        ),
    ],
)
def test_the_body_of_the_request_holds_the_switch(
    tmp_path: Path, server: ScriptedServer, options: dict[str, Any], found: dict[str, Any]
) -> None:
    go(make_suite(tmp_path), server, tmp_path / "run", **{"thinking": "on", "model_kind": "mixed"} | options)
    (request,) = server.requests
    names = ("reasoning_effort", "chat_template_kwargs", "thinking", "top_k")
    assert {name: request[name] for name in names if name in request} == found


def test_what_the_table_says_is_sent_and_shown(tmp_path: Path, server: ScriptedServer) -> None:
    shown: list[Preflight] = []

    def confirm(plan: Preflight) -> bool:
        shown.append(plan)
        return True

    suite = make_suite(tmp_path)
    for mode in ("on", "off"):
        go(suite, server, tmp_path / mode, model="openai/lab/Switchable", thinking=mode, confirm=confirm)
    on, off = server.requests
    assert (on["max_tokens"], on["temperature"]) == (50, 0.6)
    assert (off["max_tokens"], off["temperature"]) == (OWN, 0.7)
    # What is cut is the same for both, for replies have room of their own.
    for plan, mode in zip(shown, ("on", "off"), strict=True):
        assert (plan.window, plan.beyond, plan.tokens_in) == (100, 1, 100)
        assert plan.overflow_note == "1 prompt exceeds 100 tokens; such prompts lose their middle"
        assert plan.thinking.startswith(f"thinking {mode}: mixed model, plain prompt, ")
        assert "prompts beyond 100 tokens lose their middle" in plan.thinking
        assert only_reply(tmp_path / mode).reply.truncated == TOKENS - 100 + SEAM
        manifest = read_manifest(tmp_path / mode)
        assert (manifest["window"], manifest["on_overflow"]) == (None, "middle")
        assert manifest["thinking"]["truncation"] == 100
    assert on["messages"] == off["messages"]


def test_the_users_options_go_before_the_table(tmp_path: Path, server: ScriptedServer) -> None:
    suite = make_suite(tmp_path)
    asked: dict[str, Any] = {"model": "openai/switchable", "thinking": "on"}
    go(suite, server, tmp_path / "a", **asked, temperature=0.1, max_output_tokens=30, window=250)
    (request,) = server.requests
    assert (request["max_tokens"], request["temperature"]) == (30, 0.1)
    assert only_reply(tmp_path / "a").reply.truncated == 0
    go(suite, server, tmp_path / "b", **asked, on_overflow="refuse", temperature=None)
    assert len(server.requests) == 1
    reply = only_reply(tmp_path / "b").reply
    assert (reply.status, reply.error) == ("overflow", f"{TOKENS} tokens exceed the window of 100; not sent")
    go(suite, server, tmp_path / "c", **asked, model_kind="instruct", temperature=None)
    assert "temperature" not in server.requests[-1]
    assert "chat_template_kwargs" not in server.requests[-1]
    assert only_reply(tmp_path / "c").reply.truncated == THINK_TOKENS - 100 + SEAM


def test_a_run_without_the_option_is_as_it_was(tmp_path: Path, server: ScriptedServer) -> None:
    go(make_suite(tmp_path), server, tmp_path / "run", model="openai/switchable")
    (request,) = server.requests
    assert request["messages"] == prompt_length(PLAIN)
    assert (request["max_tokens"], request["temperature"]) == (OWN, 0.0)
    assert "chat_template_kwargs" not in request
    manifest = read_manifest(tmp_path / "run")
    assert not {"thinking", "variant"} & set(manifest)
    assert manifest["on_overflow"] == "refuse"
    assert json.loads(rows_from_run(tmp_path / "run")["facets"][0]) == {"depth": 0.5, "ort": "Köln"}


def test_suites_without_such_prompts_have_no_thinking_score_of_instruct_models(
    tmp_path: Path, server: ScriptedServer
) -> None:
    suite = make_suite(tmp_path, thinking=False)
    with pytest.raises(FathomError, match=r"sample 'item0@256' of task short has no thinking prompt"):
        go(suite, server, tmp_path / "run", thinking="on", model_kind="instruct")
    assert server.requests == []
    assert not (tmp_path / "run").exists()
    for mode, kind in [("off", "instruct"), ("on", "mixed"), ("on", "thinking")]:
        go(suite, server, tmp_path / f"{mode}-{kind}", thinking=mode, model_kind=kind)
    assert len(server.requests) == 3


# ------------------------------------------------------------------------------------------- where replies end


@pytest.mark.parametrize(
    ("mode", "kind", "told", "text"),
    [
        ("off", "instruct", ["END"], "First. "),
        ("on", "instruct", None, "First. END Then nine."),
        ("off", "mixed", ["END"], "First. "),
        ("on", "mixed", None, "First. "),
        ("on", "thinking", None, "First. "),
    ],
)
def test_what_ends_an_answer_does_not_end_visible_thoughts(
    tmp_path: Path, server: ScriptedServer, mode: str, kind: str, told: list[str] | None, text: str
) -> None:
    server.script = lambda number, before: completion("First. END Then nine.")
    go(make_suite(tmp_path, task="word"), server, tmp_path / "run", thinking=mode, model_kind=kind)
    assert server.requests[0].get("stop") == told
    assert only_reply(tmp_path / "run").reply.text == text


@pytest.mark.parametrize(
    ("mode", "kind", "options", "status"),
    [
        ("off", "instruct", {}, "ok"),
        ("off", "mixed", {}, "ok"),
        ("off", "mixed", {"max_output_tokens": OWN + 1}, "incomplete"),
        # Thoughts come first, and so half of them is no answer, even where the cap is that of the task.
        ("on", "instruct", {}, "incomplete"),
        ("on", "instruct", {"max_output_tokens": OWN}, "incomplete"),
        ("on", "mixed", {"max_output_tokens": OWN}, "incomplete"),
        ("on", "thinking", {"max_output_tokens": OWN}, "incomplete"),
    ],
)
def test_a_cap_is_part_of_the_task_only_without_thinking(
    tmp_path: Path, server: ScriptedServer, mode: str, kind: str, options: dict[str, Any], status: str
) -> None:
    server.script = lambda number, before: completion("The ferry leaves, it seems to me,", finish="length")
    go(make_suite(tmp_path), server, tmp_path / "run", thinking=mode, model_kind=kind, **options)
    reply = only_reply(tmp_path / "run").reply
    assert (reply.status, reply.text) == (status, "The ferry leaves, it seems to me,")


# --------------------------------------------------------------------------------------------------- reasoning


def with_reasoning(text: str | None, thoughts: str, *, finish: str = "stop", told: int | None = None) -> Act:
    """A reply with its reasoning in the field ``reasoning``, as newer servers name it, and a count or none."""
    body = json.loads(json.dumps(completion(text, finish=finish).body))
    body["choices"][0]["message"]["reasoning"] = thoughts
    if told is not None:
        body["usage"]["completion_tokens_details"] = {"reasoning_tokens": told}
    return Act(body=body)


THOUGHTS = "It says nine twice."  # four tokens, by the tokenizer ``words``
REASONING: dict[str, tuple[Act, str, str, int | None]] = {
    "inline": (completion(f"<think>{THOUGHTS}</think>nine"), "ok", "nine", 4),
    "inline, long name": (completion(f"<thinking>{THOUGHTS}</thinking>\n\nnine"), "ok", "nine", 4),
    "twice": (completion("<think>It says</think><think>nine twice.</think>nine"), "ok", "nine", 4),
    "opened by the template": (completion(f"{THOUGHTS}</think>nine"), "ok", "nine", 4),
    "never closed": (completion(f"<think>{THOUGHTS}"), "incomplete", "", 4),
    "cut": (completion(f"<think>{THOUGHTS}", finish="length"), "incomplete", "", 4),
    "cut, long name": (completion(f"<thinking>{THOUGHTS}", finish="length"), "incomplete", "", 4),
    "cut in the answer": (completion(f"<think>{THOUGHTS}</think>ni", finish="length"), "incomplete", "ni", 4),
    "field": (completion("nine", reasoning=THOUGHTS), "ok", "nine", 4),
    "field alone": (completion(None, reasoning=THOUGHTS), "incomplete", "", 4),
    "field alone, cut": (completion("", reasoning=THOUGHTS, finish="length"), "incomplete", "", 4),
    "newer field": (with_reasoning("nine", THOUGHTS), "ok", "nine", 4),
    "newer field, cut": (with_reasoning(None, THOUGHTS, finish="length"), "incomplete", "", 4),
    # What the provider says counts; 0 beside a text is not said.
    "counted": (with_reasoning("nine", THOUGHTS, told=77), "ok", "nine", 77),
    "miscounted": (with_reasoning("nine", THOUGHTS, told=0), "ok", "nine", 4),
    "none": (completion("nine"), "ok", "nine", None),
}


@pytest.mark.parametrize("form", REASONING)
def test_reasoning_is_parted_from_the_answer_and_counted(tmp_path: Path, server: ScriptedServer, form: str) -> None:
    act, status, text, tokens = REASONING[form]
    server.script = lambda number, before: act
    go(make_suite(tmp_path, task="passkey"), server, tmp_path / "run", thinking="on", model_kind="thinking")
    reply = only_reply(tmp_path / "run").reply
    assert (reply.status, reply.text, reply.tokens_reasoning) == (status, text, tokens)
    assert reply.reasoning.split() == ([] if form == "none" else THOUGHTS.split())
    row = rows_from_run(tmp_path / "run").row(0, named=True)
    assert row["tokens_reasoning"] == tokens
    assert (row["answered"], row["value"]) == (bool(text), 0.0)  # the passkey is another one


def test_thoughts_are_counted_with_the_tokenizer_of_the_suite() -> None:
    assert get_tokenizer("words").count(THOUGHTS) == 4


def test_the_tokenizer_is_loaded_once_and_only_for_thoughts(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def load_once(name: str) -> Tokenizer:
        loaded.append(name)
        return get_tokenizer(name)

    monkeypatch.setattr("fathom.run.request.get_tokenizer", load_once)
    suite = make_suite(tmp_path, 5)
    go(suite, server, tmp_path / "a", thinking="on", model_kind="mixed")
    assert loaded == []
    server.script = lambda number, before: completion("<think>hm</think>nine")
    go(suite, server, tmp_path / "b", thinking="on", model_kind="mixed")
    assert loaded == ["words"]


def test_thoughts_stay_uncounted_where_the_tokenizer_is_not_at_hand(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> Tokenizer:
        raise FathomError("no such tokenizer")

    monkeypatch.setattr("fathom.run.request.get_tokenizer", absent)
    server.script = lambda number, before: completion("nine", reasoning=THOUGHTS)
    go(make_suite(tmp_path), server, tmp_path / "run", thinking="on", model_kind="mixed")
    reply = only_reply(tmp_path / "run").reply
    assert (reply.status, reply.reasoning, reply.tokens_reasoning) == ("ok", THOUGHTS, None)


@pytest.mark.parametrize(
    ("mode", "thoughts", "hint"),
    [("on", "", "should be on, but none of 2"), ("off", "hm", "should be off, but 2 of 2"), ("on", "hm", "")],
)
def test_a_switch_that_the_server_does_not_obey_is_told(
    tmp_path: Path, server: ScriptedServer, mode: str, thoughts: str, hint: str
) -> None:
    server.script = lambda number, before: completion("nine", reasoning=thoughts or None)
    summary = go(make_suite(tmp_path, 2), server, tmp_path / "run", thinking=mode, model_kind="mixed")
    assert [hint in found for found in summary.hints] == ([True] if hint else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "complaint", "named"),
    [
        ("on", "Unrecognized request argument supplied: chat_template_kwargs", "chat_template_kwargs"),
        ("off", "'enable_thinking' is not supported by this template", "enable_thinking"),
        ("on", "temperature must be below 1", ""),
        (None, "what is enable_thinking", ""),
    ],
)
def test_a_server_that_refuses_the_switch_says_what_to_do(
    tmp_path: Path, server: ScriptedServer, mode: str | None, complaint: str, named: str
) -> None:
    server.script = lambda number, before: refusal(400, complaint)
    with pytest.raises(FathomError) as raised:
        go(make_suite(tmp_path), server, tmp_path / "run", thinking=mode, model_kind=mode and "mixed")
    assert complaint in str(raised.value)
    assert ("--thinking-switch" in str(raised.value)) == bool(named)
    assert f"({named} is sent to switch reasoning" in str(raised.value) or not named


# ----------------------------------------------------------------------------------------- folders and variants


def test_modes_do_not_mix_in_a_folder(tmp_path: Path, server: ScriptedServer) -> None:
    suite = make_suite(tmp_path)
    asked: dict[str, Any] = {"temperature": 0.0, "max_output_tokens": 9, "on_overflow": "refuse"}
    go(suite, server, tmp_path / "plain", **asked)
    with pytest.raises(FathomError, match=r"thinking\.mode = None, but thinking.mode = 'off' was requested"):
        go(suite, server, tmp_path / "plain", **asked, thinking="off", model_kind="instruct")
    go(suite, server, tmp_path / "off", **asked, thinking="off", model_kind="instruct")
    with pytest.raises(FathomError, match=r"thinking\.mode = 'off', but thinking.mode = 'on' was requested"):
        go(suite, server, tmp_path / "off", **asked, thinking="on", model_kind="instruct")
    summary = go(suite, server, tmp_path / "off", **asked, thinking="off", model_kind="instruct")
    assert summary.progress is not None
    assert summary.progress.asked == 0


@pytest.mark.parametrize(
    "damage", [{"mode": "maybe"}, {"kind": None}, {"prompt": 3}, {"switch": "button"}, {"truncation": "100"}]
)
def test_a_damaged_mode_is_named(tmp_path: Path, server: ScriptedServer, damage: dict[str, Any]) -> None:
    go(make_suite(tmp_path), server, tmp_path / "run", thinking="off", model_kind="instruct")
    path = tmp_path / "run" / "run.json"
    manifest = json.loads(path.read_text())
    manifest["thinking"] |= damage
    path.write_text(json.dumps(with_checksum(manifest)))  # as a version with a fault would write it
    with pytest.raises(FathomError, match=f"run.json: thinking.{next(iter(damage))} = "):
        rows_from_run(tmp_path / "run")


@pytest.mark.slow
def test_rows_tell_runs_of_one_score_apart_by_what_differs(tmp_path: Path, server: ScriptedServer) -> None:
    suite = make_suite(tmp_path, 2)
    asked: dict[str, dict[str, Any]] = {
        "plain": {},
        "off": {"thinking": "off"},
        "on": {"thinking": "on"},
        "warm": {"thinking": "on", "temperature": 0.5},
        "type": {"thinking": "on", "thinking_switch": "type"},
    }
    for name, options in asked.items():
        kind = {"model_kind": "mixed"} if options else {}
        go(suite, server, tmp_path / name, **kind, **options)

    def variants(*names: str) -> list[str]:
        return load([tmp_path / name for name in names])["variant"].unique(maintain_order=True).to_list()

    assert variants("plain", "off", "on") == ["", "non-thinking", "thinking"]
    assert variants("off", "on", "warm") == ["non-thinking", "thinking, temperature=1.0", "thinking, temperature=0.5"]
    on, other = variants("on", "type")
    assert on.startswith("thinking, extra_body=")
    assert (on.endswith("thinking.switch=enable_thinking"), other.endswith("thinking.switch=type")) == (True, True)


# ------------------------------------------------------------------------------------------------- command line


@pytest.mark.slow
def test_the_command_names_the_folder_and_says_what_it_does(call: Call, tmp_path: Path, server: ScriptedServer) -> None:
    suite = make_suite(tmp_path)
    words = ("run", suite, "-m", "openai/m", "--model-base-url", server.base_url, "--yes")
    code, _, told = call(*words, "--thinking", "on", "--model-kind", "instruct")
    assert code == 0
    line = "thinking on: instruct model, thinking prompt, at most 8,192 output tokens, temperature 1\n"
    assert line in told
    assert call(*words, "--thinking", "off", "--model-kind", "mixed", "--temperature", "0.2")[0] == 0
    assert call(*words)[0] == 0
    found = {
        path.parent.name: json.loads(path.read_text())["generation"]["temperature"]
        for path in (tmp_path / "runs" / suite.name).glob("*/run.json")
    }
    assert found == {"openai-m-thinking": 1.0, "openai-m-non-thinking": 0.2, "openai-m": 0.0}
    code, _, told = call(*words, "--thinking", "on")
    assert code == 2
    assert "openai/m is not in the table" in told
    assert "--model-kind" in told


def test_offline_baselines_think_too(call: Call, tmp_path: Path) -> None:
    suite = make_suite(tmp_path)
    code, printed, _ = call("run", suite, "-m", "fathom/guess", "--thinking", "on", "--model-kind", "instruct", "-y")
    assert code == 0
    assert "1 of 1 replies" in printed
    assert only_reply(tmp_path / "runs" / suite.name / "fathom-guess-thinking").reply.status == "ok"
