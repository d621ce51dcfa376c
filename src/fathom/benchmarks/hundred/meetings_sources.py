"""Transcripts of meetings: QMSum in its authors' form, and the transcription noise in all its copies."""

import re
from collections.abc import Iterator, Mapping

from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import normalise
from fathom.documents.sources.forms import SUMMARY, from_parts, list_in, objects_in, text_in
from fathom.documents.sources.source import Shape
from fathom.types import Document, Question

_NOISE = re.compile(r"\{[a-z]+\}")


def without_noise(text: str) -> str:
    """A transcript without notes in braces, such as ``{vocalsound}``, and without turns that contain nothing else.

    Runs of spaces become one, so that copies of a meeting by several publishers have equal texts.
    """
    lines = []
    for line in normalise(text).split("\n"):
        said = " ".join(_NOISE.sub(" ", line).split())
        content = said.partition(":")[2] if ":" in said else said
        if any(map(str.isalnum, content)) or not _NOISE.search(line):
            lines.append(said)
    return normalise("\n".join(lines))


def read_qmsum(record: Mapping[str, object], where: str) -> Document:
    """A meeting of QMSum, one line per turn.

    The answer to the first general query is the summary of the meeting; all queries are requests for a summary, those
    about a part of it with the turns in ``relevant_text_span``, from 0, inclusive.

    Raises:
        BadRowError: A field has another form.
    """
    lines, spans, at = [], [], 0
    for turn in objects_in(record, "meeting_transcripts"):
        speaker, content = (" ".join(text_in(turn, field).split()) for field in ("speaker", "content"))
        line = without_noise(f"{speaker}: {content}") if speaker else without_noise(content)
        if not content:
            line = ""
        spans.append((at, at + len(line)))
        if line:
            lines.append(line)
            at += len(line) + 1
    general = list(_queries(record, "general_query_list", []))
    asked = general + list(_queries(record, "specific_query_list", spans))
    summary = general[0].answers[0] if general and general[0].answers else None
    return from_parts(where, "\n".join(lines), asked, summary=summary, identity=record.get("id"))


def _queries(record: Mapping[str, object], field: str, turns: list[tuple[int, int]]) -> Iterator[Question]:
    for entry in objects_in(record, field):
        answer = without_noise(text_in(entry, "answer"))
        ranges = list_in(entry, "relevant_text_span") if turns else ()
        evidence = tuple(span for part in ranges if (span := _span_of(part, turns)))
        yield Question(text_in(entry, "query"), (answer,) if answer else (), evidence, SUMMARY)


def _span_of(part: object, turns: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Characters from the first turn of a range to the end of its last one; None if they are empty."""
    match part:
        case [int() | str() as first, int() | str() as last]:
            try:
                low, high = int(first), min(int(last), len(turns) - 1)
            except ValueError as error:
                raise BadRowError(f"relevant_text_span: {part} is not a range of turns") from error
        case _:
            raise BadRowError(f"relevant_text_span: {part} is not a range of turns")
    start, end = (turns[low][0], turns[high][1]) if 0 <= low <= high else (0, 0)
    return (start, end) if start < end else None


QMSUM = Shape("QMSum", frozenset({"meeting_transcripts", "general_query_list", "specific_query_list"}), read_qmsum)
