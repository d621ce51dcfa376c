"""Parameters that servers refuse, keys and addresses: one behaviour for all that ask a model."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from doctor_server import DoctorServer, Faults
from embedding_server import EmbeddingServer
from run_suites import make_suite
from scripted_likelihood import LikelihoodServer, echo, vllm
from scripted_server import Act, ScriptedServer, completion, refusal

from engine_calls import judge, run
from fathom.models.embedding import Endpoint
from fathom.models.failures import Failure, ServerError
from fathom.models.inspect_client import open_inspect_client
from fathom.models.negotiation import MOST_TRIES, Negotiation, fixed_parameters
from fathom.models.prices import FREE
from fathom.models.protocol import Call, RequestError, Settings
from fathom.models.retry import Retry
from fathom.models.settings import AskSettings
from fathom.run import replies
from fathom.run.batches.recording import Recording
from fathom.run.engine import Engine, Terms
from fathom.run.likelihood.completions import CompletionsServer
from fathom.run.server_facts import explaining
from fathom.runfile.judgements import JudgementStore
from fathom.studio.asking import Asking, Prompt, ask_model
from fathom.types import FathomError, Reply
from judged_runs import GOOD, install_tasks, make_run
from judged_runs import sample as judged

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


NO_SEED = refusal(400, "Unknown parameter: 'seed'.")


def bad(message: str) -> RequestError:
    return RequestError(Failure("bad", message))


def refuse(body: dict[str, object], *names: str) -> Act | None:
    """The refusal of the first of these names that a request has; None if it has none."""
    name = next((name for name in names if name in body), "")
    return refusal(400, f"Unknown parameter: '{name}'.") if name else None


class Refusing(ScriptedServer):
    """Refuses parameters by their names."""

    def __init__(self, *names: str, text: str = "nine") -> None:
        super().__init__(lambda number, before: completion(text))
        self.names = names

    def act(self, body: dict[str, object], number: int, before: int) -> Act:
        return refuse(body, *self.names) or super().act(body, number, before)


def test_a_request_is_sent_until_nothing_of_it_is_refused() -> None:
    def sent(negotiation: Negotiation, *refused: str) -> list[dict[str, object]]:
        options = {"max_tokens": 5, "seed": 1, "stop": ["\n"], "temperature": 0}
        bodies: list[dict[str, object]] = []

        async def request() -> str:
            body = negotiation.sent(options)
            bodies.append(body)
            name = next((name for name in refused if name in {**body, **body.get("extra_body", {})}), "")
            if name:
                raise bad(f"Unknown parameter: '{name}'")
            return "ok"

        asyncio.run(negotiation.send(request, lambda error: error.failure))  # type: ignore[attr-defined]
        return bodies

    learned = Negotiation()
    assert sent(learned, "stop", "seed", "max_tokens")[-1] == {
        "temperature": 0,
        "extra_body": {"max_completion_tokens": 5},
    }
    assert len(sent(learned, "stop", "seed", "max_tokens")) == 1
    with pytest.raises(RequestError, match="neither name of the cap that `max_output_tokens`"):
        sent(Negotiation(), "max_tokens", "max_completion_tokens")
    chosen = Settings("a/b", chosen_temperature=True, generation={"logprobs": True, "stop_seqs": ["x"]})
    for name, option in (("temperature", "`temperature`"), ("stop", "stop_seqs out of `generation`")):
        with pytest.raises(RequestError, match=option):
            sent(Negotiation(fixed_parameters(chosen)), name)
    logprobs = Failure("bad", "logprobs is not supported with this model")
    assert Negotiation(fixed_parameters(chosen)).advice(logprobs) == "leave logprobs out of `generation`"


def test_a_server_that_changes_its_mind_is_not_asked_for_ever() -> None:
    negotiation, asked = Negotiation(), 0

    async def request() -> None:
        nonlocal asked
        asked += 1
        negotiation.changes[f"x{asked}"] = ""  # others learn all the time
        raise bad("no")

    with pytest.raises(RequestError):
        asyncio.run(negotiation.send(request, lambda error: error.failure))  # type: ignore[attr-defined]
    assert asked == MOST_TRIES


def test_a_result_of_a_batch_is_left_to_the_next_one() -> None:
    recording = Recording(Settings("openai/m", base_url="http://127.0.0.1:9/v1", max_output_tokens=5))
    call, body = Call("s", 1, 0, 5), json.dumps(NO_SEED.body).encode()

    async def exchange() -> tuple[Reply | Failure, Reply | Failure, Reply | Failure, bool]:
        retry = Retry(retries=0)
        before = "seed" in (await recording.record("hello", call)).body
        first, second = [await recording.read(400, body, call, retry, {}) for _ in range(2)]
        sent = (await recording.record("hello", call)).body
        still = await recording.read(400, b'{"error": {"message": "no such thing"}}', call, retry, {"seed": ""})
        await recording.close()
        return first, second, still, before and "seed" not in sent

    first, second, still, left_out = asyncio.run(exchange())
    assert [failure.kind for failure in (first, second, still) if isinstance(failure, Failure)] == [
        "busy",
        "busy",
        "bad",
    ]
    assert left_out
    assert recording.negotiation.changes == {"seed": ""}


@pytest.mark.slow
def test_a_judge_negotiates_says_and_remembers_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tasks(monkeypatch)
    folder = make_run(tmp_path / "run", [(judged(number), f"It is {number}.") for number in range(2)])
    lines: list[str] = []
    with Refusing("temperature", text=GOOD) as server:
        how = {"model_base_url": server.base_url, "backoff": 0.0, "max_connections": 1, "tell": lines.append}
        with pytest.raises(FathomError, match="give another `temperature`, or leave the option out"):
            judge(folder, "openai/j", temperature=0.0, **how)
        assert judge(folder, "openai/j", **how).judged == 2
        assert lines == ["openai/j: the server refuses temperature: all requests were sent without it"]
        store = JudgementStore(folder, "openai/j")
        assert store.negotiated() == {"temperature": ""}
        store.close()
        make_run(folder, [(judged(5), "It is 5.")])
        before = len(server.requests)
        assert judge(folder, "openai/j", **how).judged == 3
        assert all("temperature" not in body for body in server.requests[before:])
        make_run(folder, [(judged(6), "It is 6.")])
        with pytest.raises(FathomError, match=r"`temperature`: the server refused it.*another folder"):
            judge(folder, "openai/j", temperature=0.0, **how)


@pytest.mark.slow
def test_a_resumed_run_does_not_drop_what_is_now_chosen(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 2)
    with Refusing("temperature") as server:
        how: dict[str, Any] = {"model_base_url": server.base_url, "max_output_tokens": 50, "out": tmp_path / "run"}
        run(suite, "openai/m", limit=1, **how)
        with pytest.raises(FathomError, match=r"`temperature`: the server refused it, and earlier requests were sent"):
            run(suite, "openai/m", temperature=0.0, **how)
        run(suite, "openai/m", **how)
    assert len(list(replies(tmp_path / "run"))) == 2


def test_the_studio_and_likelihoods_negotiate_too() -> None:
    with Refusing("seed") as server:
        asking = Asking("openai/m", AskSettings(base_url=server.base_url, max_connections=1))
        answers = ask_model(asking, [Prompt("a", "hello"), Prompt("b", "hello")], cap=5)
    assert [answer.text for answer in answers] == ["nine", "nine"]
    assert [answer.notes for answer in answers] == [
        ("the server refuses seed: all requests were sent without it",),
        (),
    ]

    async def scored(refused: str, answers: object) -> dict[str, str]:
        def script(body: dict[str, object]) -> Act:
            return refuse(body, refused) or answers(body)  # type: ignore[operator]

        with LikelihoodServer(script) as server:  # type: ignore[arg-type]
            client = CompletionsServer("m", server.base_url, "auto", Retry(retries=0))
            try:
                await client.score("s0p0w0 s0p0w1")
            finally:
                await client.close()
            return client.negotiation.changes

    assert asyncio.run(scored("temperature", vllm)) == {"temperature": ""}
    assert asyncio.run(scored("max_tokens", echo)) == {"max_tokens": "max_completion_tokens"}
    with pytest.raises(FathomError, match=r"cannot score texts \(.*'logprobs'.*which `via` needs.*give a local model"):
        asyncio.run(scored("logprobs", echo))


@pytest.mark.parametrize(
    ("faults", "name", "words"),
    [
        (
            Faults(key="right-key-0123456789"),
            "tiny",
            r"the key is refused\. The key is read from OPENAI_API_KEY, which",
        ),
        (Faults(names=("tiny", "other")), "tinny", r"the server has no model 'tinny'; it serves tiny, other\. Give"),
    ],
)
def test_whoever_gives_up_says_what_doctor_knows(faults: Faults, name: str, words: str) -> None:
    with DoctorServer(faults) as server:
        asking = Asking(f"openai/{name}", AskSettings(base_url=server.base_url, retries=0))
        with pytest.raises(FathomError, match=words):
            ask_model(asking, [Prompt("a", "hello")], cap=5)


@pytest.mark.slow
def test_a_server_that_prompts_end_has_a_window_and_a_page_is_none() -> None:
    async def gives_up(url: str, window: int | None, last: str = "out of memory") -> None:
        client = open_inspect_client(Settings("openai/tiny", base_url=url, window=window))
        try:
            async with explaining(client):
                raise ServerError(f"the first 20 samples all failed, the last one with: {last}")
        finally:
            await client.close()

    with DoctorServer() as server:
        with pytest.raises(FathomError, match=r"states a window of 8,192 tokens\..*--window 8192"):
            asyncio.run(gives_up(server.base_url, None))
        with pytest.raises(ServerError, match=r"out of memory$"):
            asyncio.run(gives_up(server.base_url, 8000))
        with pytest.raises(FathomError, match=r"A web page answered, not the server of the model\. Check the address"):
            asyncio.run(gives_up(server.base_url, 8000, "the reply is not JSON: <!DOCTYPE html><html>Sign in"))


def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    asking = Asking("openai/m", AskSettings(base_url="http://127.0.0.1:8/v1", retries=0, backoff=0.0))
    prompts = [Prompt(str(number), "hello") for number in range(4)]
    with pytest.raises(FathomError, match=r"at the proxy of HTTP_PROXY\. Correct.*NO_PROXY=127\.0\.0\.1"):
        ask_model(asking, prompts, cap=5)


@pytest.mark.slow
def test_judges_and_embeddings_say_it_with_their_own_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tasks(monkeypatch)
    folder = make_run(tmp_path / "run", [(judged(1), "It is 1."), (judged(2, "abstracts"), "It is 2.")])
    with DoctorServer(Faults(names=("tiny",))) as server:
        for model, given in (("openai/tin", "openai"), ("embed/tin", "embed")):
            with pytest.raises(FathomError, match=rf"the server has no model 'tin'.*Give `judge` {given}/tiny"):
                judge(folder, model, model_base_url=server.base_url, retries=0, backoff=0.0)
        with pytest.raises(FathomError, match=rf"but {server.base_url} is\. Give `judge_base_url` {server.base_url}"):
            judge(folder, "openai/tiny", model_base_url=server.address, retries=0, backoff=0.0)

    class Elsewhere(DoctorServer):
        def _answer(self, path: str, body: dict[str, Any], head: str) -> Act | None:
            return refusal(400, "Not to my taste") if "chat" in path else super()._answer(path, body, head)

    with (
        Elsewhere(Faults(prefix="/api/v1")) as server,
        pytest.raises(FathomError, match=r"Not to my taste.*for what is missing$"),
    ):
        judge(folder, "openai/tiny", model_base_url=server.base_url, retries=0, backoff=0.0)


def test_what_no_server_explains_is_raised_as_it_is() -> None:
    async def fails(client: object) -> None:
        async with explaining(client):
            raise ServerError("it fails")

    with pytest.raises(ServerError, match=r"^it fails$"):
        asyncio.run(fails(object()))


# ------------------------------------------------------------------------------------------------- keys and finality


def test_keys_are_stripped_for_every_client(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings("openai/m", model_args={"api_key": " negotiated-key-1\n", "size": " x "})
    assert settings.model_args == {"api_key": "negotiated-key-1", "size": " x "}
    with pytest.raises(FathomError, match="the key in `model_args` api_key has a line break"):
        Settings("openai/m", model_args={"api_key": "abcd\nefgh"})
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", " my-embedding-key\r\n")
        Endpoint("e", server.url)(["text"])
        assert server.keys == ["Bearer my-embedding-key"]
    for broken in (
        lambda: Endpoint("e", "http://127.0.0.1:9/v1").key(),
        lambda: CompletionsServer("m", "http://127.0.0.1:9/v1", "auto", Retry()),
        lambda: Recording(Settings("openai/m", base_url="http://127.0.0.1:9/v1")),
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "two\nlines")
        with pytest.raises(FathomError, match="the key in OPENAI_API_KEY has a line break"):
            broken()
        monkeypatch.setenv("OPENAI_API_KEY", "fine-0123")
        with monkeypatch.context() as patch:
            for name in ("NO_PROXY", "no_proxy"):
                patch.delenv(name, raising=False)
            patch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
            with pytest.raises(FathomError, match="ALL_PROXY names a SOCKS proxy"):
                broken()
    assert os.environ["OPENAI_API_KEY"] == "fine-0123"


def test_what_is_final_is_asked_once_by_all() -> None:
    too_large = refusal(429, "Request too large for m on tokens per min (TPM): Limit 3000, Requested 3658")
    overflow = refusal(500, "input is too large to process. increase the physical batch size")

    async def ask_all(server: ScriptedServer) -> list[Reply]:
        client = open_inspect_client(Settings("openai/m", base_url=server.base_url))
        engine = Engine(client, Terms(FREE, 1, Retry(retries=3, first=0.0)), replied=True)
        found = [await engine.ask(f"[sample {number}]", Call("s", 1, 0, 5)) for number in range(2)]
        await client.close()
        return found

    with ScriptedServer(lambda number, before: (too_large, overflow)[max(number, 0)]) as server:
        assert [reply.status for reply in asyncio.run(ask_all(server))] == ["error", "overflow"]
        assert {number: server.prompts[number] for number in (0, 1)} == {0: 1, 1: 1}
    recording = Recording(Settings("openai/m", base_url="http://127.0.0.1:9/v1"))
    read = asyncio.run(
        recording.read(429, json.dumps(too_large.body).encode(), Call("s", 1, 0, 5), Retry(retries=3, first=0.0))
    )
    assert isinstance(read, Failure)
    assert read.kind == "bad"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Unrecognized request argument supplied: seed", "seed"),
        ("`temperature` (=0.0) has to be a strictly positive float", "temperature"),
        ("1 validation error for Request\nseed\n  Extra inputs are not permitted", "seed"),
        ("The model Seed-OSS is unknown", ""),
    ],
)
def test_a_parameter_is_read_from_what_servers_say(message: str, name: str) -> None:
    negotiation = Negotiation()
    assert negotiation.learn(Failure("bad", message), {}) == bool(name)
    assert list(negotiation.changes) == [name] * bool(name)
