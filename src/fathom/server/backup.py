"""Backups of a store while servers use it, and restoring them.

A backup is one file: a SQLite database, or the output of ``pg_dump`` for PostgreSQL. Copying the file of a SQLite store
is not a backup: the latest transactions are in a second file until SQLite merges the two.
"""

import fcntl
import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, func, inspect, select, text

from fathom.server.database import LOCK, READING, Schema, clear_errors, engine_of, tighten, url_of
from fathom.storage.foreign import open_regular, read_text
from fathom.types import FathomError

Report = TypeVar("Report")
SUM = ".sha256"
_SQLITE, _POSTGRES = b"SQLite format 3\0", b"PGDMP"
_ROWS = re.compile(r"^COPY [^\n]*;\n(.*?)^\\\.$", re.MULTILINE | re.DOTALL)
_STEPS = re.compile(r"^COPY \S*migrations .*?;$(.*?)^\\\.$", re.MULTILINE | re.DOTALL)
_VERSION = re.compile(r"(\d+)(?:\.\d+)*")


@dataclass(frozen=True)
class Kind(Generic[Report]):
    """What is backed up.

    Attributes:
        main: The table whose rows are counted; every store has it.
        check: Checks the content of a store, given the name for messages, and returns how many things it compared with
            their hashes.
        report: Makes the result from the number of rows in the main table, the number of things compared (0 for a dump
            of PostgreSQL, which is checked after restoring) and the bytes of the backup.
    """

    schema: Schema
    main: Table
    check: Callable[[Connection, str], int]
    report: Callable[[int, int, int], Report]

    @property
    def tables(self) -> list[str]:
        """Names of all tables."""
        return [*self.schema.metadata.tables, "migrations"]


# Running servers


@contextmanager
def serving(place: str) -> Iterator[None]:
    """Mark a store as used by a server within this context, so that it cannot be replaced."""
    if "://" in place:
        yield  # its connections have a name
        return
    with (Path(place) / LOCK).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        yield


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / LOCK).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FathomError(f"`store` {folder}: a server uses it; stop it and start it afterwards") from None
        yield


# Backup


def backup(place: str, out: Path, kind: Kind[Report], *, force: bool = False) -> Report:
    """Writes a store into one file; servers can keep running.

    Args:
        place: A folder (SQLite) or the URL of a PostgreSQL database.
        out: The file; its SHA-256 is written next to it.
        kind: What is backed up.
        force: Replace an existing file.

    Raises:
        FathomError: There is no store, the file exists, it cannot be written, a tool is missing or too old, or the
            backup is damaged.
    """
    if not out.name or out.is_dir():
        raise FathomError(f"`out` {out}: expected a file")
    if out.exists() and not force:
        raise FathomError(f"`out` {out}: the file exists; give another file, or replace it with `force`")
    part = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # readable only by the owner
        try:
            _dump(place, part, kind) if "://" in place else _vacuum(Path(place), part, kind)
            report = _checked(part, kind)
            _sync(part)
            digest = _digest(part)
            out.with_name(out.name + SUM).unlink(missing_ok=True)  # that of an older file would not match the new one
            part.replace(out)
            out.with_name(out.name + SUM).write_text(f"{digest}  {out.name}\n", "utf-8")
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise FathomError(f"`out` {out}: cannot be written: {error.strerror or error}") from error
    return report


