"""Files that others made neither hang a run nor flood it, nor lead it out of the folder that was given."""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import zstandard

from fathom.board.changes import read_snapshot
from fathom.board.serve.backup import KIND as BOARD
from fathom.compress.arrays import open_arrays
from fathom.compress.embedding import read_vectors
from fathom.documents.records import find_files, read_records
from fathom.documents.sources.lock import read_pins
from fathom.plugins.loading import use
from fathom.rows.inspect_log import _check_archive
from fathom.rows.parts import read_json
from fathom.rows.schema import read_table
from fathom.runfile.judgements import JudgementStore
from fathom.runfile.manifest import read_manifest as run_manifest
from fathom.runfile.store import open_for_writing, peek, reading
from fathom.server.backup import restore
from fathom.storage import foreign
from fathom.storage.checksums import check_file
from fathom.storage.toml import parse_toml, read_toml
from fathom.suites.subsetfile import read_subset
from fathom.suites.suitefile import open_suite
from fathom.suites.suitefile.texts import open_table
from fathom.types import FathomError

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS sample FROM n"
DOT = "'a'."
SCHEMAS = {
    "view": f"CREATE VIEW replies AS {ENDLESS}",
    "trigger": "CREATE TABLE replies (sample); CREATE TRIGGER t AFTER INSERT ON replies BEGIN DELETE FROM replies; END",
    "table with computed values": "CREATE TABLE replies (a, sample TEXT AS (hex(zeroblob(a))))",
    "index with computed values": "CREATE TABLE replies (a); CREATE INDEX i ON replies (a) WHERE a LIKE '%a%'",
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_store_that_runs_queries_of_its_author_is_refused(tmp_path: Path, kind: str) -> None:
    for file in ("replies.sqlite", "judgements.sqlite"):
        with closing(sqlite3.connect(tmp_path / file)) as db:
            db.executescript(SCHEMAS[kind])
    for read in (
        lambda: peek(tmp_path).__enter__(),
        lambda: reading(tmp_path).__enter__(),
        lambda: open_for_writing(tmp_path, "replies.sqlite"),
        lambda: JudgementStore(tmp_path, "judge"),
    ):
        with pytest.raises(FathomError, match=f"is a {kind}"):
            read()


def test_a_query_that_takes_longer_than_the_size_of_its_file_explains_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "SECONDS", 0.01)
    with (
        closing(sqlite3.connect(tmp_path / "a.sqlite")) as db,
        pytest.raises(FathomError, match="takes longer than"),
        foreign.time_limit(db, tmp_path / "a.sqlite"),
    ):
        db.execute(f"SELECT count(*) FROM ({ENDLESS})").fetchone()


def test_what_sqlite_opens_is_regular_and_in_the_folder(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("replies.sqlite", "other.sqlite"):
        with closing(sqlite3.connect(run / name)) as db:
            db.execute("CREATE TABLE replies (sample)")
    (run / "other.sqlite").rename(tmp_path / "other.sqlite")
    (run / "linked.sqlite").symlink_to(tmp_path / "other.sqlite")
    os.mkfifo(run / "replies.sqlite-journal")
    with pytest.raises(FathomError, match=r"replies.sqlite-journal: not a regular file"):
        reading(run).__enter__()
    with pytest.raises(FathomError, match=r"linked.sqlite: a link that leads out of the folder"):
        reading(run, "linked.sqlite").__enter__()


def test_readers_do_not_wait_for_a_pipe(tmp_path: Path) -> None:
    for suffix in (".txt", ".jsonl.gz", ".parquet", ".arrow", ".csv", ".pdf"):
        os.mkfifo(tmp_path / f"a{suffix}")
        (fault,) = read_records(tmp_path / f"a{suffix}")
        assert "is not a regular file" in str(fault)
    readers: dict[str, Callable[[], object]] = {
        "a.toml": lambda: read_toml(tmp_path / "a.toml"),
        "run.json": lambda: run_manifest(tmp_path),
        "manifest.json": lambda: open_suite(tmp_path),
        "subset.json": lambda: read_subset(tmp_path / "subset.json"),
        "site.json": lambda: read_snapshot(tmp_path / "site.json"),
        "log.json": lambda: read_json(tmp_path / "log.json"),
        "log.eval": lambda: _check_archive(tmp_path / "log.eval"),
        "sum": lambda: check_file(tmp_path / "sum", None, ""),
        "backup": lambda: restore(tmp_path / "backup", str(tmp_path / "store"), BOARD),
        "vectors.npz": lambda: read_vectors(tmp_path / "vectors.npz"),
        "own.py": lambda: use(tmp_path / "own.py"),
        "data.lock.json": lambda: read_pins(tmp_path),
    }
    for name, read in readers.items():
        os.mkfifo(tmp_path / name)
        with pytest.raises(FathomError, match=r"not a regular file"):
            read()


def test_arrays_that_mean_more_than_their_size_explains_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "vectors.npz", embeddings=np.zeros((1000, 1000)))
    monkeypatch.setattr(foreign, "SMALL_MEMBER", 1 << 20)
    with pytest.raises(FathomError, match=r"vectors.npz: cannot be read as arrays .*compressed"):
        read_vectors(tmp_path / "vectors.npz")
    np.save(tmp_path / "one.npy", np.zeros((2, 2)))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    huge = (tmp_path / "one.npz").read_bytes().replace(b"(2, 2), }        ", b"(2, 10000000), }")
    with ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("embeddings.npy", huge)
        archive.writestr("other.npy", b"hello")
    for name in ("one.npz", "huge.npz"):
        with pytest.raises(FathomError, match="cannot be read as arrays"):
            read_vectors(tmp_path / name)
    with open_arrays(tmp_path / "huge.npz") as arrays, pytest.raises(FathomError, match="cannot be read as arrays"):
        arrays.read("other")
    np.savez(tmp_path / "words.npz", embeddings=np.array([["a", "b"]]))
    with pytest.raises(FathomError, match="has what is no number"):
        read_vectors(tmp_path / "words.npz")


