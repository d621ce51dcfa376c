"""LongBench: subsets of published data sets in a common form, and the same data in their authors' forms."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from fathom.benchmarks.hundred.multihop_sources import HOTPOT, MUSIQUE
from fathom.benchmarks.hundred.sources import MULTI_NEWS, QMSUM, with_line_ends, without_noise
from fathom.benchmarks.leval.sources import PLAIN_SUMMARY
from fathom.documents.corpus.records import Fields
from fathom.documents.sources.forms import asked_for_summaries, from_fields, joined, text_in
from fathom.documents.sources.source import HubFile, Shape, Source
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


def _source(
    name: str,
    read: Callable[[Mapping[str, object], str], Document],
    description: str,
    licence: str,
    origin: str,
    others: tuple[Shape, ...] = (),
    names: tuple[str, ...] = (),
) -> Source:
    return Source(
        name=name,
        dataset=DATASET,
        revision=REVISION,
        files=(ARCHIVE,),
        shapes=(Shape("LongBench", FIELDS, read), *others),
        licence=licence,
        citation=f"{CITATION}; {origin}",
        description=description,
        names=names,
    )


SOURCES = (
    _source(
        "qasper",
        read_qa,
        "papers on language processing with questions",
        "MIT (LongBench); CC-BY-4.0 (Qasper)",
        "Dasigi et al. (2021), A Dataset of Information-Seeking Questions and Answers Anchored in Research Papers, "
        "arXiv:2105.03011",
        names=("qasper_e",),
    ),
    _source(
        "multifieldqa_en",
        read_qa,
        "documents of many fields with questions written for LongBench",
        "MIT (LongBench)",
        "questions annotated for it",
        names=("multifieldqa_en_e",),
    ),
    _source(
        "narrativeqa",
        read_qa,
        "books and film scripts with questions",
        "MIT (LongBench); Apache-2.0 (NarrativeQA)",
        "Kočiský et al. (2018), The NarrativeQA Reading Comprehension Challenge, arXiv:1712.07040",
    ),
    _source(
        "hotpotqa",
        read_passages,
        "questions over two of several Wikipedia passages",
        "MIT (LongBench); CC-BY-SA-4.0 (HotpotQA)",
        "Yang et al. (2018), HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question Answering, "
        "arXiv:1809.09600",
        (HOTPOT,),
        ("hotpot_qa", "hotpot_dev_distractor_v1", "hotpotqa_e"),
    ),
    _source(
        "2wikimqa",
        read_passages,
        "questions over two or more of several Wikipedia passages",
        "MIT (LongBench); Apache-2.0 (2WikiMultihopQA)",
        "Ho et al. (2020), Constructing A Multi-hop QA Dataset for Comprehensive Evaluation of Reasoning Steps, "
        "arXiv:2011.01060",
        (HOTPOT,),
        ("2wikimultihopqa", "2wikimultihop", "2wikimqa_e"),
    ),
    _source(
        "musique",
        read_passages,
        "questions over two to four of several Wikipedia passages",
        "MIT (LongBench); CC-BY-4.0 (MuSiQue)",
        "Trivedi et al. (2022), MuSiQue: Multihop Questions via Single-hop Question Composition, arXiv:2108.00573",
        (MUSIQUE,),
        ("musique_ans_v1.0", "musique_full_v1.0"),
    ),
    _source(
        "gov_report",
        read_summary,
        "reports of US government agencies with their summaries",
        "MIT (LongBench); CC-BY-4.0 (GovReport)",
        "Huang et al. (2021), Efficient Attentions for Long Document Summarization, arXiv:2104.02112",
        (PLAIN_SUMMARY,),
        ("gov_report_e", "gov_report_summ"),
    ),
    _source(
        "qmsum",
        read_meeting,
        "transcripts of meetings with requests and their summaries",
        "MIT (LongBench, QMSum)",
        "Zhong et al. (2021), QMSum: A New Benchmark for Query-based Multi-domain Meeting Summarization, "
        "arXiv:2104.05938",
        (QMSUM,),
    ),
    _source(
        "multi_news_e",
        read_summary_of_passages,
        "news articles on one event with a summary of all",
        "MIT (LongBench); non-commercial research and education (Multi-News)",
        "Fabbri et al. (2019), Multi-News: A Large-Scale Multi-Document Summarization Dataset and Abstractive "
        "Hierarchical Model, arXiv:1906.01749",
        (MULTI_NEWS,),
        ("multi_news",),
    ),
)