def _vacuum(folder: Path, part: Path, kind: Kind[Any]) -> None:
    path = folder / kind.schema.file
    if not path.is_file():
        raise FathomError(f"`store` {folder}: there is no store ({path.name} is missing)")
    part.unlink()  # SQLite must create the file
    before = os.umask(0o077)
    try:
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            connection.execute("VACUUM INTO ?", (str(part),))
    except sqlite3.Error as error:
        raise FathomError(f"`store` {folder}: cannot be copied to {part.parent}: {error}") from error
    finally:
        os.umask(before)
    with closing(sqlite3.connect(part)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # one file, whatever the mode of the original


def _dump(place: str, part: Path, kind: Kind[Any]) -> None:
    with _connected(place, kind) as (engine, url):
        if not _has_store(engine, kind):
            raise FathomError("`store`: there is no store of fathom in this database")
        server = _server_version(engine)
    tool = _tool("pg_dump", server)
    tables = [f"--table={name}" for name in kind.tables]
    _do(
        [tool, "--format=custom", "--no-owner", "--no-privileges", *tables, f"--file={part}", _without_password(url)],
        url,
    )


# Restore


def restore(backup: Path, place: str, kind: Kind[Report], *, force: bool = False) -> Report:
    """Creates a store from a backup, after checking the backup.

    Args:
        backup: A file of ``backup``.
        place: A folder (SQLite) or the URL of a PostgreSQL database, like that of the backup.
        force: Replace an existing store. The files of a replaced SQLite store are kept next to it.

    Raises:
        FathomError: The file is not a backup, is damaged, or is from a later fathom or of the other kind; a store
            exists, or a server uses it.
    """
    report = _checked(backup, kind)
    with open_regular(backup) as stream:
        start = stream.read(len(_SQLITE))
    if (start == _SQLITE) != ("://" not in place):
        is_of, is_at = ("SQLite", "PostgreSQL") if start == _SQLITE else ("PostgreSQL", "a folder, which is SQLite")
        raise FathomError(f"{backup}: this is a backup of {is_of}, but `store` is {is_at}")
    if "://" in place:
        _into_database(backup, place, kind, force)
    else:
        _into_folder(backup, Path(place), kind, force)
    return report


def _into_folder(backup: Path, folder: Path, kind: Kind[Any], force: bool) -> None:
    path = folder / kind.schema.file
    if path.exists() and path.stat().st_size and not force:
        raise FathomError(
            f"`store` {folder}: there is a store already; give another folder, or replace it with `force`"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tighten(folder, kind.schema)
        with _alone(folder):
            part = folder / f".{path.name}.part"
            part.unlink(missing_ok=True)
            part.touch(mode=0o600)
            shutil.copyfile(backup, part)
            _sync(part)
            _checked(part, kind)
            if path.exists():
                _keep_old(path)
            part.replace(path)
            _sync(folder)
    except OSError as error:
        raise FathomError(f"`store` {folder}: cannot be written: {error.strerror or error}") from error


def _keep_old(path: Path) -> None:
    """Keep a copy of a store under another name; the store stays in place until the new one replaces it."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:  # it may be damaged
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    names = (f"{path.name}.replaced{number or ''}" for number in count())  # earlier copies are kept
    kept = next(path_of_copy for name in names if not (path_of_copy := path.with_name(name)).exists())
    kept.hardlink_to(path)
    for ending in ("-shm", "-wal"):  # missing if they could be merged
        if (extra := path.with_name(f"{path.name}{ending}")).exists():
            extra.replace(kept.with_name(f"{kept.name}{ending}"))


def _into_database(backup: Path, place: str, kind: Kind[Any], force: bool) -> None:
    with _connected(place, kind) as (engine, url):
        server = _server_version(engine)
        if _has_store(engine, kind) and not force:
            raise FathomError("`store`: this database already has a store; give another, or replace it with `force`")
        with clear_errors(), engine.connect() as connection:
            query = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = :name"
            )
            users = connection.execute(
                text(query + " AND pid <> pg_backend_pid()"), {"name": kind.schema.application}
            ).scalar_one()
        if users:
            raise FathomError("`store`: a server uses this database; stop the server and start it afterwards")
    tool = _tool("pg_restore", server)
    whole = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", "--clean", "--if-exists"]
    _do([tool, *whole, f"--dbname={_without_password(url)}", str(backup)], url)
    with _connected(place, kind) as (engine, _):
        _contents(engine, f"what was restored from {backup}", kind)


# Checks


def _checked(path: Path, kind: Kind[Report]) -> Report:
    """Content of a backup.

    Raises:
        FathomError: It is not a backup, is damaged, or is from a later fathom.
    """
    try:
        with open_regular(path) as stream:
            start = stream.read(len(_SQLITE))
        noted = path.with_name(path.name + SUM)
        stated = read_text(noted).split()[:1] if noted.exists() else []
        if stated and stated[0] != _digest(path):
            raise FathomError(f"{path}: damaged: its SHA-256 differs from that in {noted.name}; use another backup")
    except (OSError, UnicodeDecodeError) as error:
        raise FathomError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if start == _SQLITE:
        return _checked_sqlite(path, kind)
    if start.startswith(_POSTGRES):
        return _checked_dump(path, kind)
    raise FathomError(f"{path}: this is not a backup that `fathom {kind.schema.name} backup` wrote")


def _checked_sqlite(path: Path, kind: Kind[Report]) -> Report:
    try:
        # Immutable: no file is created next to it, whatever its journal mode.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)) as connection:
            problems = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    except sqlite3.Error as error:
        raise FathomError(f"{path}: damaged: {error}; use another backup") from error
    if problems != ["ok"]:
        raise FathomError(f"{path}: damaged: {str(problems[0]).splitlines()[0]}; use another backup")
    from sqlalchemy import create_engine

    engine = create_engine(f"sqlite:///file:{path.resolve()}?immutable=1&uri=true", hide_parameters=True)
    try:
        return _contents(engine, str(path), kind, path.stat().st_size)
    finally:
        engine.dispose()


def _checked_dump(path: Path, kind: Kind[Report]) -> Report:
    """A dump is read to its end and compared with its SHA-256, if available; its rows are checked after restoring."""
    tool = _tool("pg_restore", 0)
    content = _do([tool, "--data-only", "--table=migrations", "--file=-", str(path)], None)
    steps = _STEPS.search(content)
    if steps is None:
        raise FathomError(f"{path}: this is not a backup of a fathom store (it has no table migrations)")
    _check_steps(path, max(map(int, steps[1].split()), default=0), kind)
    listed = _do([tool, "--list", str(path)], None)
    if f" {kind.main.name} " not in listed:
        raise FathomError(f"{path}: this is not a backup of a fathom {kind.schema.name} store")
    dumped = _do([tool, "--data-only", f"--table={kind.main.name}", "--file=-", str(path)], None)
    _do([tool, f"--file={os.devnull}", str(path)], None)
    rows = _ROWS.search(dumped)
    return kind.report(rows[1].count("\n") if rows else 0, 0, path.stat().st_size)


def _contents(engine: Engine, what: str, kind: Kind[Report], size: int = 0) -> Report:
    """Counts, after checking the content."""
    with clear_errors(), engine.execution_options(**{READING: True}).connect() as connection:
        tables = inspect(connection).get_table_names()
        if "migrations" not in tables or kind.main.name not in tables:
            raise FathomError(f"{what}: this is not a fathom {kind.schema.name} store")
        steps = connection.execute(text("SELECT COALESCE(MAX(number), 0) FROM migrations")).scalar_one()
        _check_steps(what, steps, kind)
        checked = kind.check(connection, what)
        rows: int = connection.execute(select(func.count()).select_from(kind.main)).scalar_one()
    return kind.report(rows, checked, size)


def _check_steps(what: object, steps: int, kind: Kind[Any]) -> None:
    newest = len(kind.schema.migrations)
    if steps > newest:
        raise FathomError(
            f"{what}: its format {steps} is newer than the formats of this fathom (up to {newest}); update fathom-eval"
        )
    if steps < 1:
        raise FathomError(f"{what}: this is not a fathom store")


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# PostgreSQL


@contextmanager
def _connected(place: str, kind: Kind[Any]) -> Iterator[tuple[Engine, URL]]:
    engine = engine_of(place, kind.schema)
    try:
        yield engine, url_of(place, kind.schema)
    finally:
        engine.dispose()


def _has_store(engine: Engine, kind: Kind[Any]) -> bool:
    with clear_errors(), engine.connect() as connection:
        return kind.main.name in inspect(connection).get_table_names()


def _server_version(engine: Engine) -> int:
    with clear_errors(), engine.connect() as connection:
        return int(connection.execute(text("SHOW server_version_num")).scalar_one()) // 10_000


def _tool(name: str, server: int) -> str:
    """A client program of PostgreSQL.

    Raises:
        FathomError: It is missing, or older than the server.
    """
    path = shutil.which(name)
    if path is None:
        raise FathomError(
            f"{name} is not on PATH; install the PostgreSQL client (Debian: apt-get install postgresql-client)"
        )
    version = _VERSION.search(_do([path, "--version"], None))
    if version is None or int(version[1]) < server:
        have = version[1] if version else "?"
        raise FathomError(
            f"{path} is version {have}, but the server is version {server}: put {name} of version {server} or later "
            "first on PATH"
        )
    return path


def _without_password(url: URL) -> str:
    """The URL without its password, which other users could see among the arguments of a process."""
    # Not url.set(), for which None means unchanged.
    plain = URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
    return plain.difference_update_query(["password"]).render_as_string(hide_password=False)


def _password(url: URL | None) -> str:
    if url is None:
        return ""
    return str(url.password or url.query.get("password") or "")


def _do(command: Sequence[str], url: URL | None) -> str:
    """Runs a program of PostgreSQL and returns its output."""
    environment: Mapping[str, str] = {**os.environ, "PGAPPNAME": "fathom backup"}
    secret = _password(url)
    if secret:
        environment = {**environment, "PGPASSWORD": secret}
    try:
        end = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False, text=True
        )
    except OSError as error:
        raise FathomError(f"{command[0]}: cannot be run: {error.strerror or error}") from error
    if end.returncode:
        lines = end.stderr.strip().splitlines() or [f"ended with status {end.returncode}"]
        lines = [line.replace(secret, "***") if secret else line for line in lines]
        raise FathomError(f"{Path(command[0]).name}: {' '.join(lines[:4])[:500]}")
    return end.stdout
