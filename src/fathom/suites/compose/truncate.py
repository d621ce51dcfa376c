"""Truncates prompts to a shorter length by removing text from the middle, to see how much of it a task needs.

Source: Ada-LEval, section 4.6 and table 10, which truncates prompts of 16k to 2k, 4k and 8k; LongBench, section 4.1,
    for
the position. The first half of the budget is the prompt's beginning, down to the end of a paragraph or sentence, and
the rest its end, from the end of a sentence if that leaves 99% of the budget, else of a word. The instruction before
the documents' text and the question after it are kept; other literal text, such as a passage heading or a needle, is
kept or removed as a whole. The prompt is not marked where text was removed.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fathom.suites.compose.draft import merged
from fathom.suites.compose.texts import CountedTexts, bounds
from fathom.types import Document, Part, Sample, Span

_ROUNDS = 8
_EVEN = 16  # the beginning may fall short of half the budget by 1/16 of it, to end at a boundary
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


def cut_sample(
    sample: Sample, question: str, length: int, texts: CountedTexts, *, exact: bool = False
) -> Sample | None:
    """The same sample with a prompt of ``length`` tokens: ``ID/cutLENGTH``, with the facet ``cut_from``.

    Args:
        question: The end of the prompt, which is kept.
        length: Budget of the truncated prompt in tokens.
        texts: Documents and their token counts.
        exact: Fill the budget to the last token if possible.

    Returns:
        The sample; None if the text to keep exceeds the budget.
    """
    parts = truncated(sample.parts, question, length, texts, exact=exact)
    if parts is None:
        return None
    return replace(
        sample,
        id=f"{sample.id}/cut{length}",
        parts=parts,
        length=length,
        tokens=texts.counting(exact)(parts),
        facets={**sample.facets, "cut_from": sample.length},
        thinking="",
        thinking_tokens=0,
    )


def truncated(
    parts: Sequence[Part], question: str, length: int, texts: CountedTexts, *, exact: bool = False, even: bool = False
) -> tuple[Part, ...] | None:
    """Remove the middle of a prompt.

    Args:
        question: The end of the prompt, which is kept.
        length: Budget in tokens; a prompt that fits is unchanged.
        texts: Documents and their token counts.
        exact: Fill the budget to the last token if possible.
        even: Give the beginning exactly half the budget, wherever it then ends.

    Returns:
        A beginning and an end of the prompt with 99% to 100% of the budget, less only if a piece of literal text does
        not fit the rest; None if the text to keep exceeds the budget.
    """
    count = texts.counting(exact)
    if count(parts) <= length:
        return tuple(parts)
    prompt = _parted(parts, question)
    if count([*prompt.start, *prompt.end]) > length:
        return None
    least, most = bounds(length, exact)
    best: tuple[int, list[Part], list[Part]] = 0, [], []
    half = length // 2
    for _ in range(2):  # if literal text leaves the end short, the beginning takes the rest
        attempt = _filled(prompt, half, 0 if even else length // _EVEN, least, most, length, count, texts)
        best = max(best, attempt, key=lambda each: each[0])
        if best[0] >= least:
            break
        half += length - attempt[0]
    tokens, front, back = best
    for longer in _continued(prompt.middle, front, back, length - tokens) if tokens < least else []:
        found_tokens = count([*prompt.start, *longer, *back, *prompt.end])
        if tokens < found_tokens <= length:
            tokens, front = found_tokens, longer
        if tokens >= least:
            break
    return merged([*prompt.start, *front, *back, *prompt.end])


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt in three parts: ``start`` and ``end`` are kept, ``middle`` begins and ends with document text."""

    start: tuple[Part, ...]
    middle: tuple[Part, ...]
    end: tuple[Part, ...]


def _parted(parts: Sequence[Part], question: str) -> _Prompt:
    borrowed = [place for place, part in enumerate(parts) if isinstance(part, Span)]
    if not borrowed:
        return _Prompt(tuple(parts), (), ())
    first, last = borrowed[0], borrowed[-1] + 1
    start, middle, end = tuple(parts[:first]), tuple(parts[first:last]), tuple(parts[last:])
    span = middle[-1]
    missing = len(question) - sum(len(part) for part in end if isinstance(part, str))
    if missing > 0 and isinstance(span, Span):  # the question is document text too
        seam = max(span.start, span.end - missing)
        middle, end = (*middle[:-1], replace(span, end=seam)), (replace(span, start=seam), *end)
    return _Prompt(start, middle, end)


