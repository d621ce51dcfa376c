"""Texts as vectors: offline by their characters, or by an embedding model; then few dimensions of them.

MiniLongBench embeds every item's text with a model of 1,024 dimensions and keeps 10 principal components (section 3,
equation 1). The default here needs no model and no network.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.types import FathomError

if TYPE_CHECKING:
    from openai import OpenAI

Floats: TypeAlias = NDArray[np.float64]
Embed: TypeAlias = Callable[[Sequence[str]], Floats]
Tell: TypeAlias = Callable[[str], None]

CHARACTERS = 32_000
"""Characters of a text that are embedded; about 8,000 tokens of English, the limit of most models."""
BATCH = 32


@dataclass(frozen=True)
class TfIdf:
    """Embeds texts by their n-grams of characters: TF-IDF, and its leading singular directions.

    Characters serve English, code and Chinese alike, which words do not. The same texts give the same vectors.

    Attributes:
        dimensions: The most dimensions; fewer where there are fewer texts.
        characters: Characters of each text that are read, from its start and its end in equal parts.
        features: The most n-grams that are kept, the most frequent ones.
        seed: Seed of the decomposition.
    """

    dimensions: int = 100
    characters: int = 8_000
    features: int = 50_000
    seed: int = 0

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors of the texts, shape (N, D)."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        _check_texts(texts)
        shortened = [cut(text, self.characters) for text in texts]
        weigh = TfidfVectorizer(
            analyzer="char", ngram_range=(2, 3), max_features=self.features, sublinear_tf=True, dtype=np.float32
        )
        try:
            table = weigh.fit_transform(shortened)
        except ValueError as error:
            raise FathomError(f"texts cannot be embedded by their characters: {error}") from error
        kept = min(self.dimensions, min(table.shape) - 1)
        if kept < 1:
            return np.asarray(table.toarray(), dtype=np.float64)
        reduce = TruncatedSVD(n_components=kept, random_state=self.seed)
        return np.asarray(reduce.fit_transform(table), dtype=np.float64)


@dataclass(frozen=True)
class SentenceTransformer:
    """Embeds texts by a local model of the library sentence-transformers (``pip install 'fathom-eval[embed]'``).

    Attributes:
        model: Name or folder of the model.
        batch: Texts at once.
    """

    model: str
    batch: int = BATCH

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors of the texts, shape (N, D); the model cuts what is longer than its window."""
        _check_texts(texts)
        try:
            import sentence_transformers
        except ImportError as error:
            raise FathomError(
                f"embeddings by {self.model} need sentence-transformers: pip install 'fathom-eval[embed]', or embed "
                "with tfidf"
            ) from error
        try:
            loaded = sentence_transformers.SentenceTransformer(self.model)
        except (OSError, ValueError) as error:
            raise FathomError(f"{self.model}: no model of sentence-transformers: {error}") from error
        found = loaded.encode(list(texts), batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True)
        return _checked(np.asarray(found, dtype=np.float64), len(texts), self.model)


