"""Bodies of requests: bundles into files, small JSON objects, each with a limit that the sender cannot pass."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.requests import Request

from fathom.board.serve.answers import AnswerError
from fathom.board.serve.limits import Limits
from fathom.types import FathomError, Json

CLOSE = {"Connection": "close"}
BODY = 16 << 10
"""Bytes of the largest JSON body."""


async def receive_bundle(request: Request, path: Path, limits: Limits) -> tuple[str, int]:
    """Write the body of a request to a file.

    Args:
        request: Its body is the bundle, as it is.
        path: The file.
        limits: Bytes of the largest body, time for all of it to come, and for the next piece.

    Returns:
        The SHA-256 of the bytes, and how many they are.

    Raises:
        AnswerError: The type is another one, it is too large or too slow, it is empty, or the disk is full.
        FathomError: The folder cannot be written for another reason.
        starlette.requests.ClientDisconnect: The sender went away.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/zip" or "content-encoding" in request.headers:
        raise AnswerError(415, "send the bundle as it is, with Content-Type: application/zip")
    most = limits.bundle_bytes
    _expect(request, most)
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("wb") as stream:
            async for content in _timely(request, limits.upload_seconds, limits.idle_seconds):
                size += len(content)
                if size > most:
                    raise _too_large(most)
                digest.update(content)
                stream.write(content)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise FathomError(f"{path.parent}: bundles cannot be written into it: {error.strerror or error}") from error
        raise AnswerError(507, "no space is left on the server; nothing was taken in, try again later") from None
    if size == 0:
        raise AnswerError(422, "the body is empty; send a bundle that `fathom board bundle` wrote")
    return digest.hexdigest(), size


async def receive_json(request: Request, limits: Limits) -> dict[str, Json]:
    """The body of a request, a JSON object; empty where there is no body.

    Args:
        request: The request.
        limits: Time for it to come.

    Raises:
        AnswerError: It is something else, too large or too slow.
    """
    _expect(request, BODY)
    body = b""
    async for content in _timely(request, limits.idle_seconds, limits.idle_seconds):
        body += content
        if len(body) > BODY:
            raise _too_large(BODY)
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise AnswerError(400, 'the body cannot be read; expected a JSON object such as {"reason": "..."}')
    return found


async def _timely(request: Request, seconds: float, idle: float) -> AsyncIterator[bytes]:
    """The pieces of a body: all of them in so many seconds, and each within ``idle`` after the last."""
    until, stream = asyncio.get_running_loop().time() + seconds, aiter(request.stream())
    while True:
        left = until - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(left, idle)):
                content = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            said = f"within {seconds:g} seconds" if left <= idle else f"to an end: nothing came for {idle:g} seconds"
            raise AnswerError(408, f"the body did not come {said}; send it again", headers=CLOSE) from None
        yield content


def _expect(request: Request, most: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise AnswerError(400, "Content-Length is no number")
    if len(length) > 18 or int(length) > most:
        raise _too_large(most)


def _too_large(most: int) -> AnswerError:
    shown = f"{most / (1 << 20):.4g} MiB" if most >= 1 << 20 else f"{most:,} bytes"
    return AnswerError(413, f"the body is larger than {shown}, the most that this server takes")
