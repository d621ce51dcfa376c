"""CorpusQA as published (Tongyi-Zhiwen/CorpusQA): prompts of 128k tokens and more, whose answers a judge compares.

The judge's request is that of AA-LCR, in our own words. Without a judge the score is token F1 of the answer after
``The answer is:``.
"""

from collections.abc import Mapping
from typing import NotRequired

from typing_extensions import TypedDict

from fathom.documents.corpus.records import typed
from fathom.documents.corpus.text import storable
from fathom.documents.sources.forms import published_record
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.score.answers import words_score
from fathom.storage.schema import Filled
from fathom.suites.tasks.published import Published, asking
from fathom.types import Document, Ending, Sample, Score, Suite, Task

NAME = "corpusqa"
RECORDS = 1316
STATED = "The answer is:"
SOURCE = "CorpusQA, Tongyi-Zhiwen 2026"


class Record(TypedDict):
    """A record; ``prompt`` has the documents, the question and the form of the answer."""

    id: int | str
    prompt: Filled
    question: Filled
    answer: Filled
    file: NotRequired[str]


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the prompt.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Record, record)
    asked = {name: storable(fields[name]).strip() for name in ("question", "answer")}
    meta = {"dataset": NAME, "id": str(fields["id"]), **asked}
    return published_record(storable(fields["prompt"]), where, f"{NAME} {where} {fields['id']}", meta)


def score(reply: str, sample: Sample) -> Score:
    """Without a judge: token F1 of the last stated answer with the gold one."""
    return words_score(reply.rpartition(STATED)[2], sample.targets, grader="token F1", first_line=False)


def _ending(record: Document) -> Ending:
    return Ending("", (str(record.meta["answer"]),), chance=0.0, asked=str(record.meta["question"]))


SOURCES = packaged_sources(__package__, {NAME: (Shape.of("CorpusQA", Record, read_record),)})
_pool, _plan = asking(Published(NAME, _ending, records=RECORDS))
TASKS = (
    Task(
        name=NAME,
        title="CorpusQA",
        plan=_plan,
        score=score,
        metric="token_f1",
        max_output_tokens=4096,
        description="questions over collections of documents, which a judge scores",
        source=SOURCE,
        languages=("en",),
        pool=_pool,
        data=(NAME,),
        needs="records of CorpusQA",
        gold=("record",),
        noise=(),
        rubric="verdict",
    ),
)
SUITES = (
    Suite(
        name=NAME,
        tasks=(NAME,),
        lengths=(131072, 262144, 1048576),
        description="CorpusQA: questions over collections of documents, which a judge scores",
        source=SOURCE,
        corpus="",
        sources={"record": (NAME,)},
    ),
)
