"""``fathom/guess``: a random valid answer, whose score is the chance level.

``fathom/longest``, ``fathom/first`` and ``fathom/copy`` take a shortcut without reading: the longest candidate, the
first one, the example in the instructions. They show how far a shortcut exceeds chance, and that a measure of copying
detects it. Without candidates or an example they guess.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from uuid import UUID

from fathom.models.baselines.parsing import ParsedPrompt, any_entity, any_relations, numbered, parse_prompt
from fathom.models.baselines.retrieval import finished, sentences
from fathom.models.form import PromptForm
from fathom.types import AnswerKind

_WORDS = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_NUMBER = re.compile(r"[0-9]+")
_MOST_WORDS = {"en": 4, "zh": 6}
_SENTENCES = 3  # in a summary
_NEARBY = 2_000  # characters around a random position from which a span is taken
_MOST_COPIES = 3  # number of times that the counting task repeats a paragraph


def guess(prompt: str, answer: AnswerKind, rng: Random, form: PromptForm | None = None) -> str:
    """A random answer of the kind that is asked for.

    Args:
        prompt: The whole prompt; its context only gives the number of passages, and words.
        answer: The kind of answer that it asks for.
        rng: Random generator.
        form: The form of the sample's prompt; None for a prompt without a sample.
    """
    return guess_answer(parse_prompt(prompt, answer, form), rng)


def guess_answer(parsed: ParsedPrompt, rng: Random) -> str:
    """A random answer to a parsed prompt."""
    return _GUESSES[parsed.kind](parsed, rng)


def _uuid(parsed: ParsedPrompt, rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def _digits(parsed: ParsedPrompt, rng: Random) -> str:
    return str(rng.randint(1, 9)) + "".join(str(rng.randint(0, 9)) for _ in range(parsed.digits - 1))


def _option(parsed: ParsedPrompt, rng: Random) -> str:
    return str(rng.choice(sorted(parsed.options) or [1]))


def _one_of_four(parsed: ParsedPrompt, rng: Random) -> str:
    return choice_reply(rng.choice(sorted(parsed.options) or [1, 2, 3, 4]), parsed.kind)


def _passage(parsed: ParsedPrompt, rng: Random) -> str:
    return str(rng.randint(1, _highest(parsed)))


def _count(parsed: ParsedPrompt, rng: Random) -> str:
    return str(rng.randint(-(-_highest(parsed) // _MOST_COPIES), _highest(parsed)))


def _highest(parsed: ParsedPrompt) -> int:
    """The highest passage number, which gives the number of passages even if some were truncated away."""
    return max((passage.number for passage in numbered(parsed.context, parsed.heading)), default=1)


def _number(parsed: ParsedPrompt, rng: Random) -> str:
    """A random number of the list in the context."""
    return str(rng.choice(_NUMBER.findall(_place(parsed.context, rng)) or ["0"]))


def _relations(parsed: ParsedPrompt, rng: Random) -> str:
    return any_relations(parsed.context, parsed.question, rng)


def _entity(parsed: ParsedPrompt, rng: Random) -> str:
    """Random words of the sentence in question, as one entity."""
    return any_entity(_span(replace(parsed, context=parsed.question), rng), parsed.context, rng)


def _order(parsed: ParsedPrompt, rng: Random) -> str:
    """A random order, also of parts that were truncated away."""
    return order_reply(rng.sample(range(1, _pieces(parsed) + 1), _pieces(parsed)))


def _label(parsed: ParsedPrompt, rng: Random) -> str:
    return f"A{rng.randint(1, _pieces(parsed))}"


def _pieces(parsed: ParsedPrompt) -> int:
    return max(1, parsed.pieces.number) if parsed.pieces else 1


def choice_reply(number: int, kind: AnswerKind) -> str:
    """The choice with that number (from 1) in the format of its kind: a letter, or a sentence with it."""
    letter = chr(ord("A") + number - 1)
    return letter if kind == "letter" else f"The correct answer is ({letter})"


def order_reply(numbers: Sequence[int]) -> str:
    """An order of parts in the format that the prompt asks for."""
    return f"Answer: {json.dumps(list(numbers))}"


def _some_sentences(parsed: ParsedPrompt, rng: Random) -> str:
    """A few consecutive sentences of the context."""
    meaningful = [s for s in sentences(_place(parsed.context, rng)) if any(map(str.isalnum, s))]
    first = rng.randrange(max(1, len(meaningful) - _SENTENCES + 1))
    chosen = finished(meaningful[first : first + _SENTENCES])
    return ("" if parsed.language == "zh" else " ").join(chosen) if chosen else _span(parsed, rng)


def _span(parsed: ParsedPrompt, rng: Random) -> str:
    """A few consecutive words of the context, without characters that a scorer could misread."""
    words = _WORDS.findall(_place(parsed.context, rng)) or _WORDS.findall(parsed.question)
    if not words:
        return "unknown" if parsed.language == "en" else "不知道"
    size = rng.randint(1, _MOST_WORDS[parsed.language])
    first = rng.randrange(max(1, len(words) - size + 1))
    return (" " if parsed.language == "en" else "").join(words[first : first + size])


def _place(context: str, rng: Random) -> str:
    """Some consecutive characters of a context."""
    start = rng.randrange(max(1, len(context) - _NEARBY + 1))
    return context[start : start + _NEARBY]


_GUESSES: Mapping[AnswerKind, Callable[[ParsedPrompt, Random], str]] = {
    "uuid": _uuid,
    "digits": _digits,
    "option": _option,
    "choice": _one_of_four,
    "letter": _one_of_four,
    "passage": _passage,
    "number": _number,
    "count": _count,
    "summary": _some_sentences,
    "notes": _some_sentences,
    "sentence": _span,
    "words": _span,
    "order": _order,
    "label": _label,
    "relations": _relations,
    "entities": _entity,
}


def longest(prompt: str, answer: AnswerKind, rng: Random, form: PromptForm | None = None) -> str:
    """The label of the longest candidate in characters, the first of equal ones.

    Args:
        prompt: The whole prompt, or what a window left of it.
        answer: The kind of answer that it asks for.
        rng: Random generator, for prompts without candidates.
        form: The form of the sample's prompt; None for a prompt without a sample.
    """
    parsed = parse_prompt(prompt, answer, form)
    if parsed.kind == "label" and parsed.pieces and parsed.pieces.texts:
        texts = parsed.pieces.texts
        return f"A{max(texts, key=lambda number: len(texts[number]))}"
    return guess_answer(parsed, rng)


def first(prompt: str, answer: AnswerKind, rng: Random, form: PromptForm | None = None) -> str:
    """The label A1, or the parts in the order of their numbers; arguments as for ``longest``."""
    parsed = parse_prompt(prompt, answer, form)
    if parsed.pieces and parsed.pieces.number:
        return "A1" if parsed.kind == "label" else order_reply(range(1, parsed.pieces.number + 1))
    return guess_answer(parsed, rng)


def copy(prompt: str, answer: AnswerKind, rng: Random, form: PromptForm | None = None) -> str:
    """The example answer in the instructions; arguments as for ``longest``."""
    parsed = parse_prompt(prompt, answer, form)
    example = parsed.pieces.example if parsed.pieces else ""
    if example and parsed.kind == "label":
        return example
    if example and parsed.pieces and example.count(",") + 1 == parsed.pieces.number:
        return f"Answer: {example}"
    return guess_answer(parsed, rng)
