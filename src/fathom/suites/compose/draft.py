"""Drafts of prompts: a plan with as many fillers as fit, as running text or numbered passages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, starmap

from fathom.suites.compose.texts import CountedTexts
from fathom.tokens.counts import TokenCounter
from fathom.types import Ending, Haystack, Layout, Part, Passages, Span

GAP = "\n\n"
_SCRAP = 24  # tokens; a shorter piece of a document is not used as a filler


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt whose length is not yet checked.

    Attributes:
        body: The prompt without its question.
        endings: The possible questions.
        depth: Position of the gold text, see ``Composed``.
        missing: Whether there were too few fillers.
        fillers: Spans that can be shortened, in order: passages that are not gold, or for running text each document's
            piece after its last needle.
    """

    body: tuple[Part, ...]
    endings: tuple[Ending, ...]
    depth: float | None
    missing: bool
    fillers: tuple[Span, ...]

    def shortest(self, counter: TokenCounter) -> Ending:
        """The ending with the shortest question."""
        if len(self.endings) == 1:
            return self.endings[0]
        return min(self.endings, key=lambda ending: counter.count(ending.question))

    def with_parts(self, parts: tuple[Part, ...], question: str) -> Draft:
        """The draft of a prompt with this question, in which a passage was extended."""
        last = parts[-1]
        assert isinstance(last, str)
        body = (*parts[:-1], last.removesuffix(GAP + question))
        starts = {(span.doc, span.start) for span in self.fillers}
        fillers = (part for part in body if isinstance(part, Span) and (part.doc, part.start) in starts)
        return replace(self, body=body, fillers=tuple(fillers))

    def parts(self, counter: TokenCounter) -> tuple[Part, ...]:
        """The prompt with the shortest question."""
        return merged([*self.body, GAP, self.shortest(counter).question])


def arrange(plan: Haystack | Passages, fillers: Sequence[Span], room: int, slack: int, texts: CountedTexts) -> Draft:
    """A draft of a plan with fillers of about ``room`` tokens.

    Args:
        plan: The question and the required content of the context.
        fillers: Text to fill the context with, in order.
        room: Tokens for the fillers, including separators.
        slack: Tokens by which they may fall short of that.
        texts: Documents and their token counts.
    """
    if isinstance(plan, Haystack):
        return _running_text(plan, fillers, room, slack, texts)
    return _numbered_passages(plan, fillers, room, slack, texts)


@dataclass(frozen=True, slots=True)
class _Share:
    """The part of a filler that is used: whole copies, or one piece of about ``cut`` tokens."""

    copies: int
    cut: int | None = None


