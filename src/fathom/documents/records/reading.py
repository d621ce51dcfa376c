"""Reads the records of a file: a line of JSONL, a row of a table, a whole text file; never all in memory."""

import codecs
import io
import json
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, NamedTuple

from fathom.documents.records.extracting import NoTextError
from fathom.documents.records.extractor import extract_file
from fathom.documents.records.finding import CODE, DOCUMENTS, MARKUP, TEXTS, WORKBOOKS, File, format_of, pointer
from fathom.documents.records.json_text import AT_ONCE, JsonText, read_list, read_objects
from fathom.documents.records.record import Fault, Record
from fathom.documents.records.streams import (
    COMPRESSED,
    LONG,
    DamagedError,
    parts_of,
    read_chunks,
    read_lines,
    read_long_lines,
    read_whole,
)
from fathom.documents.records.tables import read_csv, read_workbook
from fathom.storage.arrow import ArrowStream
from fathom.storage.encodings import older_encoding
from fathom.storage.foreign import check_member, check_table, open_regular
from fathom.storage.parquet import ParquetFile, plain_bytes
from fathom.storage.tables import DamagedTableError, StoredTable, decoding
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

BATCH_ROWS = 64
PIECE_BYTES = 1 << 27  # of the rows of a row group that are read at once
COPIED_BYTES = 1 << 20
NEAR = 2000  # bytes that show which encoding a text has
LONG_LINE = 2 * LONG  # bytes of JSON: half of them may be escapes


def read_records(
    file: File | Path,
    columns: frozenset[str] | None = None,
    text: str = "text",
    listed: Sequence[str] = (),
    *,
    divided: bool = False,
) -> Iterator[Record | Fault]:
    """Yield the records of a file, and faults for what cannot be read.

    Args:
        file: A file with a suffix in ``FORMATS``; others are read as text. A file in an archive is unpacked to a
            temporary file, up to 4 GiB, unless it is compressed more than a hundred times.
        columns: Fields to read, None for all; only Parquet and Arrow skip others.
        text: Name of the field for the content of a text file.
        listed: Names of the values of JSON records that are lists instead of objects; empty if lists are faults.
        divided: Whether a long text is yielded in parts, each as a record (``documents.records.parts``), if it is that
            of a file, or the field ``text`` of a line of JSON. So no more than a part is in memory.
    """
    try:
        with unpacked(file if isinstance(file, File) else File.at(file)) as path:
            yield from _read(path, columns, text, listed, divided)
    except DamagedError as error:
        yield Fault(None, f"the file {error}")


