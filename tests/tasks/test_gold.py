"""How gold text is found in documents, cut to size and put apart."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.hundred.multi_doc_qa import pool as multi_doc_qa_pool
from fathom.benchmarks.hundred.multi_doc_summary import pool as multi_doc_summary_pool
from fathom.benchmarks.hundred.single_doc_summary import pool as single_doc_summary_pool
from fathom.benchmarks.hundred.single_doc_summary import score
from fathom.documents.corpus import document_id
from fathom.suites.registry import get_task
from fathom.suites.tasks.evidence import (
    best_stretch,
    candidates_of_questions,
    content_words,
    distinct,
    evidence_of,
    held_share,
    requests_of,
    sentences_of,
)
from fathom.suites.tasks.several import apart, heads, pieces_of, separate_texts
from fathom.tokens.counts import TokenCounter
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Document, Draw, Question, Resources, Sample, Span
from made import make_document

COUNTER = TokenCounter(get_tokenizer("words"))


def document(text: str, **known: object) -> Document:
    return Document(document_id(text), text, "made", **known)  # type: ignore[arg-type]


def joined(*texts: str, **known: object) -> Document:
    """A document put together from several texts."""
    spans, start = [], 0
    for text in texts:
        spans.append((start, start + len(text)))
        start += len(text) + 2
    return document("\n\n".join(texts), passages=tuple(spans), **known)


def resources(*documents: Document, shortest: int = 400) -> Resources:
    return Resources("en", documents, [make_document(n) for n in range(3)], (shortest,), COUNTER)


def text_of(document: Document, span: Span) -> str:
    return document.text[span.start : span.end]


FILLING = " ".join(f"Nothing of note was said in minute {n} about carts and geese." for n in range(60))
TOLD = "The brewery burned down in 1834. The owner Dorothea Quill rebuilt it from bricks."


def test_the_best_stretch_holds_what_the_summary_says() -> None:
    made = document(f"{FILLING} {TOLD} {FILLING}")
    wanted = content_words("In 1834 the brewery burned; Dorothea Quill rebuilt it.")
    found = best_stretch(made, sentences_of(made), wanted, 60, COUNTER)
    assert found is not None
    span, kept = found
    assert TOLD in text_of(made, span)
    assert COUNTER.between(made, span.start, span.end) <= 60
    assert kept == 1
    assert best_stretch(made, sentences_of(made), content_words("zeppelins"), 60, COUNTER) is None


@given(st.integers(0, 10**6), st.integers(5, 400), st.sampled_from(["en", "zh"]))
def test_a_stretch_is_within_its_room_and_says_what_it_holds(seed: int, room: int, language: str) -> None:
    made = make_document(seed, language)
    sentences, wanted = sentences_of(made), content_words(made.text[-60:])
    found = best_stretch(made, sentences, wanted, room, COUNTER)
    if found is not None:
        span, kept = found
        assert COUNTER.between(made, span.start, span.end) <= room
        assert not text_of(made, span)[0].isspace()
        assert 0 <= kept <= 1
        assert held_share(made, sentences, wanted, [span]) == pytest.approx(kept)


@given(st.integers(0, 10**6), st.sampled_from(["en", "zh"]))
def test_one_text_is_cut_into_two_to_four_pieces_that_leave_nothing_out(seed: int, language: str) -> None:
    made = make_document(seed, language)
    pieces = pieces_of(made, Span(made.id, 0, len(made.text)), COUNTER)
    assert 2 <= len(pieces) <= 4
    assert "".join("".join(text_of(made, piece) for piece in pieces).split()) == "".join(made.text.split())
    if "\n\n" in made.text:
        assert all(made.text[piece.end : piece.end + 1] in ("\n", "") for piece in pieces)


def test_a_text_without_a_place_to_cut_gives_no_pieces() -> None:
    made = document("One line that ends nowhere")
    assert pieces_of(made, Span(made.id, 0, len(made.text)), COUNTER) == ()


@given(st.integers(0, 10**6), st.integers(2, 20), st.booleans())
def test_gold_passages_stand_apart(seed: int, count: int, in_order: bool) -> None:
    draw = Draw(resources(), Random(seed), 0.5, 0)
    spans = [Span("a", n, n + 1) for n in range(count)]
    placed = apart(draw, spans, in_order)
    assert [span for span, _ in placed] == spans
    depths = [depth for _, depth in placed]
    assert all(0 <= depth <= 1 for depth in depths)
    ordered = sorted(depths)
    assert all(later - earlier >= 0.499 / count for earlier, later in pairwise(ordered))
    assert not in_order or depths == ordered


def test_heads_take_equal_shares_and_short_texts_leave_theirs() -> None:
    long = " ".join(f"Sentence {n} is here." for n in range(40))
    made = joined("A short one.", long, long + " The end.")
    kept = heads(separate_texts(made), 83, made, COUNTER)
    sizes = [COUNTER.between(made, span.start, span.end) for span in kept]
    assert text_of(made, kept[0]) == "A short one."
    assert sum(sizes) <= 83
    assert abs(sizes[1] - sizes[2]) <= 5
    assert min(sizes[1:]) > 27
    assert heads(separate_texts(made), 6, made, COUNTER) == ()


def test_an_answer_stands_where_its_question_does() -> None:
    made = document(f"In 1834 a goose was sold. {FILLING} {TOLD} {FILLING}")
    (place,) = evidence_of(made, Question("When was the brewery burned down?", ("1834",)))
    assert place[0] == made.text.index("1834. The owner")
    assert not evidence_of(made, Question("When did the zeppelin cross the lake?", ("1834",)))
    assert evidence_of(made, Question("Wer?", ("Dorothea Quill",)))
    assert not evidence_of(made, Question("When was the brewery burned down?", ("834",)))
    assert evidence_of(made, Question("When?", ("1834",), ((3, 7),))) == ((3, 7),)


def test_questions_that_ask_the_same_are_one_with_all_answers() -> None:
    asked = [Question("Who?", ("A",)), Question("When?", ("B",)), Question("Who?", ("C", "A")), Question("Why?", ())]
    assert [(q.text, q.answers) for q in distinct(asked)] == [("Who?", ("A", "C")), ("When?", ("B",))]


def test_questions_of_a_passage_share_a_candidate() -> None:
    made = make_document(3)
    asked = [Question(f"What of {n}?", ("x",)) for n in range(6)]
    candidates = candidates_of_questions([document(made.text, questions=tuple(asked))], resources(), 10_000, 4)
    assert [len(candidate.questions) for candidate in candidates] == [4, 2]


@pytest.mark.parametrize("task", ["single_doc_qa", "multi_doc_qa", "single_doc_summary"])
def test_questions_that_would_not_fit_the_shortest_length_are_left_out(task: str) -> None:
    meta = {"kind": "summary"}
    asked = (Question("What of it? " * 400, ("x",), (), meta), Question("Who owned it?", ("Ann",), (), meta))
    pool = get_task(task).pool
    assert pool
    found = pool(resources(document(make_document(3).text, questions=asked), shortest=4000))
    assert [question.text for candidate in found.candidates or () for question in candidate.questions] == [
        "Who owned it?"
    ]
    assert "1 of 2" in found.notes[-1]


def test_passages_with_the_evidence_stay_where_not_all_fit() -> None:
    texts = [f"Title {n}. " + " ".join(["word"] * 50) + "." for n in range(6)]
    made = joined(*texts)
    evidence = (made.passages[2], made.passages[5])
    known = joined(*texts, questions=(Question("Who?", ("word",), evidence), Question("Where?", ("word",))))
    pool = multi_doc_qa_pool(resources(known, shortest=400))
    assert pool.candidates is not None
    (candidate,) = pool.candidates
    kept = [known.passages.index((span.start, span.end)) for span in candidate.spans]
    assert {2, 5} <= set(kept)
    assert len(kept) == 4
    assert [question.text for question in candidate.questions] == ["Who?"]
    assert pool.notes[0].startswith("1 of 2 questions left out")


def test_all_passages_of_a_record_stand_there_where_they_fit() -> None:
    made = joined("One is here.", "Two is there.", "Three.", questions=(Question("Who?", ("One",)),))
    (candidate,) = multi_doc_qa_pool(resources(made)).candidates or ()
    assert [text_of(made, span) for span in candidate.spans] == ["One is here.", "Two is there.", "Three."]


def test_a_summary_is_of_the_whole_document_or_of_what_answers_a_request() -> None:
    request = Question("What of the brewery?", ("It burned.",), meta={"kind": "summary"})
    plain = Question("Who?", ("Dorothea Quill",))
    made = document(TOLD, summary="A fire.", questions=(request, plain))
    assert [(q.text, q.answers) for q in requests_of(made)] == [("", ("A fire.",)), (request.text, ("It burned.",))]
    (candidate,) = single_doc_summary_pool(resources(made)).candidates or ()
    assert len(candidate.questions) == 2


def test_a_long_document_keeps_what_its_summary_says_or_is_left_out() -> None:
    told = document(f"{FILLING} {TOLD} {FILLING}", summary="In 1834 the brewery burned; Dorothea Quill rebuilt it.")
    scattered = "Alpha and so on. " + FILLING + " Bravo too. " + FILLING + " Charlie also. " + FILLING + " Delta."
    lost = document(scattered, summary="Alpha, Bravo, Charlie and Delta.")
    pool = single_doc_summary_pool(resources(told, lost))
    assert pool.candidates is not None
    (candidate,) = pool.candidates
    assert candidate.document is told
    assert TOLD in text_of(told, candidate.spans[0])
    assert pool.notes == (
        "1 of 2 summaries are of a document that is truncated to the part with most of them",
        "1 of 2 summaries left out: too little of them fits the shortest length",
    )


@pytest.mark.parametrize(
    ("summary", "kept"),
    [("Charlie also.", "Charlie also."), ("Bravo too.", "Bravo too."), ("Alpha, Bravo, Charlie.", "")],
)
def test_a_request_is_cut_around_its_evidence_unless_its_summary_is_elsewhere(summary: str, kept: str) -> None:
    scattered = "Alpha and so on. " + FILLING + " Bravo too. " + FILLING + " Charlie also. " + FILLING + " Delta."
    start = scattered.index("Charlie")
    request = Question("What of it?", (summary,), ((start, start + 7),), {"kind": "summary"})
    found = single_doc_summary_pool(resources(document(scattered, questions=(request,)))).candidates or ()
    assert [kept in scattered[one.spans[0].start : one.spans[0].end] for one in found] == ([True] if kept else [])


def test_several_texts_keep_their_heads_where_these_say_enough() -> None:
    long = joined(*(f"{lead} {FILLING}" for lead in ("Alpha came.", "Bravo went.")), summary="Alpha came, Bravo went.")
    (candidate,) = multi_doc_summary_pool(resources(long)).candidates or ()
    assert [text_of(long, span)[:11] for span in candidate.spans] == ["Alpha came.", "Bravo went."]
    late = joined(*(f"{FILLING} {end}" for end in ("Alpha came.", "Bravo went.")), summary="Alpha came, Bravo went.")
    assert not multi_doc_summary_pool(resources(late)).candidates


@pytest.mark.parametrize(
    ("reply", "target", "language", "least", "most"),
    [
        ("The brewery burned.", "The brewery burned.", "en", 1, 1),
        ("<think>Hm.</think>The brewery burned.", "The brewery burned.", "en", 1, 1),
        ("The brewery stood.", "The brewery burned.", "en", 0.3, 0.9),
        ("酿酒坊烧毁了。后来重建。", "酿酒坊烧毁了。后来重建。", "zh", 1, 1),
        ("酿酒坊重建了。", "酿酒坊烧毁了。后来重建。", "zh", 0.2, 0.9),
        ("...", "The brewery burned.", "en", 0, 0),
    ],
)
def test_summaries_are_scored_by_rouge_l(reply: str, target: str, language: str, least: float, most: float) -> None:
    sample = Sample("s", "s", "single_doc_summary", (), ("Nothing like it", target), 0, 0, language)
    scored = score(reply, sample)
    assert least <= (scored.value or 0) <= most
    assert scored.valid == any(map(str.isalnum, reply))
