"""Parquet files by row group, for polars, which reads and writes whole files.

The footer is read and written here (Thrift's compact protocol; ``parquet.thrift`` of Apache Parquet numbers its
fields). A row group is handed to polars as a file of its own, in memory: nothing else is read, its pages are checked
before they are decoded, and a file that shrinks while it is read cannot crash the process, as one that is mapped into
memory would.
"""

import struct
import weakref
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import BytesIO, RawIOBase
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fathom.storage.foreign import check_expansion, check_nesting, check_table, open_regular
from fathom.storage.tables import WIDE, DamagedTableError, StoredTable, decoding

if TYPE_CHECKING:
    import polars as pl

MOST_VALUES = 20_000_000
"""Maximum values of a footer; each column of a row group takes about 20."""
DEEPEST = 16
"""Maximum nesting of structures and lists in a footer."""
CHECKSUM = "crc32"
"""Key of the checksum that ``ParquetWriter`` stores with each column of a row group."""
_MAGIC = b"PAR1"
_TAIL = 8  # bytes after the footer: its size and the magic number
_BYTES = 6  # physical type of texts and bytes
_JSON = 19  # converted type of texts of JSON
_MAPS = 1, 2  # converted types of maps
_REPEATED = 2
_DECIMAL, _DECIMAL_BYTES = 5, 16  # converted type, and bytes of the largest that polars reads
_VIEW = 16  # bytes that polars needs for a text besides its characters

_TRUE, _FALSE, _BYTE, _I32, _I64, _DOUBLE, _BINARY, _LIST, _STRUCT = 1, 2, 3, 5, 6, 7, 8, 9, 12
_INTEGERS = (4, _I32, _I64)

_UNREAD = 5, frozenset((2, 3, 12, 13, 16, 17))
"""Level and fields of what a footer says of a column of a row group, such as statistics, that stay encoded."""

Struct = dict[int, tuple[int, Any]]
"""A structure of Thrift: type and value by number of the field. The value of a list is the type of its entries, and
these. What is not read is the bytes that encode it."""


