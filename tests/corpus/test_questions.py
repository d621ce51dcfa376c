from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fathom import api
from fathom.documents.corpus import read_corpus
from fathom.documents.corpus.locating import find_quotation
from fathom.documents.corpus.questions import QuestionTable, read_questions
from fathom.suites.suitefile import open_suite
from fathom.types import Document, FathomError, Question
from made_workbooks import Cell, xlsx

TEXT = "The harbour of Kessmoor was built in 1788.\nIt has   two piers.\n\nThe keeper lives in the lighthouse."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "documents"
    (documents / "old").mkdir(parents=True)
    (documents / "harbour.md").write_text(TEXT)
    (documents / "fair.txt").write_text("The fair is held in May.")
    (documents / "old" / "fair.txt").write_text("The fair was held in June.")
    for number in range(12):
        (documents / f"filler{number}.txt").write_text(f"Text {number} about the sea. " * 60)
    (documents / "copy.md").write_text(TEXT)
    (documents / "rows.jsonl").write_text('{"text": "Row one."}\n{"text": "Row two."}\n')
    return documents


def ask(folder: Path, table: str, name: str = "questions.csv") -> QuestionTable:
    path = folder.parent / name
    path.write_text(table)
    corpus = read_corpus(str(folder))
    return read_questions(path, {one.id: one for one in corpus.documents}, corpus.names)


def problems(folder: Path, table: str, name: str = "questions.csv") -> list[str]:
    with pytest.raises(FathomError) as raised:
        ask(folder, table, name)
    return str(raised.value).split("\n  ")


def test_questions_are_attached_by_file_name_with_their_evidence(folder: Path) -> None:
    asked = ask(
        folder,
        "document,question,answer,evidence,drafted\n"
        "harbour.md,When was it built?,1788,The harbour of Kessmoor was built in 1788. It has two piers.,\n"
        'harbour,How many piers?,"[""two"", ""2""]",,\n'
        "old/fair.txt,When?,June,,openai/gpt-4o\n"
        "rows.jsonl:2,Which?,two,,\n",
    )
    corpus = read_corpus(str(folder))
    documents = {one.source: asked.of(one) for one in corpus.documents}
    (built, piers) = documents["copy.md"].questions  # the first of two equal documents
    assert [documents["copy.md"].text[start:end] for start, end in built.evidence] == [TEXT.split("\n\n")[0]]
    assert (piers.answers, piers.evidence) == (("two", "2"), ())
    assert documents["old/fair.txt"].questions[0].meta == {"drafted": "openai/gpt-4o"}
    assert documents["rows.jsonl:2"].questions[0].answers == ("two",)
    assert asked.drafted() == {"openai/gpt-4o": 1}
    assert documents["fair.txt"].questions == ()


def test_a_table_of_another_format_has_lists(folder: Path) -> None:
    rows = [{"document": "harbour.md", "question": "Piers?", "answer": ["two", 2], "evidence": ["It has two piers."]}]
    asked = ask(folder, "".join(json.dumps(row) + "\n" for row in rows), "questions.jsonl")
    ((question,),) = asked.questions.values()
    assert question.answers == ("two", "2")
    assert len(question.evidence) == 1


def test_all_problems_are_listed_at_once_with_their_rows(folder: Path) -> None:
    heading, *found = problems(
        folder,
        "document,question,answer,evidence\n"
        "harbor.md,Q1?,a,\n"
        "fair,Q2?,a,\n"
        "harbour.md,,a,\n"
        "harbour.md,Q4?,,\n"
        "harbour.md,Q5?,a,The harbour of Kessmoor was built in 1799.\n"
        ",Q6?,a,\n"
        "harbour.md,Q7?,a\n"
        "harbour.md,fine,fine,\n",
    )
    assert heading.endswith("questions.csv: correct 7 problems:")
    assert found == [
        "row 2 (\"Q1?\"): no document 'harbor.md' in the corpus; did you mean harbour.md?",
        "row 3 (\"Q2?\"): 2 documents have the name 'fair' (fair.txt, old/fair.txt); give each a name of its own",
        'row 4 (""): the question is empty',
        'row 5 ("Q4?"): the answer is empty',
        'row 6 ("Q5?"): the evidence is not in the text of copy.md word for word: '
        '"The harbour of Kessmoor was built in 1799."; it agrees up to "The harbour of Kessmoor was built in"',
        "row 7 (\"Q6?\"): no document '' in the corpus",
        "row 8: expected 4 cells, found 3; quote cells that hold the delimiter: the columns are separated by commas",
    ]


