"""Prompts shortened around text that must be kept."""

from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.suites.compose import CountedTexts
from fathom.suites.compose.keep import shortened
from fathom.tokens.counts import TokenCounter
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Document, Part, Span
from fathom.world.corpus import generate

QUESTION = "\n\nWhat does the text say?"
BOOK = Document("book", "\n\n".join(one.text for one in islice(generate(3, "en"), 12)), "made")
CHINESE = Document("zh", "\n\n".join(one.text for one in islice(generate(3, "zh"), 12)), "made", language="zh")
TEXTS = CountedTexts({one.id: one for one in (BOOK, CHINESE)}, TokenCounter(get_tokenizer("tekken")))


def text_of(parts: tuple[Part, ...]) -> str:
    return "".join(
        part if isinstance(part, str) else TEXTS.documents[part.doc].text[part.start : part.end] for part in parts
    )


def whole(document: Document) -> Span:
    return Span(document.id, 0, len(document.text))


@given(st.integers(0, 10_000), st.sampled_from(["book", "zh"]), st.integers(600, 3000), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_what_must_be_kept_is_kept_and_the_budget_is_filled(seed: int, name: str, length: int, spans: int) -> None:
    rng, document = Random(seed), TEXTS.documents[name]
    keep = [Span(name, start, start + 40) for start in rng.sample(range(len(document.text) - 40), spans)]
    parts = ("Read.\n\n", whole(document), QUESTION)
    found = shortened(parts, keep, length, TEXTS)
    assert found is not None
    assert 0.98 * length <= TEXTS.retokenize(found) <= length + 2
    spans_found = [part for part in found if isinstance(part, Span)]
    for one in keep:
        assert any(part.start <= one.start and one.end <= part.end for part in spans_found)
    assert [part.start for part in spans_found] == sorted(part.start for part in spans_found)
    assert text_of(found).startswith("Read.\n\n")
    assert text_of(found).endswith(QUESTION)


@pytest.mark.parametrize("depth", [0.1, 0.5, 0.9])
def test_kept_text_stays_at_its_depth(depth: float) -> None:
    at = int(depth * len(BOOK.text))
    marked = BOOK.text[at : at + 100]  # long enough to stand there once
    found = shortened((whole(BOOK), QUESTION), [Span("book", at, at + 100)], 1500, TEXTS)
    assert found is not None
    text = text_of(found)
    assert text.index(marked) / len(text) == pytest.approx(depth, abs=0.04)


def test_several_documents_are_shortened_alike() -> None:
    parts = ("[1]\n", whole(BOOK), "\n\n[2]\n", whole(CHINESE), QUESTION)
    sizes = [TEXTS.tokens(whole(BOOK)), TEXTS.tokens(whole(CHINESE))]
    found = shortened(parts, [Span("zh", 100, 120)], 3000, TEXTS)
    assert found is not None
    left = [
        sum(TEXTS.tokens(part) for part in found if isinstance(part, Span) and part.doc == id) for id in TEXTS.documents
    ]
    assert left[0] / sizes[0] == pytest.approx(left[1] / sizes[1], abs=0.03)


def test_a_prompt_that_fits_is_unchanged_and_one_that_cannot_fit_is_not_made() -> None:
    parts: tuple[Part, ...] = (whole(BOOK), QUESTION)
    assert shortened(parts, [], 1_000_000, TEXTS) == parts
    assert shortened(parts, [whole(BOOK)], 1000, TEXTS) is None
    assert shortened(("a b c " * 100,), [], 10, TEXTS) is None


def test_spans_elsewhere_and_empty_ones_do_not_matter() -> None:
    parts: tuple[Part, ...] = (Span("book", 500, 9000), QUESTION)
    plain = shortened(parts, [], 800, TEXTS)
    assert plain == shortened(parts, [Span("zh", 0, 50), Span("book", 9500, 9600), Span("book", 700, 700)], 800, TEXTS)
