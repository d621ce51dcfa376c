"""Divides long texts into parts, so that no more than one of them is in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

LONG = 1 << 24
"""Bytes of UTF-8 from which a text is divided: more than any prompt can hold."""
PART = 1 << 20
"""Characters of a part, at most."""
_BOUNDS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？…][”’」』）]*"),
    re.compile(r"\s"),
)


def parts_of(pieces: Iterable[str]) -> Iterator[str]:
    """The parts of a text, each of at most ``PART`` characters; those with nothing but white space are left out.

    A part ends with a paragraph if one ends in its second half, else with a line, a sentence or a word.

    Args:
        pieces: The text in pieces of any size, with ``\\n`` line ends.
    """
    held = ""
    for piece in pieces:
        held += piece
        at = 0
        while len(held) - at > PART:
            end = _end_of_part(held, at)
            if not held[at:end].isspace():
                yield held[at:end]
            at = end
        held = held[at:]
    if held and not held.isspace():
        yield held


def _end_of_part(text: str, start: int) -> int:
    """Where a part that starts there ends: at the last bound in its second half, of the best kind that is there."""
    for bound in _BOUNDS:
        ends = [match.end() for match in bound.finditer(text, start + PART // 2, start + PART)]
        if ends:
            return ends[-1]
    return start + PART
