"""Tables of the studio's store, and the numbered migrations that update a store of an earlier fathom.

The log (``entries``) is what happened; ``samples``, ``documents``, ``notes`` and the roles in ``people`` are a
projection of it, which ``fathom studio audit`` compares with a replay. Passwords, sessions, unsent drafts, profiles and
who has a sample assigned or open are not in the log. Neither are ``sketches``, which follow from the texts and can be
made again.
"""

from collections.abc import Generator
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    select,
    text,
)

from fathom.server.database import Schema
from fathom.studio.log import Entry, NoteEntry
from fathom.studio.records import as_record, canonical
from fathom.studio.states import involved
from fathom.studio.types import Sample, StudioDocument

metadata = MetaData()
entries = Table(
    "entries",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(20), nullable=False),  # UTC, as 2026-01-31T23:59:59Z
    Column("person", String(64), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("subject", String(128), nullable=False),
    Column("body", Text, nullable=False),  # canonical JSON in ASCII
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)
head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # one row, which serializes actions
    Column("number", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
)
documents = Table(
    "documents",
    metadata,
    Column("id", String(128), primary_key=True),
    Column("language", String(16), nullable=False),
    Column("bucket", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("body", Text, nullable=False),
)
texts = Table(
    "texts",
    metadata,
    Column("document", String(128), primary_key=True),
    Column("content", LargeBinary, nullable=False),  # UTF-8
)
sketches = Table(
    "sketches",
    metadata,
    Column("document", String(128), primary_key=True),
    Column("version", Integer, nullable=False),  # of the way in which it was made
    Column("content", LargeBinary, nullable=False),
)
samples = Table(
    "samples",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("task", String(128), nullable=False),
    Column("language", String(16), nullable=False),
    Column("bucket", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("version", Integer, nullable=False),
    Column("author", String(64), nullable=False),
    Column("round", Integer, nullable=False),
    Column("involved", Text, nullable=False),  # who may not decide next, as |ann|bo|
    Column("title", String(200), nullable=False),  # the beginning of the question
    Column("updated", String(20), nullable=False),
    Column("body", Text, nullable=False),
)
notes = Table(
    "notes",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),  # of its entry
    Column("topic", String(64), nullable=False),
    Column("subject", String(128), nullable=False),
    Column("person", String(64), nullable=False),
    Column("at", String(20), nullable=False),
    Column("body", Text, nullable=False),
)
people = Table(
    "people",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("active", Integer, nullable=False),
    Column("password", String(200), nullable=False),  # argon2; "" for none
    Column("changed", String(20), nullable=False),  # when the password was set
    Column("initial", Integer, nullable=False),  # whether it was made for them: such a password ends
)
sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("person", String(64), nullable=False),
    Column("csrf", String(64), nullable=False),
    Column("made", BigInteger, nullable=False),  # seconds since the epoch
    Column("used", BigInteger, nullable=False),
)
tokens = Table(
    "tokens",
    metadata,
    Column("key", String(16), primary_key=True),  # the public part of a token
    Column("person", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("made", String(20), nullable=False),
    Column("expires", String(20), nullable=False),
)
failures = Table(
    "failures",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("key", String(80), nullable=False),  # an account or an address
    Column("at", BigInteger, nullable=False),
)
drafts = Table(
    "drafts",
    metadata,
    Column("person", String(64), primary_key=True),
    Column("subject", String(128), primary_key=True),
    Column("form", String(32), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("saved", String(20), nullable=False),
    Column("body", Text, nullable=False),
)

assignments = Table(
    "assignments",
    metadata,
    Column("sample", String(64), primary_key=True),
    Column("person", String(64), primary_key=True),
    Column("version", Integer, nullable=False),  # of the sample: it ends with the next one
)
openings = Table(
    "openings",
    metadata,
    Column("sample", String(64), primary_key=True),
    Column("person", String(64), primary_key=True),
    Column("seen", BigInteger, nullable=False),  # when their page last said that it is open
)
profiles = Table(
    "profiles",
    metadata,
    Column("person", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)


def _first(connection: Connection) -> None:
    postgres = connection.dialect.name == "postgresql"
    content = "BYTEA" if postgres else "BLOB"
    number = "BIGSERIAL PRIMARY KEY" if postgres else "INTEGER PRIMARY KEY AUTOINCREMENT"
    short, name, id = "VARCHAR(20) NOT NULL", "VARCHAR(64) NOT NULL", "VARCHAR(128) NOT NULL"
    exact = 'COLLATE "C"' if postgres else ""  # the same order as in SQLite, whatever the language of the database
    for statement in (
        f"CREATE TABLE entries (number INTEGER PRIMARY KEY, at {short}, person {name}, kind VARCHAR(32) NOT NULL, "
        f"subject {id}, body TEXT NOT NULL, previous {name}, hash {name})",
        "CREATE INDEX entries_by_subject ON entries (subject, number)",
        f"CREATE TABLE head (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, hash {name})",
        f"INSERT INTO head VALUES (1, 0, '{'0' * 64}')",
        f"CREATE TABLE documents (id VARCHAR(128) {exact} PRIMARY KEY, language VARCHAR(16) NOT NULL, "
        "bucket INTEGER NOT NULL, state VARCHAR(16) NOT NULL, body TEXT NOT NULL)",
        "CREATE INDEX documents_by_state ON documents (state, language, bucket, id)",
        f"CREATE TABLE texts (document VARCHAR(128) PRIMARY KEY, content {content} NOT NULL)",
        f"CREATE TABLE samples (id VARCHAR(64) {exact} PRIMARY KEY, task {id}, language VARCHAR(16) NOT NULL, "
        f"bucket INTEGER NOT NULL, state VARCHAR(16) NOT NULL, version INTEGER NOT NULL, author {name}, "
        f"round INTEGER NOT NULL, involved TEXT NOT NULL, title VARCHAR(200) NOT NULL, updated {short}, "
        "body TEXT NOT NULL)",
        "CREATE INDEX samples_by_state ON samples (state, updated, id)",
        "CREATE INDEX samples_by_author ON samples (author, state, updated, id)",
        "CREATE INDEX samples_by_task ON samples (task, language, bucket, state)",
        f"CREATE TABLE notes (number INTEGER PRIMARY KEY, topic {name}, subject {id}, person {name}, at {short}, "
        "body TEXT NOT NULL)",
        "CREATE INDEX notes_by_subject ON notes (subject, topic, number)",
        f"CREATE TABLE people (name VARCHAR(64) {exact} PRIMARY KEY, role VARCHAR(16) NOT NULL, "
        f"active INTEGER NOT NULL, password VARCHAR(200) NOT NULL, changed {short})",
        f"CREATE TABLE sessions (hash VARCHAR(64) PRIMARY KEY, person {name}, csrf {name}, made BIGINT NOT NULL, "
        "used BIGINT NOT NULL)",
        "CREATE INDEX sessions_by_person ON sessions (person)",
        f"CREATE TABLE tokens (key VARCHAR(16) PRIMARY KEY, person {name}, hash {name}, made {short}, expires {short})",
        f"CREATE TABLE failures (number {number}, key VARCHAR(80) NOT NULL, at BIGINT NOT NULL)",
        "CREATE INDEX failures_by_key ON failures (key, at)",
        f"CREATE TABLE drafts (person {name}, subject {id}, form VARCHAR(32) NOT NULL, version INTEGER NOT NULL, "
        f"saved {short}, body TEXT NOT NULL, PRIMARY KEY (person, subject, form))",
    ):
        connection.execute(text(statement))


def _with_initial_passwords(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE people ADD COLUMN initial INTEGER NOT NULL DEFAULT 0"))


def _with_sketches(connection: Connection) -> None:
    content = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    table = "document VARCHAR(128) PRIMARY KEY, version INTEGER NOT NULL"
    connection.execute(text(f"CREATE TABLE sketches ({table}, content {content} NOT NULL)"))


def unique() -> ColumnElement[bool]:
    """Documents that are not nearly equal to an earlier one; the body is canonical JSON."""
    return documents.c.body.contains('"duplicate_of":""')


def _with_people_at_work(connection: Connection) -> None:
    key = "sample VARCHAR(64) NOT NULL, person VARCHAR(64) NOT NULL"
    connection.execute(
        text(f"CREATE TABLE assignments ({key}, version INTEGER NOT NULL, PRIMARY KEY (sample, person))")
    )
    connection.execute(text("CREATE INDEX assignments_by_person ON assignments (person)"))
    connection.execute(text(f"CREATE TABLE openings ({key}, seen BIGINT NOT NULL, PRIMARY KEY (sample, person))"))
    connection.execute(text("CREATE TABLE profiles (person VARCHAR(64) PRIMARY KEY, body TEXT NOT NULL)"))


MIGRATIONS = (_first, _with_initial_passwords, _with_sketches, _with_people_at_work)
STUDIO = Schema("studio", metadata, MIGRATIONS, lock=7_201_406_111)


def entries_of(connection: Connection) -> Generator[Entry, None, None]:
    """All entries of the log in order."""
    query = select(entries).order_by(entries.c.number).execution_options(yield_per=1000)
    with connection.execute(query) as rows:  # also closed where the reader stops early
        for row in rows:
            yield Entry(**row._mapping)


def sample_row(sample: Sample) -> dict[str, Any]:
    """The columns of a sample."""
    names = ("id", "task", "language", "bucket", "state", "version", "author", "round", "updated")
    question = sample.content.question or next((candidate.content.question for candidate in sample.candidates), "")
    title = " ".join(question.split())[:120]
    more = {"title": title, "involved": "".join(f"|{name}" for name in sorted(involved(sample))) + "|"}
    record = as_record(sample)
    if not sample.policy:
        del record["policy"]  # as in stores of versions without policies
    return {name: getattr(sample, name) for name in names} | more | {"body": canonical(record)}


def document_row(document: StudioDocument) -> dict[str, Any]:
    """The columns of a document."""
    names = ("id", "language", "bucket", "state")
    return {name: getattr(document, name) for name in names} | {"body": canonical(as_record(document))}


def note_row(entry: NoteEntry) -> dict[str, Any]:
    """The columns of a note."""
    note = entry.note
    facts = {"number": entry.number, "topic": note.topic, "subject": note.subject}
    return facts | {"person": entry.person, "at": entry.at, "body": canonical(as_record(note))}
