"""The gate for files that others may have written: checked before they are read, so that none can hang or flood a run.

Only regular files are opened, only those in the folder that was given, and only SQLite files with plain tables. What a
file expands to is compared with its size. A file that is refused is an ``OSError``, like one that cannot be read.
"""

import errno
import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BytesIO, TextIOWrapper
from pathlib import Path
from zipfile import ZipInfo

from fathom.types import FathomError

MOST_UNPACKED = 4 << 30
"""Maximum bytes of an unpacked file of an archive."""
MOST_TIMES = 100
"""Maximum compression ratio of a large file."""
SMALL, SMALL_MEMBER = 2 << 30, 256 << 20
"""Bytes that are unpacked at any ratio: of a file that is read in parts, and of a file in an archive."""
MOST_READ = 1 << 30
"""Maximum bytes of a file that is read as a whole."""
DEEPEST_TYPE = 64
"""Maximum levels of the type of a column; polars overflows its stack at some hundred, which ends the process."""
FEW_ROWS, FEW_CELLS = 1_000_000, 100_000_000
"""Rows and values that a table may state at any size."""
ROWS_PER_BYTE, CELLS_PER_BYTE = 8, 1000
SECONDS, BYTES_PER_SECOND = 150.0, 1e6
"""Time for checking an SQLite file of any size, and the least speed beyond it."""
STEPS = 100_000
"""Steps of SQLite between two looks at the clock."""
BESIDE = ("", "-wal", "-shm", "-journal")
"""Ends of the names of the files that SQLite opens."""
_COMPUTED = re.compile(r"\b(?:check|generated|as|virtual|where)\b", re.IGNORECASE)
_ADVICE = "restore the file from a copy, or move it away"


class RefusedFileError(OSError):
    """A file that is not read; ``strerror`` is the reason, which follows its name."""

    def __init__(self, reason: str, number: int = errno.EINVAL) -> None:
        super().__init__(number, reason)

    def __str__(self) -> str:
        return str(self.strerror)


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading bytes.

    Raises:
        RefusedFileError: It is a pipe, a device or a socket, which could be read for ever.
        OSError: It cannot be opened.
    """
    # Without waiting: opening a pipe waits for a writer.
    handle = os.open(os.fspath(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise RefusedFileError("not a regular file but a pipe, a device or a socket; save its content as a file")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path, most: int = MOST_READ) -> bytes:
    """The content of a file.

    Args:
        most: Maximum bytes.

    Raises:
        RefusedFileError: It has more, or is not a regular file.
        OSError: It cannot be read.
    """
    with open_regular(path) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise RefusedFileError(f"larger than {most:,} bytes; split it", errno.EFBIG)
    return content


def content_of(path: Path, where: str = "") -> bytes:
    """The content of a file that a user named.

    Args:
        where: Its name for the message, if that is not the path.

    Raises:
        FathomError: It cannot be read.
    """
    try:
        return read_regular(path)
    except OSError as error:
        raise FathomError(f"{where or path}: cannot be read: {error.strerror or error}") from None


def read_text(path: Path) -> str:
    """The content of a text file in UTF-8, with ``\\n`` at the end of its lines.

    Raises:
        RefusedFileError: See ``read_regular``.
        OSError: It cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    return TextIOWrapper(BytesIO(read_regular(path)), "utf-8").read()


def identity_of(path: Path) -> tuple[int, int] | None:
    """What two paths to one file have in common; None if there is none."""
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


