"""Data sources are found by file name and by the fields of their records, however a folder is laid out."""

from __future__ import annotations

import gzip
import json
import os
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from fathom.documents.sources import Found, read_sources, registry
from fathom.documents.sources.finder import Claim, claims, known_names
from fathom.types import FathomError

Row = dict[str, Any]


def leval(text: str = "A contract.", question: str = "Who?", answer: str = "Ann") -> Row:
    return {"input": text, "instructions": [question], "outputs": [answer], "source": "x", "evaluation": "f1"}


def longbench(text: str, question: str = "", answers: Sequence[str] = ("Yes",)) -> Row:
    return {"input": question, "context": text, "answers": list(answers), "length": 1, "language": "en", "_id": "1"}


def jsonl(rows: Sequence[Row]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def parquet(rows: Sequence[Row]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows)), sink)
    return bytes(sink.getvalue())


def arrow(rows: Sequence[Row]) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(list(rows))
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def found_in(folder: Path, *names: str) -> Found:
    return read_sources(names, [folder])


# ------------------------------------------------------------------------------------------------- layouts

LAYOUTS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "legal_contract_qa.jsonl": jsonl,
    "deep/er/Legal-Contract-QA.jsonl": jsonl,
    "legal_contract_qa_test.jsonl": jsonl,
    "legal_contract_qa-validation.jsonl.gz": lambda rows: gzip.compress(jsonl(rows)),
    "legal_contract_qa.jsonl.zst": lambda rows: zstandard.compress(jsonl(rows)),
    "legal_contract_qa.json": lambda rows: json.dumps(list(rows)).encode(),
    "legal_contract_qa_dev.json": jsonl,
    "legal_contract_qa.json.gz": lambda rows: gzip.compress(json.dumps(list(rows), indent=1).encode()),
    "legal_contract_qa.parquet": parquet,
    "legal_contract_qa/test-00000-of-00001.parquet": parquet,
    "legal_contract_qa/1.0.0/test/0000.parquet": parquet,
    "legal_contract_qa/l_eval-test.parquet.zst": lambda rows: zstandard.compress(parquet(rows)),
    "Someone--legal_contract_qa/data-00000-of-00001.arrow": arrow,
    "legal_contract_qa.arrow.gz": lambda rows: gzip.compress(arrow(rows)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_source_is_found_in_every_layout(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name, LAYOUTS[name]([leval("A contract."), leval("Another one.")]))
    found = found_in(tmp_path, "legal_contract_qa")
    assert found.problems == ()
    first, second = found.documents["legal_contract_qa"]
    assert (first.text, second.text) == ("A contract.", "Another one.")
    assert first.questions[0].answers == ("Ann",)
    assert first.source == f"legal_contract_qa/{path.name}:1"
    assert second.source == f"legal_contract_qa/{path.name}:2"
    assert (first.licence, first.language, first.meta) == ("GPL-3.0", "en", {"dataset": "legal_contract_qa"})
    assert found.files["legal_contract_qa"] == (path,)


def test_csv(tmp_path: Path) -> None:
    put(tmp_path, "cnn_dailymail.csv", b'id,article,highlights\n7,"News, in two\n\nparts.",Short.\n')
    (document,) = found_in(tmp_path, "cnn_dailymail").documents["cnn_dailymail"]
    assert (document.text, document.summary, document.meta["id"]) == ("News, in two\n\nparts.", "Short.", "7")


def test_the_searched_folder_itself_and_a_file_may_bear_the_name(tmp_path: Path) -> None:
    folder = tmp_path / "cnn_dailymail"
    path = put(folder, "test.jsonl", jsonl([{"article": "News.", "highlights": "Short.", "id": "1"}]))
    assert len(found_in(folder, "cnn_dailymail").documents["cnn_dailymail"]) == 1
    named = put(tmp_path, "hotpotqa.jsonl", jsonl([longbench("Passage 1:\nA", "Q?")]))
    assert len(found_in(named, "hotpotqa").documents["hotpotqa"]) == 1
    assert found_in(path, "cnn_dailymail").documents == {}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("qmsum_val.jsonl.zst", [("qmsum", Claim(False, 0))]),
        ("x/musique_ans_v1.0_dev.jsonl", [("musique", Claim(False, 1))]),
        ("hotpot_dev_distractor_v1.json", [("hotpotqa", Claim(False, 2))]),
        ("musique-train.parquet", [("musique", Claim(True, 0))]),
        ("cnn_dailymail/1.0.0/train-00001-of-00003.parquet", [("cnn_dailymail", Claim(True, 0))]),
        ("qmsum/train/0000.parquet", [("qmsum", Claim(True, 0))]),
        ("enelpol--rag-mini-bioasq/text-corpus/test-00000-of-00001.parquet", [("rag_mini_bioasq", Claim(False, 0))]),
        ("multi_news.jsonl", [("multi_news_e", Claim(False, 1))]),
        ("gov_report_summ.jsonl", [("gov_report", Claim(False, 2))]),
        ("qmsum/hotpotqa.jsonl", [("hotpotqa", Claim(False, 0))]),
        ("my_hotpotqa.jsonl", []),
        ("results.jsonl", []),
    ],
)
def test_what_a_name_says(path: str, expected: list[tuple[str, Claim]]) -> None:
    found = claims(PurePosixPath(path), known_names(registry.sources()))
    # The records of LongBench lie in files of the same names.
    assert [claim for claim in found if not claim[0].startswith("longbench_")] == expected


