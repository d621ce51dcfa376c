"""Facts about a server that need no prompt: whether it answers, which models it serves, their windows."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from fathom.models.clients import server_of, settings_of
from fathom.models.failures import ServerError, chain_of, classify, shorten, status_code
from fathom.models.protocol import Settings
from fathom.models.proxies import proxy_variable
from fathom.models.usage import count
from fathom.plugins.names import similar
from fathom.printing import printable
from fathom.run.checks import Check
from fathom.safety.secrets import hide_in_address, key_variable
from fathom.types import FathomError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SECONDS = 15.0
"""Time limit of one request here: none of them needs a model."""
SHORT_SECONDS = 5.0
"""The same where a run gives up, and its user waits."""
LEAST = 256
"""Stated windows of fewer tokens are taken for errors."""
MOST_NAMES = 5000
_SHOWN = 120
_WINDOWS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
"""Fields of a list of models that hold a window: vLLM and SGLang, LM Studio, gateways, Groq, llama.cpp."""
_NUM_CTX = re.compile(r"^num_ctx[ \t]+([0-9]{1,9})[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request.

    Attributes:
        code: The status code; None if there was no answer.
        body: The body, read from JSON; None if it was something else.
        error: What the client raised; None if it did not.
    """

    code: int | None
    body: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """The facts that a server states.

    Attributes:
        check: The check of the address.
        answers: Whether anything answers at the address.
        served: Names of the models that it serves; None if it gives no list.
        window: The window that it states for the model, in tokens; None if it does not.
        better: An address that works in place of this one; "" if none was found.
    """

    check: Check
    answers: bool
    served: tuple[str, ...] | None = None
    window: int | None = None
    better: str = ""


async def survey(client: AsyncOpenAI, name: str, *, given: str | None, seconds: float = SECONDS) -> Survey:
    """Ask a server for its models.

    Args:
        name: The model's name on the server.
        given: The address that the user gave; None for the provider's own.
        seconds: Time limit of each request.
    """
    address = hide_in_address(str(client.base_url).rstrip("/")) or ""
    answer = await fetch(client, "/models", seconds)
    if answer.code is None:
        reason, advice = _no_answer(answer.error, str(client.base_url))
        return Survey(Check("address", "failed", f"{address}: {reason}", advice), answers=False)
    served = _names(answer.body)
    if served is not None:
        window = window_of(answer.body, name)
        if window is None and given is not None:
            window = await _window_elsewhere(client, name, seconds)
        return Survey(Check("address", "ok", f"{address} answers"), True, served, window)
    if given is not None:
        async for other in _others(client, given, seconds):
            shown = hide_in_address(other) or ""
            return Survey(
                Check(
                    "address",
                    "failed",
                    f"{address} is not the address of the API ({_in_short(answer)}), but {shown} is",
                    f"Give --model-base-url {shown}",
                    f"--model-base-url {shown}",
                ),
                answers=True,
                better=other,
            )
    return Survey(Check("address", "ok", f"{address} answers, without a list of models ({_in_short(answer)})"), True)


@asynccontextmanager
async def explaining(client: object) -> AsyncIterator[None]:
    """Say what is wrong with the server of a model, its address or its key, when work with it is given up.

    Raises:
        FathomError: The ``ServerError`` that was raised inside, with what the free checks of ``fathom doctor`` find.
    """
    try:
        yield
    except ServerError as error:
        check, settings, server = None, settings_of(client), server_of(client)
        if settings is not None:
            check = _access_check(str(error), settings)
        if settings is not None and server is not None and check is None:
            check = await _server_check(str(error), settings, *server)
        if check is None or check.consequence in str(error):
            raise
        # Judges and checkers have options of other names, so they are named as in Python.
        advice = re.sub(r"--(model(?:-[a-z-]+)?)", lambda flag: f"`{flag[1].replace('-', '_')}`", check.consequence)
        raise FathomError(f"{str(error).rstrip('.')}. {check.found}. {advice}") from None


