"""LongBench Pro: its 1,500 records unchanged, one document each, and users' own benchmarks in the same form.

The hub has them in one file, ``longbench_pro.json``. Its id, commit, size and checksum were taken from public
repositories that pin them, not from the hub itself; ``fathom data fetch`` compares its download with them.
"""

import json
import re
from collections.abc import Collection, Mapping

from fathom.benchmarks.pro.secondary_tasks import BY_NAME, DIFFICULTIES, LANGUAGES, LENGTHS, PRIMARY, REQUIREMENTS
from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import CJK, document_id
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.types import Document

NAME = "longbench_pro"
TEXTS = ("context", "question_nonthinking", "question_thinking")
LABELS: Mapping[str, Collection[str]] = {
    "language": LANGUAGES,
    "token_length": LENGTHS,
    "primary_task": PRIMARY,
    "secondary_task": BY_NAME,
    "contextual_requirement": REQUIREMENTS,
}
FIELDS = frozenset({"id", "answer", *TEXTS, *LABELS})
DIFFICULTY = "difficulty"

SHOWN = 40  # characters of a value in a message
FEW = 6  # names listed in a message
# Items are named by it, in commands and in files.
_ID = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record: its text is the context, ``meta`` has the rest, as named by its publishers.

    Blanks are removed where the released code strips a whole prompt: at the start of the context and at the end of a
    question.

    Args:
        record: The record.
        where: The source to record.

    Raises:
        BadRowError: A field is missing, empty or invalid; a label is unknown; or the texts are not in the language of
            the record.
    """
    texts = {name: _text(record, name) for name in TEXTS}
    labels = {name: _label(record, name, known) for name, known in LABELS.items()}
    name, answers = _id(record), _answers(record)
    _check_task(labels)
    _check_language(labels["language"], texts)
    difficulty = None if record.get(DIFFICULTY) is None else _label(record, DIFFICULTY, DIFFICULTIES)
    said = {
        "dataset": NAME,
        "id": name,
        **labels,
        "question_nonthinking": texts["question_nonthinking"].rstrip(),
        "question_thinking": texts["question_thinking"].rstrip(),
        "answer": answers,
        **({DIFFICULTY: difficulty} if difficulty else {}),
    }
    context = texts["context"].lstrip()
    return Document(
        # Records with the same context are different items, and any change makes another record.
        id=document_id(json.dumps([said, context], ensure_ascii=False, sort_keys=True)),
        text=context,
        source=where,
        language=LANGUAGES[labels["language"]],
        meta=said,
    )


def _string(record: Mapping[str, object], field: str, expected: str) -> str:
    """The text of a required, non-blank field."""
    value = record.get(field)
    if not isinstance(value, str):
        raise BadRowError(f"the field {field!r} {_shown(value)}; expected {expected}")
    if not value.strip():
        raise BadRowError(f"the field {field!r} is empty; expected {expected}")
    return _whole_characters(value, field)


def _text(record: Mapping[str, object], field: str) -> str:
    return _string(record, field, "a text")


def _whole_characters(text: str, field: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadRowError(
            f"the field {field!r} has a lone surrogate at position {error.start + 1}; expected valid Unicode text"
        ) from error
    return text


def _label(record: Mapping[str, object], field: str, known: Collection[str]) -> str:
    """A value that must be one of the known ones."""
    names = list(known)
    few = len(names) <= FEW
    expected = f"one of {', '.join(names)}" if few else f"one of {len(names)} names, from {names[0]!r} to {names[-1]!r}"
    value = _string(record, field, expected)
    if value not in known:
        raise BadRowError(f"the field {field!r} is {_short(value)}; expected {expected}")
    return value


def _id(record: Mapping[str, object]) -> str:
    """A name that is usable in commands and files; whole numbers are accepted."""
    value = record.get("id")
    name = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    expected = "1 to 128 letters, digits, _, . and -, the first a letter, a digit or _"
    if not isinstance(name, str):
        raise BadRowError(f"the field 'id' {_shown(value)}; expected {expected}")
    if not _ID.fullmatch(name):
        raise BadRowError(f"the field 'id' is {_short(name)}; expected {expected}")
    return name


def _answers(record: Mapping[str, object]) -> list[str]:
    value = record.get("answer")
    expected = "a list of texts: the lines of the correct answer, or the reference summaries"
    if not isinstance(value, list | tuple):
        raise BadRowError(f"the field 'answer' {_shown(value)}; expected {expected}")
    if not value:
        raise BadRowError(f"the field 'answer' is an empty list; expected {expected}")
    for place, line in enumerate(value, start=1):
        if not isinstance(line, str):
            raise BadRowError(f"entry {place} of the field 'answer' {_shown(line)}; expected {expected}")
        if not line.strip():
            raise BadRowError(f"entry {place} of the field 'answer' is empty; expected {expected}")
    return [_whole_characters(line, "answer") for line in value]


def _check_task(labels: Mapping[str, str]) -> None:
    name, primary = labels["secondary_task"], labels["primary_task"]
    if primary != BY_NAME[name].primary:
        raise BadRowError(
            f"the field 'primary_task' is {primary!r}; expected {BY_NAME[name].primary!r}, to which {name!r} belongs"
        )


def _check_language(language: str, texts: Mapping[str, str]) -> None:
    """Check that texts are not obviously in the other language."""
    context = texts["context"]
    # Most English contexts have no Chinese characters at all, which is quick to check.
    chinese = len(CJK.findall(context)) if language == "English" else 0
    if chinese and chinese > (latin := len(_LATIN.findall(context))):
        raise BadRowError(
            f"the field 'language' is 'English'; expected 'Chinese' for a context with {chinese:,} Chinese characters "
            f"and {latin:,} Latin letters"
        )
    if language == "Chinese" and not any(map(CJK.search, texts.values())):
        raise BadRowError(
            "the field 'language' is 'Chinese'; expected 'English' for a context and questions without any Chinese "
            "character"
        )


def _shown(value: object) -> str:
    """Description of an invalid value, for messages."""
    if value is None:
        return "is missing"
    if isinstance(value, bool | int | float):
        return f"is {_short(value)}"
    return f"holds a value of type {type(value).__name__}"


def _short(value: object) -> str:
    if not isinstance(value, str):
        return str(value)[:SHOWN]
    return repr(value if len(value) <= SHOWN else f"{value[:SHOWN]}...")


SOURCES = (
    Source(
        name=NAME,
        dataset="caskcsg/LongBench-Pro",
        revision="4996884deae51f5e5d23c88da9d857fc54e5fa15",
        files=(HubFile("longbench_pro.json", "92ff05f6088e212d06c5a731ab86000b69cee6a0900cbbd524a25851e3c30de0"),),
        shapes=(Shape("LongBench Pro", FIELDS, read_record, frozenset({DIFFICULTY})),),
        licence="Apache-2.0",
        citation="Chen et al. (2026), LongBench Pro: A More Realistic and Comprehensive Bilingual Long-Context "
        "Evaluation Benchmark, arXiv:2601.02872",
        description="records of LongBench Pro: 25 tasks in English and Chinese, 8k to 256k",
        names=("longbenchpro",),
        any_name=True,
        strict=True,
        key="id",
    ),
)