def test_files_of_longbench_hold_its_records_too() -> None:
    known = known_names(registry.sources())
    for name, expected in (("hotpotqa", "hotpotqa"), ("multi_news_e", "multi_news_e"), ("repobench-p", "repobench_p")):
        path = PurePosixPath(f"LongBench/data/{name}.jsonl")
        assert (f"longbench_{expected}", Claim(False, 1)) in claims(path, known)
    assert claims(PurePosixPath("minilongbench/samples.jsonl"), known) == [("minilongbench", Claim(False, 0))]


# ------------------------------------------------------------------------------------- which files are taken


def test_the_own_name_comes_before_other_names_and_training_splits_come_last(tmp_path: Path) -> None:
    def text(name: str, text: str) -> Path:
        return put(tmp_path, name, jsonl([longbench(f"Passage 1:\n{text}")]))

    train = text("multi_news_e_train.jsonl", "train")
    assert found_in(tmp_path, "multi_news_e").files["multi_news_e"] == (train,)
    other = text("multi_news.jsonl", "other")
    assert found_in(tmp_path, "multi_news_e").files["multi_news_e"] == (other,)
    own = [text("multi_news_e.jsonl", "own"), text("z/multi_news_e_val.jsonl", "validation")]
    found = found_in(tmp_path, "multi_news_e")
    assert found.files["multi_news_e"] == tuple(own)
    assert [document.text for document in found.documents["multi_news_e"]] == ["own", "validation"]


def test_a_file_that_another_source_reads_is_no_problem(tmp_path: Path) -> None:
    paragraphs = [{"title": "Ada", "paragraph_text": "Ada lives in Bern.", "is_supporting": True}]
    row = {"question": "Where does Ada live?", "answer": "Bern", "paragraphs": paragraphs, "answerable": True}
    path = put(tmp_path, "musique.jsonl", jsonl([row]))
    found = found_in(tmp_path, "longbench_musique", "musique")
    assert (list(found.documents), found.problems) == (["musique"], ())
    (problem,) = found_in(tmp_path, "longbench_musique").problems
    assert problem.startswith(f"longbench_musique was not found: {path}: expected the fields ")


def test_a_file_of_the_right_name_with_other_fields_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "predictions/multidoc_qa.jsonl", jsonl([{"pred": "x", "gt": "y"}] * 3))
    found = found_in(tmp_path, "multidoc_qa", "qasper")
    assert found.documents == {}
    (problem,) = found.problems
    assert problem.startswith("multidoc_qa was not found: ")
    assert "expected the fields input, instructions, outputs (L-Eval), found gt, pred" in problem
    put(tmp_path, "real/multidoc_qa.jsonl", jsonl([leval()]))
    found = found_in(tmp_path, "multidoc_qa")
    assert len(found.documents["multidoc_qa"]) == 1
    assert found.problems == ()


