"""LongProc as published: the records of its repository (``data/TASK/TASK_LENGTH.json``), each with its answer.

Read are routes, beliefs, countdown and web pages; pages are the files that records name, beside the table. Not read are
``pseudo_to_code``, whose replies would have to be run, and ``travel_planning``.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NotRequired

from annotated_types import Len
from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.source import Shape, Source
from fathom.storage.schema import FILLED
from fathom.types import Document

NAME = "longproc"
KINDS = ("path_traversal", "tom_tracking", "countdown", "html_to_tsv")
_LARGEST = 1 << 26  # bytes of a page
Filled = Annotated[str, FILLED, "a text"]


class Journey(TypedDict):
    """A record of ``path_traversal``."""

    context_nl: Filled
    question_repr: Annotated[Sequence[str], Len(2, 2), "a list of two cities"]
    answer_nl: Filled


class Tracking(TypedDict):
    """A record of ``tom_tracking``."""

    story: Filled
    question: Filled
    solution: Filled
    story_components: NotRequired[str]


class Numbers(TypedDict):
    """A record of ``countdown``."""

    nums: Annotated[Sequence[int], Len(4, 4), "a list of four numbers"]
    target: int
    solution_text: Filled


class Page(TypedDict):
    """A record of ``html_to_tsv``."""

    html_path: Filled
    task_topic: Filled
    task_description: Filled
    gt: Filled
    tsv_header: Filled
    task_id: NotRequired[str]
    filtering_instruction: NotRequired[str]
    file: NotRequired[str]


def read_path(record: Mapping[str, object], where: str) -> Document:
    """A record of ``path_traversal``: its text has the connections.

    Args:
        where: The source to record.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Journey, record)
    start, end = fields["question_repr"]
    return _document(where, "path_traversal", fields["context_nl"], fields["answer_nl"], start=start, end=end)


def read_tracking(record: Mapping[str, object], where: str) -> Document:
    """A record of ``tom_tracking``: its text is the story.

    Args:
        where: The source to record.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Tracking, record)
    return _document(where, "tom_tracking", fields["story"], fields["solution"], question=fields["question"])


def read_numbers(record: Mapping[str, object], where: str) -> Document:
    """A record of ``countdown``: its text has the numbers and the target.

    Args:
        where: The source to record.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Numbers, record)
    numbers, target = list(fields["nums"]), fields["target"]
    text = f"Numbers: {', '.join(map(str, numbers))}\nTarget: {target}"
    return _document(where, "countdown", text, fields["solution_text"], nums=json.dumps(numbers), target=target)


def read_page(record: Mapping[str, object], where: str) -> Document:
    """A record of ``html_to_tsv``: its text is the page.

    Args:
        where: The source to record.

    Raises:
        BadRowError: A field is missing or has another form, or the page is not beside the table.
    """
    fields = typed(Page, record)
    folder = Path(fields.get("file", "")).parent
    path = folder / fields["html_path"]
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file() or path.stat().st_size > _LARGEST:
        raise BadRowError(f"the page {fields['html_path']!r} is not there; copy the folder `webpage` next to the table")
    asked = f"{fields['task_description']}{fields.get('filtering_instruction', '')}"
    text = path.read_text("utf-8", "replace")
    named = {"topic": fields["task_topic"], "header": fields["tsv_header"], "record": fields.get("task_id", "")}
    return _document(where, "html_to_tsv", text, fields["gt"], asked=asked, **named)


def _document(where: str, kind: str, text: str, gold: str, **asked: str | int) -> Document:
    text = storable(text)
    meta = {name: storable(value) if isinstance(value, str) else value for name, value in asked.items()}
    name = document_id(f"{kind} {sorted(meta.items())}\n\n{text}")
    return Document(
        id=document_id(f"{NAME} {where} {name}"),
        text=text,
        source=where,
        language="en",
        meta={"dataset": f"{NAME}_{kind}", "id": name[:12], "gold": storable(gold), **meta},
    )


SOURCES = (
    Source(
        name=NAME,
        dataset="",
        revision="",
        files=(),
        shapes=(
            Shape.of("path_traversal", Journey, read_path),
            Shape.of("tom_tracking", Tracking, read_tracking),
            Shape.of("countdown", Numbers, read_numbers),
            Shape.of("html_to_tsv", Page, read_page),
        ),
        licence="Apache-2.0",
        citation="Ye et al. (2025), LongProc: Benchmarking Long-Context Language Models on Long Procedural Generation, "
        "arXiv:2501.05414",
        description="records of LongProc: routes, beliefs, countdown and web pages",
        vague=tuple(f"{kind}_{length}" for kind in KINDS for length in ("0.5k", "2k", "8k")),
        every_split=True,
    ),
)
