"""The Hugging Face hub: the latest revision of a data set, file metadata, and downloads.

huggingface_hub handles addresses, tokens and errors. The transfer is implemented here, because since version 1.18 its
own downloads use a new file name each time, so that interrupted downloads start from the beginning
(https://github.com/huggingface/huggingface_hub/pull/4228).
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar
from urllib.parse import urlsplit

from fathom.plugins.extras import install
from fathom.types import FathomError

T = TypeVar("T")
Sleep: TypeAlias = Callable[[float], None]
"""Waits for some seconds between attempts."""

TRIES = 4
BACKOFF = 0.5  # seconds, doubled for each attempt without progress
LIMITED = 429
LONGEST_WAIT = 300  # seconds; the hub counts requests in windows of five minutes
PASSING = (408, 416, LIMITED, 500, 502, 503, 504)  # 416: the partial download does not fit the file and is deleted


class SourceError(FathomError):
    """An error of one data source; others can still be fetched."""


class RevisionGoneError(SourceError):
    """The hub has the data set, but not this revision of it."""


@dataclass(frozen=True, slots=True)
class Announced:
    """The metadata that the hub gives before a download.

    Attributes:
        dataset: Id of the data set.
        revision: Commit.
        path: Path in the repository.
        url: Download address.
        size: Bytes; None if unknown.
        etag: Id of the content: the SHA-256 of a large file, the id of the Git blob of a small one.
    """

    dataset: str
    revision: str
    path: str
    url: str
    size: int | None
    etag: str

    @property
    def sha256(self) -> str:
        """Announced SHA-256 in hexadecimal, or ""."""
        return self.etag if re.fullmatch("[0-9a-f]{64}", self.etag) else ""

    @property
    def blob(self) -> str:
        """Announced id of the Git blob in hexadecimal, or ""."""
        return self.etag if re.fullmatch("[0-9a-f]{40}", self.etag) else ""


def require() -> None:
    """Check that huggingface_hub is installed.

    Raises:
        FathomError: It is not.
    """
    # Data requests only: without this, a request about the calling program is sent first.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import filelock  # noqa: F401
        from huggingface_hub.utils import httpx  # noqa: F401
    except ImportError as error:
        raise FathomError(
            f"fetching data needs huggingface_hub 1.32 or newer: {install('hub')}; "
            "or put the files into a folder yourself and build with `data` FOLDER"
        ) from error


def endpoint() -> str:
    """Address of the hub: ``$HF_ENDPOINT``, else https://huggingface.co.

    Raises:
        FathomError: The variable is not a valid address.
    """
    address = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    if not re.match(r"https?://[^/]", address):
        raise FathomError(f"HF_ENDPOINT={address!r}: expected an address such as https://huggingface.co")
    return address


def newest(dataset: str, sleep: Sleep) -> str:
    """The latest commit of a data set.

    Raises:
        FathomError: The hub does not answer, or refuses the data set.
    """
    from huggingface_hub import HfApi

    api = HfApi(endpoint=endpoint())
    with _explained(dataset):
        revision = _patiently(lambda: api.dataset_info(dataset, timeout=10).sha, sleep)
    if not revision:
        raise SourceError(f"{dataset}: {_host()} gives no revision of it")
    return revision


def announced(dataset: str, revision: str, path: str, sleep: Sleep) -> Announced:
    """The hub's metadata of a file.

    Raises:
        FathomError: The hub does not answer, or refuses the file.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    url = hf_hub_url(dataset, path, repo_type="dataset", revision=revision, endpoint=endpoint())
    with _explained(dataset, revision, path):
        metadata = _patiently(lambda: get_hf_file_metadata(url, endpoint=endpoint()), sleep)
    return Announced(dataset, revision, path, url, metadata.size, (metadata.etag or "").lower())


def download(file: Announced, part: Path, progress: Callable[[int, int | None], None], sleep: Sleep) -> int:
    """Download a file, resuming a partial download.

    Args:
        part: Where to write it; a partial download is kept.
        progress: Called with (bytes so far, bytes in total).
        sleep: Between attempts; those with progress reset their count.

    Returns:
        The number of bytes received.

    Raises:
        FathomError: The hub stops answering, or refuses the file.
        OSError: The file cannot be written.
    """
    received = 0

    def receive() -> None:
        nonlocal received
        for piece, size in _receive(file, part):
            received += piece
            progress(size, file.size)

    with _explained(file.dataset, file.revision, file.path):
        _patiently(receive, sleep, reached=lambda: _size(part))
    return received