def test_files_that_no_name_fits_are_not_even_opened(tmp_path: Path) -> None:
    put(tmp_path, "other.jsonl", b"\xff not json")
    put(tmp_path, ".hidden/multidoc_qa.jsonl", b"\xff")
    put(tmp_path, ".multidoc_qa.jsonl", b"\xff")
    put(tmp_path, "multidoc_qa.txt", b"\xff")
    found = found_in(tmp_path, "multidoc_qa")
    assert replace(found, unread=()) == Found({}, {}, ())
    hidden, other, unnamed = map(str, found.unread)
    assert hidden.endswith(": not read (hidden): .hidden, .multidoc_qa.jsonl")
    assert "not read (readable formats: .jsonl, .json, .csv, " in other
    assert other.endswith("): multidoc_qa.txt")
    assert unnamed.startswith("--data: not read (no requested data set has such a name): ")
    assert unnamed.endswith("/other.jsonl")


def test_files_that_are_not_needed_are_named(tmp_path: Path) -> None:
    put(tmp_path, "qasper.jsonl", jsonl([longbench("A paper.", "Who?")]))
    put(tmp_path, "qasper_train.jsonl", jsonl([longbench("Another.", "Who?")]))
    put(tmp_path, "pred/qasper.jsonl", jsonl([{"pred": 1}]))
    (problem,) = found_in(tmp_path, "qasper").unread
    names = [f"{tmp_path.name}/pred/qasper.jsonl", f"{tmp_path.name}/qasper_train.jsonl"]
    why = "other files match the requested data sets better"
    assert str(problem) == f"--data: not read ({why}): {', '.join(names)}"


def test_several_forms_of_one_source_stand_side_by_side(tmp_path: Path) -> None:
    upstream = {
        "question": "Q?",
        "answer": "A",
        "context": [["T", ["One."]], ["U", ["Two."]]],
        "supporting_facts": [["T", 0]],
    }
    put(tmp_path, "a/hotpotqa.json", json.dumps([upstream]).encode())
    put(tmp_path, "b/hotpotqa.jsonl", jsonl([longbench("Passage 1:\nThree.\nPassage 2:\nFour.", "Q?")]))
    documents = found_in(tmp_path, "hotpotqa").documents["hotpotqa"]
    assert [(document.text, len(document.passages)) for document in documents] == [
        ("T\nOne.\n\nU\nTwo.", 2),
        ("Three.\n\nFour.", 2),
    ]


def test_rows_of_one_text_become_one_document_with_all_questions(tmp_path: Path) -> None:
    rows = [
        longbench("A paper.", "Who?", ["Ann"]),
        longbench("A paper. ", "When?"),
        longbench("A paper.", "Who?", ["B"]),
    ]
    put(tmp_path, "qasper.jsonl", jsonl(rows))
    put(tmp_path, "copy/qasper.jsonl", jsonl(rows))
    (document,) = found_in(tmp_path, "qasper").documents["qasper"]
    assert [(q.text, q.answers) for q in document.questions] == [("Who?", ("Ann", "B")), ("When?", ("Yes",))]


def test_the_order_does_not_depend_on_the_file_system(tmp_path: Path) -> None:
    for name in ("c", "a", "b"):
        put(tmp_path, f"{name}/qasper.jsonl", jsonl([longbench(f"Paper {name}.", "Who?")]))
    texts = [document.text for document in found_in(tmp_path, "qasper").documents["qasper"]]
    assert texts == ["Paper a.", "Paper b.", "Paper c."]


def test_a_link_to_a_folder_above_ends(tmp_path: Path) -> None:
    put(tmp_path, "in/qasper.jsonl", jsonl([longbench("A paper.", "Who?")]))
    (tmp_path / "in" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "linked").symlink_to(tmp_path / "in", target_is_directory=True)
    (tmp_path / "qasper_val.jsonl").symlink_to(tmp_path / "nowhere")
    found = found_in(tmp_path, "qasper")
    assert len(found.documents["qasper"]) == 1
    assert len(found.problems) == 1
    assert "cannot be read" in found.problems[0]


