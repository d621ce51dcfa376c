"""The served site: rebuilt whenever the accepted submissions change, and replaced atomically.

The folder of sites contains ``current``, a link to the served site; ``sites``, the latest sites; ``bundles``, the
accepted bundles as files; and ``incoming``, uploads in progress.
"""

import fcntl
import hashlib
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fathom.board.serve.store import Store
from fathom.printing import printable
from fathom.storage.atomic import whole_file
from fathom.types import FathomError

Build: TypeAlias = Callable[[Sequence[Path], Path], None]
"""Builds a site from the files of accepted bundles into a new folder; raises FathomError."""

CURRENT, SITES, BUNDLES, INCOMING = "current", "sites", "bundles", "incoming"
LOOK_SECONDS = 5.0
AGAIN_SECONDS = 600.0
"""Seconds after which a failed build is repeated, unless a decision comes first."""
KEPT = 2
"""Number of kept sites, including the current one: pages that are already open may still load data."""
_EDITION, _LIVING = ".edition", "living.lock"
log = logging.getLogger("fathom.board")


@dataclass(frozen=True, slots=True)
class Publication:
    """State of the site.

    Attributes:
        building: Whether it is being built.
        current: Whether exactly the accepted submissions are on it.
        error: Why the last build failed; "" if it did not.
    """

    building: bool
    current: bool
    error: str


def edition_of(accepted: Sequence[str]) -> str:
    """A name for a set of accepted submissions."""
    return hashlib.sha256("\n".join(sorted(accepted)).encode()).hexdigest()


class Publisher:
    """Keeps the site up to date, in a thread.

    Args:
        store: The store of submissions.
        out: The folder of sites.
        build: Builds a site.
        stopping: Set when the server stops; the build should end early then.
        look: Seconds between checks for submissions that other servers on the same store accepted.

    Attributes:
        built: When this process last had the site of the accepted submissions, in seconds since the epoch; 0 before.
    """

    def __init__(
        self, store: Store, out: Path, build: Build, stopping: threading.Event, look: float = LOOK_SECONDS
    ) -> None:
        self.out = out
        self._store, self._build, self._look = store, build, look
        self._wake, self._stopping = threading.Event(), stopping
        self._building, self._error, self._done = False, "", ""
        self._failed, self._again, self.built = "", 0.0, 0.0
        self._thread = threading.Thread(target=self._keep, name="publisher", daemon=True)

    def start(self) -> None:
        """Starts; the site is always built once, because the site's own results may have changed."""
        self._thread.start()

    def stop(self) -> None:
        """Stops, after the running build."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def failed(self) -> bool:
        """Whether the last attempt to bring the site up to date failed."""
        return bool(self._error)

    def nudge(self) -> None:
        """Checks now whether the site is up to date; repeats a failed build."""
        self._failed = ""
        self._wake.set()

    def state(self) -> Publication:
        """The state of the site."""
        edition = edition_of(self._store.accepted())
        return Publication(self._building, self._done == edition, self._error)

    def _keep(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                edition = edition_of(self._store.accepted())
                if edition == self._done:
                    self._failed = self._error = ""
                    self.built = time.time()
                elif edition != self._failed or time.monotonic() > self._again:
                    self._publish(edition)
            except FathomError as error:  # the store is unavailable and may come back
                self._error = str(error)
                log.error("the site: %s", printable(str(error)))
            except Exception as error:  # this thread must survive any failure of a build
                self._error = f"{type(error).__name__}; see the log"
                log.exception("the site could not be built; the previous one stays")
            self._wake.wait(self._look)

    def _publish(self, edition: str) -> None:
        self._building = True
        try:
            with locked(self.out / "building.lock"):
                self._done = self._rebuild()
            self._failed, self._error, self.built = "", "", time.time()
            log.info("the site is built")
        except (FathomError, OSError) as error:
            if self._stopping.is_set():
                return
            self._failed, self._error, self._again = edition, str(error), time.monotonic() + AGAIN_SECONDS
            log.error("the site could not be built; the previous one stays: %s", printable(str(error)))
        finally:
            self._building = False

    def _rebuild(self) -> str:
        """Builds the site of the accepted submissions, and returns its edition."""
        accepted = self._store.accepted()  # again: waiting for the lock may have taken long
        edition = edition_of(accepted)
        if self._done and edition == _edition_at(self.out / CURRENT):
            return edition  # another server on this folder built it
        sites = self.out / SITES
        sites.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix="making-", dir=sites))
        try:
            self._build(bundles_in(self._store, accepted, self.out / BUNDLES), place / "site")
            (place / "site" / _EDITION).write_text(edition, "utf-8")
            number = max((int(site.name) for site in _finished(sites)), default=0) + 1
            (place / "site").rename(sites / f"{number:06d}")
            swap(sites / f"{number:06d}", self.out / CURRENT)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        for old in [*_finished(sites)[:-KEPT], *sites.glob("making-*")]:  # safe: this process has the lock
            shutil.rmtree(old, ignore_errors=True)
        return edition


def bundles_in(store: Store, accepted: Sequence[str], folder: Path) -> list[Path]:
    """Accepted bundles as files; existing complete files are reused, others removed.

    Raises:
        FathomError: The store lacks a bundle, or has changed bytes of it.
    """
    files = {id: folder / f"{id}.zip" for id in accepted}
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path not in files.values():
            path.unlink()
    for id, path in files.items():
        if path.exists() and _digest(path) == id:
            continue
        digest = hashlib.sha256()
        with whole_file(path, "wb") as stream:
            for content in store.content(id):
                digest.update(content)
                stream.write(content)
            if digest.hexdigest() != id:
                raise FathomError(f"bundle {id} is missing or changed in the store; refuse it and ask for it again")
    return list(files.values())


def swap(site: Path, link: Path) -> None:
    """Points a link to another site atomically."""
    part = link.with_name(f".{link.name}.part")
    part.unlink(missing_ok=True)
    part.symlink_to(Path(site.parent.name) / site.name, target_is_directory=True)
    part.replace(link)


def settle(out: Path) -> None:
    """Creates the folder of sites.

    Raises:
        FathomError: It cannot be created, or has other content.
    """
    try:
        if out.is_dir() and any(out.iterdir()) and not (out / SITES).is_dir():
            raise FathomError(f"`out` {out}: the folder has other content; give a new or empty folder")
        # A site is public, also for another web server; bundles are private.
        for folder, mode in ((out, 0o755), (out / SITES, 0o755), (out / BUNDLES, 0o700), (out / INCOMING, 0o700)):
            if not folder.exists():
                folder.mkdir(parents=True)
                folder.chmod(mode)
            elif mode == 0o700 and folder.stat().st_mode & 0o077:
                folder.chmod(mode)
        (out / _LIVING).touch()  # fails early if the folder cannot be written
    except OSError as error:
        raise FathomError(f"`out` {out}: cannot be made: {error.strerror or error}") from error


@contextmanager
def living(out: Path) -> Iterator[None]:
    """Registers a running server; the first one at a folder removes uploads that stopped servers left behind."""
    with (out / _LIVING).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in (out / INCOMING).iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        except BlockingIOError:
            pass  # another server is running; the uploads may be its own
        fcntl.flock(stream, fcntl.LOCK_SH)
        yield


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits for an exclusive lock on a file and holds it; it is released when the process ends."""
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _finished(sites: Path) -> list[Path]:
    return sorted((path for path in sites.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))


def _edition_at(site: Path) -> str:
    try:
        return (site / _EDITION).read_text("utf-8")
    except OSError:
        return ""
