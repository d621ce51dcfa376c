"""One SQLite file per run: every finished reply is a committed row, and several processes can share the work.

The file is in WAL mode with small pages, so that a row and its entry in the journal cost five kilobytes of writing,
whatever the size of the prompt (which is never stored). With ``synchronous=NORMAL`` a commit survives ``kill -9``;
after a power failure the last commits may be missing, but the file is intact.

This module is the reading side; ``fathom.runfile.ledger`` writes.
"""

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from fathom.models.usage import counted, paid, with_counts
from fathom.runfile.journal import asked_again
from fathom.runfile.manifest import no_run
from fathom.runfile.serving import ServedReply, cut_in, served_column, served_replies
from fathom.runfile.store_checks import Formats, Rows, check_rows
from fathom.runfile.worker import Worker, is_alive
from fathom.storage.foreign import BESIDE, check_files, check_schema
from fathom.types import STATUSES, Facet, FathomError, Reply, Status
from fathom.types.samples import CONTROLS

FILE = "replies.sqlite"
PAGE_BYTES = 1024
BUSY_SECONDS = 60.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    sample TEXT NOT NULL, epoch INTEGER NOT NULL, item TEXT NOT NULL, task TEXT NOT NULL, length INTEGER NOT NULL,
    tokens INTEGER NOT NULL, language TEXT NOT NULL, chance REAL NOT NULL, targets TEXT NOT NULL, facets TEXT NOT NULL,
    asked TEXT NOT NULL, prompt_hash TEXT NOT NULL, status TEXT NOT NULL, text TEXT NOT NULL,
    reasoning TEXT NOT NULL, stop TEXT NOT NULL,
    tokens_in INTEGER, tokens_out INTEGER, tokens_reasoning INTEGER, seconds REAL NOT NULL, attempts INTEGER NOT NULL,
    truncated INTEGER NOT NULL, error TEXT NOT NULL, tokens_cached INTEGER, cost REAL,
    finished_at REAL NOT NULL, fathom_version TEXT NOT NULL, worker TEXT NOT NULL DEFAULT '', checksum INTEGER,
    inputs TEXT, served TEXT NOT NULL DEFAULT '', asked_again INTEGER NOT NULL DEFAULT 0, UNIQUE (sample, epoch)
);
CREATE TABLE IF NOT EXISTS planned (
    sample TEXT NOT NULL, epoch INTEGER NOT NULL, item TEXT NOT NULL, task TEXT NOT NULL, length INTEGER NOT NULL,
    tokens INTEGER NOT NULL, language TEXT NOT NULL, chance REAL NOT NULL, targets TEXT NOT NULL, facets TEXT NOT NULL,
    checksum INTEGER, inputs TEXT, UNIQUE (sample, epoch)
);
CREATE TABLE IF NOT EXISTS claims (
    sample TEXT NOT NULL, epoch INTEGER NOT NULL, worker TEXT NOT NULL, PRIMARY KEY (sample, epoch)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS workers (
    id TEXT PRIMARY KEY, pid INTEGER NOT NULL, host TEXT NOT NULL, born TEXT NOT NULL, started REAL NOT NULL,
    beat REAL NOT NULL, planned INTEGER NOT NULL
) WITHOUT ROWID;
"""
COLUMNS = (
    "sample, epoch, item, task, length, tokens, language, chance, targets, facets, asked, prompt_hash, status, "
    "text, reasoning, stop, tokens_in, tokens_out, tokens_reasoning, seconds, attempts, truncated, error, "
    "tokens_cached, cost, finished_at, fathom_version"
)
# Folders of earlier versions can hold impossible token counts, and costs computed from them.
_COST = paid("cost", "tokens_in", "tokens_out", "tokens_cached")
_READ = COLUMNS.replace(" cost,", f" {_COST},")
FACTS = "sample, epoch, item, task, length, tokens, language, chance, targets, facets"
"""The columns of ``planned``: facts of a sample before it is asked."""
_UNASKED = "not asked yet; run the same command again"
SPLIT = 3
"""The first format that separates facets from inputs; before it, facets serve as both."""
CHECKED: Formats = {
    2: (Rows("replies", COLUMNS, "sample, epoch"), Rows("planned", FACTS, "sample, epoch")),
    SPLIT: (
        Rows("replies", f"{COLUMNS}, inputs", "sample, epoch"),
        Rows("planned", f"{FACTS}, inputs", "sample, epoch"),
    ),
}


@dataclass(frozen=True, slots=True)
class StoredReply:
    """One row of the store: the facts of a sample, and what the model replied.

    Attributes:
        sample: Id of the sample.
        item: The question, independent of length.
        task: Name of the task.
        length: Budget of the prompt in tokens.
        tokens: Tokens of the whole prompt (suite's tokenizer), before truncation.
        language: ISO 639-1 code.
        chance: Expected score of a random valid answer.
        targets: Gold answers.
        facets: Groups for breaking down results.
        inputs: Further input of the scorer; the facets in runs of earlier versions.
        asked: The bare question, or "".
        epoch: Number of the repetition, from 1.
        reply: The reply.
        prompt_hash: First 16 hexadecimal digits of the SHA-256 of the prompt sent; "" if none was sent.
        cost: US dollars; None if the price is unknown.
        finished_at: Seconds since the epoch.
        fathom_version: Version that wrote the row.
        asked_again: See ``fathom.runfile.journal``.
    """

    sample: str
    item: str
    task: str
    length: int
    tokens: int
    language: str
    chance: float
    targets: tuple[str, ...]
    facets: dict[str, Facet]
    inputs: dict[str, Facet]
    asked: str
    epoch: int
    reply: Reply
    prompt_hash: str
    cost: float | None
    finished_at: float
    fathom_version: str
    asked_again: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the store.

    Attributes:
        counts: Finished replies by status.
        tokens_in: Prompt tokens, as counted by providers.
        tokens_out: Completion tokens.
        paid: US dollars of the replies with a known price.
        priced: Replies to sent prompts with a known price.
        unpriced: Replies without one.
        last: Seconds since the epoch of the last reply; None if there is none.
    """

    counts: Mapping[Status, int]
    tokens_in: int = 0
    tokens_out: int = 0
    paid: float = 0.0
    priced: int = 0
    unpriced: int = 0
    last: float | None = None

    @property
    def finished(self) -> int:
        """Replies in the store, errors among them."""
        return sum(self.counts.values())

    @property
    def cost(self) -> float | None:
        """US dollars of the replies with a known price; None if prompts were sent and none has one."""
        return None if self.unpriced and not self.priced else self.paid


NOTHING = Totals(dict.fromkeys(STATUSES, 0))


def replies(folder: Path) -> Iterator[StoredReply]:
    """Read the finished replies of a run, which may still be in progress.

    Args:
        folder: The run folder.

    Yields:
        Rows by task, length, sample and epoch, whichever reply came first. Where the server cut the prompt
        (``fathom.runfile.serving``), the status is ``overflow``: what it answered says nothing about the length.

    Raises:
        FathomError: The folder holds no run, or its file is damaged.
    """
    with clear_errors(folder), reading(folder) as db:
        inputs, cut = _inputs(check_rows(db, folder / FILE, CHECKED)), cut_in(folder, db)
        again = asked_again(db, folder / FILE)
        query = f"SELECT {served_column(db)}, {_READ}, {inputs} FROM replies ORDER BY task, length, sample, epoch"
        for served, *row in db.execute(query):
            _check(folder / FILE, row)
            stored = _stored(row, str(served))
            key = stored.sample, stored.epoch
            stored = replace(stored, asked_again=again[key]) if key in again else stored
            prompt = cut.get(key)
            yield stored if prompt is None else _without_answer(stored, str(prompt))


def new_replies(folder: Path, after: int, most: int) -> list[tuple[int, StoredReply]]:
    """The replies that were stored after another one, and that one, for a look at a run that goes on.

    Checksums are not verified, and prompts that the server cut are not found, for which everything has to be read.

    Args:
        after: Number of the last row that was read; 0 for none. Numbers grow, but for a failed request that is the last
            row and is repeated: so the last row is read again.
        most: How many are read.

    Returns:
        Numbers and replies, ascending; none if there is no store yet.

    Raises:
        FathomError: The file is damaged.
    """
    if not (folder / FILE).is_file():
        return []
    with clear_errors(folder), reading(folder) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(replies)")}
        inputs = "inputs" if "inputs" in columns else "NULL"
        query = f"SELECT rowid, {_READ}, {inputs} FROM replies WHERE rowid >= ? ORDER BY rowid LIMIT ?"
        rows = db.execute(query, (after, most)).fetchall() if columns else []
    for row in rows:
        _check(folder / FILE, row[1:])
    return [(row[0], _stored(row[1:])) for row in rows]


def planned_cells(folder: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """The replies that a run will have, and the tokens of their prompts, by task and length.

    Prompts that are not whole (``Sample.whole``) have the length 0. Empty if there is no store yet, or an earlier
    version made it.
    """
    if not (folder / FILE).is_file():
        return {}
    with clear_errors(folder), reading(folder) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'planned'").fetchone():
            return {}
        partly = "json_extract(facets, '$.cut_from') IS NOT NULL OR json_extract(facets, '$.context') IN (?, ?)"
        at = f"CASE WHEN {partly} THEN 0 ELSE length END"
        query = f"SELECT task, {at} AS at, count(*), sum(tokens) FROM planned GROUP BY task, at"
        return {(str(task), int(at)): (count, tokens) for task, at, count, tokens in db.execute(query, CONTROLS)}


def last_reply(folder: Path) -> tuple[int, float | None]:
    """A number that changes with the replies of a run, and when the last one came, in seconds since the epoch."""
    if not (folder / FILE).is_file():
        return 0, None
    with clear_errors(folder), reading(folder) as db:
        number, last = db.execute("SELECT coalesce(max(rowid), 0), max(finished_at) FROM replies").fetchone()
    return int(number), last


def working_since(folder: Path) -> float | None:
    """When the first of the processes began that work on a run now, in seconds since the epoch; None if none does."""
    if not (folder / FILE).is_file():
        return None
    with clear_errors(folder), reading(folder) as db:
        joined, now = Peek(db, folder).workers(), time.time()
    living = [row.worker.started for row in joined if is_alive(row.worker, beat=row.beat, now=now)]
    return min(living, default=None)


def _without_answer(stored: StoredReply, why: str) -> StoredReply:
    """A reply as if its prompt had not fitted."""
    return replace(stored, reply=replace(stored.reply, status="overflow", error=why))


def unasked(folder: Path) -> Iterator[StoredReply]:
    """The planned replies that are missing, as failed requests.

    Runs of earlier versions did not store the plan: nothing is known to be missing there.

    Raises:
        FathomError: The folder holds no run, or its file is damaged.
    """
    with clear_errors(folder), reading(folder) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'planned'").fetchone():
            return
        query = (
            f"SELECT {FACTS}, {_inputs(check_rows(db, folder / FILE, CHECKED))} FROM planned "
            "WHERE (sample, epoch) NOT IN (SELECT sample, epoch FROM replies) ORDER BY task, length, sample, epoch"
        )
        for *facts, inputs in db.execute(query):
            # In the order of COLUMNS: no bare question, prompt, text or cost.
            reply = ("error", "", "", "not_asked", None, None, None, 0.0, 0, 0, _UNASKED, None)
            yield _stored((*facts, "", "", *reply, None, 0.0, "", inputs))


def _inputs(form: int) -> str:
    """The inputs of a sample, in SQL."""
    return "inputs" if form >= SPLIT else "NULL"


def read_totals(db: sqlite3.Connection) -> Totals:
    """Sums over all finished replies."""
    counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
    tokens_in = tokens_out = priced = unpriced = 0
    dollars, last = 0.0, None
    cost = f"({_COST})"
    query = (
        f"SELECT status, count(*), coalesce(sum(coalesce({counted('tokens_in')}, "
        f"CASE WHEN prompt_hash = '' THEN 0 ELSE tokens END)), 0), coalesce(sum({counted('tokens_out')}), 0), "
        f"coalesce(sum({cost}), 0), count(CASE WHEN prompt_hash != '' THEN {cost} END), count(*) - count({cost}), "
        "max(finished_at) FROM replies GROUP BY status"
    )
    for status, number, read, written, spent, known, unknown, latest in db.execute(query):
        counts[status] = number
        tokens_in, tokens_out, dollars = tokens_in + read, tokens_out + written, dollars + spent
        priced, unpriced = priced + known, unpriced + unknown
        last = latest if last is None else max(last, latest)
    return Totals(counts, tokens_in, tokens_out, dollars, priced, unpriced, last)


@dataclass(frozen=True, slots=True)
class Joined:
    """A process that joined the run, with its last heartbeat and the number of replies it plans."""

    worker: Worker
    beat: float
    planned: int


@dataclass(frozen=True, slots=True)
class Peek:
    """Reads a store that may not exist yet."""

    db: sqlite3.Connection | None
    folder: Path = Path()

    def is_final(self, sample: str, epoch: int) -> bool:
        """Whether there is a final reply."""
        query = "SELECT status != 'error' FROM replies WHERE sample = ? AND epoch = ?"
        row = self.db.execute(query, (sample, epoch)).fetchone() if self.db is not None else None
        return row is not None and bool(row[0])

    def totals(self) -> Totals:
        """Sums over all finished replies; zeros if there is no store."""
        return read_totals(self.db) if self.db is not None else NOTHING

    def served(self) -> list[ServedReply]:
        """What the replies show about the server."""
        return served_replies(self.db) if self.db is not None else []

    def asked_again(self) -> int:
        """Number of replies that were asked for more than once."""
        return len(asked_again(self.db, self.folder / FILE)) if self.db is not None else 0

    def samples(self) -> int:
        """Number of different samples with a reply; of those that are planned, if the run stored its plan."""
        if self.db is None:
            return 0
        planned = self.db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'planned'").fetchone()[0]
        more = " UNION SELECT sample FROM planned" if planned else ""
        return int(self.db.execute(f"SELECT count(*) FROM (SELECT sample FROM replies{more})").fetchone()[0])

    def workers(self) -> list[Joined]:
        """All processes that ever joined the run."""
        query = (
            "SELECT id, pid, host, born, started, beat, planned FROM workers WHERE typeof(pid) = 'integer' AND "
            "typeof(planned) = 'integer' AND typeof(beat) = 'real' AND typeof(started) = 'real'"
        )
        rows = self.db.execute(query).fetchall() if self.db is not None else []
        return [Joined(Worker(*row[:5]), *row[5:]) for row in rows]

    def finished_since(self, moment: float) -> int:
        """Replies that came at or after a moment, in seconds since the epoch."""
        query = "SELECT count(*) FROM replies WHERE finished_at >= ?"
        return int(self.db.execute(query, (moment,)).fetchone()[0]) if self.db is not None else 0


@contextmanager
def peek(folder: Path) -> Iterator[Peek]:
    """Open the store of a run folder that may not exist, without creating anything."""
    if not (folder / FILE).is_file():
        yield Peek(None)
        return
    with clear_errors(folder), reading(folder) as db:
        check_rows(db, folder / FILE, CHECKED)
        has_table = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'workers'").fetchone()[0]
        yield Peek(db if has_table else None, folder)


@contextmanager
def reading(folder: Path, file: str = FILE) -> Iterator[sqlite3.Connection]:
    """Open the store, or another file of the folder, for reading only.

    Raises:
        FathomError: It does not exist, or another program made it; see ``fathom.storage.foreign``.
    """
    path = folder / file
    check_files(folder, (file + end for end in BESIDE))
    if not path.is_file():
        raise no_run(folder, file)
    with ExitStack() as stack:
        db = stack.enter_context(closing(_open(path.resolve(), stack)))
        check_schema(db, path)
        yield db


def open_for_writing(folder: Path, file: str) -> sqlite3.Connection:
    """Open or make a file of a run folder, in which each statement is a transaction of its own.

    Raises:
        FathomError: Another program made it; see ``fathom.storage.foreign``.
        sqlite3.Error: It cannot be opened.
    """
    check_files(folder, (file + end for end in BESIDE))
    db = sqlite3.connect(folder / file, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        check_schema(db, folder / file)
    except BaseException:
        db.close()
        raise
    return db


def _open(path: Path, stack: ExitStack) -> sqlite3.Connection:
    """Open a file for reading, also on a read-only disk: SQLite itself needs to write next to a log (WAL)."""
    db = _connect(path, "mode=ro")
    if _can_be_read(db):
        return db
    db.close()
    log = path.with_name(f"{path.name}-wal")
    if not log.is_file() or not log.stat().st_size:
        return _connect(path, "mode=ro&immutable=1")
    # The run was killed: its last replies are still in the log, and merging means writing.
    place = Path(stack.enter_context(TemporaryDirectory(prefix="fathom-")))
    try:
        for file in (path, log):
            shutil.copyfile(file, place / file.name)
    except OSError as error:
        raise FathomError(
            f"{path}: the folder is not writable, and a copy in which to merge the last replies of a killed run could "
            f"not be made: {error.strerror or error}. Copy the folder to a disk with room, and read it there"
        ) from None
    return _connect(place / path.name, "mode=rw")


def _can_be_read(db: sqlite3.Connection) -> bool:
    """Whether SQLite has what it needs to read a log: on a full or read-only disk it cannot create its index."""
    try:
        db.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF not in _NOTHING_TO_WRITE_ON
    except sqlite3.DatabaseError:
        pass  # damage is reported when the rows are read
    return True


def _connect(path: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?{options}", uri=True, timeout=BUSY_SECONDS)


_NOTHING_TO_WRITE_ON = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


@contextmanager
def clear_errors(folder: Path, file: str = FILE) -> Iterator[None]:
    """Convert SQLite's errors to messages that say what to do.

    Raises:
        FathomError: SQLite failed: the disk is full, the file is damaged or locked.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's own messages hold names from the file
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            reason = "cannot be written: the disk is full or failing"
            advice = "All replies committed so far are safe. Free some space and run the same command again to resume."
        elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            reason, advice = "cannot be opened for writing", "Check the permissions of the folder."
        elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = f"was locked by another process for {BUSY_SECONDS:g} seconds"
            advice = "End that process, or wait, and run the same command again to resume."
        elif code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "decode" in str(error):
            reason, advice = "is damaged", "Move it away and run again, or restore a copy."
        elif "no such table" in str(error):
            reason, advice = "is empty", "Run the same command again to resume, or restore a copy."
        elif "no such column" in str(error):
            reason = "was written by an earlier version of fathom"
            advice = "Run the same `fathom run` command once more: it updates the file and repeats no request."
        else:
            reason, advice = "failed", "This is unexpected; please report it."
        raise FathomError(f"{folder / file} {reason} ({error}). {advice}") from None


_TEXTS = (
    *("sample", "item", "task", "language", "targets", "facets", "asked", "prompt_hash", "status", "text", "reasoning"),
    *("stop", "error", "fathom_version"),
)
_WHOLE = ("epoch", "length", "tokens", "attempts", "truncated")
_NUMBERS = ("chance", "seconds", "finished_at")


def _check(path: Path, row: Sequence[Any]) -> None:
    """Check that a row can be read: SQLite accepts values of any type in any column."""
    values = dict(zip((*COLUMNS.split(", "), "inputs"), row, strict=True))
    kinds = {**dict.fromkeys(_TEXTS, str), **dict.fromkeys(_WHOLE, int), **dict.fromkeys(_NUMBERS, int | float)}
    wrong = next((name for name, kind in kinds.items() if not isinstance(values[name], kind)), "")
    wrong = wrong or ("" if values["status"] in STATUSES else "status")
    # Failed requests store no text: a reply with one was answered, whatever its status.
    wrong = wrong or ("status" if values["status"] == "error" and values["text"].strip() else "")
    try:
        targets, facets = json.loads(values["targets"]), json.loads(values["facets"])
        inputs = facets if values["inputs"] is None else json.loads(values["inputs"])
        right = isinstance(targets, list) and all(isinstance(target, str) for target in targets)
        wrong = wrong or ("" if right else "targets") or ("" if isinstance(facets, dict) else "facets")
        wrong = wrong or ("" if isinstance(inputs, dict) else "inputs")
    except (TypeError, ValueError, RecursionError):
        wrong = wrong or "targets, facets or inputs"
    if wrong:
        raise FathomError(
            f"{path}: the reply to {str(values['sample'])[:80]!r} cannot be read: {wrong} is "
            f"{str(values.get(wrong, 'not JSON'))[:60]!r}; the file is damaged. Move it away and run again, or restore "
            "a copy"
        )


def _stored(row: Sequence[Any], served: str = "") -> StoredReply:
    (sample, epoch, item, task, length, tokens, language, chance, targets, facets, asked, prompt_hash, *answer) = row
    (status, text, reasoning, stop, read, written, thought, seconds, attempts, truncated, error, cached, *end) = answer
    how = (read, written, thought, seconds, attempts, truncated, error, cached)
    reply = Reply(status, text, reasoning, stop, *how, served=served)
    cost, finished_at, fathom_version, inputs = end
    return StoredReply(
        sample=sample,
        item=item,
        task=task,
        length=length,
        tokens=tokens,
        language=language,
        chance=chance,
        targets=tuple(json.loads(targets)),
        facets=json.loads(facets),
        inputs=json.loads(facets if inputs is None else inputs),
        asked=asked,
        epoch=epoch,
        reply=with_counts(reply),
        prompt_hash=prompt_hash,
        cost=cost,
        finished_at=finished_at,
        fathom_version=fathom_version,
    )
