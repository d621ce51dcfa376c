"""What replies show about the server: cut prompts, other models, silence, garbage; and parameters that it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from run_suites import make_suite, sample
from scripted_server import Act, ScriptedServer, completion, refusal

from engine_calls import run
from fathom.board.bundles.bundling import bundle_of
from fathom.models.failures import Failure, failure_of
from fathom.models.negotiation import Negotiation
from fathom.models.proxies import check_proxy, proxy_variable
from fathom.models.wire import check_response, normalized
from fathom.rows import rows_from_run
from fathom.runfile.manifest import read_manifest
from fathom.runfile.progress import RunSummary, status
from fathom.runfile.serving import (
    RunTarget,
    ServedReply,
    cut_in,
    cut_prompts,
    notes_on_replies,
    notes_on_server,
    remarks_on_server,
)
from fathom.runfile.store import replies
from fathom.safety.secrets import hide_in_text, strip_keys
from fathom.types import FathomError, Reply

REPLY = ServedReply(("s", 1), "passkey", 4096, 4000, 3600, "ok", head="12345", characters=5)


def asked(lengths: dict[int, float], *, items: int = 4, ratio: float = 0.9, room: int = 10**9) -> list[ServedReply]:
    """Replies of a server that holds so many tokens; prompts differ a little in length."""
    made = []
    for length, share in lengths.items():
        for item in range(items):
            sent = round(length * share) - 3 * item
            counted = min(room, round(ratio * sent) + 30)
            name = f"{item}@{length}"
            head = f"{length + item}"
            made.append(
                replace(
                    REPLY,
                    head=head,
                    key=(name, 1),
                    length=length,
                    sent=sent,
                    counted=counted,
                    prompt=name,
                    target=str(item),
                )
            )
    return made


@pytest.mark.parametrize("ratio", [0.45, 0.7, 0.9, 1.1, 1.6])
@pytest.mark.parametrize("lengths", [[1024], [4096], [512, 1024, 2048], [1024, 4096], [4096, 8192, 131072]])
def test_whole_prompts_are_never_called_cut(ratio: float, lengths: list[int]) -> None:
    assert cut_prompts(asked(dict.fromkeys(lengths, 0.99), ratio=ratio)) == {}


@pytest.mark.parametrize(
    ("lengths", "room", "cut"),
    [
        ([1024, 4096], 2048, {4096}),
        ([2048, 4096], 2048, {4096}),
        ([4096, 8192], 2048, {4096, 8192}),
        ([4096, 8192], 4050, {8192}),
        ([1024, 2048, 4096, 8192], 3000, {4096, 8192}),
        ([4096], 2048, {4096}),
        ([131072], 32768, {131072}),
    ],
)
@pytest.mark.parametrize("ratio", [0.9, 1.0, 1.2])
def test_prompts_of_servers_with_less_room_are_called_cut(
    lengths: list[int], room: int, cut: set[int], ratio: float
) -> None:
    made = asked(dict.fromkeys(lengths, 0.99), ratio=ratio, room=room)
    truly = {reply.key for reply in made if reply.counted == room}
    assert set(cut_prompts(made)) == truly
    assert {prompt.length for prompt in cut_prompts(made).values()} >= cut
    assert "tokens arrived, so that length is not scored" in str(notes_on_server(made)[0])


def test_longer_prompts_of_which_less_arrives_are_called_cut() -> None:
    """Each of the longer prompts is cut to a length of its own, well below the highest count."""
    shorter, longer = asked({1024: 0.99, 4096: 0.99})[:4], asked({1024: 0.99, 2048: 0.99})[4:]
    cut = [replace(reply, counted=500 + 70 * at) for at, reply in enumerate(longer)]
    assert set(cut_prompts([*shorter, *cut])) == {reply.key for reply in cut}


def constant(made: list[ServedReply], more: int) -> list[ServedReply]:
    return [replace(reply, counted=(reply.counted or 0) + more) for reply in made]


HONEST = {
    "only what no cache has is counted": [
        replace(reply, counted=60 if reply.key[0] > "1" else reply.counted) for reply in asked({1024: 0.99, 4096: 0.99})
    ],
    "one document, counted once": [
        replace(reply, counted=8000 if number == 0 else 260)
        for number, reply in enumerate(asked({8192: 0.99}, items=9))
    ],
    "nothing is counted": [replace(reply, counted=None) for reply in asked({1024: 0.99, 4096: 0.99})],
    "a placeholder": [replace(reply, counted=1) for reply in asked({1024: 0.99, 4096: 0.99})],
    "a system prompt": constant(asked({1024: 0.99, 32768: 0.99}), 520),
    "a long system prompt": constant(asked({4096: 0.99, 131072: 0.99}), 2000),
    "a suite that counts characters": asked({1024: 0.99, 8192: 0.99, 32768: 0.99}, ratio=0.22),
    "follow-ups at a short length": [*constant(asked({2048: 0.99}), 1300), *asked({32768: 0.99}), *asked({8192: 0.99})],
    "questions without context": [
        *(replace(reply, length=0, sent=60, counted=210) for reply in asked({1024: 0.99})),
        *asked({8192: 0.99, 32768: 0.99}, ratio=0.85),
    ],
    "two languages": [
        *asked({2048: 0.99}, items=1, ratio=1.02),
        *(replace(reply, language="zh") for reply in asked({131072: 0.99}, items=1, ratio=0.62)),
    ],
    "tasks of other texts": [
        *(replace(reply, task="kv") for reply in asked({4096: 0.99}, ratio=2.0)),
        *asked({8192: 0.99}, ratio=1.0),
    ],
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_counts_of_odd_servers_are_not_called_cut(name: str) -> None:
    assert cut_prompts(HONEST[name]) == {}


def test_a_server_that_cuts_by_characters_is_found_by_the_length_before() -> None:
    whole = asked({512: 0.99}, items=3, ratio=1.05)
    cut = [replace(reply, counted=560 + 20 * at) for at, reply in enumerate(asked({1024: 0.99, 2048: 0.99}, items=3))]
    assert {reply.length for reply in cut if reply.key in cut_prompts([*whole, *cut])} == {1024, 2048}
    assert not {reply.key for reply in whole} & set(cut_prompts([*whole, *cut]))


def kinds(*made: ServedReply) -> list[str]:
    return [note.kind for note in notes_on_server(made)]


def test_other_models_silence_and_garbage_are_noted() -> None:
    plain = [replace(reply, served="m fp_1") for reply in asked({4096: 0.99}, items=6)]
    assert kinds(*plain) == []
    assert kinds(*plain[:3], *(replace(reply, served="m fp_2") for reply in plain[3:])) == ["fingerprints"]
    other = notes_on_server([*plain[:4], *(replace(reply, served="tiny") for reply in plain[4:])])
    assert [note.kind for note in other] == ["models"]
    assert "2 models answered (m 4, tiny 2; by reply in the column 'served' of rows)" in str(other[0])
    capped = notes_on_server([*plain[2:], *(replace(reply, stop="max_tokens") for reply in plain[:2])])
    assert list(map(str, capped)) == [
        "2 replies were cut off at the output cap of the task (passkey 2) and scored as it stands"
    ]
    silent = replace(plain[0], head="", characters=0)
    assert kinds(*plain[1:], silent) == ["empty"]
    assert remarks_on_server([*plain[1:], silent]) == ("1 of them empty",)
    assert kinds(*plain[1:], replace(silent, status="incomplete", reasoned=True)) == ["hidden"]
    assert kinds(*plain[1:], replace(silent, status="incomplete", reasoned=True, stop="max_tokens")) == []
    assert kinds(*(replace(reply, head="!" * 300, characters=2000) for reply in plain)) == ["garbage"]
    loop = ("the very same words " * 20)[:300]
    assert kinds(*(replace(reply, head=loop, characters=2000) for reply in plain[:4])) == ["loops"]
    assert kinds(*(replace(reply, head="12345 it is") for reply in plain)) == ["equal"]
    assert kinds(*(replace(reply, head="A", target="A") for reply in plain)) == []
    marked = [replace(reply, head=f"<ponder>{at}") for at, reply in enumerate(plain)]
    assert kinds(*marked) == ["marks"]
    uncounted = [replace(reply, counted=None, head=str(at)) for at, reply in enumerate(plain)]
    assert kinds(*uncounted) == ["uncounted"]


def noted(made: list[ServedReply], **asked_of: str) -> list[str]:
    return [note.kind for note in notes_on_server(made, RunTarget(**asked_of))]


@pytest.mark.parametrize(
    ("asked_for", "served", "other"),
    [
        ("openai/gpt-4o", "gpt-4o-2024-08-06", False),
        ("openai/gpt-4o", "gpt-4o-mini-2024-07-18", True),
        ("openai/Qwen/Qwen2.5-72B-Instruct", "qwen/qwen-2.5-72b-instruct", False),
        ("openai/Qwen/Qwen2.5-72B-Instruct", "Qwen2.5-0.5B-Instruct-Q4_K_M.gguf", True),
        ("openai/mine", "/models/mine.gguf", False),
        ("openai/mine", "default", False),
        ("anthropic/claude-sonnet-4-5", "claude-haiku-4-5-20251001", True),
        ("", "anything", False),
    ],
)
def test_a_server_that_names_another_model_in_every_reply_is_noted(asked_for: str, served: str, other: bool) -> None:
    made = [replace(reply, served=served) for reply in asked({4096: 0.99}, items=6)]
    assert noted(made, model=asked_for) == (["other"] if other else [])


@pytest.mark.parametrize(
    ("tokenizer", "ratio", "low"),
    [
        ("tekken", 0.5, True),
        ("tekken", 0.8, False),
        ("chars", 0.22, False),
        ("tiktoken:o200k_base", 0.8, True),
        ("hf:acme/Mine-7B", 0.8, True),
        ("hf:acme/Mine-7B", 1.0, False),
        ("", 0.3, False),
    ],
)
def test_counts_below_those_of_any_tokenizer_are_noted(tokenizer: str, ratio: float, low: bool) -> None:
    made = asked({1024: 0.99, 4096: 0.99}, ratio=ratio)
    name = "openai/gpt-4o-2024-08-06" if tokenizer.startswith("tik") else "openai/mine-7b"
    assert noted(made, model=name, tokenizer=tokenizer) == (["low"] if low else [])


def test_prompts_of_one_length_that_are_cut_by_different_shares_are_noted() -> None:
    whole = asked({2048: 0.99}, items=12, ratio=1.1)
    cut = [replace(reply, counted=round((0.4 + 0.04 * at) * (reply.counted or 0))) for at, reply in enumerate(whole)]
    assert noted(whole) == []
    assert noted(cut) == ["uneven"]
    assert set(cut_prompts([*asked({1024: 0.99}, ratio=1.35), *cut])) == {reply.key for reply in cut}


# ------------------------------------------------------------------------------------------------- through a run


def go(suite: Path, server: ScriptedServer, out: Path, **options: object) -> RunSummary:
    arguments: dict[str, object] = {"max_output_tokens": 50, "backoff": 0.002, "retries": 1, "timeout": 30.0}
    return run(suite, "openai/scripted", out=out, **arguments | {"model_base_url": server.base_url} | options)


def test_a_cut_prompt_is_an_overflow_everywhere_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(range(900, 906))  # prompts of the suite that are not equally long
    monkeypatch.setattr("run_suites.sample", lambda *given: replace(sample(*given), tokens=next(tokens)))
    suite = make_suite(tmp_path, 6)
    with ScriptedServer(lambda number, before: completion("nine", tokens_in=400)) as server:
        summary = go(suite, server, tmp_path / "run")
    stored = list(replies(tmp_path / "run"))
    assert {row.reply.status for row in stored} == {"overflow"}
    assert "the server cut the prompt: 400 of about" in stored[0].reply.error
    assert any("the server cut 6 prompts" in hint for hint in summary.hints)
    assert "6 to prompts that the server cut" in str(summary)
    assert "the server cut 6 prompts" in status(tmp_path / "run").facts()["server"]
    rows = rows_from_run(tmp_path / "run")
    assert rows["value"].null_count() == 6


def test_the_models_that_answered_are_stored_and_recorded(tmp_path: Path) -> None:
    def by_turns(number: int, before: int) -> Act:
        return completion("nine", model="scripted" if number % 2 else "tiny fallback", system_fingerprint="fp_1")

    with ScriptedServer(by_turns) as server:
        summary = go(make_suite(tmp_path, 4), server, tmp_path / "run")
    assert read_manifest(tmp_path / "run")["observed"]["served"] == {"scripted": 2, "tiny_fallback": 2}
    assert any("2 models answered" in hint for hint in summary.hints)


REFUSALS = {
    "max_tokens": refusal(400, "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'."),
    "temperature": refusal(400, "'temperature' does not support 0.0 here. Only the default (1) is supported"),
    "seed": refusal(422, "body.seed: Extra inputs are not permitted"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_parameter_is_left_out_of_all_requests(tmp_path: Path, name: str) -> None:
    def refuses_once(number: int, before: int) -> Act:
        return REFUSALS[name] if (number, before) == (0, 0) else completion("9")

    with ScriptedServer(refuses_once) as server:
        summary = go(make_suite(tmp_path, 5), server, tmp_path / "run", max_connections=1)
        assert server.prompts == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1}
        sent = server.requests
    assert name in sent[0]
    assert all(name not in body for body in sent[1:])
    other = "max_completion_tokens" if name == "max_tokens" else ""
    assert read_manifest(tmp_path / "run")["observed"]["negotiated"] == {name: other}
    assert all(body.get(other) == 50 for body in sent[1:] if other)
    assert any(f"the server refuses {name}" in hint for hint in summary.hints)
    assert summary.progress is not None
    assert summary.progress.counts["ok"] == 5


def test_the_first_request_is_alone_so_that_a_parameter_is_refused_once(tmp_path: Path) -> None:
    refused: list[dict[str, Any]] = []

    def refuses(number: int, before: int) -> Act:
        body = server.requests[-1]
        if "seed" in body:
            refused.append(body)
            return refusal(500, "unknown field: seed")
        return completion("9")

    with ScriptedServer(refuses) as server:
        summary = go(make_suite(tmp_path, 12), server, tmp_path / "run", max_connections=8)
    assert len(refused) == 1
    assert summary.progress is not None
    assert summary.progress.counts["ok"] == 12


def test_what_the_user_chose_is_not_given_up(tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda number, before: REFUSALS["temperature"]) as server,
        pytest.raises(FathomError, match="give another `temperature`, or leave the option out"),
    ):
        go(make_suite(tmp_path, 2), server, tmp_path / "run", temperature=0.0)


def test_what_is_learned_from_failures() -> None:
    def learned(message: str, kind: str = "bad") -> dict[str, str]:
        negotiation = Negotiation()
        negotiation.learn(Failure(kind, message), {})  # type: ignore[arg-type]
        return negotiation.changes

    assert learned("Unknown parameter: 'stop'") == {"stop": ""}
    assert learned("Use max_tokens: max_completion_tokens is unknown") == {"max_completion_tokens": "max_tokens"}
    assert learned("max_tokens is too large: 256. This model supports at most 40") == {}
    assert learned("invalid temperature: only 1 is allowed for this model") == {"temperature": ""}
    assert learned("Unknown parameter: 'stop'", "busy") == {"stop": ""}  # some servers answer 500
    assert learned("Unknown parameter: 'stop'", "silent") == {}
    assert learned("'max_tokens' must be at least 1, got -500") == {}
    assert learned("Use 'max_completion_tokens' instead of 'max_tokens', which is not supported") == {
        "max_tokens": "max_completion_tokens"
    }
    assert learned("[{'type': 'extra_forbidden', 'loc': ['body', 'seed'], 'input': {'temperature': 0}}]") == {
        "seed": ""
    }
    for about in (
        "Invalid model name: ByteDance/Seed-OSS-36B",
        "The model 'bytedance-seed/seed-1.6' does not support image input",
        "Invalid request; the worker was asked to stop",
        "Conversation roles must be alternating; stop at user",
        "Invalid body: {'temperature': 0.0, 'seed': 1}",
    ):
        assert learned(about) == {}
    twice = Negotiation()
    assert twice.learn(Failure("bad", "Unknown parameter: 'stop'"), {})
    assert not twice.learn(Failure("bad", "Unknown parameter: 'stop'"), dict(twice.changes))
    assert twice.changes == {}
    assert learned("the seed of the story is good") == {}
    assert Negotiation().advice(Failure("bad", "max_tokens is too large: 256")) == "lower `max_output_tokens`"
    both = Negotiation(changes={"max_tokens": "max_completion_tokens"})
    assert not both.learn(Failure("bad", "max_completion_tokens is not supported"), dict(both.changes))


# ------------------------------------------------------------------------------------------- bodies, keys, proxies


def test_reasoning_is_read_wherever_servers_put_it() -> None:
    def reasoning(**message: object) -> object:
        body: Any = {
            "choices": [{"message": {"role": "assistant", "content": "9", **message}, "finish_reason": "stop"}]
        }
        return normalized(body)["choices"][0]["message"].get("reasoning_content")

    for name in ("thinking", "thoughts", "reasoning_text"):
        assert reasoning(**{name: "hm"}) == "hm"
    assert reasoning(thinking_blocks=[{"type": "thinking", "thinking": "hm"}]) == "hm"
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "9"}]
    assert reasoning(content=parts) == "hm"
    assert reasoning() is None


class _Response:
    status_code = 200
    headers: ClassVar = {"content-type": "text/event-stream"}

    class request:  # noqa: N801
        content = b"{}"

        class url:  # noqa: N801
            path = "/v1/chat/completions"

    def __init__(self, body: bytes) -> None:
        self._body, self._content = body, b""

    async def aiter_bytes(self, size: int | None = None):  # type: ignore[no-untyped-def]
        yield self._body


def test_a_stream_that_nobody_asked_for_is_read() -> None:
    events = [
        {"model": "m", "choices": [{"delta": {"role": "assistant", "content": "ni"}}]},
        {"model": "m", "choices": [{"delta": {"content": "ne"}, "finish_reason": "stop"}]},
        {"model": "m", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}},
    ]
    body = ": keep-alive\n\n" + "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    response = _Response(body.encode())
    asyncio.run(check_response(response))
    read = json.loads(response._content)
    assert read["choices"][0]["message"]["content"] == "nine"
    assert (read["choices"][0]["finish_reason"], read["usage"]["prompt_tokens"]) == ("stop", 7)


def test_keys_are_stripped_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " my/gateway+key:0123456789/abcdefghij==\n")
    shown = hide_in_text(r"Illegal header value b'Bearer my/gateway+key:0123456789/abcdefghij==\n'")
    assert "0123456789" not in shown
    strip_keys("openai/m")
    assert os.environ["OPENAI_API_KEY"] == "my/gateway+key:0123456789/abcdefghij=="
    monkeypatch.setenv("OPENAI_API_KEY", "first-half\nsecond-half")
    with pytest.raises(FathomError, match="the key in OPENAI_API_KEY has a line break"):
        strip_keys("openai-api/openai/m")


def test_proxies_are_named_before_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert check_proxy("http://127.0.0.1:8000/v1") == ""
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(FathomError, match=r"ALL_PROXY names a SOCKS proxy.*NO_PROXY=127\.0\.0\.1"):
        check_proxy("http://127.0.0.1:8000/v1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert (check_proxy("http://127.0.0.1:8000/v1"), proxy_variable("http://127.0.0.1:8000")) == ("", "")
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert "go through the proxy of ALL_PROXY; set NO_PROXY=localhost" in check_proxy("http://localhost:8000/v1")


def test_a_request_that_no_rate_lets_through_is_final() -> None:
    message = "Request too large for `m` on tokens per min (TPM): Limit 3000, Requested 3658"
    failure = failure_of(429, message)
    assert failure is not None
    assert failure.kind == "bad"
    waiting = failure_of(429, "Rate limit reached for m on tokens per min (TPM): Limit 3000, Used 2900")
    assert waiting is not None
    assert waiting.kind == "busy"
    large = failure_of(500, "Input is too large to process. Increase the context length.")
    assert large is not None
    assert large.kind == "overflow"


def test_doctor_and_bundles_know_when_several_models_answer(tmp_path: Path) -> None:
    made = [Reply("ok", f"{number}", served="m" if number % 3 else "tiny") for number in range(6)]
    assert [note.kind for note in notes_on_replies(made)] == ["models"]
    assert notes_on_replies([replace(reply, served="m") for reply in made]) == ()
    with ScriptedServer(lambda number, before: completion("nine", model="ab"[number % 2])) as server:
        go(make_suite(tmp_path, 4), server, tmp_path / "run", max_connections=1)
    with pytest.raises(
        FathomError, match=r"2 models answered \(a, b\), so the scores are of none of them \(`fathom rows` names"
    ):
        bundle_of([tmp_path / "run"])


@pytest.mark.parametrize("room", [10**9, 2048, 3000])
@pytest.mark.parametrize("lengths", [[4096], [1024, 4096], [4096, 8192]])
def test_the_sums_that_spare_a_second_reading_miss_nothing(lengths: list[int], room: int) -> None:
    made = asked(dict.fromkeys(lengths, 0.99), ratio=0.9, room=room)
    with closing(sqlite3.connect(":memory:")) as db:
        columns = "sample, epoch, task, length, tokens, truncated, tokens_in, status, prompt_hash, language"
        db.execute(f"CREATE TABLE replies ({columns})")
        for reply in made:
            row = (*reply.key, reply.task, reply.length, reply.sent, 0, reply.counted, "ok", reply.prompt, "")
            db.execute("INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        assert cut_in(Path("none"), db) == cut_prompts(made)
