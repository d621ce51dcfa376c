"""Finds the passages that answer questions: whole documents, or the sentences around the evidence."""

import re
from bisect import bisect_right
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from fathom.documents.corpus.locating import find_quotation
from fathom.suites.tasks import whole_text
from fathom.tokens.counts import cut_points
from fathom.tokens.length import format_length
from fathom.types import Candidate, Counter, Document, LeftOut, Question, Resources, Span

NEAR = 300  # characters on each side of an answer in which the words of its question are looked for
BESIDE = 60  # characters on each side within which they count twice
SUPPORT = 0.5  # required share of these words
TELLING = 4  # minimum characters of an answer that needs none of these words if it occurs once
MOST_PLACES = 500
LONGEST = 1 / 6  # share of the shortest length that a question may take
# Two adjacent Chinese characters count as a word; other words from four letters on, numbers always.
_WORD = re.compile(r"(?=([\u3400-\u9fff]{2}))|([^\W\d_\u3400-\u9fff]{4,}|[0-9]+)")
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
    about above after again against along also although among another because been before being below between
    both cannot could does down during each either else even ever every from further have having here hers
    herself himself however into itself just like many more most much must myself neither none only other others
    ourselves over same shall should since some such than that their theirs them themselves then there these
    they this those though through thus under until upon very well were what when where whether which while whom
    whose will with within without would your yours yourself
    """,
    )
)


def askable(document: Document, resources: Resources) -> list[Question]:
    """The distinct questions about a document that leave room for its text at the shortest length."""
    longest = int(resources.shortest * LONGEST)
    return [question for question in distinct(document.questions) if resources.counter.count(question.text) <= longest]


def requests_of(document: Document) -> list[Question]:
    """The summaries of a document: of the whole text, without a request, and those that answer a request."""
    asked = distinct(question for question in document.questions if question.meta.get("kind") == "summary")
    if not document.summary:
        return asked
    others = [question for question in asked if document.summary not in question.answers]
    return [Question("", (document.summary,)), *others]


def candidates_of_questions(
    documents: Iterable[Document], resources: Resources, tokens: int, most: int
) -> list[Candidate]:
    """Candidates with passages of at most ``tokens`` tokens, each with up to ``most`` questions that it answers.

    A document that fits is one passage. A longer one is truncated to whole sentences around the evidence of a question,
    and other questions whose evidence is in that piece join it; a question whose evidence is unknown, or too far apart
    for ``tokens``, is left out.
    """
    return [candidate for document in documents for candidate in _candidates_of(document, resources, tokens, most)]


def _candidates_of(document: Document, resources: Resources, tokens: int, most: int) -> Iterator[Candidate]:
    questions, counter = askable(document, resources), resources.counter
    if counter.size(document) <= tokens:
        whole = whole_text(document)
        for start in range(0, len(questions), most):
            yield Candidate(document, (whole,), tuple(questions[start : start + most]))
        return
    rest = [(question, evidence) for question in questions if (evidence := evidence_of(document, question))]
    while rest:
        span = counter.around(document, rest[0][1], tokens)
        if span is None:
            rest.pop(0)
            continue
        inside = list(islice((n for n, (_, evidence) in enumerate(rest) if _within(span, evidence)), most))
        yield Candidate(document, (span,), tuple(rest[n][0] for n in inside))
        rest = [entry for n, entry in enumerate(rest) if n not in inside]


def questions_left_out(
    documents: Iterable[Document], candidates: Iterable[Candidate], resources: Resources, tokens: int
) -> tuple[LeftOut, ...]:
    """The questions of the user's documents that no candidate asks, each with the reason.

    Args:
        documents: The documents; those of published data sets are left out.
        candidates: The candidates that were made of them.
        resources: Lengths and counter.
        tokens: Maximum tokens of a candidate's passage.
    """
    asked = {(each.document.id, question.text) for each in candidates for question in each.questions}
    return tuple(
        LeftOut(document.source, question.text, _why_left_out(document, question, resources, tokens))
        for document in documents
        if not is_published(document)
        for question in distinct(document.questions)
        if (document.id, question.text) not in asked
    )


def is_published(document: Document) -> bool:
    """Whether a document is a record of a published data set."""
    return "dataset" in document.meta


def _why_left_out(document: Document, question: Question, resources: Resources, tokens: int) -> str:
    """Why a question has no candidate, and what to do."""
    shortest = format_length(resources.shortest)
    if (size := resources.counter.count(question.text)) > int(resources.shortest * LONGEST):
        return (
            f"the question has {size:,} tokens, more than a sixth of the shortest length ({shortest}); shorten it, or "
            "drop that length"
        )
    if question.evidence:
        return (
            f"its evidence does not fit in {tokens:,} tokens, which a passage may have at the shortest length "
            f"({shortest}); quote less, or drop that length"
        )
    places = sum(len(_places(document.text, answer)) for answer in question.answers)
    often = "occurs" + (f" {places:,} times" if places > 1 else "")
    why = f"{often}, without the words of the question near it" if places else "is not in the text word for word"
    return (
        f"the document has more than the {tokens:,} tokens of a passage at the shortest length ({shortest}), and the "
        f"answer {why}; give the evidence, a sentence of the text that has the answer"
    )


def distinct(questions: Iterable[Question]) -> list[Question]:
    """Questions without duplicates; the answers of duplicates are merged."""
    by_text: dict[str, list[Question]] = {}
    for question in questions:
        by_text.setdefault(question.text, []).append(question)
    every = ([answer for question in same for answer in question.answers] for same in by_text.values())
    asked = zip(by_text.values(), every, strict=True)
    return [replace(same[0], answers=tuple(dict.fromkeys(answers))) for same, answers in asked if answers]


def _within(span: Span, evidence: Sequence[tuple[int, int]]) -> bool:
    return bool(evidence) and all(span.start <= start and end <= span.end for start, end in evidence)


def evidence_of(document: Document, question: Question) -> tuple[tuple[int, int], ...]:
    """The location of the answer: as given by the source, else where it occurs with most words of the question near it.

    An answer such as a year may occur in many places; a place with less than half of the question's content words near
    it is not evidence, unless it is the only one.
    """
    return question.evidence or tuple(best_places(document, question)[:1])


def best_places(document: Document, question: Question) -> list[tuple[int, int]]:
    """The places where an answer occurs with most words of the question near it; the first of several comes first.

    Returns:
        Offsets of the document; empty if no place is evidence.
    """
    asked = content_words(question.text)
    places = [place for answer in question.answers for place in _places(document.text, answer)]
    if not places and not is_published(document):
        typed = (find_quotation(document.text, answer) for answer in question.answers)
        places = [place for place in typed if place is not None]
    if not places:
        return []

    def support(place: tuple[int, int], reach: int = NEAR) -> int:
        return len(asked & content_words(document.text[max(0, place[0] - reach) : place[1] + reach]))

    good = [support(place) + support(place, BESIDE) for place in places]
    most = max(good)
    best = [place for place, count in zip(places, good, strict=True) if count == most]
    telling = len(places) == 1 and best[0][1] - best[0][0] >= TELLING
    return best if telling or 0 < SUPPORT * len(asked) <= support(best[0]) else []


def _places(text: str, answer: str) -> list[tuple[int, int]]:
    """The places where an answer occurs as whole words."""
    if not answer:
        return []
    matches = re.finditer(rf"(?<![A-Za-z0-9]){re.escape(answer)}(?![A-Za-z0-9])", text)
    return [match.span() for match in islice(matches, MOST_PLACES)]


@dataclass(frozen=True, slots=True)
class Sentences:
    """The ends of the sentences of a document, and the content words of each.

    Attributes:
        points: Offsets of the document: 0, the end of each sentence, and its length.
    """

    points: Sequence[int]
    words: Sequence[frozenset[str]]


def content_words(text: str) -> frozenset[str]:
    """Content words of a text, in lower case; pairs of characters in Chinese."""
    return frozenset(word for _, word in _words(text))


def sentences_of(document: Document) -> Sentences:
    """The sentences of a document with their content words."""
    points = cut_points(document.text)
    words: list[set[str]] = [set() for _ in points[1:]]
    for start, word in _words(document.text):
        words[bisect_right(points, start) - 1].add(word)
    return Sentences(points, [frozenset(those) for those in words])


def best_stretch(
    document: Document, sentences: Sentences, wanted: frozenset[str], tokens: int, counter: Counter
) -> tuple[Span, float] | None:
    """The consecutive whole sentences of at most ``tokens`` tokens that contain most of the ``wanted`` words.

    They are found by characters, since tokens are evenly distributed in a text, and then trimmed.

    Args:
        wanted: Content words of the question.

    Returns:
        The first best stretch, and its share of those wanted words that occur in the document; None if none occur, or
        no sentence fits.
    """
    points, words = sentences.points, [wanted & those for those in sentences.words]
    everywhere = frozenset[str]().union(*words)
    first = _fullest(points, words, tokens * len(document.text) // max(1, counter.size(document)))
    start = points[first]
    while document.text[start : start + 1].isspace():
        start += 1
    last = bisect_right(points, tokens, lo=first, key=lambda end: counter.between(document, start, max(start, end))) - 1
    if not everywhere or last <= first:
        return None
    covered = frozenset[str]().union(*words[first:last])
    return Span(document.id, start, points[last]), len(covered) / len(everywhere)


def _fullest(points: Sequence[int], words: Sequence[frozenset[str]], room: int) -> int:
    """Index of the first sentence of the stretch of ``room`` characters with the most different words."""
    counts = Tally[str]()
    most, best, first = 0, 0, 0
    for last, those in enumerate(words, start=1):
        counts.update(those)
        while first < last and points[last] - points[first] > room:
            for word in words[first]:
                counts[word] -= 1
                if not counts[word]:
                    del counts[word]
            first += 1
        if len(counts) > most:
            most, best = len(counts), first
    return best


def held_share(document: Document, sentences: Sentences, wanted: frozenset[str], spans: Sequence[Span]) -> float:
    """Share of those wanted words that occur in a document that occur in some parts of it; 0 if none do."""
    everywhere = wanted & frozenset[str]().union(*sentences.words)
    inside = frozenset[str]().union(*(content_words(document.text[span.start : span.end]) for span in spans))
    return len(everywhere & inside) / len(everywhere) if everywhere else 0.0


def _words(text: str) -> Iterator[tuple[int, str]]:
    for match in _WORD.finditer(text):
        word = match[1] or match[2].lower()
        if word not in _FUNCTION_WORDS:
            yield match.start(), word