def _shares(
    fillers: Sequence[Span], copies: Sequence[int], extra: int, room: int, slack: int, texts: CountedTexts
) -> tuple[list[_Share], bool]:
    """The fillers used for ``room`` tokens, with ``extra`` tokens each, and whether there were too few.

    The last one is truncated. If too little of it would remain, an earlier one is shortened instead.
    """
    shares: list[_Share] = []
    sizes: list[int] = []
    left = room
    for index, span in enumerate(fillers):
        if left <= slack:
            return shares, False
        size = texts.tokens(span) + extra
        if left < size and left < _SCRAP + extra and (donor := _donor(shares, sizes, extra)) is not None:
            shares[donor] = _Share(1, sizes[donor] - _SCRAP - extra)
            left += _SCRAP
        if left < size:
            return [*shares, _Share(1, max(0, left - extra))], False
        whole = min(copies[index] if copies else 1, left // size)
        shares.append(_Share(whole))
        sizes.append(size)
        left -= whole * size
    return shares, left > slack


def _donor(shares: Sequence[_Share], sizes: Sequence[int], extra: int) -> int | None:
    """The last filler used once that is long enough to be shortened."""
    for index in range(len(shares) - 1, -1, -1):
        if shares[index] == _Share(1) and sizes[index] - extra >= 2 * _SCRAP:
            return index
    return None


def _piece(span: Span, share: _Share, slack: int, texts: CountedTexts) -> Span | None:
    """The span of a filler that a share uses; None if not even a character fits."""
    if share.cut is None:
        return span
    if share.cut < 1:
        return None
    document = texts.documents[span.doc]
    end = texts.counter.cut(document, span.start, span.end, max(1, share.cut - slack), share.cut)
    return Span(span.doc, span.start, end) if end > span.start else None


def _running_text(plan: Haystack, fillers: Sequence[Span], room: int, slack: int, texts: CountedTexts) -> Draft:
    """``intro``, then fillers with each needle at the cut point nearest to its depth, then the question."""
    shares, missing = _shares(fillers, (), texts.counter.count(GAP), room, slack, texts)
    pieces = (_piece(span, share, slack, texts) for span, share in zip(fillers, shares, strict=False))
    spans = [piece for piece in pieces if piece]
    starts = list(accumulate((texts.tokens(span) for span in spans), initial=0))
    hidden: dict[int, list[tuple[int, int]]] = {}
    for number, needle in enumerate(plan.needles):
        index, offset = _place(needle.depth * starts[-1], spans, starts, texts)
        hidden.setdefault(index, []).append((offset, number))
    parts: list[Part] = [plan.intro]
    for index, span in enumerate(spans or [Span("", 0, 0)]):
        parts.append(GAP)
        parts += _hide(span, [(at, plan.needles[n].text) for at, n in sorted(hidden.get(index, ()))], texts)
    depth = plan.needles[0].depth if len(plan.needles) == 1 else None
    ends = {(span.doc, span.end) for span in spans}
    last = tuple(part for part in parts if isinstance(part, Span) and (part.doc, part.end) in ends)
    return Draft(tuple(parts), (plan.ending,), depth, missing, last)


def _place(goal: float, spans: Sequence[Span], starts: Sequence[int], texts: CountedTexts) -> tuple[int, int]:
    """The cut point nearest to ``goal`` tokens, as number of the span and offset in it."""
    if not spans:
        return 0, 0
    index = min(max(0, bisect_right(starts, goal) - 1), len(spans) - 1)
    span = spans[index]
    document = texts.documents[span.doc]
    points = texts.counter.outline(document).points
    inner = points[bisect_right(points, span.start) : bisect_left(points, span.end)]
    natural = [point for point in inner if _ends_a_sentence(document.text, point)]
    candidates = [span.start, *(natural or inner), span.end]

    def tokens(offset: int) -> int:
        return starts[index] + texts.counter.between(document, span.start, offset)

    after = bisect_left(candidates, goal, key=tokens)
    near = candidates[max(0, after - 1) : after + 1]
    return index, min(near, key=lambda offset: abs(tokens(offset) - goal))


def _ends_a_sentence(text: str, offset: int) -> bool:
    """Whether a cut point is the end of a sentence or line."""
    return text[offset : offset + 1] in ("\n", "") or text[offset - 1] in ".!?…。！？\"'”’」』）)]"


def _hide(span: Span, needles: Sequence[tuple[int, str]], texts: CountedTexts) -> list[Part]:
    """A span with needles inserted at ascending offsets, separated in the same way as the text after them."""
    text = texts.documents[span.doc].text if span.doc else ""
    before = [needle for offset, needle in needles if offset == span.start]
    parts: list[Part] = [GAP.join(before)]
    if before and span.start < span.end:
        parts.append(GAP)
    start = span.start
    for offset, needle in needles[len(before) :]:
        if offset > start:
            parts.append(Span(span.doc, start, offset))
            start = offset
        after = text[offset : min(offset + 2, span.end)]
        space = after[: len(after) - len(after.lstrip())]
        if not after:
            parts += [GAP, needle]
        elif _ends_a_sentence(text, offset):
            parts += [space, needle]
        else:  # within a sentence: a separate paragraph
            parts += [needle, GAP] if parts[-1] == GAP else [GAP, needle, GAP]
            start = offset + len(space)
    if start < span.end:
        parts.append(Span(span.doc, start, span.end))
    return parts


def _numbered_passages(plan: Passages, fillers: Sequence[Span], room: int, slack: int, texts: CountedTexts) -> Draft:
    """``intro``, then numbered passages with the gold ones at their depths, then the question."""
    extra = texts.counter.count(GAP + plan.header.format(number=10))
    shares, missing = _shares(fillers, plan.copies, extra, room, slack, texts)
    noise: list[tuple[float, int, Span]] = []
    for filler, (span, share) in enumerate(zip(fillers, shares, strict=False)):
        piece = _piece(span, share, slack, texts)
        if piece:
            keys = plan.shuffle[filler] if plan.shuffle else [float(filler)] * share.copies
            noise += [(key, filler, piece) for key in keys[: share.copies]]
    if plan.shuffle:
        noise.sort(key=lambda placed: placed[0])
    order = [(filler, span) for _, filler, span in noise]
    starts = list(accumulate((texts.tokens(span) for _, span in order), initial=0))
    # As if one more passage of mean size followed, so that all positions are equally likely, including the first.
    reach = starts[-1] + starts[-1] / max(1, len(order))
    places = sorted((bisect_right(starts, depth * reach) - 1, depth, n) for n, (_, depth) in enumerate(plan.gold))
    for shift, (place, _, n) in enumerate(places):
        order.insert(place + shift, (-1, plan.gold[n][0]))
    layout = Layout(
        spans=tuple(span for _, span in order),
        gold=tuple(index for index, (filler, _) in enumerate(order) if filler < 0),
        fillers=tuple(filler for filler, _ in order),
    )
    parts: list[Part] = [plan.intro]
    for number, span in enumerate(layout.spans, start=1):
        parts += [GAP + plan.header.format(number=number), span]
    depth = starts[places[0][0]] / starts[-1] if len(places) == 1 and starts[-1] else None
    return Draft(tuple(parts), plan.finish(layout), depth, missing, tuple(span for n, span in order if n >= 0))


def merged(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with adjacent strings joined."""
    runs = groupby((part for part in parts if part), lambda part: isinstance(part, str))
    return tuple(chain.from_iterable(starmap(_one_text, runs)))


def _one_text(texts: bool, parts: Iterable[Part]) -> Iterable[Part]:
    return ["".join(map(str, parts))] if texts else parts