class ParquetFile(StoredTable):
    """A Parquet file of which single row groups are read.

    Attributes:
        largest: Bytes of the largest row group, unpacked.
        metadata: What the file says about itself.
    """

    def __init__(self, source: Path | bytes, *, verify: bool = False) -> None:
        """Read the footer.

        Args:
            verify: Whether columns, or their pages, are compared with their checksums as they are read.

        Raises:
            DamagedTableError: It is not a Parquet file.
            OSError: It cannot be read, or states more than its size explains.
        """
        # Unbuffered: what is read is what is there by then.
        self._stream: IO[bytes] | RawIOBase = (
            BytesIO(source) if isinstance(source, bytes) else open_regular(source).detach()
        )
        weakref.finalize(self, self._stream.close)
        self._verify = verify
        self._last: tuple[object, bytes] | None = None  # what was read, and the file with it alone
        self.size = self._stream.seek(0, 2)
        with decoding():
            footer = self._footer = self._read_footer()
            self._groups: list[Struct] = footer[4][1][1]
            self._columns = list(_by_column(footer[2][1][1]))
            self.names = [_text(elements[0], 4) for elements in self._columns]
            self.maps = {
                name: {_text(elements[at + 2], 4) for at in range(len(elements) - 2) if _is_map(elements[at])}
                for name, elements in zip(self.names, self._columns, strict=True)
            }
            self.binary = {
                name: {_text(element, 4) for element in elements if _is_binary(element)}
                for name, elements in zip(self.names, self._columns, strict=True)
            }
            self.unread = {_text(column[0], 4): WIDE for column in self._columns if any(map(_is_wide, column))}
            self.rows = [_number(group, 3) for group in self._groups]
            self.metadata = {_text(pair, 1): _text(pair, 2) for pair in _entries(footer, 5) if 2 in pair}
            sizes = [_number(group, 2) for group in self._groups]
            chunks = [chunk[3][1] for group in self._groups for chunk in _entries(group, 1)]
            leaves = sum(map(_leaves, self._columns))
            if len(chunks) != leaves * len(self._groups) or sum(self.rows) != _number(footer, 3):
                raise DamagedTableError("the footer contradicts itself")
            cells = sum(_number(chunk, 5) for chunk in chunks)
        check_table(sum(self.rows), leaves, sum(sizes), self.size, cells)
        self.largest = max(sizes, default=0)

    def _read_footer(self) -> Struct:
        tail = self._at(self.size - _TAIL, _TAIL)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or self._at(0, 4) != _MAGIC:
            raise DamagedTableError("it does not start and end with PAR1")
        if length > self.size - _TAIL - len(_MAGIC):
            raise DamagedTableError("the footer is larger than the file")
        self._end = self.size - _TAIL - length
        return _Thrift(self._at(self._end, length)).struct()

    def _at(self, place: int, length: int) -> bytes:
        pieces = []
        if place >= 0 and 0 <= length <= self.size:
            self._stream.seek(place)
            while length and (piece := self._stream.read(length)):  # a system call reads 2 GiB at most
                pieces.append(piece)
                length -= len(piece)
        if length:
            raise DamagedTableError("it is cut off, or points outside itself")
        return b"".join(pieces)

    def rows_within(self, group: int, most: int) -> int:
        """How many rows of a row group take at most so many bytes, if all take the same; at least one.

        Raises:
            DamagedTableError: The footer is damaged.
        """
        with decoding():
            chunks = [chunk[3][1] for chunk in _entries(self._groups[group], 1)]
            plain = sum(_number(chunk, 6) + _VIEW * _number(chunk, 5) for chunk in chunks)
        return max(1, self.rows[group] * most // max(1, plain, most))

    def read(
        self,
        group: int,
        columns: Collection[str] | None = None,
        *,
        start: int = 0,
        rows: int | None = None,
        raw: Collection[str] = (),
    ) -> "pl.DataFrame":
        """Rows of a row group.

        Args:
            columns: Names of the columns to read; None for all.
            start: The first of its rows.
            rows: Maximum number of rows; None for all.
            raw: Columns whose texts are read as bytes, as they are not UTF-8.

        Raises:
            DamagedTableError: It is damaged.
            OSError: It cannot be read, or is more than the file's size explains.
        """
        import polars as pl

        with decoding():
            height = self.rows[group]
            expected = height - start if rows is None else min(rows, height - start)
            key = group, None if columns is None else frozenset(columns), frozenset(raw)
            content = self._last[1] if self._last and self._last[0] == key else self._alone(*key)
            self._last = (key, content) if expected < height else None
            if expected < height:
                frame = pl.scan_parquet(content).slice(start, expected).collect()
            else:
                frame = pl.read_parquet(content)
            if frame.height != expected:
                raise DamagedTableError(f"a row group has other rows than the {height:,} that it states")
            return frame

    def _alone(self, group: int, columns: Collection[str] | None, raw: Collection[str]) -> bytes:
        """A file with columns of one row group."""
        chunks = iter(_entries(self._groups[group], 1))
        last = {name: at for at, name in enumerate(self.names)}  # of columns with equal names
        wanted = {last[name] for name in (last if columns is None else columns)}
        kept, elements, plain = list[Struct](), list[Struct](), 0
        alone = BytesIO()
        alone.write(_MAGIC)
        for at, (name, column) in enumerate(zip(self.names, self._columns, strict=True)):
            own = list(islice(chunks, _leaves(column)))
            if at not in wanted:
                continue
            elements += map(_as_bytes if name in raw else _known, column)
            for chunk in own if self.rows[group] else ():  # some writers give a column without values no place
                about = chunk[3][1]
                start, content = self._chunk(about)
                plain += self._check_pages(about, content)
                kept.append({2: (_I64, 0), 3: (_STRUCT, _moved(about, alone.tell() - start))})
                alone.write(content)
                del content  # not in memory while the next one is read
        check_expansion(plain, self.size)
        root = self._footer[2][1][1][0] | {5: (_I32, len(wanted))}
        rows = _I64, self.rows[group]
        groups: list[Struct] = [{1: (_LIST, (_STRUCT, kept)), 2: (_I64, plain), 3: rows}] if kept else []
        schema = _LIST, (_STRUCT, [root, *elements])
        alone.write(_ended({1: self._footer[1], 2: schema, 3: rows, 4: (_LIST, (_STRUCT, groups))}))
        return alone.getvalue()

    def _chunk(self, about: Struct) -> tuple[int, bytes]:
        """Where a column of a row group starts, and its bytes."""
        dictionary = about.get(11, (_I64, 0))[1]
        start = min(dictionary, about[9][1]) if dictionary > 0 else about[9][1]
        length = _number(about, 7)
        if start < len(_MAGIC) or start + length > self._end:
            raise DamagedTableError("a column is outside of the file's body")
        return start, self._at(start, length)

    def _check_pages(self, about: Struct, content: bytes) -> int:
        """Compare pages with what the footer states of their column, and with their checksums; their bytes unpacked."""
        stored = next((_text(pair, 2) for pair in _entries(about, 8) if _text(pair, 1) == CHECKSUM), "")
        if self._verify and stored and stored != str(zlib.crc32(content)):
            raise DamagedTableError("a column has another checksum")
        values, plain = 0, 0
        thrift = _Thrift(content)
        while thrift.at < len(content):
            header = thrift.struct()
            end = thrift.at + _number(header, 3)
            if end > len(content):
                raise DamagedTableError("a page ends outside of its column")
            crc = header[4][1] & 0xFFFFFFFF if self._verify and not stored and 4 in header else None
            if crc is not None and crc != zlib.crc32(memoryview(content)[thrift.at : end]):
                raise DamagedTableError("a page has another checksum")
            plain += _number(header, 2)
            for field in (5, 8):
                values += _number(header[field][1], 1) if field in header else 0
            if 7 in header and _number(header[7][1], 1) > max(_number(header, 2), 1):
                raise DamagedTableError("a dictionary has more values than bytes")
            thrift.at = end
        if values > _number(about, 5):
            raise DamagedTableError("the pages of a column have more values than its footer states")
        return plain


class ParquetWriter:
    """Writes a Parquet file frame by frame, each in row groups of its own."""

    def __init__(
        self,
        stream: IO[bytes],
        schema: "Mapping[str, Any]",
        metadata: Mapping[str, str] | None = None,
        *,
        statistics: bool = False,
    ) -> None:
        """Start the file.

        Args:
            stream: Where it goes.
            schema: Types of polars by column.
            metadata: What the file says about itself.
            statistics: Whether to write by what queries of polars skip row groups, and which types polars had.
        """
        self._stream, self._schema, self._metadata = stream, schema, metadata or {}
        self._statistics = statistics
        self._footer: Struct = {}
        self._groups: list[Struct] = []
        self._end = stream.write(_MAGIC)

    def write(self, frame: "pl.DataFrame", rows: int | None = None) -> None:
        """Write rows.

        Args:
            frame: The rows, with the columns of the schema.
            rows: Maximum rows of a row group; None for a single one.

        Raises:
            OSError: There is no room for them.
        """
        part = BytesIO()
        # The level of files of earlier versions, which pyarrow wrote.
        frame.write_parquet(
            part,
            compression="zstd",
            compression_level=1,
            statistics=self._statistics,
            row_group_size=rows or max(1, frame.height),
        )
        content = part.getvalue()
        length = int.from_bytes(content[-_TAIL:-4], "little")
        body = memoryview(content)[len(_MAGIC) : len(content) - _TAIL - length]
        footer = _Thrift(content[len(content) - _TAIL - length : -_TAIL]).struct()
        self._footer = self._footer or footer
        for group in _entries(footer, 4):
            chunks = []
            for chunk in _entries(group, 1):
                about = chunk[3][1]
                start = about[11][1] if about.get(11, (0, 0))[1] > 0 else about[9][1]
                crc = zlib.crc32(memoryview(content)[start : start + about[7][1]])
                about = _moved(about, self._end - len(_MAGIC))
                chunks.append({2: (_I64, 0), 3: (_STRUCT, about | {8: _pairs({CHECKSUM: str(crc)})})})
            self._groups.append(_some(group, 2, 3, 4) | {1: (_LIST, (_STRUCT, chunks))})
        self._stream.write(body)
        self._end += len(body)

    def close(self) -> None:
        """Write the footer.

        Raises:
            OSError: There is no room for it.
        """
        import polars as pl

        if not self._footer:
            self.write(pl.DataFrame(schema=dict(self._schema)))
        footer = _some(self._footer, 1, 2, 6)
        footer[3] = _I64, sum(_number(group, 3) for group in self._groups)
        footer[4] = _LIST, (_STRUCT, self._groups)
        about = {_text(pair, 1): _text(pair, 2) for pair in _entries(self._footer, 5) if self._statistics}
        if about := about | dict(self._metadata):
            footer[5] = _pairs(about)
        self._stream.write(_ended(footer))


def _by_column(elements: Sequence[Struct]) -> Iterator[list[Struct]]:
    """The elements of the schema, without its root, by column of the table."""
    column: list[Struct] = []
    left: list[int] = []  # children that are to come, by level
    for element in elements[1:]:
        column.append(element)
        left.append(_number(element, 5) if 5 in element else 0)
        check_nesting(len(left))
        while left and not left[-1]:
            left.pop()
            if left:
                left[-1] -= 1
        if not left:
            yield column
            column = []
    if column or not elements:
        raise DamagedTableError("the schema is incomplete")


def _leaves(elements: Iterable[Struct]) -> int:
    return sum(1 in element for element in elements)


def _is_map(element: Struct) -> bool:
    return element.get(6, (_I32, -1))[1] in _MAPS or 2 in element.get(10, (_STRUCT, {}))[1]


def _is_wide(element: Struct) -> bool:
    decimal = element.get(6, (_I32, -1))[1] == _DECIMAL or 5 in element.get(10, (_STRUCT, {}))[1]
    return bool(decimal and element.get(2, (_I32, 0))[1] > _DECIMAL_BYTES)


def _is_binary(element: Struct) -> bool:
    return element.get(1, (_I32, -1))[1] == _BYTES and not {6, 10} & element.keys()


def _as_bytes(element: Struct) -> Struct:
    """An element of the schema without what says that its bytes are text."""
    if element.get(1, (_I32, -1))[1] != _BYTES:
        return _known(element)
    return {field: value for field, value in element.items() if field not in (6, 10)}


def _known(element: Struct) -> Struct:
    """An element of the schema as polars reads it rightly: texts of JSON as texts, maps, which lose pairs, as lists."""
    if element.get(6, (_I32, -1))[1] == _JSON or 12 in element.get(10, (_STRUCT, {}))[1]:
        return element | {6: (_I32, 0), 10: (_STRUCT, {1: (_STRUCT, {})})}
    if not _is_map(element):
        return element
    repeated = element.get(3, (_I32, 0))[1] == _REPEATED
    kind: Struct = {} if repeated else {6: (_I32, 3), 10: (_STRUCT, {3: (_STRUCT, {})})}
    return {field: value for field, value in element.items() if field not in (6, 10)} | kind


def _moved(about: Struct, by: int) -> Struct:
    """What reading a column of a row group needs, at another place, and the statistics."""
    return _some(about, 1, 2, 3, 4, 5, 6, 7, 9, 11, 12) | {
        field: (_I64, about[field][1] + by) for field in (9, 11) if about.get(field, (0, 0))[1] > 0
    }


def _some(of: Struct, *fields: int) -> Struct:
    return {field: of[field] for field in fields if field in of}


def _number(of: Struct, field: int) -> int:
    kind, value = of[field]
    if kind not in _INTEGERS or value < 0:
        raise DamagedTableError("a size is negative or no number")
    return int(value)


def _text(of: Struct, field: int) -> str:
    return bytes(of[field][1]).decode(errors="replace")


def _entries(of: Struct, field: int) -> list[Struct]:
    entries: list[Struct] = of[field][1][1] if field in of else []
    return entries


def _pairs(texts: Mapping[str, str]) -> tuple[int, Any]:
    pairs = [{1: (_BINARY, key.encode()), 2: (_BINARY, text.encode())} for key, text in texts.items()]
    return _LIST, (_STRUCT, pairs)


def _ended(footer: Struct) -> bytes:
    content = encoded(footer)
    return content + len(content).to_bytes(4, "little") + _MAGIC


class _Thrift:
    """Reads structures of Thrift's compact protocol."""

    def __init__(self, content: bytes) -> None:
        self._content, self.at, self._left = content, 0, MOST_VALUES

    def struct(self, depth: int = 0) -> Struct:
        """The structure at this place."""
        content, fields, field = self._content, {}, 0
        while head := content[self.at]:
            self.at += 1
            step, kind = head >> 4, head & 15
            field = field + step if step else self._signed()
            unread = depth == _UNREAD[0] and field in _UNREAD[1]
            fields[field] = kind, self._encoded(kind) if unread else self._value(kind, depth)
        self.at += 1
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > DEEPEST:
            raise DamagedTableError(f"more than {MOST_VALUES:,} values in a footer, or nested too deeply")
        if kind in _INTEGERS:
            return self._signed()
        if kind == _BINARY:
            return self._taken(self._unsigned())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _LIST:
            head = self._taken(1)[0]
            size, inner = head >> 4, head & 15
            entries = range(self._unsigned() if size == 15 else size)
            return inner, [self._value(inner if inner > 2 else _BYTE, depth + 1) for _ in entries]
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._taken(1)[0]
        if kind == _DOUBLE:
            return struct.unpack_from("<d", self._taken(8))[0]
        raise DamagedTableError(f"unknown type {kind} in a footer")

    def _encoded(self, kind: int) -> bytes:
        self._left -= 1
        start = self.at
        self._skip(kind, 0)
        return self._content[start : self.at]

    def _skip(self, kind: int, depth: int) -> None:
        if depth > DEEPEST:
            raise DamagedTableError("a footer is nested too deeply")
        if kind in _INTEGERS:
            self._unsigned()
        elif kind == _BINARY:
            self._taken(self._unsigned())
        elif kind == _LIST:
            head = self._taken(1)[0]
            size, inner = head >> 4, head & 15
            for _ in range(self._unsigned() if size == 15 else size):
                self._skip(inner if inner > 2 else _BYTE, depth + 1)
        elif kind == _STRUCT:
            while head := self._taken(1)[0]:
                if not head >> 4:
                    self._unsigned()
                self._skip(head & 15, depth + 1)
        elif kind in (_BYTE, _DOUBLE):
            self._taken(1 if kind == _BYTE else 8)
        elif kind not in (_TRUE, _FALSE):
            raise DamagedTableError(f"unknown type {kind} in a footer")

    def _taken(self, length: int) -> bytes:
        taken = self._content[self.at : self.at + length]
        if len(taken) < length:
            raise DamagedTableError("a footer is cut off")
        self.at += length
        return taken

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._content[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise DamagedTableError("a number is too long")

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


def encoded(fields: Struct) -> bytes:
    """A structure in Thrift's compact protocol."""
    out, last = bytearray(), 0
    for field, (kind, value) in sorted(fields.items()):
        if kind in (_TRUE, _FALSE):
            kind = _TRUE if value else _FALSE
        if 0 < field - last < 16:
            out.append(field - last << 4 | kind)
        else:
            out.append(kind)
            out += _zigzag(field)
        out += b"" if kind in (_TRUE, _FALSE) else _encoded_value(kind, value)
        last = field
    return bytes(out) + b"\0"


def _encoded_value(kind: int, value: Any) -> bytes:
    if kind in _INTEGERS:
        return _zigzag(value)
    if kind in (_STRUCT, _LIST) and isinstance(value, bytes):
        return value
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == _STRUCT:
        return encoded(value)
    if kind == _LIST:
        inner, entries = value
        head = bytes([len(entries) << 4 | inner]) if len(entries) < 15 else bytes([240 | inner]) + _varint(len(entries))
        return head + b"".join(_encoded_value(inner if inner > 2 else _BYTE, entry) for entry in entries)
    return bytes([value])


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def plain_bytes(frame: "pl.DataFrame") -> int:
    """Bytes of the values of a table; texts that are stored once and referred to count each time."""
    with decoding():
        return sum(map(_plain_bytes, frame.iter_columns()))


def _plain_bytes(series: "pl.Series") -> int:
    import polars as pl

    kind = series.dtype
    if isinstance(kind, pl.List | pl.Array):
        return 8 * len(series) + (_plain_bytes(series.explode()) if len(series) else 0)
    if isinstance(kind, pl.Struct):
        return sum(map(_plain_bytes, series.struct.unnest().iter_columns()))
    if isinstance(kind, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        return int(series.str.len_bytes().sum() or 0)
    if kind == pl.Binary:
        return int(series.bin.size().sum() or 0)
    return 8 * len(series)
