"""Databases of servers: a folder with SQLite or a PostgreSQL, their numbered migrations, and clear errors."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, MetaData, Table, create_engine, event, func, make_url, select, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from fathom.plugins.extras import install
from fathom.types import FathomError

LOCK = "serving.lock"
"""Lock held by servers of a folder, so that their store cannot be replaced."""
BUSY_SECONDS = 60
CONNECT_SECONDS = 10
READING = "fathom_reading"
"""Execution option of read-only connections; others take SQLite's single write lock at once."""
_ONE_STATE: dict[str, dict[str, Any]] = {
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
}
"""What makes all queries of a transaction read one state; SQLite does so anyway."""
_SQLITE_FULL, _POSTGRES_FULL = "SQLITE_FULL", "53100"


@dataclass(frozen=True)
class Schema:
    """The tables of one kind of store.

    Attributes:
        name: Name of the server's command, which is also that of its extra.
        migrations: Migrations in order; a store records how many were applied. Never change a released one: add the
            next.
        lock: Number of the PostgreSQL lock that serializes migrations.
    """

    name: str
    metadata: MetaData
    migrations: Sequence[Callable[[Connection], None]]
    lock: int

    @property
    def file(self) -> str:
        """Name of the SQLite file in its folder."""
        return f"{self.name}.sqlite"

    @property
    def application(self) -> str:
        """Application name of connections to PostgreSQL."""
        return f"fathom {self.name}"


class FullStoreError(FathomError):
    """No space is left in the store; nothing was changed."""


class StoreError(FathomError):
    """The database cannot be reached or failed."""


