"""Published results, from files of the package and files of the same format from users.

A file is a CSV with one score per row, and a TOML of the same name with the source of the scores::

    board,model,variant,task,length,value,n,table          title = "..."
    ada,Claude-2,,tsort,2048,5.0,200,Table 2               date = "2024-04"
    pro,GPT-5,thinking,overall,,72.61,1500,Table 3         url = "https://..."
                                                           provenance = "published"

``board`` may name several boards. ``task`` is a task of the board, or ``overall``, ``category/ID``, ``extra/ID`` or
``group/NAME`` for averages that the source prints; ``overall`` with a ``length`` is the average at that length.
``value`` is in percent as printed, or ``N/A``. ``n`` is the number of scores in [0, 1] behind it, and empty if unknown:
then there is no interval. ``variant``, ``length``, ``n`` and ``table`` are optional. ``provenance`` is ``published``
(the default) if the source prints the scores, and ``recomputed`` if they were computed from data that its authors
released. ``authors = true`` says that the authors of the benchmark print them, by its own scorer.

A file of several sources has their fields in tables ``[sources.NAME]`` of the TOML, and the NAME in its column
``source``. A column ``date`` holds dates of rows, where a source has grown over time. Scores of before a change of
their benchmark (``changes.csv`` in its folder) are stale.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from io import TextIOWrapper
from pathlib import Path

from fathom.analysis.changes import Change, benchmark_changes, stale
from fathom.board.means import bounded, over_lengths, printed_name
from fathom.board.model import OF_PAPERS, Entry, Estimate, Origin, Published
from fathom.plugins.discovery import folders
from fathom.plugins.names import unknown
from fathom.storage.foreign import open_regular
from fathom.storage.toml import read_toml
from fathom.suites.registry import get_board, task_name
from fathom.types import FathomError
from fathom.types.boards import Board

NEEDED = ("board", "model", "task", "value")
COLUMNS = ("board", "model", "variant", "task", "length", "value", "n", "table", "source", "date")
MISSING = "N/A"
OVERALL = "overall"
_LONGEST_TEXT, _GREATEST = 200, 10**9
_ORIGIN = {"title": "a text", "date": "YYYY-MM or YYYY-MM-DD", "url": "an address that starts with https://"}
_DATE = re.compile(r"([0-9]{4}-(0[1-9]|1[0-2])(-[0-3][0-9])?)?")


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of a file.

    Attributes:
        model: Name of the model.
        variant: What distinguishes its runs.
        kind: ``task``, ``overall``, ``category``, ``extra`` or ``group``.
        name: Id of the task, category or extra; name of the group; "" for ``overall``.
        length: Tokens; 0 for all lengths.
        value: The score; None if the source prints none.
        table: Table of the source.
        source: Name of the source in its file; "" in a file of one source.
        date: When the source has printed it; "" for the date of the source.
        where: File and row, for messages.
    """

    board: Board
    model: str
    variant: str
    kind: str
    name: str
    length: int
    value: Estimate | None
    table: str
    source: str
    date: str
    where: str


def published_files() -> list[Path]:
    """The CSVs of published results in the folders of benchmarks."""
    return sorted(path for folder in folders() for path in folder.glob("*published.csv"))


@lru_cache(maxsize=1)
def published() -> Published:
    """The published results of all benchmarks, by board."""
    by_board: dict[str, list[Entry]] = {}
    for path in published_files():
        for board, entries in read_published(path).items():
            by_board.setdefault(board, []).extend(entries)
    return {board: tuple(entries) for board, entries in by_board.items()}


@lru_cache(maxsize=1)
def published_models() -> Mapping[str, frozenset[str]]:
    """Names of the models with published results, by board: what takes long of these results are their intervals."""
    names: dict[str, set[str]] = {}
    for path in published_files():
        for figure in _figures(path):
            names.setdefault(figure.board.id, set()).add(figure.model)
    return {board: frozenset(models) for board, models in names.items()}


