"""Log-probabilities of the tokens of a text, and where in the text each token begins."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

# Characters that a token which cannot be read (part of a character, a special token) may stand for.
REACH = 8
# Share of the readable tokens that must stand where a server says, before its offsets are believed.
BELIEVED = 0.9


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The tokens of one text, each given all that stand before it.

    Attributes:
        offsets: Character of the text at which each token begins, ascending.
        logprobs: Natural logarithm of each token's probability; None where there is nothing before it to condition on,
            and for special tokens, which are no part of the text.
        shared: Tokens among them that were not computed again because an earlier text began with them; None if unknown.
    """

    offsets: tuple[int, ...]
    logprobs: tuple[float | None, ...]
    shared: int | None = None

    def after(self, start: int) -> tuple[float, int]:
        """Sum and number of the log-probabilities of the tokens that begin at character ``start`` or later."""
        found = [p for at, p in zip(self.offsets, self.logprobs, strict=True) if at >= start and p is not None]
        return math.fsum(found), len(found)


class Backend(Protocol):
    """Says how likely texts are. Texts that begin alike come one after another, so that they can share that."""

    async def score(self, text: str) -> TokenLogprobs:
        """Log-probability of every token of a text.

        Raises:
            RequestError: The text could not be scored.
            FathomError: No text can be scored.
        """
        ...

    async def close(self) -> None:
        """Give back connections and memory."""
        ...


def offsets_of(tokens: Sequence[str], text: str) -> tuple[int, ...] | None:
    """Where each token begins, from the tokens as a server writes them.

    They need not join to the text: a token decoded alone may lack the space before it, half a character cannot be
    written, and special tokens are no part of the text. A token that cannot be found begins where the last one ended.

    Args:
        tokens: The tokens in order.
        text: The text that they are said to be tokens of.

    Returns:
        One offset a token; None where these are not the tokens of the text.
    """
    if "".join(tokens) == text:
        return tuple(accumulate(map(len, tokens), initial=0))[: len(tokens)]
    offsets: list[int] = []
    place = lost = read = 0
    for token in tokens:
        found = _find(token, text, place, REACH * lost) if place < len(text) else None
        if found is None:
            offsets.append(place)
            lost += 1
            continue
        offsets.append(found[0])
        place, lost, read = found[1], 0, read + 1
    rest = text[place:].strip()
    return tuple(offsets) if 2 * read >= len(tokens) and len(rest) <= REACH * lost else None


def _find(token: str, text: str, place: int, reach: int) -> tuple[int, int] | None:
    """Start and end of a token at ``place``, or up to ``reach`` characters later; None where it is not there."""
    bare = token.strip("\ufffd")
    if not bare:
        return None
    space = place
    while space < len(text) and text[space].isspace():
        space += 1
    # As it is; without the space that a decoder has put before it; with a space that a decoder has taken from it.
    for start, form in ((place, bare), (place, bare.lstrip()), (space, bare)):
        if form and text.startswith(form, start):
            # A token is where its first letter is: that says to which side of a boundary it belongs.
            return start, start + len(form)
    later = text.find(bare, place, place + reach + len(bare)) if reach else -1
    return None if later < 0 else (later, later + len(bare))


def believed(offsets: Sequence[int], tokens: Sequence[str], text: str) -> bool:
    """Whether the offsets that a server gives are those of its tokens in the text."""
    if len(offsets) != len(tokens) or list(offsets) != sorted(offsets) or (offsets and offsets[0] < 0):
        return False
    pairs = zip(offsets, tokens, strict=True)
    readable = [(at, token) for at, token in pairs if token and "\ufffd" not in token]
    # Of a Chinese text in bytes nothing can be read but the line ends; the first token may be a space put before it.
    told = [(at, token) for at, token in readable if token.strip()] or readable[1:]
    # A token may begin with the space before it.
    right = sum(text.startswith(token, at) or text.startswith(f" {token}", at) for at, token in told)
    return bool(told) and right >= BELIEVED * len(told)
