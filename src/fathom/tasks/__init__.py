"""What tasks of several benchmarks share; the tasks themselves are in ``fathom.benchmarks``."""

from collections.abc import Sequence

from fathom.types import Counter, Document, Draw, Scene, Span


def depths(draw: Draw, count: int) -> tuple[float, ...]:
    """``count`` random depths in [0, 1], ascending."""
    return tuple(sorted(draw.rng.random() for _ in range(count)))


def scattered(draw: Draw) -> tuple[tuple[float, ...], ...]:
    """Sort keys that put the fillers in random order, whatever their lengths; see ``Passages.shuffle``."""
    return tuple((draw.rng.random(),) for _ in range(draw.fillers))


def passages(scene: Scene, tokens: int) -> list[Span]:
    """The noise of a scene in passages of at most ``tokens`` tokens, no two of which differ in spaces only."""
    found: dict[str, Span] = {}
    for document in scene.noise:
        for span in passages_of(document, tokens, scene.counter):
            found.setdefault("".join(document.text[span.start : span.end].split()), span)
    return list(found.values())


def passages_of(document: Document, tokens: int, counter: Counter) -> Sequence[Span]:
    """A document in passages of at most ``tokens`` tokens.

    What is left at its end is dropped where it is shorter than a quarter of a passage.
    """
    pieces = counter.pieces(document, tokens)
    if len(pieces) > 1 and 4 * counter.between(document, pieces[-1].start, pieces[-1].end) < tokens:
        return pieces[:-1]
    return pieces


def whole_documents(scene: Scene) -> list[Span]:
    """The noise of a scene as whole documents."""
    return [Span(document.id, 0, len(document.text)) for document in scene.noise]
