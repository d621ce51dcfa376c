"""From raw output to reply: reasoning apart, and the right status; from exceptions to meanings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.models.answers import Output, to_reply
from fathom.models.failures import MESSAGE_CHARACTERS, classify
from fathom.score.dialects import split_reasoning


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("nine", "nine", ""),
        (" nine\n", "nine", ""),
        ("", "", ""),
        ("<think>a</think>nine", "nine", "a"),
        ("<think>\n a\n</think>\n\nnine\n", "nine", "a"),
        ("<Thinking>a</Thinking>nine", "nine", "a"),
        ("<think>a", "", "a"),
        ("a</think>nine", "nine", "a"),
        ("<think>a</think>ni<think>b</think>ne", "nine", "a\n\nb"),
        ("<think>a</think>nine<think>b", "nine", "a\n\nb"),
        ("<think></think>nine", "nine", ""),
        ('<think type="deep">a</think>nine', "nine", "a"),
        ("I think nine", "I think nine", ""),
    ],
)
def test_inline_reasoning_is_parted_from_the_answer(text: str, answer: str, reasoning: str) -> None:
    assert split_reasoning(text) == (answer, reasoning)


@pytest.mark.slow
@given(st.text(alphabet="ab \n"), st.text(alphabet="cd \n"))
def test_nothing_is_lost_when_reasoning_is_parted(thought: str, answer: str) -> None:
    assert split_reasoning(f"<think>{thought}</think>{answer}") == (answer.strip(), thought.strip())


@pytest.mark.parametrize(
    ("output", "status", "text"),
    [
        (Output("nine"), "ok", "nine"),
        (Output(""), "ok", ""),
        (Output("nine", stop="unknown"), "ok", "nine"),
        (Output("nine, and", stop="max_tokens"), "incomplete", "nine, and"),
        (Output("", stop="max_tokens"), "incomplete", ""),
        (Output("", reasoning="a"), "incomplete", ""),
        (Output("", reasoning="a", stop="max_tokens"), "incomplete", ""),
        (Output("<think>a", stop="max_tokens"), "incomplete", ""),
        (Output("<think>a"), "incomplete", ""),
        (Output("nine", reasoning="a"), "ok", "nine"),
        (Output("too long", stop="model_length"), "overflow", ""),
        (Output("ni", stop="model_length", tokens_out=1), "overflow", "ni"),
        (Output("blocked", stop="content_filter"), "refused", ""),
        (Output("I cannot", refusal=True, tokens_out=2), "refused", "I cannot"),
    ],
)
def test_statuses(output: Output, status: str, text: str) -> None:
    reply = to_reply(output)
    assert (reply.status, reply.text) == (status, text)
    assert bool(reply.error) == (status != "ok")


class ProviderError(Exception):
    def __init__(self, message: str, status_code: int | None = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.response = type("Response", (), {"headers": headers or {}, "status_code": status_code})()


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "Error code: 400 - {'code': 'context_length_exceeded'}", "overflow"),
        (400, "This model's maximum context length is 8192 tokens.", "overflow"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "overflow"),
        (400, "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", "overflow"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "overflow"),
        (400, "ValidationException: Input is too long for requested model.", "overflow"),
        (400, "Prompt contains 65673 tokens, too large for model with 32768 maximum context length", "overflow"),
        (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens).", "overflow"),
        (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens.", "overflow"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096", "overflow"),
        (500, "Requested tokens (9000) exceed context window of 8192", "overflow"),
        (413, "too big", "overflow"),
        (400, "Your request was flagged by our safety system", "refused"),
        (403, "violates our usage policies", "refused"),
        (400, "invalid value for temperature", "bad"),
        (401, "no key", "denied"),
        (403, "no permission", "denied"),
        (404, "model not found", "denied"),
        (408, "late", "busy"),
        (409, "clash", "busy"),
        (429, "slow down; limit of input tokens per minute: prompt is too long for your tier", "busy"),
        (500, "oops", "busy"),
        (529, "overloaded", "busy"),
    ],
)
def test_what_failures_mean(status: int, message: str, kind: str) -> None:
    assert classify(ProviderError(message, status)).kind == kind


def test_connection_and_timeout_are_silence_and_unknown_errors_are_bad() -> None:
    assert classify(ConnectionResetError("gone")).kind == "silent"
    assert classify(TimeoutError()).kind == "silent"
    assert classify(ValueError("odd")).kind == "bad"


def test_the_cause_is_read_through_wrappers_and_the_prompt_of_the_wrapper_is_not_told() -> None:
    class ModelGenerateError(RuntimeError):
        provider_message = "x"

    inner = ProviderError("slow down", 429, {"retry-after": "4"})
    wrapper = ModelGenerateError("Request: MY PROMPT")
    wrapper.__cause__ = inner
    failure = classify(wrapper)
    assert (failure.kind, failure.wait) == ("busy", 4.0)
    assert "MY PROMPT" not in failure.message
    assert "slow down" in failure.message


@pytest.mark.slow
def test_a_server_that_echoes_the_prompt_fills_no_store() -> None:
    assert len(classify(ProviderError("bad: " + "x" * 10_000_000, 400)).message) == MESSAGE_CHARACTERS
