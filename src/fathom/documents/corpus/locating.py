"""Finds names and quotations in texts that differ in how they are typed or encoded only.

A Mac decomposes accents in the names of files, word processors curl quotation marks and lengthen dashes, and PDF files
have ligatures and soft hyphens. Texts are compared as ``fold`` gives them, and stay what they are.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

_ONE_FOR_ONE = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʹʻʼʽ′`´＇", "'"),
        **dict.fromkeys("“”„‟«»″＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f", " "),
    }
)
_EXPANDED = {
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "…": "...", "''": '"',
}  # fmt: skip
_UNSEEN = "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_COMBINING = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u093c\u09bc\u09be\u09d7\u0b3e\u0b56\u0b57"
    "\u0bbe\u0bd7\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u1160-\u11ff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a"
    "\ufe20-\ufe2f"
)
_CHANGED = re.compile(rf"[{_UNSEEN}]+|[ﬀ-ﬆ…]|''|[\u2126\u212a\u212b\uf900-\ufaff]|[^{_COMBINING}][{_COMBINING}]+")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text, and where its pieces of another length were.

    Attributes:
        starts: Offsets of these pieces in it.
        ends: Offsets of their ends in it.
        origins: Offsets of the pieces in the original text.
        lasts: Offsets of their ends in the original text.
    """

    text: str
    starts: array[int]
    ends: array[int]
    origins: array[int]
    lasts: array[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original text that became a span of the folded text."""
        return self._origin(start, first=True), self._origin(end, first=False)

    def _origin(self, offset: int, *, first: bool) -> int:
        piece = bisect_right(self.starts, offset) - 1
        if piece < 0:
            return offset
        if self.starts[piece] < offset < self.ends[piece]:
            return self.origins[piece] if first else self.lasts[piece]
        if offset == self.starts[piece] < self.ends[piece]:
            return self.origins[piece]
        return self.lasts[piece] + offset - self.ends[piece]


def fold(text: str) -> str:
    """A text with composed accents, straight quotation marks, short dashes, plain spaces, and nothing invisible."""
    unchanged = text.isascii() and "`" not in text and "''" not in text
    return text if unchanged else folded(text).text


@lru_cache(maxsize=8)
def folded(text: str) -> Folded:
    """A text as ``fold`` gives it, with the offsets of the original."""
    plain = text.translate(_ONE_FOR_ONE)
    pieces, at, length = list[str](), 0, 0
    starts, ends, origins, lasts = array("q"), array("q"), array("q"), array("q")
    for match in _CHANGED.finditer(plain):
        new = _replacement(match[0])
        pieces += [plain[at : match.start()], new]
        length += match.start() - at
        at = match.end()
        if len(new) != len(match[0]):
            starts.append(length)
            ends.append(length + len(new))
            origins.append(match.start())
            lasts.append(at)
        length += len(new)
    return Folded("".join([*pieces, plain[at:]]), starts, ends, origins, lasts)


def _replacement(piece: str) -> str:
    known = _EXPANDED.get(piece)
    if known is not None:
        return known
    return "" if re.fullmatch(rf"[{_UNSEEN}]+", piece) else unicodedata.normalize("NFC", piece)


def find_quotation(text: str, quotation: str, start: int = 0) -> tuple[int, int] | None:
    """Where a quotation occurs first in a text, whatever its white space.

    Args:
        quotation: What is looked for; if it does not occur, both are compared as ``fold`` gives them.
        start: Offset from which the text is searched.

    Returns:
        The span of the text; None if it does not occur.
    """
    if (match := _find(text, quotation, start)) is not None:
        return match
    # A text of ASCII is folded already; so is its part of a quotation that has other characters.
    wanted = fold(quotation)
    if text.isascii() and wanted == quotation:
        return None
    known = folded(text)
    at = 0
    while (match := _find(known.text, wanted, at)) is not None:
        span = known.span(*match)
        if span[0] >= start:
            return span
        at = match[0] + 1
    return None


def _find(text: str, quotation: str, start: int) -> tuple[int, int] | None:
    words = quotation.split()
    match = re.compile(r"\s+".join(map(re.escape, words))).search(text, start) if words else None
    return match.span() if match else None
