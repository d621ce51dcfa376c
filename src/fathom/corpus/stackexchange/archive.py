"""The bytes of a dump: ``Posts.xml`` as it is, compressed, or inside a ``.7z``."""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from fathom.corpus.stackexchange.threads import Progress
from fathom.records import COMPRESSED, DamagedError, path_text, read_chunks
from fathom.types import FathomError

POSTS = "posts.xml"
PIECE_BYTES = 1 << 20


def pour_posts(path: Path, feed: Callable[[bytes], None], progress: Progress | None = None) -> None:
    """Give the bytes of ``Posts.xml`` to ``feed``, piece by piece.

    Args:
        path: ``Posts.xml``, also with ``.gz`` or ``.zst``, or a ``.7z`` with a file of that name in it.
        feed: Called with every piece.
        progress: Called after every piece.

    Raises:
        DamagedError: The bytes cannot be read to their end; what came before has been fed.
        FathomError: The archive cannot be opened, has no posts, or py7zr is not there.
    """
    if path.suffix.lower() == ".7z":
        _pour_archive(path, feed, progress)
        return
    size = content_size(path)
    read = 0
    for chunk in read_chunks(path):
        feed(chunk)
        read += len(chunk)
        if progress:
            progress(read, size)


def content_size(path: Path) -> int | None:
    """The bytes that a file will give, or None where it is compressed and does not say."""
    return None if path.suffix.lower() in COMPRESSED else path.stat().st_size


class _Pipe:
    """Hands on what py7zr unpacks; it is never read back. The methods are those of ``py7zr.Py7zIO``."""

    def __init__(self, feed: Callable[[bytes], None], progress: Progress | None, total: int) -> None:
        self._feed = feed
        self._progress = progress
        self._total = total
        self._written = 0

    def create(self, filename: str) -> _Pipe:
        """What ``py7zr.WriterFactory`` asks for: a single file is unpacked, into this."""
        return self

    def write(self, data: bytes | bytearray) -> int:
        for start in range(0, len(data), PIECE_BYTES):
            self._feed(bytes(data[start : start + PIECE_BYTES]))
        self._written += len(data)
        if self._progress:
            self._progress(self._written, self._total)
        return len(data)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def flush(self) -> None:
        pass

    def size(self) -> int:
        return self._written

    def close(self) -> None:
        pass


def _pour_archive(path: Path, feed: Callable[[bytes], None], progress: Progress | None) -> None:
    py7zr = _library(path)
    damage = (py7zr.exceptions.ArchiveError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError)
    try:
        file = path.open("rb")
    except OSError as error:
        raise DamagedError(f"cannot be read: {error.strerror or error}") from error
    # An open file rather than its path: py7zr then unpacks in this thread.
    with file:
        try:
            archive = py7zr.SevenZipFile(file)
            sizes = {entry.filename: entry.uncompressed for entry in archive.list() if entry.is_file}
        except py7zr.exceptions.PasswordRequired as error:
            raise FathomError(f"{path_text(path)}: the archive has a password; unpack it first.") from error
        except (*damage, LookupError, TypeError, AssertionError, struct.error) as error:
            reason = "not a .7z that can be read, or cut off before the table at its end; fetch it again"
            raise FathomError(f"{path_text(path)}: {reason}.") from error
        with archive:
            name = next((name for name in sizes if PurePosixPath(name).name.lower() == POSTS), None)
            if name is None:
                held = ", ".join(sorted(sizes)[:8]) or "nothing"
                raise FathomError(f"{path_text(path)}: no Posts.xml in it but {held}. Name the archive with the posts.")
            try:
                archive.extract(targets=[name], factory=_Pipe(feed, progress, sizes[name]))
            except py7zr.exceptions.PasswordRequired as error:
                raise FathomError(f"{path_text(path)}: the archive has a password; unpack it first.") from error
            except damage as error:
                raise DamagedError(f"is damaged ({type(error).__name__}); fetch it again") from error


def _library(path: Path) -> Any:
    try:
        return import_module("py7zr")
    except ModuleNotFoundError as error:
        raise FathomError(
            f"{path_text(path)}: reading a .7z needs py7zr. Install it with `pip install 'fathom-eval[dump]'`, "
            "or unpack the archive and name its Posts.xml."
        ) from error
