"""Shared code of the record shapes of all publishers: converts fields to documents.

Every span refers to the normalised text. What had to be left out of a record is recorded in ``meta["left_out"]`` of its
document, for the finder.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fathom.documents.corpus.records import BadRowError, Fields, make_document
from fathom.documents.corpus.text import document_id, normalise
from fathom.documents.sources.source import Shape
from fathom.types import Document, Json, Question

LEFT_OUT = "left_out"
SUMMARY: Mapping[str, Json] = {"kind": "summary"}
TEXTS = "texts"


class PassedOverError(BadRowError):
    """A valid but unwanted record: counted, not listed."""


def from_fields(record: Mapping[str, object], where: str, names: Fields) -> Document:
    """A document from a record whose parts are in separate fields.

    Returns:
        The document; its language is "" if the record has none.

    Raises:
        BadRowError: The record has no text.
    """
    made, remarks = make_document(record, names, where)
    if not made.questions and not made.summary:
        remarks.append("neither a question nor a summary; only its text is used")
    return replace(
        made,
        language=made.language if record.get(names.language) else "",
        questions=one_each(made.questions),
        meta={**made.meta, **({LEFT_OUT: remarks} if remarks else {})},
    )


def from_parts(
    where: str,
    text: str,
    questions: Iterable[Question] = (),
    *,
    summary: object = None,
    identity: object = "",
    passages: Iterable[tuple[int, int]] = (),
) -> Document:
    """A document from its parts.

    Args:
        where: The source to record.
        text: The text, normalised, so that the spans of passages and evidence refer to it.
        questions: Questions with their answers, as in the source.
        identity: The source's own name for the text.
        passages: See ``Document``; empty spans are dropped.

    Raises:
        BadRowError: The text is empty.
    """
    asked = list(questions)
    record = {
        "text": text,
        "questions": [{"question": q.text, "answers": q.answers, "evidence": q.evidence} for q in asked],
        "summary": summary,
        "id": identity,
    }
    made = from_fields(record, where, Fields())
    metas = {normalise(question.text): question.meta for question in asked if isinstance(question.text, str)}
    return replace(
        made,
        questions=tuple(replace(question, meta=metas[question.text]) for question in made.questions),
        passages=tuple((start, end) for start, end in passages if start < end),
    )


def published_record(
    text: str, where: str, key: str, meta: Mapping[str, Json], passages: Iterable[tuple[int, int]] = ()
) -> Document:
    """A record of a benchmark as a document, with its text unchanged.

    Args:
        where: The source to record.
        key: What distinguishes records with the same text: they are different documents.
        meta: What the record has besides its text.
        passages: See ``Document``.
    """
    return Document(document_id(f"{key}\n\n{text}"), text, where, "en", meta=meta, passages=tuple(passages))


def one_each(questions: Iterable[Question]) -> tuple[Question, ...]:
    """Questions with distinct texts: duplicates are merged with all their answers."""
    by_text: dict[str, list[Question]] = {}
    for question in questions:
        by_text.setdefault(question.text, []).append(question)
    return tuple(
        replace(
            same[0],
            answers=tuple(dict.fromkeys(answer for question in same for answer in question.answers)),
            evidence=tuple(dict.fromkeys(span for question in same for span in question.evidence)),
        )
        for same in by_text.values()
    )


def asked_for_summaries(document: Document) -> Document:
    """The document with its questions as requests for summaries."""
    return replace(document, questions=tuple(replace(q, meta={**q.meta, **SUMMARY}) for q in document.questions))


def joined(texts: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Normalised texts joined by blank lines.

    Returns:
        The whole text, and the span of each; empty texts have empty spans.
    """
    spans, at = [], 0
    for text in texts:
        spans.append((at, at + len(text)))
        at += len(text) + 2 if text else 0
    return "\n\n".join(filter(None, texts)), tuple(spans)


def fields_form(text: str, **others: str) -> Callable[[Mapping[str, object], str], Document]:
    """A shape whose parts are in fields with these names; see ``fathom.documents.corpus.Fields``."""
    names = Fields(text=text, **others)

    def read(record: Mapping[str, object], where: str) -> Document:
        return from_fields(record, where, names)

    return read


def text_in(record: Mapping[str, object], field: str) -> str:
    """The text of a field, normalised; "" if it is empty.

    Raises:
        BadRowError: The field is not text.
    """
    value = record.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRowError(f"the field {field!r} holds a value of type {type(value).__name__}, expected a string")
    return normalise(value)


def word(value: object) -> str:
    """A category or level given by a source, on one line; "" if it is not valid text."""
    if not isinstance(value, str):
        return ""
    return " ".join(normalise(value.encode(errors="ignore").decode()).split())


def list_in(record: Mapping[str, object], field: str) -> Sequence[object]:
    """The entries of a list field.

    Raises:
        BadRowError: The field is not a list.
    """
    value = record.get(field)
    if isinstance(value, list | tuple):
        return value
    raise BadRowError(f"the field {field!r} holds a value of type {type(value).__name__}, expected a list")


def objects_in(record: Mapping[str, object], field: str) -> Sequence[Mapping[str, object]]:
    """The entries of a field with a list of objects.

    Raises:
        BadRowError: The field is something else.
    """
    entries = list_in(record, field)
    if wrong := next((entry for entry in entries if not isinstance(entry, Mapping)), None):
        raise BadRowError(f"the field {field!r} lists a value of type {type(wrong).__name__}, expected objects")
    return [entry for entry in entries if isinstance(entry, Mapping)]


@dataclass(frozen=True, slots=True)
class LookupShape(Shape):
    """A shape whose records refer to texts in other records of the same source.

    Attributes:
        references: Field of a record that lists keys.
        key: Field of the table that holds the key.
        text: Field of the table that holds the text.
    """

    references: str = "references"
    key: str = "id"
    text: str = "text"

    @property
    def table(self) -> frozenset[str]:
        """Fields that every record of the table has."""
        return frozenset({self.key, self.text})


def with_texts(shape: LookupShape, record: Mapping[str, object], table: Mapping[str, str]) -> Mapping[str, object]:
    """The record with the texts it refers to in the field ``texts``.

    Args:
        record: The record; its references are a list, or a list as JSON.
        table: Texts by key.

    Raises:
        BadRowError: The references are not a list, or a text is missing.
    """
    keys = record[shape.references]
    if isinstance(keys, str):
        try:
            keys = json.loads(keys)
        except (ValueError, RecursionError):
            keys = None
    if not isinstance(keys, list | tuple):
        raise BadRowError(f"the field {shape.references!r} is not a list of keys")
    wanted = list(dict.fromkeys(map(str, keys)))
    if missing := [key for key in wanted if key not in table]:
        raise BadRowError(f"{len(missing)} of its {len(wanted)} texts are in no file, for instance {missing[0]}")
    return {**record, TEXTS: [table[key] for key in wanted]}
