"""Backups of a store that is in use, and stores made from them; in SQLite and PostgreSQL."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from command_line import Call
from fathom.board.serve.backup import KIND
from fathom.board.serve.schema import BOARD
from fathom.board.serve.store import Store, Submission
from fathom.board.serve.tokens import holder_of, make_token
from fathom.server import backup as backups
from fathom.server.backup import SUM, serving
from fathom.types import FathomError
from loopback_board import get, post
from loopback_board import serving as server

backup = partial(backups.backup, kind=KIND)
restore = partial(backups.restore, kind=KIND)
NEEDS = pytest.mark.skipif(shutil.which("pg_dump") is None, reason="there is no pg_dump on this machine")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.long, NEEDS])])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store")
    url: str = request.getfixturevalue("new_database")
    return url


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, place: str, tmp_path: Path) -> str:
    """Another place of the same kind, where nothing is."""
    if "://" not in place:
        return str(tmp_path / "elsewhere")
    import psycopg

    name = f"{place.rpartition('/')[2]}b"
    with psycopg.connect(request.getfixturevalue("database_server"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"{place.rpartition('/')[0]}/{name}"


def add(store: Store, path: Path, content: bytes) -> str:
    path.write_bytes(content)
    id = hashlib.sha256(content).hexdigest()
    store.add(Submission(id, "ann", "2026-01-31T10:00:00Z", len(content), "pending", {"model": "m"}), path, 1000)
    return id


def whole(place: str, ids: set[str]) -> None:
    """These submissions are there with all their bytes."""
    with closing(Store(place)) as store:
        assert ids <= {one.id for one in store.listed()}
        for id in ids:
            assert hashlib.sha256(b"".join(store.content(id))).hexdigest() == id


@pytest.mark.slow
def test_acknowledged_submissions_are_in_a_backup_of_a_running_server(
    place: str, elsewhere: str, tmp_path: Path
) -> None:
    """The server runs, nothing was merged into SQLite's first file, and submissions go on coming meanwhile."""
    with closing(Store(place)) as store:
        tokens = {who: make_token(store, who, role) for who, role in {"ann": "submit", "mo": "moderate"}.items()}
    acknowledged: list[str] = []
    stop = threading.Event()
    with server(place, tmp_path / "out") as (address, process):

        def send(number: int) -> None:
            headers = {"Content-Type": "application/zip", "Authorization": f"Bearer {tokens['ann']}"}
            content = f"good model-{number} ".encode() + bytes([number % 251]) * 300_000
            answer = post(f"{address}api/submissions", content=content, headers=headers)
            assert answer.status_code == 201
            acknowledged.append(answer.json()["id"])

        def go_on() -> None:
            number = 100
            while not stop.is_set():
                send(number)
                number += 1

        for number in range(5):
            send(number)
        writer = threading.Thread(target=go_on)
        writer.start()
        try:
            before = set(acknowledged)
            for number in range(3):
                backup(place, tmp_path / f"backup-{number}")
                assert before <= set(acknowledged)
                before = before if number == 2 else set(acknowledged)
        finally:
            stop.set()
            writer.join()
        process.kill()
    shutil.rmtree(tmp_path / "out")
    held = restore(tmp_path / "backup-2", elsewhere)
    assert held.submissions >= len(before) >= 5
    whole(elsewhere, before)
    with closing(Store(elsewhere)) as store:
        holder = holder_of(store, tokens["mo"])
    assert holder is not None
    assert holder.role == "moderate"
    with server(elsewhere, tmp_path / "out2") as (address, _):  # and it serves
        headers = {"Authorization": f"Bearer {tokens['mo']}"}
        there = get(f"{address}api/submissions", headers=headers).json()["submissions"]
        assert before <= {one["id"] for one in there}


def test_a_restored_store_is_the_store(place: str, elsewhere: str, tmp_path: Path) -> None:
    with closing(Store(place)) as store:
        ids = {add(store, tmp_path / "bundle", b"x" * number) for number in range(1, 4)}
        store.decide(min(ids), ["pending"], "refused", by="mo", reason="a copy")
        decisions, there = store.decisions(), store.listed()
        held = backup(place, tmp_path / "backup")
    restore(tmp_path / "backup", elsewhere)
    whole(elsewhere, ids)
    with closing(Store(elsewhere)) as again:
        assert (again.decisions(), again.listed()) == (decisions, there)
        assert again.decide(max(ids), ["pending"], "accepted", by="mo", reason="right")  # numbers go on
        assert again.decisions()[0].number > decisions[0].number
    assert held.submissions == 3
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o600
    line = (tmp_path / f"backup{SUM}").read_text()
    assert line == f"{hashlib.sha256((tmp_path / 'backup').read_bytes()).hexdigest()}  backup\n"


def test_nothing_is_replaced_without_force(place: str, tmp_path: Path) -> None:
    with closing(Store(place)) as store:
        first = add(store, tmp_path / "bundle", b"first")
    backup(place, tmp_path / "backup")
    with pytest.raises(FathomError, match="`force`"):
        backup(place, tmp_path / "backup")
    backup(place, tmp_path / "backup", force=True)
    with closing(Store(place)) as store:
        second = add(store, tmp_path / "bundle", b"second")
    with pytest.raises(FathomError, match="`force`"):
        restore(tmp_path / "backup", place)
    whole(place, {first, second})
    restore(tmp_path / "backup", place, force=True)
    whole(place, {first})
    with closing(Store(place)) as store:
        assert [one.id for one in store.listed()] == [first]
    if "://" not in place:  # what was there is kept beside it, whole
        with closing(sqlite3.connect(tmp_path / "store" / "board.sqlite.replaced")) as old:
            assert old.execute("SELECT count(*) FROM submissions").fetchone() == (2,)
        restore(tmp_path / "backup", place, force=True)
        with closing(sqlite3.connect(tmp_path / "store" / "board.sqlite.replaced1")) as old:
            assert old.execute("SELECT count(*) FROM submissions").fetchone() == (1,)


