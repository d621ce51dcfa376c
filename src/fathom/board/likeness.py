"""Whether two results hold the same replies, and whether two names are the same one.

Each reply to a sample is kept as two hashes: of its text to the letter, and of its letters and digits alone in lower
case (``plain``), which finds copies with other spaces and marks. Two results are compared over the samples that both
have, and only over the *telling* ones: right replies are alike because they are right, and short ones by chance, so
that a reply tells something if neither is right, or if it is long. Results are *alike* where nine of ten telling
replies are the same (all of them where they are fewer than 20) and these say at least three different things: models
that answer everything with one sentence are not copies of each other.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST, ENOUGH = 5, 20
"""Telling replies below which nothing is said, and from which one in ten may differ."""
SHARE = 0.9
DIFFERENT = 3
"""Different replies that there must be among those that are the same."""
LONG = 80
"""Letters and digits of a reply that tells something even if it is right."""
_RIGHT, _LONG = 1, 2
_TYPE = np.dtype([("key", "<u8"), ("exact", "<u8"), ("plain", "<u8"), ("kind", "u1")])

Prints = NDArray[np.void]
"""What is kept of the replies of one result, sorted by sample: hashes, and whether they are right or long."""


class Answer(NamedTuple):
    """A reply to one sample.

    Attributes:
        sample: What tells its sample and epoch from all others, in parts.
        digest: A hash of its text to the letter.
        text: The text; None where it is not known.
        right: Whether it has the full score.
    """

    sample: tuple[str | int, ...]
    digest: str
    text: str | None
    right: bool


@dataclass(frozen=True, slots=True)
class Likeness:
    """How much two results have in common.

    Attributes:
        shared: Samples that both have replies to.
        telling: Those of them whose replies tell something.
        same: Telling replies that are the same to the letter.
        near: Telling replies that are the same but for spaces, marks and capitals, those of ``same`` among them.
        different: Different replies among those of ``near``.
    """

    shared: int
    telling: int
    same: int
    near: int
    different: int

    @property
    def alike(self) -> bool:
        """Whether one is a copy of the other, or both are of one model."""
        wanted = SHARE * self.telling if self.telling >= ENOUGH else self.telling
        return self.telling >= LEAST and self.near >= wanted and self.different >= DIFFERENT

    def __str__(self) -> str:
        same = f"{self.same:,} of {self.telling:,} replies that are long or not right are the same to the letter"
        return same if self.near == self.same else f"{same}, {self.near:,} but for spaces, marks and capitals"


def prints_of(answers: Iterable[Answer]) -> Prints:
    """What is kept of replies; empty ones are left out."""
    rows = []
    for one in answers:
        letters = None if one.text is None else _letters(one.text)
        if one.text is not None and not one.text.strip():
            continue
        exact = _number(one.digest)
        plain = _number(letters) if letters else exact
        kind = _RIGHT * one.right + _LONG * (letters is not None and len(letters) >= LONG)
        rows.append((_number("\0".join(map(str, one.sample))), exact, plain, kind))
    found = np.array(rows, dtype=_TYPE)
    return found[np.unique(found["key"], return_index=True)[1]]


def packed(prints: Prints) -> bytes:
    """The prints as bytes, for a store."""
    return prints.tobytes()


def unpacked(content: bytes) -> Prints:
    """Prints from bytes of ``packed``; what is no whole number of them is left out."""
    whole = len(content) - len(content) % _TYPE.itemsize
    return np.frombuffer(content[:whole], dtype=_TYPE)


def likeness(one: Prints, other: Prints) -> Likeness:
    """Compare the replies of two results."""
    _, mine, theirs = np.intersect1d(one["key"], other["key"], assume_unique=True, return_indices=True)
    first, second = one[mine], other[theirs]
    right = (first["kind"] & _RIGHT) | (second["kind"] & _RIGHT)
    long = (first["kind"] & _LONG) & (second["kind"] & _LONG)
    telling = (right == 0) | (long != 0)
    first, second = first[telling], second[telling]
    same = first["exact"] == second["exact"]
    near = same | (first["plain"] == second["plain"])
    return Likeness(len(mine), len(first), int(same.sum()), int(near.sum()), len(np.unique(first["plain"][near])))


def same_name(one: str, other: str) -> bool:
    """Whether people would take two names of models for one: capitals, marks and the provider do not count."""
    return bool(named := plain_name(one)) and named == plain_name(other)


def plain_name(text: str) -> str:
    """A name of a model without capitals, marks and provider: equal ones are one name to people."""
    return _letters(text.rpartition("/")[2]) or _letters(text)


def expected_alike(names: Sequence[str]) -> bool:
    """Whether all of these are offline baselines: they share their guesses, so that equal replies mean nothing."""
    from fathom.run.baselines import baselines  # and with them all that runs models, which a server does not do

    return all(name.partition("?")[0] in baselines() for name in names)


def _letters(text: str) -> str:
    """Its letters and digits in lower case; the marks that letters of some scripts are made of stay."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(one for one in plain if unicodedata.category(one)[0] in "LNM")


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
