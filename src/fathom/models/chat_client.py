"""The client for chat models on servers of OpenAI's protocol, through OpenAI's own library.

Requests and replies are those that Inspect's providers of such servers would make of them, without its import; a test
sends both and compares. Whatever else Inspect knows, from tools to options that are not in ``Options``, is left to it.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from fathom.models.answers import LARGE_TEXT, Output, checked, to_reply
from fathom.models.endpoint import address_of, connect, key_of, name_on_server
from fathom.models.failures import Failure, classify, shorten
from fathom.models.inspect_client import InspectClient, first_error, open_inspect_client
from fathom.models.negotiation import CAPS, Negotiation, fixed_parameters
from fathom.models.overflow import Overflow
from fathom.models.protocol import Call, Chat, Settings, Turn
from fathom.models.proxies import check_access
from fathom.models.thinking import unknown_switch
from fathom.models.usage import count
from fathom.models.wire import SERVED_CHARACTERS, watch
from fathom.types import FathomError, Reply

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI


class Options(TypedDict, total=False):
    """Generation options that are sent, named and typed as in Inspect's ``GenerateConfig``."""

    frequency_penalty: float | None
    presence_penalty: float | None
    logit_bias: dict[int, float] | None
    top_p: float | None
    stop_seqs: list[str] | None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None
    extra_headers: dict[str, str] | None
    extra_body: dict[str, Any] | None


_STOPS = {"eos": "stop", "length": "max_tokens", "function_call": "tool_calls"}
_KNOWN_STOPS = ("stop", "max_tokens", "tool_calls", "content_filter", "model_length")
_REFUSED = ("invalid_prompt", "content_policy_violation", "content_filter", "bio_policy", "cyber_policy")
_PARTS = {"reasoning.text": "text", "reasoning.summary": "summary", "reasoning.encrypted": "data"}
_OVERFLOWS: Mapping[str, tuple[str, ...]] = {
    "vllm": ("maximum context length", "max_tokens must be at least 1"),
    "sglang": ("context length",),
}


