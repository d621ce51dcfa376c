"""Converts threads to documents: selects them, and joins each to one text with spans of the question and answers."""

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NotRequired

from annotated_types import MinLen
from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.spec import parse_spec, path_of
from fathom.documents.corpus.stackexchange.reading import read_threads
from fathom.documents.corpus.stackexchange.threads import Progress, Thread
from fathom.documents.corpus.text import detect_language, document_id, storable
from fathom.documents.records import TABLES, Fault, Problem, Problems, format_of, path_text, read_records
from fathom.storage.schema import FILLED
from fathom.types import Document, FathomError

GAP = "\n\n"
_LABEL = re.compile(r"A([1-9][0-9]{0,5})")
TOP = 25_000
TOP_OF_TAG = 2_500
"""Ada-LEval, section 3.2: the 2,500 most popular questions of each tag."""


@dataclass(frozen=True, slots=True)
class ThreadCorpus:
    """Documents made from threads, and what was left out."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


def thread_documents(spec: str, progress: Progress | None = None) -> ThreadCorpus:
    """Convert the threads of a file or folder to documents.

    Args:
        spec: ``PATH`` for ``read_threads``, optionally with ``?tags=python,c&top=2500`` to select the most popular
            threads by tag; see ``selected``.
        progress: See ``read_threads``.

    Raises:
        FathomError: There is nothing to read, or the query is invalid.
    """
    name, choices = parse_spec(spec)
    wanted, path = wanted_threads(spec, choices), path_of(name)
    threads = read_threads(path, progress)
    taken = selected(threads, wanted, path_text(path), lambda thread: document_of(thread, f"{path.name}:{thread.id}"))
    return ThreadCorpus(taken.documents, taken.problems)


def document_of(thread: Thread, source: str) -> Document:
    """A thread as one text: the title and the question, then the answers by date.

    ``passages`` are the spans of the question, title included, and of the answers. ``meta`` holds ``thread`` and
    ``site``, the ``tags``, the index of the ``accepted`` answer (or None), and for each answer the time at which it was
    ``answered`` and whether it has ``images``.
    """
    parts = ["\n\n".join(filter(None, [thread.title, thread.question])), *(answer.text for answer in thread.answers)]
    text, spans = joined(parts)
    accepted = next((n for n, answer in enumerate(thread.answers) if answer.accepted), None)
    return Document(
        id=document_id(text),
        text=text,
        source=source,
        language=detect_language(text),
        title=thread.title,
        licence="CC-BY-SA",
        meta={
            "thread": thread.id,
            "site": thread.id.partition(":")[0],
            "tags": list(thread.tags),
            "accepted": accepted,
            "answered": [answer.created for answer in thread.answers],
            "images": [answer.has_images for answer in thread.answers],
        },
        passages=spans,
    )


def case_documents(spec: str) -> ThreadCorpus:
    """The published cases of BestAnswer as documents, in the order of their file.

    ``passages`` are the spans of the question and of the candidates, as published. ``meta`` holds the question's id as
    ``case``, the ``tags``, and the index of the ``accepted`` answer among the candidates.

    Args:
        spec: A JSONL file; see ``read_cases``.

    Raises:
        FathomError: The file does not exist.
    """
    name, choices = parse_spec(spec)
    if choices:
        raise FathomError(f"{spec}: a file of published cases takes no query, but has {', '.join(sorted(choices))}.")
    cases_read = list(read_cases(path_of(name)))
    cases = tuple(case for case in cases_read if isinstance(case, Document))
    return ThreadCorpus(cases, tuple(problem for problem in cases_read if isinstance(problem, Problem)))


def read_cases(path: Path) -> Iterator[Document | Problem]:
    """Yield the cases of a file in order, and problems with others.

    Args:
        path: A file of ``documents.records.TABLES``, also with ``.gz`` or ``.zst``; each row has ``question_id``,
            ``question``, ``all_answers`` (a list) and ``answer`` (``A1`` for the first of them); ``tags`` are optional.

    Raises:
        FathomError: The file does not exist.
    """
    if not path.is_file():
        raise FathomError(f"{path_text(path)}: no such file; name a file of published cases, such as a .jsonl.")
    if format_of(path.name) not in TABLES:
        raise FathomError(f"{path_text(path)}: unknown format; files of published cases end in {', '.join(TABLES)}.")
    faults = Problems(path, "lines that are not cases")
    lines: dict[str, int | None] = {}
    empty = True
    for record in read_records(path):
        empty = False
        if isinstance(record, Fault):
            faults.add(record.line, record.reason)
            continue
        try:
            case = _case(record.fields, f"{path_text(path.name)}:{record.line}")
        except BadRowError as error:
            faults.add(record.line, str(error))
            continue
        if (first := lines.setdefault(case.id, record.line)) == record.line:
            yield case
        else:
            faults.add(record.line, f"the same question and candidates as line {first}; only the first is used")
    if empty:
        faults.add(None, "the file has no cases")
    yield from faults.listed()


class Case(TypedDict):
    """A case as published; ``answer`` is ``A1`` for the first candidate."""

    question_id: Annotated[Annotated[str, FILLED] | int, "a text or a whole number"]
    question: Annotated[str, FILLED]
    all_answers: Annotated[list[Annotated[str, "a text"]], MinLen(2), "a list of answers, two or more"]
    answer: Any
    tags: NotRequired[Any]


def _case(record: Mapping[str, object], source: str) -> Document:
    """A case as one text: ``passages`` are the question and the candidates as published, ``accepted`` the gold one."""
    case = typed(Case, record)
    answers, label, tags = case["all_answers"], case["answer"], case.get("tags")
    named = _LABEL.fullmatch(label) if isinstance(label, str) else None
    if not named or int(named[1]) > len(answers):
        raise BadRowError(f"the field 'answer' is {label!r}; expected a label from A1 to A{len(answers)}")
    text, spans = joined(list(map(_published, (case["question"], *answers))))
    return Document(
        id=document_id(text),
        text=text,
        source=source,
        language=detect_language(text),
        licence="CC-BY-SA",
        meta={
            "case": str(case["question_id"]).strip(),
            "tags": [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
            "accepted": int(named[1]) - 1,
        },
        passages=spans,
    )


def joined(parts: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Join texts; returns the span of each."""
    spans: list[tuple[int, int]] = []
    for part in parts:
        start = spans[-1][1] + len(GAP) if spans else 0
        spans.append((start, start + len(part)))
    return GAP.join(parts), tuple(spans)


