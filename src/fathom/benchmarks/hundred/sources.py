"""Data sets of 100-LongBench, and forms of records of others that several benchmarks use.

The additions of appendix A.6 are in biomedicine, healthcare and law.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import detect_language, normalise
from fathom.documents.sources.forms import (
    SUMMARY,
    TEXTS,
    LookupShape,
    PassedOverError,
    fields_form,
    from_parts,
    joined,
    list_in,
    objects_in,
    text_in,
    word,
)
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.types import Document, Question

# ------------------------------------------------------------ news: CNN/DailyMail, and Multi-News in its authors' form

_LINE_END = re.compile(r"(?:(?<![ \t])[ \t]+)?NEWLINE_CHAR[ \t]*")
_SEPARATOR = "|||||"


def with_line_ends(text: str) -> str:
    """A text of Multi-News with ``NEWLINE_CHAR`` replaced by line ends."""
    return normalise(_LINE_END.sub("\n", text))


def read_multi_news(record: Mapping[str, object], where: str) -> Document:
    """Articles on one event, separated by five vertical bars, and their summary.

    Raises:
        BadRowError: A field is not text, or the articles are empty.
    """
    articles = [with_line_ends(article) for article in text_in(record, "document").split(_SEPARATOR)]
    text, passages = joined(list(dict.fromkeys(articles)))
    summary = with_line_ends(text_in(record, "summary")).removeprefix("–").lstrip()
    return from_parts(where, text, summary=summary, passages=passages)


MULTI_NEWS = Shape("Multi-News", frozenset({"document", "summary"}), read_multi_news)

CNN = Shape(
    "CNN/DailyMail", frozenset({"article", "highlights"}), fields_form("article", summary="highlights", id="id")
)


# -------------------------------------------------------------------------------- meetings: QMSum in its authors' form

_NOISE = re.compile(r"\{[a-z]+\}")


def without_noise(text: str) -> str:
    """A transcript without notes in braces, such as ``{vocalsound}``, and without turns that contain nothing else.

    Runs of spaces become one, so that copies of a meeting by several publishers have equal texts.
    """
    lines = []
    for line in normalise(text).split("\n"):
        words = " ".join(_NOISE.sub(" ", line).split())
        content = words.partition(":")[2] if ":" in words else words
        if any(map(str.isalnum, content)) or not _NOISE.search(line):
            lines.append(words)
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


# ----------------------------------------------------------------------------------------------------------------- law


# ------------------------------------------------------------------------------------------ biomedicine and healthcare

_CONCEPT = re.compile(r"C\d{7}(\|[^|]*\|C\d{7})?")


def read_bioasq(record: Mapping[str, object], where: str) -> Document:
    """A question over the abstracts that answer it, all of which are evidence.

    Raises:
        BadRowError: There is no question or no answer.
        PassedOverError: It has only one abstract; the paper's code skips it too.
    """
    texts = [normalise(text) for text in list_in(record, TEXTS) if isinstance(text, str)]
    text, passages = joined(texts)
    spans = tuple(span for span in passages if span[0] < span[1])
    if len(spans) < 2:
        raise PassedOverError("a question over one text")
    answer = text_in(record, "answer")
    if not answer:
        raise BadRowError("question without answer")
    question = Question(text_in(record, "question"), (answer,), spans)
    return from_parts(where, text, [question], identity=record.get("id"), passages=spans)


def read_medodyssey(record: Mapping[str, object], where: str) -> Document:
    """A question over a list of terms, triples, tables or case histories, one per line.

    The entries equal to the answer are its evidence. As in the released code, a question about a table or a case names
    it (``ground_truth_coarse`` without its first three characters), and a term to be standardised, which has no
    question of its own, has one answer, the first.

    Raises:
        BadRowError: A field has another form, the context consists of concept numbers whose names are in another file,
            or there is no answer.
        PassedOverError: It is a counting task: its input is a whole prompt, its answer a list in JSON.
    """
    gold = record.get("ground_truth")
    if isinstance(gold, str) and gold.lstrip().startswith("["):
        raise PassedOverError("a counting task, whose input is a whole prompt")
    entries = [normalise(entry) for entry in list_in(record, "context") if isinstance(entry, str)]
    if entries and all(_CONCEPT.fullmatch(entry) for entry in entries):
        raise BadRowError("its context is numbers of UMLS concepts; replace them by their names first")
    answers = [
        normalise(str(answer)) for answer in (gold if isinstance(gold, list | tuple) else [gold]) if answer is not None
    ]
    if not any(answers):
        raise BadRowError("question without answer")
    asked, named = text_in(record, "input"), text_in(record, "ground_truth_coarse")[3:]
    if named:
        chinese = detect_language(asked) == "zh"
        asked = f"关于“{named}”：{asked}" if chinese else f"About “{named}”: {asked}"
    elif asked and answers[0] in entries and "|" not in answers[0]:
        chinese = detect_language(asked + answers[0]) == "zh"
        asked = f"“{asked}”的标准术语是什么？" if chinese else f"Which standard term stands for “{asked}”?"
        answers = answers[:1]
    text, spans, at = "\n".join(filter(None, entries)), [], 0
    for entry in filter(None, entries):
        if entry in answers:
            spans.append((at, at + len(entry)))
        at += len(entry) + 1
    kind = {"kind": kind} if (kind := word(record.get("type"))) else {}
    question = Question(asked, ("; ".join(answers),), tuple(spans), kind)
    document = from_parts(where, text, [question], identity=record.get("id"))
    return replace(document, language=detect_language(document.text))


SOURCES = packaged_sources(
    __package__,
    {
        "cnn_dailymail": (CNN,),
        "casesumm": (
            Shape(
                "CaseSumm",
                frozenset({"opinion", "syllabus"}),
                fields_form("opinion", summary="syllabus", title="citation"),
            ),
        ),
        "rag_mini_bioasq": (
            LookupShape(
                "rag-mini-bioasq",
                frozenset({"question", "answer", "relevant_passage_ids"}),
                read_bioasq,
                references="relevant_passage_ids",
                text="passage",
            ),
        ),
        "medodyssey": (Shape("MedOdyssey", frozenset({"input", "context", "ground_truth"}), read_medodyssey),),
        "medical_summary": (
            Shape("Medical-Summary", frozenset({"input", "output"}), fields_form("input", summary="output")),
            Shape("text and summary", frozenset({"text", "summary"}), fields_form("text")),
        ),
    },
)
