"""LongBench and LongBench-E as benchmarks: their records unchanged, one document each.

Unlike in the data sources of ``sources``, whose texts are cleaned for use in other benchmarks, nothing is changed here:
no blanks are stripped, rows with equal texts stay separate, and every record has its row in the original file.
"""

from collections.abc import Callable, Mapping
from functools import partial

from fathom.benchmarks.longbench.sources import ARCHIVE, CITATION, DATASET, REVISION
from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import document_id
from fathom.documents.sources.source import ROW, Shape, Source
from fathom.types import Document, Json

GAP = "\n\n"
ENGLISH = (
    "narrativeqa",
    "qasper",
    "multifieldqa_en",
    "hotpotqa",
    "2wikimqa",
    "musique",
    "gov_report",
    "qmsum",
    "multi_news",
    "trec",
    "triviaqa",
    "samsum",
    "passage_count",
    "passage_retrieval_en",
)
CHINESE = ("multifieldqa_zh", "dureader", "vcsum", "lsht", "passage_retrieval_zh")
CODE = ("lcc", "repobench-p")
LANGUAGES: Mapping[str, str] = {**dict.fromkeys((*ENGLISH, *CODE), "en"), **dict.fromkeys(CHINESE, "zh")}
"""The 21 data sets, with the language of their prompts; those of code have English ones."""

EVEN: Mapping[str, int] = {
    "qasper": 224,
    "multifieldqa_en": 150,
    "hotpotqa": 300,
    "2wikimqa": 300,
    "gov_report": 300,
    "multi_news": 294,
    "trec": 300,
    "triviaqa": 300,
    "samsum": 300,
    "passage_count": 300,
    "passage_retrieval_en": 300,
    "lcc": 300,
    "repobench-p": 300,
}
"""The 13 data sets of LongBench-E, whose lengths are evenly distributed, with their numbers of records.

Source: ``task.md`` of LongBench's repository, statistics of LongBench-E.
"""

CLASSED = ("trec", "lsht")
"""The data sets whose answers are classes."""

FIELDS = frozenset({"input", "context", "answers"})
BESIDES = frozenset({ROW, "index", "length", "all_classes", "dataset"})


def read_record(record: Mapping[str, object], where: str, dataset: str, even: bool) -> Document:
    """A record of LongBench: ``passages`` are its context and its input, ``meta`` the rest.

    Args:
        record: The record. Its number is the field ``index`` if present, else its row in the file.
        where: The source to record.
        dataset: Name of its data set.
        even: Whether it belongs to LongBench-E.

    Raises:
        BadRowError: It has no context or no answer, or names another data set.
    """
    said = str(record.get("dataset", dataset)).removesuffix("_e")
    if said != dataset and said in LANGUAGES:
        raise BadRowError(f"the field 'dataset' is {said!r}, but the file is named after {dataset!r}")
    context, asked = text_of(record, "context"), text_of(record, "input")
    if not context:
        raise BadRowError("the field 'context' is empty")
    text = context + GAP + asked if asked else context
    start = len(text) - len(asked)
    numbered = record.get("index") is not None
    facts: dict[str, Json] = {"even": even, "whole": False, "numbered": numbered}
    if isinstance(words := record.get("length"), int) and not isinstance(words, bool):
        facts["words"] = words
    passages = ((0, len(context)), (start, len(text)))
    return document_of(record, where, dataset, "index" if numbered else ROW, text, passages, facts)


def document_of(
    record: Mapping[str, object],
    where: str,
    dataset: str,
    number: str,
    text: str,
    passages: tuple[tuple[int, int], ...],
    facts: Mapping[str, Json],
) -> Document:
    """A record as a document.

    Args:
        record: The record, with ``answers`` and, for classes, ``all_classes``.
        where: The source to record.
        dataset: Name of its data set.
        number: Field that holds its row in the original file, from 0.
        text: Its text.
        passages: See ``Document``.
        facts: Other entries of ``meta``: ``even``, ``whole`` (a finished prompt), ``numbered``, ``words``.

    Raises:
        BadRowError: A field has another type, or a data set scored by classes has none.
    """
    index = record.get(number)
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise BadRowError(f"the field {number!r} is {str(index)[:40]!r}; expected a row of the original file, from 0")
    classes = _texts(record, "all_classes") if record.get("all_classes") not in (None, [], ()) else []
    if dataset in CLASSED and not classes:
        raise BadRowError(f"the field 'all_classes' is missing or empty; replies to {dataset} are scored by it")
    # Equal texts of different rows are different items.
    name = f"{dataset} {facts['even']} {index}{GAP}{text}"
    return Document(
        id=document_id(name),
        text=text,
        source=where,
        language=LANGUAGES[dataset],
        meta={
            "dataset": dataset,
            "index": index,
            "answers": _texts(record, "answers"),
            "classes": classes,
            **facts,
        },
        passages=passages,
    )


def text_of(record: Mapping[str, object], field: str) -> str:
    """The text of a field without lone surrogates, which cannot be stored."""
    value = record[field]
    if not isinstance(value, str):
        raise BadRowError(f"the field {field!r} holds a value of type {type(value).__name__}, expected a string")
    return value.encode(errors="replace").decode()


def _texts(record: Mapping[str, object], field: str) -> list[str]:
    value = record[field]
    if not isinstance(value, list | tuple) or not value or not all(isinstance(one, str) for one in value):
        raise BadRowError(f"the field {field!r} should be a non-empty list of texts")
    return [str(one).encode(errors="replace").decode() for one in value]


def _source(dataset: str, even: bool) -> Source:
    file = f"{dataset}_e" if even else dataset
    read: Callable[[Mapping[str, object], str], Document] = partial(read_record, dataset=dataset, even=even)
    return Source(
        name=f"longbench_{file.replace('-', '_')}",
        dataset=DATASET,
        revision=REVISION,
        files=(ARCHIVE,),
        shapes=(Shape("LongBench", FIELDS, read, BESIDES),),
        licence="MIT (LongBench)",
        citation=CITATION,
        description=f"records of {'LongBench-E' if even else 'LongBench'}: {dataset}",
        names=(file,),
        language=LANGUAGES[dataset],
    )


SOURCES = (
    *(_source(dataset, even=False) for dataset in LANGUAGES),
    *(_source(dataset, even=True) for dataset in EVEN),
)