def read_published(path: Path) -> Published:
    """The entries of a file of published results, by board, in the order of the file.

    Args:
        path: The CSV; its TOML is in the same folder.

    Raises:
        FathomError: A file is missing or invalid, or a row is wrong; the message names file, row and field.
    """
    origins, notes = _origins(path.with_suffix(".toml"))
    changes = benchmark_changes()
    lines: dict[tuple[str, str, str, str], list[Figure]] = {}
    for figure in _figures(path):
        if figure.source not in origins:
            raise _no("source", figure.source, f"one of {', '.join(map(repr, origins))}", figure.where)
        lines.setdefault((figure.board.id, figure.model, figure.variant, figure.source), []).append(figure)
    by_board: dict[str, list[Entry]] = {}
    for (board, *_, source), figures in lines.items():
        by_board.setdefault(board, []).append(_entry(figures, origins[source], notes, changes))
    return {board: tuple(entries) for board, entries in by_board.items()}


def _entry(figures: Sequence[Figure], origin: Origin, notes: Mapping[str, str], changes: Sequence[Change]) -> Entry:
    cells: dict[tuple[str, int], Estimate | None] = {}
    printed: dict[str, Estimate] = {}
    extras: dict[str, dict[int, Estimate]] = {}
    seen: dict[tuple[str, str, int], str] = {}
    name = printed_name(figures[0].model, figures[0].variant, origin)
    for figure in figures:
        key = figure.kind, figure.name, figure.length
        if key in seen:
            raise FathomError(f"{figure.where}: the same score as in {seen[key]}; keep one of them")
        seen[key] = figure.where
        of = figure.name or OVERALL
        value = None if figure.value is None else bounded(figure.value, of, name)
        if figure.kind == "task":
            cells[of, figure.length] = value
        elif value is not None and figure.kind == "extra":
            extras.setdefault(of, {})[figure.length] = value
        elif value is not None:
            printed[f"length/{figure.length}" if figure.length else of] = value
    tables = list(dict.fromkeys(figure.table for figure in figures if figure.table))
    entry = " · ".join(filter(None, (figures[0].model, figures[0].variant)))
    board, date = figures[0].board, max(figure.date for figure in figures) or origin.date
    return Entry(
        model=figures[0].model,
        variant=figures[0].variant,
        origin=replace(
            origin,
            table=", ".join(tables),
            date=date,
            note=" ".join(filter(None, (origin.note, *(notes.get(key, "") for key in (*tables, entry))))),
            stale=stale((board.title, *board.tasks), date, changes),
        ),
        cells=cells,
        printed=printed,
        # The source does not say that the questions differ between lengths.
        extras={of: over_lengths(list(at.values()), of, name, paired=True).score for of, at in extras.items()},
    )


def _figures(path: Path) -> Iterator[Figure]:
    try:
        with TextIOWrapper(open_regular(path), "utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            _check_columns(path, reader.fieldnames or ())
            for row in reader:
                where = f"{path}, row {reader.line_num}"
                if None in row or None in row.values():
                    raise FathomError(f"{where}: expected {len(reader.fieldnames or ())} fields, as in the first row")
                for board in row["board"].split() or [""]:
                    yield _figure(_board(board, where), row, where)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FathomError(f"{path}: cannot be read as CSV in UTF-8: {error}") from None


def _check_columns(path: Path, names: Iterable[str]) -> None:
    columns = list(names)
    for name in NEEDED:
        if name not in columns:
            raise FathomError(f"{path}: the column {name!r} is missing; expected {', '.join(COLUMNS)}")
    for name in columns:
        if name not in COLUMNS or columns.count(name) > 1:
            raise FathomError(f"{path}: unexpected column {name!r}; expected {', '.join(COLUMNS)}, each once")


def _board(name: str, where: str) -> Board:
    try:
        return get_board(name)
    except FathomError as error:
        raise FathomError(f"{where}: {error}") from None


def _figure(board: Board, row: Mapping[str, str], where: str) -> Figure:
    kind, name = _what(board, row["task"], where)
    value, n = row["value"], _whole("n", row.get("n", ""), where)
    if kind in ("task", "category") and board.weighting == "questions" and value != MISSING and n is None:
        raise _no("n", "", f"a number, because all questions of board {board.id} have equal weight", where)
    length = _whole("length", row.get("length", ""), where) or 0
    if length and kind in ("category", "group"):
        raise _no("length", row["length"], "an empty field: only tasks, extras and overall have lengths", where)
    return Figure(
        board=board,
        model=_text("model", row["model"], where, needed=True),
        variant=_text("variant", row.get("variant", ""), where),
        kind=kind,
        name=name,
        length=length,
        value=None if value == MISSING else _estimate(board, kind, name, value, n, where),
        table=_text("table", row.get("table", ""), where),
        source=_text("source", row.get("source", ""), where),
        date=_date(row.get("date", ""), where),
        where=where,
    )


def _what(board: Board, text: str, where: str) -> tuple[str, str]:
    """Kind and name of the score of a row."""
    kind, slash, name = text.partition("/")
    if text == OVERALL:
        return OVERALL, ""
    if slash and kind == "group":
        return kind, _text("task", name, where, needed=True)
    known = (
        {"category": tuple(category.id for category in board.categories), "extra": tuple(board.extras)} if slash else {}
    )
    if kind not in known:
        kind, name = "task", task_name(text)
    names = known.get(kind, board.tasks)
    if name not in names:
        raise FathomError(f"{where}: {unknown(f'{kind} of board {board.id}', name, names)}")
    return kind, name


def _estimate(board: Board, kind: str, name: str, text: str, n: int | None, where: str) -> Estimate:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > _GREATEST:
        raise _no("value", text, f"a number, or {MISSING}", where)
    if kind == "extra":
        return Estimate(value / 100 if board.extras[name][2] else value, n=n)
    if not 0 <= value <= 100:
        raise _no("value", text, "percent, from 0 to 100", where)
    return Estimate(value / 100, n=n)


def _whole(field: str, text: str, where: str) -> int | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text) or not int(text):
        raise _no(field, text, "a whole number from 1, or an empty field", where)
    return int(text)


