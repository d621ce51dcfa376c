"""Findings about a bundle: errors, missing results, and what is or cannot be verified."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fathom.types import FathomError

Level: TypeAlias = Literal["refused", "incomplete", "unverified", "verified"]
LEVELS: tuple[Level, ...] = ("refused", "incomplete", "unverified", "verified")


class RefusedError(FathomError):
    """A bundle is refused; the message says what was found where, and what was expected.

    Attributes:
        topic: Its subject, in one word, for counting.
    """

    def __init__(self, topic: str, words: str) -> None:
        super().__init__(words)
        self.topic = topic


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about a bundle.

    Attributes:
        level: ``refused``: an error; ``incomplete``: something is missing, as stated; ``unverified``: cannot be
            checked here; ``verified``.
        topic: Its subject, in one word, for counting: ``size``, ``zip``, ``form``, ``fields``, ``hashes``, ...
        words: For people.
    """

    level: Level
    topic: str
    words: str
