"""Retrieval by embeddings: cosine, vectors that are kept, servers, wrong names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from embedding_server import EmbeddingServer

from fathom import api
from fathom.models.embedding import Floats
from fathom.run.systems.embeddings import Embeddings, by_embeddings
from fathom.types import FathomError


def by_letters(text: str) -> list[float]:
    return [float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]


def test_cosine_and_what_was_read() -> None:
    asked: list[list[str]] = []

    def embed(texts: Sequence[str]) -> tuple[Floats, int | None]:
        asked.append(list(texts))
        return np.array([by_letters(text) for text in texts]), 10 * len(texts)

    rank = Embeddings("embed/x", embed)
    assert not rank.hint
    assert rank("ab", ["aabb", "a", "c", ""]) == pytest.approx([1, 0.5**0.5, 0, 0])
    assert rank("ab", ["a", "d"]) == pytest.approx([0.5**0.5, 0])
    assert asked == [["ab", "aabb", "a", "c"], ["d"]]
    assert rank.hint.startswith("embed/x embedded 5 texts of 50 tokens")
    assert rank(" \n", ["a"]) == rank("ab", ["\n"]) == [0]
    assert len(asked) == 2
    assert rank("\ud800", ["a"]) == [0]


def test_the_memory_of_vectors_is_bounded() -> None:
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> tuple[Floats, int | None]:
        asked.extend(texts)
        return np.array([by_letters(text) for text in texts]), None

    rank = Embeddings("embed/x", embed, kept=3 * 36 * 4)
    rank("q", ["a", "b", "c"])
    assert asked == ["q", "a", "b", "c"]
    rank("c", ["b", "q"])  # b and c are kept, q has gone
    assert asked[4:] == ["q"]


@pytest.mark.slow
def test_a_run_embeds_a_passage_once(tmp_path: Path) -> None:
    suite, out = tmp_path / "suite", tmp_path / "run"
    api.build("single_doc_qa", suite, lengths="1k", items=2, seed=3)
    with EmbeddingServer(by_letters) as server:
        summary = api.run(
            suite,
            "fathom/lexical",
            out,
            system="retrieval?by=embed/tiny&top=2&passage=64",
            embedding_base_url=server.url,
            max_connections=1,
        )
        texts = [text for batch in server.asked for text in batch]
    assert len(texts) == len(set(texts)) > 20
    assert any("embedded" in hint and "do not include" in hint for hint in summary.hints)
    rows = api.rows([out])
    assert rows["variant"].unique().to_list() == ["retrieval?top=2&passage=64&by=embed/tiny"]
    assert max(rows["tokens_in"].to_list()) < 400
    # The server may move: its address is no part of what a run is.
    api.run(suite, "fathom/lexical", out, system="retrieval?by=embed/tiny&top=2&passage=64",
            embedding_base_url="http://127.0.0.1:9/v1")  # fmt: skip


@pytest.mark.parametrize(
    ("by", "url", "words"),
    [
        ("tiny", None, "expected bm25, embed/NAME"),
        ("embed/", None, "expected bm25"),
        ("embed/tiny", None, "need a key"),
        ("embed/tiny", "localhost", "`embedding_base_url`"),
        ("bm25", "http://127.0.0.1:9/v1", "`embedding_base_url`"),
        ("embed-local/tiny", "http://127.0.0.1:9/v1", "`embedding_base_url`"),
    ],
)
def test_wrong_models_are_refused(by: str, url: str | None, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(FathomError, match=words):
        by_embeddings(by, url)
