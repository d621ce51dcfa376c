"""Runs of a part of a suite, and suites of a part of a folder, say so in reports."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from fathom import api
from fathom.rows import questions_left_out, unfinished, unread_files
from made import write_corpus


@pytest.mark.slow
def test_a_run_with_a_limit_says_how_many_samples_it_asked(tmp_path: Path) -> None:
    built = api.build("passkey", tmp_path / "suite", lengths=[1024, 2048], items=4)
    whole, run = built.manifest["samples"]["passkey"], tmp_path / "run"
    api.run(tmp_path / "suite", "fathom/guess", run, limit=1)
    asked = len(api.rows([run]))
    assert 0 < asked < whole
    (note,) = unfinished([run])
    assert note.startswith(f"run (fathom/guess) asked {asked} of the {whole} samples of its suite")
    assert note in api.report([run], tmp_path / "report.html").markdown()
    api.run(tmp_path / "suite", "fathom/guess", run)
    assert unfinished([run]) == []


@pytest.mark.slow
def test_a_report_says_how_many_files_the_suite_lacks(tmp_path: Path) -> None:
    corpus = tmp_path / "texts"
    corpus.mkdir()
    write_corpus(corpus, 40)
    (corpus / "minutes.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    api.build("passkey", tmp_path / "suite", lengths=[1024], items=2, corpus=corpus, allow_unread=True)
    api.run(tmp_path / "suite", "fathom/guess", tmp_path / "run")
    (note,) = unread_files([tmp_path / "run"])
    assert note.startswith("1 file of the documents of passkey could not be read")
    assert note in api.report([tmp_path / "run"], tmp_path / "report.html").markdown()


@pytest.mark.slow
def test_questions_that_are_not_asked_are_named_with_reasons_and_counted_in_reports(tmp_path: Path) -> None:
    corpus = tmp_path / "texts"
    corpus.mkdir()
    write_corpus(corpus, 40)
    sentences = [f"Sentence {number} of a long letter about nothing." for number in range(400)]
    sentences[3], sentences[390] = "The harbour was built in 1788.", "It was closed in 1899."
    (corpus / "long.txt").write_text(" ".join(sentences))
    questions = [
        ("When was the harbour built?", "1788", "The harbour was built in 1788."),
        ("Who paid for it?", "the king", ""),
        ("How many letters are there?", "letter", ""),
        ("What is known of it?", "1788", f'["{sentences[3]}", "{sentences[390]}"]'),
        ("Why " + "on earth " * 200 + "?", "1788", ""),
    ]
    with (tmp_path / "q.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("document", "question", "answer", "evidence")])
        csv.writer(stream).writerows(("long.txt", *row) for row in questions)
    built = api.build(
        "single_doc_qa", tmp_path / "suite", lengths=[1024], items=2, corpus=corpus, questions=tmp_path / "q.csv"
    )
    with (tmp_path / "suite" / "questions_left_out.csv").open(encoding="utf-8-sig", newline="") as stream:
        _, *rows = csv.reader(stream)
    assert [row[:3] for row in rows] == [["single_doc_qa", "long.txt", question] for question, _, _ in questions[1:]]
    says = ["is not in the text word for word; give the evidence", "occurs 398 times", "quote less", "shorten it"]
    assert all(words in row[3] for words, row in zip(says, rows, strict=True))
    notes = [note for note in built.manifest["notes"] if "not asked" in note]
    assert len(notes) == 5
    assert notes[4] == "single_doc_qa: 39 more questions are not asked: there are 2 items; `items` takes more"
    assert 'not asked: "Who paid for it?" (long.txt): the document has more' in notes[0]
    assert "1 more question" in notes[3]
    assert built.manifest["questions_left_out"] == 4
    api.run(tmp_path / "suite", "fathom/guess", tmp_path / "run")
    (note,) = questions_left_out([tmp_path / "run"])
    assert note.startswith("4 questions about the documents of single_doc_qa are not asked")
    assert note in api.report([tmp_path / "run"], tmp_path / "report.html").markdown()
