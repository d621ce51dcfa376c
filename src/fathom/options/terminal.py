"""What commands show on the terminal: progress bars, notes and tables."""

import dataclasses
import json
import math
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from fathom.printing import folded, pieces, printable, printable_json
from fathom.types import FathomError
from fathom.types.denominators import Denominator, denominator_line

# Columns of text: between the columns of a table, in a cell that is short, and in the narrowest column.
GAP, SHORT, NARROW = 2, 24, 5


class Bars(Protocol):
    """Makes progress bars that appear with their first progress."""

    def __call__(self, title: str, *, in_bytes: bool = False) -> Callable[[int, int | None], None] | None:
        """A bar as a function of (done, all); None where standard error is no terminal."""
        ...


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Bars]:
    """Progress bars on standard error, for work in several stages."""
    if quiet or not sys.stderr.isatty():
        yield lambda title, in_bytes=False: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[unit]}"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as shown:

        def bar(title: str, *, in_bytes: bool = False) -> Callable[[int, int | None], None]:
            size = 1_000_000 if in_bytes else 1
            job = shown.add_task(title, total=None, visible=False, unit="MB" if in_bytes else "")

            def tell_bar(done: int, total: int | None) -> None:
                shown.update(job, completed=done // size, total=total and -(-total // size), visible=True)

            return tell_bar

        yield bar


@contextmanager
def progress_bar(title: str, quiet: bool) -> Iterator[Callable[[int, int | None], None] | None]:
    """A progress bar on standard error, as a function of (done, all); None where standard error is no terminal."""
    with progress_bars(quiet) as bars:
        yield bars(title)


@contextmanager
def download_bar(quiet: bool) -> Iterator[Callable[[str, int, int | None], None] | None]:
    """A bar in bytes on standard error, as a function of (file, done, all); None where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job, shown = bar.add_task("asking the hub", total=None), ""

        def show(what: str, done: int, total: int | None) -> None:
            nonlocal shown
            if what != shown:  # another file: its speed is its own
                shown = what
                bar.reset(job, description=what, total=total)
            bar.update(job, completed=done, total=total)

        yield show


@contextmanager
def no_widgets() -> Iterator[None]:
    """For the import of libraries whose progress bars ask for ipywidgets in a notebook; none of these bars is shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="IProgress not found")
        yield


def as_typed(message: str) -> str:
    """A message with options named as the running command does: ``--window`` for ```window```."""
    import click

    context = click.get_current_context(silent=True)
    with_flags = getattr(context.command, "with_flags", None) if context else None
    return with_flags(message) if with_flags else message


def tell(note: str) -> None:
    """Print a note for the reader of results to standard error."""
    print(f"note: {printable(as_typed(note))}", file=sys.stderr)


def tell_below(note: str) -> None:
    """The same, indented below what it is about."""
    print(f"  note: {printable(as_typed(note))}", file=sys.stderr)


def tell_next(*words: object) -> None:
    """Print the command that goes on from here."""
    print(printable(f"next: {shlex.join(['fathom', *map(str, words)])}"))


class Plan(Protocol):
    """A forecast of work; ``str`` describes it."""

    @property
    def requests(self) -> int:
        """Requests to be made."""

    @property
    def cost_most(self) -> float | None:
        """The most that they cost, in US dollars; None where no price is known."""


def confirmed(plan: Plan, *, yes: bool, quiet: bool, minutes: float = 0.0) -> bool:
    """Print the plan and ask whether to start, unless ``yes`` is given or nothing is sent or paid for.

    Args:
        plan: What is ahead.
        yes: Start without asking.
        quiet: Do not print the plan.
        minutes: How long it may take on this machine. From a minute on, a person is asked also where nothing is paid
            for; scripts go on.

    Raises:
        FathomError: Standard input is no terminal.
    """
    if plan.requests and not quiet:
        print(as_typed(str(plan)), file=sys.stderr)
    free = plan.cost_most == 0
    if yes or not plan.requests or (free and (minutes < 1 or not sys.stdin.isatty())):
        return True
    if not sys.stdin.isatty():
        raise FathomError("nothing was sent: give --yes in non-interactive use")
    import click

    return click.confirm("Start?", default=True, err=True)


