"""Parses and formats lengths, and renders recipes as text."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from fathom.types import FathomError, Sample, Span

SHORTEST, LONGEST = 256, 2_000_000
WIDEST = 100_000_000
"""Of a model's window: more than the longest prompt, and the reply."""
_TELLING = 5
"""Characters from which an answer that stands in a text is no coincidence."""
_WORDS = 12
"""Characters in which two texts have more than a word in common."""
_NAMED, _FIRST = 12, 3  # number of lengths up to which all are named, and number named of more


def parse_length(text: str, longest: int = LONGEST) -> int:
    """Parse a length in tokens: ``8k`` is 8,192, ``1m`` is 1,048,576, integers are unchanged.

    Args:
        longest: The longest one.

    Raises:
        FathomError: Not a length, or outside 256 to ``longest`` tokens.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([km]?)", text.strip().lower().replace("_", ""))
    if not match:
        raise FathomError(f"length {text!r}: expected a number of tokens such as 4096, 8k or 1m")
    tokens = float(match[1]) * {"": 1, "k": 1024, "m": 1024 * 1024}[match[2]]
    if not SHORTEST <= tokens <= longest or tokens != int(tokens):
        raise FathomError(f"length {text!r}: expected a whole number of {SHORTEST} to {longest:,} tokens")
    return int(tokens)


def format_length(tokens: float) -> str:
    """The name of a length: 8192 is ``8k``, 1048576 is ``1m``, 6000 is ``6000``, 0 is ``none``."""
    if tokens == 0:
        return "none"
    for unit, size in (("m", 1024 * 1024), ("k", 1024)):
        if tokens >= size and tokens % size == 0 and tokens % 1000:
            return f"{int(tokens // size)}{unit}"
    return f"{int(tokens)}" if tokens == int(tokens) else f"{tokens:g}"


def named_lengths(lengths: Iterable[float]) -> str:
    """Names of lengths for a sentence: ``2k, 4k, 8k``; of many the first, the last and their number; or ``none``."""
    names = list(map(format_length, lengths))
    if len(names) > _NAMED:
        names = [*names[:_FIRST], "...", f"{names[-1]} ({len(names)} lengths)"]
    return ", ".join(names) or "none"


def render(sample: Sample, texts: Mapping[str, str]) -> str:
    """The prompt of a sample.

    Args:
        sample: The recipe.
        texts: Text of each document by id.

    Raises:
        FathomError: A document of the recipe is missing, or shorter than expected.
    """
    return "".join(part if isinstance(part, str) else _text(part, texts, sample.id) for part in sample.parts)


def question_part(sample: Sample) -> str:
    """The end of a prompt that asks, after the whole context; "" where the recipe does not tell the two apart.

    It is the last literal part, which follows the last span of a document. What a task hides at the very end of its
    context is in that part too, as paragraphs of its own: they look like what is hidden elsewhere, or have the answer.
    """
    last = sample.parts[-1] if sample.parts else ""
    if not isinstance(last, str) or all(isinstance(part, str) for part in sample.parts):
        return ""
    hidden = [part.strip() for part in sample.parts[1:-1] if isinstance(part, str)]
    paragraphs = [paragraph for paragraph in re.split(r"(?<=\S)(?=\n\n)", last) if paragraph]
    while len(paragraphs) > 1 and _belongs(paragraphs[0].strip(), "".join(paragraphs[1:]), hidden, sample):
        paragraphs.pop(0)
    question = "".join(paragraphs)
    before = (part for part in sample.parts[:-1] if isinstance(part, str))
    if sample.asked and (sample.asked not in question or any(sample.asked in part for part in before)):
        return ""
    return question if question.strip() else ""


def _belongs(paragraph: str, rest: str, hidden: Iterable[str], sample: Sample) -> bool:
    """Whether a paragraph after the last span belongs to the context, and the question is in what follows it."""
    if sample.asked and sample.asked not in rest:
        return False
    answers = [answer for answer in sample.targets if len(answer) >= _TELLING]
    if any(each in paragraph for each in answers) and not any(each in rest for each in answers):
        return True
    return any(_alike(text, paragraph) for text in hidden if text and text[-1] not in ":：")  # which end headings


def _alike(first: str, second: str) -> bool:
    """Whether two texts begin alike: in a few words, or half of the first."""
    letters = zip(first, second, strict=False)
    same = next((at for at, (mine, theirs) in enumerate(letters) if mine != theirs), len(first))
    return min(same, len(second)) >= min(_WORDS, len(first) / 2)


def thinking(sample: Sample) -> Sample:
    """The same sample with its thinking prompt, which asks for thoughts before the answer.

    Args:
        sample: A sample, with or without its recipe.

    Returns:
        The sample; unchanged if it has no such prompt.
    """
    if not sample.thinking_tokens:
        return sample
    parts = (*sample.parts[:-1], sample.thinking) if sample.parts else ()
    return replace(sample, parts=parts, tokens=sample.thinking_tokens, thinking="", thinking_tokens=0)


def _text(span: Span, texts: Mapping[str, str], sample: str) -> str:
    text = texts.get(span.doc)
    if text is None or len(text) < span.end:
        raise FathomError(f"sample {sample}: document {span.doc} is missing or changed; build the suite again")
    return text[span.start : span.end]
