"""Anthropic's Message Batches: the requests are the body of one request, and a batch has nothing that names it.

Schemas: ``anthropic`` 2.14 (``types/messages/message_batch.py``, ``types/messages/batch_create_params.py``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.models.failures import Failure
from fathom.models.protocol import RequestError
from fathom.run.batches.provider import FileForm, Result, Sent, State, as_line, given_name, id_in, lines_of, pieces
from fathom.runfile.batches import Batch
from fathom.types import FathomError

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types.messages import MessageBatch

_BETA = "anthropic-beta"
# Of errors in results, which have no status code, by their type.
_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicMessages:
    """The batches of a workspace of Anthropic.

    Args:
        client: Anthropic's client; it does not retry.
    """

    form = FileForm(requests=100_000, size=256_000_000, start=b'{"requests":[', between=b",\n", end=b"]}")

    def __init__(self, client: AsyncAnthropic) -> None:
        self._client = client
        self._betas = ""

    def line(self, custom_id: str, sent: Sent) -> bytes:
        """See ``Provider``."""
        # Features in beta are asked for by the batch; all requests of a run ask for the same.
        self._betas = sent.headers.get(_BETA, "")
        return as_line({"custom_id": custom_id, "params": sent.body})

    async def newest(self) -> str:
        """See ``Provider``."""
        page = await self._client.messages.batches.list(limit=1)
        return page.data[0].id if page.data else ""

    async def send(self, batch: Batch, file: Path) -> str:
        """See ``Provider``."""
        from anthropic.types.messages import MessageBatch

        # The library's own function for batches makes its body in memory, from all requests.
        headers = {"Content-Type": "application/json", "Content-Length": str(file.stat().st_size)}
        with file.open("rb") as stream:
            made = await self._client.post(
                "/v1/messages/batches",
                cast_to=MessageBatch,
                content=pieces(stream),
                options={"headers": headers | ({_BETA: self._betas} if self._betas else {})},
            )
        return given_name(made.id)

    async def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """See ``Provider``: a batch is known by the ids of its requests, which are shown when it has ended.

        Until then a batch with another number of requests is another one, and one with the same number may be this one.

        Raises:
            RequestError: A batch that may be this one has ended, and its results are empty, which cannot last.
        """
        undecided, empty = False, ""
        async for batch_there in self._client.messages.batches.list(limit=100):
            # The newest come first. No clock is asked: that of this machine may be wrong by days.
            if batch_there.id == batch.newest:
                break
            if batch_there.id in known or _total(batch_there) != batch.requests:
                continue
            if batch_there.results_url is None:
                # The results of an archived batch are gone.
                undecided |= batch_there.archived_at is None
                continue
            first = await self._first_line(batch_there.id)
            if id_in(first, batch.id):
                return batch_there.id
            empty = empty or ("" if first else batch_there.id)
        if empty and not undecided:
            raise RequestError(Failure("busy", f"batch {empty}, which may be this run's, has ended without results"))
        return None if undecided else ""

    async def _first_line(self, name: str) -> bytes:
        """One result of a batch, all of which are of the same run; b"" if its results are empty."""
        async for _, line in lines_of(self.download(name, State("ended"))):
            if line.strip():
                return line
        return b""

    async def look(self, name: str) -> State:
        """See ``Provider``.

        Raises:
            RequestError: The provider has deleted the results.
        """
        theirs = await self._client.messages.batches.retrieve(name)
        if theirs.processing_status != "ended":
            return State("working")
        if theirs.results_url is None:
            raise RequestError(Failure("bad", "the provider has deleted its results, which it keeps for 29 days"))
        counts = theirs.request_counts
        return State(
            stage="cancelled" if theirs.cancel_initiated_at and counts.canceled else "ended",
            done=counts.succeeded + counts.errored,
            counted=counts.succeeded + counts.errored,
        )

    async def download(self, name: str, state: State) -> AsyncIterator[bytes]:
        """See ``Provider``."""
        async with self._client.messages.batches.with_streaming_response.results(name) as response:
            async for piece in response.iter_bytes():
                yield piece

    def result(self, line: Mapping[str, Any]) -> Result:
        """See ``Provider``."""
        return _result(line)

    async def close(self) -> None:
        """See ``Provider``."""
        await self._client.close()


def _total(batch: MessageBatch) -> int:
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


def _result(line: Mapping[str, Any]) -> Result:
    name, result = str(line.get("custom_id")), line.get("result")
    kind = result.get("type") if isinstance(result, Mapping) else None
    if isinstance(result, Mapping) and kind == "succeeded" and isinstance(result.get("message"), Mapping):
        return Result(name, 200, result["message"])
    if isinstance(result, Mapping) and kind == "errored" and isinstance(result.get("error"), Mapping):
        error = result["error"].get("error")
        type_of = error.get("type") if isinstance(error, Mapping) else None
        return Result(name, _STATUS.get(str(type_of), 500), result["error"])
    return Result(name, reason=f"the request was not answered ({kind})")


def open_anthropic_messages(client: Any) -> AnthropicMessages:
    """The batches of the workspace that a client of Anthropic's library talks to.

    Raises:
        FathomError: It is that of another service (Bedrock, Vertex), whose batches differ.
    """
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

    if type(client) is not AsyncAnthropic:
        raise FathomError(f"`batch`: {type(client).__name__} has batches of another kind; leave out `batch`")
    return AnthropicMessages(client.with_options(http_client=DefaultAsyncHttpxClient(), max_retries=0, timeout=600.0))
