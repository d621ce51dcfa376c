"""What the shares and means of a table are over, in one small vocabulary."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Denominator: TypeAlias = Literal["asked", "received", "scored", "answered", "shared", "held out", "published", "none"]
DENOMINATORS: Mapping[Denominator, str] = {
    "asked": "everything that was asked, whether it has a score or not",
    "received": "replies that came back, whether they have a score or not",
    "scored": "what has a score; unanswered replies count 0 unless the report leaves them out, and missing ones count "
    "0 while they are few",
    "answered": "scored replies that contain an answer in the requested form",
    "shared": "what all sides of a comparison have a score for",
    "held out": "models that a method has not seen, in all its splits and draws",
    "published": "what the publication divides by",
}
"""The meaning of each; ``none`` is for tables without shares and means, such as lists and counts."""


def denominator_line(denominator: Denominator, others: Mapping[Denominator, list[str]] | None = None) -> str:
    """A line under a table: "Denominator: scored; Difference: shared."; "" without any denominator.

    Args:
        others: Names of the columns that have other denominators.
    """
    parts: list[str] = [] if denominator == "none" else [denominator]
    parts += [f"{', '.join(labels)}: {name}" for name, labels in (others or {}).items()]
    return f"Denominator: {'; '.join(parts)}." if parts else ""
