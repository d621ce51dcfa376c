"""Converts records to documents: which field is the text, and which its questions, answers, summary, title."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TypeGuard, TypeVar

from fathom.documents.corpus.locating import find_quotation
from fathom.documents.corpus.nesting import (
    EVERY,
    MISSING,
    describe_fields,
    joined,
    listed_answers,
    longest_text,
    lookup,
)
from fathom.documents.corpus.text import detect_language, document_id, language_code, normalise
from fathom.storage.schema import MismatchError, read_as
from fathom.types import Document, Question

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of the fields that hold the parts of a document.

    Attributes:
        text: The text, the only required field.
        questions: A question, a list of questions, or a list of objects
            ``{question | text, answers | answer, evidence?}``; by default ``question`` and ``answer`` are read too.
        answers: Gold answers if questions are plain strings: one entry per question, each a string or a list of
            acceptable strings.
        summary: A reference summary, or a list whose first entry is used.
        title: A heading.
        language: ``en``, ``zh`` or the language's English name; detected if absent.
        id: The source's own name for the text, kept as ``meta["id"]``.
    """

    text: str = "text"
    questions: str = "questions"
    answers: str = "answers"
    summary: str = "summary"
    title: str = "title"
    language: str = "language"
    id: str = "id"
    licence: str = "licence"

    def field_names(self) -> frozenset[str]:
        """All field names, and those that paths begin with."""
        paths = [path for part in parts_of_document() for path in _called(self, part)]
        ends = ((path, at) for path in paths for at, letter in enumerate(path) if letter == ".")
        return frozenset([*paths, *(path[:at] for path, at in ends)])


def _called(names: Fields, part: str) -> tuple[str, ...]:
    """The fields that may hold a part: by default ``question`` is also read."""
    name = getattr(names, part)
    return (name, name.removesuffix("s")) if part in ("questions", "answers") and name == part else (name,)


def parts_of_document() -> tuple[str, ...]:
    """The parts that a corpus specification can name: ``text``, ``questions``, ..."""
    return tuple(part.name for part in fields(Fields))


class BadRowError(Exception):
    """A record that cannot become a document; the message says why."""


class NoTextFieldError(BadRowError):
    """A record without its text field."""


def typed(schema: type[T], record: object) -> T:
    """A record as its schema says (``fathom.storage.schema``).

    Raises:
        BadRowError: A field is missing or has another form.
    """
    try:
        return read_as(schema, record)
    except MismatchError as error:
        raise BadRowError(str(error)) from None


def plain_record(record: Mapping[str, object], names: Fields) -> tuple[Mapping[str, object], list[str]]:
    """A record of a user's file with the parts of its document under their names, without lists in cells.

    Args:
        record: The record as it was read.
        names: Names or paths of the parts.

    Returns:
        The record, with these fields as they are named; and remarks about what was left out.
    """
    plain, remarks = dict(record), list[str]()
    for part, name in _resolvable(tuple(record), names):
        value, reason = lookup(record, name), ""
        if value is MISSING:
            continue
        if part == "text":
            value = joined(value)
        elif part in ("questions", "answers"):
            value, reason = listed_answers(value)
        if reason:
            remarks.append(f"the field {name!r}: {reason}; skipped")
        plain[name] = value
    return plain, remarks


@lru_cache(maxsize=256)
def _resolvable(fields: tuple[str, ...], names: Fields) -> tuple[tuple[str, str], ...]:
    """The parts, with the names of their fields, that a record with some fields may have."""
    known = {field.casefold() for field in fields}
    paths = ((part, name) for part in parts_of_document() for name in _called(names, part))
    return tuple((part, name) for part, name in paths if name.casefold() in known or "." in name or EVERY in name)


def make_document(record: Mapping[str, object], names: Fields, source: str) -> tuple[Document, list[str]]:
    """Convert one record to a document.

    Returns:
        The document, and remarks about what was left out (a question without an answer, for example).

    Raises:
        BadRowError: The record has no text, or text that cannot be stored.
    """
    if names.text not in record:
        raise NoTextFieldError(f"no field {names.text!r}; {describe_fields([record])}")
    value = record[names.text]
    raw = _as_text(value) if isinstance(value, str | bytes) else None
    if raw is None:
        inner = longest_text([{names.text: value}])
        better = f"; name the field of its texts, as in FILE?text={inner}" if inner not in ("", names.text) else ""
        raise BadRowError(f"the field {names.text!r} holds {_kind(value)}, expected a string{better}")
    text = normalise(raw)
    if not text:
        raise BadRowError(f"the field {names.text!r} is empty")
    questions, remarks = _questions(record, names, raw, text)
    summary, remark = _summary(record.get(names.summary), names.summary)
    identity = _as_text(record.get(names.id))
    document = Document(
        id=document_id(text),
        text=text,
        source=source,
        language=language_code(record.get(names.language)) or detect_language(text),
        title=_line(record.get(names.title)),
        licence=_line(record.get(names.licence)),
        questions=questions,
        summary=summary,
        meta={"id": identity} if identity else {},
    )
    return document, [*remarks, *filter(None, [remark])]


