"""Servers that implement OpenAI's completions protocol and return log-probabilities of the prompt.

There are two ways: ``echo`` with ``logprobs``, which returns the prompt's own tokens, and vLLM's ``prompt_logprobs``.
One token is generated and ignored: some servers reject ``max_tokens`` of 0, and llama-cpp-python treats it as "no
limit".

Many servers accept the request and return something else: only the generated token, or numbers shifted by one token.
Such results would be silently wrong, so the server is tested before the first text.
"""

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from fathom.models.endpoint import connect
from fathom.models.failures import Failure
from fathom.models.negotiation import Negotiation
from fathom.models.protocol import RequestError, Settings
from fathom.models.retry import Retry
from fathom.models.wire import error_in
from fathom.run.likelihood.tokens import TokenLogprobs, believed, offsets_of
from fathom.safety.secrets import hide_in_address
from fathom.types import FathomError

Via: TypeAlias = Literal["auto", "echo", "prompt_logprobs"]
_NEEDED = dict.fromkeys(("echo", "logprobs", "prompt_logprobs"), "which `via` needs")

# Test prompts: the generated token must have the same likelihood when it is part of the prompt.
TRIALS = ("The first day of the week is", "One two three four five", "Once upon a time there was a")
TOLERANCE = 0.1

ADVICE = (
    "Perplexities need a server that returns log-probabilities of prompts, such as vLLM or llama-cpp-python's server "
    "with --logits_all true and a model that starts with a BOS token; llama.cpp's llama-server and hosted chat models "
    "do not return them. Or give a local model as hf/PATH"
)


class UnsupportedError(Exception):
    """A response without the log-probabilities of the prompt; the message says what it holds."""


