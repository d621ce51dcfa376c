"""Reads a file as a stream of bytes: decompressed, as UTF-8, split into lines, texts in parts; never all in memory."""

from __future__ import annotations

import codecs
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from fathom.storage.encodings import PROBED, encoding_of
from fathom.storage.foreign import RefusedFileError, check_expansion, open_regular

COMPRESSED = (".gz", ".zst")
CHUNK_BYTES = 1 << 16
PIECE_BYTES = 1 << 12  # of zstd
LONGEST_LINE = 1 << 30
MOST_AT_ONCE = 1 << 30  # maximum bytes of a file that must be read as a whole


class DamagedError(Exception):
    """The stream cannot be read to its end; the message follows the file's name."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def read_chunks(path: Path) -> Iterator[bytes]:
    """Yield the contents of a file as UTF-8 bytes without byte order mark.

    ``.gz`` and ``.zst`` are decompressed by their suffix; UTF-16 and UTF-32 are turned into UTF-8.
    Other bytes are passed on unchanged and reported when they are decoded.

    Raises:
        DamagedError: The file cannot be opened, read or decompressed; earlier content has been yielded.
    """
    return _as_utf8(_decompress(path))


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without their line ends.

    Raises:
        DamagedError: As for ``read_chunks``, or a line of more than 1 GiB; earlier lines have been yielded.
    """
    for line in read_long_lines(path, LONGEST_LINE):
        if not isinstance(line, bytes):
            raise DamagedError(f"has a line of more than {LONGEST_LINE >> 30} GiB")
        yield line


def read_long_lines(path: Path, long: int) -> Iterator[bytes | Iterator[bytes]]:
    """Yield the lines of a file without their line ends; of a long one its pieces, to be read before the next line.

    Args:
        long: Bytes from which a line is long.

    Raises:
        DamagedError: As for ``read_chunks``; earlier lines have been yielded.
    """
    chunks = read_chunks(path)
    left: list[bytes] = []  # what follows a long line in its last chunk
    pieces: list[bytes] = []
    size = 0

    def of_long_line(first: list[bytes]) -> Iterator[bytes]:
        yield from first
        for chunk in chunks:
            piece, ended, following = chunk.partition(b"\n")
            yield piece
            if ended:
                left.append(following)
                return

    while (chunk := left.pop() if left else next(chunks, None)) is not None:
        first, *rest = chunk.split(b"\n")
        pieces.append(first)
        size += len(first)
        for start in rest:
            yield b"".join(pieces)
            pieces, size = [start], len(start)
        if size > long:
            line = of_long_line(pieces)
            yield line
            for _ in line:  # what was not read
                pass
            pieces, size = [], 0
    if last := b"".join(pieces):
        yield last


def read_whole(path: Path) -> bytes:
    """The whole content of a file, as from ``read_chunks``.

    Raises:
        DamagedError: As for ``read_chunks``, or more than 1 GiB.
    """
    pieces, left = [], MOST_AT_ONCE
    for piece in read_chunks(path):
        left -= len(piece)
        if left < 0:
            raise DamagedError(f"is larger than {MOST_AT_ONCE >> 20:,} MiB; convert it to JSONL, or split it")
        pieces.append(piece)
    return b"".join(pieces)


def _decompress(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as file:
            raw = iter(lambda: file.read(CHUNK_BYTES), b"")
            if path.suffix.lower() == ".gz":
                yield from _frames(raw, lambda: zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), (zlib.error,))
            elif path.suffix.lower() == ".zst":
                yield from _zst_frames(raw)
            else:
                yield from raw
    except RefusedFileError as error:
        raise DamagedError(f"is {error}") from error
    except OSError as error:
        raise DamagedError(f"cannot be read: {error.strerror or error}") from error


def _zst_frames(raw: Iterable[bytes]) -> Iterator[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    def start() -> _Decompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 31})

    # A few bytes can stand for 128 KiB: in small pieces, so that not too much is unpacked before it is checked.
    pieces = (chunk[at : at + PIECE_BYTES] for chunk in raw for at in range(0, len(chunk), PIECE_BYTES))
    return _frames(pieces, start, (zstd.ZstdError,))


def _frames(
    raw: Iterable[bytes], start: Callable[[], _Decompressor], errors: tuple[type[Exception], ...]
) -> Iterator[bytes]:
    """Decompress consecutive frames, as written by ``cat a.gz b.gz`` and parallel compressors."""
    frame: _Decompressor | None = None
    packed = plain = 0
    try:
        for chunk in raw:
            rest = chunk
            packed += len(chunk)
            # Zero padding after the last frame is allowed; tapes and some tools write it.
            while rest and (frame is not None or rest.strip(b"\0")):
                frame = frame or start()
                piece = frame.decompress(rest)
                plain += len(piece)
                check_expansion(plain, packed)
                yield piece
                rest = frame.unused_data if frame.eof else b""
                frame = None if frame.eof else frame
    except errors as error:
        raise DamagedError(f"is damaged: {error}") from error
    if frame is not None:
        raise DamagedError("is damaged: it ends in the middle of the compressed data; download it again")


def _as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    head, damage = b"", None
    try:
        while len(head) < PROBED and (chunk := next(chunks, None)) is not None:
            head += chunk
    except DamagedError as error:
        damage = error
    encoding, mark = encoding_of(head)
    if damage is not None or encoding == "utf-8":
        yield head[mark:]
        if damage is not None:
            raise damage
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        yield decoder.decode(head[mark:]).encode()
        for chunk in chunks:
            yield decoder.decode(chunk).encode()
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise DamagedError(
            f"starts as {encoding[:6].upper()} but does not continue as such; save it as UTF-8"
        ) from error


# ------------------------------------------------------------------------------------------------- parts of long texts

LONG = 1 << 24
"""Bytes of UTF-8 from which a text is divided: more than any prompt can hold."""
PART = 1 << 20
"""Characters of a part, at most."""
_BOUNDS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？…][”’」』）]*"),
    re.compile(r"\s"),
)


def parts_of(pieces: Iterable[str]) -> Iterator[str]:
    """The parts of a text, each of at most ``PART`` characters; those with nothing but white space are left out.

    A part ends with a paragraph if one ends in its second half, else with a line, a sentence or a word.

    Args:
        pieces: The text in pieces of any size, with ``\\n`` line ends.
    """
    buffer = ""
    for piece in pieces:
        buffer += piece
        at = 0
        while len(buffer) - at > PART:
            end = _end_of_part(buffer, at)
            if not buffer[at:end].isspace():
                yield buffer[at:end]
            at = end
        buffer = buffer[at:]
    if buffer and not buffer.isspace():
        yield buffer


def _end_of_part(text: str, start: int) -> int:
    """Where a part that starts there ends: at the last bound in its second half, of the best kind that is there."""
    for bound in _BOUNDS:
        ends = [match.end() for match in bound.finditer(text, start + PART // 2, start + PART)]
        if ends:
            return ends[-1]
    return start + PART
