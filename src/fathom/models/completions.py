"""Prompts without a chat template: OpenAI's completions protocol, as served by vLLM, SGLang and llama.cpp.

LongBench sends some of its prompts this way (``Task.continued``): the model continues examples or a program, which a
chat template would make it discuss instead.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.models.answers import LARGE_TEXT, Output, checked, to_reply
from fathom.models.chat_client import ChatClient, open_server_client
from fathom.models.endpoint import PROVIDERS, connect, name_on_server
from fathom.models.failures import Failure
from fathom.models.negotiation import Negotiation, fixed_parameters
from fathom.models.overflow import Overflow
from fathom.models.protocol import Call, Client, RequestError, Settings
from fathom.models.usage import count
from fathom.models.wire import normalized, watch
from fathom.types import FathomError, Json, Reply

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from fathom.models.inspect_client import InspectClient

# Generation options that are part of the protocol, and those that such servers accept in addition.
_PROTOCOL = ("top_p", "frequency_penalty", "presence_penalty", "logit_bias")
_BESIDES = ("top_k",)
_STOPS = {"length": "max_tokens"}


class CompletionsClient:
    """Sends prompts without a chat template; ``window`` is None because it truncates nothing.

    Attributes:
        settings: How the model is asked.
        negotiation: What the server was found to refuse.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, client: AsyncOpenAI, model: str, settings: Settings) -> None:
        self._client = client
        self._model = model
        self.settings = settings
        self.negotiation = Negotiation(fixed_parameters(settings))

    @property
    def server(self) -> tuple[AsyncOpenAI, str]:
        """The HTTP client and the model's name on its server."""
        return self._client, self._model

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Send one request and read the reply.

        Raises:
            RequestError: The server failed.
        """
        output = await self._sent(prompt, call)
        large = len(output.text) > LARGE_TEXT
        reply = checked(await asyncio.to_thread(to_reply, output) if large else to_reply(output))
        # A continuation may begin with the indent of a line of code: keep it.
        return replace(reply, text=output.text) if reply.text and not reply.reasoning else reply

    async def _sent(self, prompt: str, call: Call) -> Output:
        options = _options(self.settings, call.stop)
        options |= {"max_tokens": call.max_output_tokens, "seed": call.seed + call.epoch - 1}

        async def request() -> Output:
            create = self._client.completions.with_raw_response.create
            answer = await create(model=self._model, prompt=prompt, **self.negotiation.sent(options))
            return read_completion(json.loads(answer.http_response.content))

        return await self.negotiation.send(request)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class ContinuingClient:
    """Sends prompts of continuation tasks without a chat template and all others through it.

    Attributes:
        chat: The client that sends them through it.
        settings: How the model is asked.
        negotiation: What the server was found to refuse; shared by both.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, chat: ChatClient | InspectClient, completions: CompletionsClient) -> None:
        self.chat = chat
        self._completions = completions
        self.negotiation = completions.negotiation = chat.negotiation
        self.settings = chat.settings

    @property
    def server(self) -> tuple[AsyncOpenAI, str]:
        """The HTTP client and the model's name on its server."""
        return self._completions.server

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Send one request with the client of its kind."""
        client = self._completions if call.continued else self.chat
        return await client.complete(prompt, call)

    async def close(self) -> None:
        """Close the connections of both."""
        await self.chat.close()
        await self._completions.close()


def open_continuing_client(settings: Settings) -> Client:
    """Open the client of a run that sends some or all prompts without a chat template.

    Args:
        settings: How the model is asked; ``chat_template`` is ``by-task`` or ``never``.

    Raises:
        FathomError: No server address is given, its provider does not support the completions protocol, or a generation
            option is not part of it.
    """
    name = _server_name(settings)
    _check_options(settings)
    if settings.chat_template == "never":
        return CompletionsClient(_connect(settings), name, settings)
    chat = open_server_client(settings)
    return ContinuingClient(chat, CompletionsClient(_connect(settings), name, settings))


def read_completion(body: object) -> Output:
    """Read the response of a completions server, for ``to_reply``.

    Raises:
        RequestError: It has no choice with a text, or holds an error.
    """
    read = normalized(body)
    choice = read["choices"][0]
    if "text" not in choice:
        raise RequestError(Failure("busy", "the reply has no choice with a text"))
    finish = choice["finish_reason"] or "stop"
    usage: Mapping[str, Any] = read["usage"] or {}
    return Output(
        text=choice["text"],
        stop=_STOPS.get(finish, finish),
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=count(usage.get("completion_tokens")),
        tokens_cached=count(usage.get("prompt_tokens_details", {}).get("cached_tokens")),
        served=read["model"],
    )


def _options(settings: Settings, stop: tuple[str, ...]) -> dict[str, Any]:
    generation = settings.generation
    given = generation.get("stop_seqs")
    stops = [*(given if isinstance(given, list | tuple) else ()), *stop]
    options: dict[str, Any] = {name: generation[name] for name in _PROTOCOL if name in generation}
    extra: dict[str, Json] = {name: generation[name] for name in _BESIDES if name in generation}
    more = generation.get("extra_body")
    extra |= dict(more) if isinstance(more, Mapping) else {}
    if settings.temperature is not None:
        options["temperature"] = settings.temperature
    return options | ({"stop": stops} if stops else {}) | ({"extra_body": extra} if extra else {})


def _check_options(settings: Settings) -> None:
    able = {*_PROTOCOL, *_BESIDES, "stop_seqs", "extra_body"}
    for name in settings.generation:
        if name not in able:
            raise FathomError(
                f"`chat_template` {settings.chat_template}: the generation option {name!r} is not supported in "
                f"requests without a chat template; they support {', '.join(sorted(able))}. Drop it, or use "
                "`chat_template` always"
            )


def _server_name(settings: Settings) -> str:
    """The model's name on the server."""
    provider = settings.model.partition("/")[0]
    if provider not in PROVIDERS or settings.base_url is None:
        why = "needs `model_base_url`, the address of a server" if provider in PROVIDERS else "needs a server"
        raise FathomError(
            f"`chat_template` {settings.chat_template}: model {settings.model!r}: a prompt without a chat template "
            f"{why} that speaks OpenAI's completions protocol (vLLM, SGLang, llama.cpp), because the providers of "
            "hosted chat models put every prompt into one. Name the model as vllm/NAME or openai/NAME with "
            "`model_base_url` http://HOST:PORT/v1, or use `chat_template` always"
        )
    return name_on_server(settings.model)


def _connect(settings: Settings) -> AsyncOpenAI:
    key = settings.model_args.get("api_key")
    client = connect(settings.model, settings.base_url, str(key or ""))
    watch(client)
    return client
