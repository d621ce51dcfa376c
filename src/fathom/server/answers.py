"""Responses: files of a folder, and error messages."""

import email.utils
import gzip
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from fathom.types import Json

MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/plain; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""File types that are served."""
COMPRESSED = frozenset({".css", ".csv", ".html", ".js", ".json", ".md", ".svg", ".txt", ".webmanifest"})
"""File types whose content gets much smaller."""
SMALLEST, LARGEST = 1024, 8 << 20
"""Sizes in bytes of files that are compressed: below, headers outweigh the gain; above, it takes too long."""
_KEPT = 64  # compressed files in memory; those of a first view, and of what many look at
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types fathom",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every response: a policy that no page content can override."""


class AnswerError(Exception):
    """A request that cannot be fulfilled.

    Args:
        status: HTTP status.
        words: What was expected, and what to do.
        headers: Further headers of the response.
        more: Further fields of the response.
    """

    def __init__(
        self,
        status: int,
        words: str,
        *,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(words)
        self.status = status
        self.headers = dict(headers or {})
        self.more = dict(more or {})

    def response(self) -> JSONResponse:
        """The response."""
        return JSONResponse({"error": str(self), **self.more}, self.status, self.headers)


def file_answer(root: Path, path: str, request: Request) -> Response:
    """A file in a folder.

    Args:
        root: The folder; may be a link.
        path: The requested path, without the first "/", decoded; a path that ends in "/" is that of ``index.html``.
        request: The request, for conditional headers.

    Raises:
        AnswerError: There is no such file, or its type is not served.
    """
    names = (f"{path}index.html" if path == "" or path.endswith("/") else path).split("/")
    media = MEDIA.get(Path(names[-1]).suffix)
    # No empty or hidden names, no "..", and no names that another system would split.
    if media is None or any(not name or name[0] == "." or not name.isprintable() or "\\" in name for name in names):
        raise AnswerError(404, "there is no such page")
    try:
        base = root.resolve(strict=True)
        file = base.joinpath(*names).resolve(strict=True)
        facts = file.stat()
    except (OSError, ValueError) as error:
        raise AnswerError(404, "there is no such page") from error
    if not file.is_relative_to(base) or not stat.S_ISREG(facts.st_mode):
        raise AnswerError(404, "there is no such page")
    # Browsers revalidate each time, so that a new site is visible at once.
    headers = {"Cache-Control": "no-cache"}
    answer: Response = FileResponse(file, media_type=media, stat_result=facts, headers=headers)
    if file.suffix in COMPRESSED:
        answer.headers["vary"] = "Accept-Encoding"
        if SMALLEST <= facts.st_size <= LARGEST and _takes_gzip(request):
            packed = _packed(file, facts.st_mtime_ns, facts.st_size)
            own = {name: answer.headers[name] for name in ("etag", "last-modified", "vary")}
            own["etag"] = f'{own["etag"][:-1]}-gzip"'
            answer = Response(packed, media_type=media, headers=headers | own | {"Content-Encoding": "gzip"})
    if _is_known(answer, request):
        kept = ("etag", "cache-control", "vary")
        return Response(
            status_code=304, headers={name: answer.headers[name] for name in kept if name in answer.headers}
        )
    return answer


def _takes_gzip(request: Request) -> bool:
    """Whether the whole of a file is asked for, and may be compressed."""
    if request.method != "GET" or "range" in request.headers:
        return False
    codings = [coding.partition(";") for coding in request.headers.get("accept-encoding", "").lower().split(",")]
    weights = {name.strip(): weight.replace(" ", "") for name, _, weight in codings}
    return weights.get("gzip", "q=0") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")


@lru_cache(maxsize=_KEPT)
def _packed(file: Path, _changed: int, _size: int) -> bytes:
    return gzip.compress(file.read_bytes(), 6, mtime=0)


def _is_known(answer: Response, request: Request) -> bool:
    if tags := request.headers.get("if-none-match"):
        return answer.headers["etag"] in [tag.strip().removeprefix("W/") for tag in tags.split(",")]
    since = email.utils.parsedate(request.headers.get("if-modified-since"))
    changed = email.utils.parsedate(answer.headers["last-modified"])
    return since is not None and changed is not None and since >= changed
