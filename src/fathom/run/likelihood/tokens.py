"""Log-probabilities of the tokens of a text, with each token's offset."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

# Characters that an undecodable token (part of a character, a special token) may stand for.
REACH = 8
# Share of decodable tokens that must be where the server says before its offsets are used.
BELIEVED = 0.9


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The tokens of one text with their conditional log-probabilities.

    Attributes:
        offsets: Character offset of each token, ascending.
        logprobs: Natural logarithm of each token's probability; None for a first token without context and for special
            tokens, which are not part of the text.
        shared: Number of tokens reused from an earlier text with the same prefix; None if unknown.
    """

    offsets: tuple[int, ...]
    logprobs: tuple[float | None, ...]
    shared: int | None = None

    def after(self, start: int) -> tuple[float, int]:
        """Sum and number of the log-probabilities of tokens with a part at character ``start`` or later.

        A token across the boundary belongs to the text after it, which would have fewer tokens without it, or none.
        """
        found, end = list[float](), math.inf  # of the last token, and of special tokens behind it
        for place in reversed(range(len(self.offsets))):
            at, logprob = self.offsets[place], self.logprobs[place]
            following = self.offsets[place + 1] if place + 1 < len(self.offsets) else math.inf
            end = following if following > at else end  # tokens that are parts of one character end together
            if end > start and logprob is not None:
                found.append(logprob)
        return math.fsum(found), len(found)


class Backend(Protocol):
    """Scores texts. Texts with a common prefix come one after another, so that it can be reused."""

    async def score(self, text: str) -> TokenLogprobs:
        """Log-probability of every token of a text.

        Raises:
            RequestError: The text could not be scored.
            FathomError: No text can be scored.
        """
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...


def offsets_of(tokens: Sequence[str], text: str) -> tuple[int, ...] | None:
    """The offset of each token, from the tokens as a server returns them.

    They need not join to the text: a token decoded alone may lack the space before it, partial characters cannot be
    decoded, and special tokens are not part of the text. A token that is not found starts where the last one ended.

    Args:
        tokens: The tokens in order.
        text: The text.

    Returns:
        One offset per token; None if these are not the tokens of the text.
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
    """Start and end of a token at ``place``, or up to ``reach`` characters later; None if it is not there."""
    bare = token.strip("\ufffd")
    if not bare:
        return None
    space = place
    while space < len(text) and text[space].isspace():
        space += 1
    # Unchanged; without a space added by the decoder; with a space removed by it.
    for start, form in ((place, bare), (place, bare.lstrip()), (space, bare)):
        if form and text.startswith(form, start):
            # A token is at its first letter: that decides on which side of a boundary it is.
            return start, start + len(form)
    later = text.find(bare, place, place + reach + len(bare)) if reach else -1
    return None if later < 0 else (later, later + len(bare))


def believed(offsets: Sequence[int], tokens: Sequence[str], text: str) -> bool:
    """Whether a server's offsets match its tokens and the text."""
    if len(offsets) != len(tokens) or list(offsets) != sorted(offsets) or (offsets and offsets[0] < 0):
        return False
    pairs = zip(offsets, tokens, strict=True)
    readable = [(at, token) for at, token in pairs if token and "\ufffd" not in token]
    # In byte-level tokens of Chinese only line ends are decodable; the first token may be an added space.
    told = [(at, token) for at, token in readable if token.strip()] or readable[1:]
    # A token may begin with the space before it.
    right = sum(text.startswith(token, at) or text.startswith(f" {token}", at) for at, token in told)
    return bool(told) and right >= BELIEVED * len(told)
