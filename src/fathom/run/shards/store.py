"""Where the files of shards are: a folder, or an object store through obstore. Files appear complete or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from fathom.safety.secrets import hide_in_address, hide_in_text
from fathom.storage.atomic import whole_file
from fathom.storage.foreign import open_regular
from fathom.types import FathomError

SCHEMES = ("s3", "gs", "az", "azure", "abfs", "abfss", "file")


class Store(Protocol):
    """Files by name, with ``/`` between folders."""

    @property
    def where(self) -> str:
        """The address, without secrets."""

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file, or replace it."""

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists; False if it does."""

    def names(self, folder: str = "") -> list[str]:
        """The names of all files, or of those in a folder, sorted."""

    def remove(self, name: str) -> None:
        """Remove a file, which another process may have removed."""


def is_address(place: str | Path) -> bool:
    """Whether a place is the address of a store, not a path."""
    return "://" in str(place)


def open_store(place: str | Path) -> Store:
    """Open a folder, or the object store at an address such as ``s3://bucket/folder``.

    Raises:
        FathomError: The address is wrong, or a library is missing.
    """
    if not is_address(place):
        return FolderStore(Path(place))
    parts = urlsplit(str(place))
    if parts.scheme not in SCHEMES:
        raise FathomError(f"{hide_in_address(str(place))}: expected a folder, or s3://, gs:// or az://")
    if parts.scheme == "file":
        return FolderStore(Path(unquote(parts.path)))
    if not parts.netloc:
        raise FathomError(f"{place}: expected a bucket, as {parts.scheme}://bucket/folder")
    return ObjectStore(str(place))


class FolderStore:
    """A folder, also of a file system that several machines share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def where(self) -> str:
        """The folder."""
        return str(self._folder)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none.

        Raises:
            FathomError: The file cannot be read.
        """
        try:
            with open_regular(self._folder / name) as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise FathomError(f"{self._folder / name}: cannot be read: {error.strerror}") from None

    def write(self, name: str, data: bytes) -> None:
        """Write a file, or replace it."""
        with whole_file(self._folder / name, "wb") as stream:
            stream.write(data)

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists; False if it does."""
        path = self._folder / name
        draft = path.with_name(f".{path.name}.{uuid4().hex}")
        with whole_file(draft, "wb") as stream:
            stream.write(data)
        try:
            path.hardlink_to(draft)  # which fails if the name is taken
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            try:
                with path.open("xb") as stream:
                    stream.write(data)
            except FileExistsError:
                return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def names(self, folder: str = "") -> list[str]:
        """The names of all files, or of those in a folder, sorted.

        Raises:
            FathomError: A file has the name of the folder.
        """
        if folder and (self._folder / folder).is_file():
            raise FathomError(f"{self._folder / folder}: a file, where a folder of replies is to be; move it away")
        visible = (path for path in (self._folder / folder).rglob("*") if not path.name.startswith("."))
        with suppress(FileNotFoundError):  # a folder that is removed meanwhile
            return sorted(path.relative_to(self._folder).as_posix() for path in visible if path.is_file())
        return self.names(folder)

    def remove(self, name: str) -> None:
        """Remove a file, and its folder with the last one; ``whole_file`` makes it again for a process that writes."""
        path = self._folder / name
        path.unlink(missing_ok=True)
        if path.parent != self._folder:
            with suppress(OSError):
                path.parent.rmdir()


class ObjectStore:
    """A bucket of S3, Google Cloud Storage or Azure, or a folder of it; keys are in its provider's variables."""

    def __init__(self, address: str) -> None:
        import obstore
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        self._objects: Any = obstore
        self._error = BaseError
        self._address = address.rstrip("/")
        with self._clear_errors():
            self._store: Any = from_url(self._address)

    @property
    def where(self) -> str:
        """The address, without secrets."""
        return hide_in_address(self._address) or ""

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        with self._clear_errors():
            try:
                return bytes(self._objects.get(self._store, name).bytes())
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file, or replace it."""
        with self._clear_errors():
            self._objects.put(self._store, name, data)

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists; False if it does."""
        from obstore.exceptions import AlreadyExistsError

        with self._clear_errors():
            try:
                self._objects.put(self._store, name, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def names(self, folder: str = "") -> list[str]:
        """The names of all files, or of those in a folder, sorted.

        Programs make empty objects that stand for folders: their names end in a slash, which the list omits.
        """
        with self._clear_errors():
            listed = self._objects.list(self._store, prefix=folder or None)
            names = {str(entry["path"]) for many in listed for entry in many}
        return sorted(name for name in names if name and (not folder or name.startswith(f"{folder}/")))

    def remove(self, name: str) -> None:
        """Remove a file, which another process may have removed."""
        with self._clear_errors(), suppress(FileNotFoundError):
            self._objects.delete(self._store, name)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except (self._error, OSError, ValueError) as error:
            first = str(error).partition("\n\nDebug source")[0]
            raise FathomError(f"{self.where}: {hide_in_text(' '.join(first.split()))[:500]}") from None
