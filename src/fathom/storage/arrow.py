"""Arrow streams and files by record batch, for polars, which reads whole ones.

A batch is handed to polars as a stream or file of its own. What its message states is checked first; ``Message.fbs``,
``File.fbs`` and ``Schema.fbs`` of Apache Arrow number the fields.
"""

from collections.abc import Iterator, Sequence
from struct import iter_unpack, pack_into, unpack_from
from typing import IO, TYPE_CHECKING, NamedTuple

from fathom.storage.foreign import check_nesting, check_table
from fathom.storage.tables import WIDE, DamagedTableError, StoredTable, decoding

if TYPE_CHECKING:
    import polars as pl

_FILE = b"ARROW1"
_CONTINUED = b"\xff\xff\xff\xff"
_END = _CONTINUED + bytes(4)
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_DECIMAL, _INTERVAL, _A_LIST, _UNION, _MAP, _RUNS, _VIEWS, _LIST_VIEWS = 7, 11, 12, 14, 17, 22, (23, 24), (25, 26)
_UNREAD = {_INTERVAL: "intervals", _UNION: "unions", _RUNS: "runs", **dict.fromkeys(_LIST_VIEWS, "list views")}
"""Types that polars does not read."""
_BUFFERS = {1: 0, **dict.fromkeys((4, 5, 19, 20, *_LIST_VIEWS), 3), 13: 1, _UNION: 1, 16: 1, _RUNS: 0}
"""Buffers of a type, if they are not 2."""
_DECIMAL_BITS = 128
_I64 = "<q"
_BLOCK, _BLOCK_BYTES = "<qi4xq", 24  # where a message is in a file, and the sizes of its two parts


