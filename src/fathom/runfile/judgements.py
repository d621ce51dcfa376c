"""Judgements of a run's replies: one SQLite file beside the replies.

Everything is stored under the hash of its input, not under a sample number: a judgement under its rubric, question,
references and reply, a judge's reply under its prompt. So equal replies are judged once, a changed reply to a sample
gets a new judgement, and a prompt shared by several replies is sent once. Judges' replies are stored verbatim, prompts
are not stored.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from fathom.models.protocol import Settings
from fathom.models.usage import counted, paid, with_counts
from fathom.runfile.ledger import enter_wal, leave_wal, storable, without_secrets
from fathom.runfile.place import StorePlace
from fathom.runfile.store import StoredReply, clear_errors, open_for_writing, reading
from fathom.runfile.store_checks import Formats, Rows, add_checksums, check_rows
from fathom.safety.secrets import hide_in_text, hide_secrets
from fathom.score.judge import Case, Conversation
from fathom.storage.versions import fathom_version
from fathom.types import Reply

FILE = "judgements.sqlite"
SECOND, SECOND_PROMPT, THEN = "second:", "second-prompt:", " then "
"""What the names of second judges begin with (``second:FIRST then MODEL``, ``second-prompt:MODEL``): they judge a
sample, and never score rows by themselves."""
SECONDS = (SECOND, SECOND_PROMPT)

# A judge's reply is used until it proves unparsable; retired ones stay in the file for their cost.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS judgements (
    judge TEXT NOT NULL, reply TEXT NOT NULL, rubric TEXT NOT NULL, version INTEGER NOT NULL, status TEXT NOT NULL,
    parts TEXT NOT NULL, detail TEXT NOT NULL, finished_at REAL NOT NULL, fathom_version TEXT NOT NULL,
    checksum INTEGER, PRIMARY KEY (judge, reply)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS said (
    judge TEXT NOT NULL, prompt TEXT NOT NULL, attempt INTEGER NOT NULL, step TEXT NOT NULL,
    use TEXT NOT NULL, status TEXT NOT NULL, text TEXT NOT NULL, stop TEXT NOT NULL, error TEXT NOT NULL,
    tokens_in INTEGER, tokens_out INTEGER, tokens_reasoning INTEGER, seconds REAL NOT NULL, attempts INTEGER NOT NULL,
    cost REAL, finished_at REAL NOT NULL, checksum INTEGER
);
CREATE INDEX IF NOT EXISTS said_to ON said (judge, prompt, attempt);
CREATE TABLE IF NOT EXISTS negotiated (
    judge TEXT NOT NULL, parameter TEXT NOT NULL, other TEXT NOT NULL, PRIMARY KEY (judge, parameter)
) WITHOUT ROWID;
"""

_JUDGEMENTS = Rows(
    "judgements", "judge, reply, rubric, version, status, parts, detail, finished_at, fathom_version", "judge, reply"
)
# What a judge said never changes, except for its ``use``.
_SAID = Rows(
    "said",
    "judge, prompt, attempt, step, status, text, stop, error, tokens_in, tokens_out, tokens_reasoning, seconds, "
    "attempts, cost, finished_at",
    "judge, prompt, attempt",
    "use IN ('kept', 'unreadable', 'retired')",
)
_CHECKED: Formats = {2: (_JUDGEMENTS, _SAID)}

Outcome: TypeAlias = Literal["ok", "unreadable", "error"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's assessment of one reply.

    Attributes:
        status: ``ok``; ``unreadable`` if the judge's reply could not be parsed, which is final; ``error`` if it did not
            reply, which is asked again.
        parts: Findings of the rubric, by name; empty unless ``ok``.
        detail: What went wrong; "" if nothing did.
    """

    status: Outcome
    parts: Mapping[str, float]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a judge so far.

    Attributes:
        requests: Answered requests.
        tokens_in: Prompt tokens, as counted by the provider.
        tokens_out: Completion tokens.
        paid: US dollars of the replies with a known price.
        unpriced: Replies without one.
    """

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    paid: float = 0.0
    unpriced: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(own + more for own, more in zip(astuple(self), astuple(other), strict=True)))

    @property
    def cost(self) -> float | None:
        """US dollars; None if no price is known."""
        return self.paid if self.requests > self.unpriced or not self.requests else None


def judge_name(settings: Settings) -> str:
    """The name of a judge: its model and the settings that differ from the defaults.

    Args:
        settings: How the judge is asked.

    Returns:
        For instance ``openai/gpt-4o-mini`` or ``openai/gpt-4o-mini temperature=0.1``. Judges with equal names are the
        same judge; the name holds no secrets.
    """
    named = {**settings.generation, **settings.model_args}
    if settings.temperature != 0:
        named["temperature"] = settings.temperature
    shown = {name: value for name, value in hide_secrets(named).items() if value != "***"}
    words = (f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in shown.items())
    return " ".join([settings.model, *sorted(words)])


def case_of(stored: StoredReply) -> Case:
    """What a judge sees of a stored reply."""
    return Case(stored.asked, stored.reply.text, stored.targets, stored.language)


