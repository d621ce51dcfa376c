"""What is found out about a bundle: that it is not taken, what is not there, what is sure and what is not."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fathom.types import FathomError

Level: TypeAlias = Literal["refused", "incomplete", "unverified", "verified"]
LEVELS: tuple[Level, ...] = ("refused", "incomplete", "unverified", "verified")


class RefusedError(FathomError):
    """A bundle is not taken; the message says what was found where, and what was expected.

    Attributes:
        topic: What it is about, in a word, for counting.
    """

    def __init__(self, topic: str, words: str) -> None:
        super().__init__(words)
        self.topic = topic


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found out about a bundle.

    Attributes:
        level: ``refused``: something is wrong; ``incomplete``: something is missing, and said to be; ``unverified``:
            nothing here can tell; ``verified``.
        topic: What it is about, in a word, for counting: ``size``, ``zip``, ``form``, ``fields``, ``hashes``, ...
        words: For people.
    """

    level: Level
    topic: str
    words: str
