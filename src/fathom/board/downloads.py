"""Downloads: all data of a board in long format, as CSV, Parquet and JSON, and a page without JavaScript."""

import io
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, TypeAlias

import polars as pl

from fathom.board import shown
from fathom.board.board_data import lengths_of
from fathom.board.model import Estimate
from fathom.board.table import Table, TableEntry
from fathom.printing import printable
from fathom.rows.schema import guarded
from fathom.stats.outcomes import COUNTED
from fathom.storage.checksums import with_checksum
from fathom.types import Json
from fathom.types.boards import Board

FORMAT = 2
"""Of the JSON files. Those of format 1 have no checksum."""
ENDED = ("replies", *COUNTED)
SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("board", "key", "model", "variant", "provenance", "source", "table", "date", "url"), pl.String),
    **dict.fromkeys(("rank_low", "rank_high", "tie_group"), pl.Int64),
    "complete": pl.Boolean,
    **dict.fromkeys(("figure", "name"), pl.String),
    "length": pl.Int64,
    **dict.fromkeys(("value", "error", "low", "high"), pl.Float64),
    "n": pl.Int64,
    "bound": pl.Boolean,
    "other": pl.Float64,
    **dict.fromkeys(ENDED, pl.Int64),
    **dict.fromkeys(("suite", "rule", "metric", "grader", "task_version", "fathom_version", "questions"), pl.String),
}
"""Columns of the tables. ``figure`` is the kind of a value: ``overall``, ``as_paper`` (missing scores as 0),
``category``, ``task``, ``length``, ``extra``, or ``usage`` per reply; ``name`` is the category, task, extra or usage;
``length`` is in tokens and empty for values over all lengths. ``low`` and ``high`` are the ends of the 95% interval,
and ``error`` is its width over 3.92. ``bound`` marks an interval that is the widest possible for its mean. ``other`` is
the value under the other choice of ``--unanswered``, and ``replies`` to ``scorer_error`` count the replies by outcome;
they are empty if unknown. The last columns record how unpublished scores of tasks were made."""

_HEADS = ("Rank", "Model", "Variant", "Overall, %", "95% interval", "Origin", "Date")
_AFTER_VALUE = 6 + len(ENDED)  # error, low, high, n, bound, other
_TASK = ("rule", "metric", "grader", "version", "fathom", "questions")
_Record: TypeAlias = tuple[Any, ...]
_Figure: TypeAlias = tuple[str, str, int | None, Estimate]
"""Kind, name, length and value."""


def downloads(tables: Sequence[Table], built: str) -> dict[str, bytes]:
    """The files of the folder ``downloads`` by name: one set per board, and one for all.

    Args:
        built: Date of the site.
    """
    figures = {table.board.id: [list(_figures(table, line)) for line in table.entries] for table in tables}
    frames = {table.board.id: _frame(table, figures[table.board.id]) for table in tables}
    nested = {table.board.id: _nested(table, figures[table.board.id]) for table in tables}
    together = {"all": pl.concat(frames.values()), **frames}
    files: dict[str, bytes] = {}
    for name, frame in together.items():
        boards: list[Json] = list(nested.values()) if name == "all" else [nested[name]]
        files[f"{name}.csv"] = _csv(frame)
        files[f"{name}.parquet"] = _parquet(frame)
        whole = with_checksum({"format": FORMAT, "built": built, "boards": boards})
        files[f"{name}.json"] = (shown.compact(whole) + "\n").encode("ascii")
    return files