def checked_records(
    file: File | Path, columns: frozenset[str] | None = None
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the records of a file, each with its location for messages; any fault is an error.

    Args:
        file: See ``read_records``.
        columns: See ``read_records``.

    Raises:
        FathomError: Something cannot be read; the message has the file, the line or row, and the reason.
    """
    name = (file if isinstance(file, File) else File.at(file)).name.name
    unit = "line" if format_of(name) in (".jsonl", *TEXTS, *MARKUP, *CODE) else "row"
    for record in read_records(file, columns):
        place = f"{file}: {unit} {record.line}" if record.line else str(file)
        if isinstance(record, Fault):
            raise FathomError(f"{place}: {record.reason}")
        yield place, record.fields


@contextmanager
def unpacked(file: File) -> Iterator[Path]:
    """The path of a file on disk: its own, or that of a temporary copy if it is in an archive.

    Raises:
        DamagedError: It cannot be unpacked, or is too large, see ``read_records``.
    """
    if not file.inside:
        if why := pointer(file.path):
            raise DamagedError(why)
        yield file.path
        return
    with TemporaryDirectory(prefix="fathom-") as folder:
        place = Path(folder) / ("member" + "".join(file.name.suffixes[-2:]))
        try:
            _unpack(file, place)
        except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            raise DamagedError(f"cannot be unpacked: {error}") from error
        yield place


def _unpack(file: File, place: Path) -> None:
    with zipfile.ZipFile(file.path) as archive:
        # Never unpack more than the size stated in the archive.
        member = archive.getinfo(file.inside)
        check_member(member)
        with archive.open(member) as packed, place.open("wb") as stream:
            while piece := packed.read(COPIED_BYTES):
                stream.write(piece)


def _read(
    path: Path, columns: frozenset[str] | None, text: str, listed: Sequence[str], divided: bool
) -> Iterator[Record | Fault]:
    match format_of(path.name):
        case ".jsonl":
            return _read_jsonl(path, listed, text if divided else "")
        case ".json":
            return _read_json(path, listed, text if divided else "")
        case ".csv":
            return read_csv(path, ",")
        case ".tsv":
            return read_csv(path, "\t")
        case suffix if suffix in WORKBOOKS:
            return read_workbook(path, suffix, columns)
        case ".parquet":
            return _read_table("Parquet", _parquet_frames(path, columns), columns)
        case ".arrow":
            return _read_table("Arrow", _arrow_frames(path, columns), columns)
        case suffix if suffix in DOCUMENTS:
            return _read_document(path, suffix, text)
    return _read_text(path, text, divided)


# --------------------------------------------------------------------------------------------------- text, JSON


def _read_text(path: Path, field: str, divided: bool) -> Iterator[Record | Fault]:
    try:
        if divided:
            chunks = read_chunks(path)
            head = list(_at_least(chunks, LONG))
            if sum(map(len, head)) > LONG:
                yield from _read_parts(chain(head, chunks), field)
                return
            data = b"".join(head)
        else:
            data = read_whole(path)
    except DamagedError as error:
        yield Fault(None, f"the file {error}")
        return
    try:
        yield Record(None, {field: data.decode()})
    except UnicodeDecodeError as error:
        yield _not_utf8(error, 0)


def _at_least(chunks: Iterator[bytes], most: int) -> Iterator[bytes]:
    """Chunks until they have more bytes than ``most``."""
    while most >= 0 and (chunk := next(chunks, None)) is not None:
        most -= len(chunk)
        yield chunk


def _read_parts(chunks: Iterable[bytes], field: str) -> Iterator[Record | Fault]:
    """The parts of a long text."""
    number, lines = 0, 0
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")(), translate=True)

    def decoded() -> Iterator[str]:
        nonlocal lines
        for chunk in chunks:
            yield decoder.decode(chunk)
            lines += chunk.count(b"\n")
        yield decoder.decode(b"", final=True)

    try:
        for number, part in enumerate(parts_of(decoded()), start=1):
            yield Record(None, {field: part}, part=number)
    except UnicodeDecodeError as error:
        fault = _not_utf8(error, lines)
        yield replace(fault, reason=f"{fault.reason}; the {number:,} parts of the text before it are kept")
    except DamagedError as error:
        yield Fault(None, f"the file {error}; the {number:,} parts of its text before that are kept")


def _not_utf8(error: UnicodeDecodeError, lines: int) -> Fault:
    line = lines + error.object.count(b"\n", 0, error.start) + 1
    near = error.object[error.start : error.start + NEAR]
    return Fault(line, f"not UTF-8 (byte 0x{error.object[error.start]:02x}); {older_encoding(near)}")


def _read_document(path: Path, suffix: str, field: str) -> Iterator[Record | Fault]:
    try:
        extracted = extract_file(path, suffix)
    except NoTextError as error:
        yield Fault(None, str(error))
        return
    yield Record(None, {field: "\n\n".join(extracted.pages)}, extracted.pages if extracted.paged else ())
    if extracted.remark:
        yield Fault(None, extracted.remark)


def _read_jsonl(path: Path, listed: Sequence[str], divided: str) -> Iterator[Record | Fault]:
    """Lines of JSON; ``divided`` is the field whose long texts come in parts."""
    number = 0
    try:
        lines = read_long_lines(path, LONG_LINE) if divided else read_lines(path)
        for number, line in enumerate(lines, start=1):
            if not isinstance(line, bytes):
                yield from _read_long_line(number, line, divided)
            elif line.strip():
                yield _parse_line(number, line, listed)
    except DamagedError as error:
        yield Fault(number + 1, f"the file {error}; the rows before this line are kept")


def _read_long_line(number: int, pieces: Iterator[bytes], field: str) -> Iterator[Record | Fault]:
    """The object of a line too long to be kept in memory; the text of a field is kept in a temporary file."""
    fields: dict[str, object] = {}
    with TemporaryFile("w+", encoding="utf-8", prefix="fathom-") as file:
        try:
            text = JsonText(pieces)
            for name in map(str, text.names()):
                if name == field and text.next_character() == '"':
                    file.seek(0)
                    file.truncate()
                    file.writelines(text.string())
                    fields[name] = ""
                else:
                    fields[name] = text.entry()
        except UnicodeDecodeError as error:
            yield Fault(number, f"not UTF-8 (byte 0x{error.object[error.start]:02x})")
        except UnicodeEncodeError:
            yield Fault(number, f"the field {field!r} holds a lone surrogate (such as \\ud800), expected a string")
        except DamagedError as error:
            yield Fault(number, f"the line {error}")
        except (ValueError, RecursionError) as error:
            yield Fault(number, f"not JSON: {_first_line(error)}")
        else:
            if not isinstance(fields.get(field), str) or file.tell() <= LONG:
                file.seek(0)
                yield Record(number, {**fields, field: file.read()} if fields.get(field) == "" else fields)
                return
            file.seek(0)
            whole = iter(lambda: file.read(AT_ONCE), "")
            for part, piece in enumerate(parts_of(whole), start=1):
                yield Record(number, {**fields, field: piece}, part=part)


def _read_json(path: Path, listed: Sequence[str], divided: str) -> Iterator[Record | Fault]:
    """One list of objects, one object, or several objects one after another, usually one per line."""
    number = 0
    try:
        if next((chunk.lstrip()[:1] for chunk in read_chunks(path) if chunk.strip()), b"") == b"[":
            for number, entry in enumerate(read_list(path), start=1):
                yield _record(number, entry, listed)
            return
        lines = _read_jsonl(path, listed, divided)
        first = next(lines, None)
        if isinstance(first, Fault):  # an object on several lines, or several objects
            try:
                yield _record(None, json.loads(read_whole(path).decode()), listed)
            except json.JSONDecodeError as error:
                if error.msg != "Extra data":
                    raise
                for number, entry in enumerate(read_objects(path), start=1):
                    yield _record(number, entry, listed)
            return
        if first is not None:
            yield first
        yield from lines
    except DamagedError as error:
        yield Fault(None, f"the file {error}")
    except (ValueError, RecursionError) as error:
        after = f" after row {number:,}" if number else ""
        expected = "expected one list of objects, one object, or one object per line"
        yield Fault(None, f"the file is not valid JSON{after}: {_first_line(error)}; {expected}")


def _parse_line(number: int, line: bytes, listed: Sequence[str]) -> Record | Fault:
    try:
        return _record(number, json.loads(line.decode()), listed)
    except UnicodeDecodeError as error:
        where = f"(byte 0x{line[error.start]:02x} at position {error.start + 1} of the line)"
        return Fault(number, f"not UTF-8 {where}; {older_encoding(line[error.start : error.start + NEAR])}")
    except json.JSONDecodeError as error:
        return Fault(number, f"not JSON: {error.msg} at position {error.pos + 1} of the line")
    except RecursionError:
        return Fault(number, "not readable JSON: nested too deeply")
    except ValueError as error:  # a number of more than 4,300 digits
        return Fault(number, f"not readable JSON: {error}")


def _record(number: int | None, value: object, listed: Sequence[str]) -> Record | Fault:
    if isinstance(value, dict):
        return Record(number, value)
    if listed and isinstance(value, list) and len(value) == len(listed):
        return Record(number, dict(zip(listed, value, strict=True)))
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return Fault(number, f"expected a JSON object with named fields, found {kinds.get(type(value), 'a number')}")


# ------------------------------------------------------------------------------------------------------- tables


class Rows(NamedTuple):
    """Consecutive rows of a table, and the columns whose texts are bytes in them, as not all are UTF-8."""

    table: StoredTable
    frame: "pl.DataFrame"
    raw: Collection[str] = ()


def _read_table(
    kind: str,
    frames: "Iterator[Rows]",
    columns: frozenset[str] | None,
) -> Iterator[Record | Fault]:
    """The rows of a table, with all names, and the values of the requested ones.

    Args:
        kind: Its format.
        frames: Its rows, some at a time.
        columns: See ``read_records``.
    """
    number = plain = 0
    try:
        for table, frame, raw in frames:
            wanted = [name for name in _wanted(table.names, columns) if name in frame.columns]
            unread = [] if number else [name for name in _wanted(table.names, columns) if name in table.unread]
            for reason in dict.fromkeys(table.unread[name] for name in unread):
                names = ", ".join(sorted(repr(name) for name in unread if table.unread[name] == reason))
                yield Fault(None, f"not read, as it has {reason}, write it as another type: column {names}")
            for part in frame.iter_slices(BATCH_ROWS):
                size = plain_bytes(part)
                plain += size
                check_table(number + part.height, len(table.names), plain, table.size)
                # Large values are objects of Python one at a time.
                for few in part.iter_slices(1) if size > AT_ONCE else (part,):
                    yield from _parse_rows(number, table, few, wanted, raw)
                    number += few.height
    except DamagedError as error:
        yield Fault(None, f"the file {error}")
    except (OSError, ValueError) as error:
        yield Fault(number + 1, f"the file is not valid {kind}: {_first_line(error)}")


def _parse_rows(
    number: int, table: StoredTable, frame: "pl.DataFrame", wanted: Sequence[str], raw: Collection[str]
) -> Iterator[Record | Fault]:
    values = {
        name: _values(frame[name], table.binary[name] if name in raw else None, table.maps.get(name, ()))
        for name in wanted
    }
    for row in range(frame.height):
        number += 1
        fields = dict.fromkeys(table.names) | {name: column[row] for name, column in values.items()}
        # Invalid UTF-8, dates out of range.
        wrong = next((name for name in wanted if isinstance(fields[name], DamagedTableError)), None)
        if wrong is None:
            yield Record(number, fields)
        else:
            yield Fault(number, f"field {wrong!r} cannot be read: {fields[wrong]}")


def _values(column: "pl.Series", binary: Collection[str] | None, keys: Collection[str]) -> list[object]:
    """The values of a column, and errors in the place of those that cannot be read."""
    with suppress(DamagedTableError), decoding():
        values = column.to_list()
        return [_python(value, binary, keys) for value in values] if binary is not None or keys else values
    values = []
    for alone in column.to_frame().iter_slices(1):
        try:
            with decoding():
                values += [_python(value, binary, keys) for value in alone.to_series().to_list()]
        except DamagedTableError as error:
            values.append(error)
    return values


def _python(value: object, binary: Collection[str] | None, keys: Collection[str]) -> object:
    """A value whose texts are bytes, but for fields of these names if any, and whose maps are lists of objects."""
    if binary is not None and isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {name: _python(inner, None if name in (binary or ()) else binary, keys) for name, inner in value.items()}
    if isinstance(value, list):
        return [_pair(_python(entry, binary, keys), keys) for entry in value]
    return value


def _pair(entry: object, keys: Collection[str]) -> object:
    """A pair of a map, or another entry of a list as it is."""
    if isinstance(entry, dict) and len(entry) == 2 and next(iter(entry)) in keys:
        return tuple(entry.values())
    return entry


def _parquet_frames(path: Path, columns: frozenset[str] | None) -> "Iterator[Rows]":
    import polars as pl

    file = ParquetFile(read_whole(path) if path.suffix.lower() in COMPRESSED else path)
    wanted, raw = [name for name in _wanted(file.names, columns) if name not in file.unread], set[str]()
    for group, height in enumerate(file.rows):
        if not wanted:
            # Names alone identify the content, and cost nothing to read.
            yield Rows(file, pl.repeat(None, height, eager=True).alias("").to_frame())
            continue
        rows = file.rows_within(group, PIECE_BYTES)
        for start in range(0, height, rows):
            yield Rows(file, _piece(file, group, wanted, start, rows, raw), raw)


def _piece(
    file: ParquetFile, group: int, wanted: Sequence[str], start: int, rows: int, raw: set[str]
) -> "pl.DataFrame":
    """Rows of a row group; columns with texts that are not UTF-8 are added to ``raw`` and read as bytes."""
    try:
        return file.read(group, wanted, start=start, rows=rows, raw=raw)
    except DamagedTableError:
        damaged = {name for name in wanted if name not in raw and not _is_readable(file, group, name, start, rows)}
        if not damaged:
            raise
        raw |= damaged
        return file.read(group, wanted, start=start, rows=rows, raw=raw)


def _is_readable(file: ParquetFile, group: int, name: str, start: int, rows: int) -> bool:
    try:
        file.read(group, [name], start=start, rows=rows)
    except DamagedTableError:
        return False
    return True


def _arrow_frames(path: Path, columns: frozenset[str] | None) -> "Iterator[Rows]":
    """The record batches of an Arrow stream, as the ``datasets`` library keeps tables on disk, or of an Arrow file."""
    # Not mapped into memory: if the file shrank while being read, the process would crash.
    with io.BytesIO(read_whole(path)) if path.suffix.lower() in COMPRESSED else open_regular(path) as stream:
        table = ArrowStream(stream)
        wanted = [name for name in _wanted(table.names, columns) if name not in table.unread]
        for frame in table.batches(wanted or None):
            yield Rows(table, frame)


def _wanted(names: Sequence[str], columns: frozenset[str] | None) -> list[str]:
    """The columns to read: those of the given names, in any case."""
    folded = {name.casefold() for name in columns or ()}
    return [name for name in dict.fromkeys(names) if columns is None or name.casefold() in folded]


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
