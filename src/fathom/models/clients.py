"""Opens the client of a model by its name."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fathom.extend.servers import notes_of_command
from fathom.models.entailment import EntailmentClient
from fathom.models.hugging_face import is_local
from fathom.models.local_client import BATCHES, PATIENCE, LocalClient, open_local_client
from fathom.models.local_model import starts_server
from fathom.models.local_server import LocalServerClient, served_settings
from fathom.models.negotiation import Negotiation
from fathom.models.protocol import Client, Settings, is_baseline, is_ray_vllm
from fathom.models.ray_vllm import RayVllmClient, open_ray_vllm_client
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import FathomError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from fathom.extend.hf.extension import Extension


def open_client(settings: Settings, tokenizer: Callable[[], Tokenizer]) -> Client:
    """The client of a model.

    Args:
        settings: How the model is asked.
        tokenizer: Loads the tokenizer of the suite; only baselines with a window need it.

    Raises:
        FathomError: The model is unknown, its library is absent, a key is missing or cannot be sent, or a proxy cannot
            be used.
    """
    if is_baseline(settings.model):
        from fathom.models.baselines import baseline_client

        return baseline_client(settings.model, tokenizer)
    if is_local(settings.model):
        return open_local_client(settings)
    if is_ray_vllm(settings.model):
        return open_ray_vllm_client(settings)
    if starts_server(settings.model):
        return _open_local_server(settings)
    return _open_served(settings)


def _open_served(settings: Settings, http_client: object = None) -> Client:
    if settings.chat_template != "always":
        from fathom.models.completions import open_continuing_client

        return open_continuing_client(settings)
    from fathom.models.chat_client import open_server_client

    return open_server_client(settings, http_client)


def _open_local_server(settings: Settings) -> Client:
    from openai import DefaultAsyncHttpxClient

    server, asked = served_settings(settings)
    backend = _open_served(asked, DefaultAsyncHttpxClient(trust_env=False))  # no proxy knows this machine
    if (http := server_of(backend)) is None:  # Inspect's clients have none
        raise FathomError(f"model {settings.model}: `generation` has an option that llama.cpp's server does not take")
    return LocalServerClient(server, backend, http[0])


def context_of(client: Client) -> int | None:
    """Tokens that a model in this process, or one that it serves, holds by its own file; None for all others."""
    return client.context if isinstance(client, LocalClient | LocalServerClient) else None


def extension_of(client: Client) -> "Extension | None":
    """The method that makes a model in this process read beyond its window; None if there is none."""
    return client.extension if isinstance(client, LocalClient) else None


def notes_of(client: Client, command: str | None = None) -> tuple[str, ...]:
    """What a reader of the results must know of how a model is computed.

    Args:
        client: The model's client.
        command: The command line with which its server was started; None if unsaid.
    """
    return client.notes if isinstance(client, LocalClient) else notes_of_command(command or "")


def negotiation_of(client: Client) -> Negotiation:
    """What the model's server was found to refuse; nothing for models without a server."""
    negotiation = getattr(_asking(client), "negotiation", None)
    return negotiation if isinstance(negotiation, Negotiation) else Negotiation()


def server_of(client: object) -> "tuple[AsyncOpenAI, str] | None":
    """The HTTP client of a model's server and its name there; None without OpenAI's protocol."""
    server: tuple[AsyncOpenAI, str] | None = getattr(_asking(client), "server", None)
    return server


def settings_of(client: object) -> Settings | None:
    """How a model on a server is asked; None for models in this process."""
    settings = getattr(_asking(client), "settings", None)
    return settings if isinstance(settings, Settings) else None


def _asking(client: object) -> object:
    """The part of a client that sends requests: some ask a backend."""
    return getattr(client, "backend", client)


def kernel_of(client: Client) -> str:
    """The attention that computes a model in this process, such as ``sdpa``; "" for all others."""
    return client.kernel if isinstance(client, LocalClient) else ""


def connections_of(client: Client, wanted: int) -> int:
    """Requests in flight at once: a model in this process gets no more than it computes at once, or some batches.

    Others would wait for it, and their time limit would pass; among some batches it chooses prompts of like lengths.
    vLLM on a cluster gets many, whatever was wanted.
    """
    if isinstance(client, EntailmentClient | LocalServerClient):
        return 1
    if isinstance(client, RayVllmClient):
        return client.at_once
    if isinstance(client, LocalClient):
        return min(wanted, client.batch_size * (BATCHES if client.batch_size > 1 else 1))
    return wanted


def timeout_of(client: Client, wanted: float) -> float:
    """Seconds for one attempt, longer where requests wait for each other by design, or without end."""
    if isinstance(client, LocalClient):
        return wanted * (PATIENCE + BATCHES if client.batch_size > 1 else 1)
    return float("inf") if isinstance(client, RayVllmClient) else wanted
