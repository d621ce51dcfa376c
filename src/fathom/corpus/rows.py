"""Files as records: one a line of JSONL, one a row of Parquet, one for a whole text file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.corpus.streams import COMPRESSED, DamagedError, read_chunks, read_lines

TEXT_SUFFIXES = (".txt", ".md")
SUFFIXES = (*TEXT_SUFFIXES, ".jsonl", ".parquet")
BATCH_ROWS = 64


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file: its line or row from 1 (None for a whole file) and its fields."""

    line: int | None
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a file that cannot be read, at a line or row from 1 (None for the file itself)."""

    line: int | None
    reason: str


def kind_of(path: Path) -> str | None:
    """The suffix that says how a file is read, ``.gz`` and ``.zst`` aside; None if it is not a document file."""
    name = path.name.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), None)


def read_records(path: Path, columns: frozenset[str], text: str = "text") -> Iterator[Record | Fault]:
    """Yield the records of a file and, apart from them, what could not be read.

    Args:
        path: A file for which ``kind_of`` is not None.
        columns: Fields that are wanted; Parquet reads no others.
        text: Name under which the content of a text file is given.
    """
    kind = kind_of(path)
    if kind == ".jsonl":
        return _read_jsonl(path)
    if kind == ".parquet":
        return _read_parquet(path, columns)
    return _read_text(path, text)


def _read_text(path: Path, field: str) -> Iterator[Record | Fault]:
    try:
        data = b"".join(read_chunks(path))
    except DamagedError as error:
        yield Fault(None, f"the file {error}")
        return
    try:
        yield Record(None, {field: data.decode()})
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        yield Fault(line, f"not UTF-8 (byte 0x{data[error.start]:02x}); convert the file, for example with iconv")


def _read_jsonl(path: Path) -> Iterator[Record | Fault]:
    number = 0
    try:
        for number, line in enumerate(read_lines(path), start=1):
            if line.strip():
                yield _parse_line(number, line)
    except DamagedError as error:
        yield Fault(number + 1, f"the file {error}; the rows before this line are kept")


def _parse_line(number: int, line: bytes) -> Record | Fault:
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        return Fault(number, f"not UTF-8 (byte 0x{line[error.start]:02x} at position {error.start + 1} of the line)")
    except json.JSONDecodeError as error:
        return Fault(number, f"not JSON: {error.msg} at position {error.pos + 1} of the line")
    except RecursionError:
        return Fault(number, "not JSON that can be read: nested too deeply")
    except ValueError as error:  # a number of more than 4,300 digits
        return Fault(number, f"not JSON that can be read: {error}")
    if not isinstance(value, dict):
        return Fault(number, f"expected a JSON object with named fields, found {_named(value)}")
    return Record(number, value)


def _named(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _read_parquet(path: Path, columns: frozenset[str]) -> Iterator[Record | Fault]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        source = pa.BufferReader(b"".join(read_chunks(path))) if path.suffix.lower() in COMPRESSED else path
        with pq.ParquetFile(source) as file:
            names = file.schema_arrow.names
            wanted = [name for name in names if name in columns]
            if not wanted:
                # Names alone say what the file holds, and cost nothing to read.
                yield from (Record(row + 1, dict.fromkeys(names)) for row in range(file.metadata.num_rows))
                return
            # Parquet reads a dot in a column's name as a step into a nested column.
            dotted = any("." in name for name in wanted)
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=None if dotted else wanted):
                for index in range(batch.num_rows):
                    number += 1
                    yield _parse_row(number, names, batch, index)
    except DamagedError as error:
        yield Fault(None, f"the file {error}")
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[:1] or ["unknown reason"]
        yield Fault(number + 1, f"the file is not Parquet that can be read: {reason[0]}")


def _parse_row(number: int, names: list[str], batch: Any, index: int) -> Record | Fault:
    import pyarrow as pa

    try:
        cells = {name: batch.column(at)[index].as_py() for at, name in enumerate(batch.schema.names)}
    except (pa.ArrowException, ValueError) as error:  # invalid UTF-8, dates out of range
        return Fault(number, f"the row cannot be read: {error}")
    return Record(number, dict.fromkeys(names) | cells)
