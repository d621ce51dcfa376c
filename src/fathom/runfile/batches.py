"""``batches.sqlite``: which requests are in which batch, committed before anything is sent.

A batch is ``intended`` from the moment before its upload until the provider's name for it is known, then ``sent``, and
``closed`` when all that came of it is in ``replies.sqlite``. Requests of batches that are not closed are not sent
again.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from fathom.runfile.ledger import Key
from fathom.runfile.place import StorePlace
from fathom.runfile.store import clear_errors, open_for_writing, reading

FILE = "batches.sqlite"
MARK = "fathom-"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', state TEXT NOT NULL, requests INTEGER NOT NULL,
    created REAL NOT NULL, newest TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
    batch TEXT NOT NULL, number INTEGER NOT NULL, sample TEXT NOT NULL, epoch INTEGER NOT NULL,
    prompt_hash TEXT NOT NULL, removed INTEGER NOT NULL, PRIMARY KEY (batch, number)
) WITHOUT ROWID;
"""
_UNDER_WAY = "SELECT sample, epoch FROM requests WHERE batch IN (SELECT id FROM batches WHERE state != 'closed')"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of this run.

    Attributes:
        id: Its name here, which the provider is told: in the metadata, the displayed name or the ids of requests.
        name: Its name at the provider; "" until that is known.
        requests: Number of requests.
        created: Seconds since the epoch at which it was intended.
        newest: The provider's name of the newest batch before it; "" if there was none.
    """

    id: str
    name: str
    requests: int
    created: float
    newest: str


@dataclass(frozen=True, slots=True)
class BatchedRequest:
    """One request of a batch.

    Attributes:
        key: Its sample and epoch.
        prompt_hash: See ``StoredReply``.
        removed: Tokens that were removed from the prompt.
    """

    key: Key
    prompt_hash: str
    removed: int


def new_id() -> str:
    """A name for a batch: it fits into the ids of requests, which Anthropic limits to 64 letters, digits, - and _."""
    return MARK + uuid.uuid4().hex[:20]


def request_id(batch: str, number: int) -> str:
    """The id of a request, which says which batch it belongs to."""
    return f"{batch}-{number}"


def number_of(batch: str, custom_id: object) -> int | None:
    """The number of a request by its id; None if it is not one of this batch."""
    start, _, number = str(custom_id).rpartition("-")
    short = number.isascii() and number.isdigit() and len(number) < 10
    return int(number) if start == batch and short else None


class BatchStore:
    """The batches of a run, opened by the process that sends and collects them.

    Args:
        folder: The run folder; must exist.
        file: Name of the file.
        alone: Whether other processes are kept from opening it until it is closed, or this process ends.
    """

    def __init__(self, folder: Path, file: str = FILE, *, alone: bool = False) -> None:
        self.folder = folder
        self.file = file
        with clear_errors(folder, file), ExitStack() as opening:
            self._db = open_for_writing(folder, file)
            self._db.isolation_level = "DEFERRED"
            opening.callback(self._db.close)
            if alone:
                self._db.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
            # What was sent must be known after a power failure too: it has been paid for.
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)
            self._place = StorePlace(folder, file)
            opening.pop_all()  # nothing went wrong: it stays open

    def check_place(self) -> None:
        """Check that the folder is where it was.

        Raises:
            FathomError: It is not; the message says where this file is kept.
        """
        with clear_errors(self.folder, self.file):
            self._db = self._place.checked(self._db)
        self._place.check()

    def intend(self, id: str, newest: str, requests: Sequence[BatchedRequest]) -> Batch:
        """Commit what is about to be sent."""
        self.check_place()
        batch = Batch(id, "", len(requests), time.time(), newest)
        with clear_errors(self.folder, self.file), self._db:
            self._db.execute(
                "INSERT INTO batches VALUES (?, '', 'intended', ?, ?, ?)", (id, len(requests), batch.created, newest)
            )
            self._db.executemany(
                "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (id, number, *request.key, request.prompt_hash, request.removed)
                    for number, request in enumerate(requests)
                ),
            )
        return batch

    def sent(self, batch: Batch, name: str) -> None:
        """Commit the provider's name of a batch."""
        self._set(batch, "UPDATE batches SET state = 'sent', name = ? WHERE id = ?", name)

    def end(self, batch: Batch) -> None:
        """Commit that all replies of a batch are kept."""
        self._set(batch, "UPDATE batches SET state = 'closed' WHERE id = ?")

    def forget(self, batch: Batch) -> None:
        """Remove a batch that the provider never got."""
        self._set(batch, "DELETE FROM batches WHERE id = ?")
        self._set(batch, "DELETE FROM requests WHERE batch = ?")

    def _set(self, batch: Batch, query: str, *values: str) -> None:
        with clear_errors(self.folder, self.file):
            self._db = self._place.checked(self._db)
            with self._db:
                self._db.execute(query, (*values, batch.id))

    def batches(self, state: Literal["intended", "sent"]) -> list[Batch]:
        """The batches in a state, the oldest first."""
        query = "SELECT id, name, requests, created, newest FROM batches WHERE state = ? ORDER BY created, id"
        with clear_errors(self.folder, self.file):
            return [Batch(*row) for row in self._db.execute(query, (state,))]

    def names(self) -> frozenset[str]:
        """The provider's names of all batches of this run."""
        with clear_errors(self.folder, self.file):
            return frozenset(row[0] for row in self._db.execute("SELECT name FROM batches WHERE name != ''"))

    def requests(self, batch: Batch) -> Mapping[int, BatchedRequest]:
        """The requests of a batch by number."""
        query = "SELECT number, sample, epoch, prompt_hash, removed FROM requests WHERE batch = ?"
        with clear_errors(self.folder, self.file):
            rows = self._db.execute(query, (batch.id,))
            return {row[0]: BatchedRequest((row[1], row[2]), row[3], row[4]) for row in rows}

    def under_way(self) -> set[Key]:
        """What is in batches that are not closed."""
        with clear_errors(self.folder, self.file):
            return set(self._db.execute(_UNDER_WAY))

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def batches_of(judge: str) -> str:
    """The file of the batches of a model that is asked about cases, such as a judge.

    Args:
        judge: Its name.
    """
    return f"batches-{sha256(judge.encode()).hexdigest()[:12]}.sqlite"


@contextmanager
def without_batches(folder: Path, file: str) -> Iterator[None]:
    """Keep every ``BatchStore`` that is to be alone from being opened; several processes may do so at once.

    Args:
        folder: The run folder.
        file: Name of the file, which is made if it is missing: it is what is locked.

    Raises:
        FathomError: One is open.
    """
    with ExitStack() as stack:
        with clear_errors(folder, file):
            db = stack.enter_context(closing(open_for_writing(folder, file)))
            # A reader's lock, until the file is closed or this process ends.
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield


def waiting(folder: Path, file: str = FILE) -> list[Batch]:
    """The batches of a run that are not closed; none if it never sent any.

    Args:
        file: Name of the file.
    """
    if not (folder / file).is_file():
        return []
    query = "SELECT id, name, requests, created, newest FROM batches WHERE state != 'closed' ORDER BY created, id"
    with clear_errors(folder, file), reading(folder, file) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'requests'").fetchone():
            return []  # its process was killed before it sent anything
        return [Batch(*row) for row in db.execute(query)]


def requests_under_way(folder: Path) -> set[Key]:
    """What is in batches of a run that are not closed."""
    if not waiting(folder):
        return set()
    with clear_errors(folder, FILE), reading(folder, FILE) as db:
        return set(db.execute(_UNDER_WAY))
