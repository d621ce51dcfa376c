"""``fathom/lexical``: finds the sentence or passage whose words match the question, and takes the answer from it.

It understands nothing: sentences that hold something of the asked form are ranked by BM25 against the question,
and so are answers to choose among; parts are put in order by the words at their edges (``continuity``), and labels are
those that examples have for the same words (``labels``). Where nothing fits it guesses, so that every reply is valid.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random

from fathom.run.readers.asked import Asked, numbered, understand
from fathom.run.readers.continuity import in_order
from fathom.run.readers.extract import extract
from fathom.run.readers.guess import guess_answer, said_choice, said_order
from fathom.run.readers.labels import common_relations, known_entities
from fathom.run.readers.retrieval import excerpt, rank, sentences, terms
from fathom.types import AnswerKind

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]+")
_SUMMARY = 5  # sentences of a summary
_COMMON = 20  # words that stand for what a text is about
_FUNCTION = 3  # letters of the words that say nothing about it
_WORTH = 0.5  # share of the best score down to which sentences say the same kind of thing


def read(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """The answer that the words of a prompt point to.

    Args:
        prompt: The whole prompt, or what a window leaves of it.
        answer: The kind of answer that it asks for.
        rng: Dice, for ties and for what cannot be found.
    """
    asked = understand(prompt, answer)
    found = _READINGS[asked.kind](asked, rng)
    return guess_answer(asked, rng) if found is None else found


def _uuid(asked: Asked, rng: Random) -> str | None:
    return _value(asked, _UUID)


def _digits(asked: Asked, rng: Random) -> str | None:
    return _value(asked, re.compile(rf"(?<![0-9.,])[0-9]{{{asked.digits}}}(?![0-9]|[.,][0-9])"))


def _value(asked: Asked, form: re.Pattern[str]) -> str | None:
    """What has the asked form in the best sentence, and does not stand in the question."""
    candidates = _holding(form, asked.context)
    for sentence in _best_first(asked.question, candidates, excerpt(asked.context)):
        for value in reversed(form.findall(sentence)):
            if value not in asked.question:
                return str(value)
    return None


def _option(asked: Asked, rng: Random) -> str | None:
    """The option that lists most of what the best sentences say last, in the order of the text."""
    options = {number: _NUMBER.findall(text) for number, text in asked.options.items()}
    listed = {value for values in options.values() for value in values}
    candidates = [s for s in _holding(_NUMBER, asked.context) if not listed.isdisjoint(_NUMBER.findall(s))]
    if not candidates:
        return None
    scores = rank(asked.question, candidates, excerpt(asked.context))
    best = sorted(range(len(candidates)), key=lambda i: -scores[i])[: max(map(len, options.values()))]
    telling = sorted(i for i in best if scores[i] >= _WORTH * scores[best[0]])
    said = [_NUMBER.findall(candidates[i])[-1] for i in telling]
    return str(max(sorted(options), key=lambda number: (_in_order(said, options[number]), rng.random())))


def _choice(asked: Asked, rng: Random) -> str | None:
    """The choice that some sentence of the context says most of; the question's own words tell nothing apart."""
    found = sentences(asked.context)
    known = set(terms(asked.question))
    if not found or not asked.options:
        return None
    said = {
        number: " ".join(word for word in dict.fromkeys(terms(text)) if word not in known)
        for number, text in asked.options.items()
    }
    scores = {number: max(rank(text, found), default=0.0) / (1 + len(text.split())) for number, text in said.items()}
    return said_choice(max(sorted(scores), key=lambda number: (scores[number], rng.random())), asked.kind)


