"""Files that others made neither hang a run nor flood it, nor lead it out of the folder that was given."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fathom.runfile.judgements import JudgementStore
from fathom.runfile.store import open_for_writing, peek, reading
from fathom.storage import foreign
from fathom.types import FathomError

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS sample FROM n"
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
