from __future__ import annotations

import multiprocessing
import re
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.documents.corpus import document_id
from fathom.suites.compose import CountedTexts
from fathom.suites.compose.texts import measure
from fathom.tokens.counts import STRETCH, CountCache, TokenCounter, cut_points
from fathom.tokens.tokenizers import TiktokenTokenizer, adds_up, bounded_by_bytes, get_tokenizer
from fathom.types import Document, Part, Span
from made import make_document
from test_tokens import tiny_json, tiny_sentencepiece

PROSE = st.lists(
    st.sampled_from(
        ["The river. ", "A market?\n\n", "第三章。", "「好！」", "12,345 ", "Mr. Fox ran. ", "-- ", "\n", "word "]
    ),
    min_size=1,
    max_size=40,
).map("".join)


def document(text: str) -> Document:
    return Document(document_id(text), text, "made")


@pytest.mark.parametrize("name", ["tekken", "words", "chars"])
@given(text=PROSE, data=st.data())
@settings(max_examples=60)
def test_counts_of_pieces_equal_counts_of_their_text(name: str, text: str, data: st.DataObject) -> None:
    made = document(text)
    counter = TokenCounter(get_tokenizer(name))
    start = data.draw(st.sampled_from(cut_points(text)))
    end = data.draw(st.integers(start, len(text)))
    assert counter.between(made, start, end) == counter.tokenizer.count(text[start:end])


@given(text=PROSE)
def test_cut_points_ascend_and_end_with_the_text(text: str) -> None:
    points = list(cut_points(text))
    assert points[0] == 0
    assert points[-1] == len(text)
    assert points == sorted(set(points))


def test_counting_leaves_no_second_copy_of_the_text_in_memory() -> None:
    made = document("“Fährmann!” 船夫。" * 500)
    before = sys.getsizeof(made.text)  # with the UTF-8 that Python keeps for who asked for it
    assert TokenCounter(get_tokenizer("tekken")).size(made) > 500
    assert sys.getsizeof(made.text) == before


def test_abbreviations_do_not_end_sentences() -> None:
    text = "Mr. Fox met Dr. Hare. They left."
    assert [text[a:b] for a, b in zip(cut_points(text), cut_points(text)[1:], strict=False)] == [
        "Mr. Fox met Dr. Hare.",
        " They left.",
    ]


@given(seed=st.integers(0, 200), limit=st.integers(8, 200))
@settings(max_examples=40)
def test_pieces_cover_the_document_within_their_limit(seed: int, limit: int) -> None:
    made = make_document(seed, "zh" if seed % 2 else "en")
    counter = TokenCounter(get_tokenizer("tekken"))
    pieces = counter.pieces(made, limit)
    assert all(counter.tokenizer.count(made.text[piece.start : piece.end]) <= limit for piece in pieces)
    between = made.text[: pieces[0].start] + "".join(made.text[a.end : b.start] for a, b in pairwise(pieces))
    assert between.strip() == ""
    assert pieces[-1].end == len(made.text)


@given(seed=st.integers(0, 100), limit=st.integers(30, 400))
@settings(max_examples=40)
def test_a_piece_around_evidence_holds_it_and_fits(seed: int, limit: int) -> None:
    made = make_document(seed)
    counter = TokenCounter(get_tokenizer("tekken"))
    evidence = made.questions[0].evidence
    span = counter.around(made, evidence, limit)
    if span is not None:
        assert span.start <= evidence[0][0]
        assert evidence[0][1] <= span.end
        assert counter.tokenizer.count(made.text[span.start : span.end]) <= limit


class Unwilling:
    """A tokenizer that must not be asked."""

    name = fingerprint = "unwilling"

    def count(self, text: str) -> int:
        raise AssertionError(f"tokenized {text!r}")

    head = tail = None