def is_inside(folder: Path, path: Path) -> bool:
    """Whether a file or folder is within a folder, links followed.

    A snapshot of the Hugging Face cache consists of links to the files of its repository, which count as within.
    """
    base, real = os.path.realpath(folder), os.path.realpath(path)
    above, _, snapshot = base.rpartition(f"{os.sep}snapshots{os.sep}")
    if above and snapshot and real.startswith(f"{above}{os.sep}blobs{os.sep}"):
        return True
    return real == base or real.startswith(base.rstrip(os.sep) + os.sep)


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Check the files of a folder that has a fixed content, as far as they exist.

    Raises:
        FathomError: One is a link that leads out of the folder, or not a regular file.
    """
    for path in (folder / name for name in names):
        if path.is_symlink() and not is_inside(folder, path):
            raise FathomError(f"{path}: a link that leads out of the folder; replace it with the file itself")
        if path.exists() and not path.is_file():
            raise FathomError(f"{path}: not a regular file; {_ADVICE}")


def check_expansion(plain: int, packed: int, small: int | None = None) -> None:
    """Check what compressed content expands to.

    Args:
        plain: Bytes unpacked.
        packed: Bytes that they were packed in.
        small: Bytes up to which the ratio does not matter; ``SMALL`` if it is None.

    Raises:
        RefusedFileError: It is compressed more than ``MOST_TIMES`` times, to more than ``small`` bytes.
    """
    if plain > max(SMALL if small is None else small, MOST_TIMES * packed):
        raise RefusedFileError(
            f"compressed {plain / max(1, packed):,.0f} times, to {plain >> 20:,} MiB or more; unpack it yourself if "
            "that is right",
            errno.EFBIG,
        )


def check_member(member: ZipInfo) -> None:
    """Check the sizes that an archive states of one of its files, which is what is unpacked at most.

    Raises:
        RefusedFileError: See ``check_expansion``, or more than ``MOST_UNPACKED`` bytes.
    """
    if member.file_size > MOST_UNPACKED:
        raise RefusedFileError(f"{member.filename[:80]!r} is larger than {MOST_UNPACKED >> 30} GiB", errno.EFBIG)
    check_expansion(member.file_size, member.compress_size, min(SMALL, SMALL_MEMBER))


def check_nesting(levels: int) -> None:
    """Check how deep lists and structures are within each other in the type of a column.

    Raises:
        RefusedFileError: They have more than ``DEEPEST_TYPE`` levels.
    """
    if levels > DEEPEST_TYPE:
        raise RefusedFileError(f"damaged or forged: a column has more than {DEEPEST_TYPE} levels of lists or objects")


def check_table(rows: int, columns: int, plain: int, size: int, cells: int = 0) -> None:
    """Check what the header of a table states before its values are read.

    Args:
        plain: Bytes of the unpacked pages.
        size: Bytes of the file.
        cells: Number of values, if the header states it.

    Raises:
        RefusedFileError: They are out of proportion to its size.
    """
    check_expansion(plain, size)
    most = max(FEW_CELLS, CELLS_PER_BYTE * size)
    if rows > max(FEW_ROWS, ROWS_PER_BYTE * size) or rows * columns > most or cells > most:
        raise RefusedFileError(
            f"damaged or forged: it states {rows:,} rows of {columns:,} columns in {size:,} bytes", errno.EFBIG
        )


# ------------------------------------------------------------------------------------------------- SQLite


@contextmanager
def time_limit(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Stop queries of an SQLite file that take longer than its size explains.

    Raises:
        FathomError: Time is up.
    """
    size = sum(file.stat().st_size for end in BESIDE if (file := path.with_name(path.name + end)).exists())
    end = time.monotonic() + SECONDS + size / BYTES_PER_SECOND
    db.set_progress_handler(lambda: time.monotonic() > end, STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT or time.monotonic() <= end:
            raise
        raise FathomError(f"{path}: reading takes longer than its {size:,} bytes explain; {_ADVICE}") from None
    finally:
        db.set_progress_handler(None, 0)


def check_schema(db: sqlite3.Connection, path: Path) -> None:
    """Check, before any query of its tables, that an SQLite file has plain tables only.

    Args:
        path: Its path, for messages.

    Raises:
        FathomError: It has a view, a trigger, a virtual table or computed values, which run what their author wrote.
        sqlite3.Error: It cannot be read.
    """
    with time_limit(db, path):
        for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
            if kind not in ("table", "index") or _COMPUTED.search(str(sql or "")):
                what = kind if kind in ("view", "trigger") else f"{kind} with computed values"
                raise FathomError(f"{path}: damaged or forged ({ascii(name)[:60]} is a {what}); {_ADVICE}")
