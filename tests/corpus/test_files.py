from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.documents.corpus import Corpus, Fields, document_id, read_corpus
from fathom.documents.corpus.text import normalise
from fathom.documents.records import EXAMPLES_PER_FILE
from fathom.types import FathomError


def write_jsonl(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def texts(corpus: Corpus) -> list[str]:
    return [document.text for document in corpus.documents]


def reasons(corpus: Corpus) -> str:
    return "\n".join(map(str, corpus.problems))


# ------------------------------------------------------------------------------------------------ folders


def test_a_folder_is_read_recursively_in_the_order_of_its_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "hidden.txt").write_text("never")
    (tmp_path / "README.md").write_text("About this folder.")
    (tmp_path / "table.xls").write_text("not,a,document")
    (tmp_path / "c.md.gz").write_bytes(gzip.compress(b"third"))
    (tmp_path / "b" / "two.txt.zst").write_bytes(zstandard.compress("第二".encode()))
    (tmp_path / "a.TXT").write_bytes(b"\xef\xbb\xbffirst\r\nline  \r\rlast\x00\r\n\r\n\r\n")
    corpus = read_corpus(str(tmp_path))
    assert texts(corpus) == ["first\nline\n\nlast", "第二", "third"]
    assert [document.source for document in corpus.documents] == ["a.TXT", "b/two.txt.zst", "c.md.gz"]
    assert [document.language for document in corpus.documents] == ["en", "zh", "en"]
    assert corpus.documents[0].id == document_id("first\nline\n\nlast")
    assert corpus.problems == ()
    reasons = [problem.reason for problem in corpus.unread]
    assert reasons == [
        "not read (hidden): .git",
        "not read (save it as .xlsx or .csv): table.xls",
        "not read (it describes the documents next to it): README.md",
    ]


def test_a_readme_alone_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("All there is.")
    assert texts(read_corpus(str(tmp_path))) == ["All there is."]


def test_links_in_a_circle_and_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text("one")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    corpus = read_corpus(str(tmp_path))
    assert texts(corpus) == ["one"]
    assert sorted(Path(problem.path).name for problem in corpus.problems) == ["gone.txt", "self.txt"]
    assert [problem.reason for problem in corpus.unread] == ["not read (neither files nor folders): pipe.txt"]


def test_a_name_that_is_not_utf8_does_not_leak_half_characters(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    try:
        with open(path, "wb") as file:  # noqa: PTH123 (the path is bytes)
            file.write(b"text")
    except OSError:
        pytest.skip("this file system only takes UTF-8 names")
    source = read_corpus(str(tmp_path)).documents[0].source
    assert source.encode().startswith(b"caf")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("{}/missing", "no such file"),
        ("{}/empty", "contains no documents"),
        ("{}/table.xls", "unknown format"),
        ("{}/table.xlsx", "damaged: not a readable workbook"),
        ("{}/a.jsonl?colour=red", "unknown part 'colour'; a query can name text, questions, answers"),
        ("{}/a.jsonl?text", "name=value"),
        ("{}/a.jsonl?text=", "after text="),
        ("{}/a.jsonl?text=a&text=b", "twice"),
        ("{}/a.jsonl", "name its text field, as in FILE?text=body"),
        ("{}/blank.txt", "empty"),
        ("", "empty"),
        ("a\0b", "no such file"),
        ("~no-such-user/a.txt", "no such file"),
        ("x" * 5000, "cannot be read|no such file"),  # from Python 3.14 on, paths that are too long do not exist
    ],
)
def test_what_cannot_be_read_says_what_to_do(tmp_path: Path, spec: str, says: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "table.xls").write_text("a")
    (tmp_path / "table.xlsx").write_text("a")
    (tmp_path / "blank.txt").write_text(" \n\n")
    write_jsonl(tmp_path / "a.jsonl", [{"body": "long text", "id": "x"}])
    with pytest.raises(FathomError, match=says.replace("?", r"\?")):
        read_corpus(spec.format(tmp_path))


