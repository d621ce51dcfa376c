"""What is read is what was written: checksums, format numbers, and single bits flipped in every kind of file."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow.parquet
import pytest

from fathom.cli import main
from fathom.run import status
from fathom.runfile import store
from fathom.runfile.judgements import FILE as JUDGEMENTS
from fathom.runfile.judgements import JudgementStore, judges
from fathom.runfile.ledger import Ledger
from fathom.runfile.store import replies
from fathom.runfile.worker import this_worker
from fathom.storage.checksums import check_content, check_file, check_format, file_facts, row_checksum, with_checksum
from fathom.storage.parquet import ParquetFile
from fathom.suites import suitefile
from fathom.suites.suitefile import DOCUMENTS, MANIFEST, SAMPLES, open_suite, read_manifest
from fathom.types import FathomError
from flipped_bits import KINDS, Kind, flip_bits, flipped, make_all, prompts
from made_bundles import JUDGE, make_run, make_suite

FLIPS = 100
ALIKE = ("suite/documents.parquet", "run/judgements.sqlite")
"""Files in the format of another kind."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each kind."""
    folder = tmp_path_factory.mktemp("made")
    make_all(folder)
    return folder


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=kind.file, marks=[pytest.mark.long] if kind.file in ALIKE else []) for kind in KINDS]
)
def test_a_flipped_bit_is_refused_or_changes_nothing(made: Path, kind: Kind) -> None:
    counts, wrong = flip_bits(kind, made, FLIPS, seed=1)
    assert wrong == []
    assert counts["refused"] + counts["same"] == FLIPS
    assert counts["refused"] > FLIPS / 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [SAMPLES, DOCUMENTS])
