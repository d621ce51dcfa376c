"""One prompt that fails, in whatever way, is one sample's error: a run ends only where the server answers nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fault_server import well
from order_suites import make_order_suite
from run_suites import make_suite
from scripted_likelihood import LikelihoodServer
from scripted_server import Act, ScriptedServer, refusal
from test_run_faults import by_number, go

from engine_calls import likelihood, run
from fathom.models.failures import Failure
from fathom.models.overflow import Overflow
from fathom.models.protocol import PROBE, TINY_PROMPT, Call, RequestError
from fathom.models.retry import Health, Retry, ask, in_words
from fathom.run import replies, status
from fathom.types import FathomError, Reply

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


# -------------------------------------------------------------------------------------------------- one sample's fault


class Odd:
    """A client that raises what it is told, for one sample."""

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, error: BaseException, sample: str = "item1@256") -> None:
        self.error, self.sample = error, sample

    async def complete(self, prompt: str, call: Call) -> Reply:
        if call.sample == self.sample:
            raise self.error
        return Reply(status="ok", text="nine")

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    "error", [OverflowError("int too large"), KeyError("usage"), RecursionError(), AssertionError(), OSError("odd")]
)
def test_whatever_a_client_raises_is_one_samples_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr("fathom.run.executors.open_client", lambda settings, tokenizer: Odd(error))
    run(make_suite(tmp_path, 4), "openai/odd", out=tmp_path / "run", retries=0, max_output_tokens=5)
    found = {number: row.reply.status for number, row in by_number(tmp_path / "run").items()}
    assert found == {0: "ok", 1: "error", 2: "ok", 3: "ok"}


@pytest.mark.slow
def test_whatever_fails_around_a_request_is_one_samples_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ScriptedServer
) -> None:
    from fathom.tokens.length import render as rendered

    def render(sample: Any, texts: Any) -> str:
        if sample.id == "item1@256":
            raise ZeroDivisionError("odd")
        return rendered(sample, texts)

    monkeypatch.setattr("fathom.run.session.render", render)
    go(make_suite(tmp_path, 3), server, tmp_path / "run")
    rows = by_number(tmp_path / "run")
    assert [rows[n].reply.status for n in range(3)] == ["ok", "error", "ok"]
    assert rows[1].reply.error == "unexpected, please report it: ZeroDivisionError: odd"


def test_a_suite_that_cannot_be_read_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ScriptedServer
) -> None:
    def render(sample: Any, texts: Any) -> str:
        raise OSError("Input/output error")

    monkeypatch.setattr("fathom.run.session.render", render)
    with pytest.raises(FathomError, match="the suite cannot be read: Input/output error"):
        go(make_suite(tmp_path, 3), server, tmp_path / "run")


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), FathomError("the model is gone")])
def test_what_should_end_a_run_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException) -> None:
    monkeypatch.setattr("fathom.run.executors.open_client", lambda settings, tokenizer: Odd(stop))
    with pytest.raises((FathomError, KeyboardInterrupt)):
        run(make_suite(tmp_path, 4), "openai/odd", out=tmp_path / "run", retries=0, max_output_tokens=5)


# -------------------------------------------------------------------------------------------------------------- probes


@pytest.mark.parametrize("code", [401, 403, 404, 451])
@pytest.mark.parametrize("first", [True, False])
def test_prompts_that_are_denied_are_their_samples_errors(
    tmp_path: Path, server: ScriptedServer, code: int, first: bool
) -> None:
    denied = range(8) if first else range(8, 16)
    server.script = lambda number, before: refusal(code, "not this") if number in denied else well(number)
    go(make_suite(tmp_path, 16), server, tmp_path / "run", max_connections=1)
    rows = by_number(tmp_path / "run")
    assert {number for number, row in rows.items() if row.reply.status == "error"} == set(denied)
    assert len(rows) == 16
    # The first denial, and then every fifth in a row: a tiny prompt, or one that has worked.
    assert sum(server.prompts.values()) - 16 == (2 if first else 1)


@pytest.mark.slow
def test_prompts_that_kill_the_connection_are_their_samples_errors(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: Act(reset=True) if number >= 4 else well(number)
    go(make_suite(tmp_path, 12), server, tmp_path / "run", max_connections=2, retries=1)
    rows = by_number(tmp_path / "run")
    assert {number for number, row in rows.items() if row.reply.status == "error"} == set(range(4, 12))
    assert len(rows) == 12


@pytest.mark.slow
def test_bad_requests_before_any_reply_do_not_end_a_run_that_could_go_on(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script = lambda number, before: refusal(400, "odd") if 0 <= number < 30 else well(number)
    go(make_suite(tmp_path, 40), server, tmp_path / "run", max_connections=4)
    counts = status(tmp_path / "run").counts
    assert (counts["error"], counts["ok"]) == (30, 10)
    assert server.prompts[-1] == 1


@pytest.mark.slow
def test_a_server_that_denies_the_probe_too_ends_the_run(tmp_path: Path, server: ScriptedServer) -> None:
    go(make_suite(tmp_path, 40), server, tmp_path / "run", limit=8)
    server.script = lambda number, before: refusal(401, "key expired")
    before = sum(server.prompts.values())
    with pytest.raises(FathomError, match=r"denies the requests.*key expired.*to resume"):
        go(make_suite(tmp_path, 40), server, tmp_path / "run", max_connections=16)
    assert len(by_number(tmp_path / "run")) == 8
    assert sum(server.prompts.values()) - before <= 17


class Storm:
    """A client whose every sample is denied at once, while probes are counted and wait for each other."""

    def __init__(self, *, answers: bool) -> None:
        self.answers = answers
        self.probes = self.at_once = self.most = 0

    async def complete(self, prompt: str, call: Call) -> Reply:
        await asyncio.sleep(0)
        if call.sample != PROBE:
            raise RequestError(Failure("denied", "no"))
        assert prompt == TINY_PROMPT
        self.probes, self.at_once = self.probes + 1, self.at_once + 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        if not self.answers:
            raise RequestError(Failure("denied", "no"))
        return Reply(status="ok")

    window: int | None = None
    policy: Overflow = "refuse"

    async def close(self) -> None: ...


@pytest.mark.parametrize("answers", [True, False])
def test_requests_that_fail_together_share_one_probe(answers: bool) -> None:
    client, health, retry = Storm(answers=answers), Health(), Retry(retries=0)

    async def many() -> list[Reply | BaseException]:
        asked = (ask(client, "long", Call(str(number), 1, 0, 5), retry, health) for number in range(50))
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(many())
    assert client.most == 1
    if answers:
        assert client.probes == 1
        assert all(isinstance(reply, Reply) and reply.status == "error" for reply in found)
    else:
        assert all(isinstance(error, FathomError) for error in found)


def test_the_shortest_prompt_that_worked_is_the_probe() -> None:
    health = Health()
    asked: list[str] = []

    class Client(Odd):
        async def complete(self, prompt: str, call: Call) -> Reply:
            asked.append(prompt)
            if "denied" in prompt:
                raise RequestError(Failure("denied", "no"))
            return Reply(status="ok")

    async def go_on() -> None:
        client = Client(ValueError())
        for prompt in ("a long one", "short", "not so short", *["denied"] * 5):
            await ask(client, prompt, Call("a", 1, 0, 5), Retry(retries=0), health)

    asyncio.run(go_on())
    assert asked[3:] == ["denied"] * 5 + ["short"]


@pytest.mark.slow
def test_resuming_behaves_like_going_on(tmp_path: Path, server: ScriptedServer) -> None:
    """Old errors are asked last, and do not end a run that has had replies before."""
    hopeless = range(25)
    server.script = lambda number, before: refusal(400, "odd") if number in hopeless else well(number)
    go(make_suite(tmp_path, 60), server, tmp_path / "run", limit=30, max_connections=1)
    server.prompts.clear()
    order: list[int] = []

    def script(number: int, before: int) -> Act:
        order.append(number)
        return refusal(400, "odd") if number in hopeless else well(number)

    server.script = script
    go(make_suite(tmp_path, 60), server, tmp_path / "run", max_connections=1)
    assert order == [*range(30, 60), *hopeless]
    assert len(by_number(tmp_path / "run")) == 60


@pytest.mark.slow
def test_a_resumed_run_of_nothing_but_errors_goes_on(tmp_path: Path, server: ScriptedServer) -> None:
    server.script = lambda number, before: refusal(400, "odd") if 0 <= number < 30 else well(number)
    go(make_suite(tmp_path, 31), server, tmp_path / "run", max_connections=1)
    server.prompts.clear()
    go(make_suite(tmp_path, 31), server, tmp_path / "run", max_connections=1)
    assert server.prompts[-1] == 0  # the ledger knows of a reply
    assert len(by_number(tmp_path / "run")) == 31


# --------------------------------------------------------------------------------------------------------- Retry-After


@pytest.mark.slow
def test_a_server_that_asks_for_hours_is_not_waited_for(tmp_path: Path, server: ScriptedServer) -> None:
    later = refusal(429, "come back", headers={"Retry-After": "7200"})
    server.script = lambda number, before: later if number == 3 else well(number)
    go(make_suite(tmp_path, 8), server, tmp_path / "run", max_connections=1)
    reply = by_number(tmp_path / "run")[3].reply
    assert (reply.status, reply.attempts) == ("error", 1)
    assert reply.error.startswith(
        "the server asks to wait 2 hours (Retry-After), more than the maximum of 15 minutes: "
    )
    server.script = lambda number, before: later
    with pytest.raises(FathomError, match=r"asks to wait 2 hours.*Wait so long, then run the same command again"):
        go(make_suite(tmp_path, 8), server, tmp_path / "other", max_connections=1)
    assert by_number(tmp_path / "other") == {}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "0.5 seconds"),
        (60, "1 minute"),
        (900, "15 minutes"),
        (3600, "1 hour"),
        (9000, "2.5 hours"),
        (1e9, "11,574.1 days"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


# --------------------------------------------------------------------------------------------------------- likelihoods


def order_run(place: Path, server: LikelihoodServer) -> dict[str, Reply]:
    suite = make_order_suite(place, 3)
    likelihood(suite, "openai/scripted", out=place / "run", model_base_url=server.base_url, backoff=0.002, retries=1)
    return {row.item: row.reply for row in replies(place / "run")}


def first_story(act: Act) -> Callable[[Mapping[str, Any], int], Act | None]:
    """Does so with all texts of the first story."""
    return lambda request, before: act if re.search(r"\bs0p", request["prompt"]) else None


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (refusal(403, "not this"), "not this"),
        (refusal(429, "later", headers={"Retry-After": "7200"}), "asks to wait 2 hours"),
        (Act(body={"error": {"message": "overloaded"}}), "holds an error"),
    ],
    ids=["denied", "later", "an error with status 200"],
)
def test_texts_that_fail_are_their_samples_errors(tmp_path: Path, act: Act, words: str) -> None:
    with LikelihoodServer(fault=first_story(act)) as server:
        found = order_run(tmp_path, server)
    assert sorted(reply.status for reply in found.values()) == ["error", "ok", "ok"]
    (failed,) = (reply for reply in found.values() if reply.status == "error")
    assert words in failed.error
    assert server.texts.count(TINY_PROMPT) == (0 if act.status == 200 else 1)
