"""LongBench and LongBench-E as benchmarks: their records unchanged, one document each; and MiniLongBench's.

Unlike in the data sources of ``sources``, whose texts are cleaned for use in other benchmarks, nothing is changed here:
no blanks are stripped, rows with equal texts stay separate, and every record has its row in the original file.

Samples of MiniLongBench are finished prompts. The numbers of its rows are published
(github.com/MilkThink-Lab/MiniLongBench at commit 504c247, ``data/anchor.pkl``) as positions among all 4,750 items, data
sets in alphabetical order; in ``datasets.json`` they are rows of each data set's file.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import Annotated, Any, NamedTuple, NotRequired

from annotated_types import Ge, MinLen, Predicate
from typing_extensions import TypedDict

from fathom.benchmarks.longbench.sources import ARCHIVE, CITATION, DATASET, REVISION
from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.source import Shape, Source
from fathom.storage.schema import among
from fathom.types import AnswerKind, Document, Json

GAP = "\n\n"


class DataSet(NamedTuple):
    """One of the 21 data sets, as ``datasets.json`` has it.

    Attributes:
        title: Its name as spelled by its publishers.
        language: The language of its prompts; data sets of code have English ones.
        category: Its category in the benchmark.
        metric: Its metric of ``longbench_v1``; lines of code are compared as in LongBench's published scores.
        cap: Largest number of tokens of a reply.
        size: Number of its records.
        even: Number of its records in LongBench-E (``task.md`` of its repository); 0 for none.
        continued: Whether the reply continues the prompt.
        stop: Texts that end a reply.
        about: One line about its questions.
        mini_rows: The rows of MiniLongBench's items, ascending.
    """

    title: str
    language: str
    category: str
    metric: str
    cap: int
    size: int
    even: int
    continued: bool
    stop: tuple[str, ...]
    answer: AnswerKind
    about: str
    mini_rows: tuple[int, ...]


_read = json.loads((resources.files(__package__) / "datasets.json").read_text("utf-8"))
DATA_SETS = {
    name: DataSet(**data | {"stop": tuple(data["stop"]), "mini_rows": tuple(data["mini_rows"])})
    for name, data in _read.items()
}
LANGUAGES = {name: data.language for name, data in sorted(DATA_SETS.items(), key=lambda item: item[1].language)}
EVEN = {name: data.even for name, data in DATA_SETS.items() if data.even}
"""The data sets of LongBench-E, whose lengths are evenly distributed, with their numbers of records."""
ANCHORS = {name: DATA_SETS[name].mini_rows for name in sorted(DATA_SETS, key=lambda name: name.replace("_", ""))}
"""Rows of MiniLongBench's items by LongBench's name of the data set, ascending."""
CLASSED = ("trec", "lsht")
"""The data sets whose answers are classes."""

Row = Annotated[int, Ge(0), "a row of the original file, from 0"]


class Gold(TypedDict):
    """What records of LongBench and of MiniLongBench have in common."""

    answers: Annotated[Sequence[str], MinLen(1), "a list of texts, at least one"]
    all_classes: NotRequired[Annotated[Sequence[str], "a list of texts"] | None]


class Record(Gold):
    """A record; its row in the original file is ``index`` if there is one, else ``row``, which the finder adds."""

    input: str
    context: Annotated[str, Predicate(bool)]
    dataset: NotRequired[Any]
    index: NotRequired[Row | None]
    length: NotRequired[int | None]
    row: NotRequired[Row]


def read_record(record: Mapping[str, object], where: str, dataset: str, even: bool) -> Document:
    """A record of LongBench: ``passages`` are its context and its input, ``meta`` the rest.

    Args:
        dataset: Name of its data set.
        even: Whether it belongs to LongBench-E.

    Raises:
        BadRowError: It has no context or no answer, names another data set, or a field has another form.
    """
    fields = typed(Record, record)
    named = str(fields.get("dataset", dataset)).removesuffix("_e")
    if named != dataset and named in LANGUAGES:
        raise BadRowError(f"the field 'dataset' is {named!r}, but the file is named after {dataset!r}")
    context, asked = storable(fields["context"]), storable(fields["input"])
    text = context + GAP + asked if asked else context
    index = fields.get("index")
    facts: dict[str, Json] = {"even": even, "whole": False, "numbered": index is not None}
    if (words := fields.get("length")) is not None:
        facts["words"] = words
    passages = ((0, len(context)), (len(text) - len(asked), len(text)))
    row = fields.get("row", 0) if index is None else index
    return document_of(fields, where, dataset, row, text, passages, facts)


def document_of(
    gold: Gold,
    where: str,
    dataset: str,
    row: int,
    text: str,
    passages: tuple[tuple[int, int], ...],
    facts: Mapping[str, Json],
) -> Document:
    """A record as a document.

    Args:
        gold: Its answers and, for classes, all of them.
        dataset: Name of its data set.
        row: Its row in the original file, from 0.
        passages: See ``Document``.
        facts: Other entries of ``meta``: ``even``, ``whole`` (a finished prompt), ``numbered``, ``words``.

    Raises:
        BadRowError: A data set scored by classes has none.
    """
    classes = list(map(storable, gold.get("all_classes") or ()))
    if dataset in CLASSED and not classes:
        raise BadRowError(f"the field 'all_classes' is missing or empty; replies to {dataset} are scored by it")
    # Equal texts of different rows are different items.
    name = f"{dataset} {facts['even']} {row}{GAP}{text}"
    return Document(
        id=document_id(name),
        text=text,
        source=where,
        language=LANGUAGES[dataset],
        meta={
            "dataset": dataset,
            "index": row,
            "answers": list(map(storable, gold["answers"])),
            "classes": classes,
            **facts,
        },
        passages=passages,
    )


def _source(dataset: str, even: bool) -> Source:
    file = f"{dataset}_e" if even else dataset
    read: Callable[[Mapping[str, object], str], Document] = partial(read_record, dataset=dataset, even=even)
    return Source(
        name=f"longbench_{file.replace('-', '_')}",
        dataset=DATASET,
        revision=REVISION,
        files=(ARCHIVE,),
        shapes=(Shape.of("LongBench", Record, read),),
        licence="MIT (LongBench)",
        citation=CITATION,
        description=f"records of {'LongBench-E' if even else 'LongBench'}: {dataset}",
        names=(file,),
        language=LANGUAGES[dataset],
    )


# ------------------------------------------------------------------------------------------------------- MiniLongBench


class PromptRecord(Gold):
    """A sample: a whole prompt over a row of a data set of LongBench."""

    prompt: Annotated[str, Predicate(bool)]
    dataset: Annotated[str, Predicate(LANGUAGES.__contains__), among(LANGUAGES)]
    dataset_index: Row


def read_prompt(record: Mapping[str, object], where: str) -> Document:
    """A sample of MiniLongBench: the whole published prompt.

    Raises:
        BadRowError: It has no prompt or no answer, or does not name a data set of LongBench.
    """
    fields = typed(PromptRecord, record)
    text = storable(fields["prompt"])
    facts: dict[str, Json] = {"even": False, "whole": True, "numbered": True}
    return document_of(fields, where, fields["dataset"], fields["dataset_index"], text, ((0, len(text)),), facts)


SOURCES = (
    *(_source(dataset, even=False) for dataset in LANGUAGES),
    *(_source(dataset, even=True) for dataset in EVEN),
    Source(
        name="minilongbench",
        dataset="",
        revision="",
        files=(),
        shapes=(Shape.of("MiniLongBench", PromptRecord, read_prompt),),
        licence="not stated (MiniLongBench); MIT (LongBench)",
        citation="Huang et al. (2025), MiniLongBench: The Low-cost Long Context Understanding Benchmark for Large "
        "Language Models, arXiv:2505.19959",
        description="samples of MiniLongBench: finished prompts over LongBench's data",
    ),
)