async def _server_check(message: str, settings: Settings, http: AsyncOpenAI, name: str) -> Check | None:
    """The check of the address, the model's name or the window that may explain an error; None if all are right."""
    from openai import DefaultAsyncHttpxClient

    # Connections of its own: those of a client that records requests lead nowhere.
    async with http.with_options(http_client=DefaultAsyncHttpxClient()) as own:
        surveyed = await survey(own, name, given=settings.base_url, seconds=SHORT_SECONDS)
    # A server that refuses a request for what is in it has the address of the API.
    elsewhere = surveyed.check.state == "failed" and not re.search(r"\b4(?:00|22)\b", message)
    if elsewhere or (check := refusal(message, settings, name, surveyed)) is not None:
        return surveyed.check if elsewhere else check
    window = surveyed.window
    if window is None or (settings.window or window + 1) <= window or re.search(r"\b4\d\d\b", message):
        return None
    advice = f"Prompts that do not fit can end it; runs do not send them with --window {window}"
    return Check("window", "failed", f"The server states a window of {window:,} tokens", advice)


def refusal(message: str, settings: Settings, name: str, surveyed: Survey) -> Check | None:
    """The check that explains why a server refuses all requests; None if it is neither the key nor the model's name.

    Args:
        message: What the server says.
        settings: How the model is asked.
        surveyed: What the server states.
    """
    if (check := _access_check(message, settings)) is not None:
        return check
    if not surveyed.served or name in surveyed.served or not re.search(r"\b40[04]\b", message):
        return None
    near, served = like(name, surveyed.served), surveyed.served
    names = ", ".join(served[:5]) + (f" and {len(served) - 5} more" if len(served) > 5 else "")
    better = near[0] if near else served[0] if len(served) == 1 else ""
    option = f"--model {settings.model.removesuffix(name)}{better}" if better else ""
    words = f"the server has no model {name!r}; it serves {names}"
    advice = f"Give {shlex.join(option.split(' ', 1)) if option else 'one of these names'}"
    return Check("model name", "failed", words, advice, option)


def _access_check(message: str, settings: Settings) -> Check | None:
    """The check that explains an error by a web page that answered, or by the key; None if it has another reason."""
    if re.search(r"<!doctype html|<html\b", message, re.IGNORECASE):
        advice = "Check the address, which usually ends in /v1: a login page, proxy or firewall may be in between"
        return Check("address", "failed", "A web page answered, not the server of the model", advice)
    if not re.search(r"\b40[13]\b", message):
        return None
    variable = key_variable(settings.model)
    state = "which is set: check it" if os.environ.get(variable) else "which is not set"
    given = "api_key" in settings.model_args
    advice = "Check the key in --model-arg api_key" if given else f"The key is read from {variable}, {state}"
    return Check("key", "failed", "the key is refused", advice)


async def fetch(client: AsyncOpenAI, path: str, seconds: float, body: object = None) -> Answer:
    """One request with the client's key.

    Args:
        client: The client of the model.
        path: A path below its address, or a whole address.
        seconds: Time limit.
        body: What to post; None for a GET.
    """
    try:
        async with asyncio.timeout(seconds):
            sent = client.get(path, cast_to=object) if body is None else client.post(path, cast_to=object, body=body)
            content: Any = await sent
    except Exception as error:
        code = next((code for link in chain_of(error) if (code := status_code(link)) is not None), None)
        garbage = code is None and classify(error).kind not in ("silent",)
        return Answer(200 if garbage else code, error=error)
    if isinstance(content, str):  # not labelled as JSON
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            content = None
    return Answer(200, content)


def like(name: str, served: tuple[str, ...]) -> list[str]:
    """The served names that are similar to one, the most similar first; at most three."""
    short = {model: model.rpartition("/")[2].lower() for model in served}
    last = name.rpartition("/")[2].lower()
    same = [model for model, end in short.items() if end and (end in last or last in end)]
    near = similar(last, short.values(), cutoff=0.5)
    return list(dict.fromkeys([*same, *(model for model in served if short[model] in near)]))[:3]


def _names(body: object) -> tuple[str, ...] | None:
    """The names in a list of models; None if it is not one."""
    entries = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(entries, list):
        return None
    names = (entry.get("id") for entry in entries if isinstance(entry, Mapping))
    return tuple(printable(name[:_SHOWN]) for name in names if isinstance(name, str))[:MOST_NAMES]


