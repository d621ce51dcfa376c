"""Quotations and names are found although they are typed or encoded otherwise, at the right place."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.corpus.locating import find_quotation, fold, folded

TEXT = "Zoë’s café – “the ﬁrst” of all – is open… at 5\u00a0€ a har\u00adbour seat, 가격 4."


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize("text", [TEXT, nfd(TEXT), f"\u200b{TEXT}", f"before\n{nfd(TEXT)} after"])
@pytest.mark.parametrize(
    "quotation",
    [
        TEXT,
        nfd(TEXT),
        'Zoë\'s café - "the first" of all - is open... at 5 € a harbour seat, 가격 4.',
        "Zoë's\ncafé  — „the first“ of all — is open...",
        "„the first”",
        "5 € a harbour seat",
        nfd("가격"),
    ],
)
def test_what_is_typed_otherwise_is_found_where_it_is(text: str, quotation: str) -> None:
    span = find_quotation(text, quotation)
    assert span is not None
    assert fold(text[slice(*span)]).split() == fold(quotation).split()


@pytest.mark.parametrize("quotation", ["Zoe's cafe", "the first of all", "harbor", "", "5 $"])
def test_other_words_and_letters_are_not_found(quotation: str) -> None:
    assert find_quotation(TEXT, quotation) is None


def test_the_search_starts_where_it_is_told() -> None:
    assert find_quotation("é – e\u0301 – é", "é -", 2) == (4, 8)


@given(st.text(st.sampled_from("ae\u0301\u00ad’'“ﬁ…–\u200d\u1100\u1161\u3099か \n"), max_size=30))
def test_each_part_of_a_folded_text_has_its_span(text: str) -> None:
    whole = folded(text)
    assert whole.span(0, len(whole.text))[1] <= len(text)
    spans = [whole.span(at, at + 1) for at in range(len(whole.text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize("piece", ["e\u0301", "\u0301", "\u00ad", "'", "…", "ﬁ"])
def test_long_runs_take_linear_time(piece: str) -> None:
    assert find_quotation(piece * 30_000, "harbour “x”") is None
