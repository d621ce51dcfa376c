"""Which threads are taken: the most popular ones, of all or of each tag, at a memory that is bounded."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fathom.corpus.stackexchange.threads import Thread
from fathom.records import Problem
from fathom.types import Document, FathomError

TOP = 25_000
TOP_OF_TAG = 2_500
"""Ada-LEval, section 3.2: the 2,500 most popular questions of each tag."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which threads are taken.

    Attributes:
        tags: Only threads with one of these tags; empty for any.
        top: At most so many of each tag, or of all: those with the highest scores.
    """

    tags: tuple[str, ...] = ()
    top: int = TOP


@dataclass(frozen=True, slots=True)
class Selected:
    """The documents of the threads that were taken, in the order in which they came, and what was left out."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


def wanted_threads(spec: str, choices: Mapping[str, str]) -> Wanted:
    """What the query of a specification asks for: ``tags=python,c`` and ``top=2500``.

    Raises:
        FathomError: It asks for something else, ``top`` is no whole number from 1 on, or ``tags`` names none.
    """
    if unknown := sorted(set(choices) - {"tags", "top"}):
        raise FathomError(f"{spec}: threads are chosen by tags=A,B and top=N, not by {', '.join(unknown)}.")
    tags = tuple(dict.fromkeys(tag.strip().lower() for tag in choices.get("tags", "").split(",") if tag.strip()))
    if "tags" in choices and not tags:
        raise FathomError(f"{spec}: tags= names no tag; write tags=python,c or leave it out.")
    top = choices.get("top", str(TOP_OF_TAG if tags else TOP))
    if not (top.isascii() and top.isdigit() and len(top) <= 9 and int(top) > 0):
        raise FathomError(f"{spec}: top={top} is not a whole number from 1 on.")
    return Wanted(tags, int(top))


def selected(
    found: Iterable[Thread | Problem], wanted: Wanted, name: str, document_of: Callable[[Thread], Document]
) -> Selected:
    """The most popular threads of a stream, of which no more than these are held.

    Threads without any answer can serve nothing and are passed over; those whose asker accepted none stay, since their
    answers are distractors.

    Args:
        found: What ``read_threads`` yields.
        wanted: Which threads are taken.
        name: What the stream is called in problems.
        document_of: Makes a document of a thread.
    """
    # For each tag ("" for any) a heap whose first entry is the least popular thread.
    heaps: dict[str, list[tuple[tuple[int, int, str], int, Document]]] = {tag: [] for tag in wanted.tags or ("",)}
    problems: list[Problem] = []
    threads = unanswered = 0
    for one in found:
        if isinstance(one, Problem):
            problems.append(one)
            continue
        threads += 1
        unanswered += not one.answers
        tags = {"", *one.tags} if one.answers else set()
        rank = popularity(one)
        takers = [heap for tag, heap in heaps.items() if tag in tags and (len(heap) < wanted.top or rank > heap[0][0])]
        if not takers:
            continue
        entry = rank, threads, document_of(one)
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
    """What threads are ranked by: score, then the older number."""
    number = thread.id.rpartition(":")[2]
    return thread.score, -int(number) if number.isdecimal() else 0, thread.id


def _passed_over(threads: int, taken: int, unanswered: int, wanted: Wanted) -> list[str]:
    """One line about the threads that were not taken; none where all were."""
    if threads == taken:
        return []
    of_tag = f"each of the tags {', '.join(wanted.tags)}" if wanted.tags else "all"
    others = threads - taken - unanswered
    rule = f"; the {wanted.top:,} most popular of {of_tag} are taken (tags=A,B and top=N change that)" if others else ""
    return [f"{threads - taken:,} of {threads:,} threads passed over, {unanswered:,} without any answer{rule}"]