def test_a_file_whose_name_holds_a_question_mark_wins_over_a_query(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a?text=b.jsonl", [{"text": "whole name", "x": "named field"}])
    assert texts(read_corpus(f"{tmp_path}/a?text=b.jsonl")) == ["whole name"]
    assert texts(read_corpus(f"{tmp_path}/a?text=b.jsonl?text=x")) == ["named field"]


def test_every_unread_file_is_named_and_more_than_a_tenth_stops(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.md").write_text(f"text {number}")
        (tmp_path / f"{number:02}.doc").write_text("binary")
    corpus = read_corpus(str(tmp_path))
    assert (corpus.read, corpus.missed) == (20, 20)
    with pytest.raises(FathomError) as raised:
        corpus.check_read()
    assert all(f"{number:02}.doc" in str(raised.value) for number in range(20))
    assert "20 of 40 files were not read" in str(raised.value)
    assert "save it as .docx or .pdf" in str(raised.value)
    assert "`allow_unread`" in str(raised.value)


def test_names_of_files_add_no_lines_to_a_message(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    (tmp_path / "b\nfathom: all is well\N{RIGHT-TO-LEFT OVERRIDE}.doc").write_text("binary")
    with pytest.raises(FathomError) as raised:
        read_corpus(str(tmp_path)).check_read()
    assert len(str(raised.value).splitlines()) == 3
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in str(raised.value)


def test_a_tenth_of_the_files_may_be_unread(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.txt").write_text(f"text {number}")
    (tmp_path / "one.doc").write_text("binary")
    (corpus := read_corpus(str(tmp_path))).check_read()
    assert (corpus.read, corpus.missed) == (9, 1)
    (tmp_path / "two.txt").write_bytes(b"caf\xe9")
    corpus = read_corpus(str(tmp_path))
    with pytest.raises(FathomError, match=r"2 of 11 files were not read:\n  two.txt: not UTF-8"):
        corpus.check_read()


@pytest.mark.parametrize(
    "name", [".DS_Store", ".git/config", "Thumbs.db", "desktop.ini", "logo.PNG", "page_files/style.css", "README.md"]
)
def test_what_does_not_look_like_a_document_stops_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "one.txt").write_text("text")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("x")
    (corpus := read_corpus(str(tmp_path))).check_read()
    assert (corpus.read, corpus.missed) == (1, 0)
    assert Path(name).parts[0] in str(corpus.unread[0])


def test_code_markup_and_logs_are_texts(tmp_path: Path) -> None:
    for name in ("a.py", "b.rst", "c.tex", "d.log", "e.TS", "f.c.gz", "LICENSE"):
        (tmp_path / name).write_bytes(gzip.compress(name.encode()) if name.endswith(".gz") else name.encode())
    (tmp_path / "saved_files").mkdir()
    (tmp_path / "saved_files" / "page.js").write_text("var a;")
    (tmp_path / "letter").write_text("x")
    corpus = read_corpus(str(tmp_path))
    assert texts(corpus) == ["LICENSE", "a.py", "b.rst", "c.tex", "d.log", "e.TS", "f.c.gz"]
    assert any("name it .txt): letter" in problem.reason for problem in corpus.unread)
    assert corpus.missed == 1


def test_a_repository_is_a_corpus_of_what_people_wrote(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "[project]", "README.md": "About it.", "src/a.py": "print(1)", "src/__init__.py": "",
        "src/api_pb2.py": "x", "src/made.go": "// Code generated by hand. DO NOT EDIT.", "package-lock.json": "{}",
        "app.min.js": "x", "node_modules/m/index.js": "x", "build/lib/a.py": "x", "conf.json": '{"key": 1}',
        "data.bin": "\0", "logo.png": "x", ".git/config": "x", "weights.bin": "x", "ci.yaml": "x",
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (corpus := read_corpus(str(tmp_path))).check_read()
    assert texts(corpus) == ["About it.", "print(1)"]
    left = {problem.why.split(":")[0]: set(problem.names) for problem in corpus.unread}
    assert left["generated or installed, and not written"] <= {
        *("build/", "node_modules/", "app.min.js", "src/api_pb2.py", "src/made.go", "package-lock.json")
    }
    assert left["no field with a text, as in the settings of a program"] == {"conf.json"}
    assert left["empty"] == {"src/__init__.py"}
    assert left["hidden"] == {".git"}
    (tmp_path / "minutes.doc").write_text("x")
    assert read_corpus(str(tmp_path)).missed == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n", "`git lfs pull`"),
        ("/annex/objects/SHA256E-s123--4d7a.jsonl\n", "`git annex get`"),
    ],
)
@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.pdf", "a.csv", "a.parquet", "a.xlsx", "a.zip", "a.txt.gz"])
def test_a_file_that_was_not_downloaded_says_so(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FathomError, match=f"is a pointer of .* and not the file itself; run {says}"):
        read_corpus(str(tmp_path / name))


# --------------------------------------------------------------------------------------------------- rows


def test_bad_rows_are_listed_with_their_line_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"text": "one"}\r\n\n{"text": "caf\xe9"}\n{"text": \n["text"]\n{"text": " \\n"}\n{"body": "x"}\n'
        b'{"text": null}\n{"text": 3}\n{"text": "\\ud800"}\n{"text": "x", "title": "\\udc00", "n": NaN}\n'
        + b'{"text": '
        + b"[" * 100_000
        + b"\n"
        + b'{"text": "big", "n": '
        + b"9" * 5000
        + b"}\n"
        + b'{"text": "last"}'
    )
    corpus = read_corpus(str(path))
    assert texts(corpus) == ["one", "x", "last"]
    found = {problem.line: problem.reason for problem in corpus.problems}
    expected = {
        3: "not UTF-8 (byte 0xe9 at position 14",
        4: "not JSON",
        5: "expected a JSON object with named fields, found a list",
        6: "is empty",
        7: "name its text field, as in FILE?text=body",
        8: "holds nothing",
        9: "type int",
        10: "a lone surrogate",
        12: "nested too deeply",
        13: "not readable JSON",
    }
    assert found.keys() == expected.keys()
    for line, words in expected.items():
        assert words in found[line]


def test_many_bad_rows_are_twenty_examples_and_a_count(tmp_path: Path) -> None:
    rows: list[object] = [{"text": "good"}, *[{"text": ""}] * 500, *[{"text": "good"}] * 30]
    corpus = read_corpus(str(write_jsonl(tmp_path / "rows.jsonl", rows)))
    assert len(corpus.problems) == EXAMPLES_PER_FILE + 1
    assert sum(problem.count for problem in corpus.problems) == 500
    assert sum(problem.count for problem in corpus.duplicates) == 30
    assert "rows.jsonl:1" in corpus.duplicates[0].reason


def test_a_wrong_field_name_is_one_problem_a_file(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "wrong.jsonl", [{"body": "words", "id": index} for index in range(300)])
    (tmp_path / "right.txt").write_text("text")
    (problem,) = read_corpus(str(tmp_path)).problems
    assert problem.count == 300
    assert "none of its 300 rows" in problem.reason
    assert "?text=body" in problem.reason
    assert len(read_corpus(f"{tmp_path}/wrong.jsonl?text=body").duplicates) == EXAMPLES_PER_FILE + 1


def test_a_named_field_that_no_row_has_is_reported(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": "one"}, {"text": "two"}])
    corpus = read_corpus(f"{path}?questions=instrucions")
    assert texts(corpus) == ["one", "two"]
    assert "none of its 2 rows has the field 'instrucions'" in reasons(corpus)


def test_names_in_the_spec_win_over_options(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"a": "from a", "b": "from b", "t": "Title"}])
    options = Fields(text="a", title="t")
    assert texts(read_corpus(str(path), options)) == ["from a"]
    corpus = read_corpus(f"{path}?text=b", options)
    assert (texts(corpus), corpus.documents[0].title) == (["from b"], "Title")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_rows_before_damage_are_kept(tmp_path: Path, suffix: str, share: float) -> None:
    rows = [{"text": f"{index} " + os.urandom(200).hex()} for index in range(2000)]
    plain = "".join(json.dumps(row) + "\n" for row in rows).encode()
    packed = gzip.compress(plain) if suffix == ".gz" else zstandard.compress(plain)
    path = tmp_path / f"rows.jsonl{suffix}"
    path.write_bytes(packed[: int(len(packed) * share)])
    corpus = read_corpus(str(path))
    assert 0 < len(corpus.documents) < 2000
    assert texts(corpus) == [row["text"] for row in rows[: len(corpus.documents)]]
    (problem,) = corpus.problems
    assert "ends in the middle" in problem.reason
    assert problem.line == len(corpus.documents) + 1
    path.write_bytes(b"no such format" + packed)
    with pytest.raises(FathomError, match="is damaged"):
        read_corpus(str(path))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_frames_that_follow_each_other_are_one_file(tmp_path: Path, suffix: str) -> None:
    pack = gzip.compress if suffix == ".gz" else zstandard.compress
    path = tmp_path / f"rows.jsonl{suffix}"
    path.write_bytes(pack(b'{"text": "one"}\n{"te') + pack(b'xt": "two"}\n') + b"\0" * 64)
    assert texts(read_corpus(str(path))) == ["one", "two"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_with_a_byte_order_mark_is_read(tmp_path: Path, encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    (tmp_path / "a.txt").write_bytes(f"{mark}书中𠀀\r\n自有".encode(encoding))
    (tmp_path / "b.jsonl").write_bytes(f'{mark}{{"text": "ਊ one"}}\n{{"text": "two"}}\n'.encode(encoding))
    (tmp_path / "c.txt").write_bytes(f"{mark}odd".encode(encoding) + b"\x00")
    corpus = read_corpus(str(tmp_path))
    assert texts(corpus) == ["书中𠀀\n自有", "ਊ one", "two"]
    assert "starts as UTF-16" in reasons(corpus)


def test_a_text_file_that_is_not_utf8_is_a_problem_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"first\nsecond caf\xe9\n")
    (tmp_path / "b.txt").write_text("good")
    corpus = read_corpus(str(tmp_path))
    assert texts(corpus) == ["good"]
    assert corpus.problems[0].line == 2


def test_a_very_long_line(tmp_path: Path) -> None:
    text = "word " * 2_000_000 + "end"
    path = write_jsonl(tmp_path / "long.jsonl", [{"text": text}, {"text": "next"}])
    assert texts(read_corpus(str(path))) == [text, "next"]


# --------------------------------------------------------------------------------------- questions and others


def read_one(tmp_path: Path, row: dict[str, object], query: str = "") -> Corpus:
    return read_corpus(str(write_jsonl(tmp_path / "one.jsonl", [row])) + query)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"questions": " Who? ", "answers": "Ann"}, [("Who?", ("Ann",))]),
        ({"questions": "Who?", "answers": ["Ann", "Anna", "Ann"]}, [("Who?", ("Ann", "Anna"))]),
        ({"questions": ["Who?"], "answers": ["Ann", "Anna"]}, [("Who?", ("Ann", "Anna"))]),
        ({"questions": ["Who?"], "answers": [["Ann", "Anna"]]}, [("Who?", ("Ann", "Anna"))]),
        ({"questions": ["A?", "B?"], "answers": ["1", ["2", 3]]}, [("A?", ("1",)), ("B?", ("2", "3"))]),
        ({"questions": [{"question": "Q?", "answers": ["1"]}, {"text": "R?", "answer": 2}]}, None),
        ({"questions": "", "answers": [{"id": 1}]}, []),
        ({}, []),
    ],
)
def test_forms_of_questions_and_answers(
    tmp_path: Path, fields: dict[str, object], expected: list[tuple[str, tuple[str, ...]]] | None
) -> None:
    corpus = read_one(tmp_path, {"text": "A text.", **fields})
    found = [(question.text, question.answers) for question in corpus.documents[0].questions]
    assert found == ([("Q?", ("1",)), ("R?", ("2",))] if expected is None else expected)
    assert corpus.problems == ()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"questions": ["A?", "B?"], "answers": ["1"]}, "2 questions in 'questions' but 1 answers"),
        ({"questions": ["A?", "B?"], "answers": ["1", ""]}, "question 2 has no answer"),
        ({"questions": "A?"}, "question 1 has no answer"),
        ({"questions": [{"answer": "1"}]}, "question 1 has no text"),
        ({"questions": [None], "answers": ["1"]}, "question 1 has no text"),
        ({"summary": {"a": 1}}, "expected a string; the summary is skipped"),
    ],
)
def test_what_is_left_out_of_a_document_is_reported(tmp_path: Path, fields: dict[str, object], says: str) -> None:
    corpus = read_one(tmp_path, {"text": "A text.", **fields})
    assert says in reasons(corpus)
    assert len(corpus.documents) == 1


