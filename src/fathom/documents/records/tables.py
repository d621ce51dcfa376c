"""Reads tables as spreadsheets save them: the rows of CSV files and of the sheets of workbooks.

Rows have the numbers that a spreadsheet shows: the row of column names is row 1 if nothing is above it, and blank rows
count. Blank rows and columns without a name that hold nothing are not read.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from fathom.documents.records.extracting import NoTextError
from fathom.documents.records.extractor import read_sheets
from fathom.documents.records.record import Fault, Record
from fathom.documents.records.streams import DamagedError, read_lines
from fathom.storage.encodings import older_encoding

LONGEST_CELL = 1 << 27  # maximum characters of a cell
DELIMITERS = (",", ";", "\t", "|")
PROBED_ROWS = 20  # rows that show the delimiter
PROBED_LINES = 200
PROBED_CHARACTERS = 1 << 20
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_SEPARATOR_LINE = re.compile(r'\s*"?sep=(?P<delimiter>.)"?\s*', re.IGNORECASE)
Row = tuple[int, Sequence[str]]
"""The number of a row in the table, from 1, and its cells."""


def read_csv(path: Path, usual: str) -> Iterator[Record | Fault]:
    """The rows of a CSV file as records: texts, None for empty cells.

    Columns may be separated by any of ``DELIMITERS``, which the first rows show, or by X after a first line ``sep=X``.

    Args:
        path: The file, plain or compressed.
        usual: The delimiter if the rows do not show another one.
    """
    number = 0
    csv.field_size_limit(LONGEST_CELL)
    delimiter, lines = _delimited(path, usual)

    def rows() -> Iterator[Row]:
        nonlocal number
        for cells in csv.reader(lines, delimiter=delimiter, strict=True):
            number += 1
            yield number, cells

    try:
        hint = f"; quote cells that hold the delimiter: the columns are separated by {_name(delimiter)}"
        yield from read_rows(rows(), hint)
    except DamagedError as error:
        yield Fault(number + 1, f"the file {error}; the rows before this one are kept")
    except csv.Error as error:
        yield Fault(number + 1, f"not valid CSV: {error}; the rows before this one are kept")


def plain_delimiter(path: Path, usual: str) -> str | None:
    """The delimiter of a CSV file that begins with the names of its columns; None if something else is above them.

    Args:
        path: The file, plain or compressed.
        usual: The delimiter if the rows do not show another one.

    Raises:
        DamagedError: The file cannot be read.
    """
    first = next(read_lines(path), None)
    if first is None:
        return usual
    named = _SEPARATOR_LINE.fullmatch(first.decode(errors="replace"))
    return None if named or not first.strip() else _delimited(path, usual)[0]


def _delimited(path: Path, usual: str) -> tuple[str, Iterator[str]]:
    """The delimiter of a CSV file, and its lines after one that names it."""
    every = (line.decode(errors="surrogateescape") + "\n" for line in read_lines(path))
    lines, damage = list[str](), list[DamagedError]()
    size = 0
    try:
        for line in islice(every, PROBED_LINES):
            lines.append(line)
            if (size := size + len(line)) > PROBED_CHARACTERS:
                break
    except DamagedError as error:
        damage.append(error)

    def rest() -> Iterator[str]:
        if damage:
            raise damage[0]
        yield from every

    if lines and (named := _SEPARATOR_LINE.fullmatch(lines[0])):
        return named["delimiter"], chain(lines[1:], rest())
    return _delimiter(lines, usual), chain(lines, rest())


def _delimiter(lines: Sequence[str], usual: str) -> str:
    """The delimiter by which most of the first rows have as many cells as the first one, more than one."""
    best, most = usual, (0.0, False, 0)
    for delimiter in dict.fromkeys((usual, *DELIMITERS)):
        rows = list[list[str]]()
        try:
            for row in csv.reader(lines, delimiter=delimiter):
                if any(map(str.strip, row)):
                    rows.append(row)
                if len(rows) > PROBED_ROWS:
                    break
        except csv.Error:
            continue
        if rows and len(rows[0]) > 1:
            agreeing = sum(len(row) == len(rows[0]) for row in rows[1:]) / max(1, len(rows) - 1)
            candidate = agreeing, delimiter == usual, len(rows[0])
            if candidate > most:
                best, most = delimiter, candidate
    return best


def _name(delimiter: str) -> str:
    return _NAMES.get(delimiter, repr(delimiter))


# ------------------------------------------------------------------------------------------------------ workbooks


@dataclass(frozen=True, slots=True)
class Sheet:
    """A visible sheet of a workbook.

    Attributes:
        rows: Its cells as texts, from its first row on; "" for empty ones.
    """

    name: str
    rows: Sequence[Sequence[str]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in its first row that is not blank."""
        return tuple(next((row for row in self.rows if any(map(str.strip, row))), ()))


