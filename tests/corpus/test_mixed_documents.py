"""Forty documents in six formats become a suite, a run and a report; what cannot be read is named."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from fathom import api
from fathom.documents.corpus import read_corpus
from fathom.suites.suitefile import open_suite
from fathom.types import Document, FathomError
from fathom.world.corpus import generate
from made_documents import docx_bytes, mixed_folder, need_libraries, pdf_bytes, scanned_pdf

ROWS = [["Year", "Ships", "Owner"], ["1788", "12,034", "Anna & Sons"], ["1799", "7", "Otto"]]
UNUSABLE = {
    "scan.pdf": "scanned: no text; run OCR first",
    "locked.pdf": "encrypted: save a copy without a password",
    "broken.docx": "damaged: not a readable Word file",
    "old.doc": "save it as .docx or .pdf",
    "latin.md": "not UTF-8",
}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def articles() -> list[Document]:
    return [article for article, _ in zip(generate(3, "en"), range(40), strict=False)]


@pytest.mark.slow
def test_forty_mixed_documents_become_a_report(tmp_path: Path) -> None:
    need_libraries()
    made = articles()
    texts = [(one.title, [" ".join(part.split()) for part in one.text.split("\n\n")]) for one in made]
    names = mixed_folder(tmp_path / "documents", texts, ROWS)
    assert [sum(name.endswith(kind) for name in names) for kind in ("pdf", "md", "docx", "html", "pptx", "epub")] == [
        *(15, 5, 5, 5, 5, 5)
    ]
    corpus = read_corpus(str(tmp_path / "documents"))
    assert (corpus.read, corpus.missed, corpus.unread, corpus.problems) == (40, 0, (), ())
    read = {document.source: document for document in corpus.documents}
    for name, (_, paragraphs) in zip(names, texts, strict=True):
        expected = words(" ".join(paragraphs))
        there = set(words(read[name].text))
        assert sum(word in there for word in expected) >= 0.98 * len(expected), name
        assert bool(read[name].pages) == name.endswith(("pdf", "pptx", "epub"))
        if not name.endswith(("md", "epub")):
            assert all("\t".join(row) in read[name].text for row in ROWS), name

    questions = tmp_path / "documents" / "questions.csv"
    with questions.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["document", "question", "answer", "evidence"])
        for name, article in zip(names, made, strict=True):
            for question in article.questions[:2]:
                evidence = " ".join(article.text[slice(*question.evidence[0])].split()) if question.evidence else ""
                table.writerow([name, question.text, question.answers[0], evidence])
    choices: dict[str, Any] = {"corpus": tmp_path / "documents", "lengths": "1k,2k", "items": 10, "tokenizer": "words"}
    built = api.build("single_doc_qa,passkey", tmp_path / "suite", questions=questions, **choices)
    assert sum(built.manifest["samples"].values()) >= 40
    sample = next(one for one in open_suite(built.folder).samples() if one.task == "single_doc_qa" and one.length)
    shown = api.show(built.folder, sample.id)
    assert any(", page" in line for line in shown["documents"])
    api.run(built.folder, "fathom/lexical", out=tmp_path / "run")
    api.report(tmp_path / "run", out=tmp_path / "report.html")
    assert "single_doc_qa" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_unusable_files_stop_a_build_of_mixed_documents_and_are_named(tmp_path: Path) -> None:
    need_libraries()
    folder = tmp_path / "documents"
    made = [(one.title, one.text.split("\n\n")) for one in articles()[:16]]
    mixed_folder(folder, made, ROWS)
    (folder / "scan.pdf").write_bytes(scanned_pdf())
    (folder / "locked.pdf").write_bytes(pdf_bytes("Locked", ["x"], lock="secret"))
    (folder / "broken.docx").write_bytes(docx_bytes(["x"])[:-100])
    (folder / "old.doc").write_bytes(b"x")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    choices: dict[str, Any] = {"corpus": folder, "lengths": "512", "items": 2, "tokenizer": "words"}
    with pytest.raises(FathomError) as raised:
        api.build("passkey", tmp_path / "suite", **choices)
    message = str(raised.value)
    assert "5 of 21 files were not read" in message
    assert all(name in message and reason in message for name, reason in UNUSABLE.items())
    built = api.build("passkey", tmp_path / "suite", **choices, allow_unread=True)
    (found,) = built.manifest["files_of_corpus"]
    assert (found["read"], found["missed"]) == (16, 5)
    reasons = {Path(one["file"]).name: one["reason"] for one in found["not_read"]}
    assert all(reasons[name].startswith(reason) for name, reason in UNUSABLE.items())