# ------------------------------------------------------------------------------------------------ bad input


def test_bad_rows_are_named_with_file_and_line_and_the_rest_is_kept(tmp_path: Path) -> None:
    rows = [json.dumps(leval("One.")), "{not json", json.dumps({"pred": 1}), json.dumps(leval("")), json.dumps(leval())]
    rows.append(json.dumps(leval("Six.", answer=" ")))
    path = put(tmp_path, "financial_qa.jsonl", "\n".join(rows).encode())
    found = found_in(tmp_path, "financial_qa")
    assert [document.text for document in found.documents["financial_qa"]] == ["One.", "A contract.", "Six."]
    starts = [problem.removeprefix(f"{path}:").split(":")[0] for problem in found.problems]
    assert starts == ["2", "3", "4", "6", "6"]
    assert "not JSON" in found.problems[0]
    assert "expected the fields input, instructions, outputs (L-Eval), found pred" in found.problems[1]
    assert "'input' is empty" in found.problems[2]
    assert "question 1 has no answer" in found.problems[3]


def test_problems_of_a_file_are_counted_beyond_the_first(tmp_path: Path) -> None:
    put(tmp_path, "financial_qa.jsonl", jsonl([leval(), *[leval("")] * 50]))
    problems = found_in(tmp_path, "financial_qa").problems
    assert len(problems) == 21
    assert problems[-1].endswith("30 more problems in this file")


def test_rows_that_are_in_order_and_not_wanted_are_counted(tmp_path: Path) -> None:
    row = {"id": "2hop__1", "question": "Q?", "answer": "A", "answer_aliases": [], "paragraphs": []}
    put(tmp_path, "musique_full_v1.0_dev.jsonl", jsonl([{**row, "answerable": False}] * 3))
    (problem,) = found_in(tmp_path, "musique").problems
    assert problem.endswith("3 rows skipped: its passages do not answer its question")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("financial_qa.jsonl.gz", gzip.compress(jsonl([leval()] * 500))[:-20]),
        ("financial_qa.jsonl.zst", b"not zstandard"),
        ("financial_qa.parquet", b"PAR1 not really"),
        ("financial_qa.arrow", b"not arrow at all"),
        ("financial_qa.json", b'[{"input": '),
        ("financial_qa.json", b'{"input":\n "over several lines"}'),
        ("financial_qa.json", b"[1, 2]"),
        ("financial_qa.json", b"\xff\xff"),
        ("financial_qa.csv", b'a,b\n"1\xff,2,3\n'),
        ("financial_qa.zip", b"no archive"),
    ],
)
def test_damaged_files_are_problems_not_crashes(tmp_path: Path, name: str, data: bytes) -> None:
    path = put(tmp_path, name, data)
    found = found_in(tmp_path, "financial_qa")
    assert found.problems
    assert found.problems[0].removeprefix("financial_qa was not found: ").startswith(str(path))


def test_empty_files_hold_nothing_and_are_named(tmp_path: Path) -> None:
    paths = [put(tmp_path, name, b"") for name in ("financial_qa.json", "financial_qa.jsonl")]
    assert found_in(tmp_path, "financial_qa") == Found(
        {}, {}, tuple(f"{path}: it contains no records" for path in paths)
    )


def test_an_arrow_file_whose_offsets_point_outside_is_a_problem(tmp_path: Path) -> None:
    data = bytearray(arrow([{"opinion": f"Held {number}.", "syllabus": "Short."} for number in range(9)]))
    at = data.find(struct.pack("<ii", 0, len("Held 0.")))
    data[at + 4 : at + 8] = struct.pack("<i", 1 << 30)
    put(tmp_path, "casesumm.arrow", bytes(data))
    assert "not valid Arrow" in found_in(tmp_path, "casesumm").problems[0]


def test_what_is_quoted_of_a_file_is_short_and_fit_for_utf8(tmp_path: Path) -> None:
    row = {f"\ud800{number}" * 400: 1 for number in range(100)}
    put(tmp_path, "financial_qa.jsonl", jsonl([row]))
    [problem] = found_in(tmp_path, "financial_qa").problems
    assert problem.encode()
    assert len(problem) < 700


