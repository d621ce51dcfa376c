"""Servers of OpenAI's protocol are asked without Inspect as they were through it: equal requests, replies, failures."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.models import completions
from fathom.models.chat_client import ChatClient, open_server_client
from fathom.models.completions import ContinuingClient, open_continuing_client
from fathom.models.endpoint import connect
from fathom.models.failures import Failure
from fathom.models.inspect_client import InspectClient, open_inspect_client
from fathom.models.protocol import Call, Client, RequestError, Settings
from fathom.models.thinking import Thinking
from fathom.types import FathomError, Reply

VARYING = ("host", "x-irid")
"""Headers that depend on chance."""
MODELS = (
    "openai/m",
    "openai/gpt-5-mini",
    "openai/o3-mini",
    "openai/gpt-35",
    "openai-api/my-service/org/m",
    "vllm/org/m",
    "vllm/tiny-o1",
    "sglang/org/m",
    "llama-cpp-python/m.gguf",
    "ollama/qwen3:8b",
)
CALL = Call("sample", 2, 7, 96)


def slow_after(quick: int, names: Iterable[str]) -> list[Any]:
    """Parameters of a test of which the quick tests have so many."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (number >= quick)) for number, name in enumerate(names)]


def completion(message: object, finish: object = "stop", **more: object) -> dict[str, Any]:
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    fixed = {"id": "r", "object": "chat.completion", "created": 0, "model": "served", "choices": choices}
    return {**fixed, "usage": usage, **more}


def says(text: object, finish: object = "stop", **fields: object) -> dict[str, Any]:
    return completion({"role": "assistant", "content": text, **fields}, finish)


def counts(**usage: object) -> dict[str, Any]:
    return completion({"role": "assistant", "content": "a"}, usage=usage)


