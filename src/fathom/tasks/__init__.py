"""The tasks: one file each, in which an item is drawn and a reply is scored.

A module declares ``TASKS``; ``fathom.registry`` finds it. This file holds what several tasks share.
"""

from __future__ import annotations

from fathom.types import Draw, Scene, Span


def depths(draw: Draw, count: int) -> tuple[float, ...]:
    """``count`` random depths in [0, 1], ascending."""
    return tuple(sorted(draw.rng.random() for _ in range(count)))


def passages(scene: Scene, tokens: int) -> list[Span]:
    """The whole corpus in passages of at most ``tokens`` tokens, no two of which have the same text."""
    found: dict[str, Span] = {}
    for document in scene.documents:
        for span in scene.counter.pieces(document, tokens):
            found.setdefault(document.text[span.start : span.end], span)
    return list(found.values())