def _frame(table: Table, figures: Sequence[Sequence[_Figure]]) -> pl.DataFrame:
    rows = [record for line, own in zip(table.entries, figures, strict=True) for record in _records(table, line, own)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _records(table: Table, line: TableEntry, figures: Sequence[_Figure]) -> Iterator[_Record]:
    origin = shown.origin(line.entry.origin)
    low, high = line.rank or (None, None)
    head = (
        *(table.board.id, line.key, printable(line.entry.model), printable(line.entry.variant)),
        *(origin[name] for name in ("provenance", "title", "table", "date", "url")),
        *(low, high, line.group, line.standing.complete),
    )
    nothing = (None,) * (1 + len(_TASK))
    for figure, name, length, estimate in figures:
        how = _how(line, name) if figure == "task" else nothing
        yield (*head, figure, name, length, *_numbers(estimate), *how)
    for name, value in (shown.usage(line.entry.usage) or {}).items():
        if value is not None:
            yield (*head, "usage", name, None, value, *(None,) * _AFTER_VALUE, *nothing)


def _figures(table: Table, line: TableEntry) -> Iterator[_Figure]:
    board, entry, standing = table.board, line.entry, line.standing
    at = lengths_of(line)
    if standing.overall is not None:
        yield "overall", "", None, standing.overall
    if standing.as_paper is not None:
        yield "as_paper", "", None, Estimate(standing.as_paper)
    yield from (
        ("category", name, None, category) for name, category in standing.categories.items() if category is not None
    )
    yield from (("length", "", length, mean) for length, mean in standing.lengths.items())
    for task in board.tasks:
        if task in standing.tasks:
            yield "task", task, None, standing.tasks[task].score
        yield from (("task", task, length, cell) for length, cell in at.get(task, {}).items() if cell is not None)
    yield from (("extra", name, None, entry.extras[name]) for name in board.extras if name in entry.extras)


def _numbers(estimate: Estimate) -> tuple[Any, ...]:
    """Value, error, ends of the 95% interval, n, bound, the other value, and outcomes of replies."""
    ended = shown.ended(estimate) or (None,) * len(ENDED)
    plain = (
        shown.number(estimate.value),
        shown.number(estimate.error),
        *(shown.interval(estimate.interval) or (None, None)),
    )
    return (*plain, estimate.n, estimate.bound, shown.number(estimate.other), *ended)


def _how(line: TableEntry, task: str) -> tuple[str | None, ...]:
    """How the scores of a task were made: suite, and the recorded settings; empty for published entries."""
    tasks, suites = line.entry.settings.get("tasks"), line.entry.settings.get("suites")
    facts = tasks.get(task) if isinstance(tasks, dict) else None
    if not isinstance(facts, dict) or not isinstance(suites, dict):
        return (None,) * (1 + len(_TASK))
    suite = ", ".join(f"{name} {print}".strip() for name, print in suites.items())
    return (printable(suite), *(printable(str(facts.get(name) or "")) for name in _TASK))


def _nested(table: Table, figures: Sequence[Sequence[_Figure]]) -> dict[str, Json]:
    """A board as JSON: each entry once, with its settings, and its scores as short lists."""
    board = table.board
    return {
        "id": board.id,
        "title": board.title,
        "rule": board.rule,
        "licence": board.licence,
        "citation": board.citation,
        "url": board.url,
        "tasks": list(board.tasks),
        "columns": ["figure", "name", "length", "value", "error", "n", "bound", "low", "high", "other", *ENDED],
        "lines": [_nested_line(board, line, own) for line, own in zip(table.entries, figures, strict=True)],
    }


def _nested_line(board: Board, line: TableEntry, figures: Sequence[_Figure]) -> dict[str, Json]:
    entry = line.entry
    return {
        "key": line.key,
        "model": printable(entry.model),
        "variant": printable(entry.variant),
        "origin": shown.origin(entry.origin),
        "rank": None if line.rank is None else list(line.rank),
        "group": line.group,
        "complete": line.standing.complete,
        "missing": list(line.standing.missing),
        "settings": shown.settings(entry.settings),
        "unfinished": list(line.standing.unfinished),
        "fewer": list(line.standing.fewer),
        "substituted": list(line.standing.substituted),
        "outcomes": dict(entry.outcomes),
        "usage": shown.usage(entry.usage),
        "figures": [[figure, name, length, *_short(estimate)] for figure, name, length, estimate in figures],
    }


def _short(estimate: Estimate) -> list[Json]:
    """A value as a short list, without its last columns if outcomes of replies are unknown."""
    value, error, low, high, n, bound, other, *ended = _numbers(estimate)
    plain: list[Json] = [value, error, n, int(bound), low, high]
    return plain if ended[0] is None else [*plain, other, *ended]


def _csv(frame: pl.DataFrame) -> bytes:
    """CSV in which texts that look like formulas begin with an apostrophe, for spreadsheets."""
    return guarded(frame).write_csv().encode("utf-8")


def _parquet(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_parquet(stream)
    return stream.getvalue()


# The page for browsers without JavaScript: ranks and overall scores, and links to the tables


def plain_page(tables: Sequence[Table], title: str) -> bytes:
    """The page ``downloads/index.html``.

    Args:
        tables: The boards.
        title: Title of the site.
    """
    name = escape(printable(title))
    parts = [
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{name}: all results</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<h1>{name}</h1>\n<p>Ranks and overall scores without JavaScript. <a href="../index.html">The whole site</a>.',
        f"<p>All data: {_links('all')}",
        "<ul>",
        *(f'<li><a href="#{table.board.id}">{escape(printable(table.board.title))}</a>' for table in tables),
        "</ul>",
        *(part for table in tables for part in _page_board(table)),
    ]
    return ("\n".join(parts) + "\n").encode("utf-8")


def _links(name: str) -> str:
    return ", ".join(f'<a href="{name}.{ending}">{ending}</a>' for ending in ("csv", "parquet", "json"))


def _page_board(table: Table) -> Iterator[str]:
    board = table.board
    yield f'<h2 id="{board.id}">{escape(printable(board.title))}</h2>'
    yield f"<p>Overall score: {escape(printable(board.rule))}. All scores: {_links(board.id)}"
    yield "<table><thead><tr>" + "".join(f'<th scope="col">{head}' for head in _HEADS) + "<tbody>"
    yield from map(_page_row, table.entries)
    yield "</table>"


def _page_row(line: TableEntry) -> str:
    entry, overall = line.entry, line.standing.overall
    rank = "" if line.rank is None else "\u2013".join(map(str, dict.fromkeys(line.rank)))
    ends = None if overall is None else overall.interval
    cells = (
        "" if overall is None else f"{100 * overall.value:.1f}",
        "" if ends is None else f"{100 * ends.low:.1f} to {100 * ends.high:.1f}",
        entry.origin.provenance,
        printable(entry.origin.date),
    )
    names = f'<th scope="row">{escape(printable(entry.model))}<td>{escape(printable(entry.variant))}'
    return f"<tr><td>{rank}{names}" + "".join(f"<td>{escape(cell)}" for cell in cells)