def error(message: str, code: object = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


LISTED = [{"type": "reasoning.text", "text": "first"}, {"type": "reasoning.text", "text": "last", "signature": "s"}]
HIDDEN = {"type": "reasoning.encrypted", "data": "opaque"}
SUMMED = {"type": "reasoning.summary", "summary": "in short"}
TOOL = [{"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": "x"}'}}]
REPLIES: Mapping[str, object] = {
    "plain": says("nineteen"),
    "empty": says(""),
    "no content": says(None),
    "parts": says([{"type": "text", "text": "nine"}, {"type": "text", "text": "teen"}]),
    "cut": says("ninet", "length"),
    "end of sequence": says("nineteen", "eos"),
    "other names of the end": says("nineteen", "end_turn"),
    "an unknown stop": says("nineteen", "banana"),
    "no stop": says("nineteen", None),
    "nothing, no stop": says("", None),
    "filtered": says("", "content_filter"),
    "filtered within": says("ninet", "content_filter"),
    "no room": says("", "model_length"),
    "refused": says(None, refusal="I cannot help with that."),
    "refused with reasoning": says("x", refusal="No.", reasoning_content="hm"),
    "reasoning_content": says("nineteen", reasoning_content="counting"),
    "reasoning": says("nineteen", reasoning="counting"),
    "both fields": says("nineteen", reasoning="other", reasoning_content="counting"),
    "thoughts": says("nineteen", thoughts="counting"),
    "thinking blocks": says("nineteen", thinking_blocks=[{"type": "thinking", "thinking": "counting"}]),
    "reasoning as an object": says("nineteen", reasoning_content={"steps": ["one"]}),
    "details": says("nineteen", reasoning_details=LISTED, reasoning="counting"),
    "details in short": says("nineteen", reasoning_details=[SUMMED]),
    "details encrypted": says("nineteen", reasoning_details=[*LISTED, HIDDEN]),
    "details encrypted first": says("nineteen", reasoning_details=[HIDDEN, SUMMED, *LISTED]),
    "details signed only": says("nineteen", reasoning_details=[{"type": "reasoning.text", "signature": "s"}]),
    "details unknown": says("nineteen", reasoning_details=[{"type": "banana"}]),
    "details as a text": says("nineteen", reasoning_details="counting"),
    "think tags": says("<think>counting</think>nineteen"),
    "think tags, cut": says("<think>counting", "length"),
    "think tags and a field": says("<think>counting</think>nineteen", reasoning_content="other"),
    "reasoning only": says("", reasoning_content="counting"),
    "a tool call": says("", "tool_calls", tool_calls=TOOL),
    "an old tool call": says("x", "function_call", tool_calls=TOOL),
    "no choices": completion(None, choices=[]),
    "choices missing": {"id": "r", "object": "chat.completion", "model": "served"},
    "no message": completion(None),
    "two choices": completion(
        None, choices=[{"message": {"content": text}, "finish_reason": "stop", "index": 0} for text in ("one", "two")]
    ),
    "no usage": completion({"content": "a"}, usage=None),
    "cached": counts(
        prompt_tokens=20,
        completion_tokens=5,
        total_tokens=25,
        prompt_tokens_details={"cached_tokens": 16, "cache_write_tokens": 3},
        completion_tokens_details={"reasoning_tokens": 4},
    ),
    "all cached": counts(prompt_tokens=20, completion_tokens=0, prompt_tokens_details={"cached_tokens": 20}),
    "zeros": counts(prompt_tokens=0, completion_tokens=0, total_tokens=0),
    "odd counts": counts(prompt_tokens="20", completion_tokens=5.0, completion_tokens_details={"reasoning_tokens": -1}),
    "no details": counts(prompt_tokens=20, prompt_tokens_details=None),
    "a fingerprint": completion({"content": "a"}, model="m 1", system_fingerprint="fp_1"),
    "no model": completion({"content": "a"}, model=None),
    "an error as a reply": error("the backend is overloaded", kind="server_error"),
    "a text": "not an object",
    "an error in a choice": completion(None, choices=[{"error": {"message": "upstream failed", "code": 502}}]),
}
FAILURES: Mapping[str, tuple[int, object]] = {
    "too long": (400, error("the prompt is too long", "context_length_exceeded")),
    "too long, vLLM": (400, error("This model's maximum context length is 4096 tokens.", 400, "BadRequestError")),
    "no room, vLLM": (400, error("max_tokens must be at least 1, got -5", 400, "BadRequestError")),
    "too long, SGLang": (400, error("Input exceeds the model's context length")),
    "too long, DeepInfra": (400, error("input length 9000 is too much")),
    "too long, as text": (400, "input length 9000 is too much"),
    "too large": (413, error("too large", "context_length_exceeded")),
    "policy": (400, error("not that", "content_policy_violation")),
    "blocked": (400, error("the request was blocked")),
    "forbidden": (403, error("blocked by the provider")),
    "unprocessable": (422, error("filtered", "content_filter")),
    "bad": (400, error("no such thing as a banana")),
    "bad, without a message": (400, {"detail": [{"loc": ["body", "x"], "msg": "odd"}]}),
    "no key": (401, error("Incorrect API key provided", "invalid_api_key")),
    "no model": (404, error("The model `m` does not exist", "model_not_found")),
    "too many": (429, error("slow down", "rate_limit_exceeded")),
    "broken": (500, error("oops", kind="server_error")),
    "a page": (503, "<html>down for maintenance</html>"),
    "not JSON": (200, "<html>hello</html>"),
}
ASKED: Mapping[str, tuple[dict[str, Any], str, Call]] = {
    "plain": ({}, "How many barrels?", CALL),
    "letters": ({}, 'Größe „zitiert“ \u2028 \x7f \x00 \\ / "quoted" 漢字 🛢️ </s>', CALL),
    "long": ({}, "The ledger lists nineteen barrels. " * 4000, replace(CALL, shared=20_000)),
    "no temperature": ({"temperature": None}, "x", CALL),
    "stops": ({"generation": {"stop_seqs": ["\n\n"]}}, "x", replace(CALL, stop=("Question:",))),
    "no stops": ({"generation": {"stop_seqs": []}}, "x", CALL),
    "options": (
        {
            "temperature": 0.7,
            "generation": {
                "top_p": 1,
                "frequency_penalty": "0.5",
                "presence_penalty": 1e-7,
                "logit_bias": {"50256": -100},
                "reasoning_effort": "low",
                "extra_headers": {"X-Team": "fathom"},
                "extra_body": {"top_k": 20, "metadata": {"a": 1}, "chat_template_kwargs": {"enable_thinking": False}},
            },
        },
        "x",
        CALL,
    ),
    "nothing given": ({"generation": {"top_p": None, "extra_body": {"metadata": {}}}}, "x", CALL),
    "a key": ({"model_args": {"api_key": "made-up"}}, "x", CALL),
}


class Server(ThreadingHTTPServer):
    """Answers as it is told, and keeps the requests byte for byte."""

    daemon_threads = True
    answers: list[tuple[int, object]]
    requests: list[tuple[str, bytes, dict[str, str]]]


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower() not in VARYING}
        self.server.requests.append((self.path, body, headers))
        answers = self.server.answers
        self._answer(*(answers.pop(0) if len(answers) > 1 else answers[0]))

    def _answer(self, status: int, body: object) -> None:
        payload = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), _Handler) as made:
        made.requests = []
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