def _in_order(said: Sequence[str], option: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    lengths = [0] * (len(option) + 1)
    for value in said:
        diagonal = 0
        for place, listed in enumerate(option, start=1):
            above = lengths[place]
            lengths[place] = diagonal + 1 if value == listed else max(above, lengths[place - 1])
            diagonal = above
    return lengths[-1]


def _passage(asked: Asked, rng: Random) -> str | None:
    """The number of the passage that shares most with the summary."""
    passages = numbered(asked.context)
    scores = rank(asked.question, [passage.text for passage in passages])
    if not any(scores):
        return None
    return str(passages[max(range(len(passages)), key=lambda i: scores[i])].number)


def _count(asked: Asked, rng: Random) -> str | None:
    """How many texts differ; None where some passages cannot be seen."""
    passages = numbered(asked.context)
    if not passages or [passage.number for passage in passages] != list(range(1, len(passages) + 1)):
        return None
    return str(len({passage.text for passage in passages}))


def _words(asked: Asked, rng: Random) -> str | None:
    """A short answer from the passages that the question names, or else from the whole context."""
    if asked.closed:
        return "无法回答" if asked.language == "zh" else "unanswerable"
    found = [sentence for text in _named(asked) for sentence in sentences(text)]
    return extract(asked.question, _best_first(asked.question, found), asked.language)


def _summary(asked: Asked, rng: Random) -> str | None:
    """The sentences of the named passages that match the request best, or else those that share most with the rest.

    Each passage gives at least one; they stand in the order of the text.
    """
    texts = [sentences(text) for text in _named(asked)]
    chosen = []
    for found in filter(None, texts):
        scores = rank(asked.question or _common_words(found), found)
        best = sorted(range(len(found)), key=lambda i: -scores[i])[: max(1, _SUMMARY // len(texts))]
        chosen += [found[i] for i in sorted(best)]
    return ("" if asked.language == "zh" else " ").join(chosen) or None


def _sentence(asked: Asked, rng: Random) -> str | None:
    """The sentence that matches the question best."""
    found = sentences(asked.context)
    return _best_first(asked.question, found)[0] if found else None


def _order(asked: Asked, rng: Random) -> str | None:
    """The parts in the order in which their edges match; those that cannot be seen stand anywhere among them."""
    pieces = asked.pieces
    if pieces is None or not pieces.texts:
        return None
    order = in_order(pieces.before, pieces.texts, pieces.after, rng)
    for number in range(1, pieces.number + 1):
        if number not in pieces.texts:
            order.insert(rng.randint(0, len(order)), number)
    return said_order(order)


def _label(asked: Asked, rng: Random) -> str | None:
    """The answer that shares most with the question; the longer one of two that share as much."""
    if asked.pieces is None or not asked.pieces.texts:
        return None
    texts = asked.pieces.texts
    scores = dict(zip(texts, rank(asked.question, list(texts.values())), strict=True))
    return f"A{max(texts, key=lambda number: (scores[number], len(texts[number])))}"


def _named(asked: Asked) -> list[str]:
    """The texts that a question is about: passages, those among them that can be seen, or else the whole context."""
    if not asked.passages:
        return [asked.context]
    return [passage.text for passage in numbered(asked.context) if passage.number in asked.passages]


def _common_words(found: Sequence[str]) -> str:
    """The words that most sentences share, function words aside as far as their length tells."""
    words = (word for sentence in found for word in dict.fromkeys(terms(sentence)))
    counts = Counter(word for word in words if len(word) > _FUNCTION or word > "~")
    return " ".join(word for word, _ in counts.most_common(_COMMON))


def _holding(form: re.Pattern[str], text: str) -> list[str]:
    """The sentences that hold a match; only lines that hold one are cut into sentences."""
    return [s for line in text.split("\n") if form.search(line) for s in sentences(line) if form.search(s)]


def _best_first(question: str, candidates: Sequence[str], background: Sequence[str] = ()) -> list[str]:
    scores = rank(question, candidates, background)
    return [candidates[i] for i in sorted(range(len(candidates)), key=lambda i: -scores[i])]


_READINGS: Mapping[AnswerKind, Callable[[Asked, Random], str | None]] = {
    "uuid": _uuid,
    "digits": _digits,
    "option": _option,
    "choice": _choice,
    "letter": _choice,
    "passage": _passage,
    "number": lambda asked, rng: None,
    "count": _count,
    "summary": _summary,
    "sentence": _sentence,
    "words": _words,
    "order": _order,
    "label": _label,
    "relations": lambda asked, rng: common_relations(asked.context, asked.question),
    "entities": lambda asked, rng: known_entities(asked.context, asked.question),
}
