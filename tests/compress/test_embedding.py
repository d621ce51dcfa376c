"""Texts as vectors: offline, and which model a name names; then few dimensions of them."""

from __future__ import annotations

import numpy as np
import pytest

from fathom.compress.embedding import TfIdf, embedder, reduced
from fathom.models.embedding import Endpoint, Floats, SentenceTransformer
from fathom.types import FathomError

TEXTS = [
    "The harbour was quiet that evening, and the boats lay still.",
    "The harbour was quiet in the evening; the boats were still.",
    "def add(first, second):\n    return first + second",
    "def sum(first, second):\n    return first + second + 0",
    "那天晚上港口很安静,船只一动不动。",
    "那天晚上港口非常安静,船都一动不动。",
]


def similarity(vectors: Floats) -> Floats:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


def test_texts_that_are_alike_lie_close_in_every_language() -> None:
    vectors = TfIdf()(TEXTS)
    alike = similarity(vectors) - 2 * np.eye(6)
    assert alike.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]
    assert np.array_equal(vectors, TfIdf()(TEXTS))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_texts_have_few_dimensions(count: int) -> None:
    vectors = TfIdf(dimensions=10)(TEXTS[:count])
    assert len(vectors) == count
    assert np.isfinite(vectors).all()


def test_texts_without_characters_are_refused() -> None:
    with pytest.raises(FathomError, match="no text to embed"):
        TfIdf()([])
    with pytest.raises(FathomError, match="cannot be embedded by their characters"):
        TfIdf()(["", ""])


def test_components_are_ordered_and_not_whitened() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(200, 5)) * np.array([1, 9, 3, 0.1, 0.5])
    found = reduced(vectors, 3)
    assert found.std(axis=0) == pytest.approx([9, 3, 1], rel=0.15)
    assert found.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-9)
    assert reduced(vectors[:2], 4)[:, 2:].tolist() == [[0, 0], [0, 0]]
    with pytest.raises(FathomError, match="finite"):
        reduced(np.array([[1.0, np.nan]]), 1)
    with pytest.raises(FathomError, match="expected 1 or more"):
        reduced(vectors, 0)


@pytest.mark.parametrize("name", ["bert", "st/", "openai", "tfidf/x"])
def test_unknown_embeddings_are_refused(name: str) -> None:
    with pytest.raises(FathomError, match="choose tfidf, sentence-transformers/MODEL or openai/MODEL"):
        embedder(name)


def test_embeddings_by_name() -> None:
    assert embedder("tfidf") == TfIdf()
    assert embedder("st/some/model") == SentenceTransformer("some/model")
    assert embedder("sentence-transformers/some/model") == SentenceTransformer("some/model")
    found = embedder("openai/large", base_url="http://127.0.0.1:1/v1")
    assert isinstance(found, Endpoint)
    assert (found.model, found.base_url) == ("large", "http://127.0.0.1:1/v1")
