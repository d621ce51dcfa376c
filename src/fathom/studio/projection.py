"""The tables as a projection of the log: entries and values as rows, and back."""

from collections.abc import Generator
from typing import Any, TypeVar

from sqlalchemy import Connection, select

from fathom.studio.log import Entry, NoteEntry
from fathom.studio.records import as_record, canonical, from_json
from fathom.studio.schema import entries
from fathom.studio.states import involved
from fathom.studio.types import Sample, StudioDocument

Kind = TypeVar("Kind")


def entries_of(connection: Connection) -> Generator[Entry, None, None]:
    """All entries of the log in order."""
    query = select(entries).order_by(entries.c.number).execution_options(yield_per=1000)
    with connection.execute(query) as rows:  # also closed where the reader stops early
        for row in rows:
            yield Entry(**row._mapping)


def sample_row(sample: Sample) -> dict[str, Any]:
    """The columns of a sample."""
    names = ("id", "task", "language", "bucket", "state", "version", "author", "round", "updated")
    question = sample.content.question or next((one.content.question for one in sample.candidates), "")
    title = " ".join(question.split())[:120]
    more = {"title": title, "involved": "".join(f"|{name}" for name in sorted(involved(sample))) + "|"}
    return {name: getattr(sample, name) for name in names} | more | {"body": canonical(as_record(sample))}


def document_row(document: StudioDocument) -> dict[str, Any]:
    """The columns of a document."""
    names = ("id", "language", "bucket", "state")
    return {name: getattr(document, name) for name in names} | {"body": canonical(as_record(document))}


def note_row(entry: NoteEntry) -> dict[str, Any]:
    """The columns of a note."""
    note = entry.note
    facts = {"number": entry.number, "topic": note.topic, "subject": note.subject}
    return facts | {"person": entry.person, "at": entry.at, "body": canonical(as_record(note))}


def value_of(kind: type[Kind], body: str) -> Kind:
    """A value from the column ``body`` of its row."""
    return from_json(kind, body)