class Summary(Protocol):
    """The result of work that may be stopped; ``str`` describes it."""

    @property
    def stopped(self) -> str:
        """Why it was stopped; "" if it was not."""

    @property
    def hints(self) -> tuple[str, ...]:
        """What the user may want to know."""


def print_summary(summary: Summary) -> int:
    """Print the result of work and its hints; return 1 if it was stopped."""
    for hint in summary.hints:
        tell_below(hint)
    if words := as_typed(str(summary)):
        print(words, file=sys.stderr if summary.stopped else sys.stdout)
    return int(bool(summary.stopped))


def print_text(text: str) -> None:
    """Print a text from outside: unchanged to a file or a pipe, without control characters to a terminal."""
    if sys.stdout.isatty():
        text = "\n".join(printable(line.expandtabs()) for line in text.split("\n"))
    print(text)


def as_json(value: Any, indent: int | None = 2) -> str:
    """A value as JSON: results are objects, paths texts, and numbers that are not finite null."""
    return printable_json(json.dumps(_jsonable(value), indent=indent, ensure_ascii=False, default=str))


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(as_json(value))


def _jsonable(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_records(records: Sequence[Mapping[str, Any]], *, denominator: Denominator) -> None:
    """Print records with the same keys as a table.

    Args:
        denominator: What their shares and means are over (``fathom.types.denominators``).
    """
    from rich.table import Table
    from rich.text import Text

    from fathom.printing import console as wide_console

    console = wide_console()
    rows = [[_cell(value) for value in record.values()] for record in records]
    headings = [printable(name.replace("_", " ")) for name in (records[0] if records else ())]
    widths = _widths([headings, *rows], console.width)
    titled = bool(widths) and any(map(str.strip, headings))
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold", show_header=titled)
    for heading, width in zip(headings, widths, strict=bool(widths)):
        table.add_column(Text(folded(heading, width)), width=width)
    for row in rows if widths else ():
        table.add_row(*(Text(folded(cell, width)) for cell, width in zip(row, widths, strict=True)))
    # Columns that would break names: the values of a record stand below each other.
    room = console.width - GAP - max(map(len, headings), default=0)
    for row in () if widths else rows:
        for heading, cell in zip(headings, row, strict=True):
            table.add_row(Text(heading, style="bold"), Text(folded(cell, max(room, NARROW))))
        table.add_row()
    console.print(table)
    if line := denominator_line(denominator):
        console.print(Text(line, style="dim"))


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Widths of columns that fit the room: the long ones share what the short ones leave; [] if names would break."""
    from rich.cells import cell_len

    columns = list(zip(*rows, strict=True))
    natural = [max(map(cell_len, column)) for column in columns]
    words = [[word for cell in column for word in cell.split(" ")] for column in columns]
    # Names stay whole, and those that take a third of the room break at their seams.
    whole = [
        [piece for word in column for piece in ([word] if cell_len(word) <= room // 3 else pieces(word))]
        for column in words
    ]
    least = [min(max(map(cell_len, column), default=0), room // 2) for column in whole]
    left, widths = room - GAP * (len(natural) - 1), natural
    if sum(least) > left:
        return []
    for cap in range(max(natural, default=0), NARROW, -1):
        if sum(widths) <= left:
            break
        # Cells that are short stay whole as long as the long ones can be read beside them.
        widths = [
            width if width <= SHORT and cap >= SHORT // 2 else max(low, min(width, cap))
            for width, low in zip(natural, least, strict=True)
        ]
    return widths if sum(widths) <= left else least


def _cell(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else "-" if value is None else str(value)
    return printable(text.replace("\n", " "))
