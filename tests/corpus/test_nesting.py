"""Records that nest their texts, questions and answers; the field that is proposed is the longest text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fathom.documents.corpus import Corpus, read_corpus
from fathom.documents.corpus.nesting import MISSING, inner_records, longest_text, lookup
from fathom.types import FathomError

TURNS = [[{"role": "user", "said": "Where is it?"}, {"role": "model", "said": "By the old mill."}], []]
CHATS = [{"id": f"c{n}", "kind": "a-kind-with-a-name", "chats": TURNS, "ask": "Where?", "gold": "mill"} for n in "123"]
PAGES = {
    "edition": "a long name of this edition of the data",
    "books": [
        {
            "title": "B",
            "pages": [
                {
                    "body": "A page of B, longer than its edition.",
                    "asked": [{"question": "Q?", "answers": [{"text": "B"}]}],
                }
            ],
        },
        {"title": "C", "pages": [{"body": "First of C."}, {"body": "Second of C."}]},
    ],
}


def put(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(content), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def facts(corpus: Corpus) -> list[tuple[str, str, list[str]]]:
    return [(each.text, each.title, [a for q in each.questions for a in q.answers]) for each in corpus.documents]


def test_paths_go_through_objects_lists_and_names_with_dots() -> None:
    record = {"a.b": {"c": 1}, "d": [[{"e": 1}, {"e": [2]}], {"f": 3}], "G": 4, "h": {"x": {"e": 5}, "y": {"e": 6}}}
    assert [lookup(record, path) for path in ("a.b.c", "d.e", "g", "h.*.e")] == [1, [1, 2], 4, [5, 6]]
    assert [lookup(record, path) for path in ("a.c", "d.z", "z", "G.z")] == [MISSING] * 4
    assert [each["id"] for each in inner_records({"x": {"e": 5}, "y": {"e": 6}, "n": 1}, "*")] == ["x", "y"]
    assert longest_text([{"short": "a", "b": [{"c": "long"}, {"c": "long"}]}]) == "b.c"
    assert longest_text([{"x": {"e": "1"}, "y": {"e": "2"}}]) == "*.e"


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "a.json"])
def test_texts_of_a_list_are_one_document(tmp_path: Path, name: str) -> None:
    put(tmp_path, name, CHATS)
    corpus = read_corpus(f"{tmp_path / name}?text=chats.said&questions=ask&answers=gold")
    assert facts(corpus) == [("Where is it?\n\nBy the old mill.", "", ["mill"])]
    with pytest.raises(FathomError, match=r"name its text field, as in FILE\?text=chats.said"):
        read_corpus(str(tmp_path / name))
    with pytest.raises(FathomError, match=r"'chats' holds a list, .*as in FILE\?text=chats.said"):
        read_corpus(f"{tmp_path / name}?text=chats")


def test_records_within_an_object_are_documents_of_their_own(tmp_path: Path) -> None:
    path = put(tmp_path, "a.json", PAGES)
    with pytest.raises(FathomError, match=r"as in FILE\?records=books.pages&text=body"):
        read_corpus(str(path))
    corpus = read_corpus(f"{path}?records=books.pages&text=body&questions=asked")
    assert facts(corpus) == [
        ("A page of B, longer than its edition.", "B", ["B"]),
        ("First of C.", "C", []),
        ("Second of C.", "C", []),
    ]
    assert [each.source for each in corpus.documents] == ["a.json:1", "a.json:2", "a.json:3"]
    with pytest.raises(FathomError, match=r"no records at 'book'; .*records=books.pages"):
        read_corpus(f"{path}?records=book&text=body")


@pytest.mark.parametrize(
    "whole", [{"k1": {"text": "One."}, "k2": {"text": "Two."}}, {"n": 2, "data": [{"text": "One."}, {"text": "Two."}]}]
)
@pytest.mark.parametrize("indent", [None, 1])
def test_records_are_found_if_they_have_a_text(tmp_path: Path, whole: object, indent: int | None) -> None:
    corpus = read_corpus(str(put(tmp_path, "a.json", json.dumps(whole, indent=indent))))
    assert [each.text for each in corpus.documents] == ["One.", "Two."]


def test_names_in_another_case_and_lists_in_cells(tmp_path: Path) -> None:
    rows = (
        "Text;Questions;ANSWERS\r\n"
        "Ann has bees.;\"['Who?', 'What?']\";\"[['Ann' 'Anna'], ['bees']]\"\r\n"
        'Bo.;Q?;"[cut, off]"\r\n'
    )
    path = tmp_path / "a.csv"
    path.write_text(rows)
    corpus = read_corpus(str(path))
    assert facts(corpus) == [("Ann has bees.", "", ["Ann", "Anna", "bees"]), ("Bo.", "", [])]
    assert [(problem.line, problem.reason.split(":")[0]) for problem in corpus.problems] == [
        (3, "the field 'answers'"),
        (3, "question 1 has no answer; skipped"),
    ]


def test_answers_as_squad_has_them_and_evidence_that_is_nowhere(tmp_path: Path) -> None:
    asked = [{"question": "Q?", "answers": {"text": ["x", "y"], "answer_start": [0, 3]}, "evidence": "not in it"}]
    corpus = read_corpus(str(put(tmp_path, "a.jsonl", [{"text": "x, y.", "questions": asked}])))
    assert facts(corpus) == [("x, y.", "", ["x", "y"])]
    assert "question 1: its evidence is not in the text" in corpus.problems[0].reason
