"""L-Eval: long documents, each with instructions and reference outputs."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from fathom.benchmarks.hundred.sources import without_noise
from fathom.documents.corpus.records import Fields
from fathom.documents.sources.forms import asked_for_summaries, from_fields, text_in
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.storage.toml import packaged_toml
from fathom.types import Document

DATASET = "L4NLP/LEval"
REVISION = "43b9dbf06c239360b183c76cb5d90ebe4f5e3070"
CITATION = (
    "An et al. (2024), L-Eval: Instituting Standardized Evaluation for Long Context Language Models, arXiv:2307.11088"
)
FIELDS = frozenset({"input", "instructions", "outputs"})
NAMES = Fields(text="input", questions="instructions", answers="outputs")


def read_qa(record: Mapping[str, object], where: str) -> Document:
    """A document with questions.

    Raises:
        BadRowError: It has no text.
    """
    return from_fields(record, where, NAMES)


def read_summary(record: Mapping[str, object], where: str) -> Document:
    """A document whose only instruction asks for its summary; several are requests with a summary each.

    Raises:
        BadRowError: It has no text.
    """
    document = from_fields(record, where, NAMES)
    if len(document.questions) == 1:
        return replace(document, questions=(), summary=document.questions[0].answers[0])
    return asked_for_summaries(document)


def read_requests(record: Mapping[str, object], where: str) -> Document:
    """A document with requests, each answered by a summary.

    Raises:
        BadRowError: It has no text.
    """
    return asked_for_summaries(from_fields(record, where, NAMES))


def read_meeting(record: Mapping[str, object], where: str) -> Document:
    """A transcript with requests; notes in braces are removed.

    Raises:
        BadRowError: It has no text.
    """
    return read_requests({**record, "input": without_noise(text_in(record, "input"))}, where)


PLAIN_SUMMARY = Shape("L-Eval", FIELDS, read_summary)


READERS: Mapping[str, Callable[[Mapping[str, object], str], Document]] = {
    "patent_summ": read_summary,
    "tv_show_summ": read_summary,
    "review_summ": read_requests,
    "meeting_summ": read_meeting,
}
"""Readers of data sets that are not questions over a text."""


def _source(name: str, description: str, origin: str) -> Source:
    return Source(
        name=name,
        dataset=DATASET,
        revision=REVISION,
        files=(HubFile(f"LEval/Generation/{name}.jsonl"),),
        shapes=(Shape("L-Eval", FIELDS, READERS.get(name, read_qa)),),
        licence="GPL-3.0",
        citation=f"{CITATION}; {origin}",
        description=description,
    )


SOURCES = tuple(_source(name, **entry) for name, entry in packaged_toml(__package__, "sources.toml").items())
