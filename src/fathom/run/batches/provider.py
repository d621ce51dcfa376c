"""What the batch APIs have in common: a file of requests is sent, and a file of results comes back within a day."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from fathom.runfile.batches import Batch

HOURS = 24
"""The time in which all of them promise to be done."""
_PIECE = 1_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as a plain run would send it.

    Attributes:
        path: Path of its address, as ``/v1/chat/completions``.
        body: Its body.
        headers: Its headers.
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
            The provider's name of the batch.
        """
        ...

    async def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """Look for a batch of which it is not known whether the provider got it.

        Args:
            batch: The batch.
            known: Names of other batches of the run.

        Returns:
            Its name; "" if there is no such batch, None if that cannot be decided yet.
        """
        ...

    async def look(self, name: str) -> State:
        """The state of a batch."""
        ...

    def results(self, name: str, state: State) -> AsyncIterator[Result]:
        """The results of a batch in any order; lines that cannot be read are left out."""
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


async def json_lines(parts: AsyncIterable[bytes]) -> AsyncIterator[Mapping[str, Any]]:
    """The objects in a file of JSON lines; those that cannot be read are left out.

    Args:
        parts: The file in pieces. Lines end at line feeds only: replies may contain other separators.
    """
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if (value := _object(line)) is not None:
                yield value
    if (value := _object(rest)) is not None:
        yield value


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
