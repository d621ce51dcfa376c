"""The client for all models that Inspect supports, besides those that ``chat_client`` asks.

It only calls ``get_model(...).generate(...)``, one request per call, with a prompt or with a conversation and tools.
The runner retries and limits connections, so the retries of Inspect and of the provider libraries are off, and
Inspect's connection limit is raised.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from fathom.models.answers import LARGE_TEXT, Output, checked, to_reply
from fathom.models.baselines import baselines
from fathom.models.endpoint import KNOWN, NO_KEY, no_key
from fathom.models.failures import Failure, classify, meaning, shorten, status_code
from fathom.models.negotiation import CAPS, Negotiation, fixed_parameters
from fathom.models.overflow import Overflow
from fathom.models.prices import price_table
from fathom.models.protocol import Call, Chat, RequestError, Settings, Turn
from fathom.models.proxies import check_access
from fathom.models.thinking import unknown_switch
from fathom.models.usage import count
from fathom.models.wire import SERVED_CHARACTERS, watch
from fathom.plugins.extras import require
from fathom.plugins.names import listed, similar
from fathom.types import FathomError, Reply

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput
    from openai import AsyncOpenAI

OPEN_WIDE = 100_000
LEAST_SHARED = 1024
"""Characters below which no provider caches the beginning of a prompt; most begin at 1,024 tokens."""


class InspectClient:
    """Sends prompts through Inspect; ``window`` is None because Inspect truncates nothing.

    Attributes:
        settings: How the model is asked.
        negotiation: What the server was found to refuse.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, model: Model, settings: Settings) -> None:
        self._model = model
        self.settings = settings
        self.negotiation = Negotiation(fixed_parameters(settings))
        openai = settings.model.startswith("openai/") and settings.base_url is None
        self._keyed = openai
        self._marked = settings.model.startswith("anthropic/") or (openai and _writes_cost(settings.model))
        # Inspect keeps an event with the prompt of every request in the transcript of the current context. Each request
        # runs in its own copy of this clean context, so that the prompt is freed with it.
        self._context = contextvars.copy_context()

    @property
    def api(self) -> Any:
        """Inspect's provider."""
        return self._model.api

    @property
    def server(self) -> tuple[AsyncOpenAI, str] | None:
        """The HTTP client of OpenAI's library and the model's name on its server; None for other libraries."""
        from openai import AsyncOpenAI

        api: Any = self._model.api
        self._still_retries()
        client = getattr(api, "client", None)
        return (client, str(api.service_model_name())) if isinstance(client, AsyncOpenAI) else None

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Send one request and read the reply."""
        read = read_output(await self._sent(prompt, call))
        large = len(read.text) > LARGE_TEXT
        return checked(await asyncio.to_thread(to_reply, read) if large else to_reply(read))

    async def converse(self, chat: Chat, call: Call) -> Turn:
        """Continue a conversation: one request."""
        output = await self._sent(chat, call)
        read, message = read_output(output), output.message
        if message.tool_calls and read.stop != "content_filter":
            # A call that the cap broke off is found when it is read.
            reply = to_reply(replace(read, stop="tool_calls"))
            called = reply.status == "incomplete"  # reasoning, and then a call
            return Turn(replace(reply, status="ok", error="") if called else checked(reply), message)
        return Turn(checked(to_reply(read)), message)

    async def _sent(self, content: str | Chat, call: Call) -> ModelOutput:
        """What the model returned, its failures classified."""
        self._still_retries()

        def request() -> asyncio.Task[ModelOutput]:
            return asyncio.create_task(self._generate(content, call), context=self._context.copy())

        return await self.negotiation.send(request, self._failure)

    def _failure(self, error: Exception) -> Failure:
        """The failure of a request, with advice on an unknown switch of reasoning."""
        failure = classify(error)
        final = meaning(status_code(_innermost(error)), failure.message) is not None
        if failure.kind == "bad" and not final and self._model.api.should_retry(_innermost(error)):
            failure = Failure("busy", failure.message, failure.wait)
        switch = unknown_switch(failure.message, self.settings.generation) if self.settings.thinking else ""
        return replace(failure, message=f"{failure.message} ({switch})") if switch else failure

    async def close(self) -> None:
        """Close the connections."""
        await self._model.__aexit__(None, None, None)

    async def _generate(self, content: str | Chat, call: Call) -> ModelOutput:
        from inspect_ai.model import GenerateConfig

        sends = self.negotiation.sends
        config = GenerateConfig(max_tokens=call.max_output_tokens)
        if sends("seed"):
            config.seed = call.seed + call.epoch - 1
        if call.stop and sends("stop"):
            config.stop_seqs = [*(self._model.config.stop_seqs or ()), *call.stop]
        self._model.config.temperature = self.settings.temperature if sends("temperature") else None
        asked: str | list[ChatMessage] = ""
        if isinstance(content, str):
            asked = self._cached(content, call, config) if self._model.config.cache_prompt is None else content
        if cap := next((self.negotiation.changes[name] for name in CAPS if not sends(name)), ""):
            config.max_tokens = None
            body = config.extra_body or self._model.config.extra_body or {}
            config.extra_body = {**body, cap: call.max_output_tokens}
        if isinstance(content, str):
            return await self._model.generate(asked, config=config, cache=False)
        choice: Literal["none", "auto"] = "none" if content.last else "auto"
        return await self._model.generate(list(content.messages), content.tools, choice, config, cache=False)

    def _cached(self, prompt: str, call: Call, config: GenerateConfig) -> str | list[ChatMessage]:
        """The prompt, shaped so that the provider caches what other prompts share with it, and nothing else.

        Writing a prompt to a cache can cost more than reading it without one, and Inspect has whole prompts written.
        The options that belong to the shape are added to ``config``.
        """
        from inspect_ai.model import ChatMessageUser, ContentText

        shared, question = prompt[: call.shared], prompt[call.shared :]
        if len(shared) < LEAST_SHARED:
            config.cache_prompt = False
            return prompt
        if self._keyed:
            key = sha256(shared.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            config.extra_body = {"prompt_cache_key": key, **(self._model.config.extra_body or {})}
        if not self._marked:
            return prompt
        # Blocks of white space alone are refused.
        texts = [shared, question] if shared.strip() and question.strip() else [prompt]
        marked, *rest = (ContentText(text=text) for text in texts)
        marked.cache_breakpoint = True
        return [ChatMessageUser(content=[marked, *rest])]

    def _still_retries(self) -> None:
        # The OpenAI and Anthropic libraries retry twice by default and give up after ten minutes; some providers of
        # Inspect create their client on the first request, so this runs before each.
        client: Any = getattr(self._model.api, "client", None)
        if hasattr(client, "max_retries"):
            client.max_retries = 0
        if hasattr(client, "timeout"):
            client.timeout = None
        watch(client)


def open_inspect_client(settings: Settings, http_client: object = None) -> InspectClient:
    """Open a model by its Inspect name.

    Args:
        settings: How the model is asked. With a ``base_url`` no key is needed: local servers do without.
        http_client: Used by the provider's library instead of its own; None for its own.

    Raises:
        FathomError: Inspect does not know the model, its library is missing, an option is wrong, a key is missing or
            cannot be sent, or a proxy cannot be used.
    """
    if find_spec("inspect_ai") is None and _meant(settings.model):  # other packages may add providers to Inspect
        raise _unknown_model(settings.model)
    require("inspect_ai")
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import GenerateConfig, get_model

    check_access(settings.model, settings.base_url)
    unknown = sorted(set(settings.generation) - set(GenerateConfig.model_fields))
    if unknown:
        raise FathomError(f"model {settings.model!r}: unknown generation option {unknown[0]!r}")
    # ``fathom.run.options`` rejects these names in ``settings.generation``.
    fixed = {"temperature": settings.temperature, "max_retries": 0, "max_connections": OPEN_WIDE, "cache": False}
    try:
        config = GenerateConfig.model_validate({**settings.generation, **fixed})
    except ValueError as error:
        raise FathomError(f"model {settings.model!r}: bad generation option: {first_error(error)}") from None

    def get(**more: Any) -> Model:
        arguments = {**settings.model_args, **more, **({} if http_client is None else {"http_client": http_client})}
        with _outside_notebooks():
            name, url = _inspect_name(settings), settings.base_url
            return get_model(name, config=config, base_url=url, memoize=False, **arguments)

    try:
        try:
            model = get()
        except PrerequisiteError:
            if settings.base_url is None or "api_key" in settings.model_args:
                raise
            model = get(api_key=NO_KEY)
    except PrerequisiteError as error:
        raise FathomError(f"model {settings.model!r}: {_in_short(_without_markup(error.message))}") from None
    except (ValueError, TypeError, ImportError) as error:
        if "not recognized" in str(error) or "should be in the format" in str(error):
            raise _unknown_model(settings.model) from None
        raise FathomError(f"model {settings.model!r}: {error}") from None
    return InspectClient(model, settings)


@contextmanager
def _outside_notebooks() -> Iterator[None]:
    """Inspect opens a model without changing the process.

    In a notebook it asks for ipywidgets, lets event loops nest, and shows every error with all frames. Models need none
    of these: ``fathom.models.loop`` gives them a thread and a loop of their own.
    """
    from inspect_ai._util import platform

    # By name: it is imported into that module, which is where it is looked up, and not declared there.
    before = {name: getattr(platform, name) for name in ("running_in_notebook", "set_exception_hook")}
    try:
        setattr(platform, "running_in_notebook", lambda: False)  # noqa: B010
        setattr(platform, "set_exception_hook", lambda: None)  # noqa: B010
        yield
    finally:
        for name, value in before.items():
            setattr(platform, name, value)


def _writes_cost(model: str) -> bool:
    """Whether a model of OpenAI has prompts written to its cache for a price, and takes marks: from GPT-5.6 on."""
    version = re.match(r"openai/gpt-(\d+)(?:\.(\d+))?", model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 6)


def _inspect_name(settings: Settings) -> str:
    """The name under which Inspect calls the server correctly.

    Inspect's ``openai`` provider treats every unknown model as OpenAI's newest: it uses the Responses API and drops
    the temperature. With another server's address, the model is called through Inspect's ``openai-api`` provider (chat
    completions) instead; the key comes from the same variable.
    """
    provider, _, name = settings.model.partition("/")
    elsewhere = settings.base_url is not None and provider == "openai"
    return f"openai-api/openai/{name}" if elsewhere else settings.model


def read_output(output: ModelOutput) -> Output:
    """Read what Inspect's model layer returned, for ``to_reply``.

    Raises:
        RequestError: It has no choice.
    """
    from inspect_ai.model import ContentReasoning, ContentText

    if not output.choices:
        raise RequestError(Failure("busy", "the reply has no choice"))
    choice = output.choices[0]
    content = choice.message.content
    parts = [ContentText(text=content)] if isinstance(content, str) else content
    texts = [part for part in parts if isinstance(part, ContentText)]
    thoughts = [part for part in parts if isinstance(part, ContentReasoning)]
    usage = output.usage
    cached = ((usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)) if usage else 0
    counted = usage is not None and (usage.input_tokens + cached > 0 or usage.output_tokens > 0)
    return Output(
        text="".join(part.text for part in texts),
        reasoning="\n\n".join((part.summary or "") if part.redacted else part.reasoning for part in thoughts),
        stop=choice.stop_reason,
        tokens_in=count(usage.input_tokens + cached) if usage and counted else None,
        tokens_out=count(usage.output_tokens) if usage and counted else None,
        tokens_reasoning=count(usage.reasoning_tokens) if usage else None,
        refusal=any(part.refusal for part in texts),
        seconds=output.time or 0.0,
        tokens_cached=count(usage.input_tokens_cache_read) if usage else None,
        tokens_written=count(usage.input_tokens_cache_write) if usage else None,
        served=shorten(output.model or "", SERVED_CHARACTERS),
    )


def _innermost(error: BaseException) -> Exception:
    cause = error.__cause__
    return cause if isinstance(cause, Exception) else error if isinstance(error, Exception) else RuntimeError()


def _without_markup(message: object) -> str:
    """Inspect's messages without their terminal markup."""
    from rich.text import Text

    return " ".join(Text.from_markup(str(message)).plain.split())