def _text(field: str, text: str, where: str, *, needed: bool = False) -> str:
    if not text.isprintable() or text != text.strip() or len(text) > _LONGEST_TEXT or (needed and not text):
        raise _no(field, text[:_LONGEST_TEXT], "a text in one line without spaces around it", where)
    return text


def _date(text: str, where: str) -> str:
    if not _DATE.fullmatch(text):
        raise _no("date", text, f"{_ORIGIN['date']}, or an empty field", where)
    return text


def _no(field: str, text: str, expected: str, where: str) -> FathomError:
    return FathomError(f"{where}: {field} = {text!r}, expected {expected}")


def _origins(path: Path) -> tuple[Mapping[str, Origin], Mapping[str, str]]:
    """The origins in a TOML by name, "" for that of the file itself; and its notes by table or by name of an entry."""
    if not path.exists():
        raise FathomError(f"{path}: missing; create it with title, date and url of the source")
    table = dict(read_toml(path))
    notes, sources = table.pop("notes", {}), table.pop("sources", {})
    if not isinstance(notes, dict) or not all(isinstance(note, str) for note in notes.values()):
        raise FathomError(f"{path}: [notes] must be texts by name of table or entry")
    if not isinstance(sources, dict) or not all(isinstance(source, dict) for source in sources.values()):
        raise FathomError(f"{path}: [sources] must have a table for each source, with title, date and url")
    own = {"": _origin(table, str(path), ", notes, sources")} if table or not sources else {}
    return own | {name: _origin(source, f"{path}: [sources.{name}]") for name, source in sources.items()}, notes


def _origin(table: Mapping[str, object], where: str, more: str = "") -> Origin:
    fields = {**_ORIGIN, "note": "a text", "provenance": " or ".join(OF_PAPERS), "authors": "true or false"}
    for name, value in table.items():
        if name not in fields:
            raise FathomError(f"{where}: unknown field {name!r}; expected {', '.join(fields)}{more}")
        kind = bool if name == "authors" else str
        if not isinstance(value, kind) or (name == "provenance" and value not in OF_PAPERS):
            raise _no(name, str(value), fields[name], where)
    title, date, url = (str(table.get(name, "")) for name in _ORIGIN)
    right = {"title": bool(title), "date": bool(_DATE.fullmatch(date)), "url": not url or url.startswith("https://")}
    for name, text in zip(_ORIGIN, (title, date, url), strict=True):
        if not right[name] or not text.isprintable():
            raise _no(name, text, _ORIGIN[name], where)
    provenance = OF_PAPERS[OF_PAPERS.index(table.get("provenance", "published"))]
    note, authors = str(table.get("note", "")), table.get("authors") is True
    return Origin(provenance, title, "", date, url, note, authors=authors)