def test_nested_and_unstorable_values_of_a_record_are_problems_of_that_record(tmp_path: Path) -> None:
    good = {"question": "Who?", "answer": "Ann", "context": [["T", ["Ann."]]], "supporting_facts": [["T", 0]]}
    deep = {**good, "context": "[" * 9000}
    put(tmp_path, "hotpotqa.jsonl", jsonl([{**good, "type": "bridge\ud800", "level": 3}, deep]))
    found = found_in(tmp_path, "hotpotqa")
    assert [question.meta for document in found.documents["hotpotqa"] for question in document.questions] == [
        {"kind": "bridge"}
    ]
    assert "a string that is not JSON" in found.problems[0]


def test_a_folder_that_may_be_listed_and_not_searched_costs_that_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "open/qasper.jsonl", jsonl([longbench("A paper.", "Who?")]))
    put(tmp_path, "shut/qasper.jsonl", jsonl([longbench("Another.", "Who?")]))
    real = os.access
    # Nothing is shut for the administrator.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "shut" and real(path, mode))
    found = found_in(tmp_path, "qasper")
    assert [document.text for document in found.documents["qasper"]] == ["A paper."]
    assert found.problems == (f"{tmp_path / 'shut'}: the folder cannot be searched: Permission denied",)


@pytest.mark.slow
def test_many_rows_of_one_text_are_one_document(tmp_path: Path) -> None:
    rows = [longbench("A paper.", f"Who is {number % 3000}?", [str(number)]) for number in range(6000)]
    put(tmp_path, "qasper.jsonl", jsonl(rows))
    [document] = found_in(tmp_path, "qasper").documents["qasper"]
    assert len(document.questions) == 3000
    assert document.questions[7].answers == ("7", "3007")


def test_a_missing_folder_and_an_unknown_name_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no such folder"):
        found_in(tmp_path / "nowhere", "qasper")
    with pytest.raises(FathomError, match="unknown data source 'qaspr'; did you mean qasper"):
        found_in(tmp_path, "qaspr")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_an_error_and_one_below_it_a_problem(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    try:
        with pytest.raises(FathomError, match="cannot be read"):
            found_in(closed, "qasper")
        assert "cannot be read" in found_in(tmp_path, "qasper").problems[0]
    finally:
        closed.chmod(0o700)


# ------------------------------------------------------------------------------------------- archives, tables


def test_archives_are_read_as_downloaded(tmp_path: Path) -> None:
    path = tmp_path / "zai-org--LongBench" / "data.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/qasper.jsonl", jsonl([longbench("A paper.", "Who?"), longbench("")]))
        archive.writestr("data/multi_news_e.jsonl", jsonl([longbench("Passage 1:\nA\nPassage 2:\nB")]))
        archive.writestr("data/multi_news.jsonl", jsonl([longbench("Passage 1:\nC")]))
        archive.writestr("__MACOSX/data/._qasper.jsonl", b"\x00\x05")
        archive.writestr("more/musique.jsonl.gz", gzip.compress(jsonl([longbench("Passage 1:\nD", "Q?")])))
        archive.writestr("../../hotpotqa.jsonl", jsonl([longbench("Passage 1:\nE", "Q?")]))
        archive.writestr("data/readme.txt", "words")
    found = found_in(tmp_path, "qasper", "multi_news_e", "musique", "hotpotqa")
    assert {name: [d.text for d in documents] for name, documents in found.documents.items()} == {
        "qasper": ["A paper."],
        "multi_news_e": ["A\n\nB"],
        "musique": ["D"],
    }
    assert found.documents["qasper"][0].source == "qasper/data/qasper.jsonl:1"
    assert found.files["qasper"] == (path,)
    assert [problem.removeprefix(str(path)) for problem in found.problems] == [
        "/data/qasper.jsonl:2: the field 'context' is empty"
    ]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["zai-org--LongBench"], "nothing was unpacked here"


