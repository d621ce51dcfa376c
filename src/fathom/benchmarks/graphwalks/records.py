"""Graphwalks as published: 1,150 records (openai/graphwalks), each a whole prompt with the nodes in question."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.storage.schema import FILLED, among
from fathom.types import Document

NAME = SOURCE_NAME = "graphwalks"
ANSWERS = "answer_nodes"
PROBLEMS = {"bfs": 550, "parents": 600}
"""Numbers of published records by kind."""
Nodes = Annotated[Sequence[str], "a list of nodes"]


class Record(TypedDict):
    """A record; the card names its nodes ``answer``, the files ``answer_nodes``."""

    prompt: Annotated[str, FILLED, "a text"]
    problem_type: Annotated[str, FILLED, among(PROBLEMS)]
    answer_nodes: NotRequired[Nodes | None]
    answer: NotRequired[Nodes | None]
    prompt_chars: NotRequired[Any]
    date_added: NotRequired[Any]
    row: NotRequired[int]


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the prompt, ``meta`` has the nodes in question.

    Args:
        where: The source to record.

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
    return Document(
        id=document_id(f"{NAME} {where}\n\n{text}"),
        text=text,
        source=where,
        language="en",
        meta={
            "dataset": f"{NAME}_{kind}",
            "id": document_id(text)[:12],
            ANSWERS: list(map(storable, nodes)),
        },
    )


SOURCES = (
    Source(
        name=SOURCE_NAME,
        dataset="openai/graphwalks",
        revision="be6cc6ecf9b4d495b07d1ff53d2a16598e90fed7",
        files=(HubFile("graphwalks_128k_and_shorter.parquet"), HubFile("graphwalks_256k_to_1mil.parquet")),
        shapes=(Shape.of("Graphwalks", Record, read_record),),
        licence="MIT",
        citation="OpenAI (2025), Graphwalks, huggingface.co/datasets/openai/graphwalks",
        description="records of Graphwalks: searches and parents in lists of edges",
        vague=("graphwalks_128k_and_shorter", "graphwalks_256k_to_1mil"),
        every_split=True,
    ),
)
