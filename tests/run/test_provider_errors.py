"""What providers say when they do not answer, line by line, and the lines that users add."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_server import well
from run_suites import make_suite
from scripted_server import Act, ScriptedServer
from test_run_faults import by_number, go

from fathom.models.failures import Line, failure_of, meaning, meaning_of_stop, provider_errors
from fathom.types import FathomError

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def lines() -> list[tuple[str, Line]]:
    return list(provider_errors().items())


@pytest.mark.parametrize(("name", "line"), lines(), ids=[name for name, _ in lines()])
def test_every_line_of_the_table_holds_for_its_example(name: str, line: Line) -> None:
    if line.stop:
        assert meaning_of_stop(line.stop) == line.kind
        return
    code = line.status[0] if line.status else 429 if line.kind == "denied" else 400
    failure = failure_of(code, line.example)
    assert failure is not None
    assert failure.kind == line.kind
    assert line.holds(code, line.example.lower())
    assert len(line.example) <= 600


PROVIDERS = ("TGI", "Moonshot", "MiniMax", "Zhipu", "Volcengine", "DashScope", "DeepSeek", "Azure", "OpenAI")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_table_knows_the_providers(provider: str) -> None:
    kinds = {line.kind for _, line in lines() if provider in line.provider}
    assert kinds & {"overflow", "refused"}


# What TGI, Moonshot and others send, word for word, with the status code that comes with it.
BODIES: dict[str, tuple[int, object, str]] = {
    "TGI": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` "
            "tokens and 20 `max_new_tokens`",
            "error_type": "validation",
        },
        "overflow",
    ),
    "Moonshot": (
        400,
        {"error": {"message": "Invalid request: Your request exceeded model token limit: 8192"}},
        "overflow",
    ),
    "Moonshot, risk": (
        400,
        {
            "error": {
                "message": "The request was rejected because it was considered high risk",
                "type": "content_filter",
            }
        },
        "refused",
    ),
    "MiniMax": (400, {"error": {"message": "invalid params, context window exceeds limit (2013)"}}, "overflow"),
    "MiniMax, sensitive": (422, {"error": {"message": "input new_sensitive (1026)"}}, "refused"),
    "Zhipu": (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}, "overflow"),
    "Zhipu, sensitive": (
        400,
        {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}},
        "refused",
    ),
    "Volcengine": (
        400,
        {"error": {"code": "InvalidParameter", "message": "Total tokens of image and text exceed max message tokens"}},
        "overflow",
    ),
    "Volcengine, sensitive": (
        400,
        {"error": {"message": "The request failed because the input text may contain sensitive information."}},
        "refused",
    ),
    "DashScope": (
        400,
        {
            "error": {
                "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]"
            }
        },
        "overflow",
    ),
    "DashScope, content": (400, {"error": {"message": "Input data may contain inappropriate content."}}, "refused"),
    "DeepSeek": (400, {"error": {"message": "This model's maximum context length is 65536 tokens."}}, "overflow"),
    "DeepSeek, risk": (400, {"error": {"message": "Content Exists Risk", "code": "invalid_request_error"}}, "refused"),
    "Azure": (
        400,
        {"error": {"message": "The response was filtered", "code": "content_filter", "innererror": {}}},
        "refused",
    ),
    "string_above_max_length": (
        400,
        {
            "error": {
                "message": "Invalid 'messages[0].content': string too long. Expected a string with maximum length "
                "1048576, but got a string with length 1744259 instead.",
                "code": "string_above_max_length",
            }
        },
        "overflow",
    ),
    "413": (413, "<html><head><title>413 Request Entity Too Large</title></head></html>", "overflow"),
    "451": (451, {"error": {"message": "unavailable for legal reasons"}}, "error"),
}


def test_providers_words_over_http(tmp_path: Path, server: ScriptedServer) -> None:
    acts = [Act(status=code, body=body) for code, body, _ in BODIES.values()]
    server.script = lambda number, before: acts[number] if 0 <= number < len(acts) else well(number)
    go(make_suite(tmp_path, len(acts) + 1), server, tmp_path / "run")
    rows = by_number(tmp_path / "run")
    found = {name: rows[number].reply.status for number, name in enumerate(BODIES)}
    assert found == {name: kind for name, (_, _, kind) in BODIES.items()}


def test_words_that_mean_neither() -> None:
    assert meaning(429, "rate limit: too many tokens per minute") is None
    assert meaning(401, "maximum context length") is None
    assert meaning(500, "content_filter is down") is None
    assert meaning(400, "max_tokens: integer above maximum value, expected a value <= 4096, but got 8192") is None
    assert meaning(400, "Invalid 'input[95].call_id': string too long. Expected length 64") is None


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (503, "Too many tokens, please wait before trying again", "busy"),
        (503, "request exceeds queue capacity", "busy"),
        (502, "maximum context length", "busy"),
        (504, "input is too long", "busy"),
        (529, "prompt is too long", "busy"),
        (400, "ThrottlingException: Too many tokens per day", "busy"),
        (400, "Rate limit reached: the request exceeds 10000 tokens per minute", "busy"),
        (200, "too many tokens per minute", "busy"),
        (500, "too many tokens per minute", "busy"),
        (400, "unknown parameter 'content_filter'", "bad"),
        (403, "Your account was flagged by our billing system", "denied"),
        # These stay what they were.
        (413, "Request too large on tokens per minute (TPM): Limit 6000, Requested 9000", "overflow"),
        (422, "too many tokens: total number of tokens in the prompt exceeds the limit of 128000", "overflow"),
        (500, "the request exceeds the available context size (4096 tokens)", "overflow"),
        (429, "rate limit: insufficient_quota", "denied"),
        (403, "Your input was flagged by the moderation of the provider", "refused"),
        (403, "Your input was flagged by OpenAI", "refused"),
    ],
)
def test_a_busy_server_is_not_a_prompt_that_is_too_long(code: int, message: str, kind: str) -> None:
    failure = failure_of(code, message)
    assert failure is not None
    assert failure.kind == kind


def test_users_add_lines_and_change_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "errors.toml"
    table.write_text(
        '"mine" = { kind = "overflow", pattern = "BUFFER*full", status = 418 }\n'
        '"413" = { kind = "bad", status = [413] }\n'
        '"stopped" = { kind = "refused", stop = "Nope" }\n',
        "utf-8",
    )
    monkeypatch.setenv("FATHOM_PROVIDER_ERRORS", str(table))
    assert meaning(418, "the Buffer is too full") == "overflow"
    assert meaning(400, "the buffer is too full") is None
    assert meaning(418, "full is the buffer") is None
    assert meaning(413, "x") == "bad"
    assert meaning(400, "maximum context length") == "overflow"
    assert meaning_of_stop("nope") == "refused"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mine = 7", "expected a table"),
        ('mine = { kind = "slow", pattern = "x" }', "kind = 'slow'; expected one of overflow"),
        ('mine = { kind = "bad" }', "expected either stop, or pattern"),
        ('mine = { kind = "bad", stop = "x", pattern = "yyyy" }', "expected either stop, or pattern"),
        ('mine = { kind = "bad", pattern = "*a* b" }', "is too short"),
        ('mine = { kind = "bad", pattern = 7 }', "pattern = 7: expected a text"),
        ('mine = { kind = "bad", status = ["x"] }', "expected status codes"),
        ('mine = { kind = "bad", status = 99 }', "expected status codes"),
        ('mine = { kind = "bad", words = "x" }', "unknown field 'words'"),
        ("mine = {", "not valid TOML"),
    ],
)
def test_a_line_that_is_wrong_is_told_before_any_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ScriptedServer, line: str, message: str
) -> None:
    table = tmp_path / "errors.toml"
    table.write_text(line, "utf-8")
    monkeypatch.setenv("FATHOM_PROVIDER_ERRORS", str(table))
    with pytest.raises(FathomError, match=message) as caught:
        go(make_suite(tmp_path, 1), server, tmp_path / "run")
    assert str(table) in str(caught.value)
    assert not server.prompts


def test_no_pattern_of_a_user_can_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "errors.toml"
    table.write_text(f'"a" = {{ kind = "bad", pattern = "{"(a+)+*" * 200}$aaaa" }}\n', "utf-8")
    monkeypatch.setenv("FATHOM_PROVIDER_ERRORS", str(table))
    found: list[object] = []
    worker = threading.Thread(target=lambda: found.append(meaning(400, "a" * 600)), daemon=True)
    worker.start()
    worker.join(30)
    assert found == [None]
