"""Times of replies: what is asked of servers, and what is not measured. No time is expected, only which there are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted_server import Act, Script, ScriptedServer, completion, refusal, stream

from fathom.models.clients import kernel_of, open_client
from fathom.models.protocol import Settings
from fathom.run.timing import Timed, time_model
from fathom.tokens.tokenizers import get_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

TOKENS = 6
WORDS = tuple(f" word{number}" for number in range(TOKENS))
COUNTS: dict[str, object] = {"prompt_tokens": 500, "completion_tokens": TOKENS, "total_tokens": 500 + TOKENS}
TEXT = "The ferry leaves at nine. " * 40
TOLD = "times are None and the reason says why"


def measure(script: Script, **options: str) -> tuple[list[Timed], ScriptedServer]:
    with ScriptedServer(script) as server:
        settings = Settings("openai/m", base_url=server.base_url)
        found = time_model(
            replace(settings, **options),  # type: ignore[arg-type]
            {1024: TEXT, 2048: TEXT + TEXT},
            repeats=3,
            reply_tokens=TOKENS,
            seed=7,
        )
    return found, server


def unmeasured(found: list[Timed]) -> str:
    """The one reason of measurements that failed."""
    for one in found:
        assert (one.first_token_seconds, one.tokens_per_second, one.repeats) == (None, None, 0), TOLD
    (reason,) = {one.reason for one in found}
    return reason


@pytest.mark.parametrize("name", ["content", "reasoning_content", "reasoning"])
def test_a_server_is_asked_for_whole_replies_in_pieces(name: str) -> None:
    found, server = measure(lambda *_: stream(*WORDS, usage=COUNTS, name=name))
    assert [one.length for one in found] == [1024, 2048]
    for one in found:
        assert one.first_token_seconds
        assert one.tokens_per_second
        assert one.first_token_seconds > 0 < one.tokens_per_second
        assert (one.cache_bytes_prompt, one.cache_bytes, one.repeats, one.kernel, one.reason) == (None, None, 3, "", "")
    assert len(server.requests) == 2 * (1 + 3)
    for request in server.requests:
        assert (request["stream"], request["max_tokens"], request["ignore_eos"]) == (True, TOKENS, True)
        assert request["stream_options"] == {"include_usage": True}
        assert request["temperature"] == 0


@pytest.mark.slow
def test_no_prompt_is_sent_twice_and_each_has_its_length() -> None:
    _, server = measure(lambda *_: stream(*WORDS, usage=COUNTS))
    assert len(set(server.texts)) == len({text[:8] for text in server.texts}) == len(server.texts)
    for text in server.texts:
        assert text[9:] in (TEXT[40:], (TEXT + TEXT)[40:])
    again = measure(lambda *_: stream(*WORDS, usage=COUNTS))[1].texts
    assert again == server.texts  # of the same seed


@pytest.mark.slow
def test_the_first_token_comes_before_the_others() -> None:
    (one, _), _ = measure(lambda *_: stream(*WORDS, usage=COUNTS, pause=0.01))
    assert one.tokens_per_second
    assert one.tokens_per_second < 1 / 0.01  # each of the others is a pause later


def test_a_prompt_without_template_is_completed() -> None:
    pieces = [{"choices": [{"index": 0, "text": word, "finish_reason": None}]} for word in WORDS]
    found, server = measure(lambda *_: stream(*pieces, usage=COUNTS), chat_template="never")
    assert all(one.tokens_per_second for one in found)
    assert all("prompt" in request for request in server.requests)


def test_options_that_a_server_refuses_are_left_out() -> None:
    def strict(_number: int, before: int) -> Act:
        return stream(*WORDS, usage=COUNTS) if before else refusal(400, "unknown parameter: ignore_eos")

    found, server = measure(strict)
    assert all(one.tokens_per_second for one in found)
    assert ["ignore_eos" in one for one in server.requests] == [True, *[False] * 8]


def test_the_cap_has_the_name_that_the_server_takes() -> None:
    def renamed(_number: int, before: int) -> Act:
        other = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return stream(*WORDS, usage=COUNTS) if before else refusal(400, other)

    found, server = measure(renamed)
    assert all(timed.tokens_per_second for timed in found)
    assert all(body["max_completion_tokens"] == TOKENS and body["ignore_eos"] for body in server.requests[1:])


def test_a_connection_that_the_server_closed_is_opened_again() -> None:
    """llama.cpp closes some connections at the moment in which the next request is sent."""
    found, server = measure(lambda _, before: Act(reset=True) if before == 2 else stream(*WORDS, usage=COUNTS))
    assert all(one.tokens_per_second and one.repeats == 3 for one in found)
    assert len(server.requests) == len(set(server.texts)) == 2 * (1 + 3) + 1


def test_without_counts_there_is_no_rate() -> None:
    found, _ = measure(lambda *_: stream(*WORDS))
    assert all(one.first_token_seconds and one.tokens_per_second is None for one in found)
    assert {one.reason for one in found} == {"the server does not count the tokens of a reply"}


def test_a_reply_of_one_token_has_no_rate() -> None:
    found, _ = measure(lambda *_: stream("yes", usage={**COUNTS, "completion_tokens": 1}))
    assert all(one.first_token_seconds and one.tokens_per_second is None for one in found)
    assert {one.reason for one in found} == {"a reply has one token"}


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (completion("all at once"), "the server sent no reply token by token"),
        (stream(usage=COUNTS), "the server sent no reply token by token"),
        (stream("".join(WORDS), usage=COUNTS), "6 tokens in 1 pieces"),
        (stream("".join(WORDS)), "the reply in 1 pieces"),
        (stream(*WORDS, usage={**COUNTS, "prompt_tokens_details": {"cached_tokens": 400}}), "computed 400 of the 500"),
        (stream({"error": {"message": "no memory for Bearer abcdefgh1"}}), "no memory for Bearer ***"),
        (stream("yes", "not an event", usage=COUNTS), ""),
        (refusal(500, "out of memory"), "out of memory"),
        (refusal(400, "maximum context length is 100 tokens"), "maximum context length"),
    ],
)
def test_what_is_no_time_of_a_token_is_not_measured(act: Act, told: str) -> None:
    found, _ = measure(lambda *_: act)
    assert told in unmeasured(found)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("fathom/lexical", "an offline baseline"),
        ("openai/gpt-5", "`model_base_url`"),
        ("vllm/some/model", "`model_base_url`"),
        ("anthropic/claude", "replies of anthropic are not measured"),
    ],
)
def test_other_models_are_not_opened(model: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.run.timing.open_client", lambda *_: pytest.fail("it was opened"))
    assert told in unmeasured(time_model(Settings(model), {1024: TEXT}))


def test_a_baseline_has_no_attention() -> None:
    assert kernel_of(open_client(Settings("fathom/lexical"), lambda: get_tokenizer("words"))) == ""
