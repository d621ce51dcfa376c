"""The tasks: one file each, in which an item is drawn and a reply is scored.

A module declares ``TASKS``; ``fathom.registry`` finds it. This file holds what several tasks share.
"""

from __future__ import annotations

from fathom.types import Draw, Scene, Span


def depths(draw: Draw, count: int) -> tuple[float, ...]:
    """``count`` random depths in [0, 1], ascending."""
    return tuple(sorted(draw.rng.random() for _ in range(count)))


def passages(scene: Scene, tokens: int) -> list[Span]:
    """The corpus in passages of at most ``tokens`` tokens, no two of which have the same text.

    What is left at the end of a document is dropped where it is shorter than a quarter of a passage.
    """
    found: dict[str, Span] = {}
    for document in scene.documents:
        pieces = scene.counter.pieces(document, tokens)
        if len(pieces) > 1 and 4 * scene.counter.between(document, pieces[-1].start, pieces[-1].end) < tokens:
            pieces = pieces[:-1]
        for span in pieces:
            found.setdefault(document.text[span.start : span.end], span)
    return list(found.values())
