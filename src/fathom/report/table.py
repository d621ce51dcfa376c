"""A table as values, with all figures and words as text; the page and the terminal both show it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import groupby
from typing import NamedTuple, TypeAlias, TypeVar

from fathom.report.words import ABSENT, bounds, count, percent
from fathom.stats.intervals import Interval
from fathom.types.denominators import Denominator, denominator_line

Record = TypeVar("Record")
LONG, SHOWN = 12, 8
"""Rows from which a table is folded on the page, and rows that are shown then."""


class Replies(NamedTuple):
    """The replies behind a figure: those of a model, on one task or on all (""), at one length or at all (None).

    Or those of all models to one sample.
    """

    model: str
    variant: str
    task: str = ""
    length: int | None = None
    status: str = ""
    sample: str = ""
    suite: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        label: Its heading.
        number: Whether it holds numbers, which are aligned to the right.
        help: A short explanation, or "".
        group: A heading that it shares with adjacent columns of the same group, or "".
        denominator: What its shares or means are over, if it is not that of the table.
    """

    label: str
    number: bool = True
    help: str = ""
    group: str = ""
    denominator: Denominator | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        text: Its text, without the interval.
        interval: The interval, "[64.0, 77.9]", or "".
        note: A reason or caution that becomes a numbered note under the table, or "".
        heat: Step of the heat scale, 0 to 9, or None for no colour.
        series: Number of the model's colour and mark in the figures, or None.
        quiet: Whether it is shown in a muted colour (a count of 0).
        below: Further short lines in small type.
        replies: The replies behind the figure, or None.
    """

    text: str = ABSENT
    interval: str = ""
    note: str = ""
    heat: int | None = None
    series: int | None = None
    quiet: bool = False
    below: tuple[str, ...] = ()
    replies: Replies | None = None

    @property
    def small(self) -> tuple[str, ...]:
        """The lines in small type under the text: the interval first."""
        return (*([self.interval] if self.interval else ()), *self.below)

    def __str__(self) -> str:
        return " ".join((self.text, *self.small))


@dataclass(frozen=True, slots=True)
class Table:
    """One table; the first cell of every row is the row's heading.

    Attributes:
        name: Unique among the tables of a report, fit for an HTML id.
        section: Name of the section of the report, "headline", or "" outside of a report.
        title: A heading; the model's name if the table is about one model.
        about: One or two sentences on what it shows, or "".
        columns: As many as each row has cells.
        rows: Rows of cells.
        detail: Whether it is a breakdown that may be folded away.
        notable: Numbers of the rows that are shown if the table is long; the first ones if there are none.
        denominator: What its shares and means are over, see ``fathom.types.denominators``.
    """

    name: str
    section: str
    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    detail: bool = False
    notable: tuple[int, ...] = ()
    _: KW_ONLY
    denominator: Denominator

    @property
    def first_rows(self) -> tuple[int, ...]:
        """Numbers of the rows that the page shows at first; () for all."""
        if len(self.rows) <= LONG:
            return ()
        return self.notable or tuple(range(SHOWN))

    @property
    def divided_by(self) -> str:
        """A line on the denominators: "Denominator: scored; Difference: shared."; "" without any."""
        others: dict[Denominator, list[str]] = {}
        for column in self.columns:
            if column.denominator is not None and column.denominator != self.denominator:
                others.setdefault(column.denominator, []).append(column.label)
        return denominator_line(self.denominator, others)

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Headings of groups with the number of columns that each spans; () if no column has a group."""
        runs = [(name, len(list(run))) for name, run in groupby(column.group for column in self.columns)]
        return tuple(runs) if any(name for name, _ in runs) else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The different notes of its cells in reading order; a note's number is its index here, from 1."""
        return tuple(dict.fromkeys(cell.note for row in self.rows for cell in row if cell.note))


Fields: TypeAlias = Sequence[tuple[Column, Callable[[Record], Cell]]]
"""Columns, each with what makes its cell of a record."""


def table_of(
    name: str,
    title: str,
    fields: Fields[Record],
    records: Iterable[Record],
    *,
    about: str = "",
    denominator: Denominator,
    detail: bool = False,
    notable: Sequence[int] = (),
) -> Table:
    """A table with a row for each record; arguments as those of :class:`Table`."""
    columns = tuple(column for column, _ in fields)
    rows = tuple(tuple(cell(record) for _, cell in fields) for record in records)
    return Table(name, "", title, about, columns, rows, detail, tuple(notable), denominator=denominator)


def score_cell(mean: float | None, interval: Interval | None = None, note: str = "") -> Cell:
    """A score in percent with its interval."""
    return Cell(percent(mean), bounds(interval), note)


def count_cell(number: int) -> Cell:
    """A number of replies or questions; 0 is muted."""
    return Cell(count(number), quiet=not number)
