"""LongProc as published: the records of its repository (``data/TASK/TASK_LENGTH.json``), each with its answer.

Read are routes, beliefs, countdown and web pages; pages are the files that records name, beside the table. Not read are
``pseudo_to_code``, whose replies would have to be run, and ``travel_planning``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Annotated, NotRequired

from annotated_types import Len
from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document

NAME = "longproc"
KINDS = ("path_traversal", "tom_tracking", "countdown", "html_to_tsv")
SIZES = {"0.5k": 1024, "2k": 3072, "8k": 10240}
"""Sizes of replies, as the names of files end, with the caps of HELMET's addition."""
LARGEST = "8k"
_SIZE = re.compile(r"_(0\.5k|2k|8k)\.")
_LARGEST = 1 << 26  # bytes of a page


class Journey(TypedDict):
    """A record of ``path_traversal``."""

    context_nl: Filled
    question_repr: Annotated[Sequence[str], Len(2, 2), "a list of two cities"]
    answer_nl: Filled
    file: NotRequired[str]


class Tracking(TypedDict):
    """A record of ``tom_tracking``."""

    story: Filled
    question: Filled
    solution: Filled
    story_components: NotRequired[str]
    file: NotRequired[str]


class Numbers(TypedDict):
    """A record of ``countdown``."""

    nums: Annotated[Sequence[int], Len(4, 4), "a list of four numbers"]
    target: int
    solution_text: Filled
    file: NotRequired[str]


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

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Journey, record)
    start, end = fields["question_repr"]
    return _document(
        where, fields.get("file", ""), "path_traversal", fields["context_nl"], fields["answer_nl"], start=start, end=end
    )


def read_tracking(record: Mapping[str, object], where: str) -> Document:
    """A record of ``tom_tracking``: its text is the story.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Tracking, record)
    return _document(
        where, fields.get("file", ""), "tom_tracking", fields["story"], fields["solution"], question=fields["question"]
    )


def read_numbers(record: Mapping[str, object], where: str) -> Document:
    """A record of ``countdown``: its text has the numbers and the target.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(Numbers, record)
    numbers, target = list(fields["nums"]), fields["target"]
    text = f"Numbers: {', '.join(map(str, numbers))}\nTarget: {target}"
    return _document(
        where,
        fields.get("file", ""),
        "countdown",
        text,
        fields["solution_text"],
        nums=json.dumps(numbers),
        target=target,
    )


def read_page(record: Mapping[str, object], where: str) -> Document:
    """A record of ``html_to_tsv``: its text is the page.

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
    return _document(where, fields.get("file", ""), "html_to_tsv", text, fields["gt"], asked=asked, **named)


def _document(where: str, file: str, kind: str, text: str, gold: str, **asked: str | int) -> Document:
    text, sized = storable(text), _SIZE.findall(PurePath(file).name)
    dataset = f"{NAME}_{kind}_{sized[-1] if sized else LARGEST}"
    meta = {name: storable(value) if isinstance(value, str) else value for name, value in asked.items()}
    name = document_id(f"{kind} {sorted(meta.items())}\n\n{text}")
    return Document(
        id=document_id(f"{NAME} {where} {name}"),
        text=text,
        source=where,
        language="en",
        meta={"dataset": dataset, "id": name[:12], "gold": storable(gold), **meta},
    )


SHAPES = (
    Shape.of("path_traversal", Journey, read_path),
    Shape.of("tom_tracking", Tracking, read_tracking),
    Shape.of("countdown", Numbers, read_numbers),
    Shape.of("html_to_tsv", Page, read_page),
)
SOURCES = packaged_sources(
    __package__, {NAME: SHAPES}, vague=tuple(f"{kind}_{length}" for kind in KINDS for length in SIZES)
)
