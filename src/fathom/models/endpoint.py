"""Endpoints of OpenAI's protocol: which model names lead to one, its address and key, and a client of OpenAI's library.

Names, variables of the environment and made-up keys are those of Inspect, so that a name means the same server whoever
sends its requests.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from fathom.models.proxies import check_access
from fathom.safety.secrets import key_variable
from fathom.types import FathomError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from fathom.models.protocol import Settings

PROVIDERS = ("openai", "openai-api", "vllm", "sglang", "llama-cpp-python")
"""Providers whose servers have OpenAI's protocol: completions, chats and streams."""
KNOWN = (
    *(*PROVIDERS, "fathom", "hf", "anthropic", "google", "ollama", "mistral", "groq", "together", "fireworks", "grok"),
    *("openrouter", "deepseek", "azureai", "bedrock", "perplexity", "cloudflare", "sambanova", "moonshot", "sagemaker"),
)
"""Providers that messages propose for a mistyped one; Inspect has some more, and packages add theirs."""
NO_KEY = "no-key-needed"  # local servers need no key, but the client library insists on one
_KEYS: Mapping[str, str] = {
    "vllm": "inspectai",
    "sglang": "dummy",
    "llama-cpp-python": "llama-cpp-python",
    "ollama": "ollama",
}
_ADDRESSES: Mapping[str, str] = {
    "llama-cpp-python": "http://localhost:8000/v1",
    "ollama": "http://localhost:11434/v1",
}
_CONNECTIONS = 1000
_KEPT_ALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))


def name_on_server(model: str) -> str:
    """The model's name on its server; "" if there is none.

    Args:
        model: ``PROVIDER/NAME``, or ``openai-api/SERVICE/NAME``.
    """
    provider, _, name = model.partition("/")
    return name.partition("/")[2] if provider == "openai-api" else name


def address_of(settings: Settings) -> str | None:
    """The address of a model's server: given, in the environment, or the usual one; None if unknown or OpenAI's own."""
    provider, _, name = settings.model.partition("/")
    if provider not in (*PROVIDERS, "ollama"):
        return None
    if settings.base_url is not None or provider == "openai":
        return settings.base_url
    service = name.partition("/")[0] if provider == "openai-api" else provider
    named = os.environ.get(f"{service.upper().replace('-', '_')}_BASE_URL")
    if provider == "vllm":
        return named or None
    return named or os.environ.get("INSPECT_EVAL_MODEL_BASE_URL") or _ADDRESSES.get(provider)


def key_of(settings: Settings) -> str:
    """The key of a model's server: given, in the environment, or made up where the server needs none.

    Raises:
        FathomError: There is none, and no server was named that may do without.
    """
    variable = key_variable(settings.model)
    key = str(settings.model_args.get("api_key") or "") or os.environ.get(variable, "")
    key = key or _KEYS.get(settings.model.partition("/")[0], "")
    if not key and (settings.base_url is None or "api_key" in settings.model_args):
        raise FathomError(f"model {settings.model!r}: {no_key(variable)}")
    return key or NO_KEY


def no_key(variable: str) -> str:
    """What to do about a missing key.

    Args:
        variable: The environment variable that would hold it.
    """
    return f"no key: set the environment variable {variable}, or give `model_base_url` for a server that needs none"


def connect(model: str, base_url: str | None, key: str = "", http_client: Any = None) -> AsyncOpenAI:
    """A client of OpenAI's library. Retries and time limits are the runner's.

    Args:
        model: ``PROVIDER/NAME``, whose provider has a key in the environment.
        base_url: Address of the server; None for OpenAI's.
        key: A key that was given; "" for that in the environment, or none.
        http_client: Used by the library instead of its own; None for its own.

    Raises:
        FathomError: The key cannot be sent, or the proxy cannot be used.
    """
    from openai import AsyncOpenAI

    check_access(model, base_url)
    key = key or os.environ.get(key_variable(model)) or NO_KEY
    http_client = http_client or _http_client()
    return AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0, timeout=None, http_client=http_client)


def _http_client() -> Any:
    """The library's HTTP client, which keeps the connections of all requests in flight alive.

    A server that reads a long prompt sends nothing for minutes, and routers forget such connections. With a transport
    of its own the client would ignore proxies of the environment, so where there are any, they have precedence.
    """
    import httpx2
    from openai import DefaultAsyncHttpxClient

    limits = httpx2.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS)
    if not {"http", "https", "all"}.isdisjoint(getproxies()):
        return DefaultAsyncHttpxClient(limits=limits)
    times = [(socket.IPPROTO_TCP, getattr(socket, name), time) for name, time in _KEPT_ALIVE if hasattr(socket, name)]
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *times]
    return DefaultAsyncHttpxClient(
        transport=httpx2.AsyncHTTPTransport(limits=limits, retries=1, socket_options=options)
    )