Asked = tuple[Reply | Failure, list[tuple[str, bytes, dict[str, str]]], dict[str, str]]


def through(client: ChatClient | InspectClient, server: Server, answers: list[Any], prompt: str, call: Call) -> Asked:
    """What a client makes of the answers, the requests that it sent, and what it learned.

    Inspect's provider of vLLM makes its client only for the first request, whose response nothing checks: it is left
    out.
    """

    async def ask() -> Reply | Failure:
        server.answers = [(200, REPLIES["plain"])]
        await client.complete("first", CALL)
        client.negotiation.answered = False
        server.answers, server.requests = list(answers), []
        try:
            return replace(await client.complete(prompt, call), seconds=0.0)
        except RequestError as failed:
            return failed.failure
        finally:
            await client.close()

    return asyncio.run(ask()), [*server.requests], client.negotiation.changes


def both(
    server: Server, model: str, answers: list[Any], given: Any = None, prompt: str = "x", call: Call = CALL
) -> Asked:
    """What both clients make of it, which is the same."""
    asked = Settings(model, base_url=f"http://127.0.0.1:{server.server_port}/v1", **(given or {}))
    direct = open_server_client(asked)
    assert isinstance(direct, ChatClient)
    found = through(direct, server, answers, prompt, call)
    assert found == through(open_inspect_client(asked), server, answers, prompt, call)
    return found


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("model", slow_after(1, MODELS))
def test_requests_are_those_of_inspect_byte_for_byte(server: Server, model: str, asked: str) -> None:
    given, prompt, call = ASKED[asked]
    if model.startswith("ollama/"):  # it has another name for it
        options = {name: value for name, value in given.get("generation", {}).items() if name != "reasoning_effort"}
        given = {**given, "generation": options}
    _, (request,), _ = both(server, model, [(200, REPLIES["plain"])], given, prompt, call)
    assert json.loads(request[1])["messages"] == [{"role": "user", "content": prompt}]


@pytest.mark.parametrize("model", slow_after(1, ["openai/m", "vllm/m"]))
@pytest.mark.parametrize("body", REPLIES)
def test_replies_are_read_as_inspect_reads_them(server: Server, model: str, body: str) -> None:
    both(server, model, [(200, REPLIES[body])])


@pytest.mark.parametrize(
    "model", slow_after(1, ["openai/m", "openai-api/my-service/m", "vllm/m", "sglang/m", "ollama/m"])
)
@pytest.mark.parametrize("failure", FAILURES)
def test_errors_mean_what_they_mean_through_inspect(server: Server, model: str, failure: str) -> None:
    both(server, model, [FAILURES[failure]])


