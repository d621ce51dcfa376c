"""Texts as vectors: offline by their characters, or by an embedding model (``fathom.run.embedding``); then few
dimensions of them.

MiniLongBench embeds every item's text with a model of 1,024 dimensions and keeps 10 principal components (section 3,
equation 1). The default here needs no model and no network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fathom.run.embedding import Endpoint, Floats, SentenceTransformer, check_texts, cut
from fathom.types import FathomError

Embed: TypeAlias = Callable[[Sequence[str]], Floats]


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

        check_texts(texts)
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
