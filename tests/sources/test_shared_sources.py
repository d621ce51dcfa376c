"""The real data beside this checkout: every source that is there reads as it should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard

from fathom.documents.sources import Found, read_sources
from fathom.suites.registry import suites

pytestmark = pytest.mark.slow  # all look at what takes long to make

QA = ("multidoc_qa", "legal_contract_qa", "financial_qa", "natural_question", "scientific_qa")
SUMMARIES = ("gov_report", "patent_summ", "tv_show_summ", "multi_news_e")
REQUESTS = ("qmsum", "review_summ", "meeting_summ")
MULTI = ("hotpotqa", "musique")


@pytest.fixture(scope="module")
def found() -> Found:
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data are not beside this checkout")
    names = [name for listed in suites()["hundred"].sources.values() for name in listed]
    return read_sources(names, [folder])


def test_what_is_there_is_found(found: Found) -> None:
    assert set(found.documents) == {*QA, *SUMMARIES, *REQUESTS, *MULTI}
    assert {path.name for path in found.files["qmsum"]} == {"qmsum_test.jsonl.zst", "qmsum_val.jsonl.zst"}
    others = [problem for problem in found.problems if "was not found" not in problem]
    assert all("equal to an earlier one, which is used once" in problem for problem in others)


def test_records_named_as_equal_are_equal(found: Found) -> None:
    for name in ("multidoc_qa", "legal_contract_qa", "review_summ", "meeting_summ"):
        (path,) = found.files[name]
        records = [json.loads(line) for line in zstandard.open(path, "rt", encoding="utf-8")]
        skipped = len(records) - len({str((record["input"], record["instructions"])) for record in records})
        (said,) = (problem for problem in found.problems if problem.startswith(str(path)))
        assert said.split(": ")[1].startswith(f"{skipped} row")


def test_questions_have_answers_and_evidence_that_holds_them(found: Found) -> None:
    for name in (*QA, *MULTI):
        for document in found.documents[name]:
            assert document.questions
            assert all(question.text and question.answers for question in document.questions)
    for name in MULTI:
        for document in found.documents[name]:
            (question,) = document.questions
            evidence = " ".join(document.text[start:end] for start, end in question.evidence).lower()
            held = any(answer.lower() in evidence for answer in question.answers)
            assert held or question.answers[0] in ("yes", "no"), document.source


def test_passages_make_up_their_documents(found: Found) -> None:
    for name in (*MULTI, "multi_news_e"):
        for document in found.documents[name]:
            texts = [document.text[start:end] for start, end in document.passages]
            assert "\n\n".join(texts) == document.text
            assert len(set(texts)) == len(texts)


def test_summaries(found: Found) -> None:
    for name in SUMMARIES:
        assert all(document.summary and not document.questions for document in found.documents[name])
    for name in REQUESTS:
        for document in found.documents[name]:
            assert document.questions
            assert all(question.meta["kind"] == "summary" for question in document.questions)
    assert all(document.summary for document in found.documents["qmsum"])


def test_what_publishers_left_in_the_texts_is_removed(found: Found) -> None:
    for name in ("qmsum", "meeting_summ", "multi_news_e"):
        for document in found.documents[name]:
            assert not any(
                noise in document.text for noise in ("{vocalsound}", "{disfmarker}", "NEWLINE_CHAR", "|||||")
            )