def moment(seconds: float) -> str:
    """A time, in seconds since the epoch, in the format of the store: in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def now() -> str:
    """The present time, in the format of the store."""
    return moment(time.time())


@contextmanager
def clear_errors() -> Iterator[None]:
    """Database errors as messages without statements and parameters.

    Raises:
        FullStoreError: There is no space left.
        StoreError: Any other error, except that a row exists already (``IntegrityError``).
    """
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
        code = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None)
        if code in (_SQLITE_FULL, _POSTGRES_FULL):
            raise FullStoreError("no space is left in the store; nothing was changed") from error
        words = f"database error: {reason}; check the database and `store`"
        raise StoreError(words) from error
    except SQLAlchemyError as error:  # no free connection in time
        raise StoreError(f"the database does not respond: {type(error).__name__}") from error


def migrate(engine: Engine, schema: Schema) -> None:
    """Migrates a store; two servers that start at once take turns.

    Args:
        engine: Connections to it.

    Raises:
        FathomError: The store is from a later fathom.
    """
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": schema.lock})
        connection.execute(text("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)"))
        taken: int = connection.execute(text("SELECT COALESCE(MAX(number), 0) FROM migrations")).scalar_one()
        if taken > (newest := len(schema.migrations)):
            raise FathomError(
                f"the store has {taken} migrations, but this fathom knows {newest}: a later fathom made it; "
                "update fathom-eval"
            )
        for number, step in enumerate(schema.migrations[taken:], start=taken + 1):
            step(connection)
            connection.execute(text("INSERT INTO migrations VALUES (:number)"), {"number": number})


def engine_of(place: str, schema: Schema) -> Engine:
    """Connections to a store.

    Args:
        place: A folder for SQLite, which is created if necessary, or the URL of a PostgreSQL database.

    Raises:
        FathomError: It is neither, or the folder cannot be created.
    """
    if "://" not in place:
        return _sqlite(Path(place), schema)
    url = url_of(place, schema)
    if url.drivername not in ("postgresql", "postgresql+psycopg"):
        raise FathomError(
            f"`store`: {url.drivername} is not supported; give a folder, or postgresql+psycopg://USER@HOST:5432/NAME"
        )
    try:
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=10,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={"application_name": schema.application} | _waiting(url),
        )
    except ImportError as error:
        raise FathomError(f"PostgreSQL needs psycopg: {install(schema.name)}") from error


def url_of(place: str, schema: Schema) -> URL:
    """The URL of a PostgreSQL database, with the password of the file that an environment variable names.

    Args:
        place: The URL. A password in it counts more than that of the file.
        schema: The tables, whose name is part of the variable's: ``FATHOM_BOARD_PASSWORD_FILE``.

    Raises:
        FathomError: It is no URL, or the file cannot be read.
    """
    try:
        url = make_url(place)
    except (ArgumentError, ValueError) as error:  # its message would contain the URL with the password
        raise FathomError("`store`: the URL cannot be read; write postgresql+psycopg://USER@HOST:5432/NAME") from error
    variable = f"FATHOM_{schema.name.upper()}_PASSWORD_FILE"
    file = os.environ.get(variable, "")
    if not file or url.password or "password" in url.query:
        return url
    try:
        password = Path(file).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise FathomError(f"{variable}: {file}: cannot be read: {reason}") from error
    if not password:
        raise FathomError(f"{variable}: {file}: the file is empty; expected the password of the database")
    return url.set(password=password)


def _waiting(url: URL) -> dict[str, int]:
    """Time to connect, unless the URL says another: a machine that is gone would keep threads for minutes."""
    return {} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_SECONDS}


def tighten(folder: Path, schema: Schema) -> None:
    """Makes a store readable only by its owner: it contains hashes of tokens and unpublished content.

    Args:
        folder: The folder of a SQLite store. SQLite creates its other files with the permissions of the first. A folder
            with other content is not changed: it may be a home folder, or the root of a disk.
    """
    modes = [(file, 0o600) for file in folder.glob(f"{schema.file}*")]
    with suppress(OSError):
        if all(path.name.startswith(schema.file) or path.name == LOCK for path in folder.iterdir()):
            modes.append((folder, 0o700))
    for path, mode in modes:
        with suppress(OSError):  # owned by another user
            if path.stat().st_mode & 0o777 & ~mode:
                path.chmod(mode)


def _sqlite(folder: Path, schema: Schema) -> Engine:
    path = folder / schema.file
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
    except OSError as error:
        raise FathomError(f"`store` {folder}: cannot be made: {error.strerror or error}") from error
    tighten(folder, schema)
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


class Database:
    """Connections to a store, for several threads and several servers at once; the base of what is kept in one.

    Args:
        place: A folder (SQLite) or the URL of a PostgreSQL database.
        schema: Its tables, which are created or migrated.

    Attributes:
        engine: Connections that write.
        reading: Connections that only read; all queries of a transaction read one state.
        folder: Folder of a SQLite store; None for PostgreSQL.

    Raises:
        FathomError: It cannot be opened.
    """

    def __init__(self, place: str, schema: Schema) -> None:
        self.schema, self.folder = schema, None if "://" in place else Path(place)
        self.engine = engine_of(place, schema)
        self.reading = self.engine.execution_options(**{READING: True} | _ONE_STATE.get(self.engine.dialect.name, {}))
        try:
            with clear_errors():
                migrate(self.engine, schema)
        except FathomError:
            self.close()
            raise

    def close(self) -> None:
        """Closes all connections."""
        self.engine.dispose()

    def is_there(self) -> bool:
        """Whether the database responds."""
        try:
            with self.reading.connect() as connection:
                connection.execute(text("SELECT 1"))
            return True
        except SQLAlchemyError:
            return False

    def is_current(self) -> bool:
        """Whether the store has exactly the migrations of this fathom; a later fathom may have added some since."""
        try:
            with self.reading.connect() as connection:
                taken: int = connection.execute(text("SELECT MAX(number) FROM migrations")).scalar_one()
            return taken == len(self.schema.migrations)
        except SQLAlchemyError:
            return False

    def pool(self) -> dict[str, int]:
        """Connections of this process: those in use, and those that wait to be used."""
        pool: Any = self.engine.pool
        return {"used": pool.checkedout(), "idle": pool.checkedin()}

    def by_state(self, table: Table) -> dict[str, int]:
        """Numbers of rows of a table by their column ``state``."""
        query = select(table.c.state, func.count()).group_by(table.c.state)
        with clear_errors(), self.reading.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}
