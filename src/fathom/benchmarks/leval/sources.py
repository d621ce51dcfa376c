"""L-Eval: long documents, each with instructions and reference outputs."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from fathom.benchmarks.hundred.sources import without_noise
from fathom.documents.corpus.records import Fields
from fathom.documents.sources.forms import asked_for_summaries, from_fields, text_in
from fathom.documents.sources.source import HubFile, Shape, Source
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


def _source(name: str, read: Callable[[Mapping[str, object], str], Document], description: str, origin: str) -> Source:
    return Source(
        name=name,
        dataset=DATASET,
        revision=REVISION,
        files=(HubFile(f"LEval/Generation/{name}.jsonl"),),
        shapes=(Shape("L-Eval", FIELDS, read),),
        licence="GPL-3.0",
        citation=f"{CITATION}; {origin}",
        description=description,
    )


SOURCES = (
    _source(
        "multidoc_qa",
        read_qa,
        "pages of public services with questions of a dialogue",
        "Feng et al. (2021), MultiDoc2Dial, arXiv:2109.12595",
    ),
    _source(
        "legal_contract_qa",
        read_qa,
        "contracts with questions about their clauses, answered by the clauses",
        "Hendrycks et al. (2021), CUAD, arXiv:2103.06268",
    ),
    _source("financial_qa", read_qa, "earnings calls with questions written for L-Eval", "questions annotated for it"),
    _source(
        "natural_question",
        read_qa,
        "Wikipedia pages with questions of a search engine's users",
        "Kwiatkowski et al. (2019), Natural Questions, doi:10.1162/tacl_a_00276",
    ),
    _source(
        "scientific_qa",
        read_qa,
        "papers on language processing with questions",
        "Dasigi et al. (2021), Qasper, arXiv:2105.03011",
    ),
    _source(
        "patent_summ",
        read_summary,
        "patents with their summaries",
        "Sharma, Li and Wang (2019), BigPatent, arXiv:1906.03741",
    ),
    _source(
        "tv_show_summ",
        read_summary,
        "transcripts of television shows with their summaries",
        "Chen et al. (2022), SummScreen, arXiv:2104.07091",
    ),
    _source(
        "review_summ",
        read_requests,
        "reviews of a hotel with a summary for each aspect",
        "Angelidis et al. (2021), SPACE, arXiv:2012.04443",
    ),
    _source(
        "meeting_summ",
        read_meeting,
        "transcripts of meetings with requests and their summaries",
        "Zhong et al. (2021), QMSum, arXiv:2104.05938",
    ),
)
