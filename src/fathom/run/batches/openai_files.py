"""OpenAI's batch API, and that of servers like it: a file is uploaded, and a batch is made of it.

Schemas: ``openai`` 3.57 (``types/batch.py``, ``types/batch_create_params.py``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fathom.run.batches.provider import FileForm, Result, Sent, State, as_line, given_name
from fathom.runfile.batches import Batch
from fathom.types import FathomError

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch as Theirs

_KEY = "fathom"
_FULL = frozenset({"token_limit_exceeded", "request_limit_exceeded"})
_STAGES: Mapping[str, Any] = {
    "validating": "checked",
    "failed": "failed",
    "completed": "ended",
    "expired": "ended",
    "cancelled": "cancelled",
}
_PAGE = 100
"""How many batches of a list are asked for at once; as many in a row, each older than the one before it, show that the
list has the newest first."""


class OpenAIFiles:
    """The batches of an account of OpenAI, or of a server with the same API.

    Args:
        client: OpenAI's client; it does not retry.
    """

    form = FileForm(requests=50_000, size=200_000_000)

    def __init__(self, client: AsyncOpenAI) -> None:
        self._client = client
        # Addresses of requests are given as OpenAI has them, whatever comes before /chat/completions on a server.
        self._before = urlsplit(str(client.base_url)).path.rstrip("/")
        self._endpoint = ""

    def line(self, custom_id: str, sent: Sent) -> bytes:
        """See ``Provider``."""
        self._endpoint = "/v1" + sent.path.removeprefix(self._before)
        return as_line({"custom_id": custom_id, "method": "POST", "url": self._endpoint, "body": sent.body})

    async def newest(self) -> str:
        """See ``Provider``. Servers like OpenAI's may list the oldest first: then this is the oldest."""
        try:
            page = await self._client.batches.list(limit=1)
            return str(page.data[0].id) if page.data else ""
        except Exception as error:
            if getattr(error, "status_code", None) in (401, 403):
                raise
            return ""  # a server without a list, or with another one: then all of it is read where it is needed

    async def send(self, batch: Batch, file: Path) -> str:
        """See ``Provider``."""
        with file.open("rb") as stream:
            uploaded = await self._client.files.create(file=(f"{batch.id}.jsonl", stream), purpose="batch")
        endpoint: Any = self._endpoint
        made = await self._client.batches.create(
            input_file_id=given_name(uploaded.id), endpoint=endpoint, completion_window="24h", metadata={_KEY: batch.id}
        )
        return given_name(made.id)

    async def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """See ``Provider``."""
        seen, last, falling = set[str](), 0, 0  # times by the server's clock only: that of this machine may be wrong
        async for theirs in self._client.batches.list(limit=_PAGE):
            if (theirs.metadata or {}).get(_KEY) == batch.id:
                return given_name(theirs.id)
            # OpenAI lists the newest first. Other servers may have another order, or repeat a page for ever.
            falling = falling + 1 if theirs.created_at < last else 0 if theirs.created_at > last else falling
            if theirs.id in seen or (falling >= _PAGE and batch.newest in seen):
                break
            seen.add(theirs.id)
            last = theirs.created_at
        return ""

    async def look(self, name: str) -> State:
        """See ``Provider``."""
        theirs = await self._client.batches.retrieve(name)
        counts = theirs.request_counts
        return State(
            stage=_STAGES.get(theirs.status, "working"),
            done=_done(counts) or 0,
            results=tuple(file for file in (theirs.output_file_id, theirs.error_file_id) if file),
            counted=_done(counts),
            full=any(error.code in _FULL for error in _errors(theirs)),
            errors=tuple(
                (error.line - 1 if isinstance(error.line, int) else None, f"{error.message or ''} ({error.code})")
                for error in _errors(theirs)
            ),
        )

    async def download(self, name: str, state: State) -> AsyncIterator[bytes]:
        """See ``Provider``."""
        for file in state.results:
            async with self._client.files.with_streaming_response.content(file) as response:
                async for piece in response.iter_bytes():
                    yield piece
            yield b"\n"

    def result(self, line: Mapping[str, Any]) -> Result:
        """See ``Provider``."""
        return _result(line)

    async def close(self) -> None:
        """See ``Provider``."""
        await self._client.close()


def _done(counts: Any) -> int | None:
    """Requests that are done; None if the server does not count them."""
    completed, failed = (getattr(counts, name, None) for name in ("completed", "failed"))
    return completed + failed if isinstance(completed, int) and isinstance(failed, int) else None


def _errors(theirs: Theirs) -> list[Any]:
    return list(theirs.errors.data or ()) if theirs.errors else []


def _result(line: Mapping[str, Any]) -> Result:
    name, response, error = str(line.get("custom_id")), line.get("response"), line.get("error")
    if not isinstance(response, Mapping):
        return Result(name, reason=str(error.get("message") if isinstance(error, Mapping) else "no response"))
    status, body = response.get("status_code"), response.get("body")
    if not isinstance(status, int) or not isinstance(body, Mapping):
        return Result(name, reason="the response has no status or no body")
    return Result(name, status, body)


def open_openai_files(client: Any) -> OpenAIFiles:
    """The batches of the account, or the server, that a client of OpenAI's library talks to.

    Raises:
        FathomError: It is that of another service (Azure, Bedrock), whose batches differ.
    """
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    if type(client) is not AsyncOpenAI:
        raise FathomError(f"`batch`: {type(client).__name__} has batches of another kind; leave out `batch`")
    return OpenAIFiles(client.with_options(http_client=DefaultAsyncHttpxClient(), max_retries=0, timeout=600.0))
