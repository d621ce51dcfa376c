"""RULERv2 as its released generator writes it: whole prompts with answers, in one file for all tasks or one for each.

The file of NeMo Gym (``ruler2_benchmark.jsonl``) names the task of a row; NeMo Skills has a folder for each task, with
a file ``test.jsonl``.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from fathom.benchmarks.ruler.v2_scoring import LETTER, METRIC_OF
from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.forms import published_record
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document

NAME = "ruler2"


class Record(TypedDict):
    """A record; of its other fields none is used, as they follow from the task or from the prompt."""

    question: Filled
    expected_answer: Annotated[str | Sequence[str], "a text or a list of texts"]
    task: NotRequired[str | None]
    eval_type: NotRequired[Any]
    match_type: NotRequired[Any]
    length: NotRequired[Any]
    index: NotRequired[Any]
    file: NotRequired[str]


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the prompt, ``meta`` has its answers as JSON.

    Raises:
        BadRowError: A field is missing or has another form, nothing names the task, or there is no answer.
    """
    fields = typed(Record, record)
    task = fields.get("task") or _task_of(fields.get("file", ""))
    if task not in METRIC_OF:
        raise BadRowError(
            f"no task of RULERv2 is named by the field 'task' ({task or 'missing'}) or by the folder of the file; keep "
            "the folders that the generator made, such as mk_niah_basic"
        )
    given = fields["expected_answer"]
    answers = [storable(text) for text in ([given] if isinstance(given, str) else given)]
    if not answers or not all(text.strip() for text in answers):
        raise BadRowError("the field 'expected_answer' has no text, expected one answer or a list")
    if METRIC_OF[task] == LETTER and [text.strip().upper() in tuple("ABCD") for text in answers] != [True]:
        raise BadRowError(f"the field 'expected_answer' is {answers[0][:40]!r}, expected a letter from A to D")
    text = storable(fields["question"])
    dataset = f"{NAME}_{task}"
    answer = json.dumps(answers, ensure_ascii=False)
    meta = {"dataset": dataset, "id": document_id(f"{dataset} {answer}\n\n{text}")[:12], "answer": answer}
    return published_record(text, where, f"{dataset} {where}", meta)


def _task_of(file: str) -> str:
    """The task that a folder of a file names, the nearest first; "" if none does."""
    path = PurePath(file)
    return next((part for part in (path.stem, *reversed(path.parent.parts)) if part in METRIC_OF), "")


SOURCES = packaged_sources(__package__, {NAME: (Shape.of("RULERv2", Record, read_record),)}, vague=tuple(METRIC_OF))
