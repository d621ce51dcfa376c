"""Comments on samples: notes that change nothing, and that reviewers do not see before an answer review is decided."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fathom.storage.validation import Count, Text, Words
from fathom.studio.log import NoteEntry
from fathom.studio.records import as_record, canonical, from_json
from fathom.studio.states import RefusedError
from fathom.studio.store import Store
from fathom.studio.types import Note, Person, Sample

COMMENT = "comment"
"""Topic of the notes that hold comments."""
MOST = 20_000
"""Maximum length of a comment, in characters."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; the body of a note.

    Attributes:
        text: What it says.
        version: Version of the sample that they saw.
    """

    text: Words
    version: Count


@dataclass(frozen=True, slots=True)
class CommentBy:
    """A comment with who wrote it and when.

    Attributes:
        by: Who wrote it; "" while names are hidden.
    """

    by: Text
    at: Text
    comment: Comment


def comment(store: Store, sample: Sample, text: str, by: Person, seconds: float = 0.0) -> None:
    """Write a comment on a sample.

    Args:
        text: What it says.
        seconds: Time spent.

    Raises:
        RefusedError: It is empty or too long, or they may not.
    """
    if not text.strip() or len(text) > MOST:
        raise RefusedError(f"a comment has 1 to {MOST:,} characters")
    body = canonical(as_record(Comment(text.strip(), sample.version)))
    store.note(Note(COMMENT, sample.id, body, seconds), by)


def read_comment(note: NoteEntry) -> Comment:
    """The comment in a note.

    Raises:
        RecordError: It is none.
    """
    return from_json(Comment, note.note.body, "comment")


def comments_of(sample: Sample, notes: Iterable[NoteEntry], name: str) -> tuple[CommentBy, ...]:
    """The comments on a sample that somebody sees now, the oldest first.

    In the answer review, everybody sees only their own; in adjudication, nobody sees names.

    Args:
        name: Who looks at it.
    """
    read = (CommentBy(note.person, note.at, read_comment(note)) for note in notes)
    if sample.state == "answer_review":
        return tuple(item for item in read if item.by == name)
    return tuple(replace(item, by="", at="") if sample.state == "adjudication" else item for item in read)
