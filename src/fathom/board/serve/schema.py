"""Tables of the store, and the numbered migrations that update a store of an earlier fathom.

SQLite in a folder and PostgreSQL have the same tables. Bundles are stored in them too, in pieces, so that a submission
is one transaction and no second storage can disagree.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from fathom.types import FathomError

FILE = "board.sqlite"
LOCK = "serving.lock"
"""Lock held by servers of the folder, so that their store cannot be replaced."""
APPLICATION = "fathom board"
"""Application name of connections to PostgreSQL."""
BUSY_SECONDS = 60
TOKEN_DAYS = 365
"""Default validity of a token, in days; that of tokens of earlier versions begins with the migration."""
READING = "fathom_reading"
"""Execution option of read-only connections; others take SQLite's single write lock at once."""
_MIGRATING = 7_201_406_110
"""Number of the PostgreSQL lock that serializes migrations."""

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
"""Migrations in order; a store records how many were applied. Never change a released one: add the next."""


def migrate(engine: Engine) -> None:
    """Migrates a store; two servers that start at once take turns.

    Raises:
        FathomError: The store is from a later fathom.
    """
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _MIGRATING})
        connection.execute(text("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)"))
        taken: int = connection.execute(text("SELECT COALESCE(MAX(number), 0) FROM migrations")).scalar_one()
        if taken > len(MIGRATIONS):
            raise FathomError(
                f"the store has {taken} migrations, but this fathom knows {len(MIGRATIONS)}: a later fathom made it; "
                "update fathom-eval"
            )
        for number, step in enumerate(MIGRATIONS[taken:], start=taken + 1):
            step(connection)
            connection.execute(text("INSERT INTO migrations VALUES (:number)"), {"number": number})


def engine_of(place: str) -> Engine:
    """Connections to a store.

    Args:
        place: A folder for SQLite, which is created if necessary, or the URL of a PostgreSQL database.

    Raises:
        FathomError: It is neither, or the folder cannot be created.
    """
    if "://" not in place:
        return _sqlite(Path(place))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError) as error:  # its message would contain the URL with the password
        raise FathomError("--store: the URL cannot be read; write postgresql+psycopg://USER@HOST:5432/NAME") from error
    if url.drivername not in ("postgresql", "postgresql+psycopg"):
        raise FathomError(
            f"--store: {url.drivername} is not supported; give a folder, or postgresql+psycopg://USER@HOST:5432/NAME"
        )
    try:
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=10,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={"application_name": APPLICATION},
        )
    except ImportError as error:
        raise FathomError("PostgreSQL needs psycopg: pip install 'fathom-eval[board]'") from error


def tighten(folder: Path) -> None:
    """Makes a store readable only by its owner: it contains hashes of tokens and pending bundles.

    Args:
        folder: The folder of a SQLite store. SQLite creates its other files with the permissions of the first. A folder
            with other content is not changed: it may be a home folder, or the root of a disk.
    """
    modes = [(file, 0o600) for file in folder.glob(f"{FILE}*")]
    with suppress(OSError):
        if all(one.name.startswith(FILE) or one.name == LOCK for one in folder.iterdir()):
            modes.append((folder, 0o700))
    for path, mode in modes:
        with suppress(OSError):  # owned by another user
            if path.stat().st_mode & 0o777 & ~mode:
                path.chmod(mode)


def _sqlite(folder: Path) -> Engine:
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
    except OSError as error:
        raise FathomError(f"--store {folder}: cannot be made: {error.strerror or error}") from error
    tighten(folder)
    engine = create_engine(
        f"sqlite:///{path.resolve()}", connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True, pool_size=10
    )

    @event.listens_for(engine, "connect")
    def settle(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # transactions begin explicitly
        cursor = connection.cursor()
        for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            cursor.execute(f"PRAGMA {setting}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        reading = connection.get_execution_options().get(READING)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine
