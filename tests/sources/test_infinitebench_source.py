"""Records of InfiniteBench: kept as they are, their answers read from all forms, faults told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathom.benchmarks.leader.infinitebench_records import ABOUT, read_record
from fathom.documents.corpus.records import BadRowError
from fathom.documents.sources import read_sources
from fathom.documents.sources.source import ROW
from fathom.types import Document
from made_infinitebench import make_infinite, write_infinite
from made_records import write_rows


def read(dataset: str, number: int = 2, **change: Any) -> Document:
    return read_record({**make_infinite(dataset, number), ROW: number, **change}, "here", dataset)


def test_a_record_keeps_its_text_and_all_that_is_said_of_it() -> None:
    made, record = make_infinite("longbook_choice_eng", 2), read("longbook_choice_eng", context="  A \r\n book. ")
    assert record.text == "  A \r\n book. "
    assert record.meta == {
        "dataset": "longbook_choice_eng",
        "row": 2,
        "id": "2",
        "input": made["input"],
        "answers": ["C"],
        "options": made["options"],
    }


@pytest.mark.parametrize("answer", ["Keeper b2", ["Keeper b2"], ["Keeper b2", "B"], [" Keeper b2\n"]])
def test_choices_are_known_by_their_letters(answer: object) -> None:
    assert read("longbook_choice_eng", answer=answer).meta["answers"] == ["B"]


@pytest.mark.parametrize(
    ("answer", "texts"), [(87, ["87"]), ([87], ["87"]), ("4.5", ["4.5"]), (["4.5", "5"], ["4.5", "5"])]
)
def test_answers_are_texts_whatever_their_form(answer: object, texts: list[str]) -> None:
    assert read("math_find", answer=answer).meta["answers"] == texts


def test_a_list_of_numbers_is_a_text() -> None:
    assert read("math_find", context=[3, 1, 2]).text == "[3, 1, 2]"


@pytest.mark.parametrize(
    ("dataset", "change", "message"),
    [
        ("longbook_qa_eng", {"context": " \n"}, "'context' is empty"),
        ("longbook_qa_eng", {"context": None}, "'context' is missing; expected a text"),
        ("longbook_qa_eng", {"input": 3}, "'input' is 3; expected a text"),
        ("longbook_qa_eng", {"answer": []}, "'answer' is an empty list; expected a text or a number, or"),
        ("longbook_qa_eng", {"answer": [True]}, "'answer' holds a value of type list; expected a text or"),
        ("longbook_qa_eng", {"answer": ["x", " "]}, "'answer' contains an empty text"),
        ("longbook_choice_eng", {"input": " \n"}, "the field 'input', the question, is empty"),
        ("math_find", {"answer": "five"}, "'answer' is 'five'; expected a number"),
        ("math_find", {"answer": float("nan")}, "'answer' is 'nan'; expected a number"),
        ("code_debug", {"answer": ["nothing.like.it"]}, "'answer' is 'nothing.like.it'; expected one of the field"),
        ("code_debug", {"options": ["a", "b", "c"]}, "lists 3 different texts; expected 4"),
        ("code_debug", {"options": ["a", "b", "c", "c"]}, "lists 3 different texts; expected 4"),
        ("code_debug", {"options": "abcd"}, "'options' holds a value of type str; expected a list of 4"),
    ],
)
def test_records_that_cannot_be_asked_are_told(dataset: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRowError, match=message):
        read(dataset, **change)


def test_the_files_of_the_hub_are_found_and_predictions_of_their_names_are_not_taken(tmp_path: Path) -> None:
    write_infinite(tmp_path / "data")
    (tmp_path / "results").mkdir()
    for dataset in ABOUT:
        write_rows(tmp_path / "results" / f"{dataset}.jsonl", [{"id": 0, "prediction": "A", "ground_truth": "A"}])
    found = read_sources([f"infinitebench_{dataset}" for dataset in ABOUT], [tmp_path])
    assert {name: len(documents) for name, documents in found.documents.items()} == {
        f"infinitebench_{dataset}": 4 for dataset in ABOUT
    }
    assert not found.problems


def test_questions_about_one_book_are_different_records(tmp_path: Path) -> None:
    rows = [{**make_infinite("longbook_qa_eng", number), "context": "One book."} for number in (0, 1, 1)]
    (tmp_path / "longbook_qa_eng.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (documents,) = read_sources(["infinitebench_longbook_qa_eng"], [tmp_path]).documents.values()
    assert [document.meta["row"] for document in documents] == [0, 1, 2]
