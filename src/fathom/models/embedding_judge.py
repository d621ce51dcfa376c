"""An embedding model as a judge: it answers the requests of the rubric ``similarity``.

``embed/NAME`` is a model on a server with OpenAI's interface, by its name there: OpenAI's, with the key in
``OPENAI_API_KEY``, or one at ``--model-base-url``. ``embed-local/NAME`` is a sentence-transformers model, by name or
folder; Qwen models are padded on the left, as in LongBench Pro. Texts are embedded unchanged, without an instruction.
Only Qwen3-Embedding-8B reproduces the paper's scores.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fathom.models.embedding import Endpoint, Floats, SentenceTransformer
from fathom.models.endpoint import connect
from fathom.models.failures import Failure, classify, shorten
from fathom.models.overflow import Overflow
from fathom.models.protocol import TINY_PROMPT, Call, RequestError, Settings
from fathom.plugins.extras import install
from fathom.score.judge import JudgeKind
from fathom.types import FathomError, Reply
from fathom.types.choices import TIMEOUT

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SERVED, LOCAL = "embed/", "embed-local/"
PAPERS = "Qwen3-Embedding-8B"
"""The model with which LongBench Pro's scores of summaries were made."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    def load(self) -> None:
        """Load what is needed."""
        ...

    def embed(self, texts: Sequence[str]) -> tuple[Floats, int | None]:
        """Vectors of the texts, shape (N, D), and how many tokens were read; None if unknown."""
        ...


def judge_kind(judge: str) -> JudgeKind:
    """The kind of judge that a name stands for."""
    return "embedding" if judge.startswith((SERVED, LOCAL)) else "chat"


class EmbeddingClient:
    """Answers with the highest cosine similarity of each summary with a reference, computed in its own threads.

    Args:
        embedder: The model.
        threads: Requests processed at once.
        settings: How it is asked, if it is on a server.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, embedder: Embedder, threads: int, settings: Settings | None = None) -> None:
        self._embedder = embedder
        self.settings = settings
        self._threads = ThreadPoolExecutor(threads, "embedding")

    @property
    def server(self) -> tuple[AsyncOpenAI, str] | None:
        """A client of the server that embeds, and the model's name there; None for a local model."""
        if self.settings is None:
            return None
        return connect(self.settings.model, self.settings.base_url), self.settings.model.partition("/")[2]

    def load(self) -> None:
        """Load the model, if it is local, before the first request.

        Raises:
            FathomError: The library is not installed, or the model does not exist.
        """
        self._embedder.load()

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Embed the texts of one request and compare them.

        Raises:
            RequestError: The server failed.
        """
        if prompt == TINY_PROMPT:
            prompt = json.dumps({"summaries": [prompt], "references": [prompt]})
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, prompt)
        except Exception as error:
            raise RequestError(_failure(error)) from None

    async def close(self) -> None:
        """Shut down the threads without waiting for running work."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _answer(self, prompt: str) -> Reply:
        asked: Mapping[str, Sequence[str]] = json.loads(prompt)
        summaries, references = asked["summaries"], asked["references"]
        texts = list(dict.fromkeys((*summaries, *references)))
        # A lone surrogate can be neither sent nor tokenized.
        vectors, tokens = self._embedder.embed([text.encode("utf-8", "replace").decode() for text in texts])
        units = dict(zip(texts, _units(vectors), strict=True))
        if not all(units[text].any() for text in references):
            raise FathomError("the vector of a reference has no direction; is this an embedding model?")
        compared = [max(float(units[text] @ units[other]) for other in references) for text in summaries]
        return Reply("ok", json.dumps({"cosines": compared}), stop="stop", tokens_in=tokens, tokens_out=0)


def _units(vectors: Floats) -> Floats:
    with np.errstate(over="ignore"):  # a vector of infinite length has no direction
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Floats = vectors / np.where(lengths > 0, lengths, 1.0)
    return units


def _failure(error: Exception) -> Failure:
    """The failure behind an exception; our own errors carry it in their cause, if they have one."""
    if not isinstance(error, FathomError):
        return classify(error)
    return classify(error.__cause__) if error.__cause__ else Failure("bad", shorten(str(error)))


class _Served:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def load(self) -> None:
        """Nothing to load."""

    def embed(self, texts: Sequence[str]) -> tuple[Floats, int | None]:
        return self._endpoint.counted(texts)


class _Local:
    def __init__(self, model: SentenceTransformer) -> None:
        self._model = model

    def load(self) -> None:
        self._model.load()

    def embed(self, texts: Sequence[str]) -> tuple[Floats, int | None]:
        return self._model(texts), None


def open_embedding_client(settings: Settings, *, connections: int = 1, timeout: float = TIMEOUT) -> EmbeddingClient:
    """Open an embedding model as a judge. Nothing is sent or loaded.

    Args:
        settings: How it is asked.
        connections: Requests in flight at once; a local model takes one.
        timeout: Seconds for one attempt.

    Raises:
        FathomError: No model is named, an option does not apply to it, its library is missing or a key is missing.
    """
    kind, _, name = settings.model.partition("/")
    if not name:
        raise FathomError(f"judge {settings.model!r}: name the model, as in embed/NAME or embed-local/NAME")
    _check(settings)
    if f"{kind}/" == LOCAL:
        _check_library(settings.model)
        if settings.base_url is not None:
            raise FathomError(
                f"judge {settings.model}: a local model takes no `model_base_url`; for a server use embed/{name}"
            )
        return EmbeddingClient(_Local(SentenceTransformer(name, padding="left" if "qwen" in name.lower() else None)), 1)
    # The runner retries, so that the same limits hold for all judges.
    endpoint = Endpoint(name, settings.base_url, retries=0, timeout=timeout, tell=cache(_tell))
    endpoint.key()
    return EmbeddingClient(_Served(endpoint), connections, settings)


def _check(settings: Settings) -> None:
    given = {
        "`temperature`": bool(settings.temperature),
        "`max_output_tokens`": settings.max_output_tokens is not None,
        "`generation` or --reasoning": bool(settings.generation),
        "`model_args`": bool(settings.model_args),
    }
    if senseless := [name for name, present in given.items() if present]:
        raise FathomError(f"judge {settings.model}: an embedding model generates no text; leave out {senseless[0]}")


def _check_library(model: str) -> None:
    from importlib.util import find_spec

    if find_spec("sentence_transformers") is None:
        raise FathomError(f"judge {model} needs sentence-transformers: {install('embed')}")


def _tell(words: str) -> None:
    print(words, file=sys.stderr)