def test_a_store_in_use_is_not_replaced(place: str, tmp_path: Path) -> None:
    with closing(Store(place)) as store:
        add(store, tmp_path / "bundle", b"first")
        backup(place, tmp_path / "backup")
        with serving(place), pytest.raises(FathomError, match="a server uses"):
            restore(tmp_path / "backup", place, force=True)


def damaged(path: Path, what: str) -> None:
    data = bytearray(path.read_bytes())
    if what == "cut":
        del data[len(data) // 2 :]
    elif what == "a bit":
        data[len(data) // 2] ^= 4
    elif what == "empty":
        data.clear()
    elif what == "something else":
        data[:] = b"PK\3\4 no backup"
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("with_sum", [True, False])
@pytest.mark.parametrize("what", ["cut", "a bit", "empty", "something else"])
def test_a_damaged_backup_replaces_nothing(place: str, tmp_path: Path, what: str, with_sum: bool) -> None:
    with closing(Store(place)) as store:
        id = add(store, tmp_path / "bundle", b"y" * 900_000)
    backup(place, tmp_path / "backup")
    damaged(tmp_path / "backup", what)
    if not with_sum:
        (tmp_path / f"backup{SUM}").unlink()
        if what == "a bit" and "://" in place:
            pytest.skip("pg_dump has no checksum of its own: that is what the file beside it is for")
    with pytest.raises(FathomError, match=r"damaged|no backup|pg_restore"):
        restore(tmp_path / "backup", place, force=True)
    whole(place, {id})


def test_a_backup_of_a_later_fathom_is_left_alone(place: str, elsewhere: str, tmp_path: Path) -> None:
    with closing(Store(place)) as store, store.engine.begin() as connection:
        connection.execute(text("INSERT INTO migrations VALUES (99)"))
    with pytest.raises(FathomError, match="newer than the formats"):
        backup(place, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
    later = replace(KIND, schema=replace(BOARD, migrations=list(BOARD.migrations) * 50))
    backups.backup(place, tmp_path / "backup", later)
    with pytest.raises(FathomError, match="newer than the formats"):
        restore(tmp_path / "backup", elsewhere)


def test_a_backup_is_of_one_kind(tmp_path: Path) -> None:
    Store(str(tmp_path / "store")).close()
    backup(str(tmp_path / "store"), tmp_path / "backup")
    with pytest.raises(FathomError, match="is a backup of SQLite"):
        restore(tmp_path / "backup", "postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(FathomError, match="there is no store"):
        backup(str(tmp_path / "nothing"), tmp_path / "other")
    assert not (tmp_path / "nothing").exists()


def test_a_tool_that_is_missing_or_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(FathomError, match="pg_dump is not on PATH"):
        backups._tool("pg_dump", 15)
    (folder / "pg_dump").write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 12.5 (Debian)'\n")
    (folder / "pg_dump").chmod(0o700)
    with pytest.raises(FathomError, match="is version 12, but the server is version 15"):
        backups._tool("pg_dump", 15)
    assert backups._tool("pg_dump", 12) == str(folder / "pg_dump")


@pytest.mark.parametrize(
    "written",
    [
        "postgresql+psycopg://board:secret@db.example.org:5432/board",
        "postgresql://board@db.example.org:5432/board?password=secret",
    ],
)
def test_a_password_is_not_among_the_arguments(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def run(command: list[str], env: dict[str, str], **_: Any) -> Any:
        seen.extend([command, env["PGPASSWORD"]])
        raise OSError(2, "none")

    from sqlalchemy import make_url

    monkeypatch.setattr("fathom.server.backup.subprocess.run", run)
    url = make_url(written)
    assert backups._without_password(url) == "postgresql://board@db.example.org:5432/board"
    with pytest.raises(FathomError) as error:
        backups._do(["pg_dump", backups._without_password(url)], url)
    assert seen[1] == "secret"
    assert "secret" not in f"{seen[0]} {error.value}"


def test_a_full_disk_leaves_no_half_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(str(tmp_path / "store")).close()

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backups, "_sync", full)
    with pytest.raises(FathomError, match="No space left"):
        backup(str(tmp_path / "store"), tmp_path / "backup")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_the_commands_say_what_they_did(call: Call, tmp_path: Path) -> None:
    assert call("board", "token", "ann")[0] == 0
    code, out, _ = call("board", "backup", "--out", "saved/board.backup")
    assert (code, "0 submissions" in out) == (0, True)
    assert call("board", "backup", "--out", "saved/board.backup")[0] == 2
    assert call("board", "restore", "saved/board.backup", "--store", "other")[0] == 0
    code, out, _ = call("board", "token", "list", "--store", "other", "--json")
    assert (code, '"name": "ann"' in out) == (0, True)
    code, _, err = call("board", "restore", "saved/board.backup", "--store", "other")
    assert (code, "--force" in err, "Traceback" in err) == (2, True, False)
    assert call("board", "restore", "nothing")[0] == 2
    assert Path("other").stat().st_mode & 0o777 == 0o700
