"""LongBench v2: its 503 records unchanged, one document each.

The hub has them in one file, ``data.json``. Copies split by length (``short``, ``medium``, ``long``) are accepted too.
"""

import re
from collections.abc import Mapping

from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import document_id
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.types import Document, Json

NAME = "longbench_v2"
LETTERS = "ABCD"
CHOICES = tuple(f"choice_{letter}" for letter in LETTERS)
GROUPS = ("difficulty", "domain", "sub_domain", "length")
# Items are named by it, in commands and in files.
_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
FIELDS = frozenset({"_id", "question", "answer", "context", *CHOICES})


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the context, ``meta`` has the question, the choices from A to D and the rest.

    Args:
        record: The record.
        where: The source to record.

    Raises:
        BadRowError: A field is missing or empty, the answer is not one of the four letters, or the id is not a plain
            name.
    """
    said = {name: _text(record, name) for name in sorted(FIELDS)}
    if said["answer"] not in LETTERS or len(said["answer"]) != 1:
        raise BadRowError(f"the field 'answer' is {said['answer'][:40]!r}; expected one of {', '.join(LETTERS)}")
    if not _ID.fullmatch(said["_id"]):
        raise BadRowError(f"the field '_id' is {said['_id'][:40]!r}; expected at most 64 letters and digits")
    facts: dict[str, Json] = {name: _text(record, name) for name in GROUPS if isinstance(record.get(name), str)}
    context = said["context"]
    return Document(
        # Questions about the same context are different items.
        id=document_id(f"{NAME} {said['_id']}\n\n{context}"),
        text=context,
        source=where,
        language="en",
        meta={
            "dataset": NAME,
            "id": said["_id"],
            "question": said["question"],
            "choices": [said[name] for name in CHOICES],
            "answer": said["answer"],
            **facts,
        },
    )


def _text(record: Mapping[str, object], field: str) -> str:
    """The text of a field without surrounding blanks, as in the released code's prompts."""
    value = record.get(field)
    if not isinstance(value, str):
        raise BadRowError(f"the field {field!r} holds a value of type {type(value).__name__}, expected a string")
    text = value.encode(errors="replace").decode().strip()
    if not text:
        raise BadRowError(f"the field {field!r} is empty")
    return text


SOURCES = (
    Source(
        name=NAME,
        dataset="zai-org/LongBench-v2",
        revision="2b48e494f2c7a2f0af81aae178e05c7e1dde0fe9",
        files=(HubFile("data.json", "15d61c22d92c96900b3c4948b6aeea218d3214b676a65df48e7b8555604c7fe2"),),
        shapes=(Shape("LongBench v2", FIELDS, read_record, frozenset(GROUPS)),),
        licence="MIT (LongBench)",
        citation="Bai et al. (2024), LongBench v2: Towards Deeper Understanding and Reasoning on Realistic "
        "Long-context Multitasks, arXiv:2412.15204",
        description="records of LongBench v2: questions with four choices over long contexts",
        names=("longbench2",),
        vague=("data", "short", "medium", "long"),
    ),
)
