"""What several commands share: kinds of arguments, progress bars, and tables on the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer

from fathom.types import FathomError

Lengths: TypeAlias = Annotated[
    str | None, typer.Option("--lengths", help="Lengths in tokens, for instance 2k,4k,8k (8k is 8,192).")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


def lengths_of(text: str | None) -> tuple[int, ...] | None:
    """Lengths as people write them, in tokens; None where none are given."""
    from fathom.length import parse_length

    return tuple(parse_length(part) for part in text.split(",") if part.strip()) if text is not None else None


def names_of(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; None where none are given."""
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text is not None else None


def numbers_of(text: str, option: str) -> tuple[float, ...]:
    """Numbers separated by commas.

    Raises:
        FathomError: One of them is not a number.
    """
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise FathomError(f"{option} {text!r}: expected numbers separated by commas, for instance 0,0.5,1") from error


def options_of(given: Sequence[str] | None, option: str) -> dict[str, Any]:
    """``NAME=VALUE`` pairs; values are read as JSON where they are JSON, else they are text.

    Raises:
        FathomError: One of them has no equals sign.
    """
    options: dict[str, Any] = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise FathomError(f"{option} {pair!r}: expected NAME=VALUE")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


@contextmanager
def progress_bar(title: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on standard error, as a function of (done, all); None where nobody looks at it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(job, completed=done, total=total)


def print_records(records: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Records with the same keys, as a table or as JSON."""
    if as_json:
        print(json.dumps(list(records), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    rows = [[_cell(value) for value in record.values()] for record in records]
    for number, name in enumerate(records[0] if records else ()):
        # Short cells stay whole; what is left of the line goes to the long ones.
        short = all(len(row[number]) <= 24 for row in rows)
        table.add_column(name.replace("_", " "), overflow="fold", no_wrap=short)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _cell(value: object) -> str:
    from rich.markup import escape

    if isinstance(value, list | tuple):
        return escape(", ".join(map(str, value)))
    return "-" if value is None else escape(str(value))
