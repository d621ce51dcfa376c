"""The journal of a run: every request in the order in which they ended, each entry with the hash of the one before.

A reply does not show what was asked before it: a server can answer errors in place of wrong replies until one is right,
and a reply that was deleted is asked for again. The journal shows both: ``asked_again`` counts the requests for a reply
beyond the first of each of its prompts. It is a record and no proof: who writes a whole store anew can forge it.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from fathom.types import Attempt, FathomError

Key: TypeAlias = tuple[str, int]

SCHEMA = """
CREATE TABLE IF NOT EXISTS journal (
    number INTEGER PRIMARY KEY, sample TEXT NOT NULL, epoch INTEGER NOT NULL, prompt TEXT NOT NULL,
    outcome TEXT NOT NULL, started REAL NOT NULL, seconds REAL NOT NULL, tokens_in INTEGER, tokens_out INTEGER,
    cost REAL, requests INTEGER NOT NULL, chain TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS journal_end (one INTEGER PRIMARY KEY, number INTEGER NOT NULL);
"""
LOST = "lost"
"""The outcome of a request that may have been sent by a process that died."""
UNREACHED = "unreached"
"""The outcome of a request that reached no server."""
_DIGITS = 16
"""Hexadecimal digits of a hash."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One request of the journal, or several of which no more is known.

    Attributes:
        sample: Id of the sample.
        epoch: Number of the repetition, from 1.
        prompt: What tells the prompts of a sample apart; "" if it is unknown.
        outcome: Status of the reply, kind of the failure, ``LOST`` or ``UNREACHED``.
        started: When it was sent, in seconds since the epoch.
        seconds: How long it took.
        tokens_in: Tokens of the prompt as the server counted them; None if it did not.
        tokens_out: Tokens of the reply.
        cost: US dollars; None if the price is unknown.
        requests: How many requests it stands for.
    """

    sample: str
    epoch: int
    prompt: str
    outcome: str
    started: float
    seconds: float
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    requests: int = 1


_COLUMNS = ", ".join(column.name for column in fields(Entry))
_MARKS = ", ".join("?" for _ in fields(Entry))


def entry_of(key: Key, attempt: Attempt, cost: float | None) -> Entry:
    """The entry of a request.

    Args:
        key: Sample and epoch.
        cost: US dollars; None if the price is unknown.
    """
    outcome = attempt.outcome if attempt.reached else UNREACHED
    read, written = attempt.tokens_in, attempt.tokens_out
    return Entry(*key, attempt.prompt, outcome, float(attempt.started), float(attempt.seconds), read, written, cost)


def append(db: sqlite3.Connection, entry: Entry) -> None:
    """Write an entry; the caller holds the transaction."""
    last = db.execute("SELECT chain FROM journal ORDER BY number DESC LIMIT 1").fetchone()
    values = astuple(entry)
    row = (*values, _chained(last[0] if last else "", values))
    db.execute(f"INSERT INTO journal ({_COLUMNS}, chain) VALUES ({_MARKS}, ?)", row)


def mark_end(db: sqlite3.Connection) -> None:
    """Record how long the journal is, so that missing last entries show; the caller holds the transaction."""
    db.execute("INSERT OR REPLACE INTO journal_end SELECT 1, number FROM journal ORDER BY number DESC LIMIT 1")


@dataclass(slots=True)
class Counts:
    """The requests for each reply.

    Attributes:
        requests: Number of them that may have reached a server.
        prompts: Their different prompts, as far as they are known.
    """

    requests: Counter[Key] = field(default_factory=Counter)
    prompts: dict[Key, set[str]] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Count an entry."""
        key = entry.sample, entry.epoch
        prompts = self.prompts.setdefault(key, set())
        if entry.outcome != UNREACHED:
            self.requests[key] += entry.requests
            prompts.update([entry.prompt] if entry.prompt else ())

    def again(self, key: Key) -> int:
        """The requests for a reply beyond the first of each of its prompts."""
        return max(0, self.requests[key] - max(1, len(self.prompts.get(key, ()))))

    def forget(self, key: Key) -> None:
        """Drop what is known of a reply."""
        self.requests.pop(key, None)
        self.prompts.pop(key, None)


def counts_in(db: sqlite3.Connection, path: Path) -> Counts:
    """The requests in a journal.

    Args:
        db: The store, open; it may be that of an earlier version, without a journal.
        path: Its path, for messages.

    Raises:
        FathomError: Entries were removed or changed.
    """
    counts = Counts()
    journaled = "asked_again" in {row[1] for row in db.execute("PRAGMA table_info(replies)")}
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'journal'").fetchone():
        if journaled:
            raise _changed(path, 1)  # what writes the one has made the other
        return counts
    least = db.execute("SELECT coalesce(max(number), 0) FROM journal_end").fetchone()[0]
    chain, number = "", 0
    for stored, noted, *values in db.execute(f"SELECT number, chain, {_COLUMNS} FROM journal ORDER BY number"):
        number += 1
        chain = _chained(chain, tuple(values))
        if stored != number or chain != noted:
            raise _changed(path, number)
        counts.add(Entry(*values))
    if number < least:
        raise _changed(path, number + 1)
    # A reply without an entry was written by an earlier version, or its entries were removed: nobody knows how often it
    # was asked for.
    stored_keys = db.execute("SELECT sample, epoch FROM replies WHERE prompt_hash != ''") if journaled else ()
    for sample, epoch in stored_keys:
        if (sample, epoch) not in counts.prompts:
            counts.add(Entry(sample, epoch, "", LOST, 0.0, 0.0, requests=2))
    return counts


def asked_again(db: sqlite3.Connection, path: Path) -> Mapping[Key, int]:
    """``Counts.again`` for each reply for which it is above 0; see ``counts_in``.

    Raises:
        FathomError: Entries were removed or changed.
    """
    counts = counts_in(db, path)
    return {key: again for key in counts.requests if (again := counts.again(key))}


def _changed(path: Path, number: int) -> FathomError:
    return FathomError(
        f"{path}: the journal of requests was changed at entry {number:,}, so how often samples were asked is not "
        "known any more; restore the file from a copy, or run again in another folder"
    )


def _chained(before: str, values: tuple[object, ...]) -> str:
    """The hash of an entry and all before it."""
    text = json.dumps(values, default=repr)  # bytes, where the file was changed
    return sha256(f"{before}{text}".encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
