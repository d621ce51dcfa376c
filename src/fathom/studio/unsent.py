"""Unsent drafts: what people typed into forms and have not sent. They are not in the log."""

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from fathom.server.database import now
from fathom.studio.schema import drafts


@dataclass(frozen=True, slots=True)
class Draft:
    """A form that somebody began to fill in.

    Attributes:
        version: Version of the sample that they saw.
        saved: Time, in UTC.
        body: The form's values as JSON text.
    """

    version: int
    saved: str
    body: str


def save(connection: Connection, person: str, subject: str, form: str, version: int, body: str) -> str:
    """Replaces what somebody typed into a form, and returns the time."""
    made = {"person": person, "subject": subject, "form": form}
    connection.execute(delete(drafts).filter_by(**made))
    connection.execute(insert(drafts).values(**made, version=version, saved=(at := now()), body=body))
    return at


def find(connection: Connection, person: str, subject: str, form: str) -> Draft | None:
    """What somebody typed into a form last; None if it was sent or nothing was typed."""
    query = select(drafts).filter_by(person=person, subject=subject, form=form)
    row = connection.execute(query).one_or_none()
    return None if row is None else Draft(row.version, row.saved, row.body)


def drop(connection: Connection, person: str, subject: str) -> None:
    """Forgets what somebody typed about a sample."""
    connection.execute(delete(drafts).filter_by(person=person, subject=subject))
