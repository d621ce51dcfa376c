"""Runs of a part of a suite, and suites of a part of a folder, say so in reports."""

from __future__ import annotations

from pathlib import Path

from fathom import api
from fathom.rows import unfinished, unread_files
from made import write_corpus


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
