"""A run against a server that does everything a server can do wrong ends with every sample under the right status."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from run_suites import make_suite
from scripted_server import Act, ScriptedServer, completion, refusal

from engine_calls import run
from fathom.models.failures import Failure, retry_after
from fathom.models.overflow import Overflow
from fathom.models.protocol import Call, RequestError
from fathom.models.retry import Health, Retry, ask
from fathom.run import Progress, RunSummary, StoredReply, read_manifest, replies
from fathom.types import FathomError, Reply

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


LONG = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"
FILTER = "The response was filtered due to the prompt triggering the content management policy."


def first_then_well(act: Act) -> Callable[[int], Act]:
    return lambda before: act if before == 0 else completion("nine")


# Name of the fault -> what the server does at attempt n, and what must stand in the store.
FAULTS: dict[str, tuple[Callable[[int], Act], str, str]] = {
    "429 with Retry-After": (first_then_well(refusal(429, "slow", headers={"Retry-After-Ms": "5"})), "ok", "nine"),
    "429": (first_then_well(refusal(429, "slow")), "ok", "nine"),
    "500 once": (first_then_well(refusal(500, "oops")), "ok", "nine"),
    "500 always": (lambda before: refusal(500, "oops"), "error", ""),
    "408": (first_then_well(refusal(408, "late")), "ok", "nine"),
    "409": (first_then_well(refusal(409, "clash")), "ok", "nine"),
    "cut once": (first_then_well(Act(body={"x": "y" * 500}, cut=True)), "ok", "nine"),
    "cut always": (lambda before: Act(body={"x": "y" * 500}, cut=True), "error", ""),
    "garbage once": (first_then_well(Act(body="<html>")), "ok", "nine"),
    "garbage always": (lambda before: Act(body="<html>"), "error", ""),
    "no choice once": (first_then_well(Act(body={"choices": []})), "ok", "nine"),
    "a gateway's error once": (first_then_well(Act(body={"error": {"message": "overloaded"}})), "ok", "nine"),
    "other JSON": (lambda before: Act(body={"foo": 1}), "error", ""),
    "bad request": (lambda before: refusal(400, "unknown parameter"), "error", ""),
    "too long, OpenAI": (lambda before: refusal(400, LONG, code="context_length_exceeded"), "overflow", ""),
    "too long, vLLM": (lambda before: refusal(400, LONG), "overflow", ""),
    "too long, Anthropic": (lambda before: refusal(400, "prompt is too long: 9 > 8 maximum"), "overflow", ""),
    "too long, llama.cpp": (lambda b: refusal(400, "the request exceeds the available context size"), "overflow", ""),
    "too large": (lambda before: refusal(413, "Payload Too Large"), "overflow", ""),
    "filter": (lambda before: completion("", finish="content_filter"), "refused", ""),
    "filter, Azure": (lambda before: refusal(400, FILTER, code="content_filter"), "refused", ""),
    "empty": (lambda before: completion(""), "ok", ""),
    "no answer": (lambda before: completion(None, reasoning="Let me see"), "incomplete", ""),
    "cut thought": (lambda before: completion("<think>Let me", finish="length"), "incomplete", ""),
    "cap": (lambda before: completion("", finish="length"), "incomplete", ""),
    "thought": (lambda before: completion("<think>Let me</think>nine"), "ok", "nine"),
    "runs on": (lambda before: completion("nine, and", finish="length"), "incomplete", "nine, and"),
}
NAMES = tuple(FAULTS)


def fault_of(number: int) -> str | None:
    """Three samples in ten are faulty, each fault in turn."""
    return NAMES[(number // 10 * 3 + number % 10 - 7) % len(NAMES)] if number % 10 >= 7 else None


def faulty(number: int, before: int) -> Act:
    name = fault_of(number)
    return FAULTS[name][0](before) if name else completion(f"answer {number}")


def go(suite: Path, server: ScriptedServer, out: Path, **options: object) -> RunSummary:
    arguments: dict[str, object] = {"max_output_tokens": 50, "backoff": 0.002, "retries": 3, "timeout": 30.0}
    arguments |= {"model_base_url": server.base_url} | options
    return run(suite, "openai/scripted", out=out, **arguments)


def by_number(out: Path) -> dict[int, StoredReply]:
    return {int(row.item.removeprefix("item")): row for row in replies(out)}


@pytest.mark.slow
def test_300_samples_with_30_percent_faults(tmp_path: Path) -> None:
    with ScriptedServer(faulty) as server:
        summary = go(make_suite(tmp_path, 300), server, tmp_path / "run")
    rows = by_number(tmp_path / "run")
    assert sorted(rows) == list(range(300))
    expected: Counter[str] = Counter()
    for number, row in rows.items():
        name = fault_of(number)
        _, status, text = FAULTS[name] if name else (None, "ok", f"answer {number}")
        assert (name, row.reply.status, row.reply.text) == (name, status, text)
        assert bool(row.reply.error) == (status != "ok")
        expected[status] += 1
        assert row.reply.attempts == server.prompts[number]
    assert summary.progress is not None
    assert {k: v for k, v in summary.progress.counts.items() if v} == expected
    assert {fault_of(number) for number in rows} == {None, *NAMES}
    assert server.most_in_flight <= 16


def test_retries_are_as_many_as_asked_and_hopeless_ones_none(tmp_path: Path) -> None:
    acts = (completion("well"), refusal(503, "down"), refusal(400, "no"), refusal(404, "none"), refusal(403, "no"))
    with ScriptedServer(lambda number, before: acts[number]) as server:
        go(make_suite(tmp_path, 5), server, tmp_path / "run", retries=2, max_connections=1)
    assert server.prompts == {0: 1, 1: 3, 2: 1, 3: 1, 4: 1}


@pytest.mark.slow
def test_a_request_that_hangs_is_given_up(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        go(make_suite(tmp_path, 1), server, tmp_path / "warm")  # the first request loads libraries
        server.prompts.clear()
        server.script = lambda number, before: Act(hang=True) if number == 1 and before == 0 else completion("well")
        go(make_suite(tmp_path, 2), server, tmp_path / "run", timeout=1.0)
    rows = by_number(tmp_path / "run")
    assert [rows[n].reply.status for n in (0, 1)] == ["ok", "ok"]
    assert rows[1].reply.attempts == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_denied_first_request_stops_the_run(tmp_path: Path, server: ScriptedServer, status: int) -> None:
    server.script = lambda number, before: refusal(status, "no such key or model")
    with pytest.raises(FathomError, match=r"denies the requests.*no such key or model"):
        go(make_suite(tmp_path, 50), server, tmp_path / "run", max_connections=2)
    assert server.prompts[-1] == 1  # a tiny prompt, which was denied too
    assert sum(server.prompts.values()) <= 3
    assert by_number(tmp_path / "run") == {}


@pytest.mark.slow
def test_a_dead_server_stops_the_run_and_leaves_samples_pending(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 60)
    with ScriptedServer() as server:
        go(suite, server, tmp_path / "run", limit=20)
    with pytest.raises(FathomError, match=r"does not answer.*to resume"):
        go(suite, server, tmp_path / "run")
    assert len(by_number(tmp_path / "run")) == 20
    with ScriptedServer() as again:
        go(suite, again, tmp_path / "run")
    assert sorted(again.prompts) == list(range(20, 60))
    assert {row.reply.status for row in replies(tmp_path / "run")} == {"ok"}


@pytest.mark.slow
def test_a_server_that_answers_garbage_stops_the_run(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: Act(body={"foo": 1})
    with pytest.raises(FathomError, match="first 20 samples all failed"):
        go(make_suite(tmp_path, 100), server, tmp_path / "run", retries=0, max_connections=1)
    with pytest.raises(FathomError, match=r"all 3 samples failed.*to retry them"):
        go(make_suite(tmp_path, 100), server, tmp_path / "few", retries=0, limit=3)


@pytest.mark.slow
def test_errors_are_asked_again_at_the_next_start_and_nothing_else(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 100)
    with ScriptedServer(faulty) as server:
        summary = go(suite, server, tmp_path / "run")
    assert any("samples failed, the last one with: " in hint for hint in summary.hints)
    failed = {number for number, row in by_number(tmp_path / "run").items() if row.reply.status == "error"}
    assert failed
    with ScriptedServer() as well:
        go(suite, well, tmp_path / "run")
    assert set(well.prompts) == failed
    assert all(by_number(tmp_path / "run")[number].reply.status == "ok" for number in failed)


class Faulty:
    """A client that fails as it is told, then answers."""

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, *failures: Failure) -> None:
        self.failures = list(failures)

    async def complete(self, prompt: str, call: Call) -> Reply:
        if self.failures:
            raise RequestError(self.failures.pop(0))
        return Reply(status="ok", text="nine")

    async def close(self) -> None: ...


def waits(*failures: Failure, **options: float) -> list[float]:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    retry = Retry(retries=10, sleep=sleep, rng=Random(1), **options)
    asyncio.run(ask(Faulty(*failures), "", Call("a", 1, 0, 5), retry, Health()))
    return slept


def test_backoff_doubles_with_jitter_up_to_a_cap() -> None:
    slept = waits(*[Failure("busy", "")] * 8, first=1.0, longest=20.0)
    for seconds, middle in zip(slept, (1, 2, 4, 8, 16, 20, 20, 20), strict=True):
        assert 0.75 * middle <= seconds <= 1.25 * middle
    assert len(set(slept)) == len(slept)


def test_retry_after_is_obeyed() -> None:
    slept = waits(Failure("busy", "", 7.0), Failure("busy", "", 900.0), first=1.0)
    assert 7.0 <= slept[0] <= 7.5
    assert 900.0 <= slept[1] <= 900.5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=60.0) == seconds


# ---------------------------------------------------------------------------------------- what is sent, and to whom


def test_options_pass_through_and_epochs_differ_in_seed(tmp_path: Path, server: ScriptedServer) -> None:
    go(
        make_suite(tmp_path, 2),
        server,
        tmp_path / "run",
        epochs=3,
        seed=40,
        temperature=0.5,
        generation={"top_p": 0.9, "stop_seqs": ["END"]},
    )
    sent = sorted((request["seed"], request["temperature"], request["top_p"]) for request in server.requests)
    assert sent == [(seed, 0.5, 0.9) for seed in (40, 40, 41, 41, 42, 42)]
    assert all(request["max_tokens"] == 50 and request["stop"] == ["END"] for request in server.requests)
    assert "no-key-needed" in server.headers[0]


def test_what_is_recorded_is_what_is_sent(tmp_path: Path, server: ScriptedServer) -> None:
    options: dict[str, object] = {"temperature": 0.25, "seed": 7, "reasoning_effort": "low"}
    options["generation"] = {"top_p": 0.9, "frequency_penalty": 0.5, "presence_penalty": 0.125}
    go(make_suite(tmp_path, 1), server, tmp_path / "run", **options)
    recorded = read_manifest(tmp_path / "run")["generation"]
    assert len(recorded) == 7
    sent = server.requests[0]
    for name, value in recorded.items():
        known = sent.get({"max_output_tokens": "max_tokens"}.get(name, name))
        assert (name, known) == (name, value)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("temperature", "use `temperature`"),
        ("seed", "use `seed`"),
        ("max_tokens", "use `max_output_tokens`"),
        ("reasoning_effort", "use `reasoning_effort`"),
        ("reasoning_tokens", "use `reasoning_tokens`"),
        ("max_retries", "use `retries`"),
        ("max_connections", "use `max_connections`"),
        ("adaptive_connections", "use `max_connections`"),
        ("timeout", "use `timeout`"),
        ("attempt_timeout", "use `timeout`"),
        ("stream_idle_timeout", "use `timeout`"),
        ("cache", "use `epochs`"),
        ("batch", "use `batch`"),
        ("num_choices", "use `epochs`"),
    ],
)
def test_generation_options_with_an_option_of_their_own_are_refused(
    tmp_path: Path, server: ScriptedServer, name: str, use: str
) -> None:
    with pytest.raises(FathomError, match=f"`generation` {name}: .*{use}"):
        go(make_suite(tmp_path, 1), server, tmp_path / "run", generation={name: 1})
    assert not server.requests
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_many_incomplete_replies_are_a_hint(tmp_path: Path) -> None:
    cut = completion("nine, and", finish="length")
    with ScriptedServer(lambda number, before: cut if number < 2 else completion("nine")) as server:
        many = go(make_suite(tmp_path, 30), server, tmp_path / "many")
        few = go(make_suite(tmp_path, 30), server, tmp_path / "few", limit=1)
        server.script = lambda number, before: cut if number < 1 else completion("nine")
        rare = go(make_suite(tmp_path, 30), server, tmp_path / "rare")
    assert "2 of 30 replies are incomplete" in many.hints[0]
    assert "raise --max-output-tokens" in few.hints[0]
    assert rare.hints == ()
    assert {row.reply.text for row in replies(tmp_path / "few")} == {"nine, and"}


@pytest.mark.slow
def test_errors_asked_again_are_counted_once(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 4)
    with ScriptedServer(lambda number, before: refusal(400, "no") if number else completion("nine")) as server:
        go(suite, server, tmp_path / "run")
        server.script = lambda number, before: completion("nine")
        states: list[Progress] = []
        summary = go(suite, server, tmp_path / "run", progress=states.append)
    assert [(state.finished, state.total) for state in states] == [(4, 4)] * 3
    assert summary.progress is not None
    assert {name: count for name, count in summary.progress.counts.items() if count} == {"ok": 4}


def test_no_temperature_is_sent_where_it_is_left_to_the_provider(tmp_path: Path, server: ScriptedServer) -> None:
    go(make_suite(tmp_path, 1), server, tmp_path / "run", temperature=None)
    assert "temperature" not in server.requests[0]


def test_usage_is_kept(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: completion("nine", tokens_in=300, tokens_out=7)
    go(make_suite(tmp_path, 1), server, tmp_path / "run")
    reply = by_number(tmp_path / "run")[0].reply
    assert (reply.tokens_in, reply.tokens_out, reply.stop, reply.attempts) == (300, 7, "stop", 1)
    assert reply.seconds > 0


def test_more_tokens_than_allowed_stop_the_run_politely(tmp_path: Path, server: ScriptedServer) -> None:
    """The forecast was within the limit; the provider counts more than the suite."""
    server.script = lambda number, before: completion("nine", tokens_in=10_000)
    with pytest.raises(FathomError, match=r"stopped: .* tokens used, `max_tokens_total` is 20,000"):
        go(make_suite(tmp_path, 40), server, tmp_path / "run", max_tokens_total=20_000, max_connections=2)
    kept = len(by_number(tmp_path / "run"))
    assert 2 <= kept <= 4
    assert sum(server.prompts.values()) == kept


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("openai/gpt-5", {}, r"gpt-5': no key: set the environment variable OPENAI_API_KEY, or give `model_base_url`"),
        ("nobody/model", {}, "unknown provider 'nobody'; expected PROVIDER/NAME.*fathom list models"),
        ("model", {}, "no provider named; expected PROVIDER/NAME.*fathom list models"),
        ("openai/x", {"generation": {"topp": 1}}, "unknown generation option 'topp'"),
        ("openai/x", {"generation": {"top_p": "much"}}, "bad generation option: top_p"),
    ],
)
def test_models_that_cannot_be_opened_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, options: dict[str, object], message: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(FathomError, match=message):
        run(make_suite(tmp_path, 1), model, out=tmp_path / "run", max_output_tokens=5, **options)
    assert not (tmp_path / "run").exists()