def case_key(rubric: Conversation, case: Case) -> str:
    """The key of a case's judgement: a hash of the rubric with its version and of all that the judge sees."""
    content = [rubric.name, rubric.version, case.language, case.asked, case.reply, *case.references]
    return hashed(json.dumps(content))


def hashed(text: str) -> str:
    """The first 32 hexadecimal digits of the SHA-256 of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


# ------------------------------------------------------------------------------------------------- reading


def judges(folder: Path) -> tuple[str, ...]:
    """Names of the judges with judgements in a run folder, sorted; judges that never replied are left out.

    Second judges are not among them.

    Raises:
        FathomError: The file is damaged.
    """
    return tuple(name for name in _names(folder) if not name.startswith(SECONDS))


def second_judges(folder: Path) -> tuple[str, ...]:
    """Names of the second judges, sorted.

    Raises:
        FathomError: The file is damaged.
    """
    return tuple(name for name in _names(folder) if name.startswith(SECONDS))


def first_and_second(name: str) -> tuple[str, str]:
    """The judge whose sample a second judge scores ("" if its name does not say so), and the model that scores it."""
    if name.startswith(SECOND_PROMPT):
        return (model := name.removeprefix(SECOND_PROMPT)), model
    first, then, model = name.removeprefix(SECOND).partition(THEN)
    return (first, model) if then else ("", first)


def _names(folder: Path) -> tuple[str, ...]:
    with _reading(folder) as db:
        query = "SELECT DISTINCT judge FROM judgements WHERE status != 'error' ORDER BY judge"
        rows = db.execute(query) if db is not None else ()
        return tuple(name for (name,) in rows)


def judgements(folder: Path, judge: str) -> dict[str, Judgement]:
    """All judgements of one judge, by ``case_key``.

    Raises:
        FathomError: The file is damaged.
    """
    query = "SELECT reply, status, parts, detail FROM judgements WHERE judge = ?"
    with _reading(folder) as db:
        rows = db.execute(query, (judge,)) if db is not None else ()
        return {key: Judgement(status, json.loads(parts), detail) for key, status, parts, detail in rows}


def spent(folder: Path, judge: str) -> Spent:
    """The cost of a judge so far; zeros if it was never asked.

    Raises:
        FathomError: The file is damaged.
    """
    cost = f"({paid('cost', 'tokens_in', 'tokens_out')})"
    query = (
        f"SELECT count(*), coalesce(sum({counted('tokens_in')}), 0), coalesce(sum({counted('tokens_out')}), 0), "
        f"coalesce(sum({cost}), 0.0), count(*) - count({cost}) FROM said WHERE judge = ?"
    )
    with _reading(folder) as db:
        return Spent(*db.execute(query, (judge,)).fetchone()) if db is not None else Spent()


def replies_by_prompt(folder: Path, judge: str, *, again: bool = False) -> dict[tuple[str, int], str]:
    """The replies of a judge so far, by the hash of the prompt and the number of times one case sent it.

    Args:
        folder: The run folder.
        judge: Name of the judge.
        again: Leave out replies that could not be parsed.

    Raises:
        FathomError: The file is damaged.
    """
    used = "use = 'kept'" if again else "use != 'retired'"
    with _reading(folder) as db:
        query = f"SELECT prompt, attempt, text FROM said WHERE judge = ? AND {used}"
        rows = db.execute(query, (judge,)) if db is not None else ()
        return {(prompt, attempt): text for prompt, attempt, text in rows}


@contextmanager
def _reading(folder: Path) -> Iterator[sqlite3.Connection | None]:
    """Open the file for reading; None if no judge has started."""
    if not (folder / FILE).is_file():
        yield None
        return
    with clear_errors(folder, FILE), reading(folder, FILE) as db:
        check_rows(db, folder / FILE, _CHECKED)
        # A judge that is just starting has created the file but not its tables.
        tables = db.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('judgements', 'said')").fetchone()[0]
        yield db if tables == 2 else None


# ------------------------------------------------------------------------------------------------- writing


class JudgementStore:
    """The judgements of a run by one judge, opened for writing. Several processes may write at once.

    Args:
        folder: The run folder; must exist.
        judge: Name of the judge.

    Attributes:
        place: Whether the folder is still where it was.
    """

    def __init__(self, folder: Path, judge: str) -> None:
        self.folder = folder
        self.judge = judge
        self._version = fathom_version()
        with clear_errors(folder, FILE), ExitStack() as opening:
            self._db = open_for_writing(folder, FILE)
            opening.callback(self._db.close)
            enter_wal(self._db)
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
            add_checksums(self._db, folder / FILE, _CHECKED)
            self.place = StorePlace(folder, FILE)
            opening.pop_all()  # nothing went wrong: it stays open

    def check_place(self) -> None:
        """Check that the folder is where it was.

        Raises:
            FathomError: It is not; the message says where the judgements are kept.
        """
        self._db = self.place.checked(self._db)
        self.place.check()

    def judgement(self, key: str) -> Judgement | None:
        """The judgement of a case, by ``case_key``; None if it is still to be made."""
        query = "SELECT status, parts, detail FROM judgements WHERE judge = ? AND reply = ? AND status != 'error'"
        row = self._do(query, self.judge, key).fetchone()
        return Judgement(row[0], json.loads(row[1]), row[2]) if row is not None else None

    def finish(self, key: str, rubric: Conversation, judgement: Judgement) -> None:
        """Commit one judgement. Once this returns, it survives ``kill -9``.

        A failed judgement never replaces a good one, which another process may have written.
        """
        query = (
            f"INSERT INTO judgements ({_JUDGEMENTS.columns}) VALUES ({', '.join('?' * 9)}) "
            "ON CONFLICT DO UPDATE SET status = excluded.status, parts = excluded.parts, detail = excluded.detail, "
            "finished_at = excluded.finished_at, fathom_version = excluded.fathom_version WHERE status != 'ok'"
        )
        about = (self.judge, key, rubric.name, rubric.version)
        outcome = (judgement.status, json.dumps(dict(judgement.parts)), hide_in_text(judgement.detail))
        values = (*about, *outcome, time.time(), self._version)
        mark = f"UPDATE judgements SET checksum = {_JUDGEMENTS.checksum} WHERE judge = ? AND reply = ?"
        self._do_together((query, values), (mark, about[:2]))

    def reply_to(self, prompt: str, attempt: int) -> Reply | None:
        """The judge's reply to a prompt; None if it was not sent.

        Args:
            prompt: Hash of the prompt.
            attempt: How many times one case has sent it, from 1.
        """
        query = (
            "SELECT status, text, stop, error, tokens_in, tokens_out, tokens_reasoning, seconds, attempts FROM said "
            "WHERE judge = ? AND prompt = ? AND attempt = ? AND use != 'retired' ORDER BY rowid LIMIT 1"
        )
        row = self._do(query, self.judge, prompt, attempt).fetchone()
        if row is None:
            return None
        status, text, stop, error, read, written, thought, seconds, attempts = row
        return with_counts(Reply(status, text, "", stop, read, written, thought, seconds, attempts, error=error))

    def keep(self, prompt: str, attempt: int, step: str, reply: Reply, cost: float | None) -> None:
        """Commit one reply of the judge; one that is not ``ok`` cannot be parsed.

        Args:
            prompt: Hash of the prompt.
            attempt: How many times one case has sent it, from 1.
            step: Step of the rubric, for display.
            cost: US dollars; None if the price is unknown.
        """
        reply = without_secrets(reply)
        use = "kept" if reply.status == "ok" else "unreadable"
        answer = (reply.status, reply.text, reply.stop, reply.error, reply.tokens_in, reply.tokens_out)
        how = (reply.tokens_reasoning, reply.seconds, reply.attempts, cost, time.time())
        query = f"INSERT INTO said ({_SAID.columns}, use) VALUES ({', '.join('?' * 16)})"
        mark = f"UPDATE said SET checksum = {_SAID.checksum} WHERE rowid = last_insert_rowid()"
        self._do_together((query, (self.judge, prompt, attempt, step, *answer, *how, use)), (mark, ()))

    def mark_unreadable(self, prompt: str, attempt: int) -> None:
        """Note that a reply of the judge could not be parsed, so that ``forget_unreadable`` finds it."""
        query = "UPDATE said SET use = 'unreadable' WHERE judge = ? AND prompt = ? AND attempt = ? AND use = 'kept'"
        self._do(query, self.judge, prompt, attempt)

    def forget_unreadable(self) -> None:
        """Make all judgements that could not be parsed count as missing, so that they are repeated."""
        self._do("UPDATE said SET use = 'retired' WHERE judge = ? AND use = 'unreadable'", self.judge)
        self._do("DELETE FROM judgements WHERE judge = ? AND status = 'unreadable'", self.judge)

    def negotiated(self) -> dict[str, str]:
        """The parameters that the judge's server refuses, each with its other name or ""."""
        return dict(self._do("SELECT parameter, other FROM negotiated WHERE judge = ?", self.judge).fetchall())

    def note_negotiated(self, changes: Mapping[str, str]) -> None:
        """Record the parameters that the judge's server refuses; see ``negotiated``."""
        for name, other in changes.items():
            self._do("INSERT OR REPLACE INTO negotiated VALUES (?, ?, ?)", self.judge, name, other)

    def close(self) -> None:
        """Close the file."""
        leave_wal(self._db)
        self._db.close()

    def _do(self, query: str, *values: object) -> sqlite3.Cursor:
        """Execute one statement and commit it."""
        with clear_errors(self.folder, FILE):
            self._db = self.place.checked(self._db)
            return self._db.execute(query, storable(values))

    def _do_together(self, *statements: tuple[str, tuple[object, ...]]) -> None:
        """Execute statements in one transaction."""
        with clear_errors(self.folder, FILE):
            self._db = self.place.checked(self._db)
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for query, values in statements:
                    self._db.execute(query, storable(values))
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
