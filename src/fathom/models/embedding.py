"""Embeds texts as vectors, by an embedding model on a server or a local one."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.models.failures import classify
from fathom.models.proxies import check_access
from fathom.models.usage import count
from fathom.plugins.extras import install
from fathom.safety.address import check_address
from fathom.safety.secrets import remember
from fathom.types import FathomError
from fathom.types.choices import RETRIES, TIMEOUT

if TYPE_CHECKING:
    from openai import OpenAI

Floats: TypeAlias = NDArray[np.float64]
Tell: TypeAlias = Callable[[str], None]

CHARACTERS = 32_000
"""Characters of a text that are embedded; about 8,000 tokens of English, the limit of most models."""
BATCH = 32


@dataclass(frozen=True)
class SentenceTransformer:
    """Embeds texts with a local model of the library sentence-transformers (``pip install 'fathom-eval[embed]'``).

    The model is loaded once, by ``load`` or with the first texts.

    Attributes:
        model: Name or folder of the model.
        batch: Texts per batch.
        padding: Side on which shorter texts of a batch are padded; None for the model's default.
    """

    model: str
    batch: int = BATCH
    padding: Literal["left", "right"] | None = None

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors of the texts, shape (N, D); texts longer than the model's window are truncated."""
        check_texts(texts)
        vectors = self._loaded.encode(
            list(texts), batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True
        )
        return _checked(np.asarray(vectors, dtype=np.float64), len(texts), self.model)

    def load(self) -> None:
        """Load the model.

        Raises:
            FathomError: The library is not installed, or the model does not exist.
        """
        _ = self._loaded

    @cached_property
    def _loaded(self) -> Any:
        try:
            import sentence_transformers
        except ImportError as error:
            raise FathomError(f"embeddings by {self.model} need sentence-transformers: {install('embed')}") from error
        options = {"tokenizer_kwargs": {"padding_side": self.padding}} if self.padding else {}
        try:
            return sentence_transformers.SentenceTransformer(self.model, **options)
        except (OSError, ValueError) as error:
            raise FathomError(f"{self.model}: not a sentence-transformers model: {error}") from error


@dataclass(frozen=True)
class Endpoint:
    """Embeds texts with a server that implements OpenAI's ``/embeddings``.

    Attributes:
        model: Name of the model on the server.
        base_url: Address up to ``/v1``; None for OpenAI's.
        key_variable: Environment variable that holds the key; other servers than OpenAI's need none.
        batch: Texts in one request.
        characters: Characters of each text that are sent, half from its start and half from its end.
        retries: Further attempts after a temporary failure.
        timeout: Seconds for one attempt.
        sleep: Waits before an attempt.
        tell: Called with a note on how many texts were truncated.
    """

    model: str
    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    batch: int = BATCH
    characters: int = CHARACTERS
    retries: int = RETRIES
    timeout: float = TIMEOUT
    sleep: Callable[[float], None] = time.sleep
    tell: Tell = lambda words: print(words, file=sys.stderr)

    def __post_init__(self) -> None:
        if self.base_url is not None:
            check_address(self.base_url)
            remember(self.base_url)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors of the texts, shape (N, D)."""
        return self.counted(texts)[0]

    def counted(self, texts: Sequence[str]) -> tuple[Floats, int | None]:
        """Vectors of the texts, shape (N, D), and the number of tokens the server read; None if unknown.

        Raises:
            FathomError: The vectors have different dimensions.
        """
        from openai import OpenAI

        check_texts(texts)
        key = self.key()
        if long := sum(len(text) > self.characters for text in texts):
            self.tell(
                f"{long:,} of {len(texts):,} texts were truncated to {self.characters:,} characters before embedding"
            )
        shortened = [cut(text, self.characters) or " " for text in texts]
        vectors: list[list[float]] = []
        tokens = 0
        with OpenAI(api_key=key or "none", base_url=self.base_url, max_retries=0, timeout=self.timeout) as client:
            for start in range(0, len(shortened), self.batch):
                vectors_of_batch, read = self._asked(client, shortened[start : start + self.batch])
                vectors += vectors_of_batch
                tokens += read
        widths = {len(vector) for vector in vectors}
        if len(widths) > 1:
            raise FathomError(f"{self.model} returned vectors of different dimensions: {sorted(widths)}")
        return _checked(np.array(vectors, dtype=np.float64), len(texts), self.model), tokens or None

    def key(self) -> str:
        """The key from the environment; "" if none is needed.

        Raises:
            FathomError: The server is OpenAI's, which needs one; or it cannot be sent, or a proxy cannot be used.
        """
        check_access("openai/", self.base_url)
        key = os.environ.get(self.key_variable, "")
        if not key and self.base_url is None:
            raise FathomError(f"embeddings by {self.model} need a key in the environment variable {self.key_variable}")
        return key

    def _asked(self, client: OpenAI, texts: list[str]) -> tuple[list[list[float]], int]:
        for attempt in range(self.retries + 1):
            try:
                reply = client.embeddings.create(model=self.model, input=texts, encoding_format="float")
            except Exception as error:
                failure = classify(error)
                if failure.kind not in ("busy", "silent"):
                    raise FathomError(f"{self.model}: the server refused to embed: {failure.message}") from error
                if attempt == self.retries:
                    tries = f"no embeddings after {attempt + 1} attempts"
                    raise FathomError(f"{self.model}: {tries}: {failure.message}") from error
                self.sleep(min(60.0, 2.0**attempt))
                continue
            if sorted(entry.index for entry in reply.data) != list(range(len(texts))):
                raise FathomError(f"{self.model} returned {len(reply.data)} vectors for {len(texts)} texts")
            usage: Any = reply.usage  # some servers omit it
            read = count(getattr(usage, "prompt_tokens", None)) or 0
            return [entry.embedding for entry in sorted(reply.data, key=lambda entry: entry.index)], read
        raise AssertionError("the last attempt returns or raises")


def cut(text: str, characters: int) -> str:
    """The text, or the first and last half of so many characters: the question is often at the end."""
    if len(text) <= characters:
        return text
    half = characters // 2
    return text[: characters - half] + text[len(text) - half :]


def check_texts(texts: Sequence[str]) -> None:
    """Check that there is something to embed.

    Raises:
        FathomError: The list is empty.
    """
    if not texts:
        raise FathomError("no text to embed")


def _checked(vectors: Floats, count: int, model: str) -> Floats:
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
        raise FathomError(
            f"{model} returned vectors of shape {vectors.shape}, expected {count:,} rows of finite numbers"
        )
    return vectors