class ArrowStream(StoredTable):
    """An Arrow stream or file of which one record batch is in memory at a time, or as many as its dictionaries take."""

    def __init__(self, stream: IO[bytes]) -> None:
        """Read the schema.

        Raises:
            DamagedTableError: It is not an Arrow file.
            OSError: It cannot be read.
        """
        self._stream = stream
        self.size = stream.seek(0, 2)
        self._schema = self._footer = bytearray()
        with decoding():
            stream.seek(0)
            if stream.read(len(_FILE)) == _FILE:
                stream.seek(max(0, self.size - len(_FILE) - 4))
                (length,) = unpack_from("<i", self._taken(4))
                stream.seek(max(0, self.size - len(_FILE) - 4 - length))
                self._footer = bytearray(self._taken(length))
                schema = _Table(self._footer, *unpack_from("<I", self._footer)).table(1)
            else:
                first = next(self._messages(), None)
                if first is None or first.kind != _SCHEMA:
                    raise DamagedTableError("it does not start with a schema")
                self._schema = bytearray(first.head)
                schema = first.header.within(self._schema)
            self.maps, self.unread = _check_schema(schema)
            self.names = list(self.maps)
            self.binary = {}  # texts that are no UTF-8 are not read here
            fields = schema.tables(1)
            self._kept = [number for number, name in enumerate(self.names) if name not in self.unread]
            self._parts = [_parts(field) for field in fields] if self.unread else []
            self._ids = {id_ for number in self._kept for id_ in _dictionaries(fields[number])}
            schema.keep_tables(1, self._kept)
            if self._kept:
                self._alone([], [])

    def batches(self, columns: Sequence[str] | None = None) -> "Iterator[pl.DataFrame]":
        """The record batches.

        Args:
            columns: Names of the columns to read; None for all.

        Raises:
            DamagedTableError: One is damaged.
            OSError: One cannot be read, or is more than the file's size explains.
        """
        dictionaries: dict[int, _Message] = {}
        batches: list[_Message] = []
        plain = 0
        with decoding():
            for message in self._messages():
                if message.kind == _DICTIONARY and message.header.number(0, _I64) in self._ids:
                    if message.header.number(2, "<B"):
                        raise DamagedTableError("it has a dictionary in parts, which polars cannot read")
                    yield from self._decoded(dictionaries, batches, columns)
                    dictionaries[message.header.number(0, _I64)] = message
                    plain += self._check(message.header.table(1), message.body)
                if message.kind != _BATCH:
                    continue
                plain += self._check(message.header, message.body)
                batches.append(self._without_unread(message) if self.unread else message)
                del message  # a batch may be large: no second one in memory while it is decoded
                shared = sum(len(dictionary.body) for dictionary in dictionaries.values())
                # Dictionaries are decoded again with each part.
                if sum(len(batch.body) for batch in batches) >= shared:
                    plain += shared
                    check_table(0, 0, plain, self.size)
                    yield from self._decoded(dictionaries, batches, columns)
            yield from self._decoded(dictionaries, batches, columns)

    def _decoded(
        self, dictionaries: "dict[int, _Message]", batches: "list[_Message]", columns: Sequence[str] | None
    ) -> "Iterator[pl.DataFrame]":
        """The rows of batches, which are taken from the list."""
        import polars as pl

        if not batches:
            return
        rows = sum(batch.header.number(0, _I64) for batch in batches)
        if not self._kept:
            batches.clear()
            yield pl.repeat(None, rows, eager=True).alias("").to_frame()
            return
        frame = self._alone(list(dictionaries.values()), batches, columns)
        if frame.height != rows:
            raise DamagedTableError("a record batch has other rows than it states")
        yield frame

    def _without_unread(self, message: "_Message") -> "_Message":
        """A record batch without the columns that polars does not read."""
        head = bytearray(message.head)
        batch = message.header.within(head)
        views = batch.numbers(4)
        kept: tuple[list[int], list[int], list[int]] = [], [], []
        ends, most = [0, 0, 0], [len(batch.pairs(1)), len(batch.pairs(2)), len(views)]
        for number, (nodes, buffers, viewed) in enumerate(self._parts):
            buffers += sum(views[ends[2] : ends[2] + viewed])
            for at, count in enumerate((nodes, buffers, viewed)):
                if not 0 <= count <= most[at] - ends[at]:
                    raise DamagedTableError("a record batch has fewer parts than its schema")
                if number in self._kept:
                    kept[at].extend(range(ends[at], ends[at] + count))
                ends[at] += count
        if ends != most:
            raise DamagedTableError("a record batch has more parts than its schema")
        for field, entries, size in zip((1, 2, 4), kept, (16, 16, 8), strict=True):
            batch.keep(field, entries, size)
        return message._replace(head=bytes(head))

    def _alone(
        self, dictionaries: "Sequence[_Message]", batches: "list[_Message]", columns: Sequence[str] | None = None
    ) -> "pl.DataFrame":
        """What a stream or file with these messages alone holds; the batches are taken from the list."""
        import polars as pl

        wanted = None if columns is None else list(columns)
        pieces = [piece for message in (*dictionaries, *batches) for piece in (message.head, message.body)]
        if not self._footer:
            batches.clear()
            content = b"".join((self._schema, *pieces, _END))
            pieces.clear()
            return pl.read_ipc_stream(content, columns=wanted)
        footer = bytearray(self._footer)
        table, place = _Table(self._footer, *unpack_from("<I", footer)), 8
        for number, messages in ((2, dictionaries), (3, batches)):
            at = table.vector(number)
            if at:
                pack_into("<I", footer, at, len(messages))
            for message in messages:
                pack_into(_BLOCK, footer, at + 4, place, len(message.head), len(message.body))
                place += len(message.head) + len(message.body)
                at += _BLOCK_BYTES
        batches.clear()
        end = len(footer).to_bytes(4, "little") + _FILE
        return pl.read_ipc(b"".join((_FILE, bytes(2), *pieces, _END, footer, end)), columns=wanted)

    def _messages(self) -> "Iterator[_Message]":
        """All messages, of a file its dictionaries and batches."""
        if self._footer:
            table = _Table(self._footer, *unpack_from("<I", self._footer))
            for at in (*table.blocks(2), *table.blocks(3)):
                self._stream.seek(max(0, unpack_from(_BLOCK, self._footer, at)[0]))
                message = self._message()
                if message is None:
                    raise DamagedTableError("it points outside itself")
                yield message
            return
        self._stream.seek(0)
        yield from iter(self._message, None)  # which does not hold the last one

    def _message(self) -> "_Message | None":
        """The message at this place; None at the end of a stream."""
        start = self._stream.read(4)
        prefix = start if start == _CONTINUED else b""  # which streams of early versions lack
        start = self._taken(4) if prefix else start
        if start in (b"", bytes(4)):
            return None
        metadata = self._taken(unpack_from("<i", start)[0])
        table = _Table(metadata, *unpack_from("<I", metadata))
        body = self._taken(table.number(3, _I64))
        return _Message(table.number(1, "<B"), table.table(2), prefix + start + metadata, body)

    def _taken(self, length: int) -> bytes:
        taken = self._stream.read(length) if 0 <= length <= self.size else b""
        if len(taken) != length:
            raise DamagedTableError("it is cut off, or states sizes that it does not have")
        return taken

    def _check(self, batch: "_Table", body: bytes) -> int:
        """Check what a record batch states; its bytes unpacked."""
        plain = 0
        packed = batch.has(3)
        for offset, length in batch.pairs(2):
            if offset < 0 or length < 0 or offset + length > len(body):
                raise DamagedTableError("a record batch points outside itself")
            (unpacked,) = unpack_from(_I64, body, offset) if packed and length else (-1,)
            if unpacked < -1:
                raise DamagedTableError("a buffer has a negative size")
            plain += length if unpacked == -1 else unpacked
        lengths = [length for length, _ in batch.pairs(1)]
        rows = batch.number(0, _I64)
        if min(rows, *lengths, 0) < 0:
            raise DamagedTableError("a record batch has a negative number of values")
        check_table(rows, 1, plain, self.size, sum(lengths))
        return plain