class ChatClient:
    """Sends each prompt as one message; ``window`` is None because it truncates nothing.

    Args:
        client: The HTTP client.
        settings: How the model is asked.
        options: The generation options, checked.

    Attributes:
        settings: How the model is asked.
        negotiation: What the server was found to refuse.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, client: AsyncOpenAI, settings: Settings, options: Options) -> None:
        self._client = client
        self._name = name_on_server(settings.model)
        self._options: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if "stop_seqs" in self._options:
            self._options["stop"] = self._options.pop("stop_seqs")
        self._options.get("extra_body", {}).pop("metadata", None)  # refused unless replies are stored
        self._cap = CAPS[_caps_completions(self._name)]
        self._inspect: InspectClient | None = None
        self.settings = settings
        self.negotiation = Negotiation(fixed_parameters(settings))
        watch(client)

    @property
    def server(self) -> tuple[AsyncOpenAI, str]:
        """The HTTP client and the model's name on its server."""
        return self._client, self._name

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Send one request and read the reply.

        Raises:
            RequestError: The server failed.
        """
        output = await self.negotiation.send(lambda: self._sent(prompt, call), self._failure)
        large = len(output.text) > LARGE_TEXT
        return checked(await asyncio.to_thread(to_reply, output) if large else to_reply(output))

    async def converse(self, chat: Chat, call: Call) -> Turn:
        """Continue a conversation, through Inspect, which has the messages and the tools.

        Raises:
            RequestError: The server failed.
            FathomError: Inspect is not installed.
        """
        if self._inspect is None:
            self._inspect = open_inspect_client(self.settings)
            self._inspect.negotiation = self.negotiation
        return await self._inspect.converse(chat, call)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
        if self._inspect is not None:
            await self._inspect.close()

    async def _sent(self, prompt: str, call: Call) -> Output:
        import httpx2
        from openai import APIStatusError

        body, headers = self._body(prompt, call), self._options.get("extra_headers")
        options: Any = {"headers": headers} if headers else {}
        begun = time.monotonic()
        try:
            response = await self._client.post(
                "/chat/completions", cast_to=httpx2.Response, content=body, options=options
            )
            output = read_chat(json.loads(response.content))
        except APIStatusError as error:
            if (reported := output_of(error, self.settings.model)) is None:
                raise
            output = reported
        return replace(output, seconds=time.monotonic() - begun)

    def _body(self, prompt: str, call: Call) -> bytes:
        """The body as OpenAI's library writes it; it would take four times as long for a long prompt."""
        from pydantic_core import to_json

        stops = [*self._options.get("stop", ()), *call.stop]
        options = {**self._options, self._cap: call.max_output_tokens, "seed": call.seed + call.epoch - 1}
        options |= {"stop": stops} if stops else {}
        options |= {} if call.response_format is None else {"response_format": call.response_format}
        options |= {} if self.settings.temperature is None else {"temperature": self.settings.temperature}
        sent = self.negotiation.sent(options)
        more = sent.pop("extra_body", {})
        sent.pop("extra_headers", None)
        messages = [{"role": "user", "content": prompt}]
        rest = {"model": self._name, "messages": messages, **dict(sorted(sent.items())), **more}
        first = {name: rest.pop(name) for name in ("model", "messages")}
        # Their numbers differ: 1e-7 and 1e-07.
        others = json.dumps(rest, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return to_json(first)[:-1] + f",{others[1:]}".encode()

    def _failure(self, error: Exception) -> Failure:
        """The failure of a request, with advice on an unknown switch of reasoning."""
        failure = classify(error)
        switch = unknown_switch(failure.message, self.settings.generation) if self.settings.thinking else ""
        return replace(failure, message=f"{failure.message} ({switch})") if switch else failure


def open_server_client(settings: Settings, http_client: object = None) -> ChatClient | InspectClient:
    """Open a remote model: directly if its server, address and options are ones that ``ChatClient`` knows.

    Args:
        settings: How the model is asked. With a ``base_url`` no key is needed: local servers do without.
        http_client: Used by the provider's library instead of its own; None for its own.

    Raises:
        FathomError: A generation option is wrong, a key is missing or cannot be sent, or a proxy cannot be used; or
            see ``open_inspect_client``.
    """
    model, address = settings.model, address_of(settings)
    name, known = name_on_server(model), Options.__annotations__
    adapter = model.startswith("vllm/") and ":" in name
    renamed = model.startswith("ollama/") and "reasoning_effort" in settings.generation
    more = {*settings.model_args} - {"api_key"} or {*settings.generation} - {*known}
    if not (address and name) or adapter or renamed or more:
        return open_inspect_client(settings, http_client)
    options = _checked(settings)
    check_access(model, address)
    client = connect(model, address, key_of(settings), http_client)
    return ChatClient(client, settings, options)


def _checked(settings: Settings) -> Options:
    """The generation options.

    Raises:
        FathomError: One has a wrong type.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(Options).validate_python(dict(settings.generation))
    except ValidationError as error:
        raise FathomError(f"model {settings.model!r}: bad generation option: {first_error(error)}") from None


def read_chat(body: Mapping[str, Any]) -> Output:
    """Read a chat completion, as ``fathom.models.wire`` writes it, for ``to_reply``.

    Args:
        body: The completion, with one choice.
    """
    choice, usage = body["choices"][0], body["usage"] or {}
    message, finish = choice["message"], choice["finish_reason"]
    stop = _STOPS.get(finish, finish)
    tokens_in, tokens_out = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    counted = tokens_in > 0 or tokens_out > 0
    prompt, reply = usage.get("prompt_tokens_details", {}), usage.get("completion_tokens_details", {})
    return Output(
        text=message.get("refusal") or message["content"],
        reasoning=_reasoning(message),
        stop=stop if stop in _KNOWN_STOPS else "unknown",
        tokens_in=count(tokens_in) if counted else None,
        tokens_out=count(tokens_out) if counted else None,
        tokens_reasoning=reply.get("reasoning_tokens"),
        refusal="refusal" in message,
        tokens_cached=prompt.get("cached_tokens"),
        tokens_written=prompt.get("cache_write_tokens"),
        served=shorten(body["model"], SERVED_CHARACTERS),
    )


def _reasoning(message: Mapping[str, Any]) -> str:
    """The reasoning of a message, from the first field that has some."""
    details = message.get("reasoning_details")
    if isinstance(details, list) and details:
        return _legible(details)
    return str(details or message.get("reasoning_content") or message.get("reasoning") or "")


def _legible(details: list[Any]) -> str:
    """What OpenRouter's parts of reasoning say: the last text; a summary or a text before, if that one is encrypted."""
    text = summary = None
    encrypted = False
    for detail in details:
        kind = str(detail.get("type")) if isinstance(detail, Mapping) else ""
        value = detail.get(_PARTS[kind]) if kind in _PARTS else None
        if not isinstance(value, str) and not (kind == "reasoning.text" and value is None):
            return json.dumps(details)
        if kind == "reasoning.summary":
            summary = value
        elif kind == "reasoning.text":
            text = value or text
        else:
            text, summary, encrypted = value, summary if text is None else text, True
    return (summary or "") if encrypted else text or summary or ""


def output_of(error: APIStatusError, model: str) -> Output | None:
    """The output that an error stands for: a prompt too long, or refused; None for others.

    Args:
        error: What a server answered instead of a reply.
        model: ``PROVIDER/NAME``.
    """
    body, provider = error.body, model.partition("/")[0]
    text = str(body["message"]) if isinstance(body, Mapping) and "message" in body else error.message
    if error.status_code not in (400, 403, 413, 422):
        return None
    stop, served = "", name_on_server(model)
    if provider in _OVERFLOWS:
        overflows = error.status_code == 400 and any(words in text for words in _OVERFLOWS[provider])
        stop = "model_length" if overflows else ""
    elif error.status_code == 400 and "input length" in str(error):  # DeepInfra
        text, stop = str(error), "model_length"
        served = model.removeprefix("openai-api/") if provider.startswith("openai") else served
    elif error.code == "context_length_exceeded":
        stop = "model_length"
    elif error.code in _REFUSED or (error.type == "invalid_request_error" and "blocked" in error.message):
        stop = "content_filter"
    return Output(text=text, stop=stop, served=shorten(served, SERVED_CHARACTERS)) if stop else None


def _caps_completions(name: str) -> bool:
    """Whether a model is of OpenAI's that reason, which know the output cap by its newer name only."""
    version = re.search(r"gpt-(\d)(?!\d)", name.lower())
    o_series = re.match(r"o\d", name.lower()) or ("gpt" not in name.lower() and re.search(r"o\d", name.lower()))
    return bool(o_series) or (version is not None and int(version[1]) >= 5)