NO_SEED = (400, error("Unknown parameter: 'seed'."))
NO_CAP = (400, error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."))
NEW_CAP = (400, error("Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead."))


@pytest.mark.parametrize(
    ("model", "refusals", "changes"),
    [
        ("openai/m", [NO_SEED], {"seed": ""}),
        ("openai/m", [NO_CAP, NO_SEED], {"max_tokens": "max_completion_tokens", "seed": ""}),
        ("openai/gpt-5", [NEW_CAP], {"max_completion_tokens": "max_tokens"}),
        ("vllm/m", [(422, error("temperature is not supported"))], {"temperature": ""}),
    ],
)
def test_refused_parameters_are_left_out_alike(
    server: Server, model: str, refusals: list[Any], changes: dict[str, str]
) -> None:
    extra = {"generation": {"extra_body": {"top_k": 20}}}
    reply, requests, learned = both(server, model, [*refusals, (200, REPLIES["plain"])], extra)
    assert isinstance(reply, Reply)
    assert reply.text == "nineteen"
    assert len(requests) == len(refusals) + 1
    assert learned == changes


VALUES = st.none() | st.booleans() | st.integers(-2, 30) | st.text(max_size=5) | st.just("<think>hm</think>so")
FIELDS = (
    "content", "reasoning", "reasoning_content", "reasoning_details", "thoughts", "refusal", "tool_calls", "banana"
)  # fmt: skip
NESTED = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2))
DETAILS = st.fixed_dictionaries(
    {"type": st.sampled_from(["reasoning.text", "reasoning.summary", "reasoning.encrypted"])},
    optional={name: st.none() | st.text(max_size=3) for name in ("text", "summary", "data", "signature")},
)
MESSAGES = st.dictionaries(st.sampled_from(FIELDS), NESTED | st.lists(DETAILS, max_size=3))
USAGES = st.dictionaries(
    st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens"]), st.integers(-2, 30) | VALUES
)
TOKENS = st.dictionaries(st.sampled_from(["cached_tokens", "cache_write_tokens", "reasoning_tokens"]), VALUES)
FINISHES = st.none() | st.sampled_from(["stop", "length", "eos", "tool_calls", "content_filter", "error", "banana"])


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(MESSAGES, FINISHES, USAGES, TOKENS, TOKENS)
def test_any_response_is_read_alike(
    message: dict[str, Any], finish: object, usage: dict[str, Any], prompt: dict[str, Any], reply: dict[str, Any]
) -> None:
    usage = {**usage, "prompt_tokens_details": prompt, "completion_tokens_details": reply}
    body = json.dumps(completion(message, finish, usage=usage)).encode()
    headers = {"content-type": "application/json"}

    async def ask(opened: Any) -> Reply | Failure:
        transport = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, content=body))
        client: Client = opened(Settings("openai/m", base_url="http://h/v1"), httpx2.AsyncClient(transport=transport))
        try:
            return replace(await client.complete("x", CALL), seconds=0.0)
        except RequestError as failed:
            return failed.failure
        finally:
            await client.close()

    assert asyncio.run(ask(open_server_client)) == asyncio.run(ask(open_inspect_client))


def test_advice_on_a_switch_of_reasoning_is_given(server: Server) -> None:
    body = {"chat_template_kwargs": {"enable_thinking": True}}
    given = {"thinking": Thinking("on", "mixed", "plain", "enable_thinking"), "generation": {"extra_body": body}}
    failure, _, _ = both(server, "vllm/m", [(400, error("Unknown field: chat_template_kwargs"))], given)
    assert isinstance(failure, Failure)


