"""How long a model takes for a prompt and for each token of a reply, and the bytes of its keys and values.

Nothing of it is part of a run: the prompts are those of a suite, but their beginning is replaced, so that no server has
computed them before, and replies have one length for all models. One prompt is asked at a time.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random
from statistics import median
from types import MappingProxyType
from typing import TypeAlias

from fathom.models.clients import kernel_of, open_client, server_of
from fathom.models.local_client import LocalClient
from fathom.models.loop import drive
from fathom.models.protocol import Call, Client, Measured, RequestError, Settings, is_baseline
from fathom.models.retry import Retry
from fathom.tokens.tokenizers import get_tokenizer

REPEATS = 5
NO_ENDINGS: Mapping[int, int] = MappingProxyType({})
REPLY_TOKENS = 32
_MARKED = 40
"""Characters at the beginning of a prompt that are replaced: no fewer tokens than their replacement has."""
_LONG = 400
_RETRY = Retry(retries=2, first=0.2, obeyed=10)
_SOON = 5.0
"""Seconds after which a failure is final: a server that closed a connection, or is busy, says so at once."""
_Measure: TypeAlias = Callable[[str, Call], Awaitable[Measured]]


@dataclass(frozen=True, slots=True)
class Timed:
    """What prompts of one length cost: medians of the repeats.

    Attributes:
        length: Of the samples, in tokens of the suite.
        first_token_seconds: Until the first token of the reply; None if not measured. For a model in this process it
            counts from the tokens of the prompt, for a server from sending the request.
        tokens_per_second: Of the reply, after its first token; None for replies of one token, and if not measured.
        cache_bytes_prompt: Keys and values after the prompt; None if they cannot be seen.
        cache_bytes: The larger of these and those at the end of the reply.
        repeats: Replies that were measured, without the one that came first for warming up.
        kernel: The attention that computed them, such as ``sdpa``; "" where it cannot be seen.
        reason: Why a time is None; "" if none is.
    """

    length: int
    first_token_seconds: float | None
    tokens_per_second: float | None
    cache_bytes_prompt: int | None
    cache_bytes: int | None
    repeats: int
    kernel: str = ""
    reason: str = ""


def time_model(
    settings: Settings,
    prompts: Mapping[int, str],
    *,
    endings: Mapping[int, int] = NO_ENDINGS,
    repeats: int = REPEATS,
    reply_tokens: int = REPLY_TOKENS,
    seed: int | None = None,
) -> list[Timed]:
    """Open a model, measure it and close it; see ``time_client``.

    Raises:
        FathomError: The model cannot be opened, or the measurement was interrupted.
    """

    async def measure() -> list[Timed]:
        client = open_client(settings, get_tokenizer)
        try:
            return await time_client(
                client, settings, prompts, endings=endings, repeats=repeats, reply_tokens=reply_tokens, seed=seed
            )
        finally:
            await client.close()

    if why := _why_not(settings):
        return [_unmeasured(length, why) for length in prompts]
    return drive(measure(), "interrupted; what was measured so far is lost")


async def time_client(
    client: Client,
    settings: Settings,
    prompts: Mapping[int, str],
    *,
    endings: Mapping[int, int] = NO_ENDINGS,
    repeats: int = REPEATS,
    reply_tokens: int = REPLY_TOKENS,
    seed: int | None = None,
) -> list[Timed]:
    """Measure a model that is open.

    Each prompt is asked once for warming up and then ``repeats`` times, one request after another. A model in this
    process computes each from its beginning, with a reply of exactly ``reply_tokens``. So does a server that knows
    ``ignore_eos``; other servers may end a reply earlier, which changes the number of tokens that a rate is taken from.

    Args:
        client: As ``open_client`` returns it.
        settings: How the model is asked.
        prompts: One prompt for each length in tokens of the suite; its first 40 characters are replaced by numbers that
            differ for each request.
        endings: For each length the characters at the end of its prompt that ask, for caches with ``question=apart``.
        repeats: Measured replies of each length, at least 1.
        reply_tokens: Tokens of each reply. Prompt and reply must fit the model's window.
        seed: For these numbers. With the same one a server may know the prompts from an earlier measurement; None
            draws one.

    Returns:
        A value for each length, in the order of ``prompts``. Where a model cannot be measured, or fails, its times are
        None and ``reason`` says why.
    """
    if why := _why_not(settings):
        return [_unmeasured(length, why) for length in prompts]
    if (measure := _measure_of(client, settings)) is None:
        return [_unmeasured(length, "its client does not speak OpenAI's protocol") for length in prompts]
    rng = Random(seed)
    times = []
    for length, prompt in prompts.items():
        continued, ending = settings.chat_template == "never", endings.get(length, 0)
        call = Call(f"timing {length}", 1, settings.seed, reply_tokens, continued=continued, ending=ending)
        try:
            measured = [await _measured(measure, prompt, call, rng) for _ in range(repeats + 1)][1:]
        except RequestError as error:
            times.append(_unmeasured(length, error.failure.message, kernel_of(client)))
        else:
            times.append(_timed(length, measured, kernel_of(client)))
    return times


async def _measured(measure: _Measure, prompt: str, call: Call, rng: Random) -> Measured:
    """The times of a reply to a prompt with a new beginning; temporary failures are retried, each with another one.

    Raises:
        RequestError: It failed for good, or too often.
    """
    for attempt in range(1, _RETRY.retries + 1):
        started = time.perf_counter()
        try:
            return await measure(_marked(prompt, rng), call)
        except RequestError as error:
            failure = _RETRY.asked_too_much(error.failure)
            if failure.kind not in ("busy", "silent") or time.perf_counter() - started > _SOON:
                raise RequestError(failure) from None
            await _RETRY.sleep(_RETRY.wait(attempt, failure.wait))
    return await measure(_marked(prompt, rng), call)


def _why_not(settings: Settings) -> str:
    """Why a model is not measured; "" if it is."""
    if is_baseline(settings.model):
        return "an offline baseline: its time says nothing about a model"
    from fathom.models.hugging_face import is_local
    from fathom.models.streaming import why_not

    return "" if is_local(settings.model) else why_not(settings)


def _measure_of(client: Client, settings: Settings) -> _Measure | None:
    """What measures one reply of a client; None if nothing does."""
    if isinstance(client, LocalClient):
        return client.measure
    from fathom.models.streaming import StreamingServer

    server = server_of(client)
    return None if server is None else StreamingServer(*server, settings).measure


def _marked(prompt: str, rng: Random) -> str:
    """The prompt with another beginning, so that nobody has computed it before."""
    rest = prompt[_MARKED:] if len(prompt) > _LONG else prompt
    return f"{rng.randrange(10**8):08d}\n{rest}"


def _timed(length: int, measured: list[Measured], kernel: str) -> Timed:
    rates = [
        (request.tokens_out - 1) / (request.whole - request.first)
        for request in measured
        if request.tokens_out is not None and request.tokens_out > 1 and request.whole > request.first
    ]
    whole = len(rates) == len(measured)
    caches = [request.cached for request in measured if request.cached is not None]
    return Timed(
        length,
        median(request.first for request in measured),
        median(rates) if whole else None,
        max(prompt for prompt, _ in caches) if caches else None,
        max(max(pair) for pair in caches) if caches else None,
        len(measured),
        kernel,
        "" if whole else _why_no_rate(measured),
    )


def _why_no_rate(measured: list[Measured]) -> str:
    if any(request.tokens_out is None for request in measured):
        return "the server does not count the tokens of a reply"
    return "a reply has one token"


def _unmeasured(length: int, why: str, kernel: str = "") -> Timed:
    return Timed(length, None, None, None, None, 0, kernel, why)