def test_a_second_process_need_not_tokenize(tmp_path: Path) -> None:
    made = make_document(1)
    tokenizer = get_tokenizer("words")
    cache = CountCache(tmp_path / "counts.sqlite")
    expected = TokenCounter(tokenizer, cache).outline(made)
    cache.close()
    again = CountCache(tmp_path / "counts.sqlite")
    assert again.get(tokenizer.fingerprint, made) == expected
    assert again.get("another tokenizer", made) is None
    again.close()


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, b"", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_cache_is_rebuilt(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "counts.sqlite"
    path.write_bytes(damage)
    made = make_document(2)
    tokenizer = get_tokenizer("words")
    for _ in range(2):
        cache = CountCache(path)
        assert TokenCounter(tokenizer, cache).size(made) == tokenizer.count(made.text)
        cache.close()
    cache = CountCache(path)
    assert cache.get(tokenizer.fingerprint, made) is not None
    cache.close()


def test_a_damaged_entry_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "counts.sqlite"
    made = make_document(3)
    tokenizer = get_tokenizer("words")
    cache = CountCache(path)
    TokenCounter(tokenizer, cache).size(made)
    cache.close()
    database = sqlite3.connect(path)
    (data,) = database.execute("SELECT data FROM outlines").fetchone()
    database.execute("UPDATE outlines SET data = ?", (data[:-1] + bytes([data[-1] ^ 1]),))
    database.commit()
    database.close()
    cache = CountCache(path)
    assert cache.get(tokenizer.fingerprint, made) is None
    assert TokenCounter(tokenizer, cache).size(made) == tokenizer.count(made.text)
    cache.close()


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = CountCache(tmp_path / "file" / "counts.sqlite")
    made = make_document(4)
    assert TokenCounter(get_tokenizer("words"), cache).size(made) == get_tokenizer("words").count(made.text)
    cache.close()


def _count_all(path: Path, first: int) -> list[int]:
    cache = CountCache(path)
    counter = TokenCounter(get_tokenizer("words"), cache)
    sizes = [counter.size(make_document(seed)) for seed in range(first, first + 40)]
    cache.close()
    return sizes


@pytest.mark.slow
def test_two_processes_share_a_cache(tmp_path: Path) -> None:
    path = tmp_path / "counts.sqlite"
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.starmap(_count_all, [(path, 0), (path, 20)])
    assert first[20:] == second[:20]
    cache = CountCache(path)
    fingerprint = get_tokenizer("words").fingerprint
    assert all(cache.get(fingerprint, make_document(seed)) for seed in range(60))
    cache.close()


ODD = {
    "one long line": "x" * 50_000,
    "emoji": "🦊🌊" * 6_000,
    "digits": "0123456789" * 3_000,
    "words without an end": "river market " * 4_000,
    "a table with a blank line": "a,b\n\n" + "\n".join(f"{n},{n * n}" for n in range(6_000)),
    "chinese without an end": "河流集市高塔账册" * 3_000,
    "rules": "----====" * 4_000,
    "spaces": "a " + " " * 20_000 + "b",
}


@pytest.mark.parametrize("kind", sorted(ODD))
def test_no_piece_of_any_text_is_long(kind: str) -> None:
    points = cut_points(ODD[kind])
    assert max(b - a for a, b in pairwise(points)) <= STRETCH
    assert points[-1] == len(ODD[kind])


class Measured:
    """A tokenizer that says how many characters it was given."""

    def __init__(self) -> None:
        self.inner = get_tokenizer("tekken")
        self.name, self.fingerprint = "measured", "measured"
        self.characters = 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return self.inner.count(text)

    def head(self, text: str, tokens: int) -> str:
        return self.inner.head(text, tokens)

    def tail(self, text: str, tokens: int) -> str:
        return self.inner.tail(text, tokens)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(ODD))
