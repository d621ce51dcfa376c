"""NoLiMa's published records, from a copy of yours: sets of needles, and the books that hide them.

The licence of the data allows research only, so that none of them is here: a record brings its own instructions. The
sets are told apart by the names of their files, the books are ``rand_book_*.txt``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any, NotRequired

from annotated_types import MinLen
from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import storable
from fathom.documents.sources.forms import PassedOverError, published_record
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document

NAME, BOOK = "nolima", "nolima_book"
SETS = {"needle_set": "", "needle_set_hard": "hard", "needle_set_onlydirect": "direct"}
"""Files of needles that are asked, and what their tasks are called; others need more than a needle and a question."""
HAYSTACK, QUESTION, CHARACTER = "{haystack}", "{question}", "{CHAR}"
_GAP = re.compile(r"\{\d+\}")


class Case(TypedDict):
    """What fills the numbered gaps of a needle and its questions; gold answers are of needles without a character."""

    input_args: Sequence[str]


class Needles(TypedDict):
    """A needle: a sentence with gaps for a character and for what each of its tests names."""

    id: int | str
    needle: Filled
    task_template: Filled
    questions: Annotated[Mapping[str, str], MinLen(1), "questions by their kind"]
    tests: Annotated[Mapping[str, Case], MinLen(1), "tests by their ids"]
    character_set: Annotated[Sequence[str], MinLen(1), "names"]
    system_prompt: NotRequired[str | None]
    reasoning_type: NotRequired[Any]
    distractors: NotRequired[Any]
    file: NotRequired[str]


class Book(TypedDict):
    """A book."""

    text: Filled
    file: NotRequired[str]


def read_needles(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the needle, ``meta`` has its questions and tests as JSON.

    Raises:
        BadRowError: A field is missing or has another form, or the template has no place for book or question.
    """
    fields = typed(Needles, record)
    stem = PurePath(fields.get("file", "")).stem.lower().replace("-", "_")
    if stem not in SETS:
        raise PassedOverError(f"only {', '.join(SETS)} are asked")
    template = storable(fields["task_template"])
    if not 0 <= template.find(HAYSTACK) < template.find(QUESTION):
        raise BadRowError(f"the field 'task_template' has not {HAYSTACK} and then {QUESTION}")
    if CHARACTER not in fields["needle"]:
        raise BadRowError(f"the field 'needle' has no {CHARACTER}")
    kept = {name: fields[name] for name in ("questions", "tests", "character_set")}
    text, body = storable(fields["needle"]), storable(json.dumps(kept, sort_keys=True, ensure_ascii=False))
    name = f"{NAME}_{SETS[stem]}".strip("_")
    system = storable(fields.get("system_prompt") or "")
    meta = {"dataset": name, "id": str(fields["id"]), "template": template, "system": system, "body": body}
    return published_record(text, where, f"{name} {fields['id']} {where}", meta)


def read_book(record: Mapping[str, object], where: str) -> Document:
    """A book; other texts are passed over.

    Raises:
        PassedOverError: It is no book of NoLiMa.
    """
    fields = typed(Book, record)
    if not PurePath(fields.get("file", "")).name.startswith("rand_book"):
        raise PassedOverError("it is no book of NoLiMa (rand_book_*.txt)")
    return published_record(storable(fields["text"]), where, BOOK, {"dataset": BOOK})


def filled(text: str, values: Sequence[str]) -> str:
    """A text with its numbered gaps filled, all of them (the released code fills only the last gap of a question).

    Raises:
        BadRowError: A gap has no value.
    """
    for number, value in enumerate(values, 1):
        text = text.replace(f"{{{number}}}", value)
    if gap := _GAP.search(text):
        raise BadRowError(f"nothing of 'input_args' is for {gap[0]}")
    return text


SOURCES = packaged_sources(
    __package__,
    {NAME: (Shape.of("NoLiMa", Needles, read_needles), Shape.of("a book of NoLiMa", Book, read_book))},
    vague=tuple(SETS),
)
