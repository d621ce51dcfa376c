"""The body of a request as a plain run would send it, and a reply as a plain run would read it.

A request in a batch must not differ from a plain one, and its reply must be read alike. So both go through the client
of plain runs, whose connections lead here instead of to the server: the first time the body is kept, and when the
result has come, the same client reads it as the server's response.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.models.chat_client import open_server_client
from fathom.models.failures import Failure
from fathom.models.inspect_client import InspectClient
from fathom.models.negotiation import Negotiation
from fathom.models.overflow import Overflow
from fathom.models.protocol import TINY_PROMPT, Call, RequestError, Settings
from fathom.models.retry import Retry, request_once
from fathom.run.batches.provider import Sent
from fathom.types import FathomError, Reply

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

_HEADERS = {"content-type": "application/json"}
_NO_TOKENS = {"input_tokens": 0, "output_tokens": 0}
_TEXT = {"type": "output_text", "text": ".", "annotations": []}
_MESSAGE = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [_TEXT]}
_CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "."}}
# Nobody reads these, but Inspect writes a page about every request that fails.
_RECEIVED: Mapping[str, Mapping[str, Any]] = {
    "/chat/completions": {"id": "r", "object": "chat.completion", "created": 0, "model": "m", "choices": [_CHOICE]},
    "/responses": {
        **{"id": "r", "object": "response", "created_at": 0, "model": "m", "status": "completed"},
        **{"output": [_MESSAGE], "parallel_tool_calls": False, "tool_choice": "auto", "tools": []},
    },
    "/messages": {
        **{"id": "r", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"},
        **{"content": [{"type": "text", "text": "."}], "stop_sequence": None, "usage": _NO_TOKENS},
    },
    ":generateContent": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "."}]}, "finishReason": "STOP", "index": 0}]
    },
}
"""What the client gets for a request that is recorded, by the end of its address."""


class Recording:
    """The client of a model that sends nothing; it is used by one request at a time.

    Args:
        settings: How the model is asked.

    Attributes:
        model: Its name.
        settings: How it is asked.

    Raises:
        FathomError: See ``open_server_client``.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, settings: Settings) -> None:
        import httpx2

        self.model, self.settings = settings.model, settings
        self._sent: Sent | None = None
        self._answer: tuple[int, bytes] | None = None
        transport, settings = httpx2.MockTransport(self._handle), _without_extras(settings)
        google = settings.model.startswith("google/")
        http = None if google else httpx2.AsyncClient(transport=transport)
        self._client = open_server_client(settings, http)
        if google:
            _lead(self.api, transport)

    @property
    def api(self) -> Any:
        """The provider of Inspect, which has the client library's client; None for servers asked without it."""
        return self._client.api if isinstance(self._client, InspectClient) else None

    @property
    def negotiation(self) -> Negotiation:
        """What the server was found to refuse."""
        return self._client.negotiation

    @property
    def server(self) -> tuple[AsyncOpenAI, str] | None:
        """The client of OpenAI's library, whose connections lead here, and the model's name on its server."""
        return self._client.server

    async def record(self, prompt: str, call: Call) -> Sent:
        """The request that asks for a prompt.

        Raises:
            FathomError: Nothing would be sent, or something that a batch cannot have.
        """
        self._sent, self._answer, why = None, None, ""
        self.negotiation.sent_with = None
        try:
            await self._client.complete(prompt, call)
        except RequestError as error:
            why = error.failure.message
        if self._sent is None:
            raise FathomError(f"`batch`: no request can be made of sample {call.sample!r}: {why}")
        for name in ("stream", "background"):
            if self._sent.body.get(name):
                raise FathomError(f"`batch`: requests with {name!r} cannot be sent in a batch")
        return self._sent

    async def read(
        self, status: int, body: bytes, call: Call, retry: Retry, sent_with: Mapping[str, str] | None = None
    ) -> Reply | Failure:
        """What a plain run would make of a response.

        Args:
            status: Its status code.
            body: Its body.
            call: The parameters of the request.
            retry: When failed requests are repeated.
            sent_with: What the server was known to refuse when the request was made; None if unknown.
        """
        self._answer = status, body
        self.negotiation.sent_with = sent_with or {}
        return await request_once(self, TINY_PROMPT, call, retry)

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Read the response that was given to ``read``."""
        return await self._client.complete(prompt, call)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    async def _handle(self, request: httpx2.Request) -> httpx2.Response:
        import httpx2

        if self._answer is not None:
            status, body = self._answer
            return httpx2.Response(status, headers=_HEADERS, content=body)
        self._sent = Sent(request.url.path, json.loads(request.content), dict(request.headers))
        received = next((body for end, body in _RECEIVED.items() if request.url.path.endswith(end)), None)
        return httpx2.Response(400 if received is None else 200, headers=_HEADERS, content=json.dumps(received or {}))


def _lead(api: Any, transport: httpx2.MockTransport) -> None:
    """Lead the connections of Inspect's provider of Google, which makes a client for each request, to a transport."""
    import httpx2

    made = api.model_client

    def model_client(options: Any) -> Any:
        if options.httpx_async_client is None:
            options.httpx_async_client = httpx2.AsyncClient(transport=transport)
        return made(options)

    api.model_client = model_client


def _without_extras(settings: Settings) -> Settings:
    """Settings with which the client sends one request for a prompt, and no stream.

    Inspect asks OpenAI first whether the account may have summaries of reasoning, and streams long replies of
    Anthropic.
    """
    arguments: Mapping[str, Any] = settings.model_args
    if settings.model.startswith("anthropic/"):
        arguments = {"streaming": False, **arguments}
    generation = settings.generation
    if settings.model.startswith("openai/") and settings.base_url is None:
        generation = {"reasoning_summary": "none", **generation}
    return replace(settings, model_args=arguments, generation=generation)
