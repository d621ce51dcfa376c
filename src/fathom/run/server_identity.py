"""What a server states of the checkpoint that it serves, asked once its first reply has come.

The name in a request says little: two checkpoints are often served under one. Servers say more in places of their own,
which the list of models names by its ``owned_by``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from fathom.models.clients import context_of, server_of, settings_of
from fathom.models.endpoint import address_of
from fathom.models.protocol import Client
from fathom.models.usage import count
from fathom.printing import printable
from fathom.run.server_facts import fetch, window_of
from fathom.runfile.servers import note_server
from fathom.safety.secrets import redact
from fathom.types import FathomError, Json

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SECONDS = 3.0
"""Time limit of all requests here together: a run does not wait longer for them at its end."""
_PAUSE = 0.05
_CHARACTERS = 120
_LOCAL_PATH = re.compile(r"^[/~.]|^[A-Za-z]:|/.*/|[?#]|\.gguf$|://")
"""Of the names of a hub, which have at most one slash, nothing is hidden."""


@asynccontextmanager
async def noting_server(folder: Path, client: Client, replied: Callable[[], bool]) -> AsyncIterator[None]:
    """Record what the model's server states, while the run goes on; a run does not fail if it states nothing.

    Args:
        replied: Whether it has answered: a server that answers nothing is not one of the run.
    """
    asking = asyncio.create_task(_note(folder, client, replied))
    try:
        yield
        if replied():
            await asking
    finally:
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking


async def _note(folder: Path, client: Client, replied: Callable[[], bool]) -> None:
    settings, server = settings_of(client), server_of(client)
    # fathom knows what it serves itself, and providers do not tell.
    if settings is None or server is None or context_of(client) is not None or address_of(settings) is None:
        return
    while not replied():
        await asyncio.sleep(_PAUSE)
    with suppress(TimeoutError, FathomError):
        async with asyncio.timeout(SECONDS):
            facts = await stated_facts(*server)
        note_server(folder, facts)


async def stated_facts(client: AsyncOpenAI, name: str) -> dict[str, Json]:
    """What a server states of a model: its software and version, the checkpoint or file, its size and window.

    Args:
        client: The HTTP client of the server.
        name: The model's name there.

    Returns:
        Facts by name, without secrets; of paths the last part only, with eight digits of the hash of the whole. Empty
        if the server states nothing.
    """
    body = (await fetch(client, "/models", SECONDS)).body
    listed = body.get("data") if isinstance(body, Mapping) else None
    cards = [card for card in listed if isinstance(card, Mapping)] if isinstance(listed, list) else []
    card = next((card for card in cards if card.get("id") == name), cards[0] if len(cards) == 1 else None)
    if card is None:
        return {}
    software, paths, read = _SERVERS.get(str(card.get("owned_by")), ("", (), _of_card))
    parts = urlsplit(str(client.base_url))
    root = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
    answers = await asyncio.gather(*(fetch(client, f"{root}{path}", SECONDS) for path in paths))
    bodies = [answer.body if isinstance(answer.body, Mapping) else {} for answer in answers]
    stated = {"software": software, "window": window_of({"data": [card]}, name), **read(card, name, *bodies)}
    return {fact: _clean(value) for fact, value in stated.items() if value not in (None, "")}


def _of_card(card: Mapping[str, Any], name: str) -> dict[str, Any]:
    root = card.get("root")
    return {} if root in (None, name) else {"model": _checkpoint(root)}


def _of_vllm(card: Mapping[str, Any], name: str, version: Mapping[str, Any]) -> dict[str, Any]:
    return {"version": version.get("version"), "model": _checkpoint(card.get("root"))}


def _of_sglang(card: Mapping[str, Any], name: str, info: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": _checkpoint(info.get("model_path")), "weights": info.get("weight_version")}


def _of_llama(card: Mapping[str, Any], name: str, props: Mapping[str, Any]) -> dict[str, Any]:
    meta, defaults = card.get("meta"), props.get("default_generation_settings")
    sizes: Mapping[str, Any] = meta if isinstance(meta, Mapping) else {}
    window = count(defaults.get("n_ctx")) if isinstance(defaults, Mapping) else None
    return {
        "version": props.get("build_info"),
        "model": _checkpoint(props.get("model_path")),
        **({"window": window} if window else {}),
        "quantization": props.get("model_ftype") or sizes.get("ftype"),
        "parameters": count(sizes.get("n_params")),
        "bytes": count(sizes.get("size")),
    }


def _of_ollama(
    card: Mapping[str, Any], name: str, version: Mapping[str, Any], tags: Mapping[str, Any]
) -> dict[str, Any]:
    listed = tags.get("models")
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    mine: Mapping[str, Any] = next((entry for entry in entries if entry.get("name") in (name, f"{name}:latest")), {})
    digest = mine.get("digest")
    return {"version": version.get("version"), "weights": digest[:12] if isinstance(digest, str) else None}


_SERVERS: Mapping[str, tuple[str, tuple[str, ...], Callable[..., dict[str, Any]]]] = {
    "vllm": ("vLLM", ("/version",), _of_vllm),
    "sglang": ("SGLang", ("/get_model_info",), _of_sglang),
    "llamacpp": ("llama.cpp", ("/props",), _of_llama),
    "library": ("Ollama", ("/api/version", "/api/tags"), _of_ollama),
}
"""By ``owned_by``: the name of the software, where it states more, and what reads the answers."""


def _checkpoint(path: object) -> str | None:
    """A name of a hub as it is; of a path the last part, with part of the hash of the whole."""
    if not isinstance(path, str) or not path.strip():
        return None
    if not _LOCAL_PATH.search(path):
        return path
    last = re.split(r"[/\\]", re.split(r"[?#]", path)[0].rstrip("/\\"))[-1]
    return f"{last}#{sha256(path.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _clean(value: object) -> Json:
    """A number, or a short text without secrets."""
    return value if isinstance(value, int) else redact(printable(str(value)))[:_CHARACTERS]
