"""Graphwalks as published: 1,150 records (openai/graphwalks), each a whole prompt with the nodes in question."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.forms import published_record
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import FILLED, Filled, among
from fathom.types import Document

NAME = SOURCE_NAME = "graphwalks"
ANSWERS = "answer_nodes"
PROBLEMS = {"bfs": 550, "parents": 600}
"""Numbers of published records by kind."""
Nodes = Annotated[Sequence[str], "a list of nodes"]


class Record(TypedDict):
    """A record; the card names its nodes ``answer``, the files ``answer_nodes``."""

    prompt: Filled
    problem_type: Annotated[str, FILLED, among(PROBLEMS)]
    answer_nodes: NotRequired[Nodes | None]
    answer: NotRequired[Nodes | None]
    prompt_chars: NotRequired[Any]
    date_added: NotRequired[Any]
    row: NotRequired[int]


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the prompt, ``meta`` has the nodes in question.

    Raises:
        BadRowError: A field is missing, or the kind of the problem is unknown.
    """
    fields = typed(Record, record)
    kind = fields["problem_type"].strip().casefold()
    if kind not in PROBLEMS:
        raise BadRowError(f"the field 'problem_type' is {fields['problem_type']!r}, expected bfs or parents")
    nodes = fields.get("answer_nodes")
    nodes = fields.get("answer") if nodes is None else nodes
    if nodes is None:
        raise BadRowError(f"the field {ANSWERS!r} is missing")
    text = storable(fields["prompt"])
    meta = {"dataset": f"{NAME}_{kind}", "id": document_id(text)[:12], ANSWERS: list(map(storable, nodes))}
    return published_record(text, where, f"{NAME} {where}", meta)


SOURCES = packaged_sources(__package__, {SOURCE_NAME: (Shape.of("Graphwalks", Record, read_record),)})