class CompletionsServer:
    """Scores texts on a server, one request per text.

    Args:
        model: Name of the model on the server.
        base_url: Address of the server, as ``http://127.0.0.1:8000/v1``.
        via: How log-probabilities are requested; ``auto`` tries ``prompt_logprobs``, then ``echo``.
        retry: Timeout and retries of each request.

    Attributes:
        settings: The model and its address.
        server: The HTTP client and the model's name on its server.
        negotiation: What the server was found to refuse.

    Raises:
        FathomError: The key cannot be sent, or the proxy cannot be used.
    """

    def __init__(self, model: str, base_url: str, via: Via, retry: Retry) -> None:
        self.settings = Settings(f"openai/{model}", base_url=base_url)
        self.negotiation = Negotiation(_NEEDED)
        self._client = connect(self.settings.model, base_url)
        self.server = self._client, model
        self._model, self._wanted, self._retry = model, via, retry
        self._via: Via | None = None
        self._trying = asyncio.Lock()

    async def score(self, text: str) -> TokenLogprobs:
        """Log-probability of every token of a text.

        Raises:
            RequestError: The server failed, or cannot return log-probabilities of prompts.
        """
        async with self._trying:
            if self._via is None:
                self._via = await self._find_way()
        try:
            return await self._score(text, self._via)
        except UnsupportedError as error:
            raise RequestError(Failure("bad", str(error))) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _find_way(self) -> Via:
        ways: tuple[Via, ...] = ("prompt_logprobs", "echo") if self._wanted == "auto" else (self._wanted,)
        reasons = []
        for via in ways:
            try:
                await self._try(via)
            except UnsupportedError as error:
                reasons.append(f"{via}: {error}")
            except RequestError as error:
                if error.failure.kind != "bad":
                    raise
                reasons.append(f"{via}: {error.failure.message}")
            else:
                return via
        address = hide_in_address(str(self._client.base_url))
        raise FathomError(f"{address}: cannot score texts ({'; '.join(reasons)}). {ADVICE}")

    async def _try(self, via: Via) -> None:
        """Check that a way returns what it should.

        Raises:
            UnsupportedError: It does not.
        """
        if via == "prompt_logprobs":
            await self._score(TRIALS[0], via)
            return
        for text in TRIALS:
            written = await self._ask(text, {"logprobs": 1})
            token, logprob = _first_written(written)
            scored = await self._score(text + token, via)
            total, count = scored.after(len(text))
            if token and logprob is not None and count == 1:
                if abs(total - logprob) > TOLERANCE:
                    raise UnsupportedError(
                        f"the server gives {total:.2f} for a token in the prompt and {logprob:.2f} for the same token "
                        "when generated: its log-probabilities belong to other tokens"
                    )
                return

    async def _score(self, text: str, via: Via) -> TokenLogprobs:
        if via == "echo":
            return read_echo(await self._ask(text, {"echo": True, "logprobs": 1}), text)
        return read_prompt_logprobs(await self._ask(text, {"extra_body": {"prompt_logprobs": 0}}), text)

    async def _ask(self, text: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request until it is answered or cannot be."""
        for attempt in range(1, self._retry.retries + 2):
            try:
                return await self._ask_once(text, options)
            except RequestError as error:
                failure = self._retry.asked_too_much(error.failure)
                if failure.kind not in ("busy", "silent") or attempt > self._retry.retries:
                    raise RequestError(failure) from None
                await self._retry.sleep(self._retry.wait(attempt, failure.wait))
        raise AssertionError("unreachable: the last attempt gives up")

    async def _ask_once(self, text: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        async def request() -> object:
            sent = self.negotiation.sent({"max_tokens": 1, "temperature": 0, **options})
            answer = await self._client.completions.with_raw_response.create(model=self._model, prompt=text, **sent)
            return json.loads(answer.http_response.content)

        try:
            async with asyncio.timeout(self._retry.timeout):
                body = await self.negotiation.send(request)
        except TimeoutError:
            waited = f"no answer within {self._retry.timeout:g} seconds (--timeout)"
            raise RequestError(Failure("silent", waited)) from None
        if isinstance(body, dict) and (failure := error_in(body)) is not None:
            raise RequestError(failure)
        return body if isinstance(body, dict) else {}


def read_echo(body: Mapping[str, Any], text: str) -> TokenLogprobs:
    """The log-probabilities of an echoed prompt.

    Args:
        body: The server's response.

    Raises:
        UnsupportedError: The response does not have them.
    """
    logprobs_of_choice = _choice(body).get("logprobs")
    logprobs_of_choice = logprobs_of_choice if isinstance(logprobs_of_choice, dict) else {}
    tokens, logprobs, starts = (logprobs_of_choice.get(name) for name in ("tokens", "token_logprobs", "text_offset"))
    if not (isinstance(tokens, list) and isinstance(logprobs, list) and len(tokens) == len(logprobs)):
        raise UnsupportedError("the response has no log-probabilities of the prompt")
    words = [str(token) for token in tokens]
    # Generated tokens follow the prompt.
    for size in (len(words) - 1, len(words)):
        offsets = offsets_of(words[:size], text)
        if offsets is not None:
            return _checked(offsets, logprobs[:size])
    if isinstance(starts, list) and len(starts) == len(words) and all(isinstance(at, int) for at in starts):
        # SentencePiece puts a space before the text, which llama.cpp includes in the offsets.
        for ahead in (0, 1):
            offsets = tuple(max(0, at - ahead) for at in starts if at - ahead < len(text))
            if len(offsets) > 1 and believed(offsets, words[: len(offsets)], text):
                return _checked(offsets, logprobs[: len(offsets)])
    raise UnsupportedError(f"the response has {len(words)} tokens, which are not those of the prompt")


def read_prompt_logprobs(body: Mapping[str, Any], text: str) -> TokenLogprobs:
    """The log-probabilities of a prompt from vLLM's ``prompt_logprobs: 0``, one entry per token.

    Args:
        body: The server's response: ``null``, then objects from token id to ``logprob``, ``rank`` and
            ``decoded_token``.

    Raises:
        UnsupportedError: The response does not have them.
    """
    places = _choice(body).get("prompt_logprobs")
    if not isinstance(places, list) or len(places) < 2:
        raise UnsupportedError("the response has no prompt_logprobs")
    words, logprobs = [""], [None]
    for place in places[1:]:
        entries = list(place.values()) if isinstance(place, dict) else []
        if len(entries) != 1 or not isinstance(entries[0], dict):
            raise UnsupportedError("prompt_logprobs does not have one entry per token")
        words.append(str(entries[0].get("decoded_token") or ""))
        logprobs.append(entries[0].get("logprob"))
    return _checked(_with_first(words, text), logprobs)


def _with_first(words: list[str], text: str) -> tuple[int, ...]:
    """Offsets if the first token is missing: nothing (a BOS token), or the text before the second one."""
    offsets = offsets_of(words, text, complete=True)
    begin = text.find(words[1].strip("\ufffd"), 0, 64) if offsets is None and len(words) > 1 else -1
    if begin > 0:
        offsets = offsets_of([text[:begin], *words[1:]], text, complete=True)
    if offsets is None:
        raise UnsupportedError(f"prompt_logprobs has {len(words)} tokens, which are not those of the prompt")
    return offsets


def _checked(offsets: tuple[int, ...], logprobs: list[Any]) -> TokenLogprobs:
    """Only the first token may lack a log-probability."""
    for logprob in logprobs[1:]:
        if isinstance(logprob, bool) or not isinstance(logprob, int | float) or not math.isfinite(logprob):
            raise UnsupportedError(f"the log-probability of a token of the prompt is {logprob!r}")
        if logprob > 0:
            raise UnsupportedError(f"the log-probability of a token of the prompt is {logprob!r}, more than 0")
    if len(logprobs) > 2 and not any(logprobs[1:]):
        raise UnsupportedError("all log-probabilities of the prompt are 0")
    first = logprobs[0] if logprobs and isinstance(logprobs[0], float) and math.isfinite(logprobs[0]) else None
    return TokenLogprobs(offsets, (first, *logprobs[1:]))


def _choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _first_written(body: Mapping[str, Any]) -> tuple[str, float | None]:
    """The generated token and its log-probability; "" if it is missing."""
    by_token = _choice(body).get("logprobs")
    by_token = by_token if isinstance(by_token, dict) else {}
    tokens, logprobs = by_token.get("tokens"), by_token.get("token_logprobs")
    if isinstance(tokens, list) and isinstance(logprobs, list) and len(tokens) == len(logprobs) == 1:
        token, logprob = str(tokens[0]), logprobs[0]
        if "\ufffd" not in token and isinstance(logprob, int | float):
            return token, logprob
    return "", None