def _receive(file: Announced, part: Path) -> Iterator[tuple[int, int]]:
    """One request for the rest; yields (bytes written now, bytes so far)."""
    from huggingface_hub.constants import HF_HUB_DOWNLOAD_TIMEOUT
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status, httpx

    received = _size(part)
    if received == file.size:
        part.touch()
        return
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if received:
        headers["Range"] = f"bytes={received}-"
    # The client sends the token to the hub only, not to the storage to which it redirects.
    with get_session().stream(
        "GET", file.url, headers=headers, follow_redirects=True, timeout=HF_HUB_DOWNLOAD_TIMEOUT
    ) as response:
        if response.status_code == 416:
            part.unlink(missing_ok=True)
        hf_raise_for_status(response)
        if response.status_code != 206:
            received = 0
        with part.open("ab" if received else "wb") as stream:
            for piece in response.iter_bytes():
                stream.write(piece)
                received += len(piece)
                yield len(piece), received
    if file.size is not None and received < file.size:
        raise httpx.RemoteProtocolError("the connection was closed early")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _patiently(action: Callable[[], T], sleep: Sleep, reached: Callable[[], int] = lambda: 0) -> T:
    """Retry an action after temporary failures; ``reached`` returns its progress."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import httpx

    tries, before = 0, reached()
    while True:
        least = 0.0
        try:
            return action()
        except HfHubHTTPError as error:
            failure: Exception = error
            if error.response.status_code not in PASSING:
                raise
            least = _asked_to_wait(error.response.status_code, error.response.headers)
        except httpx.TransportError as error:
            failure = error
        now = reached()
        tries, before = (0 if now > before else tries + 1), now
        if tries >= TRIES:
            raise failure
        sleep(max(least, BACKOFF * 2**tries))


def _asked_to_wait(status: int, headers: Mapping[str, str]) -> float:
    """Seconds until requests are accepted again, as far as a refusal says so; at most ``LONGEST_WAIT``, and one more.

    Source: the hub's documentation of rate limits (``RateLimit``: requests left, seconds to the next window), and
    RFC 9110, section 10.2.3 (``Retry-After``).
    """
    limit = re.search(r"\br=0;t=(\d+)", headers.get("RateLimit", "").replace(" ", ""))
    seconds = limit[1] if limit else headers.get("Retry-After", "").strip()
    if status != LIMITED or not re.fullmatch(r"[0-9]{1,9}", seconds):
        return 0.0
    return min(int(seconds), LONGEST_WAIT) + 1.0


@contextmanager
def _explained(dataset: str, revision: str = "", path: str = "") -> Iterator[None]:
    """Convert errors of the hub and the network to messages that say what to do."""
    from huggingface_hub import errors
    from huggingface_hub.utils import httpx

    host = _host()
    instead = "or put the same files into a folder and build with `data` FOLDER"
    try:
        yield
    except errors.OfflineModeIsEnabled as error:
        raise SourceError(f"HF_HUB_OFFLINE is set, so {dataset} cannot be fetched: unset it, {instead}") from error
    except (errors.GatedRepoError, errors.DisabledRepoError) as error:
        raise SourceError(
            f"{dataset} is gated: accept its terms on {host}/datasets/{dataset} and set HF_TOKEN to a token of that "
            f"account (or `hf auth login`), {instead}"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise SourceError(
            f"{host} has no data set {dataset}, or it is private: set HF_TOKEN to a token that may read it, {instead}"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise RevisionGoneError(f"{dataset} on {host} has no revision {revision}: update fathom, {instead}") from error
    except errors.EntryNotFoundError as error:
        raise SourceError(
            f"{dataset} on {host} has no file {path} at revision {revision}: update fathom, {instead}"
        ) from error
    except errors.HfHubHTTPError as error:
        raise _refused(dataset, error.response.status_code, host) from error
    except (ValueError, KeyError) as error:
        raise FathomError(f"{host} does not answer as a hub does: is HF_ENDPOINT its address?") from error
    except httpx.RequestError as error:
        raise FathomError(
            f"{host} cannot be reached, or the connection broke ({_without_token(str(error))}): the partial download "
            f"is kept, run the same command again to resume, {instead}"
        ) from error


def _refused(dataset: str, status: int, host: str) -> FathomError:
    if status in (401, 403):
        return SourceError(f"{host} refuses {dataset} (HTTP {status}): set HF_TOKEN to a token that may read it")
    if status in PASSING:
        return FathomError(
            f"{host} answers HTTP {status} for {dataset}, {TRIES} times in a row: try again later; the partial "
            "download is kept, and the same command resumes it"
        )
    return SourceError(f"{host} answers HTTP {status} for {dataset}: is HF_ENDPOINT the address of a hub?")


def _host() -> str:
    """The hub's address for messages, without user name and password."""
    return urlsplit(endpoint()).netloc.rpartition("@")[2]


def _without_token(message: str) -> str:
    from huggingface_hub import get_token

    token = get_token()
    return message.replace(token, "***") if token else message