def read_workbook(path: Path, suffix: str, columns: frozenset[str] | None) -> Iterator[Record | Fault]:
    """The rows of the sheet of a workbook that has the wanted columns, as those of a CSV file.

    A workbook with several sheets that are not empty is read if one of them has more of the wanted columns than the
    others; the other sheets are named.

    Args:
        path: The file, plain or compressed.
        suffix: Its format, one of ``fathom.documents.records.finding.WORKBOOKS``.
        columns: Names of the wanted columns; None for any.
    """
    try:
        sheets = [Sheet(*sheet) for sheet in read_sheets(path, suffix)]
    except NoTextError as error:
        yield Fault(None, str(error))
        return
    sheets = [sheet for sheet in sheets if sheet.columns]
    if not sheets:
        return
    known = [_known(sheet, columns) for sheet in sheets]
    chosen = sheets[known.index(max(known))]
    yield from read_rows(enumerate(chosen.rows, start=1), "")
    others = [sheet.name for sheet, count in zip(sheets, known, strict=True) if count == max(known)][1:]
    if others:
        yield Fault(
            None,
            f"only the sheet {chosen.name!r} is read, and not {', '.join(map(repr, others))}; keep one sheet in a file",
        )


def _known(sheet: Sheet, columns: frozenset[str] | None) -> int:
    wanted = {name.casefold() for name in columns or ()}
    return len(wanted & {name.strip().casefold() for name in sheet.columns})


# ----------------------------------------------------------------------------------------------------------- rows


def read_rows(rows: Iterable[Row], hint: str) -> Iterator[Record | Fault]:
    """Rows as records; the first one that is not blank has the names of the columns.

    Args:
        hint: What may be wrong with a row of another length, for its message.
    """
    filled = ((number, cells) for number, cells in rows if any(map(str.strip, cells)) or len(cells) == 1)
    names: Sequence[str] = ()
    for number, cells in filled:
        if not any(map(str.strip, cells)):
            continue
        names = [_column(cell) for cell in cells]
        while names and not names[-1]:
            names = names[:-1]
        if fault := _fault_of_names(names, number):
            yield fault
            return
        break
    read = _row_reader(names, hint)
    # A table of one column may have empty cells, which look like blank rows only if they are not quoted.
    yield from (read(number, cells) for number, cells in filled if len(names) == 1 or any(map(str.strip, cells)))


def _column(cell: str) -> str:
    return " ".join(cell.replace("\ufeff", "").split())


def _fault_of_names(names: Sequence[str], number: int) -> Fault | None:
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        return Fault(None, f"two columns are named {twice!r}; rename one")
    return next((fault for name in names if (fault := _not_utf8(number, "a column's name", name))), None)


def _row_reader(names: Sequence[str], hint: str) -> Callable[[int, Sequence[str]], Record | Fault]:
    width = len(names)

    def read(number: int, cells: Sequence[str]) -> Record | Fault:
        while len(cells) > width and not cells[-1].strip():
            cells = cells[:-1]
        if len(cells) != width:
            return Fault(number, f"expected {width} cells, found {len(cells)}{hint}")
        fields: dict[str, object] = {}
        for place, (name, cell) in enumerate(zip(names, cells, strict=True), start=1):
            if not name and cell.strip():
                return Fault(number, f"cell {place} has a value, but its column has no name; name it in the first row")
            if fault := _not_utf8(number, f"field {name!r}", cell):
                return fault
            if name:
                fields[name] = cell or None
        return Record(number, fields)

    return read


def _not_utf8(number: int, what: str, cell: str) -> Fault | None:
    """A fault for a cell with bytes that are not UTF-8, which are surrogates in it."""
    try:
        cell.encode()
    except UnicodeEncodeError as error:
        byte, content = ord(cell[error.start]) & 0xFF, cell.encode(errors="surrogateescape")
        where = f"(byte 0x{byte:02x} at position {error.start + 1})"
        return Fault(number, f"{what}: not UTF-8 {where}; {older_encoding(content)}")
    return None
