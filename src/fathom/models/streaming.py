"""Times of a reply from a server of OpenAI's protocol, which sends it token by token."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathom.models.endpoint import PROVIDERS
from fathom.models.failures import Failure
from fathom.models.negotiation import Negotiation, fixed_parameters
from fathom.models.protocol import Call, Measured, RequestError, Settings
from fathom.models.usage import count
from fathom.types import Json
from fathom.types.choices import TIMEOUT

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# What is asked for besides the reply, from all to nothing: strict servers refuse options that they do not know.
_USAGE: Mapping[str, Any] = {"stream_options": {"include_usage": True}}
_WAYS: tuple[Mapping[str, Any], ...] = ({**_USAGE, "extra_body": {"ignore_eos": True}}, _USAGE, {})
_MOST_CACHED = 0.1
_LEAST_PIECES = 0.5


@dataclass
class _StreamedReply:
    """What has come of a reply: the times of its first and last piece, its pieces, and the server's counts."""

    first: float | None = None
    last: float = 0.0
    pieces: int = 0
    usage: Any = None

    def hear(self, chunk: Any, now: float) -> None:
        """Take in one event."""
        self.usage = getattr(chunk, "usage", None) or self.usage
        choices = getattr(chunk, "choices", None)
        if not choices:
            return
        text = _text(choices[0])
        if self.first is None and not text:  # an event that only opens the message
            return
        self.first = now if self.first is None else self.first
        if text is not None:
            self.last, self.pieces = now, self.pieces + 1


class StreamingServer:
    """Measures replies of a server.

    Args:
        client: The HTTP client.
        name: The model's name on the server.
        settings: How the model is asked.
        timeout: Seconds for one request.
    """

    def __init__(self, client: AsyncOpenAI, name: str, settings: Settings, timeout: float = TIMEOUT) -> None:
        self._client, self._name, self._settings, self._timeout = client, name, settings, timeout
        self._negotiation = Negotiation(fixed_parameters(settings))
        self._way = 0

    async def measure(self, prompt: str, call: Call) -> Measured:
        """The times of one reply, which has ``call.max_output_tokens`` tokens where the server can be told so.

        Seconds count from sending the request. The first token may be one of the reasoning.

        Raises:
            RequestError: The request failed, the server does not send token by token, or it had computed the prompt
                before.
        """

        async def request() -> tuple[_StreamedReply, float]:
            async with asyncio.timeout(self._timeout):
                start, heard = time.perf_counter(), _StreamedReply()
                async for chunk in self._events(prompt, call):
                    heard.hear(chunk, time.perf_counter())
            return heard, start

        while True:
            try:
                heard, start = await self._negotiation.send(request)
                break
            except RequestError as error:
                if error.failure.kind != "bad" or self._way == len(_WAYS) - 1:
                    raise
                self._way += 1
        return _measured(heard, start, call.max_output_tokens)

    async def _events(self, prompt: str, call: Call) -> AsyncIterator[Any]:
        way = _WAYS[self._way]
        options: dict[str, Any] = {"max_tokens": call.max_output_tokens, **way}
        if self._settings.temperature is not None:
            options["temperature"] = self._settings.temperature
        if body := {**_body(self._settings), **way.get("extra_body", {})}:
            options["extra_body"] = body
        options = {"model": self._name, "stream": True, **self._negotiation.sent(options)}
        if self._settings.chat_template == "never":
            stream = await self._client.completions.create(prompt=prompt, **options)
        else:
            messages: Any = [{"role": "user", "content": prompt}]
            stream = await self._client.chat.completions.create(messages=messages, **options)
        async with stream:
            async for chunk in stream:
                yield chunk


def why_not(settings: Settings) -> str:
    """Why the times of a model's replies say nothing about it; "" for a server whose address is given."""
    provider = settings.model.partition("/")[0]
    if provider not in PROVIDERS:
        return f"replies of {provider} are not measured: only those of a server with OpenAI's protocol"
    if settings.base_url is None:
        return "the server is not known: name one with `model_base_url`"
    return ""


def _measured(heard: _StreamedReply, start: float, asked: int) -> Measured:
    """The times of a whole reply, if they are those of tokens."""
    if heard.first is None or heard.pieces == 0:
        raise RequestError(Failure("bad", "the server sent no reply token by token"))
    tokens_in, tokens_out = (count(getattr(heard.usage, name, None)) for name in ("prompt_tokens", "completion_tokens"))
    cached = count(getattr(getattr(heard.usage, "prompt_tokens_details", None), "cached_tokens", None)) or 0
    if cached > _MOST_CACHED * (tokens_in or 0):
        reason = f"the server had computed {cached:,} of the {tokens_in or 0:,} tokens of the prompt before"
        raise RequestError(Failure("bad", reason))
    if heard.pieces < (2 if tokens_out is None and asked > 1 else _LEAST_PIECES * (tokens_out or 0)):
        sent = "the reply" if tokens_out is None else f"{tokens_out:,} tokens"
        reason = f"the server sent {sent} in {heard.pieces:,} pieces, which hides when the first token came"
        raise RequestError(Failure("bad", reason))
    return Measured(heard.first - start, heard.last - start, tokens_in, tokens_out)


def _text(choice: Any) -> str | None:
    """The text of a piece, reasoning included; None if it has none, not even an empty one."""
    delta = getattr(choice, "delta", None)
    values = [getattr(choice, "text", None)]
    values += [getattr(delta, name, None) for name in ("content", "reasoning_content", "reasoning")]
    texts = [value for value in values if isinstance(value, str)]
    return "".join(texts) if texts else None


def _body(settings: Settings) -> dict[str, Json]:
    more = settings.generation.get("extra_body")
    return dict(more) if isinstance(more, Mapping) else {}