def _in_short(message: str) -> str:
    """Inspect lists every variable that could hold the key; the first is the provider's own."""
    missing = re.search(r"No ([A-Z0-9_]+_(?:KEY|TOKEN))\b.* defined in the environment", message)
    if missing is None:
        return message.removeprefix("ERROR: ")
    return no_key(missing[1])


def _meant(model: str) -> list[str]:
    """Names of models that one without a known provider is a mistyped or short form of."""
    provider, slash, name = model.partition("/")
    if slash:
        return [f"{known}/{name}" for known in similar(provider, KNOWN, 1, 0.7)] if provider not in KNOWN else []
    return [known for known in (*baselines(), *price_table()) if known.partition("/")[2] == model]


def _unknown_model(model: str) -> FathomError:
    provider, slash, _ = model.partition("/")
    what = f"unknown provider {provider!r}" if slash else "no provider named"
    if near := _meant(model):
        return FathomError(f"model {model!r}: {what}; did you mean {listed(near, 'or')}? (see `fathom list models`)")
    return FathomError(
        f"model {model!r}: {what}; expected PROVIDER/NAME, for instance openai/gpt-5, vllm/NAME or fathom/lexical. "
        "`fathom list models` lists the models with known prices and the offline baselines"
    )


def first_error(error: ValueError) -> str:
    """The first fault that pydantic found, with its place."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
