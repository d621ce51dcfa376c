"""Tables of the store, and the numbered migrations that update a store of an earlier fathom.

SQLite in a folder and PostgreSQL have the same tables. Bundles are stored in them too, in pieces, so that a submission
is one transaction and no second storage can disagree.
"""

import time
from collections.abc import Callable

from sqlalchemy import Column, Connection, Integer, LargeBinary, MetaData, String, Table, Text, text

from fathom.server.database import Schema

TOKEN_DAYS = 365
"""Default validity of a token, in days; that of tokens of earlier versions begins with the migration."""

metadata = MetaData()
submissions = Table(
    "submissions",
    metadata,
    Column("id", String(64), primary_key=True),  # SHA-256 of the bundle
    Column("submitter", String(64), nullable=False),
    Column("received", String(20), nullable=False),  # UTC, as 2026-01-31T23:59:59Z
    Column("size", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("verdict", Text, nullable=False),  # JSON in ASCII: the result of the check
    Column("reason", Text, nullable=False),
    Column("decided_by", String(64), nullable=False),  # "" if the check refused
    Column("decided", String(20), nullable=False),
)
decisions = Table(
    "decisions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("submission", String(64), nullable=False),  # may be deleted, or sent again
    Column("decided", String(20), nullable=False),
    Column("decided_by", String(64), nullable=False),
    Column("action", String(10), nullable=False),  # the chosen state, or "undone"
    Column("before", String(10), nullable=False),
    Column("after", String(10), nullable=False),
    Column("reason", Text, nullable=False),
)
prints = Table(
    "prints",
    metadata,
    Column("submission", String(64), primary_key=True),
    Column("content", LargeBinary, nullable=False),  # see fathom.board.likeness
    Column("compared", Integer, nullable=False),  # 1 after the comparison with all earlier ones
)
likenesses = Table(
    "likenesses",
    metadata,
    Column("one", String(64), primary_key=True),  # the lower id of the two
    Column("other", String(64), primary_key=True),
    Column("words", Text, nullable=False),
)
pieces = Table(
    "pieces",
    metadata,
    Column("submission", String(64), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
tokens = Table(
    "tokens",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("key", String(16), nullable=False, unique=True),  # the public part of a token
    Column("role", String(10), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("made", String(20), nullable=False),
    Column("expires", String(20), nullable=False),
    Column("used", String(10), nullable=False),  # day of the last use; "" before
)


def _first(connection: Connection) -> None:
    content = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in (
        "CREATE TABLE submissions (id VARCHAR(64) PRIMARY KEY, submitter VARCHAR(64) NOT NULL, "
        "received VARCHAR(20) NOT NULL, size INTEGER NOT NULL, state VARCHAR(10) NOT NULL, verdict TEXT NOT NULL, "
        "reason TEXT NOT NULL, decided_by VARCHAR(64) NOT NULL, decided VARCHAR(20) NOT NULL)",
        "CREATE INDEX submissions_by_state ON submissions (state, submitter)",
        f"CREATE TABLE pieces (submission VARCHAR(64) NOT NULL REFERENCES submissions (id), number INTEGER NOT NULL, "
        f"content {content} NOT NULL, PRIMARY KEY (submission, number))",
        "CREATE TABLE tokens (name VARCHAR(64) PRIMARY KEY, key VARCHAR(16) NOT NULL UNIQUE, "
        "role VARCHAR(10) NOT NULL, hash VARCHAR(64) NOT NULL, made VARCHAR(20) NOT NULL)",
    ):
        connection.execute(text(statement))


def _second(connection: Connection) -> None:
    """Tokens expire, decisions are kept, replies are compared."""
    postgres = connection.dialect.name == "postgresql"
    content = "BYTEA" if postgres else "BLOB"
    number = "BIGSERIAL PRIMARY KEY" if postgres else "INTEGER PRIMARY KEY AUTOINCREMENT"
    for statement in (
        "ALTER TABLE tokens ADD COLUMN expires VARCHAR(20) NOT NULL DEFAULT ''",
        "ALTER TABLE tokens ADD COLUMN used VARCHAR(10) NOT NULL DEFAULT ''",
        f"CREATE TABLE decisions (number {number}, submission VARCHAR(64) NOT NULL, decided VARCHAR(20) NOT NULL, "
        "decided_by VARCHAR(64) NOT NULL, action VARCHAR(10) NOT NULL, before VARCHAR(10) NOT NULL, "
        "after VARCHAR(10) NOT NULL, reason TEXT NOT NULL)",
        "CREATE INDEX decisions_by_submission ON decisions (submission, number)",
        f"CREATE TABLE prints (submission VARCHAR(64) PRIMARY KEY REFERENCES submissions (id), "
        f"content {content} NOT NULL, compared INTEGER NOT NULL)",
        "CREATE TABLE likenesses (one VARCHAR(64) NOT NULL, other VARCHAR(64) NOT NULL, words TEXT NOT NULL, "
        "PRIMARY KEY (one, other))",
        # Decisions from before the table of decisions.
        "INSERT INTO decisions (submission, decided, decided_by, action, before, after, reason) "
        "SELECT id, decided, decided_by, state, 'pending', state, reason FROM submissions WHERE decided_by <> '' "
        "ORDER BY decided, id",
    ):
        connection.execute(text(statement))
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + TOKEN_DAYS * 86_400))
    connection.execute(text("UPDATE tokens SET expires = :end"), {"end": end})


MIGRATIONS: list[Callable[[Connection], None]] = [_first, _second]
BOARD = Schema("board", metadata, MIGRATIONS, lock=7_201_406_110)
