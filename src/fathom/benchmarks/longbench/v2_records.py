"""LongBench v2: its 503 records unchanged, one document each.

The hub has them in one file, ``data.json``. Copies split by length (``short``, ``medium``, ``long``) are accepted too.
"""

import re
from collections.abc import Mapping
from typing import Annotated, NotRequired

from annotated_types import Predicate
from typing_extensions import TypedDict

from fathom.documents.corpus.records import typed
from fathom.documents.corpus.text import storable
from fathom.documents.sources.forms import published_record
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.storage.schema import Filled, among
from fathom.types import Document, Json

NAME = "longbench_v2"
LETTERS = "ABCD"
CHOICES = tuple(f"choice_{letter}" for letter in LETTERS)
GROUPS = ("difficulty", "domain", "sub_domain", "length")
# Items are named by it, in commands and in files.
_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)


def _is_name(text: str) -> bool:
    return _ID.fullmatch(text.strip()) is not None


def _is_letter(text: str) -> bool:
    return text.strip() in tuple(LETTERS)


class Record(TypedDict):
    """A record; ``length`` is one of ``short``, ``medium`` and ``long``."""

    _id: Annotated[str, Predicate(_is_name), "at most 64 letters and digits"]
    question: Filled
    choice_A: Filled
    choice_B: Filled
    choice_C: Filled
    choice_D: Filled
    answer: Annotated[str, Predicate(_is_letter), among(LETTERS)]
    context: Filled
    difficulty: NotRequired[Filled | None]
    domain: NotRequired[Filled | None]
    sub_domain: NotRequired[Filled | None]
    length: NotRequired[Filled | None]


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the context, ``meta`` has the question, the choices from A to D and the rest.

    Texts have no surrounding blanks, as in the released code's prompts.

    Raises:
        BadRowError: A field is missing or empty, the answer is not one of the four letters, or the id is not a plain
            name.
    """
    texts = {name: storable(str(value)).strip() for name, value in typed(Record, record).items() if value is not None}
    meta: dict[str, Json] = {
        "dataset": NAME,
        "id": texts["_id"],
        "question": texts["question"],
        "choices": [texts[name] for name in CHOICES],
        "answer": texts["answer"],
        **{name: texts[name] for name in GROUPS if name in texts},
    }
    return published_record(texts["context"], where, f"{NAME} {texts['_id']}", meta)


SOURCES = (
    Source(
        name=NAME,
        dataset="zai-org/LongBench-v2",
        revision="2b48e494f2c7a2f0af81aae178e05c7e1dde0fe9",
        files=(HubFile("data.json", "15d61c22d92c96900b3c4948b6aeea218d3214b676a65df48e7b8555604c7fe2"),),
        shapes=(Shape.of("LongBench v2", Record, read_record),),
        licence="MIT (LongBench)",
        citation="Bai et al. (2024), LongBench v2: Towards Deeper Understanding and Reasoning on Realistic "
        "Long-context Multitasks, arXiv:2412.15204",
        description="records of LongBench v2: questions with four choices over long contexts",
        names=("longbench2",),
        vague=("data", "short", "medium", "long"),
    ),
)