def _check_schema(schema: "_Table") -> tuple[dict[str, set[str]], dict[str, str]]:
    """Check the types of a schema, and make maps, of which polars loses pairs, lists.

    Returns:
        Names of the keys of maps by column, and what the columns have that polars does not read.
    """
    pending = [(field, field.text(0), 1) for field in schema.tables(1)]
    maps: dict[str, set[str]] = {name: set() for _, name, _ in pending}
    if len(maps) < len(pending):
        raise DamagedTableError("two columns have one name")
    unread: dict[str, str] = {}
    left = schema.size // 8  # types, of which some may be stored once
    while pending:
        field, name, level = pending.pop()
        left -= 1
        if left < 0:
            raise DamagedTableError("a schema has more columns than it has room for")
        check_nesting(level)
        inner = field.tables(5)
        if field.number(2, "<B") == _MAP:
            maps[name].add(inner[0].tables(5)[0].text(0))
            field.set_byte(2, _A_LIST)
        kind = field.number(2, "<B")
        if kind in _UNREAD or (kind == _DECIMAL and field.table(3).number(2, "<i") > _DECIMAL_BITS):
            unread[name] = _UNREAD.get(kind, WIDE)
        pending += [(child, name, level + 1) for child in inner]
    return maps, unread


def _parts(field: "_Table") -> tuple[int, int, int]:
    """How many nodes, buffers and counts of further buffers a column has in a record batch."""
    if field.has(4):  # numbers of the entries of a dictionary
        return 1, 2, 0
    kind = field.number(2, "<B")
    nodes, buffers, views = 1, _BUFFERS.get(kind, 2), int(kind in _VIEWS)
    if kind == _UNION:
        buffers += field.table(3).number(0, "<h")  # 1 if it is dense, with offsets
    for inner in map(_parts, field.tables(5)):
        nodes, buffers, views = nodes + inner[0], buffers + inner[1], views + inner[2]
    return nodes, buffers, views


def _dictionaries(field: "_Table") -> Iterator[int]:
    """Numbers of the dictionaries of a column."""
    if field.has(4):
        yield field.table(4).number(0, _I64)
    for inner in field.tables(5):
        yield from _dictionaries(inner)


class _Message(NamedTuple):
    kind: int
    header: "_Table"
    head: bytes
    body: bytes