def test_the_parts_of_a_document_by_their_names(tmp_path: Path) -> None:
    row = {
        "input": "第一句。\r\n\r\n\r\n\r\n第二句。第一句。",
        "instructions": [{"question": "何?", "answer": "二", "evidence": [[12, 16], "第一句。", [99, 120], 3]}],
        "highlights": ["短", "长"],
        "name": "A\n title",
        "lang": "Chinese",
        "licence": "CC0-1.0",
        "id": 17,
    }
    query = "?text=input&questions=instructions&summary=highlights&title=name&language=lang"
    (document,) = read_one(tmp_path, row, query).documents
    assert (document.language, document.title, document.summary) == ("zh", "A title", "短")
    assert (document.licence, document.meta) == ("CC0-1.0", {"id": "17"})
    cut = [document.text[start:end] for start, end in document.questions[0].evidence]
    assert cut == ["第二句。", "第一句。"]


def test_one_question_in_a_field_of_its_own(tmp_path: Path) -> None:
    rows: list[object] = [{"text": "Ada keeps bees.", "question": "Who keeps bees?", "answer": "Ada", "summary": ""}]
    corpus = read_corpus(str(write_jsonl(tmp_path / "a.jsonl", rows)))
    (question,) = corpus.documents[0].questions
    assert (question.text, question.answers) == ("Who keeps bees?", ("Ada",))
    assert "'summary' is empty" in reasons(corpus)


