"""A thread of Stack Exchange: one question and its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fathom.corpus.gathering import EXAMPLES_PER_FILE
from fathom.records import Problem, path_text

Progress = Callable[[int, int | None], None]
"""Told the bytes of content read so far, and those in all (None where a compressed file does not say)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        id: The site's number for it.
        text: Plain text; see ``post_text``.
        accepted: Whether the asker accepted it.
        created: When it was posted, in UTC, as ISO 8601 (``2014-01-21T20:27:29.797``); these sort as text.
        score: Votes for it less votes against it.
        has_images: Whether it shows an image or links to one, so that its text alone may not be the answer.
    """

    id: int
    text: str
    accepted: bool
    created: str
    score: int
    has_images: bool


@dataclass(frozen=True, slots=True)
class Thread:
    """One question with its answers.

    Attributes:
        id: ``SITE:NUMBER``, for example ``alcohol:2``.
        title: The question in one line.
        question: The body of the question as plain text.
        tags: Its tags, in their order.
        created: When it was asked, in UTC, as ISO 8601.
        score: Votes for the question less votes against it.
        has_images: Whether the question shows an image or links to one.
        answers: By date, and by number within one date. At most one is accepted.
    """

    id: str
    title: str
    question: str
    tags: tuple[str, ...]
    created: str
    score: int
    has_images: bool
    answers: tuple[Answer, ...]

    @property
    def accepted(self) -> Answer | None:
        """The accepted answer, or None where the asker accepted none."""
        return next((answer for answer in self.answers if answer.accepted), None)


class Faults:
    """What was left out of one file: the first cases of a kind one by one, and the count of the rest."""

    def __init__(self, path: Path, what: str) -> None:
        self._path = path_text(path)
        self._what = what
        self._count = 0
        self._examples: list[Problem] = []

    def add(self, line: int | None, reason: str, count: int = 1) -> None:
        """Note one case, at a line from 1 where it has one."""
        self._count += 1
        if len(self._examples) < EXAMPLES_PER_FILE:
            self._examples.append(Problem(self._path, line, reason, count))

    def listed(self) -> list[Problem]:
        """All cases, the later ones as one entry with their count."""
        rest = self._count - len(self._examples)
        return self._examples + ([Problem(self._path, None, f"{rest:,} more {self._what}", rest)] if rest else [])
