"""How much of a gold text is in a passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.corpus import document_id
from fathom.suites.tasks.evidence import content_words, held_share, sentences_of
from fathom.suites.tasks.support import COVERED, KEPT, Support, best_support, support
from fathom.types import Document, Span
from made import make_document

WHOLE = "The brewery burned down in 1834. Its owner Dorothea Quill rebuilt it from bricks."
CUT = "The brewery burned down in 1834."


def test_support_counts_the_distinct_content_words_of_a_reference() -> None:
    # brewery, burned, 1834, rebuilt, granite: all but granite are in the document, three in the passage.
    found = support("In 1834 the brewery, THE BREWERY, burned; it was rebuilt with granite.", CUT, WHOLE)
    assert found == Support(words=5, document=4, passage=3)
    assert found.coverage == pytest.approx(3 / 5)
    assert found.words_kept == pytest.approx(3 / 4)
    assert not found.fault


@pytest.mark.parametrize(
    ("reference", "passage", "fault"),
    [
        ("Dorothea Quill rebuilt the brewery.", CUT, "cut"),
        ("Dorothea Quill rebuilt the brewery.", WHOLE, ""),
        ("A zeppelin crossed seven lakes near Paris.", WHOLE, "absent"),
        ("A zeppelin crossed seven lakes near the brewery.", WHOLE, "absent"),
        ("A zeppelin crossed to the brewery.", WHOLE, ""),
    ],
)
def test_a_gold_text_is_at_fault_if_the_passage_lost_a_quarter_of_it_or_never_had_it(
    reference: str, passage: str, fault: str
) -> None:
    assert support(reference, passage, WHOLE).fault == fault


def test_an_answer_without_content_words_is_measured_by_all_its_words() -> None:
    text = "The agency, the TBI, is in Nashville."
    assert support("TBI", text, text) == Support(1, 1, 1)
    assert support("the FBI", text, text) == Support(2, 1, 1)
    assert support("FBI", text, text).fault == "absent"
    assert support("第", "第一章", "第一章") == Support(1, 1, 1)


@pytest.mark.parametrize("answer", ["Yes", "no.", "是", "", "..."])
def test_words_do_not_tell_whether_a_text_supports_a_judgement(answer: str) -> None:
    found = support(answer, "No, it said.", "No, it said.")
    assert found == Support(0, 0, 0)
    assert not found.fault
    assert (found.coverage, found.words_kept) == (1, 1)


def test_chinese_is_measured_in_pairs_of_characters() -> None:
    # 酿酒, 酒坊, 坊烧, 烧毁: the passage lacks the last two.
    assert support("酿酒坊烧毁", "酿酒坊。", "酿酒坊烧毁了。") == Support(4, 4, 2)


def test_one_supported_answer_of_several_is_enough() -> None:
    assert best_support(["A zeppelin", "Dorothea Quill"], WHOLE, WHOLE) == Support(2, 2, 2)
    assert best_support(["No", "A zeppelin"], WHOLE, WHOLE).fault == "absent"
    assert best_support(["yes"], WHOLE, WHOLE).words == 0


TEXTS = st.text("ab1 cdefghij.北京", max_size=80)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_shares_are_shares_and_grow_with_the_passage(reference: str, before: str, passage: str, after: str) -> None:
    whole = f"{before} {passage} {after}"
    found = support(reference, passage, whole)
    assert 0 <= found.passage <= found.document <= found.words
    assert 0 <= found.coverage <= found.words_kept <= 1
    longer = support(reference, f"{passage} {after}", whole)
    assert longer.passage >= found.passage
    assert support(reference, whole, whole).words_kept == 1
    if found.words:
        assert support(reference, reference, f"{reference} {before}").coverage == 1
    assert best_support([reference, reference], passage, whole) == found


@given(st.integers(0, 10**6), st.sampled_from(["en", "zh"]), st.floats(0, 1), st.floats(0, 1))
def test_kept_is_the_share_by_which_documents_are_truncated(seed: int, language: str, one: float, other: float) -> None:
    made = make_document(seed, language)
    start, end = sorted(int(share * len(made.text)) for share in (one, other))
    reference = made.text[-200:]
    found = support(reference, made.text[start:end], made.text)
    held = held_share(made, sentences_of(made), content_words(reference), [Span(made.id, start, end)])
    # A part may begin within a word, which the whole document does not have.
    assert found.words_kept == pytest.approx(held, abs=2 / max(1, found.document))


def test_the_limits_are_those_of_the_docs() -> None:
    assert (KEPT, COVERED) == (0.75, 0.25)
    made = Document(document_id(WHOLE), WHOLE, "made")
    assert support(WHOLE, made.text, made.text).words_kept == 1