def test_links_that_lead_out_of_the_folder_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret" / "b.txt"
    folder = tmp_path / "folder"
    for path in (secret, folder / "a.txt"):
        path.parent.mkdir()
        path.write_text(path.name)
    (folder / "outside.txt").symlink_to(secret)
    (folder / "all").symlink_to(secret.parent)
    (folder / "inside.txt").symlink_to("a.txt")
    (tmp_path / "linked").symlink_to(folder)
    for root in (folder, tmp_path / "linked"):
        listed = find_files(root)
        assert [file.path.name for file in listed.files] == ["a.txt", "inside.txt"]
        assert [(unread.names, unread.why) for unread in listed.unread] == [
            (("all", "outside.txt"), "links that lead out of the folder; copy the files into it")
        ]
    (folder / "run.json").symlink_to(secret)
    with pytest.raises(FathomError, match="a link that leads out of the folder"):
        run_manifest(folder)


def test_a_snapshot_of_the_hugging_face_cache_may_link_to_its_files(tmp_path: Path) -> None:
    snapshot, blob = tmp_path / "repo" / "snapshots" / "abc", tmp_path / "repo" / "blobs" / "0"
    for path in (snapshot / "x", blob):
        path.parent.mkdir(parents=True)
    blob.write_text("text")
    (snapshot / "a.txt").symlink_to("../../blobs/0")
    (snapshot / "b.txt").symlink_to("../../refs")
    assert [file.path.name for file in find_files(snapshot).files] == ["a.txt"]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_what_expands_too_much_is_not_unpacked_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(foreign, "SMALL", 1 << 20)
    plain = bytes(1 << 22)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(gzip.compress(plain) if suffix == ".gz" else zstandard.compress(plain))
    (fault,) = read_records(path)
    assert "the file is compressed" in str(fault)


def test_a_table_that_means_more_than_its_size_explains_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr(foreign, "SMALL", 1 << 20)
    rows, text = tmp_path / "rows.parquet", tmp_path / "text.parquet"
    pq.write_table(pa.table({"a": pa.nulls(foreign.FEW_ROWS + 1, pa.int8())}), rows)
    pq.write_table(pa.table({"text": ["x" * 10_000] * 1000}), text)
    once, arrow = tmp_path / "once.parquet", tmp_path / "once.arrow"
    references = pa.table({"text": pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), ["x" * 10_000])})
    pq.write_table(references, once)
    with pa.ipc.new_file(arrow, references.schema) as out:
        for _ in range(2):
            out.write_table(references)
    compressed = "compressed .* times"
    for path, says in (
        (rows, "it states 1,000,001 rows of 1 columns"),
        (text, compressed),
        (once, compressed),
        (arrow, compressed),
    ):
        *_, fault = read_records(path)
        assert re.search(says, str(fault))
    assert "it states" in str(*read_records(rows, frozenset()))
    for read in (read_table, open_table):
        with pytest.raises((FathomError, OSError), match="it states 1,000,001 rows"):
            read(rows)


@pytest.mark.parametrize(
    "content",
    [
        f"{'a.' * 50_000}a = 1",
        f"[{'a . ' * 50_000}a]",
        f"x = {{ {'a.' * 50_000}a = 1 }}",
        f"{DOT * 50_000}a = 1",
        f"x = {'[' * 100_000}",
        f"x = {'9' * 5_000}",
    ],
)
def test_deep_toml_is_one_error_at_once(content: str) -> None:
    with pytest.raises(FathomError, match=r"x.toml: not valid TOML: (nested too deeply|Exceeds the limit)"):
        parse_toml(content, "x.toml")


def test_texts_in_toml_may_have_many_dots_and_take_linear_time() -> None:
    text = "a" * 200_000 + "..." * 50_000 + " e.g. this, i.e. that." * 5_000
    assert parse_toml(f'x = "{text}"', "x")["x"] == text
