"""Threads and published cases as documents: spans, the choice of threads, bad lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.corpus.stackexchange import Thread, case_documents, document_of, read_threads, thread_documents
from fathom.documents.corpus.stackexchange.documents import Selection, popularity, selected, wanted_threads
from fathom.documents.corpus.stackexchange.threads import Answer
from fathom.types import FathomError
from made_threads import answer, made_case, made_thread, thread, write_cases, write_lines, write_threads

ANSWER = Answer(1, "Yes.", False, "2014-03-01T10:00:00.000", 1, False)


def made(number: int, score: int, tags: tuple[str, ...] = (), answers: tuple[Answer, ...] = (ANSWER,)) -> Thread:
    return Thread(f"made:{number}", f"Title {number}", "Why?", tags, "2014-03-01", score, False, answers)


def test_a_thread_as_a_document_has_the_spans_of_its_texts(tmp_path: Path) -> None:
    given = [answer(2, "Second.", day=3, accepted=True), answer(1, "First.", day=2)]
    path = write_lines(tmp_path / "t.jsonl", [thread(7, given, ("a", "b"))])
    (document,) = thread_documents(str(path)).documents
    said = [document.text[start:end] for start, end in document.passages]
    assert said[0].startswith("What is wrong with machine 7?\n\nMy machine 7 stopped.")
    assert said[1:] == ["First.", "Second."]
    assert document.meta["accepted"] == 1
    assert document.meta["tags"] == ["a", "b"]
    assert (document.meta["thread"], document.meta["site"], document.language) == ("made:7", "made", "en")
    assert document.source == "t.jsonl:made:7"


@given(st.lists(st.tuples(st.integers(-3, 3), st.sets(st.sampled_from("abc"))), max_size=30), st.integers(1, 5))
def test_the_most_popular_threads_are_taken_in_the_order_in_which_they_came(
    facts: list[tuple[int, set[str]]], top: int
) -> None:
    threads = [made(number, score, tuple(tags)) for number, (score, tags) in enumerate(facts)]
    ranked = sorted(threads, key=popularity, reverse=True)
    assert ranked == sorted(threads, key=lambda one: (-one.score, int(one.id[5:])))
    for tags in ((), ("a", "c")):
        of_each = [[one for one in ranked if tag in ("", *one.tags)][:top] for tag in tags or ("",)]
        found = selected(iter(threads), Selection(tags, top), "made", lambda one: document_of(one, one.id))
        taken = [document.source for document in found.documents]
        assert taken == [one.id for one in threads if any(one in some for some in of_each)]
        passed = [problem.reason for problem in found.problems if "threads skipped" in problem.reason]
        assert len(passed) == (len(taken) < len(threads))
        for reason in passed:
            assert reason.startswith(f"{len(threads) - len(taken)} of {len(threads)} threads skipped")


def test_threads_without_any_answer_are_passed_over_and_those_without_an_accepted_one_stay(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [thread(1, []), thread(2, [answer(2, "Not accepted.")])])
    found = thread_documents(str(path))
    assert [document.meta["thread"] for document in found.documents] == ["made:2"]
    assert [str(problem) for problem in found.problems] == [f"{path}: 1 of 2 threads skipped, 1 without any answer"]


def test_a_specification_chooses_tags_and_how_many(tmp_path: Path) -> None:
    path = write_threads(tmp_path, 30)
    found = thread_documents(f"{path}?tags=part-1,Part-2,nothing&top=2")
    taken = [document.meta["thread"] for document in found.documents]
    assert taken == ["made:6", "made:12", "made:26", "made:27"]  # their scores are 6, 5, 5 and 6
    assert sum("26 of 30 threads skipped" in str(problem) for problem in found.problems) == 1
    assert any("no thread with answers has the tag 'nothing'" in str(problem) for problem in found.problems)
    assert len(thread_documents(f"{path}?top=7").documents) == 7
    assert len(thread_documents(str(path)).documents) == 30


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("top=0", "top=0 is not a positive whole number"),
        ("top=ten", "top=ten is not a positive whole number"),
        ("top=%C2%B2", "is not a positive whole number"),
        ("tags=", "is empty; write"),
        ("tags=,", "is empty; write"),
        ("tag=c", "unknown option tag; threads are selected by tags=A,B and top=N"),
        ("top", "write name=value pairs"),
    ],
)
def test_a_bad_specification_is_refused(tmp_path: Path, query: str, message: str) -> None:
    with pytest.raises(FathomError, match=message):
        thread_documents(f"{write_threads(tmp_path, 2)}?{query}")


def test_the_defaults_are_those_of_the_paper() -> None:
    assert wanted_threads("x", {}) == Selection((), 25_000)
    assert wanted_threads("x", {"tags": "c#, python,c#"}) == Selection(("c#", "python"), 2_500)


def test_progress_is_told_while_threads_are_read(tmp_path: Path) -> None:
    path = write_threads(tmp_path, 20)
    told: list[tuple[int, int | None]] = []
    thread_documents(str(path), lambda read, size: told.append((read, size)))
    assert told == sorted(told)
    assert told[-1] == (path.stat().st_size, path.stat().st_size)
    assert len(list(read_threads(path))) == 20


# Published cases


def test_cases_keep_their_texts_and_their_order(tmp_path: Path) -> None:
    found = case_documents(str(write_cases(tmp_path, 15)))
    assert not found.problems
    for number, document in enumerate(found.documents):
        case = made_case(number)
        said = [document.text[start:end] for start, end in document.passages]
        assert said == [case["question"], *case["all_answers"]]
        assert (document.meta["case"], document.meta["tags"]) == (case["question_id"], ["pumps"])
        assert case["answer"] == f"A{int(str(document.meta['accepted'])) + 1}"
        assert document.source == f"cases.jsonl:{number + 1}"


def test_an_empty_candidate_of_a_published_case_stays_a_candidate(tmp_path: Path) -> None:
    case = {**made_case(1), "all_answers": ["One.", " ", "Three."], "answer": "A3"}
    (document,) = case_documents(str(write_lines(tmp_path / "c.jsonl", [case]))).documents
    assert [document.text[start:end] for start, end in document.passages[1:]] == ["One.", " ", "Three."]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "A9"}, "the field 'answer' is 'A9'; expected a label from A1 to A"),
        ({"answer": "A0"}, "expected a label from A1"),
        ({"answer": "A" + "9" * 5000}, "expected a label from A1"),
        ({"answer": 2}, "the field 'answer' is 2"),
        ({"all_answers": []}, "'all_answers' is an empty list; expected a list of answers, two or more"),
        ({"all_answers": ["Only one."], "answer": "A1"}, "a list of answers, two or more"),
        ({"all_answers": "A1"}, "'all_answers' holds a value of type str; expected a list of answers"),
        ({"all_answers": ["a", None]}, "entry 2 of the field 'all_answers' is missing; expected a text"),
        ({"question": "\n "}, "'question' is empty"),
        ({"question": None}, "'question' is missing; expected a text"),
        ({"question_id": None}, "'question_id' is missing; expected a text or a whole number"),
    ],
)
def test_a_bad_case_is_reported_with_its_line_and_the_rest_is_kept(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = write_lines(tmp_path / "c.jsonl", [made_case(1), made_case(2) | change, made_case(3)])
    found = case_documents(str(path))
    assert [document.meta["case"] for document in found.documents] == ["4001", "4003"]
    (problem,) = found.problems
    assert problem.line == 2
    assert message in problem.reason


def test_lines_that_are_no_cases_and_cases_that_came_before(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    same_question = made_case(1) | {"all_answers": ["Other.", "Candidates."], "answer": "A1"}
    lines = [json.dumps(made_case(1)), "[1]", "{", "", json.dumps(made_case(1)), json.dumps(same_question)]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = case_documents(str(path))
    assert len(found.documents) == 2
    assert [problem.line for problem in found.problems] == [2, 3, 5]
    assert "the same question and candidates as line 1" in found.problems[2].reason


def test_a_file_without_any_case_says_so(tmp_path: Path) -> None:
    (problem,) = case_documents(str(write_lines(tmp_path / "c.jsonl", []))).problems
    assert problem.reason == "the file has no cases"


def test_what_is_no_file_of_cases(tmp_path: Path) -> None:
    (tmp_path / "cases.xls").write_text("a,b", encoding="utf-8")
    for spec, message in (
        (f"{tmp_path}/nothing.jsonl", "no such file"),
        (f"{tmp_path}/cases.xls", "files of published cases end in .jsonl, "),
        (str(tmp_path), "no such file"),
        (f"{write_cases(tmp_path, 1)}?top=3", "takes no query"),
    ):
        with pytest.raises(FathomError, match=message):
            case_documents(spec)


def test_chinese_threads_and_cases_are_found_to_be_chinese(tmp_path: Path) -> None:
    assert made_thread(1, "zh")["answers"]
    found = thread_documents(str(write_threads(tmp_path, 5, ("zh",)))).documents
    cases = case_documents(str(write_cases(tmp_path, 5, ("zh",)))).documents
    assert {document.language for document in (*found, *cases)} == {"zh"}


def test_published_cases_of_the_paper(shared: Path) -> None:
    found = case_documents(str(shared / "data/stackexchange/adaleval_stackselect_1k.jsonl.zst"))
    assert (len(found.documents), found.problems) == (708, ())
    assert {len(document.passages) - 1 for document in found.documents} <= set(range(2, 16))
