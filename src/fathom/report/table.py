"""A table as values: figures and words are settled here once, then the page and the terminal both show them."""

from dataclasses import dataclass
from itertools import groupby

from fathom.report.words import ABSENT


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        label: Its heading.
        number: Whether it holds figures, which are set to the right.
        help: A word of explanation, or "".
        group: A heading that it shares with its neighbours of the same group, or "".
    """

    label: str
    number: bool = True
    help: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        text: What it says, complete but for the interval.
        interval: The interval beside it, "[64.0, 77.9]", or "".
        note: A reason or caution that becomes a numbered note beneath the table, or "".
        heat: Step of the heat scale, 0 to 9, or None for no colour.
        series: Number of the model's colour and mark in the figures, or None.
        quiet: Whether it may be set back (a count of nothing).
        beneath: Further short lines in small type.
    """

    text: str = ABSENT
    interval: str = ""
    note: str = ""
    heat: int | None = None
    series: int | None = None
    quiet: bool = False
    beneath: tuple[str, ...] = ()

    @property
    def small(self) -> tuple[str, ...]:
        """The lines in small type under the text: the interval first."""
        return (*([self.interval] if self.interval else ()), *self.beneath)

    def __str__(self) -> str:
        return " ".join((self.text, *self.small))


@dataclass(frozen=True, slots=True)
class Table:
    """One table; the first cell of every row is its heading.

    Attributes:
        name: Unique among the tables of a report, fit for an HTML id.
        section: Which part of the report it belongs to: "headline", "categories", "breakdown", "thinking", "ranks",
            "repeats", "scores", "longscore", "effective", "position", "answers", "truncation", "known", "graders",
            "counts" or "settings".
        title: A heading; the model's name where the table is about one model.
        about: One or two sentences on what it shows, or "".
        columns: As many as each row has cells.
        rows: Rows of cells.
        detail: Whether it is a breakdown that may be folded away.
    """

    name: str
    section: str
    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    detail: bool = False

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Headings over the headings with the number of columns that each spans; () where no column has a group."""
        runs = [(name, len(list(run))) for name, run in groupby(column.group for column in self.columns)]
        return tuple(runs) if any(name for name, _ in runs) else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of its cells in reading order, each once; a note's number is its place here, from 1."""
        return tuple(dict.fromkeys(cell.note for row in self.rows for cell in row if cell.note))
