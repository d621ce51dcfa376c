"""Whether two results contain the same replies, and whether two names are the same.

Each reply to a sample is stored as two hashes: of its text, and of its letters and digits in lower case (``plain``),
which finds copies with other spaces and punctuation. Two results are compared over their common samples, and only over
*telling* replies: correct replies agree because they are correct, and short ones by chance, so a reply is telling if
neither is correct, or if it is long. Results are *alike* if nine of ten telling replies are the same (all of them if
there are fewer than 20) and these have at least three different texts: models that answer everything with one sentence
are not copies of each other.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST, ENOUGH = 5, 20
"""Minimum number of telling replies, and number from which one in ten may differ."""
SHARE = 0.9
DIFFERENT = 3
"""Minimum number of different texts among the replies that are the same."""
LONG = 80
"""Letters and digits of a reply that is telling even if correct."""
_RIGHT, _LONG = 1, 2
_TYPE = np.dtype([("key", "<u8"), ("exact", "<u8"), ("plain", "<u8"), ("kind", "u1")])

Prints = NDArray[np.void]
"""The stored replies of one result, sorted by sample: hashes, and whether they are correct or long."""


class Answer(NamedTuple):
    """A reply to one sample.

    Attributes:
        sample: Parts that identify its sample and epoch.
        digest: A hash of its text.
        text: The text; None if unknown.
        right: Whether it has the full score.
    """

    sample: tuple[str | int, ...]
    digest: str
    text: str | None
    right: bool


@dataclass(frozen=True, slots=True)
class Likeness:
    """What two results have in common.

    Attributes:
        shared: Number of samples with replies in both.
        telling: Number of them with telling replies.
        same: Telling replies that are identical.
        near: Telling replies that are identical except for spaces, punctuation and case; includes ``same``.
        different: Different texts among those of ``near``.
    """

    shared: int
    telling: int
    same: int
    near: int
    different: int

    @property
    def alike(self) -> bool:
        """Whether one is a copy of the other, or both are from one model."""
        least = SHARE * self.telling if self.telling >= ENOUGH else self.telling
        return self.telling >= LEAST and self.near >= least and self.different >= DIFFERENT

    def __str__(self) -> str:
        same = f"{self.same:,} of {self.telling:,} replies that are long or not correct are identical"
        return same if self.near == self.same else f"{same}, {self.near:,} except for spaces, punctuation and case"


def prints_of(answers: Iterable[Answer]) -> Prints:
    """The stored form of replies, without empty ones."""
    rows = []
    for answer in answers:
        letters = None if answer.text is None else _letters(answer.text)
        if answer.text is not None and not answer.text.strip():
            continue
        exact = _number(answer.digest)
        plain = _number(letters) if letters else exact
        kind = _RIGHT * answer.right + _LONG * (letters is not None and len(letters) >= LONG)
        rows.append((_number("\0".join(map(str, answer.sample))), exact, plain, kind))
    prints = np.array(rows, dtype=_TYPE)
    return prints[np.unique(prints["key"], return_index=True)[1]]


def packed(prints: Prints) -> bytes:
    """The prints as bytes, for the store."""
    return prints.tobytes()


def unpacked(content: bytes) -> Prints:
    """Prints from bytes of ``packed``; incomplete ones at the end are left out."""
    whole = len(content) - len(content) % _TYPE.itemsize
    return np.frombuffer(content[:whole], dtype=_TYPE)


def likeness(own: Prints, other: Prints) -> Likeness:
    """Compare the replies of two results."""
    _, mine, theirs = np.intersect1d(own["key"], other["key"], assume_unique=True, return_indices=True)
    first, second = own[mine], other[theirs]
    right = (first["kind"] & _RIGHT) | (second["kind"] & _RIGHT)
    long = (first["kind"] & _LONG) & (second["kind"] & _LONG)
    telling = (right == 0) | (long != 0)
    first, second = first[telling], second[telling]
    same = first["exact"] == second["exact"]
    near = same | (first["plain"] == second["plain"])
    return Likeness(len(mine), len(first), int(same.sum()), int(near.sum()), len(np.unique(first["plain"][near])))


def same_name(name: str, other: str) -> bool:
    """Whether two names of models are the same except for case, punctuation and provider."""
    return bool(named := plain_name(name)) and named == plain_name(other)


def plain_name(text: str) -> str:
    """A name of a model without case, punctuation and provider."""
    return _letters(text.rpartition("/")[2]) or _letters(text)


def expected_alike(names: Sequence[str]) -> bool:
    """Whether all of these are offline baselines, whose guesses are the same by design."""
    from fathom.models.baselines import baselines  # it imports all that runs models, which a server does not do

    return all(name.partition("?")[0] in baselines() for name in names)


def _letters(text: str) -> str:
    """Its letters and digits in lower case, with combining marks."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in plain if unicodedata.category(character)[0] in "LNM")


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
