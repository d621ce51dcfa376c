"""What each part of a prompt is: instruction, gold text, distractor, filler or question, from its recipe alone.

Recipes do not say which part is which, so it is derived from how tasks are composed: numbered passages have a heading
with their number, and the facet ``gold`` names the gold ones; hidden sentences are the literal strings between spans of
documents. In prompts of published records only the text of the gold answer can be marked.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fathom.suites import registry
from fathom.types import AnswerKind, Facet, Part, Sample, Span, Task

Kind: TypeAlias = Literal["instruction", "question", "heading", "gold", "distractor", "filler", "text", "gap"]
GAP = "\n\n"
LONGEST_ANSWER = 300
"""Characters; longer gold answers (summaries) do not occur in a text verbatim."""
MOST_ANSWERS = 20

# A heading ends with a line of one number and a colon, such as "Passage 7:" or "A7:".
_NUMBERED = re.compile(r"\D{0,24}(\d{1,6})\s*[:：]")
_PLACES = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z0-9-]+|[^\W\d_]")
_IDENTIFIER = re.compile(r"[A-Za-z0-9-]*\d[A-Za-z0-9-]*")
# Sentences hidden at the same place are in one string.
_SENTENCE = re.compile(r"(?<=[.!?] )(?=\S)|(?<=[。！？])(?=\S)|(?<=\n\n)(?=[^\n])")
_LATIN = re.compile(r"[A-Za-z0-9]")
_LEFT, _RIGHT = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_ELSEWHERE: tuple[AnswerKind, ...] = ("option", "choice", "letter", "passage", "count", "order", "summary", "label")
"""Kinds of answers that are no text of the context."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a prompt.

    Attributes:
        kind: What it is; ``gap`` is white space between others, ``text`` is context of which no more is known.
        part: A literal text or a span of a document.
    """

    kind: Kind
    part: Part


def task_of(name: str) -> Task | None:
    """A task by name; None if it is not installed."""
    return registry.tasks().get(registry.task_name(name))


def segments(sample: Sample, task: Task | None) -> tuple[Segment, ...]:
    """The parts of a prompt in order; joined, they are the prompt.

    Args:
        sample: A sample with its recipe.
        task: Its task; None if it is not installed.
    """
    borrowed = [place for place, part in enumerate(sample.parts) if isinstance(part, Span)]
    alone = sample.facets.get("context") == "alone"
    if not borrowed and not (alone and len(sample.parts) == 3):
        return tuple(Segment("question", part) for part in sample.parts)
    # Needles alone stand between the instruction and the question.
    first, last = (borrowed[0], borrowed[-1] + 1) if borrowed else (1, 2)
    start, middle, end = sample.parts[:first], sample.parts[first:last], sample.parts[last:]
    numbered = any(number_of(part) is not None for part in sample.parts[:last])
    if numbered or (alone and borrowed):
        gold = None if alone else _numbers(sample.facets.get("gold"))
        parts = [*_passages([*start, *middle], gold), *(Segment("question", part) for part in end)]
    elif task is not None and (task.positioned or not task.gold):
        parts = list(_running_text(sample, task, start, middle, end))
    else:
        parts = [
            *(Segment("instruction", part) for part in start),
            *(Segment("heading" if isinstance(part, str) else "text", part) for part in middle),
            *(Segment("question", part) for part in end),
        ]
    return tuple(_with_gaps(_joined(parts)))


def number_of(part: Part) -> int | None:
    """The number of the passage that a literal text introduces; None if it introduces none."""
    if not isinstance(part, str) or not part.endswith("\n"):
        return None
    lines = part.rstrip().rsplit("\n", 1)
    match = _NUMBERED.fullmatch(lines[-1].strip())
    return int(match[1]) if match else None


def _numbers(gold: Facet | None) -> frozenset[int]:
    return frozenset(map(int, _PLACES.findall(str(gold)))) if gold is not None else frozenset()


def _passages(parts: Sequence[Part], gold: frozenset[int] | None) -> Iterator[Segment]:
    """Instruction, then passages with their headings; ``gold`` is None if all are gold, empty if it is unknown."""
    number: int | None = None
    for part in parts:
        if isinstance(part, str):
            opens = number_of(part)
            if opens is None:
                yield Segment("instruction" if number is None else "heading", part)
                continue
            head, cut = part.rstrip(), part.rstrip().rfind("\n") + 1
            if number is None and head[:cut].strip():
                yield Segment("instruction", part[:cut])
                part = part[cut:]
            number = opens
            yield Segment("heading", part)
        elif gold is None:
            yield Segment("gold", part)
        elif not gold:
            yield Segment("text", part)
        elif number is None:  # the question that the passages are candidate answers to
            yield Segment("question", part)
        else:
            yield Segment("gold" if number in gold else "distractor", part)


def _running_text(
    sample: Sample, task: Task, start: Sequence[Part], middle: Sequence[Part], end: Sequence[Part]
) -> Iterator[Segment]:
    """Instruction, fillers with hidden sentences, question."""
    before, after = _paragraphs("".join(map(str, start))), _paragraphs("".join(map(str, end)))
    inner = [text for part in middle if isinstance(part, str) for text in _sentences(part)]
    known = {text.strip() for text in inner if text.strip()}
    pattern = None if task.answer in _ELSEWHERE else answer_pattern(sample.targets)
    # At both ends of the context, a hidden sentence is in one string with the instruction or the question.
    before = [*before[:1], *(text for paragraph in before[1:] for text in _sentences(paragraph))]
    after = [*(text for paragraph in after[:-1] for text in _sentences(paragraph)), *after[-1:]]
    edges = [text.strip() for text in (*before[1:], *after[:-1]) if text.strip()]
    known |= {text for text in edges if (pattern.search(text) if pattern is not None else not known)}
    known |= {text for text in edges if any(_alike(text, sentence) for sentence in known)}
    gold = _gold(known, pattern, after[-1] if after else "")

    def literal(text: str, kind: Kind) -> Segment:
        bare = text.strip()
        return Segment(("gold" if bare in gold else "distractor") if bare in known else kind, text)

    for text in before:
        yield literal(text, "instruction")
    for part in middle:
        if isinstance(part, Span):
            yield Segment("filler", part)
        else:
            yield from (literal(text, "gap") for text in _sentences(part))
    for text in after:
        yield literal(text, "question")


def _gold(needles: set[str], pattern: re.Pattern[str] | None, question: str) -> set[str]:
    """The hidden sentences that the question is about: all, or those with the answer that fit the question best."""
    if pattern is None:
        return needles
    asked = set(_IDENTIFIER.findall(question))
    fits = {text: len(asked & set(_IDENTIFIER.findall(text))) for text in needles if pattern.search(text)}
    return {text for text, shared in fits.items() if shared == max(fits.values())}


def _alike(sentence: str, other: str) -> bool:
    """Whether two sentences are made from one template."""
    words, others = set(_WORD.findall(sentence)), set(_WORD.findall(other))
    return 2 * len(words & others) >= max(len(words), len(others)) > 0


def _paragraphs(text: str) -> list[str]:
    """A text in pieces that each end with the blank lines after a paragraph; joined, they are the text."""
    return [piece for piece in re.split(r"(?<=\n\n)(?=[^\n])", text) if piece]


def _sentences(text: str) -> list[str]:
    """A text in pieces that each end with the white space after a sentence; joined, they are the text."""
    return [piece for piece in _SENTENCE.split(text) if piece]


def _joined(parts: Iterable[Segment]) -> Iterator[Segment]:
    """Adjacent literal texts of one kind as one."""
    waiting: Segment | None = None
    for segment in parts:
        if waiting and waiting.kind == segment.kind and isinstance(waiting.part, str) and isinstance(segment.part, str):
            waiting = Segment(segment.kind, waiting.part + segment.part)
            continue
        if waiting:
            yield waiting
        waiting = segment
    if waiting:
        yield waiting


def _with_gaps(parts: Iterable[Segment]) -> Iterator[Segment]:
    """White space around literal texts as segments of its own, so that marks begin and end with words."""
    for segment in parts:
        text = segment.part
        if not isinstance(text, str) or not text.strip():
            yield Segment("gap", text) if isinstance(text, str) else segment
            continue
        head, tail = len(text) - len(text.lstrip()), len(text.rstrip())
        if head:
            yield Segment("gap", text[:head])
        yield Segment(segment.kind, text[head:tail])
        if tail < len(text):
            yield Segment("gap", text[tail:])


def answers_of(sample: Sample, task: Task | None) -> tuple[str, ...]:
    """The gold answers whose occurrences in the context are marked; none where they are no text of the context."""
    if task is None or task.answer in _ELSEWHERE:
        return ()
    long_enough = (target.strip() for target in sample.targets)
    return tuple(dict.fromkeys(answer for answer in long_enough if _distinctive(answer)))[:MOST_ANSWERS]


def _distinctive(answer: str) -> bool:
    """Whether an answer is so long that its occurrences are probably not by chance."""
    return len(answer) <= LONGEST_ANSWER and len(answer) >= (3 if _LATIN.search(answer) else 2)


def answer_pattern(answers: Iterable[str]) -> re.Pattern[str] | None:
    """Finds gold answers as whole words, in upper or lower case; None without an answer."""
    longest_first = sorted({answer.strip() for answer in answers if answer.strip()}, key=len, reverse=True)
    if not longest_first:
        return None
    words = (
        (_LEFT if _LATIN.match(answer[0]) else "") + re.escape(answer) + (_RIGHT if _LATIN.match(answer[-1]) else "")
        for answer in longest_first
    )
    return re.compile("|".join(words), re.IGNORECASE)
