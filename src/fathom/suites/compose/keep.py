"""Shortens prompts without losing the text that holds the answer.

``truncate`` removes the middle of a prompt and what stands in it. Here some spans are kept, with the whole sentences
around them. The text between them is shortened evenly: each stretch to the same share of its tokens, from its middle.
So the kept spans stay where they were, relative to the whole, and the prompt is not marked where text was removed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fathom.suites.compose.draft import merged
from fathom.suites.compose.texts import CountedTexts, bounds
from fathom.suites.compose.truncate import cut_before
from fathom.types import Part, Span

_ROUNDS = 12


def shortened(parts: Sequence[Part], keep: Sequence[Span], length: int, texts: CountedTexts) -> tuple[Part, ...] | None:
    """A prompt shortened to ``length`` tokens, with everything in it that must be kept.

    Args:
        parts: The full prompt; literal parts are kept.
        keep: Spans of its documents to keep.
        length: Budget in tokens; a prompt that fits is unchanged.
        texts: Documents and their token counts.

    Returns:
        The prompt, which has 99% to 100% of the budget, or fewer tokens if no sentence or word ends there; None if the
        text to keep exceeds the budget.
    """
    count = texts.counting(False)
    if count(parts) <= length:
        return tuple(parts)
    pieces = [piece for part in parts for piece in _pieces(part, keep, texts)]
    fixed = count([part for part, free in pieces if not free])
    if fixed > length:
        return None
    least, most = bounds(length, False)
    best: tuple[int, tuple[Part, ...]] = fixed, _joined([part for part, free in pieces if not free])
    free_tokens = sum(texts.tokens(part) for part, free in pieces if free and isinstance(part, Span))
    room = (least + most) // 2 - fixed
    for _ in range(_ROUNDS):
        if room <= 0 or not free_tokens:
            break
        joined = _joined(list(_shared_out(pieces, room / free_tokens, texts)))
        tokens = count(joined)
        if best[0] < tokens <= length:
            best = tokens, joined
        if least <= tokens <= length:
            break
        room += (least + most) // 2 - tokens
    return best[1]


def _pieces(part: Part, keep: Sequence[Span], texts: CountedTexts) -> Iterator[tuple[Part, bool]]:
    """A part in stretches, each with whether it may be shortened."""
    if isinstance(part, str):
        yield part, False
        return
    at = part.start
    for start, end in _sentences(part, keep, texts):
        if at < start:
            yield replace(part, start=at, end=start), True
        yield replace(part, start=start, end=end), False
        at = end
    if at < part.end:
        yield replace(part, start=at, end=part.end), True


def _sentences(part: Span, keep: Sequence[Span], texts: CountedTexts) -> list[tuple[int, int]]:
    """The whole sentences of a part that contain what must be kept, without overlaps."""
    points = texts.counter.outline(texts.documents[part.doc]).points
    ranges: list[tuple[int, int]] = []
    for span in sorted((kept for kept in keep if kept.doc == part.doc), key=lambda kept: (kept.start, kept.end)):
        if span.end <= part.start or span.start >= part.end or span.start >= span.end:
            continue
        before = max((point for point in points if point <= span.start), default=0)
        after = min((point for point in points if point >= span.end), default=part.end)
        start, end = max(part.start, before), min(part.end, after)
        if ranges and start <= ranges[-1][1]:
            start, end = ranges[-1][0], max(end, ranges.pop()[1])
        ranges.append((start, end))
    return ranges


def _shared_out(pieces: Sequence[tuple[Part, bool]], share: float, texts: CountedTexts) -> Iterator[Part]:
    """All pieces, the free ones shortened to a share of their tokens."""
    carried = 0.0  # tokens that earlier pieces left unused
    for part, free in pieces:
        if not free or isinstance(part, str):
            yield part
            continue
        wanted = share * texts.tokens(part) + carried
        used = 0
        for kept in _ends(part, int(wanted), texts):
            used += texts.tokens(kept)
            yield kept
        carried = wanted - used


def _ends(span: Span, room: int, texts: CountedTexts) -> Iterator[Span]:
    """The beginning and the end of a span with at most ``room`` tokens together."""
    if texts.tokens(span) <= room:
        yield span
        return
    document = texts.documents[span.doc]
    half = room // 2
    front = texts.counter.cut(document, span.start, span.end, max(1, half - half // 16), half) if half else span.start
    if front > span.start:
        yield replace(span, end=front)
        room -= texts.counter.between(document, span.start, front)
    if room > 0:
        back = cut_before(document, replace(span, start=front), max(1, room - room // 64), room, texts)
        if back < span.end:
            yield replace(span, start=max(back, front))


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with adjacent spans of one text joined."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else ""
        if isinstance(part, Span) and isinstance(last, Span) and last.doc == part.doc and last.end == part.start:
            joined[-1] = replace(last, end=part.end)
        else:
            joined.append(part)
    return merged(joined)