@pytest.mark.parametrize(
    ("name", "table", "says"),
    [
        ("q.csv", "file,question,answer\na,b,c\n", "row 2: no column document; it has file, question, answer"),
        ("q.csv", "document,question,answer\n", "it has no questions; expected the columns document, question, answer"),
        ("q.csv", "", "it has no questions"),
        (
            "q.csv",
            "document,question,Answer,answer\na,b,c,d\n",
            "'Answer' and 'answer' differ only in capitals: rename",
        ),
        ("q.csv", "document,question,answer\nharbour.md,When?,nan\n", "the answer is nan, as programs write an empty"),
        ("q.pdf", "x", "expected a table: .jsonl, .json, .csv"),
        ("q.jsonl", "[1]\n", "row 1: expected a JSON object"),
    ],
)
def test_tables_of_another_shape_are_explained(folder: Path, name: str, table: str, says: str) -> None:
    assert says in "\n".join(problems(folder, table, name))


def test_many_problems_are_counted(folder: Path) -> None:
    *_, last = problems(folder, "document,question,answer\n" + "nowhere,x,y\n" * 100)
    assert last == "and 60 more"


def test_a_missing_table(folder: Path) -> None:
    with pytest.raises(FathomError, match=r"`questions` .*none.csv: no such file"):
        read_questions(folder / "none.csv", {}, [])


def test_quotations_are_found_whatever_their_white_space_and_signs() -> None:
    text = "It cost (about)\n$5.00 *net*."
    assert find_quotation(text, "(about) $5.00   *net*.") == (8, 28)
    assert find_quotation(text, "about) $5x00") is None
    assert find_quotation(text, " ") is None


# ------------------------------------------------------------------------------------------------- a build


def own_build(folder: Path, table: str, **choices: Any) -> Any:
    (folder / "questions.csv").write_text(table)
    return build_it(folder, **choices)


def build_it(folder: Path, **choices: Any) -> Any:
    return api.build(
        "single_doc_qa",
        folder.parent / "suite",
        corpus=str(folder),
        questions=folder / "questions.csv",
        lengths="512",
        tokenizer="words",
        items=5,
        **choices,
    )


TABLE = (
    "document,question,answer,evidence,drafted,author\n"
    "harbour.md,When was the harbour built?,1788,built in 1788.,some/model,Anna\n"
    "fair.txt,When is the fair?,May,,,Otto\n"
)


def test_a_build_with_questions_of_ones_own(folder: Path) -> None:
    built = own_build(folder, TABLE)
    samples = list(open_suite(built.folder).samples())
    assert {(sample.asked, sample.targets) for sample in samples} == {
        ("When was the harbour built?", ("1788",)),
        ("When is the fair?", ("May",)),
    }
    drafted = {sample.asked: sample.facets.get("drafted") for sample in samples}
    assert drafted == {"When was the harbour built?": "some/model", "When is the fair?": None}
    notes = "\n".join(built.manifest["notes"])
    assert "questions.csv: 2 questions about 2 documents; 1 drafted by some/model" in notes
    assert "columns not used: author" in notes
    assert any("it has the questions" in line for line in built.manifest["unread"])
    assert not build_it(folder).fresh


def test_other_questions_are_another_suite(folder: Path) -> None:
    first = own_build(folder, TABLE)
    with pytest.raises(FathomError, match="holds another suite"):
        own_build(folder, TABLE.replace("May", "April"))
    second = own_build(folder, TABLE.replace("May", "April"), force=True)
    assert first.manifest["fingerprint"] != second.manifest["fingerprint"]


