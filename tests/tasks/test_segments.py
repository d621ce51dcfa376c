"""Cases cut from books: the limits of each length, and what of a book stands within them."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.ada.tsort import Limits, cut, limits, pool, story_of
from fathom.documents.corpus import document_id
from fathom.documents.corpus.books import read_book
from fathom.tokens.counts import TokenCounter
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Document, Resources
from made_books import book_document

TABLE_11 = {  # thousands of tokens: before, segment, after, stride
    2: (200, 350, 200, 64),
    4: (300, 800, 300, 64),
    8: (400, 1750, 400, 64),
    16: (500, 3700, 500, 64),
    32: (500, 7700, 500, 128),
    64: (500, 15700, 500, 128),
    128: (500, 31700, 500, 128),
}


@lru_cache
def counter(name: str) -> TokenCounter:
    return TokenCounter(get_tokenizer(name))


@pytest.mark.parametrize("thousands", TABLE_11)
def test_the_limits_are_those_of_table_11(thousands: int) -> None:
    assert limits(thousands * 1024, 4) == Limits(*TABLE_11[thousands])


@given(st.integers(256, 2_000_000), st.integers(2, 12), st.integers(0, 1000))
def test_limits_fit_any_length_and_grow_with_it(length: int, segments: int, instructions: int) -> None:
    found, more = limits(length, segments, instructions), limits(length + 64, segments, instructions)
    assert 0 <= found.before == found.after <= more.before
    assert 0 <= found.segment <= more.segment
    if found.segment > 0:
        rest = found.before + found.after + max(200, instructions)
        assert rest + segments * found.segment <= length * 1000 / 1024
        assert rest + segments * (found.segment + 1) > length * 1000 / 1024 - 2  # nothing but rounding is lost


def test_notes_are_cut_out_of_paragraphs() -> None:
    plain = book_document(0, "en")
    text = plain.text.replace("A note", "A note,[12] or leaf [* The word is old.], one may say,").replace(
        "end", "end *"
    )
    noted = Document(document_id(text), text, "made.txt")
    resources = Resources("en", [noted], [], (4096,), counter("tekken"))
    story = story_of(noted, read_book(text, "en"), counter("tekken"))
    told = ["".join(text[piece.start : piece.end] for piece in pieces) for pieces in story.paragraphs]
    assert len(told) == 240
    assert all(paragraph.startswith("A note, or leaf, one may say, with") for paragraph in told)
    assert "*" not in "".join(told)
    assert pool(resources, 4).candidates
    assert story.ends[-1] == counter("tekken").count("\n\n".join(told))


def test_a_paragraph_that_is_longer_than_a_segment_leaves_no_case() -> None:
    document, words = book_document(0, "en"), counter("words")
    story = story_of(document, read_book(document.text, "en"), words)
    longest = max(end - begin for begin, end in zip(story.begins, story.ends, strict=True))
    assert cut(story, 64, Limits(200, 300, 200, 64), 4, words)
    assert cut(story, 64, Limits(longest, longest, longest, 64), 4, words)
    assert cut(story, 64, Limits(200, 5, 200, 64), 4, words) is None
    assert cut(story, 64, Limits(3, 300, 200, 64), 4, words) is None  # not even a sentence fits
    assert cut(story, 64, Limits(200, 300, 3, 64), 4, words) is None
    assert cut(story, 64, Limits(200, 3000, 200, 64), 4, words) is None  # the book ends
    assert cut(story, 64, Limits(0, 0, 0, 64), 4, words) is None


@pytest.mark.parametrize(("language", "room"), [("en", 50), ("zh", 22)])
def test_of_a_long_paragraph_next_to_the_segments_the_nearest_sentences_stand(language: str, room: int) -> None:
    document, chars = book_document(0, language), counter("chars")
    story = story_of(document, read_book(document.text, language), chars)
    texts = cut(story, 64, Limits(room, 3000, room + 10, 64), 2, chars)
    assert texts
    before, after = (document.text[text[0][0].start : text[0][0].end] for text in (texts[0], texts[-1]))
    ((whole,), (following,)) = story.paragraphs[63], story.paragraphs[64 + len(texts[1]) + len(texts[2])]
    assert document.text[whole.start : whole.end].endswith(before)
    assert document.text[following.start : following.end].startswith(after)
    assert 0 < len(before) <= room
    assert 0 < len(after) <= room + 10
    assert before.startswith(("In the end", "末了"))
    assert after.endswith((".", "。", ".”", "。”"))
