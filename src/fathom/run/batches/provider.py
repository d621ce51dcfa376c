"""What the batch APIs have in common: a file of requests is sent, and a file of results comes back within a day."""

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from fathom.models.failures import Failure
from fathom.models.protocol import RequestError
from fathom.runfile.batches import Batch

HOURS = 24
"""The time in which all of them promise to be done."""
_PIECE = 1_000_000
MOST_BYTES = 64_000_000
"""Of a line of results; a plain run reads no larger response either."""
_DIGITS, _IMPOSSIBLE = 4000, 40
"""Python reads no whole number that is much longer, to spend no quadratic time; no count has as many as 40 digits."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as a plain run would send it.

    Attributes:
        path: Path of its address, as ``/v1/chat/completions``.
    """

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FileForm:
    """The form and limits of a file of requests.

    Attributes:
        requests: The most requests.
        size: The most bytes.
        start: What comes before the first request.
        between: What comes between two requests.
        end: What comes after the last one.
    """

    requests: int
    size: int
    start: bytes = b""
    between: bytes = b"\n"
    end: bytes = b"\n"


@dataclass(frozen=True, slots=True)
class State:
    """A batch as its provider describes it.

    Attributes:
        stage: ``checked`` (not accepted yet), ``working``, ``ended`` (there may be results), ``failed`` (it was not
            accepted), or ``cancelled`` by somebody (there may be results).
        done: Requests that are done.
        results: Names of the files of results.
        counted: Requests with a response, which are to be found in them; None if the provider does not say.
        full: Whether it was not accepted because too much is waiting already.
        errors: Why it was not accepted, and for which requests; the number of one is None if it concerns all.
    """

    stage: Literal["checked", "working", "ended", "failed", "cancelled"]
    done: int = 0
    results: tuple[str, ...] = ()
    counted: int | None = None
    full: bool = False
    errors: tuple[tuple[int | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """One line of a file of results.

    Attributes:
        custom_id: The id of the request.
        status: The status code that a plain request would have got; None if it was not answered.
        body: The body that a plain request would have got.
        reason: Why it was not answered.
    """

    custom_id: str
    status: int | None = None
    body: Mapping[str, Any] | None = None
    reason: str = ""


class Provider(Protocol):
    """A batch API. All methods may raise what its client library raises."""

    form: FileForm

    def line(self, custom_id: str, sent: Sent) -> bytes:
        """One request in the form of the file."""
        ...

    async def newest(self) -> str:
        """The name of the newest batch of the account; "" if there is none."""
        ...

    async def send(self, batch: Batch, file: Path) -> str:
        """Upload a file and start its batch. Nothing is repeated: a second request would be a second batch.

        Returns:
            The provider's name of the batch (``given_name``).
        """
        ...

    async def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """Look for a batch of which it is not known whether the provider got it.

        Args:
            known: Names of other batches of the run.

        Returns:
            Its name; "" if there is no such batch, None if that cannot be decided yet.
        """
        ...

    async def look(self, name: str) -> State:
        """The state of a batch."""
        ...

    def download(self, name: str, state: State) -> AsyncIterator[bytes]:
        """The results of a batch in any order, as JSON lines in pieces."""
        ...

    def result(self, line: Mapping[str, Any]) -> Result:
        """The result in one of these lines."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


def as_line(value: object) -> bytes:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


async def pieces(stream: BinaryIO) -> AsyncIterator[bytes]:
    """The rest of a file in pieces."""
    while piece := stream.read(_PIECE):
        yield piece


async def lines_of(parts: AsyncIterable[bytes]) -> AsyncIterator[tuple[int, bytes]]:
    """The lines of a file, in linear time; of a line that is longer than ``MOST_BYTES`` no more than one byte more.

    Args:
        parts: The file in pieces. Lines end at line feeds only: replies may contain other separators.

    Yields:
        The first byte of each line in the file, and the line.
    """
    line, start, read = bytearray(), 0, 0
    async for part in parts:
        first, *others = part.split(b"\n")
        line += first[: MOST_BYTES + 1 - len(line)]
        read += len(first)
        for other in others:
            yield start, bytes(line)
            line, start = bytearray(other[: MOST_BYTES + 1]), read + 1
            read = start + len(other)
    yield start, bytes(line)


def read_line(line: bytes) -> Mapping[str, Any] | str:
    """The object on a line of JSON, whose longest numbers are rounded; or why it cannot be read, in words."""
    if len(line) > MOST_BYTES:
        return f"it is longer than {MOST_BYTES // 1_000_000} MB"
    try:
        value = json.loads(line, parse_int=_whole_number)
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"
    return value if isinstance(value, dict) else "it is no JSON object"


def _whole_number(digits: str) -> int:
    return int(digits if len(digits) <= _DIGITS else digits[:_IMPOSSIBLE])


def id_in(line: bytes, batch: str) -> str:
    """The id of a request of a batch, as the text of a line has it that cannot be read; "" if it has none."""
    match = re.search(rb"%s-[0-9]{1,9}(?![0-9])" % batch.encode(), line)
    return match[0].decode() if match else ""


def given_name(name: object) -> str:
    """The name that a provider has given to a file or a batch.

    Raises:
        RequestError: It gave none, so nobody knows what became of the request.
    """
    if isinstance(name, str) and name:
        return name
    raise RequestError(Failure("busy", "the provider's response names neither a file nor a batch"))
