"""LongBench: subsets of published data sets in a common form, and the same data in their authors' forms."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fathom.benchmarks.hundred.multihop_sources import HOTPOT, MUSIQUE
from fathom.benchmarks.hundred.sources import MULTI_NEWS, QMSUM, with_line_ends, without_noise
from fathom.benchmarks.leval.sources import PLAIN_SUMMARY
from fathom.documents.corpus.records import Fields
from fathom.documents.sources.forms import asked_for_summaries, from_fields, joined, text_in
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.storage.toml import packaged_toml
from fathom.types import Document

DATASET = "zai-org/LongBench"
REVISION = "5e628be450b7e67fb7ae6e201bd6d8f7056f7672"
ARCHIVE = HubFile("data.zip", "cb45b11a4133c6bc1d6a44b0f8e701335ff1e543195db1103472e575857f7f64")
CITATION = (
    "Bai et al. (2024), LongBench: A Bilingual, Multitask Benchmark for Long Context Understanding, arXiv:2308.14508"
)
FIELDS = frozenset({"input", "context", "answers"})
QUESTIONS = Fields(text="context", questions="input", answers="answers", language="language", id="_id")
SUMMARIES = Fields(text="context", summary="answers", language="language", id="_id")

_HEADING = re.compile(r"^Passage \d+:(?:\n|\Z)", re.MULTILINE)


def read_qa(record: Mapping[str, object], where: str) -> Document:
    """One text with a question.

    Raises:
        BadRowError: It has no text.
    """
    return from_fields(record, where, QUESTIONS)


def read_passages(record: Mapping[str, object], where: str) -> Document:
    """Numbered passages with a question; which of them help is unknown.

    Raises:
        BadRowError: They have no text.
    """
    return _of_passages(record, where, QUESTIONS)


def read_summary(record: Mapping[str, object], where: str) -> Document:
    """One text with its summary.

    Raises:
        BadRowError: It has no text.
    """
    return from_fields(record, where, SUMMARIES)


def read_summary_of_passages(record: Mapping[str, object], where: str) -> Document:
    """Numbered articles with a summary of all.

    Raises:
        BadRowError: They have no text.
    """
    cleaned = with_line_ends(text_in(record, "context"))
    return _of_passages({**record, "context": cleaned}, where, SUMMARIES)


def read_meeting(record: Mapping[str, object], where: str) -> Document:
    """A transcript with a request that a summary answers.

    Raises:
        BadRowError: It has no text.
    """
    cleaned = without_noise(text_in(record, "context"))
    return asked_for_summaries(from_fields({**record, "context": cleaned}, where, QUESTIONS))


def _of_passages(record: Mapping[str, object], where: str, names: Fields) -> Document:
    parts = _HEADING.split(text_in(record, "context"))
    text, spans = joined(list(dict.fromkeys(part.strip() for part in parts)))
    document = from_fields({**record, "context": text}, where, names)
    return replace(document, passages=tuple((start, end) for start, end in spans if start < end))


READERS: Mapping[str, Callable[[Mapping[str, object], str], Document]] = {
    **dict.fromkeys(("qasper", "multifieldqa_en", "narrativeqa"), read_qa),
    **dict.fromkeys(("hotpotqa", "2wikimqa", "musique"), read_passages),
    "gov_report": read_summary,
    "qmsum": read_meeting,
    "multi_news_e": read_summary_of_passages,
}
OWN_FORMS: Mapping[str, Shape] = {
    "hotpotqa": HOTPOT,
    "2wikimqa": HOTPOT,
    "musique": MUSIQUE,
    "gov_report": PLAIN_SUMMARY,
    "qmsum": QMSUM,
    "multi_news_e": MULTI_NEWS,
}
"""The forms in which their authors publish them."""


def _source(name: str, licence: str, description: str, origin: str, names: Sequence[str] = ()) -> Source:
    return Source(
        name=name,
        dataset=DATASET,
        revision=REVISION,
        files=(ARCHIVE,),
        shapes=(Shape("LongBench", FIELDS, READERS[name]), *([OWN_FORMS[name]] if name in OWN_FORMS else ())),
        licence=licence,
        citation=f"{CITATION}; {origin}",
        description=description,
        names=tuple(names),
    )


SOURCES = tuple(_source(name, **entry) for name, entry in packaged_toml(__package__, "sources.toml").items())
