"""Rows from any table: its columns by the names of rows, or mapped by ``--columns`` and ``--set``.

The least that is needed is a model, a task or a suite, a length and a value. Other columns of a row may be missing.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from fathom.documents.records import ARCHIVE, TABLES, File, checked_records, find_files, format_of
from fathom.rows.parts import COLUMNS, Part, ReadOptions, Record, cell, field_names, look_up
from fathom.types import STATUSES, FathomError, Row

_NEEDED = ("model", "length", "value")
_SCORE = "score"
"""A column that is the value of rows if there is none of that name, as in tables of scores and of labels."""


def read(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read a table with one scored reply a row: JSONL, JSON, CSV, TSV, Parquet or Arrow.

    Raises:
        FathomError: A column is missing, or a value has the wrong type; the message has the line.
    """
    if not path.exists():
        raise FathomError(f"{path}: no such file")
    if not path.is_file() or (format_of(path.name) not in TABLES and path.suffix.lower() != ARCHIVE):
        raise FathomError(f"{path}: expected a table: {', '.join(TABLES)}, also with .gz or .zst, or in a {ARCHIVE}")
    files = find_files(path, TABLES).files
    if not files:
        raise FathomError(f"{path}: no table in it")
    for file in files:
        yield Part(str(file), _rows(file, options), mapped=True)


def _rows(file: File, options: ReadOptions) -> Iterator[tuple[Row, Record]]:
    counts: dict[tuple[object, ...], int] = {}
    numbered = False
    for place, record in checked_records(file):
        given = _given(record, options, place)
        row: dict[str, object] = {name: cell(name, value, place) for name, value in given.items() if name != "facets"}
        row["facets"] = _facets(given.get("facets"), place)
        row["task"] = row.get("task") or row.get("suite")
        row["suite"] = row.get("suite") or row["task"]
        row.setdefault("value", None)
        if not row.get("item") and not row.get("sample"):
            key = tuple(row.get(name) for name in ("model", "variant", "suite", "task", "length", "epoch"))
            counts[key] = counts.get(key, 0) + 1
            row["item"] = f"{row['task']}/{counts[key]}"
            numbered = True
        row["item"] = row.get("item") or row["sample"]
        row["sample"] = row.get("sample") or f"{row['item']}@{row['length']}"
        row.setdefault("status", "ok" if row["value"] is not None else "error")
        if row["status"] not in STATUSES:
            raise FathomError(f"{place}: status is {row['status']!r}, expected one of {', '.join(STATUSES)}")
        row.setdefault("valid", row["value"] is not None)
        row.setdefault("source", "table")
        row.setdefault("metric", options.metric or options.columns.get("value", "value"))
        yield Row(**row), record  # type: ignore[arg-type]  # each was read by cell
    if numbered:
        options.note(
            f"{file}: no item and no sample, so the n-th row of every model at a length counts as the same item; if "
            "it is not, name the field with --columns item=FIELD"
        )


def _given(record: Record, options: ReadOptions, place: str) -> dict[str, object]:
    """The values of a record by column.

    Raises:
        FathomError: One that is needed is missing.
    """
    given = {name: record[name] for name in COLUMNS if record.get(name) is not None}
    if "value" not in record and "value" not in options.columns:
        given |= {"value": record[_SCORE]} if record.get(_SCORE) is not None else {}
    for name, source in options.columns.items():
        if (value := look_up(record, source)) is not None:
            given[name] = value
        else:
            given.pop(name, None)
    given |= options.constants
    missing = [name for name in _NEEDED if given.get(name) in (None, "") and not _may_lack(name, record, options)]
    if given.get("task") in (None, "") and given.get("suite") in (None, ""):
        missing.append("task")
    if missing:
        raise FathomError(
            f"{place}: no {', no '.join(missing)}; the fields are: {field_names(record)}. Name the field with "
            f"`columns` {missing[0]}=FIELD, or one value for all rows with `constants` {missing[0]}=VALUE"
        )
    return given


def _may_lack(name: str, record: Record, options: ReadOptions) -> bool:
    """Whether this is the score of a reply that failed: its field is there, and empty."""
    if name != "value":
        return False
    source = options.columns.get("value")
    return source in record if source else bool({"value", _SCORE} & set(record))


def _facets(value: object, place: str) -> Mapping[str, str | int | float | bool]:
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise FathomError(f"{place}: facets is {value!r}, expected a JSON object") from None
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise FathomError(f"{place}: facets is {value!r}, expected a JSON object")
    return {str(name): facet for name, facet in value.items() if isinstance(facet, str | int | float | bool)}