def _published(text: str) -> str:
    """A published text with normalised line ends; blanks around it belong to its prompt."""
    return storable(text).replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which threads to select.

    Attributes:
        tags: Only threads with one of these tags; empty for any.
        top: At most so many of each tag, or overall: those with the highest scores.
    """

    tags: tuple[str, ...] = ()
    top: int = TOP


@dataclass(frozen=True, slots=True)
class Selected:
    """The documents of the selected threads in the order read, and what was left out."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


def wanted_threads(spec: str, choices: Mapping[str, str]) -> Selection:
    """Parse the query of a specification: ``tags=python,c`` and ``top=2500``.

    Raises:
        FathomError: It has another name, ``top`` is not a positive whole number, or ``tags`` is empty.
    """
    if unknown := sorted(set(choices) - {"tags", "top"}):
        raise FathomError(f"{spec}: unknown option {', '.join(unknown)}; threads are selected by tags=A,B and top=N.")
    tags = tuple(dict.fromkeys(tag.strip().lower() for tag in choices.get("tags", "").split(",") if tag.strip()))
    if "tags" in choices and not tags:
        raise FathomError(f"{spec}: tags= is empty; write tags=python,c or leave it out.")
    top = choices.get("top", str(TOP_OF_TAG if tags else TOP))
    if not (top.isascii() and top.isdigit() and len(top) <= 9 and int(top) > 0):
        raise FathomError(f"{spec}: top={top} is not a positive whole number.")
    return Selection(tags, int(top))


def selected(
    stream: Iterable[Thread | Problem], wanted: Selection, name: str, document_of: Callable[[Thread], Document]
) -> Selected:
    """Select the most popular threads of a stream; only these are held in memory.

    Threads without answers are skipped; those without an accepted answer are kept, since their answers are
    distractors.

    Args:
        stream: What ``read_threads`` yields.
        name: Name of the stream in problems.
        document_of: Converts a thread to a document.
    """
    # For each tag ("" for any) a heap whose first entry is the least popular thread.
    heaps: dict[str, list[tuple[tuple[int, int, str], int, Document]]] = {tag: [] for tag in wanted.tags or ("",)}
    problems: list[Problem] = []
    threads = unanswered = 0
    for thread in stream:
        if isinstance(thread, Problem):
            problems.append(thread)
            continue
        threads += 1
        unanswered += not thread.answers
        tags = {"", *thread.tags} if thread.answers else set()
        rank = popularity(thread)
        takers = [heap for tag, heap in heaps.items() if tag in tags and (len(heap) < wanted.top or rank > heap[0][0])]
        if not takers:
            continue
        entry = rank, threads, document_of(thread)
        for heap in takers:
            heapq.heappush(heap, entry)
            if len(heap) > wanted.top:
                heapq.heappop(heap)
    taken = {number: document for heap in heaps.values() for _, number, document in heap}
    passed = _passed_over(threads, len(taken), unanswered, wanted)
    absent = [f"no thread with answers has the tag {tag!r}" for tag, heap in heaps.items() if not heap and tag]
    notes = [Problem(name, None, reason) for reason in (*passed, *absent)]
    return Selected(tuple(taken[number] for number in sorted(taken)), (*notes, *problems))


def popularity(thread: Thread) -> tuple[int, int, str]:
    """The sort key of threads: score, then age by number."""
    number = thread.id.rpartition(":")[2]
    return thread.score, -int(number) if number.isdecimal() else 0, thread.id


def _passed_over(threads: int, taken: int, unanswered: int, wanted: Selection) -> list[str]:
    """A line about the threads that were not selected, if any."""
    if threads == taken:
        return []
    of_tag = f"each of the tags {', '.join(wanted.tags)}" if wanted.tags else "all"
    others = threads - taken - unanswered
    rule = f"; the {wanted.top:,} most popular of {of_tag} are used (tags=A,B and top=N change that)" if others else ""
    return [f"{threads - taken:,} of {threads:,} threads skipped, {unanswered:,} without any answer{rule}"]
