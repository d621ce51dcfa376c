"""Records of the files in which data sources are published: JSONL, JSON, Parquet, CSV and Arrow, in archives too."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from fathom.corpus.gathering import printable
from fathom.corpus.rows import Fault, Record, read_records
from fathom.corpus.streams import COMPRESSED, DamagedError, read_chunks, read_lines
from fathom.sources.lists import read_list
from fathom.sources.naming import format_of

MOST_BYTES = 4 << 30  # of an unpacked file of an archive
MOST_AT_ONCE = 1 << 30  # bytes of a file that can only be read as a whole
MOST_TIMES = 100  # the packed size, from which on a large file of an archive is taken for a trap
SMALL = 256 << 20  # bytes that are unpacked in any case
COPIED_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that may hold records.

    Attributes:
        path: Where it lies.
        inside: Its name in the archive at ``path``; "" for a plain file.
        name: Where it lies from the folder that was searched, for comparison with names of sources.
    """

    path: Path
    inside: str
    name: PurePosixPath

    def __str__(self) -> str:
        return printable(self.path) + (f"/{self.inside}" if self.inside else "")


def files_of(path: Path, name: PurePosixPath) -> Iterator[DataFile]:
    """The files with records that a path holds: itself, or those of a ZIP archive.

    Args:
        path: A file.
        name: The same from the folder that is searched.

    Raises:
        DamagedError: It is an archive that cannot be read.
    """
    if path.suffix.lower() != ".zip":
        if format_of(name):
            yield DataFile(path, "", name)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            inside = {member.filename for member in archive.infolist() if not member.is_dir()}
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise DamagedError(f"is no archive that can be read: {error}") from error
    for title in sorted(inside):
        member = PurePosixPath(title)
        hidden = any(part.startswith((".", "__MACOSX")) for part in member.parts)
        if format_of(member) and not hidden:
            yield DataFile(path, title, name.with_suffix("") / member)


def records_of(file: DataFile, columns: frozenset[str]) -> Iterator[Record | Fault]:
    """The records of a file and, apart from them, what could not be read.

    Args:
        file: The file; one of an archive is unpacked to a temporary file of our own naming, up to 4 GiB, unless it
            would become more than a hundred times as large.
        columns: Fields that are wanted; tables read no others.
    """
    if not file.inside:
        yield from _read(file.path, columns)
        return
    with TemporaryDirectory(prefix="fathom-") as folder:
        place = Path(folder) / ("member" + "".join(file.name.suffixes[-2:]))
        try:
            _unpack(file, place)
        except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            yield Fault(None, f"the file cannot be unpacked: {error}")
            return
        yield from _read(place, columns)


def _unpack(file: DataFile, place: Path) -> None:
    with zipfile.ZipFile(file.path) as archive:
        # No more than the size that the archive names is ever unpacked.
        member = archive.getinfo(file.inside)
        if member.file_size > MOST_BYTES:
            raise zipfile.BadZipFile(f"it is larger than {MOST_BYTES >> 30} GiB")
        if member.file_size > max(SMALL, MOST_TIMES * member.compress_size):
            raise zipfile.BadZipFile(
                f"it would be {member.file_size / max(1, member.compress_size):,.0f} times its packed size, "
                f"{member.file_size >> 20:,} MiB; unpack the archive yourself if that is right"
            )
        with archive.open(member) as packed, place.open("wb") as stream:
            while piece := packed.read(COPIED_BYTES):
                stream.write(piece)


def _read(path: Path, columns: frozenset[str]) -> Iterator[Record | Fault]:
    match format_of(PurePosixPath(path.name)):
        case ".json":
            return _read_json(path)
        case ".csv":
            return _read_csv(path)
        case ".arrow":
            return _read_arrow(path, columns)
    return read_records(path, columns)


def _read_json(path: Path) -> Iterator[Record | Fault]:
    """One list of objects, or an object a line."""
    number = 0
    try:
        first = next((chunk.lstrip()[:1] for chunk in read_chunks(path) if chunk.strip()), b"")
        if first == b"[":
            for number, entry in enumerate(read_list(path), start=1):
                yield _record(number, entry)
            return
        for number, line in enumerate(read_lines(path), start=1):
            if line.strip():
                try:
                    yield _record(number, json.loads(line.decode()))
                except (ValueError, RecursionError) as error:
                    yield Fault(number, f"not JSON: {error}; the file should be one list, or one object a line")
                    if number == 1:  # an object over many lines
                        return
    except DamagedError as error:
        yield Fault(None, f"the file {error}")
    except (ValueError, RecursionError) as error:
        yield Fault(None, f"the file is not JSON that can be read{_after(number)}: {_first_line(error)}")


def _after(number: int) -> str:
    return f" after row {number:,}" if number else ""


def _record(number: int, value: object) -> Record | Fault:
    if isinstance(value, dict):
        return Record(number, value)
    return Fault(number, f"expected an object with named fields, found a value of type {type(value).__name__}")


def _read_csv(path: Path) -> Iterator[Record | Fault]:
    import polars as pl

    try:
        rows = pl.read_csv(_whole(path), infer_schema=False)
    except DamagedError as error:
        yield Fault(None, f"the file {error}")
        return
    except pl.exceptions.PolarsError as error:
        yield Fault(None, f"the file is not CSV that can be read: {_first_line(error)}")
        return
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        yield Record(number, row)


def _read_arrow(path: Path, columns: frozenset[str]) -> Iterator[Record | Fault]:
    """An Arrow stream, as the ``datasets`` library keeps tables on disk."""
    import pyarrow as pa

    number = 0
    try:
        # Not mapped: a file that shrinks while it is read would end the process.
        source = pa.BufferReader(_whole(path)) if path.suffix.lower() in COMPRESSED else pa.OSFile(str(path))
        with source, pa.ipc.open_stream(source) as table:
            wanted = [name for name in table.schema.names if name in columns]
            empty: Mapping[str, object] = dict.fromkeys(table.schema.names)
            for batch in table:
                batch.validate(full=True)  # reading a damaged one would end the process
                for index in range(batch.num_rows):
                    number += 1
                    yield Record(number, {**empty, **{name: batch[name][index].as_py() for name in wanted}})
    except DamagedError as error:
        yield Fault(None, f"the file {error}")
    except (pa.ArrowException, OSError, ValueError) as error:
        yield Fault(number + 1, f"the file is not Arrow that can be read: {_first_line(error)}")


def _whole(path: Path) -> bytes:
    """All bytes of a file.

    Raises:
        DamagedError: It cannot be read, or is too large to be read at once.
    """
    pieces, left = [], MOST_AT_ONCE
    for piece in read_chunks(path):
        left -= len(piece)
        if left < 0:
            raise DamagedError(f"is larger than {MOST_AT_ONCE >> 20:,} MiB; make JSONL or Parquet of it, or split it")
        pieces.append(piece)
    return b"".join(pieces)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
