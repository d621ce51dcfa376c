"""BABILong as published: contexts of the bAbI tasks among sentences of books, a question and its answer.

The records name no task: it is in the name of their file or folder (``qa1``), as the hub and copies of it have them.
"""

import re
from collections.abc import Mapping
from typing import NotRequired

from typing_extensions import TypedDict

from fathom.benchmarks.babilong.scoring import LABELS
from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.forms import published_record
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document

NAME = "babilong"
_TASK = re.compile(r"(?<![a-z0-9])(qa\d{1,2})(?![0-9])", re.IGNORECASE)


class Record(TypedDict):
    """A record."""

    input: Filled
    question: Filled
    target: Filled
    file: NotRequired[str]


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the context, ``meta`` has the task, the question and the answer.

    Raises:
        BadRowError: A field is missing, or the path of its file names no task of BABILong.
    """
    fields = typed(Record, record)
    named = _TASK.findall(fields.get("file", ""))
    task = named[-1].lower() if named else ""
    if task not in LABELS:
        raise BadRowError("the names of file and folders have no task of BABILong, such as qa1")
    text = storable(fields["input"])
    question = storable(fields["question"]).strip()
    meta = {
        "dataset": f"{NAME}_{task}",
        "id": document_id(f"{task} {question} {text}")[:12],
        "question": question,
        "target": storable(fields["target"]).strip(),
    }
    return published_record(text, where, f"{NAME} {task} {question}", meta)


SOURCES = packaged_sources(__package__, {NAME: (Shape.of("BABILong", Record, read_record),)}, vague=tuple(LABELS))
