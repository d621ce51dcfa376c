"""What readers of files yield: records, and faults for what cannot be read."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file.

    Attributes:
        line: Its line or row from 1, as an editor or a spreadsheet shows it; None for a whole file.
        pages: Texts of the pages, slides or chapters of a whole file that has them.
        part: Number from 1 of the part of its text that this record has; 0 for all of it.
    """

    line: int | None
    fields: Mapping[str, object]
    pages: tuple[str, ...] = ()
    part: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """Something unreadable in a file, at a line or row from 1 (None for the file itself)."""

    line: int | None
    reason: str
