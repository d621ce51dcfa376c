"""LongBench Pro: its 1,500 records unchanged, one document each, and users' own benchmarks in the same form.

The hub has them in one file, ``longbench_pro.json``. Its id, commit, size and checksum were taken from public
repositories that pin them, not from the hub itself; ``fathom data fetch`` compares its download with them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired

from annotated_types import MinLen, Predicate
from typing_extensions import TypedDict

from fathom.benchmarks.pro.secondary_tasks import BY_NAME, DIFFICULTIES, LANGUAGES, LENGTHS, PRIMARY, REQUIREMENTS
from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import CJK, document_id
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import FILLED, UNICODE, among
from fathom.types import Document

NAME = "longbench_pro"
DIFFICULTY = "difficulty"
# Items are named by it, in commands and in files.
_ID = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")


def _is_name(name: str | int) -> bool:
    return _ID.fullmatch(str(name)) is not None


Text = Annotated[str, FILLED, UNICODE, "a text"]


class Record(TypedDict):
    """A record, as named by its publishers; whole numbers are ids too."""

    id: Annotated[
        int | str, Predicate(_is_name), "1 to 128 letters, digits, _, . and -, the first a letter, a digit or _"
    ]
    context: Text
    question_nonthinking: Text
    question_thinking: Text
    language: Annotated[Text, Predicate(LANGUAGES.__contains__), among(LANGUAGES)]
    token_length: Annotated[Text, Predicate(LENGTHS.__contains__), among(LENGTHS)]
    primary_task: Annotated[Text, Predicate(PRIMARY.__contains__), among(PRIMARY)]
    secondary_task: Annotated[Text, Predicate(BY_NAME.__contains__), among(BY_NAME)]
    contextual_requirement: Annotated[Text, Predicate(REQUIREMENTS.__contains__), among(REQUIREMENTS)]
    answer: Annotated[
        Sequence[Annotated[str, FILLED, UNICODE]],
        MinLen(1),
        "a list of texts: the lines of the correct answer, or the reference summaries",
    ]
    difficulty: NotRequired[Annotated[Text, Predicate(DIFFICULTIES.__contains__), among(DIFFICULTIES)] | None]


FIELDS = frozenset(Record.__required_keys__)


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the context, ``meta`` has the rest, as named by its publishers.

    Blanks are removed where the released code strips a whole prompt: at the start of the context and at the end of a
    question.

    Raises:
        BadRowError: A field is missing, empty or invalid; a label is unknown; or the texts are not in the language of
            the record.
    """
    fields = typed(Record, record)
    _check_task(fields["secondary_task"], fields["primary_task"])
    _check_language(fields)
    difficulty = fields.get("difficulty")
    meta = {
        "dataset": NAME,
        "id": str(fields["id"]),
        "language": fields["language"],
        "token_length": fields["token_length"],
        "primary_task": fields["primary_task"],
        "secondary_task": fields["secondary_task"],
        "contextual_requirement": fields["contextual_requirement"],
        "question_nonthinking": fields["question_nonthinking"].rstrip(),
        "question_thinking": fields["question_thinking"].rstrip(),
        "answer": list(fields["answer"]),
        **({DIFFICULTY: difficulty} if difficulty else {}),
    }
    context = fields["context"].lstrip()
    return Document(
        # Records with the same context are different items, and any change makes another record.
        id=document_id(json.dumps([meta, context], ensure_ascii=False, sort_keys=True)),
        text=context,
        source=where,
        language=LANGUAGES[fields["language"]],
        meta=meta,
    )


def _check_task(name: str, primary: str) -> None:
    if primary != BY_NAME[name].primary:
        raise BadRowError(
            f"the field 'primary_task' is {primary!r}; expected {BY_NAME[name].primary!r}, to which {name!r} belongs"
        )


def _check_language(record: Record) -> None:
    """Check that texts are not obviously in the other language."""
    language, context = record["language"], record["context"]
    texts = (context, record["question_nonthinking"], record["question_thinking"])
    # Most English contexts have no Chinese characters at all, which is quick to check.
    chinese = len(CJK.findall(context)) if language == "English" else 0
    if chinese and chinese > (latin := len(_LATIN.findall(context))):
        raise BadRowError(
            f"the field 'language' is 'English'; expected 'Chinese' for a context with {chinese:,} Chinese characters "
            f"and {latin:,} Latin letters"
        )
    if language == "Chinese" and not any(map(CJK.search, texts)):
        raise BadRowError(
            "the field 'language' is 'Chinese'; expected 'English' for a context and questions without any Chinese "
            "character"
        )


SOURCES = packaged_sources(__package__, {NAME: (Shape.of("LongBench Pro", Record, read_record),)})