def test_a_damaged_or_oversized_member_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("qasper.jsonl", jsonl([longbench("A paper.", "Who?")]))
        archive.writestr("musique.jsonl", jsonl([longbench("Passage 1:\nD", "Q?")]))
    path.write_bytes(path.read_bytes().replace(b"A paper.", b"B paper."))
    found = found_in(tmp_path, "qasper", "musique")
    assert list(found.documents) == ["musique"]
    assert "cannot be unpacked: Bad CRC-32" in found.problems[0]
    monkeypatch.setattr("fathom.storage.foreign.MOST_UNPACKED", 10)
    assert "is larger than" in found_in(tmp_path, "musique").problems[0]


def test_an_archive_that_would_fill_the_disk_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("qasper.jsonl", b" " * 1_000_000)
        archive.writestr("musique.jsonl", jsonl([longbench("Passage 1:\nD", "Q?")]))
    monkeypatch.setattr("fathom.storage.foreign.SMALL", 100_000)
    found = found_in(tmp_path, "qasper", "musique")
    assert list(found.documents) == ["musique"]
    assert "compressed 1,014 times" in found.problems[0]


def test_a_table_that_is_too_large_to_be_read_at_once_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "qasper.arrow.gz", gzip.compress(arrow([longbench("A paper.", "Who?")])))
    monkeypatch.setattr("fathom.documents.records.streams.MOST_AT_ONCE", 100)
    assert "convert it to JSONL" in found_in(tmp_path, "qasper").problems[0]


def test_archives_of_unknown_versions_and_members_of_odd_names(tmp_path: Path) -> None:
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("./x//qasper.jsonl", jsonl([longbench("A paper.", "Who?")]))
    data = bytearray(path.read_bytes())
    data[data.rfind(b"PK\x01\x02") + 6] = 200
    put(tmp_path, "newer.zip", bytes(data))
    found = found_in(tmp_path, "qasper")
    assert [document.text for document in found.documents["qasper"]] == ["A paper."]
    assert found.problems == (f"{tmp_path / 'newer.zip'}: not a readable archive: zip file version 20.0",)


def test_references_are_looked_up_in_the_table_of_the_source(tmp_path: Path) -> None:
    folder = tmp_path / "enelpol--rag-mini-bioasq"
    asked = [
        {"question": "Which?", "answer": "A", "id": 1, "relevant_passage_ids": [10, 20]},
        {"question": "One?", "answer": "B", "id": 2, "relevant_passage_ids": [10]},
        {"question": "Lost?", "answer": "C", "id": 3, "relevant_passage_ids": [10, 30]},
    ]
    texts = [{"passage": "Ten.", "id": 10}, {"passage": "Twenty.", "id": 20}]
    put(folder, "question-answer-passages/test-00000-of-00001.parquet", parquet(asked))
    table = put(folder, "text-corpus/test-00000-of-00001.parquet", parquet(texts))
    found = found_in(tmp_path, "rag_mini_bioasq")
    (document,) = found.documents["rag_mini_bioasq"]
    assert (document.text, len(document.passages)) == ("Ten.\n\nTwenty.", 2)
    assert "1 of its 2 texts are in no file" in found.problems[0]
    assert "1 row skipped: a question over one text" in found.problems[1]
    table.unlink()
    found = found_in(tmp_path, "rag_mini_bioasq")
    assert found.documents == {}
    assert len(found.problems) == 3


def test_folders_that_overlap_give_each_file_once(tmp_path: Path) -> None:
    put(tmp_path, "multidoc_qa/test.jsonl", b'{"input": "A text.", "instructions": "Q?", "outputs": "a"}\n')
    put(tmp_path, "multidoc_qa/other.csv", b"a,b\n1,2\n")
    inner = tmp_path / "multidoc_qa"
    alone = read_sources(["multidoc_qa"], [tmp_path])
    for folders in ([tmp_path, tmp_path], [tmp_path, inner], [inner / "test.jsonl", inner, tmp_path]):
        found = read_sources(["multidoc_qa"], folders)
        assert found.documents == alone.documents
        assert len(found.files["multidoc_qa"]) == 1
        assert [left.names for left in found.unread] == [left.names for left in alone.unread]
