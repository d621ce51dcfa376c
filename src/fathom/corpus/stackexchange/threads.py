"""A thread of Stack Exchange: one question and its answers."""

from collections.abc import Callable
from dataclasses import dataclass

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
