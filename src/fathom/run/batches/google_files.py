"""Google's Gemini batch API: a file is uploaded, and a batch with a displayed name is made of it.

Schemas: ``google-genai`` 3.6 (``types.BatchJob``, ``types.File``). Lines of the file have a key and the body of a plain
request, lines of results the key and its response or its error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from fathom.run.batches.provider import FileForm, Result, Sent, State, as_line, given_name, pieces
from fathom.runfile.batches import Batch
from fathom.types import FathomError

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client

_STAGES: Mapping[str, Any] = {
    "JOB_STATE_SUCCEEDED": "ended",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "ended",
    "JOB_STATE_EXPIRED": "ended",
    "JOB_STATE_FAILED": "failed",
    "JOB_STATE_CANCELLED": "cancelled",
}
_NO_REASON = "Google's library does not say why a batch failed; https://aistudio.google.com may"
# Of errors in results, whose codes are those of gRPC.
_STATUS: Mapping[int, int] = {
    **{1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429},
    **{9: 400, 10: 409, 11: 400, 12: 501, 13: 500, 14: 503, 15: 500, 16: 401},
}


class GoogleFiles:
    """The batches of a project of Google's Gemini API.

    Args:
        client: Google's client, which sends everything through ``http`` and repeats nothing.
        http: Closed with this.
    """

    # Google publishes no limit on the number of requests.
    form = FileForm(requests=50_000, size=2_000_000_000)

    def __init__(self, client: Client, http: httpx2.AsyncClient) -> None:
        self._client = client.aio
        self._http = http
        self._model = ""

    def line(self, custom_id: str, sent: Sent) -> bytes:
        """See ``Provider``."""
        # /v1beta/models/NAME:generateContent; all requests of a run have the same.
        self._model = "/".join(sent.path.rpartition(":")[0].split("/")[-2:])
        return as_line({"key": custom_id, "request": sent.body})

    async def newest(self) -> str:
        """See ``Provider``: nothing says that the list has an order, so ``find`` reads all of it."""
        return ""

    async def send(self, batch: Batch, file: Path) -> str:
        """See ``Provider``."""
        uploaded = await self._client.files.upload(
            file=file, config={"display_name": batch.id, "mime_type": "application/jsonl"}
        )
        made = await self._client.batches.create(
            model=self._model, src=given_name(uploaded.name), config={"display_name": batch.id}
        )
        return given_name(made.name)

    async def find(self, batch: Batch, known: frozenset[str]) -> str | None:
        """See ``Provider``."""
        async for theirs in await self._client.batches.list(config={"page_size": 100}):
            if theirs.display_name == batch.id:
                return given_name(theirs.name)
        return ""

    async def look(self, name: str) -> State:
        """See ``Provider``. Google's library does not show how many requests are done."""
        theirs = await self._client.batches.get(name=name)
        stage, file = (
            _STAGES.get(theirs.state.value if theirs.state else "", "working"),
            theirs.dest and theirs.dest.file_name,
        )
        return State(
            stage=stage,
            results=(file,) if file else (),
            counted=None if file else 0,
            errors=((None, _NO_REASON),) if stage == "failed" else (),
        )

    async def download(self, name: str, state: State) -> AsyncIterator[bytes]:
        """See ``Provider``."""
        for file in state.results:
            with TemporaryFile() as stream:
                await self._client.files.download(file=file, destination=stream)
                stream.seek(0)
                async for piece in pieces(stream):
                    yield piece
            yield b"\n"

    def result(self, line: Mapping[str, Any]) -> Result:
        """See ``Provider``."""
        return _result(line)

    async def close(self) -> None:
        """See ``Provider``."""
        await self._client.aclose()
        await self._http.aclose()


def _result(line: Mapping[str, Any]) -> Result:
    name, response, error = str(line.get("key")), line.get("response"), line.get("error")
    if isinstance(response, Mapping):
        return Result(name, 200, response)
    if not isinstance(error, Mapping):
        return Result(name, reason="neither a response nor an error")
    code = error.get("code")
    number = code if isinstance(code, int) else 2
    status = number if 400 <= number <= 599 else _STATUS.get(number, 500)
    return Result(name, status, {"error": {**error, "code": status}})


def open_google_files(api: Any) -> GoogleFiles:
    """The batches of the project that Inspect's provider of Google talks to.

    Args:
        api: The provider, which makes a client for each request.

    Raises:
        FathomError: It talks to Vertex, whose batches differ, or with a token that would not last for a day.
    """
    import httpx2
    from google.genai.types import HttpOptions

    if api.is_vertex():
        raise FathomError("`batch`: Vertex has batches of another kind; leave out `batch`")
    if api._oauth:
        raise FathomError("`batch`: Google's batches need a key (GOOGLE_API_KEY); leave out -M use_adc")
    # With aiohttp, which it would take by itself, the library sends what it got no response to again.
    http = httpx2.AsyncClient(timeout=600.0, follow_redirects=True)
    options = HttpOptions(base_url=api.base_url, api_version=api.api_version, timeout=600_000, httpx_async_client=http)
    return GoogleFiles(api.model_client(options), http)
