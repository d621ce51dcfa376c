"""Folders of this machine for the shards that its processes run; those of processes that were killed are removed."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "fathom-shard-"
_LOCK = ".lock"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder, removed at the end; and what processes that were killed have left, removed before.

    A folder belongs to whoever has locked the file beside it, and the system releases a lock when its process dies. A
    folder without such a file is nobody's to remove.
    """
    place = Path(tempfile.gettempdir())
    remove_left(place)
    handle, name = tempfile.mkstemp(prefix=PREFIX, suffix=_LOCK, dir=place)
    lock = Path(name)
    folder = lock.with_suffix("")
    try:
        with suppress(OSError):  # a file system without locks: nobody else can lock it either
            fcntl.flock(handle, fcntl.LOCK_EX)
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)
        os.close(handle)


def remove_left(place: Path) -> None:
    """Remove the folders of processes that were killed."""
    for lock in place.glob(f"{PREFIX}*{_LOCK}"):
        with suppress(OSError), lock.open("rb+") as stream:  # another one removes it, or it is another user's
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)