def test_questions_of_a_text_that_comes_again_move_to_the_first(tmp_path: Path) -> None:
    rows: list[object] = [{"text": "T.\r\n", "questions": f"Q{n}?", "answers": "a"} for n in (1, 2, 2)]
    corpus = read_corpus(str(write_jsonl(tmp_path / "a.jsonl", rows)))
    assert [question.text for question in corpus.documents[0].questions] == ["Q1?", "Q2?"]
    assert [duplicate.line for duplicate in corpus.duplicates] == [2, 3]


def test_the_fingerprint_knows_texts_order_and_questions(tmp_path: Path) -> None:
    def of(rows: list[object]) -> str:
        return read_corpus(str(write_jsonl(tmp_path / "a.jsonl", rows))).fingerprint

    one, two = {"text": "one"}, {"text": "two"}
    prints = [of([one, two]), of([two, one]), of([one]), of([one, two | {"questions": "Q?", "answers": "a"}])]
    assert len(set(prints)) == 4
    assert of([one, two, one]) == prints[0]


# ------------------------------------------------------------------------------------------------- Parquet


def test_parquet_rows_with_their_questions_and_faults(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["one", None, "", "two\r\n"],
            "big.picture": ["x", "y", "z", "dotted"],
            "questions": [["A?", "B?"], None, None, ["C?"]],
            "answers": [["1", "2"], None, None, ["3"]],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    corpus = read_corpus(f"{tmp_path}/a.parquet")
    assert texts(corpus) == ["one", "two"]
    assert [len(document.questions) for document in corpus.documents] == [2, 1]
    assert [problem.line for problem in corpus.problems] == [2, 3]
    assert texts(read_corpus(f"{tmp_path}/a.parquet?text=big.picture"))[-1] == "dotted"
    with pytest.raises(FathomError, match=r"'text', 'big.picture', 'questions'"):
        read_corpus(f"{tmp_path}/a.parquet?text=body")


def test_parquet_compressed_once_more_and_damaged(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["one", "two"]}), tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet.zst").write_bytes(zstandard.compress(data))
    assert texts(read_corpus(f"{tmp_path}/b.parquet.zst")) == ["one", "two"]
    (tmp_path / "a.parquet").write_bytes(data[:-20])
    with pytest.raises(FathomError, match="not valid Parquet"):
        read_corpus(f"{tmp_path}/a.parquet")


