"""``fathom/guess``: a valid answer at random, so that its score is the chance level of the test.

``fathom/longest``, ``fathom/first`` and ``fathom/copy`` take a shortcut without reading: the longest answer, the first
one, the example of the instructions. They show how far a shortcut goes beyond chance, and that a measure of copying
finds what is copied. Where a prompt has neither candidates nor an example they guess.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from uuid import UUID

from fathom.run.readers.asked import Asked, any_entity, any_relations, numbered, understand
from fathom.run.readers.retrieval import sentences
from fathom.types import AnswerKind

_WORDS = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_NUMBER = re.compile(r"[0-9]+")
_MOST_WORDS = {"en": 4, "zh": 6}
_SENTENCES = 3  # of a summary
_NEARBY = 2_000  # characters from which a span is taken
_MOST_COPIES = 3  # that paragraphs are repeated, as the counting task does


def guess(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """A random answer of the kind that is asked for.

    Args:
        prompt: The whole prompt; its context only says how many passages there are and lends words.
        answer: The kind of answer that it asks for.
        rng: Dice.
    """
    return guess_answer(understand(prompt, answer), rng)


def guess_answer(asked: Asked, rng: Random) -> str:
    """A random answer to a question that is understood already."""
    return _GUESSES[asked.kind](asked, rng)


def _uuid(asked: Asked, rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def _digits(asked: Asked, rng: Random) -> str:
    return str(rng.randint(1, 9)) + "".join(str(rng.randint(0, 9)) for _ in range(asked.digits - 1))


def _option(asked: Asked, rng: Random) -> str:
    return str(rng.choice(sorted(asked.options) or [1]))


def _one_of_four(asked: Asked, rng: Random) -> str:
    return said_choice(rng.choice(sorted(asked.options) or [1, 2, 3, 4]), asked.kind)


def _passage(asked: Asked, rng: Random) -> str:
    return str(rng.randint(1, _highest(asked)))


def _count(asked: Asked, rng: Random) -> str:
    return str(rng.randint(-(-_highest(asked) // _MOST_COPIES), _highest(asked)))


def _highest(asked: Asked) -> int:
    """The highest number of a passage, which says how many there were, even where some have been cut out."""
    return max((passage.number for passage in numbered(asked.context)), default=1)


def _number(asked: Asked, rng: Random) -> str:
    """A number of the list that the context is."""
    return str(rng.choice(_NUMBER.findall(_place(asked.context, rng)) or ["0"]))


def _relations(asked: Asked, rng: Random) -> str:
    return any_relations(asked.context, asked.question, rng)


def _entity(asked: Asked, rng: Random) -> str:
    """Some words of the sentence that is asked about, as one entity."""
    return any_entity(_span(replace(asked, context=asked.question), rng), asked.context, rng)


def _order(asked: Asked, rng: Random) -> str:
    """Any order, also of parts that have been cut out."""
    return said_order(rng.sample(range(1, _pieces(asked) + 1), _pieces(asked)))


def _label(asked: Asked, rng: Random) -> str:
    return f"A{rng.randint(1, _pieces(asked))}"


def _pieces(asked: Asked) -> int:
    return max(1, asked.pieces.number) if asked.pieces else 1


def said_choice(number: int, kind: AnswerKind) -> str:
    """The choice of that number, from 1, as a prompt of that kind asks for it: its letter, or a sentence with it."""
    letter = chr(ord("A") + number - 1)
    return letter if kind == "letter" else f"The correct answer is ({letter})"


def said_order(numbers: Sequence[int]) -> str:
    """An order of parts as a prompt asks for it."""
    return f"Answer: {json.dumps(list(numbers))}"


def _some_sentences(asked: Asked, rng: Random) -> str:
    """A few sentences from one place of the context, in order."""
    found = [s for s in sentences(_place(asked.context, rng)) if any(map(str.isalnum, s))]
    if not found:
        return _span(asked, rng)
    first = rng.randrange(max(1, len(found) - _SENTENCES + 1))
    return ("" if asked.language == "zh" else " ").join(found[first : first + _SENTENCES])


def _span(asked: Asked, rng: Random) -> str:
    """A few words of the context that follow each other, without marks that a scorer might take for its own."""
    words = _WORDS.findall(_place(asked.context, rng)) or _WORDS.findall(asked.question)
    if not words:
        return "unknown" if asked.language == "en" else "不知道"
    size = rng.randint(1, _MOST_WORDS[asked.language])
    first = rng.randrange(max(1, len(words) - size + 1))
    return (" " if asked.language == "en" else "").join(words[first : first + size])


def _place(context: str, rng: Random) -> str:
    """Some characters of a context that follow each other."""
    start = rng.randrange(max(1, len(context) - _NEARBY + 1))
    return context[start : start + _NEARBY]


_GUESSES: Mapping[AnswerKind, Callable[[Asked, Random], str]] = {
    "uuid": _uuid,
    "digits": _digits,
    "option": _option,
    "choice": _one_of_four,
    "letter": _one_of_four,
    "passage": _passage,
    "number": _number,
    "count": _count,
    "summary": _some_sentences,
    "sentence": _span,
    "words": _span,
    "order": _order,
    "label": _label,
    "relations": _relations,
    "entities": _entity,
}


def longest(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """The label of the longest answer in characters, the first of equal ones.

    Args:
        prompt: The whole prompt, or what a window leaves of it.
        answer: The kind of answer that it asks for.
        rng: Dice, for prompts without answers to choose among.
    """
    asked = understand(prompt, answer)
    if asked.kind == "label" and asked.pieces and asked.pieces.texts:
        texts = asked.pieces.texts
        return f"A{max(texts, key=lambda number: len(texts[number]))}"
    return guess_answer(asked, rng)


def first(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """The label A1, or the parts in the order in which they are numbered; arguments as for ``longest``."""
    asked = understand(prompt, answer)
    if asked.pieces and asked.pieces.number:
        return "A1" if asked.kind == "label" else said_order(range(1, asked.pieces.number + 1))
    return guess_answer(asked, rng)


def copy(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """The answer that the instructions show as an example; arguments as for ``longest``."""
    asked = understand(prompt, answer)
    example = asked.pieces.example if asked.pieces else ""
    if example and asked.kind == "label":
        return example
    # Where a window has left no instructions, a list in a part's own text may look like their example.
    if example and asked.pieces and example.count(",") + 1 == asked.pieces.number:
        return f"Answer: {example}"
    return guess_answer(asked, rng)
