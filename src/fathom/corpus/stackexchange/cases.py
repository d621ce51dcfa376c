"""Cases of BestAnswer as the authors of Ada-LEval published them: a question, candidate answers, the label of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fathom.corpus.identity import document_id
from fathom.corpus.text import detect_language
from fathom.records import TABLES, Fault, Problem, Problems, format_of, path_text, read_records
from fathom.types import Document, FathomError

GAP = "\n\n"
_LABEL = re.compile(r"A([1-9][0-9]{0,5})")


class _BadCaseError(Exception):
    """A line that is no case; the message says why."""


def read_cases(path: Path) -> Iterator[Document | Problem]:
    """Yield the cases of a file in its order, and apart from them what was left out.

    Args:
        path: A file of ``fathom.records.TABLES``, also with ``.gz`` or ``.zst``; each row has ``question_id``,
            ``question``, ``all_answers`` (a list) and ``answer`` (``A1`` for the first of them); ``tags`` are optional.

    Raises:
        FathomError: There is no such file.
    """
    if not path.is_file():
        raise FathomError(f"{path_text(path)}: no such file; name a file of published cases, such as a .jsonl.")
    if format_of(path.name) not in TABLES:
        raise FathomError(f"{path_text(path)}: published cases are a file that ends in {', '.join(TABLES)}.")
    faults = Problems(path, "lines that are no cases")
    lines: dict[str, int | None] = {}
    empty = True
    for record in read_records(path):
        empty = False
        if isinstance(record, Fault):
            faults.add(record.line, record.reason)
            continue
        try:
            case = _case(record.fields, f"{path_text(path.name)}:{record.line}")
        except _BadCaseError as error:
            faults.add(record.line, str(error))
            continue
        if (first := lines.setdefault(case.id, record.line)) == record.line:
            yield case
        else:
            faults.add(record.line, f"the same question and candidates as line {first}; the first one is kept")
    if empty:
        faults.add(None, "there is no case in it")
    yield from faults.listed()


def _case(record: Mapping[str, object], source: str) -> Document:
    """A case as one text: ``passages`` are the question and the candidates as published, ``accepted`` the gold one."""
    question = _text(record.get("question"), "question")
    answers = record.get("all_answers")
    if not isinstance(answers, list) or len(answers) < 2:
        raise _BadCaseError("the field 'all_answers' should be a list of answers, two or more")
    parts = [question, *(_text(answer, f"all_answers[{n}]") for n, answer in enumerate(answers))]
    label = record.get("answer")
    named = _LABEL.fullmatch(label) if isinstance(label, str) else None
    if not named or int(named[1]) > len(answers):
        raise _BadCaseError(f"the field 'answer' is {label!r}; expected a label from A1 to A{len(answers)}")
    name = record.get("question_id")
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        raise _BadCaseError("the field 'question_id' should be a string or a whole number")
    tags = record.get("tags")
    text, spans = joined(parts)
    return Document(
        id=document_id(text),
        text=text,
        source=source,
        language=detect_language(text),
        licence="CC-BY-SA",
        meta={
            "case": str(name).strip(),
            "tags": [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
            "accepted": int(named[1]) - 1,
        },
        passages=spans,
    )


def joined(parts: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Texts as one, with the span of each."""
    spans: list[tuple[int, int]] = []
    for part in parts:
        start = spans[-1][1] + len(GAP) if spans else 0
        spans.append((start, start + len(part)))
    return GAP.join(parts), tuple(spans)


def _text(value: object, field: str) -> str:
    """A published text: as it is but for blanks at its ends, line ends, and halves of characters."""
    if not isinstance(value, str):
        raise _BadCaseError(f"the field {field!r} should be a string")
    text = value.encode(errors="replace").decode().replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text and field == "question":
        raise _BadCaseError(f"the field {field!r} is empty")
    return text
