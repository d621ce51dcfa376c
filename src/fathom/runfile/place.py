"""A store whose folder is removed, moved or replaced while it is written: SQLite would go on writing into no file.

What it holds is then copied into a folder beside it, to which writing goes on until what is in flight has come.
"""

import os
import sqlite3
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path

from fathom.runfile.manifest import FILE as MANIFEST
from fathom.runfile.store_checks import know_checksums
from fathom.storage.atomic import whole_file
from fathom.storage.foreign import identity_of
from fathom.types import FathomError


class StorePlace:
    """Where a file of a run folder was when it was opened for writing.

    Args:
        folder: The run folder.
        file: Name of the file, which exists.

    Attributes:
        gone: What became of the folder, and where all that was paid for is kept; "" while it is in its place.
    """

    def __init__(self, folder: Path, file: str) -> None:
        self.gone = ""
        self._folder = folder
        self._file = file
        self._identity = identity_of(folder / file)
        self._manifest = b""
        with suppress(OSError):
            self._manifest = (folder / MANIFEST).read_bytes()

    def checked(self, db: sqlite3.Connection) -> sqlite3.Connection:
        """The connection with which to write: another one, to a copy, once the file is not in its place any more.

        Args:
            db: The connection so far, outside of a transaction; closed if another one is returned.

        Raises:
            FathomError: The copy cannot be made.
        """
        if self.gone or identity_of(self._folder / self._file) == self._identity:
            return db
        kept = self._kept_folder()
        try:
            copy = sqlite3.connect(kept / self._file, isolation_level=db.isolation_level)
            db.backup(copy)
            if self._manifest and not (kept / MANIFEST).exists():
                (kept / MANIFEST).write_bytes(self._manifest)
        except (OSError, sqlite3.Error) as error:
            raise FathomError(
                f"{self._folder}: was removed or replaced, and {kept} cannot be written: {error}"
            ) from None
        db.close()
        know_checksums(copy)
        self.gone = (
            f"{self._folder} was removed, moved or replaced while fathom was writing into it. All that was paid for is "
            f"kept in {kept}: move that folder to {self._folder}, or its files into it, and run the same command again"
        )
        return copy

    def check(self) -> None:
        """Check that the file was in its place when it was last written.

        Raises:
            FathomError: It was not, or the settings of the run are missing and cannot be written again.
        """
        if self.gone:
            raise FathomError(self.gone)
        manifest = self._folder / MANIFEST
        if self._manifest and not manifest.exists():
            with whole_file(manifest, "wb") as stream:  # without it nothing of the run can be read
                stream.write(self._manifest)

    def _kept_folder(self) -> Path:
        """A folder beside the run's, the same for all stores of this process; elsewhere if none can be made there."""
        for number in count(os.getpid()):
            kept = self._folder.with_name(f"{self._folder.name}.kept-{number}")
            if not (kept / self._file).exists():
                break
        try:
            kept.mkdir(parents=True, exist_ok=True)
        except OSError:
            return Path(tempfile.mkdtemp(prefix=f"{kept.name}-"))
        return kept
