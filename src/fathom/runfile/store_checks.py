"""Checksums of the rows of a store: SQLite itself does not detect flipped bits in values.

Each row has a checksum of its values as SQLite stores them. ``PRAGMA user_version`` is the format of the file, which
never changes: every row of a numbered format has a checksum of its columns; a file of format 0 predates checksums and
gets them when it is next opened for writing.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fathom.printing import printable
from fathom.storage.checksums import check_format, row_checksum
from fathom.storage.foreign import time_limit
from fathom.types import FathomError

_ADVICE = "restore it from a copy, or move it away and run the same command again"


@dataclass(frozen=True, slots=True)
class Rows:
    """A table with checksums in its column ``checksum``.

    Attributes:
        table: Its name.
        columns: The columns that the checksum covers, as an SQL list.
        key: Those that identify a row, for messages; they come first.
        valid: An SQL condition on columns that the checksum does not cover.
    """

    table: str
    columns: str
    key: str
    valid: str = "1"

    @property
    def checksum(self) -> str:
        """The checksum of a row, in SQL."""
        return f"row_checksum({self.columns})"


Formats: TypeAlias = Mapping[int, tuple[Rows, ...]]
"""The tables of a file by its format, the oldest with checksums first. All formats have the same tables."""


def know_checksums(db: sqlite3.Connection) -> list[KeyboardInterrupt]:
    """Register ``row_checksum`` on this connection.

    Returns:
        Receives Ctrl-C while a checksum is computed, of which SQLite makes an error like that of a damaged row.
    """
    interrupts: list[KeyboardInterrupt] = []

    def checksum(*values: object) -> int:
        try:
            return row_checksum(values)
        except KeyboardInterrupt as error:
            interrupts.append(error)
            raise

    db.create_function("row_checksum", -1, checksum, deterministic=True)
    return interrupts


def add_checksums(db: sqlite3.Connection, path: Path, formats: Formats) -> int:
    """Check a file opened for writing; if it has no format number, set it and add checksums.

    Args:
        db: The file, outside of a transaction.
        path: Its path, for messages.
        formats: Its tables, all of which exist.

    Returns:
        Its format: the one it states, else the newest of which it has all columns.

    Raises:
        FathomError: It is damaged, or written by a newer version.
    """
    check_rows(db, path, formats)
    db.execute("BEGIN IMMEDIATE")
    try:
        if not _format_of(db):
            form = max(form for form in formats if form == min(formats) or not _missing(db, formats[form]))
            for rows in formats[form]:
                if "checksum" not in _columns(db, rows.table):
                    db.execute(f"ALTER TABLE {rows.table} ADD COLUMN checksum INTEGER")
                db.execute(f"UPDATE {rows.table} SET checksum = {rows.checksum}")
            db.execute(f"PRAGMA user_version = {form}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return _format_of(db)


def check_rows(db: sqlite3.Connection, path: Path, formats: Formats) -> int:
    """Check that a file is intact and its rows are those written.

    Args:
        db: The file.
        path: Its path, for messages.
        formats: Its tables.

    Returns:
        The format that it states, or 0.

    Raises:
        FathomError: It is damaged, or written by a newer version.
        sqlite3.Error: It cannot be read at all.
    """
    with time_limit(db, path):
        return _check_rows(db, path, formats)


def _check_rows(db: sqlite3.Connection, path: Path, formats: Formats) -> int:
    interrupts = know_checksums(db)
    version = _format_of(db)
    if version:
        check_format(path, version, max(formats), _ADVICE)
    # This finds what row checksums cannot: missing and duplicate rows.
    verdict = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
    if verdict != "ok":
        raise FathomError(f"{path}: damaged ({printable(verdict)[:200]}); {_ADVICE}")
    present = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    tables = [rows for rows in formats[max(version, min(formats))] if rows.table in present] if version else []
    if missing := _missing(db, tables):
        raise FathomError(f"{path}: damaged (format {version}, without the column {missing[0]}); {_ADVICE}")
    for rows in tables:
        query = f"SELECT {rows.key} FROM {rows.table} WHERE checksum IS NOT {rows.checksum} OR NOT ({rows.valid})"
        try:
            bad = db.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if interrupts:
                raise interrupts[0] from None
            if "user-defined function" not in str(error) and "decode" not in str(error):
                raise
            raise FathomError(f"{path}: damaged (a text of {rows.table} is not UTF-8); {_ADVICE}") from None
        if bad:
            where = ", ".join(
                f"{name} {printable(str(value))[:80]}" for name, value in _key_values(rows, bad[0]).items()
            )
            more = f", and {len(bad) - 1:,} more" if len(bad) > 1 else ""
            raise FathomError(f"{path}: damaged ({rows.table} of {where}{more}: checksum mismatch); {_ADVICE}")
    return version


def _key_values(rows: Rows, values: tuple[object, ...]) -> Mapping[str, object]:
    return dict(zip(rows.key.split(", "), values, strict=True))


def _missing(db: sqlite3.Connection, tables: Sequence[Rows]) -> list[str]:
    """Missing columns of tables; a missing table has none."""
    existing = ((rows, columns) for rows in tables if (columns := _columns(db, rows.table)))
    return [
        f"{rows.table}.{name}" for rows, columns in existing for name in rows.columns.split(", ") if name not in columns
    ]


def _columns(db: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(row[1] for row in db.execute(f"PRAGMA table_info({table})"))


def _format_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