def _questions(
    record: Mapping[str, object], names: Fields, raw: str, text: str
) -> tuple[tuple[Question, ...], list[str]]:
    """The questions of a record, and remarks about what was left out."""
    asked = _first_of(record, *_called(names, "questions"))
    if asked is None or asked == "":
        return (), []
    listed = list(asked) if _is_list(asked) else [asked]
    answers, remark = _answers_by_question(listed, _first_of(record, *_called(names, "answers")), names)
    questions, remarks = list[Question](), [remark] if remark else []
    for number, (question, given) in enumerate(zip(listed, answers, strict=True), start=1):
        objects = isinstance(question, Mapping)
        facts = question if isinstance(question, Mapping) else {}
        words = normalise(_as_text(_first_of(facts, "question", "text") if objects else question) or "")
        gold = _strings(_first_of(facts, "answers", "answer") if objects else given)
        if words and gold:
            evidence = tuple(_evidence(facts.get("evidence"), raw, text))
            if facts.get("evidence") and not evidence:
                remarks.append(f"question {number}: its evidence is not in the text word for word; it is not used")
            questions.append(Question(words, gold, evidence))
        else:
            remarks.append(f"question {number} has no {'answer' if words else 'text'}; skipped")
    return tuple(questions), remarks


def _answers_by_question(questions: list[object], answers: object, names: Fields) -> tuple[Sequence[object], str]:
    """Gold answers parallel to the questions, with None for missing ones; and a remark if their number differs."""
    none: list[object] = [None] * len(questions)
    if answers is None or all(isinstance(question, Mapping) for question in questions):
        return none, ""
    if not _is_list(answers):
        answers = [answers]
    if len(questions) == 1:
        # The answers to a single question may be in a nested list, or directly in the field.
        return [answers[0] if len(answers) == 1 else answers], ""
    if len(answers) == len(questions):
        return answers, ""
    return none, (
        f"{len(questions)} questions in {names.questions!r} but {len(answers)} answers in {names.answers!r}; "
        "expected one entry per question"
    )


def _first_of(facts: Mapping[str, object], *names: str) -> object:
    return next((facts[name] for name in names if facts.get(name) is not None), None)


def _strings(value: object) -> tuple[str, ...]:
    """The distinct non-empty strings in a string, a number, an object with ``text``, or a list of them."""
    listed = value if _is_list(value) else [value]
    inner = [each.get("text") if isinstance(each, Mapping) else each for each in listed]
    entries = [each for part in inner for each in (part if _is_list(part) else [part])]
    texts = (normalise(text) for entry in entries if (text := _as_text(entry)) is not None)
    return tuple(dict.fromkeys(filter(None, texts)))


def _evidence(value: object, raw: str, text: str) -> Iterator[tuple[int, int]]:
    """Spans of the normalised text for evidence given as text, or as ``[start, end]`` in the original text."""
    for entry in value if _is_list(value) else [value]:
        match entry:
            case str():
                piece, earliest = normalise(entry), 0
            case [int(start), int(end)] if 0 <= start < end:
                # Normalising only removes characters, so the piece cannot have moved further than this.
                piece, earliest = normalise(raw[start:end]), max(0, start - (len(raw) - len(text)))
            case _:
                continue
        place = text.find(piece, earliest) if piece else -1
        if place >= 0:
            yield place, place + len(piece)
        elif (span := find_quotation(text, piece, earliest)) is not None:
            yield span


def _summary(value: object, field: str) -> tuple[str, str]:
    """The first summary of a field, and a remark if there is a value without one."""
    summaries = _strings(value)
    if summaries or not (value or isinstance(value, str)):
        return (summaries[0] if summaries else ""), ""
    if isinstance(value, str):
        return "", f"the field {field!r} is empty; there is no summary"
    return "", f"the field {field!r} holds {_kind(value)}, expected a string; the summary is skipped"


def _line(value: object) -> str:
    return " ".join(normalise(_as_text(value) or "").split())


def _as_text(value: object) -> str | None:
    """A string, UTF-8 bytes or a number as text; None for anything else and for text that is not valid UTF-8."""
    try:
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, str):
            value.encode()
            return value
    except UnicodeError:
        return None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    kinds: dict[type, str] = {
        bool: "true or false",
        str: "a lone surrogate (such as \\ud800)",
        bytes: "bytes that are not UTF-8",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), f"a value of type {type(value).__name__}")
