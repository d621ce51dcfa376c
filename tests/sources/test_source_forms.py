"""Every form of a record becomes a document whose spans refer to its normalised text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.hundred.sources import without_noise
from fathom.documents.corpus import document_id
from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import normalise
from fathom.documents.sources import Shape, registry
from fathom.documents.sources.forms import LEFT_OUT, LookupShape, PassedOverError, joined, with_texts
from fathom.suites.registry import suites
from fathom.types import Document


def shape_of(source: str, name: str = "") -> Shape:
    shapes = registry.sources()[source].shapes
    return next(shape for shape in shapes if not name or shape.name == name)


def read(source: str, record: Mapping[str, Any], name: str = "") -> Document:
    shape = shape_of(source, name)
    assert shape.fields <= record.keys()
    made = shape.read(record, "here:1")
    assert made.text == normalise(made.text)
    assert made.id == document_id(made.text)
    assert made.source == "here:1"
    return made


def pieces(document: Document, spans: tuple[tuple[int, int], ...]) -> list[str]:
    return [document.text[start:end] for start, end in spans]


HOTPOT: dict[str, Any] = {
    "_id": "a1",
    "question": "Where was the author of Blue Hills born?",
    "answer": "Arden",
    "type": "bridge",
    "level": "easy",
    "context": [
        ["Blue Hills", ["Blue Hills is a novel.", " It was written by Ada Quill.\r\n"]],
        ["Green Sea", ["Green Sea is a film."]],
        ["Ada Quill", ["Ada Quill is a writer. ", "", " She was born in Arden."]],
    ],
    "supporting_facts": [["Blue Hills", 1], ["Ada Quill", 2], ["Nobody", 0]],
}


def test_hotpotqa_keeps_its_passages_apart_and_its_supporting_sentences_as_evidence() -> None:
    made = read("hotpotqa", HOTPOT, "HotpotQA")
    assert pieces(made, made.passages) == [
        "Blue Hills\nBlue Hills is a novel. It was written by Ada Quill.",
        "Green Sea\nGreen Sea is a film.",
        "Ada Quill\nAda Quill is a writer. She was born in Arden.",
    ]
    assert "\n\n".join(pieces(made, made.passages)) == made.text
    (question,) = made.questions
    assert pieces(made, question.evidence) == ["It was written by Ada Quill.", "She was born in Arden."]
    assert question.answers == ("Arden",)
    assert question.meta == {"kind": "bridge", "level": "easy"}
    assert made.meta["id"] == "a1"


def test_the_forms_of_the_hub_read_as_those_of_the_authors() -> None:
    hub = {
        **HOTPOT,
        "context": {
            "title": [title for title, _ in HOTPOT["context"]],
            "sentences": [sentences for _, sentences in HOTPOT["context"]],
        },
        "supporting_facts": {"title": ["Blue Hills", "Ada Quill"], "sent_id": [1, 2]},
    }
    written = {**HOTPOT, "context": json.dumps(HOTPOT["context"])}
    assert read("hotpotqa", hub, "HotpotQA") == read("hotpotqa", HOTPOT, "HotpotQA")
    assert read("2wikimqa", written, "HotpotQA") == read("hotpotqa", HOTPOT, "HotpotQA")


def test_a_supporting_sentence_that_is_not_there_makes_its_whole_passage_the_evidence() -> None:
    made = read("hotpotqa", {**HOTPOT, "supporting_facts": [["Green Sea", 7]]}, "HotpotQA")
    assert pieces(made, made.questions[0].evidence) == ["Green Sea\nGreen Sea is a film."]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"answer": " "}, "question without answer"),
        ({"answer": None}, "question without answer"),
        ({"question": ""}, "'question' is empty"),
        ({"context": []}, "empty"),
        ({"context": "no list"}, "not JSON"),
        ({"context": [["one"]]}, "pairs of title and sentences"),
        ({"context": {"title": "x"}}, "pairs of title and sentences"),
        ({"context": [["Title", "sentences as one string"]]}, "sentences of each title"),
        ({"context": [["Title", [1]]]}, "not a string"),
        ({"supporting_facts": None}, "pairs of title and sent_id"),
        ({"context": [["\ud800", ["x"]]]}, "surrogate"),
    ],
)
def test_a_malformed_hotpotqa_record_says_what_is_wrong(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadRowError, match=reason):
        read("hotpotqa", {**HOTPOT, **change}, "HotpotQA")


MUSIQUE: dict[str, Any] = {
    "id": "2hop__1_2",
    "question": "Who founded the press that printed Blue Hills?",
    "answer": "Ned Rook",
    "answer_aliases": ["Edward Rook"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Blue Hills", "paragraph_text": "Printed by Rook Press.", "is_supporting": True},
        {"idx": 1, "title": "Rain", "paragraph_text": "Rain falls.", "is_supporting": False},
        {"idx": 2, "title": "", "paragraph_text": "Ned Rook founded Rook Press.", "is_supporting": True},
    ],
}


def test_musique_takes_supporting_paragraphs_as_evidence_and_aliases_as_answers() -> None:
    made = read("musique", MUSIQUE, "MuSiQue")
    (question,) = made.questions
    assert question.answers == ("Ned Rook", "Edward Rook")
    assert question.meta == {"kind": "2hop"}
    assert pieces(made, question.evidence) == ["Blue Hills\nPrinted by Rook Press.", "Ned Rook founded Rook Press."]
    assert len(made.passages) == 3


def test_musique_passes_over_what_its_passages_do_not_answer() -> None:
    with pytest.raises(PassedOverError, match="do not answer"):
        read("musique", {**MUSIQUE, "answerable": False}, "MuSiQue")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"paragraphs": "none"}, "expected a list"),
        ({"paragraphs": ["text"]}, "expected objects"),
        ({"paragraphs": [{"title": "x", "paragraph_text": 3}]}, "expected a string"),
        ({"answer": "", "answer_aliases": []}, "question without answer"),
        ({"answer_aliases": "x"}, "'answer_aliases' holds"),
    ],
)
def test_a_malformed_musique_record_says_what_is_wrong(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadRowError, match=reason):
        read("musique", {**MUSIQUE, **change}, "MuSiQue")


QMSUM: dict[str, Any] = {
    "id": "test:1",
    "topic_list": [],
    "general_query_list": [
        {"query": "Summarize the whole meeting.", "answer": "They chose a colour."},
        {"query": "What was decided?", "answer": "Blue."},
    ],
    "specific_query_list": [
        {"query": "What did Ann say?", "answer": "She likes blue.", "relevant_text_span": [["1", "2"]]},
        {"query": "And at the end?", "answer": "Silence.", "relevant_text_span": [["4", "9"], ["7", "5"]]},
    ],
    "meeting_transcripts": [
        {"speaker": "Bob", "content": "Welcome . {vocalsound}"},
        {"speaker": "Ann", "content": "I like {disfmarker} uh  blue\nvery much ."},
        {"speaker": "Bob", "content": "{vocalsound} ."},
        {"speaker": "Ann", "content": "Yes ."},
        {"speaker": "Bob", "content": "Thanks ."},
    ],
}


def test_qmsum_is_one_line_a_turn_without_noise() -> None:
    made = read("qmsum", QMSUM, "QMSum")
    assert made.text == "Bob: Welcome .\nAnn: I like uh blue very much .\nAnn: Yes .\nBob: Thanks ."
    assert made.summary == "They chose a colour."
    assert [question.text for question in made.questions] == [
        "Summarize the whole meeting.",
        "What was decided?",
        "What did Ann say?",
        "And at the end?",
    ]
    assert all(question.meta == {"kind": "summary"} for question in made.questions)


def test_qmsum_evidence_is_the_turns_of_a_query_as_far_as_there_are_any() -> None:
    questions = read("qmsum", QMSUM, "QMSum").questions
    made = read("qmsum", QMSUM, "QMSum")
    assert [pieces(made, question.evidence) for question in questions] == [
        [],
        [],
        ["Ann: I like uh blue very much ."],
        ["Bob: Thanks ."],
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"meeting_transcripts": []}, "empty"),
        ({"meeting_transcripts": [{"speaker": "A", "content": 3}]}, "expected a string"),
        (
            {"specific_query_list": [{"query": "q", "answer": "a", "relevant_text_span": [["one", "two"]]}]},
            "not a range of turns",
        ),
        ({"specific_query_list": [{"query": "q", "answer": "a", "relevant_text_span": [3]}]}, "not a range of turns"),
        ({"specific_query_list": None}, "expected a list"),
    ],
)
def test_a_malformed_meeting_says_what_is_wrong(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadRowError, match=reason):
        read("qmsum", {**QMSUM, **change}, "QMSum")


def test_without_noise_makes_copies_of_a_meeting_one_text() -> None:
    assert without_noise("A:  Hi {vocalsound} .\nB: {gap}\nC: {pause} .\nD: So {comment}\n{gap}") == "A: Hi .\nD: So"
    assert without_noise("A: Hi .\nD: So") == "A: Hi .\nD: So"


@given(st.text())
def test_without_noise_twice_is_without_noise_once(text: str) -> None:
    assert without_noise(without_noise(text)) == without_noise(text)


LEVAL: dict[str, Any] = {
    "input": "A text.\n\n\n\nOf two parts.",
    "instructions": ["What is it?", "Of what?", "What is it?", "Why?"],
    "outputs": ["A text", "Two parts", "A paper", ""],
    "source": "x",
    "evaluation": "f1",
}


def test_leval_questions_asked_twice_have_both_answers_and_those_without_answer_are_named() -> None:
    made = read("multidoc_qa", LEVAL)
    assert made.text == "A text.\n\nOf two parts."
    assert [(q.text, q.answers) for q in made.questions] == [
        ("What is it?", ("A text", "A paper")),
        ("Of what?", ("Two parts",)),
    ]
    assert made.meta[LEFT_OUT] == ["question 4 has no answer; skipped"]


def test_leval_summaries_are_told_by_the_source_and_the_number_of_instructions() -> None:
    one = {**LEVAL, "instructions": ["Please do."], "outputs": ["In short."]}
    several = {**LEVAL, "instructions": ["Part one?", "Part two?"], "outputs": ["One.", "Two."]}
    for name in ("patent_summ", "tv_show_summ"):
        made = read(name, one)
        assert (made.summary, made.questions) == ("In short.", ())
        assert [q.meta["kind"] for q in read(name, several).questions] == ["summary", "summary"]
    assert read("gov_report", one, "L-Eval").summary == "In short."
    for name in ("review_summ", "meeting_summ"):
        made = read(name, one)
        assert made.summary == ""
        assert [(q.text, q.meta) for q in made.questions] == [("Please do.", {"kind": "summary"})]


@pytest.mark.parametrize("text", ["", "  \n", None])
def test_a_summary_without_its_text_is_no_document(text: str | None) -> None:
    for name in ("patent_summ", "meeting_summ", "multidoc_qa"):
        with pytest.raises(BadRowError, match="'input'"):
            read(name, {**LEVAL, "input": text})


LONGBENCH: dict[str, Any] = {
    "input": "Which is longer?",
    "context": "Passage 1:\nRed River\nIt is 5 km long.\n\nPassage 2:\nBlue River\nIt is 9 km long.\nPassage 2:\n",
    "answers": ["Blue River", "the Blue River"],
    "length": 20,
    "dataset": "2wikimqa",
    "language": "en",
    "all_classes": None,
    "_id": "f00",
}


def test_longbench_passages_are_split_at_their_headings() -> None:
    for name in ("hotpotqa", "2wikimqa", "musique"):
        made = read(name, LONGBENCH, "LongBench")
        assert pieces(made, made.passages) == ["Red River\nIt is 5 km long.", "Blue River\nIt is 9 km long."]
        assert made.questions[0].answers == ("Blue River", "the Blue River")
        assert (made.language, made.meta["id"]) == ("en", "f00")


def test_longbench_questions_over_one_text() -> None:
    for name in ("qasper", "multifieldqa_en", "narrativeqa"):
        made = read(name, {**LONGBENCH, "context": "It is 9 km long."})
        assert (made.text, made.passages, made.questions[0].text) == ("It is 9 km long.", (), "Which is longer?")
    left = read("qasper", {**LONGBENCH, "answers": []}).meta[LEFT_OUT]
    assert isinstance(left, list)
    assert left[0] == "question 1 has no answer; skipped"


def test_longbench_summaries() -> None:
    made = read("gov_report", {**LONGBENCH, "input": "", "answers": ["In short."]}, "LongBench")
    assert (made.summary, made.questions) == ("In short.", ())
    meeting = read("qmsum", {**LONGBENCH, "context": "Ann: {gap} Hi .", "answers": ["She greets."]}, "LongBench")
    assert (meeting.text, meeting.summary) == ("Ann: Hi .", "")
    assert meeting.questions[0].meta == {"kind": "summary"}


def test_multi_news_in_both_forms() -> None:
    context = "Passage 1:\nOne. NEWLINE_CHAR NEWLINE_CHAR Two.\nPassage 2:\nThree.\nPassage 3:\nThree."
    made = read("multi_news_e", {**LONGBENCH, "input": "", "context": context, "answers": ["Short."]}, "LongBench")
    assert pieces(made, made.passages) == ["One.\n\nTwo.", "Three."]
    assert made.summary == "Short."
    hub = {"document": "One. NEWLINE_CHAR NEWLINE_CHAR Two. ||||| Three. |||||", "summary": "– Short."}
    upstream = read("multi_news_e", hub, "Multi-News")
    assert (upstream.id, upstream.passages, upstream.summary) == (made.id, made.passages, made.summary)
    with pytest.raises(BadRowError, match="empty"):
        read("multi_news_e", {"document": " ||||| ", "summary": "Short."}, "Multi-News")


def test_texts_with_summaries_in_fields_of_their_own() -> None:
    news = read("cnn_dailymail", {"article": "News.", "highlights": "One .\nTwo .", "id": "7"})
    assert (news.summary, news.meta["id"]) == ("One .\nTwo .", "7")
    case = read("casesumm", {"opinion": "Held.", "syllabus": "Short.", "citation": "1 U.S. 2"})
    assert (case.summary, case.title) == ("Short.", "1 U.S. 2")
    medical = read("medical_summary", {"input": "Doctor: Hi", "output": "Greeting.", "instruction": "Sum up"})
    assert medical.summary == "Greeting."
    lone = read("casesumm", {"opinion": "Held.", "syllabus": "", "citation": ""})
    assert "neither a question nor a summary; only its text is used" in str(lone.meta[LEFT_OUT])


def test_bioasq_finds_its_texts_in_the_table() -> None:
    shape = shape_of("rag_mini_bioasq")
    assert isinstance(shape, LookupShape)
    record = {"question": "Which gene?", "answer": "ABC1", "relevant_passage_ids": [3, 1], "id": 0}
    table = {"1": "The gene ABC1.", "3": "Studies of genes."}
    made = shape.read(with_texts(shape, record, table), "here:1")
    assert pieces(made, made.passages) == ["Studies of genes.", "The gene ABC1."]
    assert made.questions[0].evidence == made.passages
    assert with_texts(shape, {**record, "relevant_passage_ids": "[3, 1]"}, table)["texts"] == list(table.values())[::-1]
    with pytest.raises(BadRowError, match="1 of its 2 texts are in no file, for instance 3"):
        with_texts(shape, record, {"1": "The gene ABC1."})
    with pytest.raises(BadRowError, match="is not a list of keys"):
        with_texts(shape, {**record, "relevant_passage_ids": "x"}, table)
    with pytest.raises(PassedOverError, match="over one text"):
        shape.read(with_texts(shape, {**record, "relevant_passage_ids": [1]}, table), "here:1")
    with pytest.raises(BadRowError, match="without answer"):
        shape.read(with_texts(shape, {**record, "answer": ""}, table), "here:1")


def test_medodyssey_takes_entries_that_are_the_answer_as_evidence() -> None:
    record = {
        "id": 1,
        "type": "triples",
        "input": "甲治什么？",
        "context": ["甲|主治|乙病", "丙|主治|丁病"],
        "ground_truth": ["甲|主治|乙病"],
        "sample_size": 4000,
    }
    made = read("medodyssey", record)
    assert made.language == "zh"
    assert pieces(made, made.questions[0].evidence) == ["甲|主治|乙病"]
    assert made.questions[0].answers == ("甲|主治|乙病",)
    with pytest.raises(BadRowError, match="UMLS"):
        read("medodyssey", {**record, "context": ["C0000001|is_a|C0000002"]})
    with pytest.raises(BadRowError, match="without answer"):
        read("medodyssey", {**record, "ground_truth": []})


def test_medodyssey_asks_a_whole_question_about_terms_tables_and_cases() -> None:
    terms = {"id": 1, "input": "胃发炎", "context": ["胃炎", "肺炎"], "ground_truth": ["胃炎", "慢性胃炎"]}
    (question,) = read("medodyssey", terms).questions
    assert (question.text, question.answers) == ("“胃发炎”的标准术语是什么？", ("胃炎",))
    english = {
        "id": 2,
        "input": "sore belly",
        "context": ["Abdominal pain", "Fever"],
        "ground_truth": ["Abdominal pain"],
    }
    (question,) = read("medodyssey", english).questions
    assert question.text == "Which standard term stands for “sore belly”?"
    table = {
        "id": 3,
        "input": "体温是多少？",
        "context": ["住院表\n|床|体温|", "门诊表\n|床|体温|"],
        "ground_truth": ["37"],
        "ground_truth_coarse": "表格：住院表",
    }
    (question,) = read("medodyssey", table).questions
    assert (question.text, question.answers) == ("关于“住院表”：体温是多少？", ("37",))
    counting = {"id": 4, "input": "A whole prompt.", "context": ["x"], "ground_truth": "[1, 2]"}
    with pytest.raises(PassedOverError, match="counting"):
        read("medodyssey", counting)


@given(st.lists(st.text(max_size=20).map(normalise), max_size=6))
def test_joined_texts_are_normalised_and_their_spans_hold_them(texts: list[str]) -> None:
    text, spans = joined(texts)
    assert text == normalise(text)
    assert [text[start:end] for start, end in spans] == texts


RECORDS = {name for suite in suites().values() for name in suite.sources.get("record", ())}


@pytest.mark.slow
@pytest.mark.parametrize("source", sorted(registry.sources()))
@given(record=st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2), data=st.data())
def test_no_record_of_junk_breaks_a_form(source: str, record: dict[str, object], data: st.DataObject) -> None:
    for shape in registry.sources()[source].shapes:
        junk = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2)
        fields = {field: data.draw(junk) for field in sorted(shape.fields)}
        with suppress(BadRowError):
            made = shape.read({**record, **fields}, "here:1")
            # Records stay apart even where their texts are the same.
            assert made.id == document_id(made.text) or source in RECORDS