@pytest.mark.parametrize(
    "given",
    [
        {"model": "anthropic/claude-x", "model_args": {"api_key": "k"}},
        {"model": "openai/gpt-5", "base_url": None, "model_args": {"api_key": "k"}},
        {"model": "vllm/base:adapter"},
        {"model": "ollama/m", "generation": {"reasoning_effort": "high"}},
        {"model": "openai/m", "generation": {"top_k": 3}},
        {"model": "openai/m", "model_args": {"responses_api": True}},
    ],
)
def test_what_only_inspect_knows_is_left_to_it(given: dict[str, Any]) -> None:
    client = open_server_client(Settings(**{"base_url": "http://h/v1", **given}))
    assert isinstance(client, InspectClient)
    asyncio.run(client.close())


@pytest.mark.parametrize(
    ("model", "variable"),
    [("openai-api/my-service/m", "MY_SERVICE_BASE_URL"), ("vllm/m", "VLLM_BASE_URL"), ("sglang/m", "SGLANG_BASE_URL")],
)
def test_addresses_and_keys_of_the_environment_are_used(
    server: Server, model: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = variable.replace("BASE_URL", "API_KEY")
    monkeypatch.setenv(variable, f"http://127.0.0.1:{server.server_port}/v1")
    if model.startswith("openai-api/"):
        with pytest.raises(FathomError, match=f"no key: set the environment variable {key}"):
            open_server_client(Settings(model))
    monkeypatch.setenv(key, " of-the-environment ")
    client = open_server_client(Settings(model))
    assert isinstance(client, ChatClient)
    _, [(_, _, headers)], _ = through(client, server, [(200, REPLIES["plain"])], "x", CALL)
    assert headers["authorization"] == "Bearer of-the-environment"


@pytest.mark.parametrize("generation", [{"top_p": "much"}, {"stop_seqs": "x"}, {"reasoning_effort": "banana"}])
def test_wrong_options_are_explained_as_inspect_does(generation: dict[str, Any]) -> None:
    asked = Settings("vllm/m", base_url="http://h/v1", generation=generation)
    with pytest.raises(FathomError) as direct:
        open_server_client(asked)
    with pytest.raises(FathomError) as through_inspect:
        open_inspect_client(asked)
    assert str(direct.value) == str(through_inspect.value)


WITHOUT_INSPECT = """
import sys
sys.modules["inspect_ai"] = None
import asyncio
from fathom.models.chat_client import open_server_client
from fathom.models.protocol import Call, Settings
from fathom.types import FathomError
client = open_server_client(Settings("vllm/m", base_url=sys.argv[1]))
print(asyncio.run(client.complete("x", Call("s", 1, 0, 9))).text)
for model in ("anthropic/x", "openai/gpt-5"):
    try:
        open_server_client(Settings(model))
    except FathomError as error:
        print(error)
"""


@pytest.mark.slow
def test_servers_are_asked_where_inspect_is_not_installed(server: Server) -> None:
    server.answers = [(200, REPLIES["plain"])]
    url = f"http://127.0.0.1:{server.server_port}/v1"
    done = subprocess.run([sys.executable, "-c", WITHOUT_INSPECT, url], capture_output=True, text=True, check=True)
    reply, *errors = done.stdout.splitlines()
    assert reply == "nineteen"
    assert len(errors) == 2
    assert all("pip install 'fathom-eval[inspect]'" in line for line in errors)


@pytest.mark.slow
def test_asking_a_server_does_not_import_inspect(server: Server) -> None:
    script = WITHOUT_INSPECT.split("for model")[0].replace('sys.modules["inspect_ai"] = None\n', "")
    script += "print('inspect_ai' in sys.modules)"
    server.answers = [(200, REPLIES["plain"])]
    url = f"http://127.0.0.1:{server.server_port}/v1"
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["nineteen", "False"]


def test_the_names_of_the_completions_module_stay() -> None:
    client = open_continuing_client(Settings("vllm/m", base_url="http://h/v1", chat_template="by-task"))
    assert isinstance(client, ContinuingClient)
    assert isinstance(client.chat, ChatClient)
    assert vars(completions)["connect"] is connect
    asyncio.run(client.close())
