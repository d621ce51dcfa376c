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
        logprobs, end = list[float](), math.inf  # of the last token, and of special tokens behind it
        for place in reversed(range(len(self.offsets))):
            at, logprob = self.offsets[place], self.logprobs[place]
            following = self.offsets[place + 1] if place + 1 < len(self.offsets) else math.inf
            end = following if following > at else end  # tokens that are parts of one character end together
            if end > start and logprob is not None:
                logprobs.append(logprob)
        return math.fsum(logprobs), len(logprobs)


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


def offsets_of(tokens: Sequence[str], text: str, *, complete: bool = False) -> tuple[int, ...] | None:
    """The offset of each token, from the tokens as a server returns them.

    They need not join to the text: a token decoded alone may lack the space before it, partial characters cannot be
    decoded, and special tokens are not part of the text. A token that is not found starts where the last one ended.

    Args:
        tokens: The tokens in order.
        complete: Whether these are all tokens of the text and no others: then most may be parts of characters, as in
            Chinese text where the vocabulary has few Chinese characters, or empty, where the last part of a character
            is shown as the whole of it.

    Returns:
        One offset per token; None if these are not the tokens of the text.
    """
    if "".join(tokens) == text:
        return tuple(accumulate(map(len, tokens), initial=0))[: len(tokens)]
    offsets: list[int] = []
    place = lost = read = covered = 0
    parts, in_all = 0, 0  # tokens that are parts of characters: since the last one that was found, and in all
    for token in tokens:
        start = _after_parts(text, place, parts) if complete else place
        at = _find(token, text, start, REACH * lost) if start < len(text) else None
        if at is None:
            offsets.append(place)
            lost += 1
            parts, in_all = (parts + 1, in_all + 1) if token and not token.strip("\ufffd") else (parts, in_all)
            continue
        gap = text[place : at[0]]
        # On which side of a line end the tokens before it and after it are cannot be told.
        if not _may_be_parts(parts, lost, gap) or (complete and lost and place and "\n" in gap.rstrip()):
            return None
        offsets.append(at[0])
        place, lost, parts, read, covered = at[1], 0, 0, read + 1, covered + at[1] - at[0]
    if not _may_be_parts(parts, lost, text[place:]) or len(text[place:].strip()) > REACH * lost:
        return None
    enough = 2 * (read + in_all) >= len(tokens) or 2 * covered >= len(text) if complete else 2 * read >= len(tokens)
    return tuple(offsets) if enough else None


def _after_parts(text: str, place: int, parts: int) -> int:
    """The first place after so many parts of characters, each of which has at least a byte."""
    while parts > 0 and place < len(text):
        parts -= len(text[place].encode())
        place += 1
    return place


def _may_be_parts(parts: int, lost: int, gap: str) -> bool:
    """Whether tokens that were not found may be the text between those that were.

    Args:
        parts: Number of those that are parts of characters: each has a byte or more of characters beyond ASCII.
        lost: Number of all that were not found.
    """
    beyond = sum(len(letter.encode()) for letter in gap if not letter.isascii())
    return parts <= beyond and (not parts or parts < lost or all(letter == " " for letter in gap if letter.isascii()))


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
    telling = [(at, token) for at, token in readable if token.strip()] or readable[1:]
    # A token may begin with the space before it.
    right = sum(text.startswith(token, at) or text.startswith(f" {token}", at) for at, token in telling)
    return bool(telling) and right >= BELIEVED * len(telling)