class _Table:
    """A table of FlatBuffers."""

    def __init__(self, content: bytes | bytearray, at: int) -> None:
        self._content, self._at, self.size = content, at, len(content)

    def within(self, message: bytearray) -> "_Table":
        """The same table in the message that ends with what it is in."""
        return _Table(message, self._at + len(message) - self.size)

    def _field(self, number: int) -> int:
        """Where a field is; 0 if it is absent."""
        start = self._at - self._unpacked("<i", self._at)
        if 4 + 2 * number >= self._unpacked("<H", start):
            return 0
        offset = self._unpacked("<H", start + 4 + 2 * number)
        return self._at + offset if offset else 0

    def _unpacked(self, kind: str, at: int) -> int:
        if at < 0:
            raise DamagedTableError("a message points outside itself")
        return int(unpack_from(kind, self._content, at)[0])

    def has(self, number: int) -> bool:
        """Whether it has a field."""
        return self._field(number) > 0

    def number(self, number: int, kind: str) -> int:
        """A number; 0 if it is absent."""
        at = self._field(number)
        return self._unpacked(kind, at) if at else 0

    def set_byte(self, number: int, value: int) -> None:
        """Change a number of one byte that it has."""
        pack_into("<B", self._content, self._field(number), value)

    def text(self, number: int) -> str:
        """A text; empty if it is absent."""
        at = self.vector(number)
        return self._content[at + 4 : at + 4 + self._unpacked("<I", at)].decode(errors="replace") if at else ""

    def table(self, number: int) -> "_Table":
        """A table within this one."""
        at = self._field(number)
        return _Table(self._content, at + self._unpacked("<I", at))

    def vector(self, number: int) -> int:
        """Where a list starts, with the number of its entries; 0 if it is absent."""
        at = self._field(number)
        return at + self._unpacked("<I", at) if at else 0

    def tables(self, number: int) -> "list[_Table]":
        """A list of tables; empty if it is absent."""
        at = self.vector(number)
        count = self._unpacked("<I", at) if at else 0
        if at + 4 + 4 * count > len(self._content):
            raise DamagedTableError("it states more parts than it has")
        places = range(at + 4, at + 4 + 4 * count, 4)
        return [_Table(self._content, place + self._unpacked("<I", place)) for place in places]

    def keep_tables(self, number: int, kept: Sequence[int]) -> None:
        """Drop all other tables of a list."""
        start = self.vector(number) + 4
        for to, place in enumerate(start + 4 * at for at in kept):
            pack_into("<I", self._content, start + 4 * to, self._unpacked("<I", place) + place - start - 4 * to)
        pack_into("<I", self._content, start - 4, len(kept))

    def keep(self, number: int, kept: Sequence[int], size: int) -> None:
        """Drop all other entries, of so many bytes, of a list."""
        if not (at := self.vector(number)):
            return
        assert isinstance(self._content, bytearray)
        start = at + 4
        entries = b"".join(self._content[start + size * entry : start + size * (entry + 1)] for entry in kept)
        self._content[start : start + len(entries)] = entries
        pack_into("<I", self._content, at, len(kept))

    def numbers(self, number: int) -> list[int]:
        """A list of numbers; empty if it is absent."""
        at = self.vector(number)
        count = self._unpacked("<I", at) if at else 0
        return [each for (each,) in iter_unpack(_I64, self._content[at + 4 : at + 4 + 8 * count])]

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """A list of pairs of numbers; empty if it is absent."""
        at = self.vector(number)
        count = self._unpacked("<I", at) if at else 0
        return list(iter_unpack("<qq", self._content[at + 4 : at + 4 + 16 * count]))

    def blocks(self, number: int) -> range:
        """Where the entries of a list of blocks are."""
        at = self.vector(number)
        count = self._unpacked("<I", at) if at else 0
        if at + 4 + _BLOCK_BYTES * count > len(self._content):
            raise DamagedTableError("it states more parts than it has")
        return range(at + 4, at + 4 + _BLOCK_BYTES * count, _BLOCK_BYTES)