def _filled(
    prompt: _Prompt,
    half: int,
    early: int,
    least: int,
    most: int,
    length: int,
    count: Callable[[Sequence[Part]], int],
    texts: CountedTexts,
) -> tuple[int, list[Part], list[Part]]:
    """Tokens of the longest prompt found, and what it keeps of the middle's beginning and end.

    The beginning has at most ``half`` tokens, up to ``early`` fewer to end at a boundary; the end takes the rest.
    """
    start, end = prompt.start, prompt.end
    goal, slack = (least + most) // 2, (most - least) // 2
    fixed = count([*start, *end])
    room = min(half - count(start), goal - fixed)
    front, rest = _beginning(prompt.middle, room, early, texts)
    best: tuple[int, list[Part], list[Part]] = fixed, [], []
    room = goal - count([*start, *front, *end])
    for _ in range(_ROUNDS):
        back = _end(rest, room, slack, texts)
        tokens = count([*start, *front, *back, *end])
        if best[0] < tokens <= length:
            best = tokens, front, back
        if least <= tokens <= most:
            return best
        room += goal - tokens
    tokens, front, back = best
    for longer in _lengthened(rest, back, min(512, 24 + 8 * (length - tokens))):
        tokens = count([*start, *front, *longer, *end])
        if best[0] < tokens <= length:
            best = tokens, front, longer
        if best[0] >= least:
            break
    return best


def _beginning(middle: Sequence[Part], room: int, slack: int, texts: CountedTexts) -> tuple[list[Part], list[Part]]:
    """The start of the middle with at most ``room`` tokens, ending with document text; and the rest after it."""
    kept: list[Part] = []
    waiting: list[Part] = []  # literal text is kept with the document text that it introduces
    for place, part in enumerate(middle):
        room -= _size(part, texts)
        if isinstance(part, str):
            waiting.append(part)
        elif room >= 0:
            kept += [*waiting, part]
            waiting = []
        else:
            left = room + _size(part, texts)
            document = texts.documents[part.doc]
            end = part.start
            if left > 0:
                end = texts.counter.cut(document, part.start, part.end, max(1, left - slack), left)
            if end == part.start:
                return kept, [*waiting, *middle[place:]]
            return [*kept, *waiting, replace(part, end=end)], [replace(part, start=end), *middle[place + 1 :]]
    return kept, []


def _end(middle: Sequence[Part], room: int, slack: int, texts: CountedTexts) -> list[Part]:
    """The end of the middle with at most ``room`` tokens."""
    kept: list[Part] = []
    for part in reversed(middle):
        size = _size(part, texts)
        if size <= room:
            kept.insert(0, part)
            room -= size
            continue
        if isinstance(part, Span) and room > 0:
            start = cut_before(texts.documents[part.doc], part, max(1, room - slack), room, texts)
            if start < part.end:
                kept.insert(0, replace(part, start=start))
        break
    return kept


def _size(part: Part, texts: CountedTexts) -> int:
    return texts.counter.count(part) if isinstance(part, str) else texts.tokens(part)


def cut_before(document: Document, span: Span, least: int, most: int, texts: CountedTexts) -> int:
    """The start of the end of a span with ``least`` to ``most`` tokens; see ``TokenCounter.cut``."""
    points, text = texts.counter.outline(document).points, document.text

    def below(offset: int) -> int:
        return -texts.counter.between(document, offset, span.end)

    first, last = bisect_left(points, span.start), bisect_left(points, span.end)
    fit = bisect_left(points, -most, lo=first, hi=last, key=below)
    best = points[fit] if fit < last else span.end
    if below(best) <= -least:
        for index in range(fit, last):
            if below(points[index]) > -least:
                break
            if text[points[index]] == "\n":
                return points[index]
        return best
    floor = points[fit - 1] if fit > first else span.start
    words = [match.end() for match in _WORD_END.finditer(text, floor, best)]
    if words and (fit := bisect_left(words, -most, key=below)) < len(words) and below(words[fit]) <= -least:
        return words[fit]
    letters = range(floor, best)
    fit = bisect_left(letters, -most, key=below)
    return letters[fit] if fit < len(letters) else best


def _continued(middle: Sequence[Part], front: Sequence[Part], back: Sequence[Part], missing: int) -> list[list[Part]]:
    """The beginning of a prompt with one more character of its last span, two more, and so on, up to the end's start.

    If the end stops before literal text that is too long, only the beginning can take the remaining tokens.
    """
    if not front or not isinstance(front[-1], Span):
        return []
    span = front[-1]
    whole = middle[len(front) - 1]
    assert isinstance(whole, Span)
    last = whole.end
    if len(front) + len(back) > len(middle) and back and isinstance(back[0], Span):
        last = back[0].start  # the beginning and the end share this span
    reach = min(24 + 8 * missing, last - span.end)
    return [[*front[:-1], replace(span, end=span.end + step)] for step in range(1, reach + 1)]


def _lengthened(rest: Sequence[Part], back: Sequence[Part], most: int) -> list[list[Part]]:
    """The end of a prompt with one more character of its first span, two more, and so on.

    Token counts depend on the text before the cut, so that the search alone may miss the last few tokens.
    """
    if not back or not isinstance(back[0], Span):
        return []
    span = back[0]
    whole = rest[len(rest) - len(back)]
    assert isinstance(whole, Span)
    reach = min(most, span.start - whole.start)
    return [[replace(span, start=span.start - step), *back[1:]] for step in range(1, reach + 1)]
