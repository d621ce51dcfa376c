"""Stack Exchange threads: one question and its answers."""

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int | None], None]
"""Called with the bytes read so far and the size (None if unknown)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        id: The site's number of it.
        text: Plain text; see ``post_text``.
        accepted: Whether the asker accepted it.
        created: Posting time in UTC, as ISO 8601 (``2014-01-21T20:27:29.797``); such strings sort by time.
        score: Upvotes minus downvotes.
        has_images: Whether it contains an image or a link to one, so that its text may be incomplete.
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
        question: Body of the question as plain text.
        tags: Its tags, in their order.
        created: When it was asked, in UTC, as ISO 8601.
        score: Upvotes minus downvotes.
        has_images: Whether the question contains an image or a link to one.
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
        """The accepted answer, or None."""
        return next((answer for answer in self.answers if answer.accepted), None)
