"""Oolong as published: streams of labelled texts (``oolong-synth``), and transcripts of a game (``oolong-real``)."""

from collections.abc import Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from fathom.benchmarks.oolong.scoring import gold_value
from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.forms import published_record
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document

SYNTH, REAL = "oolong_synth", "oolong_real"


class Synth(TypedDict):
    """A record of oolong-synth; ``answer`` is the text of a Python list."""

    context_window_text: Filled
    question: Filled
    answer: Filled
    answer_type: Filled
    task_group: Filled
    dataset: NotRequired[str]
    context_window_text_with_labels: NotRequired[Any]
    num_labels: NotRequired[Any]


class Real(TypedDict):
    """A record of oolong-real; an answer of several items has commas."""

    context_window_text: Filled
    question: Filled
    answer: Filled
    question_type: Filled


def read_synth(record: Mapping[str, object], where: str) -> Document:
    """A record of oolong-synth: its text is the stream.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Synth, record)
    try:
        gold_value(fields["answer"].strip())
    except (ValueError, SyntaxError, TypeError, LookupError, MemoryError, RecursionError):
        raise BadRowError(f"answer = {fields['answer'][:40]!r}, expected the text of a Python list") from None
    labels = record.get("num_labels")
    facets = {"group": fields["task_group"], "answer_type": fields["answer_type"], "texts": fields.get("dataset", "")}
    if isinstance(labels, int) and labels > 0:
        facets["num_labels"] = str(labels)
    return _document(where, SYNTH, fields["context_window_text"], fields["question"], fields["answer"], **facets)


def read_real(record: Mapping[str, object], where: str) -> Document:
    """A record of oolong-real: its text are the transcripts.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Real, record)
    kind = fields["question_type"]
    return _document(where, REAL, fields["context_window_text"], fields["question"], fields["answer"], group=kind)


def _document(where: str, dataset: str, text: str, question: str, answer: str, **facets: str) -> Document:
    text, question = storable(text), storable(question).strip()
    meta = {
        "dataset": dataset,
        "id": document_id(f"{dataset} {question}\n\n{text}")[:12],
        "question": question,
        "answer": storable(answer).strip(),
        **{name: storable(value) for name, value in facets.items() if value},
    }
    return published_record(text, where, f"{dataset} {where} {question}", meta)


SOURCES = packaged_sources(
    __package__, {SYNTH: (Shape.of(SYNTH, Synth, read_synth),), REAL: (Shape.of(REAL, Real, read_real),)}
)
