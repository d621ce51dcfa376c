"""Files that appear complete or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fathom.types import FathomError

NO_ROOM = 1_000_000
"""Bytes; if a disk has less, that is why a table could not be written."""

ATTEMPTS = 100
"""To make a file in a folder that another process removes; more than it has files to remove there one by one."""


@contextmanager
def whole_file(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A stream to a file that replaces it on success, and leaves nothing on failure.

    Readers see the old file or the complete new one, even if the process is killed. Pipes and devices are written to
    directly, never replaced.

    Args:
        path: The file; its folder is created if missing.
        mode: ``w`` for text in UTF-8, ``wb`` for bytes.

    Raises:
        FathomError: The file cannot be written.
    """
    encoding = None if "b" in mode else "utf-8"
    try:
        if path.exists() and not path.is_file():
            with path.open(mode, encoding=encoding) as stream:
                yield stream
            return
        handle, name = _part_of(path)
        part = Path(name)
        try:
            with os.fdopen(handle, mode, encoding=encoding) as stream:
                yield stream
            part.chmod(0o644)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise FathomError(f"{path}: cannot be written: {error.strerror or error}") from error
    except Exception as error:
        # Libraries that write tables wrap the disk's error, or lose it.
        if type(error).__module__.partition(".")[0] != "polars":
            raise
        room = shutil.disk_usage(path.parent).free
        why = "no space left on the disk" if room < NO_ROOM else str(error)
        raise FathomError(f"{path}: cannot be written: {why}") from error


def _part_of(path: Path) -> tuple[int, str]:
    """A new file beside ``path``, open, and its name; another process may remove the folder as long as it is empty."""
    attempt = 0
    while True:
        attempt += 1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        except (FileNotFoundError, FileExistsError):  # the latter if the folder goes while mkdir looks at it
            if attempt == ATTEMPTS:
                raise
