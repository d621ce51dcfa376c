"""The writing side of a run's store: claims before requests, one committed row per reply.

A process claims a few (sample, epoch) pairs before it sends them, so that no two processes send the same request.
Claims of a process that has ended are released. Every row names its process: an ``error`` of a process that had ended
when this one joined is retried. Clocks play no part in that.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from fathom.runfile import journal
from fathom.runfile.journal import Key as Key
from fathom.runfile.place import StorePlace
from fathom.runfile.serving import ServedReply, served_replies
from fathom.runfile.store import (
    CHECKED,
    FILE,
    PAGE_BYTES,
    SCHEMA,
    SPLIT,
    Totals,
    clear_errors,
    open_for_writing,
    read_totals,
)
from fathom.runfile.store_checks import add_checksums
from fathom.runfile.worker import Worker, is_alive, retire
from fathom.safety.secrets import hide_in_text, redact
from fathom.storage.versions import fathom_version
from fathom.types import STATUSES, Attempt, FathomError, Reply, Sample, Status

PLANNED_AT_ONCE = 1000
"""Samples per transaction, so that other processes can write in between."""


class Ledger:
    """The store of a run, opened for writing by one process.

    A store keeps the format in which it was created, so that its replies are alike and earlier versions of fathom can
    still write to it.

    Args:
        folder: The run folder; must exist.
        worker: The writing process. Its claims keep others from sending the same requests.

    Attributes:
        place: Whether the folder is still where it was.
    """

    def __init__(self, folder: Path, worker: Worker) -> None:
        self.folder = folder
        self.worker = worker
        self._version = fathom_version()
        with clear_errors(folder), ExitStack() as opening:
            self._db = open_for_writing(folder, FILE)
            opening.callback(self._db.close)
            self._db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            enter_wal(self._db)
            self._db.execute("PRAGMA synchronous = NORMAL")
            # A changed journal is found before anything is paid.
            self._counts = journal.counts_in(self._db, folder / FILE)
            self._db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {journal.SCHEMA} COMMIT;")
            self.place = StorePlace(folder, FILE)
            self._noted: set[Key] = set()
            self._waiting: dict[Key, list[journal.Entry]] = {}
            self._form = self._bring_up_to_date()
            self._replies, self._planned = CHECKED[max(self._form, min(CHECKED))]
            for key in self._db.execute("SELECT sample, epoch FROM replies WHERE status != 'error'"):
                self._counts.forget(key)
            with self._writing():
                self._release_dead_claims()
                self._earlier = {row[0] for row in self._db.execute("SELECT id FROM workers WHERE pid = 0")}
                self._db.execute(
                    "INSERT INTO workers VALUES (?, ?, ?, ?, ?, ?, 0)",
                    (worker.id, worker.pid, worker.host, worker.born, worker.started, worker.started),
                )
            opening.pop_all()  # nothing went wrong: it stays open

    def _bring_up_to_date(self) -> int:
        """The format of the store. Early versions stored less of a reply."""
        with self._writing():
            present = {row[1] for row in self._db.execute("PRAGMA table_info(replies)")}
            for name in ("asked", "worker", "served"):
                if name not in present:
                    self._db.execute(f"ALTER TABLE replies ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
            if "asked_again" not in present:
                self._db.execute("ALTER TABLE replies ADD COLUMN asked_again INTEGER NOT NULL DEFAULT 0")
                columns = "sample, epoch, '', status, finished_at - seconds, seconds, tokens_in, tokens_out, cost"
                for row in self._db.execute(f"SELECT {columns} FROM replies WHERE prompt_hash != ''").fetchall():
                    journal.append(self._db, journal.Entry(*row))
        return add_checksums(self._db, self.folder / FILE, CHECKED)

    def plan(self, planned: int, samples: Iterable[Sample], epochs: int) -> None:
        """Store which replies the run will have, so that an unfinished run is recognized.

        Args:
            planned: Number of replies.
            samples: The samples to be asked.
            epochs: Repetitions of each sample.
        """
        with self._writing():
            self._db.execute("UPDATE workers SET planned = ? WHERE id = ?", (planned, self.worker.id))
        facts = (
            (sample.id, epoch, *self._facts(sample), *self._inputs(sample))
            for sample in samples
            for epoch in range(1, epochs + 1)
        )
        note = f"INSERT OR IGNORE INTO planned ({self._planned.columns}) VALUES ({_marks(self._planned.columns)})"
        while batch := list(islice(facts, PLANNED_AT_ONCE)):
            with self._writing():
                last = self._db.execute("SELECT coalesce(max(rowid), 0) FROM planned").fetchone()
                self._db.executemany(note, map(storable, batch))
                self._db.execute(f"UPDATE planned SET checksum = {self._planned.checksum} WHERE rowid > ?", last)

    def adopt(self, rows: Iterable[Sequence[object]]) -> Iterator[Key]:
        """Store replies of other stores, and plan their samples. Those that failed there are asked again.

        Args:
            rows: Values of the columns of ``CHECKED[SPLIT]``, the model that answered, how often the sample was asked
                again, and the checksum.

        Yields:
            The (sample, epoch) pairs of which another reply is stored; it is kept.
        """
        columns = f"{self._replies.columns}, served, asked_again, checksum"
        compared = "status, text, reasoning, stop"
        at = [columns.split(", ").index(name) for name in compared.split(", ")]
        note = f"INSERT OR IGNORE INTO replies ({columns}) VALUES ({_marks(columns)})"
        checked = self._replies.columns.split(", ")
        with self._writing():
            last = self._db.execute("SELECT coalesce(max(rowid), 0) FROM replies").fetchone()
            for row in rows:
                if self._db.execute(note, row).rowcount:
                    self._append_adopted(dict(zip(checked, row, strict=False)), int(str(row[-2])))
                else:
                    query = f"SELECT {compared} FROM replies WHERE sample = ? AND epoch = ?"
                    if self._db.execute(query, row[:2]).fetchone() != tuple(row[number] for number in at):
                        yield str(row[0]), int(str(row[1]))
            facts = self._planned.columns
            self._db.execute(
                f"INSERT OR IGNORE INTO planned ({facts}, checksum) SELECT {facts}, {self._planned.checksum} "
                "FROM replies WHERE rowid > ? ORDER BY rowid",
                last,
            )

    def check_place(self) -> None:
        """Check that the folder is where it was.

        Raises:
            FathomError: It is not; the message says where the replies are kept.
        """
        self._db = self.place.checked(self._db)
        self.place.check()

    def beat(self) -> None:
        """Update the heartbeat for processes on other machines."""
        with self._writing():
            self._db.execute("UPDATE workers SET beat = ? WHERE id = ?", (time.time(), self.worker.id))

    def is_finished(self, key: Key) -> bool:
        """Whether a reply is final: any status but ``error``, or a fresh error.

        An error is fresh if its process was running when this one joined, or joined later.
        """
        query = "SELECT status, worker FROM replies WHERE sample = ? AND epoch = ?"
        with clear_errors(self.folder):
            row = self._db.execute(query, key).fetchone()
        if row is None:
            return False
        status, worker = row
        return status != "error" or bool(worker and worker not in self._earlier)

    def claim(self, keys: Sequence[Key]) -> tuple[list[Key], list[Key]]:
        """Claim pairs that are neither finished nor claimed by a running process.

        Args:
            keys: (sample, epoch) pairs in the order in which they should run.

        Returns:
            The pairs now claimed by this process, and those claimed by other running processes, both in the same order.
            Finished claims of this process are released.
        """
        with self._writing():
            self._release_dead_claims()
            journal.mark_end(self._db)
            self._db.execute(
                "DELETE FROM claims WHERE worker = ? AND EXISTS (SELECT 1 FROM replies AS r WHERE r.sample = "
                "claims.sample AND r.epoch = claims.epoch AND (r.worker = claims.worker OR r.status != 'error'))",
                (self.worker.id,),
            )
            mine, others = [], []
            for key in keys:
                if self.is_finished(key):
                    continue
                if self._db.execute("INSERT OR IGNORE INTO claims VALUES (?, ?, ?)", (*key, self.worker.id)).rowcount:
                    mine.append(key)
                else:
                    query = "SELECT worker != ? FROM claims WHERE sample = ? AND epoch = ?"
                    if self._db.execute(query, (self.worker.id, *key)).fetchone()[0]:
                        others.append(key)
            return mine, others

    def finish(
        self, sample: Sample, epoch: int, reply: Reply, *, prompt_hash: str, cost: float | None
    ) -> Status | None:
        """Commit one reply. Once this returns, it survives ``kill -9``.

        Returns:
            The status of the reply it replaces; None if there was none.
        """
        key, reply = (sample.id, epoch), without_secrets(reply)
        answer = (reply.status, reply.text, reply.reasoning, reply.stop, reply.tokens_in, reply.tokens_out)
        how = (reply.tokens_reasoning, reply.seconds, reply.attempts, reply.truncated, reply.error, reply.tokens_cached)
        row = (
            sample.id,
            epoch,
            *self._facts(sample),
            sample.asked,
            prompt_hash,
            *answer,
            *how,
            cost,
            time.time(),
            self._version,
            *self._inputs(sample),
            self.worker.id,
            reply.served,
        )
        query = "SELECT status FROM replies WHERE sample = ? AND epoch = ?"
        columns = f"{self._replies.columns}, worker, served, asked_again"
        if prompt_hash and key not in self._noted:  # nobody has noted its requests one by one
            self._wait(key, _of_reply(key, reply, cost))
        row = (*row, self._counts.again(key))
        with self._writing():
            self._append(key)
            before: tuple[Status] | None = self._db.execute(query, (sample.id, epoch)).fetchone()
            self._db.execute(f"INSERT OR REPLACE INTO replies ({columns}) VALUES ({_marks(columns)})", storable(row))
            # The checksum is of the values as SQLite stores them, whose types can differ.
            self._db.execute(
                f"UPDATE replies SET checksum = {self._replies.checksum} WHERE rowid = last_insert_rowid()"
            )
        self._waiting.pop(key, None)
        self._noted.discard(key)
        if reply.status != "error":
            self._counts.forget(key)
        return before[0] if before else None

    def note(self, key: Key, attempt: Attempt, cost: float | None) -> None:
        """Take down a request.

        An answer is written with the reply that ``finish`` commits, anything else at once. If the process dies between
        the two, the claim of the sample shows that it was perhaps asked.

        Args:
            key: Sample and epoch.
            cost: US dollars; None if the price is unknown.
        """
        self._noted.add(key)
        self._wait(key, journal.entry_of(key, attempt, cost))
        if attempt.outcome not in STATUSES:
            with self._writing():
                self._append(key)
            del self._waiting[key]  # only now: what could not be written waits for the next entry

    def _wait(self, key: Key, entry: journal.Entry) -> None:
        self._waiting.setdefault(key, []).append(entry)
        self._counts.add(entry)

    def _append(self, key: Key) -> None:
        for entry in self._waiting.get(key, ()):
            journal.append(self._db, entry)

    def has_replied(self) -> bool:
        """Whether the model has replied to any prompt of the run, in this or an earlier process."""
        query = "SELECT EXISTS (SELECT 1 FROM replies WHERE status != 'error' AND prompt_hash != '')"
        with clear_errors(self.folder):
            return bool(self._db.execute(query).fetchone()[0])

    def failed(self) -> frozenset[Key]:
        """The (sample, epoch) pairs with status ``error``."""
        with clear_errors(self.folder):
            return frozenset(self._db.execute("SELECT sample, epoch FROM replies WHERE status = 'error'").fetchall())

    def totals(self) -> Totals:
        """Sums over all finished replies, including those of other processes."""
        with clear_errors(self.folder):
            return read_totals(self._db)

    def served(self) -> list[ServedReply]:
        """What the replies show about the server, including those of other processes."""
        with clear_errors(self.folder):
            return served_replies(self._db)

    def asked_again(self) -> int:
        """Number of replies that were asked for more than once."""
        with clear_errors(self.folder):
            return len(journal.asked_again(self._db, self.folder / FILE))

    def version(self) -> int:
        """A number that changes when another process writes."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Release all claims and close the file."""
        # On a full disk this fails too; the error has been reported, and claims of ended processes are released anyway.
        with suppress(FathomError), self._writing():
            for key in list(self._waiting):
                self._append(key)
            journal.mark_end(self._db)
            self._db.execute("DELETE FROM claims WHERE worker = ?", (self.worker.id,))
            self._db.execute("UPDATE workers SET pid = 0 WHERE id = ?", (self.worker.id,))
        leave_wal(self._db)
        self._db.close()
        retire(self.worker)

    def _facts(self, sample: Sample) -> tuple[object, ...]:
        """Stored facts of a sample, in the order of ``store.FACTS`` after its name and epoch."""
        facets = sample.facets if self._form >= SPLIT else {**sample.facets, **sample.inputs}
        about = (sample.item, sample.task, sample.length, sample.tokens, sample.language, sample.chance)
        return (*about, _json(list(sample.targets)), _json(dict(facets)))

    def _inputs(self, sample: Sample) -> tuple[str, ...]:
        return (_json(dict(sample.inputs)),) if self._form >= SPLIT else ()

    def _append_adopted(self, stored: Mapping[str, Any], again: int) -> None:
        """Take down the requests for a reply of another store."""
        if not stored["prompt_hash"]:
            return
        names = ("sample", "epoch", "status", "seconds", "finished_at", "tokens_in", "tokens_out", "cost")
        sample, epoch, status, seconds, ended, read, written, cost = (stored[name] for name in names)
        entry = journal.Entry(sample, epoch, "", status, ended - seconds, seconds, read, written, cost, 1 + again)
        journal.append(self._db, entry)
        if status == "error":  # it is asked again
            self._counts.add(entry)

    def _release_dead_claims(self) -> None:
        now = time.time()
        for row in self._db.execute("SELECT id, pid, host, born, started, beat FROM workers WHERE pid != 0").fetchall():
            if row[0] != self.worker.id and not is_alive(Worker(*row[:5]), beat=row[5], now=now):
                self._db.execute("UPDATE workers SET pid = 0 WHERE id = ?", (row[0],))
                self._note_lost(row[0])
                self._db.execute("DELETE FROM claims WHERE worker = ?", (row[0],))

    def _note_lost(self, worker: str) -> None:
        """Take down what a process that died may have asked without storing a reply."""
        query = (
            "SELECT sample, epoch FROM claims WHERE worker = ? AND NOT EXISTS (SELECT 1 FROM replies AS r WHERE "
            "r.sample = claims.sample AND r.epoch = claims.epoch AND r.status != 'error')"
        )
        for sample, epoch in self._db.execute(query, (worker,)).fetchall():
            entry = journal.Entry(sample, epoch, "", journal.LOST, time.time(), 0.0)
            journal.append(self._db, entry)
            self._counts.add(entry)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with clear_errors(self.folder):
            self._db = self.place.checked(self._db)
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _of_reply(key: Key, reply: Reply, cost: float | None) -> journal.Entry:
    """The entry of all requests for a reply of which no more is known."""
    started = time.time() - reply.seconds
    attempt = Attempt("", reply.status, started, reply.seconds, reply.tokens_in, reply.tokens_out)
    return replace(journal.entry_of(key, attempt, cost), requests=max(1, reply.attempts))


def enter_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL mode; two processes that start together can collide here, and SQLite does not wait."""
    for attempt in range(100):
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or attempt == 99:
                raise
            time.sleep(0.05)


def leave_wal(db: sqlite3.Connection) -> None:
    """Merge the log into the file so that it can be read from a read-only disk, unless others have it open."""
    with suppress(sqlite3.Error):
        db.execute("PRAGMA busy_timeout = 0")
        db.execute("PRAGMA journal_mode = DELETE")


def without_secrets(reply: Reply) -> Reply:
    """The reply without secrets: a server can echo the key in an error, a reply, anywhere."""
    return replace(
        reply,
        text=redact(reply.text),
        reasoning=redact(reply.reasoning),
        stop=redact(reply.stop),
        served=redact(reply.served),
        error=hide_in_text(reply.error),
    )


def _marks(columns: str) -> str:
    return ", ".join("?" for _ in columns.split(", "))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def storable(row: tuple[object, ...]) -> tuple[object, ...]:
    """Models can emit half a surrogate pair, which UTF-8 cannot encode: it is escaped."""
    return tuple(
        value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) and not _is_utf8(value) else value
        for value in row
    )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
