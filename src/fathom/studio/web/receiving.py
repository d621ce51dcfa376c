"""Receives forms with files: ``multipart/form-data``, with limits of sizes, numbers and time."""

import errno
from collections.abc import AsyncGenerator

import anyio
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from fathom.server.answers import AnswerError

MOST_FILES = 100
MOST_FIELDS = 20
MOST_OF_FILE = 64 << 20
"""Bytes of one file."""
MOST_OF_ALL = 256 << 20
"""Bytes of all files of one form."""
IDLE_SECONDS = 30.0
"""Without a byte."""
SECONDS = 900.0
"""For the whole form."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


async def pieces_of(request: Request, most: int, seconds: float = SECONDS) -> AsyncGenerator[bytes]:
    """The body of a request.

    Args:
        most: Maximum number of bytes.
        seconds: Maximum time.

    Raises:
        AnswerError: It is too long, or does not arrive in time.
    """
    late = AnswerError(408, "the form did not arrive in time; send it again")
    stated = request.headers.get("content-length", "")
    if stated.isascii() and stated.isdecimal() and int(stated[:20]) > most:
        raise _too_large(most)
    received, deadline = 0, anyio.current_time() + seconds
    pieces = request.stream()
    while True:
        piece = None
        with anyio.move_on_after(min(IDLE_SECONDS, deadline - anyio.current_time())):
            piece = await anext(pieces, b"")
        if piece is None:
            raise late
        if not piece:
            return
        received += len(piece)
        if received > most:
            raise _too_large(most)
        yield piece


async def receive_files(request: Request) -> tuple[dict[str, str], tuple[UploadFile, ...]]:
    """The fields of a form, and its files, which have no name in any folder and end with the process.

    Raises:
        AnswerError: It cannot be read, is too large, or does not arrive in time, or there is no space for it.
    """
    parser = MultiPartParser(
        request.headers, pieces_of(request, MOST_OF_ALL), max_files=MOST_FILES, max_fields=MOST_FIELDS
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        few = "Too many" in error.message
        words = f"at most {MOST_FILES} files at once; send the others afterwards" if few else error.message
        raise AnswerError(413 if few else 400, f"the form cannot be read: {words}") from error
    except OSError as error:
        if error.errno in _FULL:
            words = "the server has no space for these files; nothing was stored; ask an administrator"
            raise AnswerError(507, words) from error
        raise
    fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    # A file field that was left empty is sent as a file without a name.
    files = tuple(file for _, file in form.multi_items() if isinstance(file, UploadFile) and file.filename)
    if large := [file.filename for file in files if (file.size or 0) > MOST_OF_FILE]:
        close(files)
        words = f"{large[0]}: more than {MOST_OF_FILE >> 20} MiB; nothing was stored; split it, or ask an administrator"
        raise AnswerError(413, f"{words}, who can add it with `fathom studio add-documents`")
    return fields, files


def close(files: tuple[UploadFile, ...]) -> None:
    """Frees the space of files."""
    for file in files:
        file.file.close()


def _too_large(most: int) -> AnswerError:
    return AnswerError(413, f"the form has more than {most:,} bytes; shorten it, or send fewer files at once")
