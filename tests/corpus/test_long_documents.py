"""Documents too long for memory, and folders with too many files for it."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fathom import api
from fathom.documents.corpus import Corpus, files, read_corpus
from fathom.documents.corpus.questions import read_questions
from fathom.documents.records import FileFinder, Walker, json_text, reading, streams, walk
from fathom.documents.records.json_text import JsonText
from fathom.suites.suitefile import open_suite, samples
from fathom.tokens.counts import TokenCounter
from fathom.tokens.length import WIDEST, parse_length
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Document, FathomError, Question, Sample

LONG, PART, MOST = 1 << 18, 1 << 16, 1 << 19


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that cheap texts exceed."""
    for module in (streams, reading, files):
        monkeypatch.setattr(module, "LONG", LONG)
    monkeypatch.setattr(streams, "PART", PART)
    monkeypatch.setattr(reading, "LONG_LINE", 2 * LONG)
    for module in (reading, json_text):
        monkeypatch.setattr(module, "AT_ONCE", PART)
    monkeypatch.setattr(files, "MOST", MOST)


def paragraphs(count: int, seed: int = 0) -> list[str]:
    rng = Random(seed)
    return [
        " ".join(f"Sentence {number} of ship {rng.randrange(10**9)} is about the sea." for _ in range(15))
        for number in range(count)
    ]


def write(path: Path, text: str) -> str:
    """A text in a file of its own or as a record, by the suffix of the path."""
    said = text if path.suffix == ".txt" else json.dumps({"title": "Ships", "text": text, "licence": "CC0"}) + "\n"
    path.write_text(said, encoding="utf-8")
    return str(path)


def texts(corpus: Corpus) -> list[str]:
    return [document.text for document in corpus.documents]


