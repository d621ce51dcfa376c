"""InfiniteBench: five of its data sets, one document per record, unchanged.

The hub has one file per data set. The revision is the one pinned by several public projects, including HELM; the
checksum of ``longbook_qa_eng.jsonl`` is pinned by a public project too, for the others none was found.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import document_id
from fathom.documents.sources.source import ROW, HubFile, Shape, Source
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
FIELDS = frozenset({"id", "context", "input", "answer"})


def read_record(record: Mapping[str, object], where: str, dataset: str) -> Document:
    """A record of InfiniteBench: its text is the context, ``meta`` has the rest.

    Args:
        record: The record. Items are named by its row in the file, since ids may not be distinct.
        where: The source to record.
        dataset: Name of its data set.

    Raises:
        BadRowError: A field is missing, empty or of another type, or the answer is not one of the options.
    """
    context = _text(record, "context")
    if not context.strip():
        raise BadRowError("the field 'context' is empty")
    asked = _text(record, "input").strip()
    if dataset in ASKING and not asked:
        raise BadRowError("the field 'input', the question, is empty")
    answers = _answers(record)
    if dataset == "math_find" and not all(map(_is_numeral, answers)):
        raise BadRowError(f"the field 'answer' is {answers[0][:40]!r}; expected a number")
    options = _options(record) if dataset in CHOICES else []
    if options and answers[0] not in options:
        raise BadRowError(f"the field 'answer' is {answers[0][:40]!r}; expected one of the field 'options'")
    said: dict[str, Json] = {
        "dataset": dataset,
        "row": _row(record),
        "id": str(record.get("id")),
        "input": asked,
        "answers": [LETTERS[options.index(answers[0])]] if options else answers,
        "options": options,
    }
    # Questions about the same book are different items.
    name = json.dumps([said, context], ensure_ascii=False, sort_keys=True)
    return Document(document_id(name), context, where, language="en", meta=said)


def _text(record: Mapping[str, object], field: str) -> str:
    """The text of a field without lone surrogates, which cannot be stored; lists of numbers as JSON."""
    value = record.get(field)
    if isinstance(value, list) and value and all(_is_number(one) for one in value):
        value = json.dumps(value)
    if not isinstance(value, str):
        raise BadRowError(f"the field {field!r} holds a value of type {type(value).__name__}, expected a string")
    return value.encode(errors="replace").decode()


def _answers(record: Mapping[str, object]) -> list[str]:
    """The answers as texts: a list or a single one; numbers as written."""
    value = record.get("answer")
    listed = value if isinstance(value, list | tuple) else [value]
    if not listed or not all(isinstance(one, str) or _is_number(one) for one in listed):
        raise BadRowError("the field 'answer' should be a text or a number, or a non-empty list of them")
    answers = [str(one).encode(errors="replace").decode().strip() for one in listed]
    if not all(answers):
        raise BadRowError("the field 'answer' contains an empty text")
    return answers


def _options(record: Mapping[str, object]) -> list[str]:
    value = record.get("options")
    expected = f"expected {len(LETTERS)} different texts"
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) and one.strip() for one in value):
        raise BadRowError(f"the field 'options' does not list texts; {expected}")
    options = [str(one).encode(errors="replace").decode().strip() for one in value]
    if len(set(options)) != len(options) or len(options) != len(LETTERS):
        raise BadRowError(f"the field 'options' lists {len(set(options))} different texts; {expected}")
    return options


def _row(record: Mapping[str, object]) -> int:
    row = record.get(ROW)
    if not isinstance(row, int):
        raise BadRowError("a record without its row in the file")
    return row


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_numeral(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _source(dataset: str) -> Source:
    read: Callable[[Mapping[str, object], str], Document] = partial(read_record, dataset=dataset)
    besides: Sequence[str] = (ROW, *(("options",) if dataset in CHOICES else ()))
    return Source(
        name=f"infinitebench_{dataset}",
        dataset="xinrongzhang2022/InfiniteBench",
        revision="90f0394333616266d9fe85824ceaf505093cbaa5",
        files=(HubFile(f"{dataset}.jsonl", CHECKSUMS.get(dataset, "")),),
        shapes=(
            Shape(
                "InfiniteBench", FIELDS | ({"options"} if dataset in CHOICES else frozenset()), read, frozenset(besides)
            ),
        ),
        licence="MIT (InfiniteBench)",
        citation="Zhang et al. (2024), ∞Bench: Extending Long Context Evaluation Beyond 100K Tokens, arXiv:2402.13718",
        description=f"records of InfiniteBench: {ABOUT[dataset]}",
        names=(dataset,),
    )


SOURCES = tuple(map(_source, ABOUT))
