"""Verifies a store and its backups: the chain of its log, and its tables against a replay of the log."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, select

from fathom.printing import readable
from fathom.server.backup import Kind
from fathom.server.database import clear_errors
from fathom.studio.log import BrokenLogError, Head, Replayed, step, verified
from fathom.studio.schema import (
    STUDIO,
    document_row,
    documents,
    entries_of,
    head,
    note_row,
    notes,
    people,
    sample_row,
    samples,
    texts,
)
from fathom.studio.store import Store
from fathom.types import FathomError

SHOWN = 20
"""Maximum number of problems that are listed."""


@readable
@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of an audit.

    Attributes:
        entries: Number of entries of the log whose chain holds.
        head: The end of the log as NUMBER:HASH, to note elsewhere.
        documents: Number of documents, whose texts were compared with their SHA-256.
        problems: What differs; none if the store is intact.
    """

    entries: int
    head: str
    samples: int
    documents: int
    problems: tuple[str, ...]


def audit(store: Store, noted: Head | None = None) -> AuditReport:
    """Verifies a store.

    Args:
        store: The store; servers may keep running.
        noted: A head that was noted earlier; without one, a log that was replaced as a whole or cut at its end together
            with its tables is not noticed.
    """
    with clear_errors(), store.reading.connect() as connection, connection.begin():
        return audit_connection(connection, noted)


def audit_connection(connection: Connection, noted: Head | None = None) -> AuditReport:
    """Verifies the store of a connection, in one transaction; see ``audit``."""
    world, end, problems = Replayed(), Head(), []
    met = noted is None or noted.number == 0
    try:
        with closing(entries_of(connection)) as log:
            for entry in verified(log):
                step(world, entry)
                end = Head(entry.number, entry.hash)
                if noted is not None and noted.number == entry.number:
                    met = noted.hash == entry.hash
    except BrokenLogError as error:
        problems.append(str(error))
    if not problems:
        if not met and noted is not None:
            problems.append(_not_met(noted, end))
        problems += [problem for _, problem in zip(range(SHOWN), _differences(connection, world, end), strict=False)]
    return AuditReport(end.number, str(end), len(world.samples), len(world.documents), tuple(problems))


def check_intact(connection: Connection, what: str) -> int:
    """Checks a store, and returns the number of entries of its log.

    Raises:
        FathomError: It is not intact.
    """
    audited = audit_connection(connection)
    if audited.problems:
        raise FathomError(f"{what}: damaged: {audited.problems[0]}")
    return audited.entries


def _not_met(noted: Head, end: Head) -> str:
    if noted.number > end.number:
        return f"the log ends at entry {end.number}, but the noted head is entry {noted.number}: its end was removed"
    return f"entry {noted.number} has another hash than the noted head: the log was replaced"


def _differences(connection: Connection, world: Replayed, end: Head) -> Iterator[str]:
    """What differs between the tables and a replay of the log."""
    row = connection.execute(select(head.c.number, head.c.hash)).one_or_none()
    if row is None or Head(row.number, row.hash) != end:
        stated = f"{row.number}" if row else "nothing"
        yield f"the log ends at entry {end.number}, but the table head states {stated}: the end of the log was changed"
    expected = {id: sample_row(sample) for id, sample in world.samples.items()}
    yield from _compared(connection, samples, expected)
    yield from _compared(
        connection, documents, {id: document_row(document) for id, document in world.documents.items()}
    )
    yield from _texts(connection, world)
    roles = {row.name: (row.role, bool(row.active)) for row in connection.execute(select(people))}
    for name in sorted(roles.keys() | world.people.keys()):
        known = world.people.get(name)
        if known is None or roles.get(name) != (known.role, known.active):
            yield f"people: {name}: its role or activity differs from the log"
    rows = [dict(row._mapping) for row in connection.execute(select(notes).order_by(notes.c.number))]
    if rows != [note_row(note) for note in world.notes]:
        yield "notes: they differ from the log"


def _compared(connection: Connection, table: Table, expected: dict[str, dict[str, Any]]) -> Iterator[str]:
    missing = set(expected)
    with connection.execute(select(table).order_by(table.c.id).execution_options(yield_per=1000)) as rows:
        for row in rows:
            missing.discard(row.id)
            if dict(row._mapping) != expected.get(row.id):
                yield f"{table.name}: {row.id} differs from the log; restore a backup, or ask who changed the database"
    for id in sorted(missing):
        yield f"{table.name}: {id} is in the log but not in the table"


def _texts(connection: Connection, world: Replayed) -> Iterator[str]:
    missing = set(world.digests)
    for id in connection.execute(select(texts.c.document)).scalars().all():
        content = connection.execute(select(texts.c.content).where(texts.c.document == id)).scalar_one()
        missing.discard(id)
        if hashlib.sha256(bytes(content)).hexdigest() != world.digests.get(id):
            yield f"texts: the text of document {id} was changed"
    for id in sorted(missing):
        yield f"texts: the text of document {id} is missing"


@readable
@dataclass(frozen=True, slots=True)
class BackupReport:
    """Content of a studio or a backup.

    Attributes:
        entries: Number of entries of the log, which was verified; 0 for a dump of PostgreSQL, which is verified after
            restoring.
        size: Bytes of the backup.
    """

    samples: int
    entries: int
    size: int


KIND = Kind(STUDIO, samples, check_intact, BackupReport)
