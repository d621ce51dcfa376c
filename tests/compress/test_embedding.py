"""Texts as vectors: offline, by a library that may be absent, and by a server."""

from __future__ import annotations

import json
import sys
import threading
import types
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.compress.embedding import Endpoint, Floats, SentenceTransformer, TfIdf, cut, embedder, reduced
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


@given(st.text(max_size=40), st.integers(1, 30))
def test_cut_keeps_both_ends(text: str, characters: int) -> None:
    short = cut(text, characters)
    assert len(short) == min(len(text), characters)
    half = characters // 2
    assert text.startswith(short[: characters - half])
    assert text.endswith(short[len(short) - half :] if len(text) > characters else text)


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


class Library:
    """Stands for the class of sentence-transformers: a vector is the length of its text and a constant."""

    def __init__(self, name: str) -> None:
        if name == "absent":
            raise OSError("no such model")

    def encode(self, texts: list[str], **options: object) -> Floats:
        assert options == {"batch_size": 32, "show_progress_bar": False, "convert_to_numpy": True}
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


def test_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    library = types.ModuleType("sentence_transformers")
    library.SentenceTransformer = Library  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    assert SentenceTransformer("some/model")(["ab", "abc"]).tolist() == [[2, 1], [3, 1]]
    with pytest.raises(FathomError, match="absent: no model of sentence-transformers: no such model"):
        SentenceTransformer("absent")(["ab"])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(FathomError, match=r"pip install 'fathom-eval\[embed\]'"):
        SentenceTransformer("some/model")(["ab"])


class Server(ThreadingHTTPServer):
    """A loopback server of embeddings: a vector is the length of its text and a constant."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.failures: list[int] = []
        self.asked: list[list[str]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers["Authorization"])
        status = self.server.failures.pop(0) if self.server.failures else 200
        if status == 200:
            assert self.path == "/v1/embeddings"
            self.server.asked.append(content["input"])
            numbered = list(enumerate(content["input"]))
            data = [
                {
                    "object": "embedding",
                    "index": number,
                    "embedding": [float(len(text)), 1.0],
                }
                for number, text in reversed(numbered)
            ]
            reply = {"object": "list", "model": content["model"], "data": data, "usage": {}}
        else:
            reply = {"error": {"message": "not now"}}
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def test_a_server_is_asked_in_batches_and_its_order_is_mended(server: Server) -> None:
    texts = ["a" * length for length in range(5)]
    found = Endpoint("tiny", server.url, batch=2)(texts)
    assert found.tolist() == [[1, 1], [1, 1], [2, 1], [3, 1], [4, 1]]  # an empty text is sent as a blank
    assert [len(batch) for batch in server.asked] == [2, 2, 1]
    assert server.keys[0] == "Bearer none"


def test_the_key_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "hidden")
    Endpoint("tiny", server.url, key_variable="MY_KEY")(["a"])
    assert server.keys == ["Bearer hidden"]
    with pytest.raises(FathomError, match="environment variable OPENAI_API_KEY"):
        Endpoint("tiny")(["a"])


def test_long_texts_are_cut_and_that_is_told(server: Server) -> None:
    told: list[str] = []
    Endpoint("tiny", server.url, characters=4, tell=told.append)(["abcdefgh", "abc"])
    assert server.asked == [["abgh", "abc"]]
    assert told == ["1 of 2 texts were cut to 4 characters to be embedded"]


def test_a_busy_server_is_asked_again(server: Server) -> None:
    waits: list[float] = []
    server.failures = [429, 503]
    assert Endpoint("tiny", server.url, sleep=waits.append)(["a"]).tolist() == [[1, 1]]
    assert waits == [1.0, 2.0]
    server.failures = [500] * 3
    with pytest.raises(FathomError, match="no embeddings after 3 attempts"):
        Endpoint("tiny", server.url, retries=2, sleep=waits.append)(["a"])


def test_a_refusal_is_not_repeated(server: Server) -> None:
    server.failures = [401]
    with pytest.raises(FathomError, match="embeddings were refused"):
        Endpoint("tiny", server.url)(["a"])
    assert len(server.keys) == 1
    assert server.asked == []
