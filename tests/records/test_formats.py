"""The same records from every format, through every entrance; what is damaged or not read is named."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from fathom.documents.corpus import read_corpus
from fathom.documents.records import (
    WORKBOOKS,
    Fault,
    File,
    Record,
    checked_records,
    find_files,
    read_records,
    unread,
    walk,
)
from fathom.documents.sources import read_sources
from fathom.types import FathomError
from made_workbooks import Cell, ods, xlsx

ROWS: list[dict[str, str | None]] = [
    {"input": "The harbour was built in 1788.", "instructions": "When?", "outputs": "1788", "note": None},
    {"input": 'Ann, "the baker",\nkeeps bees.', "instructions": "谁?", "outputs": "安", "note": "x\ty"},
]


def as_csv(delimiter: str) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(ROWS[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(ROWS)
    return out.getvalue().encode()


def as_arrow(new: Callable[..., pa.ipc.RecordBatchStreamWriter]) -> bytes:
    table, out = pa.Table.from_pylist(ROWS), io.BytesIO()
    with new(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def as_parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out)
    return out.getvalue()


def as_zip(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


AS_CELLS: list[list[Cell]] = [list(ROWS[0]), *(list[Cell](row.values()) for row in ROWS)]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()
FILES = {
    "rows.jsonl": LINES,
    "rows.jsonl.gz": gzip.compress(LINES, mtime=0),
    "rows.jsonl.zst": zstandard.compress(LINES),
    "lines.json": LINES,
    "list.json": json.dumps(ROWS, indent=1).encode(),
    "rows.csv": as_csv(","),
    "rows.csv.gz": gzip.compress(as_csv(","), mtime=0),
    "utf16.csv": as_csv(",").decode().encode("utf-16"),
    "rows.tsv": as_csv("\t"),
    "european.csv": as_csv(";"),
    "tabs.csv": as_csv("\t").decode().encode("utf-16"),
    "unmarked.csv": as_csv("|").decode().replace("谁?", "x?").replace("安", "y").encode("utf-16-le"),
    "named.csv": b"\xef\xbb\xbfsep=|\r\n" + as_csv("|"),
    "blank.csv": as_csv(";").replace(b"\r\n", b";;\r\n") + b";;;;;\r\n\r\n;;;;;\r\n",
    "rows.xlsx": xlsx({"Notes": [], "A": AS_CELLS, "B": [["x"]]}, hidden=["B"]),
    "rows.xlsm.gz": gzip.compress(xlsx({"A": [["input", "title"]], "Q": AS_CELLS, "C": [["x"]]}), mtime=0),
    "rows.ods": ods([[str(cell or "") for cell in row] for row in AS_CELLS]),
    "rows.parquet": as_parquet(),
    "rows.parquet.zst": zstandard.compress(as_parquet()),
    "stream.arrow": as_arrow(pa.ipc.new_stream),
    "file.arrow": as_arrow(pa.ipc.new_file),
    "file.arrow.gz": gzip.compress(as_arrow(pa.ipc.new_file), mtime=0),
    "jsonl.zip": as_zip("multidoc_qa.jsonl", LINES),
    "csv.zip": as_zip("below/multidoc_qa.csv.zst", zstandard.compress(as_csv(","))),
    "parquet.zip": as_zip("multidoc_qa.parquet", as_parquet()),
}


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "multidoc_qa"
    folder.mkdir()
    path: Path = folder / request.param
    path.write_bytes(FILES[request.param])
    return path


def rows(file: Path) -> list[dict[str, str | None]]:
    return ROWS if file.name != "unmarked.csv" else [ROWS[0], {**ROWS[1], "instructions": "x?", "outputs": "y"}]


def test_every_format_gives_the_same_records(file: Path) -> None:
    (found,) = find_files(file.parent).files
    first = 2 if file.suffixes[0] in (".csv", ".tsv", *WORKBOOKS) or file.name == "csv.zip" else 1  # after the names
    wanted = frozenset(ROWS[0])
    assert list(read_records(found, wanted)) == [Record(line, row) for line, row in enumerate(rows(file), start=first)]
    assert [fields for _, fields in checked_records(found, wanted)] == rows(file)


def test_every_format_is_a_corpus(file: Path) -> None:
    for place in (file, file.parent):
        corpus = read_corpus(f"{place}?text=input&questions=instructions&answers=outputs")
        assert [document.text for document in corpus.documents] == [row["input"] for row in ROWS]
        asked = [(question.text, question.answers) for document in corpus.documents for question in document.questions]
        assert asked == [(row["instructions"], (row["outputs"],)) for row in rows(file)]
        assert (corpus.problems, corpus.unread) == ((), ())


def test_every_format_is_a_data_set(file: Path) -> None:
    found = read_sources(["multidoc_qa"], [file.parent])
    assert [document.text for document in found.documents["multidoc_qa"]] == [row["input"] for row in ROWS]
    assert (found.problems, found.unread) == ((), ())


def test_one_object_over_many_lines_is_a_record(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(ROWS[0], indent=2))
    assert list(read_records(tmp_path / "one.json")) == [Record(None, ROWS[0])]


def test_objects_one_after_another_are_records(tmp_path: Path) -> None:
    for between in ("", "\n\n", " "):
        (tmp_path / "a.json").write_text(between.join(json.dumps(row, indent=1) for row in ROWS))
        assert list(read_records(tmp_path / "a.json")) == [Record(line, row) for line, row in enumerate(ROWS, start=1)]
    (tmp_path / "a.json").write_text(json.dumps(ROWS[0], indent=1) + "{,")
    *_, fault = read_records(tmp_path / "a.json")
    assert isinstance(fault, Fault)
    assert "not valid JSON after row 1" in fault.reason


def test_an_older_encoding_is_named(tmp_path: Path) -> None:
    for name, content in (("a.txt", "Größe – 5 €"), ("a.jsonl", '{"a": "Größe – 5 €"}'), ("a.csv", "a\nGröße – 5 €\n")):
        (tmp_path / name).write_bytes(content.encode("cp1252"))
        *_, fault = read_records(tmp_path / name)
        assert isinstance(fault, Fault)
        assert "iconv -f CP1252 -t UTF-8" in fault.reason


def test_texts_in_an_archive_are_documents(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "book.zip", "w") as archive:
        archive.writestr("b/two.txt", "second")
        archive.writestr("a.md", "first")
        archive.writestr("../../out.txt", "outside")
        archive.writestr("cover.png", b"\x89PNG")
    corpus = read_corpus(str(tmp_path))
    assert [(document.text, document.source) for document in corpus.documents] == [
        ("first", "book/a.md"),
        ("second", "book/b/two.txt"),
    ]
    hidden, other = corpus.unread
    assert hidden.reason == "not read (hidden): book.zip/../../out.txt"
    assert other.reason == "not read (an image; if it has text, run OCR first): book.zip/cover.png"
    assert other.reason.endswith("): book.zip/cover.png")
    assert [entry.name for entry in tmp_path.iterdir()] == ["book.zip"]
    assert not (tmp_path.parent.parent / "out.txt").exists()


@pytest.mark.parametrize(
    ("name", "data", "kept", "reasons"),
    [
        ("a.csv", b"a,b\n1,2\n3\n4,5,6\n7,8\n", 2, ["3: expected 2 cells, found 1", "4: expected 2 cells, found 3"]),
        ("a.csv", b"a,b\n1,2\n3,caf\xe9\n5,6\n", 2, ["3: field 'b': not UTF-8 (byte 0xe9 at position 4)"]),
        ("a.csv", b'a,b\n1,2\n\n3,"4\n5,6\n', 1, ["4: not valid CSV: unexpected end of data"]),
        ("a.tsv", b'a\tb\n1\t2\n3\t"4"5\n6\t7\n', 1, ["3: not valid CSV: "]),
        ("a.csv", b"a,b,a\n1,2,3\n", 0, ["None: two columns are named 'a'"]),
        ("a.csv", b"", 0, []),
        (
            "a.csv.gz",
            gzip.compress(b"a\n" + b"b\n" * 99, mtime=0)[:-9],
            99,
            ["101: the file is damaged: it ends in the middle"],
        ),
        ("a.json", b'[{"a": 1}, {"a": 2}, {"a": ', 2, ["None: the file is not valid JSON after row 2: "]),
        ("a.json", b'{"a": 1}\n{"a": \n{"a": 3}\n', 2, ["2: not JSON: Expecting value at position 7 of the line"]),
        ("a.json", b'{"a":\n1', 0, ["None: the file is not valid JSON: Expecting"]),
        ("a.json", b"[1]", 0, ["1: expected a JSON object with named fields, found a number"]),
    ],
)
def test_what_is_damaged_is_named_with_its_row_and_the_rest_is_kept(
    tmp_path: Path, name: str, data: bytes, kept: int, reasons: list[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    found = list(read_records(tmp_path / name))
    faults = [f"{one.line}: {one.reason}" for one in found if isinstance(one, Fault)]
    assert len(found) - len(faults) == kept
    assert len(faults) == len(reasons)
    for fault, reason in zip(faults, reasons, strict=True):
        assert fault.startswith(reason)
    if faults:
        with pytest.raises(FathomError, match=str(tmp_path / name)):
            list(checked_records(tmp_path / name))


def test_a_cell_that_cannot_be_read_names_its_field(tmp_path: Path) -> None:
    texts = pa.array([b"good", b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"n": [1, 2], "text": texts}), tmp_path / "a.parquet")
    good, bad = read_records(tmp_path / "a.parquet")
    assert good == Record(1, {"n": 1, "text": "good"})
    assert isinstance(bad, Fault)
    assert bad.line == 2
    assert bad.reason.startswith("field 'text' cannot be read: ")


def test_an_endless_cell_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.documents.records.tables.LONGEST_CELL", 100)
    limit = csv.field_size_limit()
    (tmp_path / "a.csv").write_text('a\n1\n"' + "x\n" * 1000)
    try:
        first, fault = read_records(tmp_path / "a.csv")
    finally:
        csv.field_size_limit(limit)
    assert first == Record(2, {"a": "1"})
    assert isinstance(fault, Fault)
    assert "field larger than field limit (100)" in fault.reason


def test_a_text_bomb_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.documents.records.streams.MOST_AT_ONCE", 1 << 20)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b" " * (2 << 20), mtime=0))
    (fault,) = read_records(tmp_path / "a.txt.gz")
    assert fault == Fault(None, "the file is larger than 1 MiB; convert it to JSONL, or split it")


def test_large_tables_are_read_row_by_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 200_000 + "3\n")
    records = read_records(tmp_path / "a.csv")
    assert next(records) == Record(2, {"a": "1", "b": "2"})
    (tmp_path / "a.csv").write_text("")  # nothing but the first piece of it has been read
    assert sum(1 for _ in records) < 100_000


def test_a_walk_goes_through_hidden_folders_only_where_it_is_told_to(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.txt", ".git/config", "a/.d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    names = ["a/c.txt", "b.txt"]
    found = walk(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in found.files] == names
    assert [problem.reason for problem in found.unread] == ["not read (hidden): .git, a/.d"]
    found = walk(tmp_path, hidden=True)
    assert [path.relative_to(tmp_path).as_posix() for path in found.files] == [".git/config", "a/.d", *names]
    assert found.unread == ()


def test_many_files_that_are_not_read_are_counted_by_folder_and_suffix(tmp_path: Path) -> None:
    names = [f"{number:04}.png" for number in range(1234)]
    (problem,) = unread(tmp_path, [*names, "a/b.pdf", "a/one.tar.gz", "a/two.tar.gz"], "too large")
    assert problem.reason == "not read (too large): *.png (1,234), a/b.pdf, a/*.tar.gz (2)"
    assert len(problem.names) == 1237
    (problem,) = unread(tmp_path, [f"{number:02}/a.png" for number in range(60)], "too large")
    assert problem.reason.startswith("not read (too large): 00/a.png, 01/a.png, ")
    assert problem.reason.endswith(", 39/a.png and 20 more")
    assert unread(tmp_path, [], "too large") == ()


def test_a_file_by_its_path() -> None:
    assert str(File.at(Path("a/b.csv"))) == "a/b.csv"


def test_without_its_libraries_a_document_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fathom.documents.records import extractor

    for name in ("pypdfium2", "mammoth", "pptx", "lxml", "python_calamine"):
        monkeypatch.setitem(sys.modules, name, None)
    for suffix, content in ((".pdf", b"%PDF-1.7"), (".html", b"<p>text"), (".xlsx", xlsx({"A": [["x"]]}))):
        path = tmp_path / f"one{suffix}"
        path.write_bytes(content)
        assert extractor._answer(str(path), suffix) == {
            "fault": 'it needs other libraries: pip install "fathom-eval[documents]"'
        }


def test_cells_of_a_workbook_are_texts_as_it_shows_their_values(tmp_path: Path) -> None:
    cells: list[Cell] = [1788, 0.1 + 0.2, 1e20, True, date(2024, 5, 9), "#N/A", " x & y "]
    (tmp_path / "a.xlsx").write_bytes(xlsx({"A": [[f"c{n}" for n in range(len(cells))], cells]}))
    (record,) = read_records(tmp_path / "a.xlsx")
    assert isinstance(record, Record)
    assert list(record.fields.values()) == ["1788", "0.3", "1e+20", "TRUE", "2024-05-09", None, " x & y "]
