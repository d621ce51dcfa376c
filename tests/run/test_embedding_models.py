"""Texts as vectors by a library that may be absent, and by a server."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pytest
from embedding_server import EmbeddingServer, give
from hypothesis import given
from hypothesis import strategies as st

from fathom.models.embedding import Endpoint, Floats, SentenceTransformer, cut
from fathom.types import FathomError


@given(st.text(max_size=40), st.integers(1, 30))
def test_cut_keeps_both_ends(text: str, characters: int) -> None:
    short = cut(text, characters)
    assert len(short) == min(len(text), characters)
    half = characters // 2
    assert text.startswith(short[: characters - half])
    assert text.endswith(short[len(short) - half :] if len(text) > characters else text)


class Library:
    """Stands for the class of sentence-transformers: a vector is the length of its text and a constant."""

    loaded: ClassVar[list[tuple[str, dict[str, object]]]] = []

    def __init__(self, name: str, **options: object) -> None:
        if name == "absent":
            raise OSError("no such model")
        self.loaded.append((name, options))

    def encode(self, texts: list[str], **options: object) -> Floats:
        assert options == {"batch_size": 32, "show_progress_bar": False, "convert_to_numpy": True}
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


def test_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    library = types.ModuleType("sentence_transformers")
    library.SentenceTransformer = Library  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    Library.loaded.clear()
    model = SentenceTransformer("some/model")
    assert model(["ab", "abc"]).tolist() == [[2, 1], [3, 1]]
    model.load()
    model(["a"])
    SentenceTransformer("some/qwen", padding="left").load()
    left = {"tokenizer_kwargs": {"padding_side": "left"}}
    assert Library.loaded == [("some/model", {}), ("some/qwen", left)]  # each once
    with pytest.raises(FathomError, match="absent: not a sentence-transformers model: no such model"):
        SentenceTransformer("absent")(["ab"])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(FathomError, match=r"pip install 'fathom-eval\[embed\]'"):
        SentenceTransformer("some/model")(["ab"])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with EmbeddingServer() as server:
        yield server


def test_a_server_is_asked_in_batches_and_its_order_is_mended(server: EmbeddingServer) -> None:
    texts = ["a" * length for length in range(5)]
    found = Endpoint("tiny", server.url, batch=2)(texts)
    assert found.tolist() == [[1, 1], [1, 1], [2, 1], [3, 1], [4, 1]]  # an empty text is sent as a blank
    assert [len(batch) for batch in server.asked] == [2, 2, 1]
    assert server.keys[0] == "Bearer none"


def test_the_key_comes_from_the_environment(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "hidden")
    Endpoint("tiny", server.url, key_variable="MY_KEY")(["a"])
    assert server.keys == ["Bearer hidden"]
    with pytest.raises(FathomError, match="environment variable OPENAI_API_KEY"):
        Endpoint("tiny")(["a"])


def test_long_texts_are_cut_and_that_is_told(server: EmbeddingServer) -> None:
    told: list[str] = []
    Endpoint("tiny", server.url, characters=4, tell=told.append)(["abcdefgh", "abc"])
    assert server.asked == [["abgh", "abc"]]
    assert told == ["1 of 2 texts were truncated to 4 characters before embedding"]


def test_a_busy_server_is_asked_again(server: EmbeddingServer) -> None:
    waits: list[float] = []
    server.script = [429, 503]
    assert Endpoint("tiny", server.url, sleep=waits.append)(["a"]).tolist() == [[1, 1]]
    assert waits == [1.0, 2.0]
    server.script = [500] * 3
    with pytest.raises(FathomError, match="no embeddings after 3 attempts"):
        Endpoint("tiny", server.url, retries=2, sleep=waits.append)(["a"])


def test_a_refusal_is_not_repeated(server: EmbeddingServer) -> None:
    server.script = [401]
    with pytest.raises(FathomError, match="the server refused to embed"):
        Endpoint("tiny", server.url)(["a"])
    assert len(server.keys) == 1
    assert server.asked == []


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (give([1.0]), "1 vectors for 2 texts"),
        (give([1.0, 2.0], [1.0]), "dimensions"),
        (give([1.0], [float("nan")]), "finite numbers"),
    ],
)
def test_vectors_that_cannot_be_are_refused(server: EmbeddingServer, answer: object, complaint: str) -> None:
    server.script = [answer]
    with pytest.raises(FathomError, match=complaint):
        Endpoint("tiny", server.url)(["a", "b"])


def test_a_server_says_what_it_read(server: EmbeddingServer) -> None:
    assert Endpoint("tiny", server.url, batch=1).counted(["a", "bcd"])[1] == 4
    server.script = [give([1.0])]
    assert Endpoint("tiny", server.url).counted(["a"])[1] is None
