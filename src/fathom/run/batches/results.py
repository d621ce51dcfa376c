"""The results of a batch as they were downloaded: a file of the run folder until all of them are read."""

import os
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fathom.run.batches.provider import Provider, Result, id_in, lines_of, pieces, read_line
from fathom.runfile.batches import Batch, number_of
from fathom.types import FathomError


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """Where a file has a result.

    Attributes:
        rank: 0 for an answer, 1 for another response, 2 for a request without one, 3 for a line that cannot be read.
        start: Its first byte.
        size: In bytes.
    """

    rank: int
    start: int
    size: int


@dataclass(frozen=True)
class ResultLines:
    """What a file of results has.

    Attributes:
        lines: The lines of each request by its number, answers first.
        stray: Lines that do not say which request they are of.
    """

    lines: Mapping[int, Sequence[Line]]
    stray: int

    @property
    def responses(self) -> int:
        """Requests with a response, which may be unreadable."""
        return sum(any(line.rank != 2 for line in lines) for lines in self.lines.values()) + self.stray

    @property
    def unreadable(self) -> bool:
        """Whether some lines cannot be read, or belong to no request."""
        return bool(self.stray) or any(lines[0].rank == 3 for lines in self.lines.values())


def open_results(path: Path) -> BinaryIO:
    """Open a new file for results.

    Raises:
        FathomError: It cannot be made.
    """
    try:
        return path.open("w+b")
    except OSError as error:
        raise FathomError(_unwritten(path, error)) from None


async def append(stream: BinaryIO, parts: AsyncIterable[bytes], start: int) -> None:
    """Write one download at the end of a file; what an earlier attempt has left of it is overwritten.

    Args:
        parts: The download in pieces.
        start: Where it begins.

    Raises:
        FathomError: The file cannot be written.
    """
    stream.seek(start)
    stream.truncate()
    async for part in parts:
        _write(stream, part)
    _write(stream, b"\n")
    stream.flush()
    os.fsync(stream.fileno())


def _write(stream: BinaryIO, part: bytes) -> None:
    try:
        stream.write(part)
    except OSError as error:
        raise FathomError(_unwritten(Path(stream.name), error)) from None


def _unwritten(path: Path, error: OSError) -> str:
    return (
        f"{path}: the results of a batch cannot be written: {error.strerror}. The provider still has them; run the "
        "same command again to collect them"
    )


async def find_lines(stream: BinaryIO, batch: Batch, provider: Provider) -> ResultLines:
    """Find the lines of each request of a batch.

    Args:
        stream: The file of results.
        provider: Reads lines.
    """
    stream.seek(0)
    lines, stray = dict[int, list[Line]](), 0
    async for start, line in lines_of(pieces(stream)):
        result = result_of(line, batch, provider)
        if isinstance(result, Result):
            rank = 2 if result.status is None else int(result.status != 200)
        else:
            rank, result = 3, Result(id_in(line, batch.id))
        number = number_of(batch.id, result.custom_id)
        if number is not None and number < batch.requests:
            lines.setdefault(number, []).append(Line(rank, start, len(line)))
        else:
            stray += bool(line.strip())
    return ResultLines({number: sorted(of) for number, of in lines.items()}, stray)


def result_of(line: bytes, batch: Batch, provider: Provider) -> Result | str:
    """The result in a line; or why it cannot be read, in words."""
    value = read_line(line)
    if isinstance(value, str):
        return value
    result = provider.result(value)
    return result if number_of(batch.id, result.custom_id) is not None else "it has no id of this batch"
