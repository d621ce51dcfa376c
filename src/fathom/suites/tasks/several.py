"""Gold text in several passages: their origin, their positions, and how a prompt refers to them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial

from fathom.tokens.counts import cut_points
from fathom.types import Counter, Document, Draw, Layout, Span

SHARE = 3 / 5  # share of the shortest length that the gold passages may take
HEADER = 6  # tokens of a passage besides its text
MOST_PIECES = 4
PIECE = 200  # minimum tokens of a separate piece


def separate_texts(document: Document) -> tuple[Span, ...]:
    """The separate texts of which a document consists; empty if it is one text."""
    spans = tuple(Span(document.id, start, end) for start, end in document.passages)
    return spans if len(spans) > 1 else ()


def pieces_of(document: Document, span: Span, counter: Counter) -> tuple[Span, ...]:
    """A text in two to four pieces of about equal length, split at ends of paragraphs, or of sentences if it has none.

    Returns:
        The pieces in order, without the space between them; empty if it cannot be split.
    """
    text = document.text
    inside = [point for point in cut_points(text) if span.start < point < span.end]
    places = [point for point in inside if text[point] == "\n"] or inside
    total = counter.between(document, span.start, span.end)
    count = min(MOST_PIECES, max(2, total // PIECE))
    upto = [counter.between(document, span.start, place) for place in places]
    cuts: set[int] = set()
    for number in range(1, count) if places else ():
        goal = total * number // count
        cuts.add(min(zip(upto, places, strict=True), key=lambda place: abs(place[0] - goal))[1])
    pieces = []
    for start, end in zip([span.start, *sorted(cuts)], [*sorted(cuts), span.end], strict=True):
        skipped = len(text[start:end]) - len(text[start:end].lstrip())
        pieces.append(Span(document.id, start + skipped, end))
    return tuple(pieces) if len(pieces) > 1 else ()


def apart(draw: Draw, spans: Sequence[Span], in_order: bool) -> tuple[tuple[Span, float], ...]:
    """Random depths that keep gold passages at least half an even share apart.

    Args:
        draw: The inputs of the item.
        in_order: Whether they are pieces of one text, which stay in order.
    """
    turn = draw.rng.random()
    depths = [(turn + (number + draw.rng.random() / 2) / len(spans)) % 1 for number in range(len(spans))]
    if in_order:
        depths.sort()
    else:
        draw.rng.shuffle(depths)
    return tuple(zip(spans, depths, strict=True))


def gold_numbers(layout: Layout) -> str:
    """The numbers of the gold passages, as in facets."""
    return ", ".join(str(index + 1) for index in layout.gold)


def numbers_of(layout: Layout, prompts: Mapping[str, str]) -> str:
    """The numbers of the gold passages as listed in a prompt: each as its text ``each``, with ``separator`` between."""
    return prompts["separator"].join(prompts["each"].format(number=index + 1) for index in layout.gold)


def heads(texts: Sequence[Span], limit: int, document: Document, counter: Counter) -> tuple[Span, ...]:
    """The first sentences of each text, in equal shares of ``limit`` tokens; short texts pass theirs on to the others.

    Returns:
        One span per text; empty if a share does not hold a sentence.
    """
    sizes = [counter.between(document, text.start, text.end) for text in texts]
    left, share = limit, 0
    for waiting, size in zip(range(len(texts), 0, -1), sorted(sizes), strict=True):
        share = left // waiting
        left -= min(size, share)
    points, kept = cut_points(document.text), []
    for text, size in zip(texts, sizes, strict=True):
        first, last = bisect_right(points, text.start), bisect_right(points, text.end)
        fit = bisect_right(points, share, first, last, key=partial(counter.between, document, text.start)) - 1
        if size > share and fit < first:
            return ()
        kept.append(text if size <= share else Span(document.id, text.start, points[fit]))
    return tuple(kept)
