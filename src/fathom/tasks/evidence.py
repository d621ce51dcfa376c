"""The passages that questions need: whole documents, or the sentences around the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from fathom.tasks.stretches import content_words
from fathom.types import Card, Document, Question, Scene, Span

NEAR = 300  # characters at each side of an answer in which the words of its question are looked for
BESIDE = 60  # characters within which they count once more
SUPPORT = 0.5  # share of these words that must be there
TELLING = 4  # characters from which on an answer that stands in one place only needs no such words
MOST_PLACES = 500
LONGEST = 1 / 6  # of the shortest length that a question may take


def askable(document: Document, scene: Scene) -> list[Question]:
    """The different questions about a document that leave room for its text at the shortest length."""
    longest = int(scene.shortest * LONGEST)
    return [question for question in distinct(document.questions) if scene.counter.count(question.text) <= longest]


def requests_of(document: Document) -> list[Question]:
    """The summaries that a document has: of all of it, with no text to ask it by, and those that answer a request."""
    asked = distinct(question for question in document.questions if question.meta.get("kind") == "summary")
    if not document.summary:
        return asked
    others = [question for question in asked if document.summary not in question.answers]
    return [Question("", (document.summary,)), *others]


def cards_of_questions(documents: Iterable[Document], scene: Scene, tokens: int, most: int) -> list[Card]:
    """Cards of passages of at most ``tokens`` tokens, each with up to ``most`` questions that it answers.

    A document that fits is one passage. One that does not is cut to whole sentences around the evidence of a question,
    and the other questions whose evidence lies in that piece join it; a question whose evidence is unknown, or too wide
    for ``tokens``, is left out.
    """
    return [card for document in documents for card in _cards_of(document, scene, tokens, most)]


def _cards_of(document: Document, scene: Scene, tokens: int, most: int) -> Iterator[Card]:
    questions, counter = askable(document, scene), scene.counter
    if counter.size(document) <= tokens:
        whole = Span(document.id, 0, len(document.text))
        for start in range(0, len(questions), most):
            yield Card(document, (whole,), tuple(questions[start : start + most]))
        return
    rest = [(question, evidence) for question in questions if (evidence := evidence_of(document, question))]
    while rest:
        span = counter.around(document, rest[0][1], tokens)
        if span is None:
            rest.pop(0)
            continue
        inside = list(islice((n for n, (_, evidence) in enumerate(rest) if _within(span, evidence)), most))
        yield Card(document, (span,), tuple(rest[n][0] for n in inside))
        rest = [entry for n, entry in enumerate(rest) if n not in inside]


def distinct(questions: Iterable[Question]) -> list[Question]:
    """Questions without repetition: the answers of those that ask the same are answers of one."""
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(question.text, []).append(question)
    every = ([answer for question in same for answer in question.answers] for same in found.values())
    asked = zip(found.values(), every, strict=True)
    return [replace(same[0], answers=tuple(dict.fromkeys(answers))) for same, answers in asked if answers]


def _within(span: Span, evidence: Sequence[tuple[int, int]]) -> bool:
    return bool(evidence) and all(span.start <= start and end <= span.end for start, end in evidence)


def evidence_of(document: Document, question: Question) -> tuple[tuple[int, int], ...]:
    """Where the answer stands: as the source says, else the place word for word with most of the question around it.

    An answer such as a year may stand in many places; one that has less than half of the question's content words
    near it is no evidence, unless it is the only one.
    """
    if question.evidence:
        return question.evidence
    asked = content_words(question.text)
    places = [place for answer in question.answers for place in _places(document.text, answer)]
    if not places:
        return ()

    def support(place: tuple[int, int], reach: int = NEAR) -> int:
        return len(asked & content_words(document.text[max(0, place[0] - reach) : place[1] + reach]))

    best = max(places, key=lambda place: support(place) + support(place, BESIDE))
    telling = len(places) == 1 and best[1] - best[0] >= TELLING
    return (best,) if telling or 0 < SUPPORT * len(asked) <= support(best) else ()


def _places(text: str, answer: str) -> list[tuple[int, int]]:
    """Where an answer stands as whole words."""
    if not answer:
        return []
    found = re.finditer(rf"(?<![A-Za-z0-9]){re.escape(answer)}(?![A-Za-z0-9])", text)
    return [match.span() for match in islice(found, MOST_PLACES)]