def test_parquet_text_that_is_not_utf8_is_a_bad_row(tmp_path: Path) -> None:
    array = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\4\0\0\0\7\0\0\0"), pa.py_buffer(b"caf\xe9two"))
    pq.write_table(pa.table({"text": array}), tmp_path / "a.parquet")
    corpus = read_corpus(f"{tmp_path}/a.parquet")
    assert texts(corpus) == ["two"]
    assert corpus.problems[0].line == 1


# ---------------------------------------------------------------------------------------------- properties

PACK: dict[str, Callable[[bytes], bytes]] = {
    "jsonl": bytes,
    "jsonl.gz": gzip.compress,
    "jsonl.zst": zstandard.compress,
}
anything = st.text(st.characters(codec="utf-8"), max_size=60)


def expected_texts(given_texts: list[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, map(normalise, given_texts))))


@settings(deadline=None, max_examples=60)
@given(st.lists(anything, max_size=8), st.sampled_from(["jsonl", "jsonl.gz", "jsonl.zst", "parquet", "txt"]))
def test_texts_come_back_normalised_and_once(given_texts: list[str], kind: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"a.{kind}")
        if kind == "txt":
            for index, text in enumerate(given_texts):
                Path(folder, f"{index}.txt").write_bytes(text.encode())
            path = Path(folder)
        elif kind == "parquet":
            pq.write_table(pa.table({"text": pa.array(given_texts, pa.string())}), path)
        else:
            plain = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in given_texts).encode()
            path.write_bytes(PACK[kind](plain))
        if not (expected := expected_texts(given_texts)):
            with pytest.raises(FathomError):
                read_corpus(str(path))
            return
        corpus = read_corpus(str(path))
        assert texts(corpus) == expected
        lost = sum(problem.count for problem in (*corpus.problems, *corpus.duplicates))
        assert len(corpus.documents) + lost == len(given_texts)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(["txt", "md.gz", "jsonl", "jsonl.gz", "jsonl.zst", "parquet", "parquet.gz"]),
    st.binary(max_size=300)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(st.characters(), max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["text", "questions", "answers", "question", "evidence"]), inner)
        ),
        max_leaves=12,
    ).map(lambda value: json.dumps(value).encode()),
)
def test_garbage_raises_nothing_but_fathom_errors(kind: str, data: bytes) -> None:
    with TemporaryDirectory() as folder:
        for name, content in ((f"a.{kind}", data), (f"b.{kind}", gzip.compress(data)), (f"c.{kind}", b"PAR1" + data)):
            path = Path(folder, name)
            path.write_bytes(content)
            try:
                corpus = read_corpus(str(path))
            except FathomError:
                continue
            for document in corpus.documents:
                assert document.id == document_id(document.text)


@given(st.text(st.sampled_from(" \t\n\r\0\x0b\x1c\u3000\ufeffa书")))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert "\n\n\n" not in once
    assert not any(line != line.rstrip() for line in once.split("\n"))