def test_questions_need_documents_and_a_task_that_asks_them(folder: Path) -> None:
    (folder / "q.csv").write_text(TABLE)
    with pytest.raises(FathomError, match=r"name the documents that they are about with `corpus`"):
        api.build("single_doc_qa", folder.parent / "suite", questions=folder / "q.csv")
    with pytest.raises(FathomError, match=r"passkey asks no questions"):
        api.build("passkey", folder.parent / "suite", corpus=folder, questions=folder / "q.csv")


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("q.csv", "\ufeffsep=;\r\n;;;\r\n DOCUMENT ;Question;answer;Evidence;\r\n{0};When?;1788;{1};\r\n;;;;\r\n\r\n"),
        ("q.csv", "document\tquestion\tanswer\tevidence\r\n{0}\tWhen?\t\"['1788' '1788 AD']\"\t{1}\r\n"),
        ("q.txt", "document\tquestion\tanswer\tevidence\n{0}\tWhen?\t1788\t{1}\n"),
        ("q.tsv", 'document,question,answer,evidence\n{0},When?,1788,"[""{1}""]"\n'),
    ],
)
def test_tables_as_spreadsheets_save_them(folder: Path, name: str, table: str) -> None:
    (folder / "Cafe\u0301.txt").write_text("Zoë’s har\u00adbour – “the ﬁrst” – was built in 1788.")
    filled = table.format("Caf\u00e9", "Zoë's harbour - “the first“")
    ((question,),) = ask(folder, filled, name).questions.values()
    assert question.answers[0] == "1788"
    assert question.evidence == ((0, 27),)


def test_a_workbook_has_the_sheet_with_the_columns_and_the_rows_that_it_shows(folder: Path) -> None:
    columns: list[Cell] = ["Document", "Question", "Answer", "Kind"]
    rows: list[list[Cell]] = [
        [],
        columns,
        ["harbour.md", "When?", 1788],
        [],
        ["fair.txt", "On?", date(2024, 5, 9), "x"],
    ]
    path = folder.parent / "q.xlsx"
    path.write_bytes(xlsx({"About": [["Made by", "Ann"]], "Questions": rows, "Old": [columns]}, hidden=["Old"]))
    corpus = read_corpus(str(folder))
    documents = {each.id: each for each in corpus.documents}
    asked = read_questions(path, documents, corpus.names).questions.values()
    assert [question.answers for (question,) in asked] == [("1788",), ("2024-05-09",)]
    path.write_bytes(xlsx({"A": [*rows, ["fair.txt", "Sum?", "#N/A"]], "B": [columns, ["fair.txt", "Q?", "a"]]}))
    with pytest.raises(FathomError) as raised:
        read_questions(path, documents, corpus.names)
    assert str(raised.value).split("\n  ")[1:] == [
        'row 6 ("Sum?"): the answer is empty',
        "only the sheet 'A' is read, and not 'B'; keep one sheet in a file",
    ]


def test_an_answer_that_is_typed_otherwise_has_a_place(folder: Path) -> None:
    from fathom.suites.tasks.evidence import best_places

    document = Document("x", "The keeper was the harbour’s own “Zoë” for years.", "x.txt")
    question = Question("Who was the keeper of the harbour?", ('harbour\'s own "Zoë"',))
    ((start, end),) = best_places(document, question)
    assert document.text[start:end] == "harbour’s own “Zoë”"
    assert best_places(replace(document, meta={"dataset": "published"}), question) == []


def test_a_list_that_cannot_be_read_is_no_answer(folder: Path) -> None:
    _, *reasons = problems(
        folder, 'document,question,answer\nharbour.md,Q?,"[two, 2]"\nharbour.md,Q?,"[""a"", ""b"""\n'
    )
    assert all(
        f"row {row} " in reason and 'as in ["two", "2"]' in reason for row, reason in enumerate(reasons, start=2)
    )
    assert len(reasons) == 2
