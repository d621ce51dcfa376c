"""Threads as documents: one text with the spans of the question and of every answer."""

from __future__ import annotations

from dataclasses import dataclass

from fathom.corpus.identity import document_id
from fathom.corpus.spec import parse_spec, path_of
from fathom.corpus.stackexchange.cases import joined, read_cases
from fathom.corpus.stackexchange.reading import read_threads
from fathom.corpus.stackexchange.selection import selected, wanted_threads
from fathom.corpus.stackexchange.threads import Progress, Thread
from fathom.corpus.text import detect_language
from fathom.records import Problem, path_text
from fathom.types import Document, FathomError


@dataclass(frozen=True, slots=True)
class ThreadCorpus:
    """Documents made of threads, and what was left out."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


def thread_documents(spec: str, progress: Progress | None = None) -> ThreadCorpus:
    """The threads of a file or folder as documents.

    Args:
        spec: ``PATH`` of what ``read_threads`` reads, with ``?tags=python,c&top=2500`` where not the most popular
            threads of all are wanted; see ``selected``.
        progress: See ``read_threads``.

    Raises:
        FathomError: There is nothing to read, or the query asks for what cannot be.
    """
    name, choices = parse_spec(spec)
    wanted, path = wanted_threads(spec, choices), path_of(name)
    found = read_threads(path, progress)
    taken = selected(found, wanted, path_text(path), lambda thread: document_of(thread, f"{path.name}:{thread.id}"))
    return ThreadCorpus(taken.documents, taken.problems)


def document_of(thread: Thread, source: str) -> Document:
    """A thread as one text: the title and the question, then the answers by date.

    ``passages`` are the spans of the question, title included, and of the answers. ``meta`` holds ``thread`` and
    ``site``, the ``tags``, the index of the ``accepted`` answer (None if there is none), and for each answer the time
    at which it was ``answered`` and whether it has ``images``.
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
        FathomError: There is no such file.
    """
    name, choices = parse_spec(spec)
    if choices:
        raise FathomError(f"{spec}: a file of published cases takes no choices, not {', '.join(sorted(choices))}.")
    found = list(read_cases(path_of(name)))
    cases = tuple(one for one in found if isinstance(one, Document))
    return ThreadCorpus(cases, tuple(one for one in found if isinstance(one, Problem)))