def test_without_checksums_flipped_bits_are_read_without_a_word(
    made: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What the test above would say if files were not compared: it can fail."""
    monkeypatch.setattr(suitefile, "check_file", lambda *_: None)
    monkeypatch.setattr("fathom.suites.suitefile.texts.ParquetFile", lambda path, **_: ParquetFile(path))
    counts, _ = flip_bits(Kind(f"suite/{name}", "suite", prompts), made, FLIPS, seed=1)
    assert counts["SILENT CHANGE"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [SAMPLES, DOCUMENTS, MANIFEST])
def test_commands_that_read_a_damaged_suite_end_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    suite = make_suite(tmp_path / "suite")
    content = (suite / name).read_bytes()
    out = tmp_path / "out"
    commands = [["show", str(suite), "--text"], ["run", str(suite), "-m", "fathom/guess", "--out", str(out), "--yes"]]
    for number, (_, changed) in enumerate(flipped(content, 10, seed=2)):
        (suite / name).write_bytes(changed)
        monkeypatch.setattr(sys, "argv", ["fathom", *commands[number % 2]])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 2
        said = capsys.readouterr()
        assert name in said.err
        assert "Traceback" not in said.err
        assert said.out == ""
    assert not (out / "replies.sqlite").exists() or not list(replies(out))


def test_files_are_compared_once_and_only_when_something_is_taken_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    monkeypatch.setattr(suitefile, "check_file", lambda path, *_: compared.append(path.name))
    suite = open_suite(make_suite(tmp_path / "suite"))
    assert compared == []
    list(suite.samples())
    list(suite.samples(parts=False))
    assert compared == [SAMPLES]
    suite.texts()
    suite.documents(["doc"])
    assert compared == [SAMPLES, DOCUMENTS]


def test_a_bit_that_flips_after_the_check_is_found_by_the_pages(tmp_path: Path) -> None:
    """A run reads texts for days; what it reads later than the check has checksums of its own."""
    suite = open_suite(make_suite(tmp_path / "suite"))
    texts = suite.texts()
    path = tmp_path / "suite" / DOCUMENTS
    column = pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(1)
    flip(path, 8 * ((column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size - 3))
    with pytest.raises(FathomError, match=r"documents\.parquet: damaged"):
        texts["doc"]


def test_suites_of_earlier_versions_are_read_and_said_to_be_unverified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = make_suite(tmp_path / "suite")
    manifest = json.loads((suite / MANIFEST).read_text())
    for name in ("format", "files", "checksum"):
        del manifest[name]
    (suite / MANIFEST).write_text(json.dumps(manifest))
    words = ["run", str(suite), "-m", "fathom/guess", "--out", str(tmp_path / "run"), "--tasks", "passkey"]
    monkeypatch.setattr(sys, "argv", ["fathom", *words])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert capsys.readouterr().err.count("built before checksums; it cannot be verified") == 1
    assert status(tmp_path / "run").finished == 6


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (
            3,
            r"x: written by a newer fathom \(format 3; this one reads up to 2\): upgrade with",
        ),
        (0, r"format '0', expected a number from 1 to 2; do that"),
        (None, "format 'None'"),
        (True, "format 'True'"),
        ("2", "format '2'"),
    ],
)
def test_what_a_newer_version_wrote_is_refused_with_what_to_do(found: object, why: str) -> None:
    with pytest.raises(FathomError, match=why):
        check_format("x", found, 2, "do that")
    assert [check_format("x", known, 2, "") for known in (1, 2)] == [1, 2]


def test_newer_suites_and_runs_are_refused(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    run = make_run(tmp_path / "run", suite)
    for path, read in ((suite / MANIFEST, lambda: read_manifest(suite)), (run / "run.json", lambda: status(run))):
        path.write_text(json.dumps(with_checksum({**json.loads(path.read_text()), "format": 99})))
        with pytest.raises(FathomError, match=rf"{path.name}: written by a newer fathom \(format 99"):
            read()


@pytest.mark.parametrize("name", ["replies.sqlite", "judgements.sqlite"])
def test_newer_stores_are_refused_by_those_who_read_and_those_who_write(tmp_path: Path, name: str) -> None:
    run = make_run(tmp_path / "run", make_suite(tmp_path / "suite"))
    with sqlite3.connect(run / name) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    readers: dict[str, list[Callable[[], object]]] = {
        "replies.sqlite": [lambda: list(replies(run)), lambda: Ledger(run, this_worker())],
        "judgements.sqlite": [lambda: judges(run), lambda: JudgementStore(run, JUDGE)],
    }
    for read in readers[name]:
        with pytest.raises(FathomError, match=rf"{name}: written by a newer fathom \(format 99; this one"):
            read()


def test_a_changed_reply_is_named_by_its_sample(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", make_suite(tmp_path / "suite"))
    for column, value in (("text", "It is 9."), ("targets", '["9"]'), ("status", "ok"), ("chance", 0.5)):
        with sqlite3.connect(run / store.FILE) as db:
            before = db.execute(f"SELECT {column} FROM replies WHERE sample = 'passkey/5@512'").fetchone()[0]
            assert before != value
            db.execute(f"UPDATE replies SET {column} = ? WHERE sample = 'passkey/5@512'", (value,))
        with pytest.raises(
            FathomError, match=r"replies\.sqlite: damaged \(replies of sample passkey/5@512, epoch 1: checksum mismatch"
        ):
            list(replies(run))
        with sqlite3.connect(run / store.FILE) as db:
            db.execute(f"UPDATE replies SET {column} = ? WHERE sample = 'passkey/5@512'", (before,))
        db.close()
    assert len(list(replies(run))) == 16


def test_judgements_of_earlier_versions_are_read_and_get_checksums_when_they_go_on(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", make_suite(tmp_path / "suite"))
    tables = ("judgements", "said")
    with closing(sqlite3.connect(run / JUDGEMENTS)) as db, db:
        for table in tables:
            db.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        db.execute("PRAGMA user_version = 0")
    assert judges(run) == (JUDGE,)
    JudgementStore(run, JUDGE).close()
    assert judges(run) == (JUDGE,)
    with closing(sqlite3.connect(run / JUDGEMENTS)) as db:
        for table in tables:
            assert db.execute(f"SELECT count(*) FROM {table} WHERE checksum IS NULL").fetchone() == (0,)
        assert db.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_row_without_its_checksum_is_damage(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", make_suite(tmp_path / "suite"))
    with sqlite3.connect(run / store.FILE) as db:
        db.execute("UPDATE replies SET checksum = NULL WHERE sample = 'passkey/0@256'")
    db.close()
    with pytest.raises(FathomError, match="sample passkey/0@256, epoch 1"):
        Ledger(run, this_worker())


def test_the_layout_of_a_json_file_does_not_count(tmp_path: Path) -> None:
    content = with_checksum({"b": [1.5, "ü"], "a": {"y": None, "x": True}})
    again = json.loads(json.dumps(dict(reversed(content.items())), indent=3))
    check_content(tmp_path / "x", again, "")
    assert with_checksum(again) == content
    for changed in (
        {"b": [1.5, "u"]},
        {"a": {"y": None, "x": 1}},
        {"new": 1},
        {"checksum": "0" * 64},
        {"checksum": None},
    ):
        with pytest.raises(FathomError, match="damaged or edited"):
            check_content(tmp_path / "x", again | changed, "")


def test_a_file_of_another_size_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    stated = file_facts(path)
    check_file(path, stated, "")
    path.write_bytes(b"1234")
    with pytest.raises(FathomError, match=r"x: damaged \(4 bytes; the manifest states 5\); do that"):
        check_file(path, stated, "do that")
    path.write_bytes(b"12346")
    for other in (stated, {}, None, [1], {"bytes": 5}):
        with pytest.raises(FathomError, match="x: damaged"):
            check_file(path, other, "do that")


def test_equal_numbers_have_equal_checksums_and_nothing_else_has() -> None:
    assert row_checksum([1, 0, None]) == row_checksum([1.0, False, float("nan")])
    values: list[object] = [1, 2, "1", b"1", None, "", 1.5, -1, 10**17, 10**17 + 1, float("inf")]
    found = [*(row_checksum([value]) for value in values), row_checksum([1, 1])]
    assert len(set(found)) == len(values) + 1
    assert all(-(2**63) <= one < 2**63 for one in found)
