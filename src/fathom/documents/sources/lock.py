"""The record of downloads in a data folder: revision, size and checksum of each file (``data.lock.json``)."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from fathom.documents.sources.source import HubFile, Source
from fathom.printing import readable
from fathom.storage.atomic import whole_file
from fathom.storage.foreign import open_regular, read_regular
from fathom.tokens.counts import cache_folder
from fathom.types import FathomError

LOCK = "data.lock.json"
CheckStatus: TypeAlias = Literal["ok", "missing", "changed", "unrecorded"]


@dataclass(frozen=True, slots=True)
class Pin:
    """One downloaded file; later downloads and ``verify`` compare with it.

    Attributes:
        dataset: Id of the data set on the hub.
        path: Path in the repository.
        revision: Commit that it was fetched from.
        size: Bytes.
        sha256: Checksum of its content in hexadecimal.
    """

    __pydantic_config__ = {"extra": "ignore"}  # noqa: RUF012

    dataset: str
    path: str
    revision: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Lock:
    """The content of the lock file; a later fathom may have written more."""

    __pydantic_config__ = {"extra": "ignore"}  # noqa: RUF012

    files: tuple[Pin, ...]


Pins = Mapping[tuple[str, str], Pin]


def data_folder() -> Path:
    """The default folder for data sources: ``data`` in fathom's cache folder."""
    return cache_folder() / "data"


def place_of(folder: Path, dataset: str, path: str) -> Path:
    """The path of a data set's file in a data folder: ``FOLDER/OWNER--NAME/PATH``."""
    return folder / dataset.replace("/", "--") / path


def placed(source: Source, folder: Path) -> list[Path]:
    """The files of a source that exist where ``fetch`` puts them."""
    places = [place_of(folder, source.dataset, file.path) for file in source.files]
    return [place for place in places if place.is_file()]


def expected(source: Source, file: HubFile, pin: Pin | None) -> str:
    """The checksum that a file must have: the declared one, else that of the first download; "" if unknown."""
    pinned = pin.sha256 if pin and source.revision in ("", pin.revision) else ""
    return file.sha256 or pinned


def read_pins(folder: Path) -> Pins:
    """The recorded downloads of a data folder, by data set and path.

    Raises:
        FathomError: The lock file cannot be read.
    """
    from fathom.storage.validation import RecordError, from_json

    lock = folder / LOCK
    try:
        pins = from_json(_Lock, read_regular(lock), "").files
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FathomError(f"{lock}: cannot be read: {error.strerror or error}") from error
    except RecordError as error:
        raise FathomError(
            f"{lock} is damaged: delete it and fetch again; complete files are not downloaded again"
        ) from error
    return {(pin.dataset, pin.path): pin for pin in pins}


def write_pin(folder: Path, pin: Pin) -> None:
    """Add one file to the lock file of a data folder; other processes may do so at the same time.

    Raises:
        FathomError: The lock file cannot be read or written.
    """
    with alone(folder / f".{LOCK}.guard"):
        pins = {**read_pins(folder), (pin.dataset, pin.path): pin}
        records = [dataclasses.asdict(pins[key]) for key in sorted(pins)]
        with whole_file(folder / LOCK) as stream:
            stream.write(json.dumps({"files": records}, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def alone(guard: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Allow only one process at a time in the block; the lock is released when a process is killed.

    Args:
        guard: An empty file; created if missing, and kept.
        waiting: Called once if another process is in the block.

    Raises:
        FathomError: The guard cannot be created.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(guard)
    try:
        guard.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if waiting:
                waiting()
            lock.acquire()
    except OSError as error:
        raise FathomError(f"{guard.parent}: cannot be written: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()


def recorded(sources: Sequence[Source], folder: Path) -> list[Source]:
    """The sources of which a data folder has files.

    Raises:
        FathomError: The lock file cannot be read.
    """
    pins = read_pins(folder)
    return [
        source
        for source in sources
        if placed(source, folder) or any((source.dataset, file.path) in pins for file in source.files)
    ]


@readable
@dataclass(frozen=True, slots=True)
class Checked:
    """The state of one file of a source.

    Attributes:
        source: Name of the source.
        path: Its path, even if it is missing.
        status: ``ok``; ``missing``; ``changed`` if its checksum differs; ``unrecorded`` if there is no checksum.
        revision: Commit that it was fetched from, or "".
        detail: What was expected and found if it changed.
    """

    source: str
    path: Path
    status: CheckStatus
    revision: str
    licence: str
    detail: str = ""


def verify(sources: Sequence[Source], folder: Path) -> list[Checked]:
    """Compare the files of sources in a data folder with their checksums, without the network.

    Raises:
        FathomError: The lock file or a file cannot be read.
    """
    pins = read_pins(folder)
    return [
        _check(source, file, folder, pins.get((source.dataset, file.path)))
        for source in sources
        for file in source.files
    ]


def _check(source: Source, file: HubFile, folder: Path, pin: Pin | None) -> Checked:
    place = place_of(folder, source.dataset, file.path)

    def checked(status: CheckStatus, detail: str = "") -> Checked:
        return Checked(source.name, place, status, pin.revision if pin else "", source.licence, detail)

    if not place.is_file():
        return checked("missing")
    wanted = expected(source, file, pin)
    if not wanted:
        if pin:
            return checked("changed", f"revision {source.revision} is declared, {pin.revision} was fetched")
        return checked("unrecorded")
    try:
        actual = digest_of(place, "sha256")
    except OSError as error:
        raise FathomError(f"{place}: cannot be read: {error.strerror or error}") from error
    return checked("ok") if actual == wanted else checked("changed", f"expected sha256 {wanted}, found {actual}")


def digest_of(path: Path, name: str, first: bytes = b"") -> str:
    """Checksum of a file in hexadecimal.

    Args:
        name: ``sha256`` or ``sha1``.
        first: Bytes to hash before its content.
    """
    digest = hashlib.new(name, first, usedforsecurity=False)
    with open_regular(path) as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
