"""InfiniteBench: five of its data sets, one document per record, unchanged.

The hub has one file per data set. The revision is the one pinned by several public projects, including HELM; the
checksum of ``longbook_qa_eng.jsonl`` is pinned by a public project too, for the others none was found.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NotRequired

from annotated_types import MinLen
from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.storage.schema import FILLED
from fathom.types import Document, Json

LETTERS = "ABCD"
CHOICES = ("longbook_choice_eng", "code_debug")
"""The data sets whose records have four options."""

ABOUT = {
    "longbook_qa_eng": "questions about books (En.QA)",
    "longbook_choice_eng": "questions about books with four options (En.MC)",
    "longbook_sum_eng": "books with their summaries (En.Sum)",
    "code_debug": "Python projects with an error in one of four functions (Code.Debug)",
    "math_find": "long lists of numbers, one of which is asked for (Math.Find)",
}
ASKING = ("longbook_qa_eng", "longbook_choice_eng", "math_find")
"""The data sets whose records have a question; in the others it is always the same."""
CHECKSUMS = {"longbook_qa_eng": "7f53a3aabd5445fa29f168914f13569c348406cfc88a3e495f3f2c13a0966ca4"}
Number = int | float


class Record(TypedDict):
    """A record. Items are named by its row in the file, since ids may not be distinct."""

    id: Any
    context: Annotated[Annotated[str, FILLED] | Annotated[list[Number], MinLen(1)], "a text, or a list of numbers"]
    input: str
    answer: Annotated[
        str | Number | Annotated[Sequence[str | Number], MinLen(1)], "a text or a number, or a non-empty list of them"
    ]
    row: NotRequired[int]


class ChoiceRecord(Record):
    """A record with options, one of which is the answer."""

    options: Annotated[Sequence[Annotated[str, FILLED]], f"a list of {len(LETTERS)} different texts"]


def read_record(record: Mapping[str, object], where: str, dataset: str) -> Document:
    """A record of InfiniteBench: its text is the context, ``meta`` has the rest.

    Args:
        dataset: Name of its data set.

    Raises:
        BadRowError: A field is missing, empty or of another type, or the answer is not one of the options.
    """
    fields, options = typed(Record, record), list[str]()
    if dataset in CHOICES:
        options = [storable(option).strip() for option in typed(ChoiceRecord, record)["options"]]
        if len(options) != len(LETTERS) or len(set(options)) != len(LETTERS):
            raise BadRowError(f"the field 'options' lists {len(set(options))} different texts; expected {len(LETTERS)}")
    context, asked = fields["context"], storable(fields["input"]).strip()
    text = storable(context if isinstance(context, str) else json.dumps(context))
    if dataset in ASKING and not asked:
        raise BadRowError("the field 'input', the question, is empty")
    answers = _answers(fields["answer"])
    if dataset == "math_find" and not all(map(_is_numeral, answers)):
        raise BadRowError(f"the field 'answer' is {answers[0][:40]!r}; expected a number")
    if options and answers[0] not in options:
        raise BadRowError(f"the field 'answer' is {answers[0][:40]!r}; expected one of the field 'options'")
    if "row" not in fields:
        raise BadRowError("a record without its row in the file")
    meta: dict[str, Json] = {
        "dataset": dataset,
        "row": fields["row"],
        "id": str(fields["id"]),
        "input": asked,
        "answers": [LETTERS[options.index(answers[0])]] if options else answers,
        "options": options,
    }
    # Questions about the same book are different items.
    name = json.dumps([meta, text], ensure_ascii=False, sort_keys=True)
    return Document(document_id(name), text, where, language="en", meta=meta)


def _answers(value: str | Number | Sequence[str | Number]) -> list[str]:
    """The answers as texts: a list or a single one; numbers as written."""
    listed = [value] if isinstance(value, str | int | float) else value
    answers = [storable(str(answer)).strip() for answer in listed]
    if not all(answers):
        raise BadRowError("the field 'answer' contains an empty text")
    return answers


def _is_numeral(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _source(dataset: str) -> Source:
    read: Callable[[Mapping[str, object], str], Document] = partial(read_record, dataset=dataset)
    return Source(
        name=f"infinitebench_{dataset}",
        dataset="xinrongzhang2022/InfiniteBench",
        revision="90f0394333616266d9fe85824ceaf505093cbaa5",
        files=(HubFile(f"{dataset}.jsonl", CHECKSUMS.get(dataset, "")),),
        shapes=(Shape.of("InfiniteBench", ChoiceRecord if dataset in CHOICES else Record, read),),
        licence="MIT (InfiniteBench)",
        citation="Zhang et al. (2024), ∞Bench: Extending Long Context Evaluation Beyond 100K Tokens, arXiv:2402.13718",
        description=f"records of InfiniteBench: {ABOUT[dataset]}",
        names=(dataset,),
    )


SOURCES = tuple(map(_source, ABOUT))