def window_of(body: Mapping[str, Any], name: str) -> int | None:
    """The window in a model's entry of the list; that of the only model, if the list has one."""
    entries = [entry for entry in body["data"] if isinstance(entry, Mapping)]
    mine = next((entry for entry in entries if entry.get("id") == name), entries[0] if len(entries) == 1 else {})
    meta = mine.get("meta")
    places: list[Mapping[str, Any]] = [mine, *([meta] if isinstance(meta, Mapping) else [])]
    stated = (count(place.get(field)) for place in places for field in _WINDOWS)
    return next((window for window in stated if window is not None and window >= LEAST), None)


async def _window_elsewhere(client: AsyncOpenAI, name: str, seconds: float) -> int | None:
    """The window that llama.cpp and Ollama state, each in its own place."""
    parts = urlsplit(str(client.base_url))
    root = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
    body = (await fetch(client, f"{root}/props", seconds)).body
    settings = body.get("default_generation_settings") if isinstance(body, Mapping) else None
    if isinstance(settings, Mapping) and (n_ctx := count(settings.get("n_ctx"))) and n_ctx >= LEAST:
        return n_ctx
    body = (await fetch(client, f"{root}/api/show", seconds, {"model": name})).body
    if not isinstance(body, Mapping):
        return None
    # Without num_ctx Ollama chooses a window by its own setting, whatever the model can hold.
    stated = _NUM_CTX.search(str(body.get("parameters") or ""))
    window = int(stated[1]) if stated else 0
    return window if window >= LEAST else None


async def _others(client: AsyncOpenAI, given: str, seconds: float) -> Any:
    """Addresses like the given one that return a list of models."""
    for other in alternatives(given):
        if _names((await fetch(client, f"{other}/models", seconds)).body) is not None:
            yield other


def alternatives(url: str) -> list[str]:
    """Addresses that may have been meant, such as one with ``/v1`` at its end.

    Args:
        url: The address that does not work.
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    for end in ("/chat/completions", "/completions", "/models", "/chat"):
        path = path.removesuffix(end)
    bare = path
    while bare.endswith("/v1"):
        bare = bare.removesuffix("/v1")
    paths = [path, f"{bare}/v1", bare, "/v1", "/api/v1"]
    addresses = [urlunsplit((parts.scheme, parts.netloc, path, "", "")) for path in paths]
    return [fromkey for fromkey in dict.fromkeys(addresses) if fromkey != url.rstrip("/")]


def _in_short(answer: Answer) -> str:
    if answer.error is not None:
        return shorten(classify(answer.error).message, _SHOWN)
    return "its reply to /models is not a list of models"


def _no_answer(error: Exception | None, url: str) -> tuple[str, str]:
    """Why nothing answers, and what to do."""
    links = list(chain_of(error)) if error else []
    parts = urlsplit(url)
    host, proxy = parts.hostname or "", proxy_variable(url)
    through = f" Requests go through the proxy of {proxy}; NO_PROXY={host} avoids it." if proxy else ""
    if any(isinstance(link, socket.gaierror) for link in links):
        return f"no host {host!r} (DNS)", f"Check the host's name and your network.{through}"
    refused = any(isinstance(link, ConnectionRefusedError) for link in links)
    if refused and proxy:
        return f"nothing listens at the proxy of {proxy}", f"Correct {proxy}; NO_PROXY={host} avoids it"
    if refused:
        return (
            "connection refused: no server listens there",
            "Start the server, or correct host and port. Inside a container, 127.0.0.1 is the container itself.",
        )
    words = " ".join(map(str, links))
    if "CERTIFICATE_VERIFY_FAILED" in words:
        return "its TLS certificate is not trusted", "Set SSL_CERT_FILE to the certificate of its authority"
    if any(isinstance(link, ssl.SSLError) for link in links) or "SSL" in words:
        plain = hide_in_address(urlunsplit(parts._replace(scheme="http")).rstrip("/"))
        return "it does not speak TLS", f"Give --model-base-url {plain}"
    if any(isinstance(link, TimeoutError) for link in links):
        return "no answer in time", f"Check that the server has finished loading its model, and the port.{through}"
    if any(type(link).__name__ == "TooManyRedirects" for link in links):
        return "it redirects in a circle", "Check the address, which usually ends in /v1"
    # Below the client library's own error, which names no cause.
    cause = links[1] if len(links) > 1 else error
    reason = shorten(f"{type(cause).__name__}: {cause}".rstrip(": "), _SHOWN)
    return f"no HTTP answer ({reason})", f"Check that an HTTP server listens there, and http:// or https://.{through}"
