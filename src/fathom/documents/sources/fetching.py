"""Downloads data sources from the hub into a folder."""

import glob
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fathom.documents.sources import hub
from fathom.documents.sources.hub import Announced, RevisionGoneError, Sleep, SourceError
from fathom.documents.sources.lock import LOCK, Pin, alone, digest_of, expected, place_of, read_pins, write_pin
from fathom.documents.sources.source import Source
from fathom.printing import readable
from fathom.types import FathomError

LONG = 10  # seconds of waiting from which the progress says so
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with (a description, bytes so far, bytes in total or None)."""


@readable
@dataclass(frozen=True, slots=True)
class Fetched:
    """One complete and verified file.

    Attributes:
        dataset: Id of the data set on the hub.
        revision: Commit of the file.
        path: Its local path.
        size: Bytes.
        sha256: Checksum in hexadecimal.
        received: Bytes downloaded now; 0 if it existed already.
        licence: Licence of the source.
    """

    source: str
    dataset: str
    revision: str
    path: Path
    size: int
    sha256: str
    received: int
    licence: str


def fetch(
    sources: Sequence[Source],
    folder: Path,
    *,
    progress: Progress | None = None,
    fetched: Callable[[Fetched], None] | None = None,
    sleep: Sleep = time.sleep,
) -> list[Fetched]:
    """Download sources into a folder: correct files are kept, partial downloads are resumed.

    Files are stored as ``FOLDER/OWNER--NAME/PATH``. ``FOLDER/data.lock.json`` records their revisions and checksums,
    which later downloads use. Each file must have the declared checksum; else that of its first download; else the one
    announced by the hub. Several processes may download into one folder.

    Args:
        folder: The data folder; created if missing.
        progress: Called with the state of the download.
        fetched: Called with each complete file.

    Returns:
        Every file of the sources, in their order.

    Raises:
        FathomError: huggingface_hub is not installed, the hub cannot be reached, or the folder cannot be written; or,
            after everything else was downloaded, the errors of single sources.
    """
    hub.require()
    tell = progress or (lambda name, done, total: None)
    files: list[Fetched] = []
    problems: list[str] = []
    for source in sources:
        try:
            for file in _fetch_source(source, folder, tell, sleep):
                files.append(file)
                if fetched:
                    fetched(file)
        except SourceError as error:
            problems.append(f"{source.name}: {error}")
    if problems:
        raise FathomError("\n".join(problems))
    return files


@dataclass(frozen=True, slots=True)
class _Download:
    """One file to download: source, destination, and its checksum, or "" if unknown."""

    source: Source
    path: str
    revision: str
    sha256: str
    place: Path


def _fetch_source(source: Source, folder: Path, tell: Progress, sleep: Sleep) -> Iterator[Fetched]:
    if not source.files:
        raise SourceError("it declares no files: put one into a folder and build with `data` FOLDER")

    def wait(seconds: float) -> None:
        if seconds > LONG:
            tell(f"{source.name}: the hub limits requests, waiting {seconds:.0f} seconds", 0, None)
        sleep(seconds)

    guard = place_of(folder, source.dataset, ".guard")
    with alone(guard, waiting=lambda: tell(f"{source.name}: another process is fetching it", 0, None)):
        pins = read_pins(folder)
        known = (pins[key].revision for file in source.files if (key := (source.dataset, file.path)) in pins)
        revision = source.revision or next(known, "") or hub.newest(source.dataset, wait)
        for file in source.files:
            pin = pins.get((source.dataset, file.path))
            place = place_of(folder, source.dataset, file.path)
            with _writable(place):
                wanted = _Download(source, file.path, revision, expected(source, file, pin), place)
                try:
                    received, digest = _fetch_file(wanted, tell, wait)
                except RevisionGoneError as error:
                    if source.revision:
                        raise
                    raise SourceError(
                        f"{source.dataset} no longer has revision {revision}, which was fetched first: remove its "
                        f"records from {folder / LOCK} to fetch the newest one, or put the same files into a folder "
                        "and build with `data` FOLDER"
                    ) from error
                size = place.stat().st_size
            now = Pin(source.dataset, file.path, revision, size, digest)
            if now != pin:
                write_pin(folder, now)
            yield Fetched(source.name, source.dataset, revision, place, size, digest, received, source.licence)


def _fetch_file(wanted: _Download, tell: Progress, sleep: Sleep) -> tuple[int, str]:
    """Make sure that the file is complete; returns the bytes downloaded and its SHA-256."""
    place, title = wanted.place, f"{wanted.source.name} {wanted.place.name}"
    present = place.is_file()
    if present and wanted.sha256 and digest_of(place, "sha256") == wanted.sha256:
        return 0, wanted.sha256
    announced = hub.announced(wanted.source.dataset, wanted.revision, wanted.path, sleep)
    if wanted.sha256 and announced.sha256 not in ("", wanted.sha256):
        raise _wrong(announced, wanted.sha256, announced.sha256, "the hub announces")
    received = 0
    if wanted.sha256 or not present or not (announced.sha256 or announced.blob) or _mismatch(place, announced, ""):
        # Named after the content: a partial download is never continued with other content.
        content = hashlib.sha256((announced.etag or announced.revision).encode()).hexdigest()[:16]
        part = place.with_name(f".{place.name}.{content}.part")
        part.parent.mkdir(parents=True, exist_ok=True)
        _check_room(announced, part)
        received = hub.download(announced, part, lambda done, total: tell(title, done, total), sleep)
        if mismatch := _mismatch(part, announced, wanted.sha256):
            part.unlink()
            raise _wrong(announced, *mismatch, "the download has")
        _move(part, place)
    return received, wanted.sha256 or announced.sha256 or digest_of(place, "sha256")


def _move(part: Path, place: Path) -> None:
    """Move a complete file to its place, and delete partial downloads of it."""
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    part.replace(place)
    for stale in place.parent.glob(f".{glob.escape(place.name)}.*.part"):
        stale.unlink()


def _mismatch(path: Path, announced: Announced, wanted: str) -> tuple[str, str] | None:
    """(expected, found) if a file differs from its checksum or, without one, from what the hub announced."""
    size = path.stat().st_size
    if wanted := wanted or announced.sha256:
        actual = digest_of(path, "sha256")
    elif wanted := announced.blob:
        actual = digest_of(path, "sha1", f"blob {size}\0".encode())
    elif announced.size is not None:
        wanted, actual = f"{announced.size:,} bytes", f"{size:,} bytes"
    else:
        return None
    return None if actual == wanted else (wanted, actual)


def _wrong(announced: Announced, wanted: str, actual: str, who: str) -> SourceError:
    return SourceError(
        f"{announced.path} of {announced.dataset} at revision {announced.revision} is not the expected file: expected "
        f"{wanted}, {who} {actual}. It was discarded; fetch it again, and if that does not help report it: "
        "the data set may have changed"
    )


def _check_room(announced: Announced, part: Path) -> None:
    missing = (announced.size or 0) - (part.stat().st_size if part.exists() else 0)
    free = shutil.disk_usage(part.parent).free
    if missing > free:
        raise FathomError(
            f"{part.parent}: {announced.path} needs {missing / 1e6:,.0f} MB more, but only {free / 1e6:,.0f} MB are "
            "free: make room, or download to another disk with `to` FOLDER"
        )


@contextmanager
def _writable(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FathomError(
            f"{place}: cannot be read or written: {error.strerror or error}; the partial download is kept: run the "
            "same command again to resume"
        ) from error