@dataclass(frozen=True)
class Endpoint:
    """Embeds texts by a server with OpenAI's interface (``/embeddings``).

    Attributes:
        model: Name of the model, as the server knows it.
        base_url: Address up to ``/v1``; None for OpenAI's.
        key_variable: Environment variable that holds the key; a server at an address of its own needs none.
        batch: Texts in one request.
        characters: Characters of each text that are sent, from its start and its end in equal parts.
        retries: Further attempts after a failure that may pass.
        sleep: Waits before an attempt.
        tell: Told how many texts were cut.
    """

    model: str
    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    batch: int = BATCH
    characters: int = CHARACTERS
    retries: int = 5
    sleep: Callable[[float], None] = time.sleep
    tell: Tell = lambda words: print(words, file=sys.stderr)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors of the texts, shape (N, D)."""
        from openai import OpenAI

        _check_texts(texts)
        key = os.environ.get(self.key_variable, "")
        if not key and self.base_url is None:
            raise FathomError(f"embeddings by {self.model} need a key in the environment variable {self.key_variable}")
        if long := sum(len(text) > self.characters for text in texts):
            self.tell(f"{long:,} of {len(texts):,} texts were cut to {self.characters:,} characters to be embedded")
        shortened = [cut(text, self.characters) or " " for text in texts]
        vectors: list[list[float]] = []
        with OpenAI(api_key=key or "none", base_url=self.base_url, max_retries=0) as client:
            for start in range(0, len(shortened), self.batch):
                vectors += self._asked(client, shortened[start : start + self.batch])
        widths = {len(vector) for vector in vectors}
        if len(widths) > 1:
            raise FathomError(f"{self.model} gave vectors of {sorted(widths)} dimensions, expected one number of them")
        return _checked(np.array(vectors, dtype=np.float64), len(texts), self.model)

    def _asked(self, client: OpenAI, texts: list[str]) -> list[list[float]]:
        import openai

        for attempt in range(self.retries + 1):
            try:
                reply = client.embeddings.create(model=self.model, input=texts, encoding_format="float")
            except (openai.APIConnectionError, openai.RateLimitError, openai.InternalServerError) as error:
                if attempt == self.retries:
                    raise FathomError(f"{self.model}: no embeddings after {attempt + 1} attempts: {error}") from error
                self.sleep(min(60.0, 2.0**attempt))
                continue
            except openai.OpenAIError as error:
                raise FathomError(f"{self.model}: embeddings were refused: {error}") from error
            if sorted(one.index for one in reply.data) != list(range(len(texts))):
                raise FathomError(f"{self.model} gave {len(reply.data)} vectors for {len(texts)} texts")
            return [one.embedding for one in sorted(reply.data, key=lambda one: one.index)]
        raise AssertionError("the last attempt returns or raises")


def embedder(name: str, *, base_url: str | None = None) -> Embed:
    """An embedding by name.

    Args:
        name: ``tfidf``, ``sentence-transformers/MODEL`` (or ``st/MODEL``), or ``openai/MODEL`` for a server.
        base_url: Address of the server.

    Raises:
        FathomError: There is no such kind.
    """
    kind, _, model = name.partition("/")
    if name == "tfidf":
        return TfIdf()
    if kind in ("st", "sentence-transformers") and model:
        return SentenceTransformer(model)
    if kind == "openai" and model:
        return Endpoint(model, base_url=base_url)
    raise FathomError(f"unknown embedding {name!r}: choose tfidf, sentence-transformers/MODEL or openai/MODEL")


def reduced(vectors: Floats, dimensions: int, seed: int = 0) -> Floats:
    """The leading principal components, not whitened.

    Args:
        vectors: Shape (N, F).
        dimensions: D; where there are fewer components, further columns are 0.
        seed: Seed of the solver, where there are many columns.

    Returns:
        Shape (N, D).

    Raises:
        FathomError: A value is no finite number, or ``dimensions`` is below 1.
    """
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise FathomError(f"embeddings must be finite numbers, a row for each item; got shape {vectors.shape}")
    if dimensions < 1:
        raise FathomError(f"{dimensions} dimensions: expected 1 or more")
    from sklearn.decomposition import PCA

    kept = min(dimensions, *vectors.shape)
    found = np.zeros((len(vectors), dimensions))
    found[:, :kept] = PCA(n_components=kept, random_state=seed).fit_transform(vectors)
    return found


def cut(text: str, characters: int) -> str:
    """The text, or its first and its last half of so many characters: the question often stands at the end."""
    if len(text) <= characters:
        return text
    half = characters // 2
    return text[: characters - half] + text[len(text) - half :]


def _check_texts(texts: Sequence[str]) -> None:
    if not texts:
        raise FathomError("there is no text to embed")


def _checked(vectors: Floats, count: int, model: str) -> Floats:
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
        raise FathomError(f"{model} gave vectors of shape {vectors.shape}, expected {count:,} rows of finite numbers")
    return vectors
