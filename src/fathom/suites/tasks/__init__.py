"""Code shared by the tasks of several benchmarks; the tasks themselves are in ``fathom.benchmarks``."""

from collections.abc import Sequence
from hashlib import blake2b

from fathom.types import Counter, Document, Draw, Resources, Span


def depths(draw: Draw, count: int) -> tuple[float, ...]:
    """``count`` random depths in [0, 1], ascending."""
    return tuple(sorted(draw.rng.random() for _ in range(count)))


def scattered(draw: Draw) -> tuple[tuple[float, ...], ...]:
    """Sort keys that put the fillers in random order; see ``Passages.shuffle``."""
    return tuple((draw.rng.random(),) for _ in range(draw.fillers))


def passages(resources: Resources, tokens: int) -> list[Span]:
    """The filler documents in passages of at most ``tokens`` tokens, without duplicates up to spaces."""
    distinct: dict[bytes, Span] = {}
    for document in resources.noise:
        for span in passages_of(document, tokens, resources.counter):
            letters = "".join(document.text[span.start : span.end].split())
            distinct.setdefault(blake2b(letters.encode(), digest_size=16).digest(), span)
    return list(distinct.values())


def passages_of(document: Document, tokens: int, counter: Counter) -> Sequence[Span]:
    """A document in passages of at most ``tokens`` tokens.

    A remainder shorter than a quarter of a passage is dropped.
    """
    pieces = counter.pieces(document, tokens)
    if len(pieces) > 1 and 4 * counter.between(document, pieces[-1].start, pieces[-1].end) < tokens:
        return pieces[:-1]
    return pieces


def whole_text(document: Document) -> Span:
    """A document as a whole."""
    return Span(document.id, 0, len(document.text))


def whole_documents(resources: Resources) -> list[Span]:
    """The filler documents as a whole."""
    return list(map(whole_text, resources.noise))