def peak(work: Callable[[], object]) -> int:
    """The most memory in bytes that something takes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", [".txt", ".jsonl"])
def test_a_long_document_is_never_whole_in_memory(tmp_path: Path, suffix: str) -> None:
    spec = write(tmp_path / f"long{suffix}", "\n\n".join(paragraphs(8000)))
    assert Path(spec).stat().st_size > 5_000_000
    assert peak(lambda: read_corpus(spec)) < 3_000_000


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", [".txt", ".jsonl"])
def test_the_parts_of_a_document_are_all_of_it(tmp_path: Path, suffix: str) -> None:
    said = paragraphs(500)
    corpus = read_corpus(write(tmp_path / f"long{suffix}", "\r\n\r\n".join(said)))
    assert not corpus.drawn
    assert "\n\n".join(texts(corpus)).split("\n\n") == said
    assert all(len(text) <= PART for text in texts(corpus))
    where = "long.txt" if suffix == ".txt" else "long.jsonl:1"
    assert [one.source for one in corpus.documents][:2] == [f"{where}, part 1", f"{where}, part 2"]
    assert {(one.title, one.licence) for one in corpus.documents} == {
        ("", "") if suffix == ".txt" else ("Ships", "CC0")
    }


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", [".txt", ".jsonl"])
def test_up_to_the_limit_a_document_is_one(tmp_path: Path, suffix: str) -> None:
    said = "\n\n".join(paragraphs(340))
    assert PART < len(said) < LONG
    assert texts(read_corpus(write(tmp_path / f"short{suffix}", said))) == [said]


@pytest.mark.usefixtures("small")
def test_a_text_without_lines_is_divided_at_sentences_words_or_anywhere(tmp_path: Path) -> None:
    letters = "".join(map(str, range(60_000)))
    for said, end in ((" ".join(paragraphs(400)), "sea."), (letters.replace("1", "word "), "word"), (letters, "")):
        found = texts(read_corpus(write(tmp_path / "long.txt", said)))
        assert len(found) > 1
        assert all(text.endswith(end) for text in found[:-1])
        assert "".join(found).replace(" ", "") == said.replace(" ", "")


@pytest.mark.usefixtures("small")
def test_what_is_wrong_late_in_a_long_text_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    said = "\n\n".join(paragraphs(800)).encode()
    (tmp_path / "long.txt").write_bytes(said + b"\n\xff\n")
    corpus = read_corpus(str(tmp_path))
    assert len(corpus.documents) > 5
    assert corpus.problems[0].line == said.count(b"\n") + 2
    assert "not UTF-8 (byte 0xff)" in corpus.problems[0].reason
    rows = [
        json.dumps({"text": "First."}),
        json.dumps({"text": said.decode()})[:-1],
        json.dumps({"text": said.decode() + "\ud800"}),
        json.dumps({"text": said.decode()}) + "}",
        json.dumps({"text": said.decode()})[:-2] + '\\q"}',
        json.dumps({"text": "Last."}),
    ]
    (tmp_path / "long.txt").unlink()
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n")
    corpus = read_corpus(str(tmp_path))
    assert texts(corpus) == ["First.", "Last."]
    assert [problem.line for problem in corpus.problems] == [2, 3, 4, 5]


@given(st.text(), st.integers(1, 9))
@example('"\\\U0001f30a\n', 1)
@settings(deadline=None)
def test_a_string_of_json_in_pieces(said: str, size: int) -> None:
    data = json.dumps(said).encode()
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    assert "".join(JsonText(pieces).string()) == said


@pytest.mark.usefixtures("small")
def test_questions_go_to_the_part_that_answers_them(tmp_path: Path) -> None:
    said = paragraphs(600)
    fact = "The harbour of Kessmoor was built in 1788."
    row = {
        "text": "\n\n".join([*said[:500], fact, *said[500:]]),
        "summary": "Ships.",
        "questions": [
            {"question": "When was the harbour built?", "answers": ["1788"], "evidence": fact},
            {"question": "Whose harbour?", "answers": ["Kessmoor"]},
        ],
    }
    (tmp_path / "long.jsonl").write_text(json.dumps(row) + "\n")
    asked = [one for one in read_corpus(str(tmp_path)).documents if one.questions]
    assert len(asked) == 1
    assert fact in asked[0].text
    assert [question.text for question in asked[0].questions] == ["When was the harbour built?", "Whose harbour?"]
    assert not asked[0].summary


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_large_corpus_is_drawn_whatever_the_order_of_its_files(tmp_path: Path) -> None:
    said = paragraphs(1500)
    for folder, names in (("one", range(1500)), ("two", reversed(range(1500)))):
        (tmp_path / folder).mkdir()
        for text, name in zip(said, names, strict=True):
            (tmp_path / folder / f"{name:04d}.txt").write_text(text)
    one, two = (read_corpus(str(tmp_path / folder)) for folder in ("one", "two"))
    assert one.read == two.read == 1500
    assert 0.9 * MOST < sum(map(len, texts(one))) <= MOST
    assert set(texts(one)) == set(texts(two))
    more = read_corpus(str(tmp_path / "one"), most=MOST + (MOST >> 1))
    assert 1.4 * MOST < sum(map(len, texts(more))) <= 1.5 * MOST
    assert set(texts(more)) > set(texts(one)), "more of the same draw"
    assert one.drawn.startswith("1,500 texts")
    (tmp_path / "one" / "questions.jsonl").write_text(
        "".join(json.dumps({"text": f"Text {n}.", "question": "Which?", "answer": f"{n}"}) + "\n" for n in range(99))
    )
    assert sum(map(bool, (document.questions for document in read_corpus(str(tmp_path / "one")).documents))) == 99


@pytest.mark.usefixtures("small")
def test_documents_that_a_table_names_are_kept(tmp_path: Path) -> None:
    said = paragraphs(3000)
    (tmp_path / "long.txt").write_text("\n\n".join(said))
    for number, text in enumerate(paragraphs(60, seed=1)):
        (tmp_path / f"{number}.txt").write_text(text)
    facts = [said[at].split(". ")[2] + "." for at in (5, 1500, 2995)]
    short = (tmp_path / "7.txt").read_text().split(". ")[1] + "."
    rows = [("long.txt", fact) for fact in facts] + [("7", short)]
    table = tmp_path / "questions.csv"
    table.write_text(
        "document,question,answer,evidence\n"
        + "".join(f"{name},Which ship?,{one.split()[4]},{one}\n" for name, one in rows)
    )
    corpus = read_corpus(str(tmp_path), questions=[table])
    assert corpus.drawn
    documents = {one.id: one for one in corpus.documents}
    asked = read_questions(table, documents, corpus.names).questions
    found = [documents[id].text[slice(*one.evidence[0])] for id, listed in asked.items() for one in listed]
    assert sorted(found) == sorted([*facts, short])


@pytest.mark.usefixtures("small")
def test_evidence_that_no_part_has_is_refused_with_the_reason(tmp_path: Path) -> None:
    table = tmp_path / "questions.jsonl"
    (tmp_path / "long.txt").write_text("\n\n".join(paragraphs(500)))
    one, two, *_ = texts(read_corpus(str(tmp_path)))
    before, after, near = one.split("\n\n")[-1][-40:], two[:40], two[50:90]

    def refused(cell: str) -> str:
        table.write_text(json.dumps({"document": "long.txt", "question": "Which?", "answer": "9", "evidence": cell}))
        corpus = read_corpus(str(tmp_path), questions=[table])
        with pytest.raises(FathomError) as error:
            read_questions(table, {one.id: one for one in corpus.documents}, corpus.names)
        return str(error.value)

    for cell in (f"{before} {after}", json.dumps([before, near])):
        assert "no part of long.txt has all of the evidence word for word" in refused(cell)
        assert "quote less" in refused(cell)
    (tmp_path / "long.txt").write_text("A short text.")
    assert "the evidence is not in the text of long.txt word for word" in refused("No such words.")


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_copy_that_a_table_names_keeps_its_text(tmp_path: Path) -> None:
    folder, table = tmp_path / "texts", tmp_path / "questions.csv"
    folder.mkdir()
    said = paragraphs(900)
    for number, text in enumerate(said):
        (folder / f"{number:04d}.txt").write_text(text)
    rows = []
    for number, text in enumerate(said[:12]):
        (folder / f"{number:04d}x.txt").write_text(text)
        rows.append(f"{number:04d}x.txt,Which ship?,{text.split()[4]},{text.split('. ')[2]}\n")
    table.write_text("document,question,answer,evidence\n" + "".join(rows))
    corpus = read_corpus(str(folder), questions=[table])
    assert corpus.drawn
    documents = {one.id: one for one in corpus.documents}
    assert len(read_questions(table, documents, corpus.names).questions) == 12


def test_a_copy_with_questions_counts_as_a_document_with_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST", 10_000)
    held = files.BoundedDocuments()
    for number, text in enumerate(paragraphs(100)):
        plain = Document(f"{number * 7919 % 100:02d}", text, "test")
        if held.add(plain, len(text)):
            held[plain.id] = replace(plain, questions=(Question("Which?", ("one",)),))
        assert sum(len(one.text) for one in held) <= 2 * 12_500
    held.close()
    assert sum(len(one.text) for one in held if one.questions) <= 10_000


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_suite_says_that_its_documents_were_drawn(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("\n\n".join(paragraphs(1500)))
    built = api.build("passkey", tmp_path / "suite", corpus=str(tmp_path / "long.txt"), lengths="1k", items=2)
    assert any("drawn by their content" in note for note in built.manifest["notes"])
    assert {title for _, title in open_suite(tmp_path / "suite").sources().values()} <= {
        f"long.txt, part {number}" for number in range(1, 60)
    }


NAMES = st.sampled_from(["a", "a b", "a-b", "a.b", "b", "A", "é", "z.txt", "a!.txt", "b.txt"])


@given(st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=12))
@settings(deadline=None, max_examples=40)
def test_files_come_in_the_order_of_their_paths(paths: list[list[str]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for path in paths:
            place = root.joinpath(*path)
            if not any(one.is_file() for one in place.parents) and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
        every = [path for path in root.rglob("*") if path.is_file()]
        assert list(walk(root).files) == sorted(every, key=lambda path: path.relative_to(root).as_posix())
        walker = Walker(root, by_parts=True)
        assert list(map(walker.path, walker)) == sorted(every)


def test_files_are_found_one_by_one_and_may_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in "abcd":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.txt").write_text(folder)
    seen: list[str] = []
    scandir = os.scandir

    def watched(path: Path) -> Any:
        seen.append(path.name)
        return scandir(path)

    finder = FileFinder(tmp_path)
    with monkeypatch.context() as patched:  # pytest itself removes folders
        patched.setattr(os, "scandir", watched)
        files_found = iter(finder)
        assert [str(file.name) for file in islice(files_found, 2)] == ["a/one.txt", "b/one.txt"]
        assert seen == [tmp_path.name, "a", "b"]
        (tmp_path / "d" / "one.txt").unlink()
        (tmp_path / "d").rmdir()
        assert [str(file.name) for file in files_found] == ["c/one.txt"]
    assert [Path(problem.path).name for problem in finder.problems] == ["d"]


def test_long_literal_texts_are_not_remembered() -> None:
    counter = TokenCounter(get_tokenizer("chars"))
    assert peak(lambda: [counter.count(f"{number} " + "x" * 1_000_000) for number in range(9)]) < 5_000_000


def test_long_samples_are_written_and_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_TOGETHER", 1000)
    with samples.SampleWriter(tmp_path) as writer:
        for number in range(6):
            writer.add(Sample(f"s{number}", "i", "passkey", ("x" * 600,), ("1",), 256, 256, "en"))
    read = list(samples.read_groups(tmp_path / samples.SAMPLES))
    assert [[row["id"] for row in rows] for rows in read] == [["s0", "s1"], ["s2", "s3"], ["s4", "s5"]]


def test_a_window_may_be_larger_than_the_longest_prompt() -> None:
    assert parse_length("2m", WIDEST) == 2_097_152
    with pytest.raises(FathomError, match="2,000,000"):
        parse_length("2m")
