"""Documents, questions about them, and spans."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fathom.types.common import Json

Role: TypeAlias = Literal[
    "qa",
    "multi_qa",
    "summary",
    "multi_summary",
    "news",
    "noise",
    "book",
    "thread",
    "case",
    "record",
    "pairs",
    "refrain",
    "neutral",
    "generated",
]
ROLES: tuple[Role, ...] = (
    "qa", "multi_qa", "summary", "multi_summary", "news", "noise", "book", "thread", "case", "record"
)  # fmt: skip
"""The roles of documents: questions about one text or about several, summaries of one or of several, short fillers,
fillers of any kind, books in chapters, threads of one question with its answers, published cases of such questions, and
records of a published benchmark, which are used unchanged. Documents of a corpus without roles have all of them.
``pairs`` (keys with values) and ``refrain`` (one repeated sentence) are
generated, as is ``neutral``: sentences that say nothing. ``generated`` are the documents that tasks make themselves
(``Task.documents``)."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a document.

    Attributes:
        text: The question as it is put to the model.
        answers: Acceptable gold answers, at least one.
        evidence: Character spans ``(start, end)`` of the document's text sufficient for the answer; empty if unknown.
        meta: Other fields of the source (kind, difficulty, ...).
    """

    text: str
    answers: tuple[str, ...]
    evidence: tuple[tuple[int, int], ...] = ()
    meta: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its metadata.

    Attributes:
        id: Hash of the text (``documents.corpus.document_id``), so that equal texts have equal ids; for a published
            record the hash of its text and number.
        text: The text, stripped at both ends, with ``\\n`` line ends; of a published record unchanged.
        source: Its origin, for messages: ``FILE:ROW`` or ``world:SEED/INDEX``.
        language: ISO 639-1 code, ``en`` or ``zh`` today.
        title: A heading, or "".
        licence: SPDX id or the source's wording, or "".
        questions: Questions that the text answers.
        summary: A reference summary, or "".
        meta: Other fields of the source.
        passages: Character spans of the separate texts it consists of, such as the articles that one question needs;
            empty for one text.
        pages: Offsets in the text at which its pages, slides or chapters start, the first of them 0; a page without
            text starts where the next one does. Empty for a text without pages.
    """

    id: str
    text: str
    source: str
    language: str = "en"
    title: str = ""
    licence: str = ""
    questions: tuple[Question, ...] = ()
    summary: str = ""
    meta: Mapping[str, Json] = field(default_factory=dict)
    passages: tuple[tuple[int, int], ...] = ()
    pages: tuple[int, ...] = ()

    def page_of(self, offset: int) -> int | None:
        """Number from 1 of the page that has the character at an offset; None for a text without pages."""
        return bisect_right(self.pages, offset) or None


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a document: characters ``start`` to ``end`` of the text of document ``doc``."""

    doc: str
    start: int
    end: int
