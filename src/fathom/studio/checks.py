"""Checks of what people send that the workflow cannot make: sizes, ids, and evidence against the texts."""

import re
from collections.abc import Callable, Iterator, Sequence

from fathom.studio.records import as_record, canonical, checked_text
from fathom.studio.states import RefusedError
from fathom.studio.types import (
    Action,
    AddCandidates,
    Component,
    ComponentVerdict,
    Create,
    Edit,
    Evidence,
    Note,
    StudioDocument,
    SubmitReview,
    SubmitVerdicts,
    Write,
)

MOST_BYTES = 4 << 20
"""Maximum size of one action, as JSON."""
MOST_CHARACTERS = 20_000_000
"""Maximum size of the text of a document."""
MOST_BUCKET = 1_000_000_000
"""Maximum length bucket, in tokens."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_DOCUMENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


def is_id(text: str) -> bool:
    """Whether a text can be the id of a sample."""
    return _ID.fullmatch(text) is not None


def check_action(action: Action) -> None:
    """Checks the size of an action, and the id of its sample.

    Raises:
        RefusedError: It is too large, or the id or the length bucket is none.
        RecordError: The name of a task or language is too long.
    """
    if len(canonical(as_record(action))) > MOST_BYTES:
        raise RefusedError(f"sample {action.sample[:60]!r}: more than {MOST_BYTES:,} bytes; shorten it")
    if not is_id(action.sample):
        raise RefusedError(f"sample {action.sample[:60]!r}: expected an id of letters, digits and ._:-, at most 64")
    if isinstance(action, Create):
        checked_text(action.task, "task", 128)
        _check_length(action.language, action.bucket)


def added_evidence(action: Action) -> list[Evidence]:
    """Evidence that somebody adds with an action."""
    match action:
        case Create() | AddCandidates():
            return [
                passage for candidate in action.candidates for passage in _of_components(candidate.content.components)
            ]
        case Write() | Edit():
            return list(_of_components(action.content.components))
        case SubmitVerdicts() | SubmitReview():
            return list(_of_components((*action.verdicts, *action.missing)))
    return []


def _of_components(components: Sequence[Component | ComponentVerdict]) -> Iterator[Evidence]:
    for component in components:
        yield from component.evidence


def check_evidence(evidence: Evidence, documents: Sequence[str], text: Callable[[str], str]) -> None:
    """Checks evidence against the text.

    Args:
        documents: Ids of the documents of its sample.
        text: The text of a document, by its id.

    Raises:
        RefusedError: The sample has no such document, or the document says something else there.
    """
    where = f"evidence {evidence.start}-{evidence.end}"
    if evidence.document not in documents:
        raise RefusedError(f"{where}: the sample has no document {evidence.document[:60]!r}; mark it in another")
    content = text(evidence.document)
    if not evidence.start < evidence.end <= len(content):
        raise RefusedError(f"{where}: outside of the document, which has {len(content)} characters; mark it again")
    if content[evidence.start : evidence.end] != evidence.quote:
        raise RefusedError(f"{where}: its quote is not what the document says there; mark it again")


def check_document(document: StudioDocument, content: str) -> None:
    """Checks the id of a document, and its text.

    Raises:
        RefusedError: The id or the bucket is none.
        RecordError: The text or the language is too long, or contains a character that is no text.
    """
    if not _DOCUMENT_ID.fullmatch(document.id):
        raise RefusedError(f"document {document.id[:60]!r}: expected an id of letters, digits and ._:-")
    _check_length(document.language, document.bucket)
    checked_text(content, f"document {document.id}: the text", MOST_CHARACTERS)


def _check_length(language: str, bucket: int) -> None:
    checked_text(language, "language", 16)
    if bucket > MOST_BUCKET:
        raise RefusedError(f"length bucket {bucket}: expected at most {MOST_BUCKET:,} tokens")


def check_names(note: Note) -> None:
    """Checks the topic and the subject of a note.

    Raises:
        RefusedError: One of them is no id.
    """
    if not is_id(note.topic) or not _DOCUMENT_ID.fullmatch(note.subject):
        raise RefusedError("topic and subject of a note: expected letters, digits and ._:-")


def check_draft(subject: str, form: str, body: str) -> None:
    """Checks an unsent draft.

    Raises:
        RefusedError: It is too large, or not that of a form.
    """
    if not _DOCUMENT_ID.fullmatch(subject) or not is_id(form) or form != form[:32]:
        raise RefusedError("a draft needs the id of a sample and the name of a form; reload the page")
    if len(body) > MOST_BYTES:
        raise RefusedError(f"the draft has more than {MOST_BYTES:,} characters; shorten it")