def test_cutting_any_text_reads_it_a_few_times_only(kind: str) -> None:
    made = document(ODD[kind])
    tokenizer = Measured()
    pieces = TokenCounter(tokenizer).pieces(made, 64)
    # Each piece is found by bisection within a stretch; nothing may grow with the square of the text.
    assert tokenizer.characters < len(made.text) * 3 + len(pieces) * STRETCH * 30
    some = pieces[:: max(1, len(pieces) // 50)]
    assert all(tokenizer.inner.count(made.text[piece.start : piece.end]) <= 64 for piece in some)


PARTS = [
    "The river rose. ",
    "A market, ",
    "第三章。河水上涨，",
    " " * 90,
    "=" * 200,
    "\n" * 70,
    "word ",
    "\n\n",
    "x" * 130,
    "，",
    "1" * 80,
]
ENDS = ["", "\n\n\n\nWhat?", " " * 60 + "\n\nWhat?", "===\n", "s end.\n" * 100, "河" * 700, "\n" * 600]


def by_pieces(texts: CountedTexts, parts: Sequence[Part]) -> int:
    """Tokens by cut points of all documents, as they are counted for parts of documents."""
    spans = [part for part in parts if isinstance(part, Span)]
    additive = all(texts.counter.outline(texts.documents[span.doc]).additive for span in spans)
    return measure(parts, texts.documents, texts.counter) if additive else texts.retokenize(parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tekken", "words"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whole_documents_count_as_by_their_pieces(name: str, data: st.DataObject) -> None:
    some = st.lists(st.sampled_from(PARTS), max_size=6).map("".join)
    middle = "".join(data.draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6)))
    text = data.draw(some) + (middle + "The market stood by the river. ") * 40 + data.draw(some)
    made = document(text)
    before, after = data.draw(st.sampled_from(ENDS)), data.draw(st.sampled_from(ENDS))
    parts: list[Part] = [before, Span(made.id, 0, len(text)), after]
    tokenizer = get_tokenizer(name)
    texts = CountedTexts({made.id: made}, TokenCounter(tokenizer))
    expected = by_pieces(CountedTexts({made.id: made}, TokenCounter(tokenizer)), parts)
    assert texts.measure(parts) == expected
    assert texts.measure(parts) == expected == by_pieces(texts, parts)  # in any order


def test_a_document_that_is_used_as_a_whole_is_tokenized_once(tmp_path: Path) -> None:
    made = document("The river rose by the old market, and nobody saw it. " * 2_000)
    span = Span(made.id, 0, len(made.text))
    for first in (True, False):
        tokenizer = Measured()
        cache = CountCache(tmp_path / "counts.sqlite")
        texts = CountedTexts({made.id: made}, TokenCounter(tokenizer, cache))
        counts = [texts.measure([span, f"\n\n\n\n{question}"]) for question in ("What rose?", "Think. What rose?")]
        cache.close()
        assert tokenizer.characters < len(made.text) * first + 10_000
        assert counts == [
            tokenizer.inner.count(f"{made.text}\n\n\n\n{question}") for question in ("What rose?", "Think. What rose?")
        ]


def test_where_more_text_changes_a_join_the_pieces_are_counted() -> None:
    """Seventy line ends in a row are more than a join sees."""
    made = document("The river rose. " * 200 + "\n" * 70)
    texts = CountedTexts({made.id: made}, TokenCounter(Runs()))
    parts: list[Part] = [Span(made.id, 0, len(made.text)), "\n" * 20 + "What?"]
    assert texts.counter.sure_join(made.text, "\n" * 20 + "What?") is None
    assert texts.measure(parts) == by_pieces(texts, parts)


class Runs:
    """Words and runs of 60 line ends are a token each, and so is every other line end."""

    name = fingerprint = "runs"

    def count(self, text: str) -> int:
        return len(re.findall(r"\n{60}|\n|\S+", text))

    def head(self, text: str, tokens: int) -> str:
        raise NotImplementedError

    def tail(self, text: str, tokens: int) -> str:
        raise NotImplementedError


def test_damaged_tokens_of_a_whole_document_are_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "counts.sqlite"
    made = make_document(5)
    tokenizer = get_tokenizer("words")
    cache = CountCache(path)
    assert TokenCounter(tokenizer, cache).whole(made) == tokenizer.count(made.text)
    cache.close()
    database = sqlite3.connect(path)
    (data,) = database.execute("SELECT data FROM outlines").fetchone()
    database.execute("UPDATE outlines SET data = ?", (data[:-1] + bytes([data[-1] ^ 1]),))
    database.commit()
    database.close()
    cache = CountCache(path)
    assert cache.get_whole(tokenizer.fingerprint, made) is None
    assert TokenCounter(tokenizer, cache).whole(made) == tokenizer.count(made.text)
    cache.close()


ANY = PROSE | st.text(max_size=300) | st.text(" \n.=a1é口。🙂", max_size=300)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "tekken",
        "words",
        *(pytest.param(kind, marks=pytest.mark.long) for kind in ("chars", "json", "pieces", "wordpiece")),
    ],
)
@given(text=ANY, times=st.integers(1, 9))
@settings(max_examples=60)
def test_pieces_are_those_that_counting_every_sentence_gives(
    engines: dict[str, str], kind: str, text: str, times: int
) -> None:
    """So are they where twice the bytes or the tokens of the whole text are compared instead."""
    made = document(text * times)
    tokenizer = get_tokenizer(engines.get(kind, kind))
    size = TokenCounter(tokenizer).size(made)
    if adds_up(tokenizer):
        assert size <= 2 * TokenCounter(tokenizer).whole(made)
    if bounded_by_bytes(tokenizer):
        assert tokenizer.count(made.text) <= len(made.text.encode())
    for tokens in {1, 8, size // 2, size - 1, size, size + 1, 2 * size, 2 * size + 1, 3 * size} - {0, -1}:
        counter, cut = TokenCounter(tokenizer), TokenCounter(tokenizer)
        cut.outline(made)
        assert counter.fits(made, tokens) == (size <= tokens)
        assert counter.pieces(made, tokens) == cut.pieces(made, tokens)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("engines")
    return {
        "json": str(tiny_json(folder)),
        "pieces": str(tiny_sentencepiece(folder)),
        "wordpiece": str(tiny_wordpiece(folder)),
    }


def tiny_wordpiece(folder: Path) -> Path:
    """A word of more than 100 letters is one token, its halves are a token for each letter."""
    import tokenizers

    vocabulary = {"[UNK]": 0, "d": 1, "##d": 2, ".": 3}
    engine = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    path = folder / "wordpiece.json"
    engine.save(str(path))
    return path


def test_a_document_of_long_unknown_words_is_cut_into_pieces_though_it_has_few_tokens(engines: dict[str, str]) -> None:
    counter, made = TokenCounter(get_tokenizer(engines["wordpiece"])), document("d" * 692)
    assert counter.whole(made) == 1
    assert counter.size(made) > 90
    assert not counter.fits(made, 90)
    assert not TokenCounter(counter.tokenizer).fits(made, 90)


def test_a_short_document_is_found_to_fit_without_a_tokenizer_that_splits_bytes() -> None:
    tekken = get_tokenizer("tekken")
    assert isinstance(tekken, TiktokenTokenizer)
    counter = TokenCounter(replace(tekken, encoding=cast(Any, None)))
    made = document("The river rose. " * 100)
    assert counter.pieces(made, 4096) == [Span(made.id, 0, len(made.text))]
    with pytest.raises(AttributeError):
        counter.pieces(made, 3000)
