"""The rows table: its columns, and reading and writing it.

A rows table is a polars frame whose columns are the fields of :class:`fathom.types.Row`; ``facets`` is a column of JSON
objects, so that the table has the same columns for all tasks.
"""

import dataclasses
import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import MappingProxyType

import polars as pl

from fathom.documents.records import (
    ARCHIVE,
    COMPRESSED,
    TABLES,
    DamagedError,
    File,
    Record,
    checked_records,
    find_files,
    format_of,
    plain_delimiter,
    read_records,
    read_whole,
    unpacked,
)
from fathom.score.registry import metric_name
from fathom.storage.arrow import ArrowStream
from fathom.storage.atomic import whole_file
from fathom.storage.encodings import PROBED, encoding_of
from fathom.storage.parquet import ParquetFile, ParquetWriter
from fathom.storage.tables import DamagedTableError, decoding
from fathom.suites.registry import task_name
from fathom.types import STATUSES, FathomError, Results, Row, Tell

LARGE = 200_000
"""Rows up to which a table is read as a whole. Larger ones stay in their files, and are read in parts."""
GROUP = 50_000
"""Rows of a row group of a Parquet file: so many are in memory at once, times the threads that read or write."""
NUMBER = "_number"
"""A column of numbers of rows, from 0, while they are needed."""
FORMATS = (".parquet", ".csv", ".jsonl")
"""Formats in which tables are written; for reading see ``read_table``."""

_TYPES: Mapping[str, type[pl.DataType]] = MappingProxyType(
    {
        "str": pl.String,
        "str | None": pl.String,
        "Status": pl.String,
        "int": pl.Int64,
        "int | None": pl.Int64,
        "float | None": pl.Float64,
        "bool": pl.Boolean,
        "bool | None": pl.Boolean,
        "Mapping[str, Facet]": pl.String,
    }
)

SCHEMA: Mapping[str, type[pl.DataType]] = MappingProxyType(
    {field.name: _TYPES[str(field.type)] for field in dataclasses.fields(Row)}
)
"""Column name -> polars type, in the order of the fields of ``Row``."""

_REQUIRED = tuple(
    field.name
    for field in dataclasses.fields(Row)
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
)
_DEFAULTS = {
    field.name: field.default for field in dataclasses.fields(Row) if field.default is not dataclasses.MISSING
} | {"facets": "{}"}
MOST_SPENT = 1e12
"""Maximum cost, time and number of tokens of one reply; larger values are errors."""
_SPENT = ("cost", "seconds")
_BOOLEANS = {"true": True, "false": False}


def to_frame(rows: Iterable[Row], source: str = "rows") -> pl.DataFrame:
    """Convert rows to a rows table.

    Args:
        rows: Rows in any order; the order is kept.
        source: Their origin, for the message.

    Returns:
        A frame with the columns of ``SCHEMA``, even without rows. Lone surrogates, which JSON can encode and UTF-8
        cannot (half an emoji of a truncated reply), are U+FFFD.

    Raises:
        FathomError: A number has more than 64 bits; the message names the row (from 1) and the field.
    """
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA}
    for row in rows:
        for name, values in columns.items():
            value = getattr(row, name)
            values.append(json.dumps(dict(value), ensure_ascii=False, sort_keys=True) if name == "facets" else value)
    try:
        frame = pl.DataFrame(columns, schema=dict(SCHEMA))
    except (UnicodeEncodeError, OverflowError, TypeError):  # which one depends on the size of the number
        storable = {name: _storable(name, values, source) for name, values in columns.items()}
        frame = pl.DataFrame(storable, schema=dict(SCHEMA))
    return _with_current_names(frame.lazy()).collect()


def _storable(name: str, values: Sequence[object], source: str) -> list[object]:
    """The values of a column without lone surrogates.

    Raises:
        FathomError: See ``to_frame``.
    """
    for number, value in enumerate(values, start=1):
        if isinstance(value, int) and abs(value) >= 1 << 63:
            digits = f"{value:.3e}" if abs(value) < 1 << 1000 else "a number of more than 300 digits"
            raise FathomError(f"{source}: row {number}: {name} is {digits}, expected a number of at most 64 bits")
    return [
        value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else value
        for value in values
    ]


def _with_current_names(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The table with the current names of tasks, also in ``suite`` if it consists of task names, and of metrics."""

    def now(name_of: Callable[[str], str], *columns: str) -> pl.Expr:
        names = {name for column in columns for name in names_in_rows[column].item().drop_nulls()}
        return pl.col(columns).replace({name: name_of(name) for name in names if name_of(name) != name})

    names_in_rows = rows.select(pl.col("task", "suite", "metric").unique().implode()).collect(engine="streaming")
    return rows.with_columns(now(task_name, "task", "suite"), now(metric_name, "metric"))


def read_rows(path: Path) -> pl.DataFrame:
    """Read a rows table from a file, see :func:`scan_rows`."""
    return scan_rows(path).lazy().collect()


def scan_rows(path: Path) -> pl.DataFrame | pl.LazyFrame:
    """A rows table in a file, checked.

    Args:
        path: A table, see ``read_table``. Columns that ``Row`` does not have are dropped, those with a default may be
            missing.

    Returns:
        A frame with the columns of ``SCHEMA``; a Parquet file of more than ``LARGE`` rows is left where it is.

    Raises:
        FathomError: The file cannot be read, lacks a column, or has an invalid value.
    """
    large = _large_table(path)
    rows = _small_table(path) if large is None else large
    columns = rows.collect_schema().names()
    missing = [name for name in _REQUIRED if name not in columns]
    if missing:
        raise FathomError(
            f"{path}: not a rows table: missing columns {', '.join(missing)} "
            f"(it has {', '.join(columns) or 'none'}). Write one with `fathom rows RUN --out FILE.parquet`; "
            "of another table, with `fathom rows FILE --from table --columns model=FIELD --out rows.parquet`."
        )
    rows = rows.with_columns(
        pl.lit(_DEFAULTS[name], dtype=SCHEMA[name]).alias(name) for name in SCHEMA if name not in columns
    )
    with readable_table(path):
        checked = checked_rows(_with_current_names(_cast(rows, path)), str(path))
        return checked if large is not None else checked.collect()


def _small_table(path: Path) -> pl.LazyFrame:
    rows = read_table(path)
    return (unguarded(rows) if format_of(path.name) == ".csv" else rows).lazy()


def _large_table(path: Path) -> pl.LazyFrame | None:
    """A large Parquet file as it is; None for anything else."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return None
    with readable_table(path):
        _check_parquet(path)
        # Another process that reads it may have another working directory.
        rows = pl.scan_parquet(path.absolute(), glob=False)
        return rows if rows.select(pl.len()).collect().item() > LARGE else None


@contextmanager
def readable_table(path: Path | str, kind: str = ".parquet") -> Iterator[None]:
    """Names the file in the error of a table that cannot be read.

    Args:
        kind: Its format.

    Raises:
        FathomError: It cannot be read.
    """
    try:
        yield
    except DamagedError as error:
        raise FathomError(f"{path}: the file {error}") from error
    # polars raises its own BaseException for some damaged files.
    except (OSError, UnicodeError, DamagedTableError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FathomError(f"{path}: cannot be read as {kind[1:]}: {reason}") from error


def rows_from_results(form: Results, path: Path, tell: Tell | None = None) -> pl.DataFrame:
    """Read others' results in a form declared by a benchmark.

    Args:
        form: The form.
        path: File or folder.
        tell: Called with files of a folder that are not read.

    Raises:
        FathomError: There are no such results, a file has no row, or one is invalid; the message names it.
    """
    frames = []
    for place, rows in form.read(path, tell):
        frames.append(check_rows(to_frame(rows, place), place))
        if frames[-1].is_empty():
            raise FathomError(f"{place}: it contains no replies")
    return pl.concat(frames)


def check_rows(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """Check what analysis relies on: no empty required fields, known statuses, scores in [0, 1], finite costs.

    Args:
        frame: A rows table.
        source: Its origin, for the message.

    Returns:
        The frame, with NaN scores, costs and times set to null; the ``detail`` of a row says that its score is none.

    Raises:
        FathomError: The message names the source, the first bad row (from 1) and the field.
    """
    return checked_rows(frame.lazy(), source).collect()


def checked_rows(rows: pl.LazyFrame, source: str) -> pl.LazyFrame:
    """The same for a table that may be larger than memory: it is read once, and nothing of it is kept.

    Raises:
        FathomError: See ``check_rows``.
    """
    unsaid = pl.col("value").is_nan() & (pl.col("detail") == "")
    detail = pl.when(unsaid).then(pl.lit("the score is not a number")).otherwise("detail").alias("detail")
    rows = rows.with_columns(pl.col("value", *_SPENT).fill_nan(None), detail)
    checks = {
        **{name: pl.col(name).is_null() for name in _REQUIRED if name != "value"},
        "status": ~pl.col("status").is_in(STATUSES),
        "value": (pl.col("value") < 0) | (pl.col("value") > 1),
        "chance": (pl.col("chance") < 0) | (pl.col("chance") > 1),
        "length": pl.col("length").is_null() | (pl.col("length") < 0),
        **{name: (pl.col(name) < 0) | (pl.col(name) > MOST_SPENT) for name in (*_SPENT, "tokens_in", "tokens_out")},
    }
    expected = {
        "status": f"one of {', '.join(STATUSES)}",
        "value": "a score between 0 and 1, or null",
        "chance": "a score between 0 and 1, or null",
        "length": "a length in tokens",
        **dict.fromkeys((*_SPENT, "tokens_in", "tokens_out"), f"a number from 0 to {MOST_SPENT:,.0f}, or null"),
    }
    sums = [bad.fill_null(False).sum().alias(name) for name, bad in checks.items()]
    counts = pl.concat(part.select(sums).collect() for part in in_slices(rows))
    for name, count in counts.sum().row(0, named=True).items():
        if count:
            first, value = _first(rows, name, checks[name])
            raise FathomError(
                f"{source}: row {first + 1}: {name} is {value!r}, "
                f"expected {expected.get(name, 'a value')} ({count} such rows). Fix or drop them."
            )
    return rows


def _first(rows: pl.LazyFrame, column: str, bad: pl.Expr) -> tuple[int, object]:
    """The number of the first bad row, from 0, and its value in a column."""
    first = rows.with_row_index(NUMBER).filter(bad).select(NUMBER, column).head(1).collect(engine="streaming")
    number, value = first.row(0)
    return int(number), value


def write_rows(rows: pl.DataFrame | Iterable[pl.LazyFrame], path: Path) -> None:
    """Write a rows table; readers see the old file or the complete new one.

    Args:
        rows: A rows table; or its slices, which are in memory one at a time.
        path: A ``.parquet``, ``.csv`` or ``.jsonl`` file; its folder is created if missing.

    Raises:
        FathomError: The suffix is unknown, or the file cannot be written.
    """
    slices = in_slices(rows.lazy()) if isinstance(rows, pl.DataFrame) else rows
    _write((part.select(list(SCHEMA)) for part in slices), path, "rows table")


def check_suffix(path: Path, what: str = "table") -> None:
    """Refuse a file that ``write_table`` cannot write, before the work on the table.

    Raises:
        FathomError: The suffix is unknown.
    """
    if path.suffix not in FORMATS:
        raise FathomError(
            f"{path}: a {what} must be a {', '.join(FORMATS)} file, not {path.suffix or 'one without a suffix'}."
        )


def write_table(frame: pl.DataFrame, path: Path, what: str = "table") -> None:
    """Write any table; readers see the old file or the complete new one.

    Args:
        path: A ``.parquet``, ``.csv`` or ``.jsonl`` file; its folder is created if missing.
        what: Its name in messages.

    Raises:
        FathomError: The suffix is unknown, or the file cannot be written.
    """
    _write(in_slices(frame.lazy()), path, what)


def _write(slices: Iterable[pl.LazyFrame], path: Path, what: str) -> None:
    check_suffix(path, what)
    with whole_file(path, "wb") as stream:
        writer = None
        for number, part in enumerate(slices):
            rows = part.collect()
            if number and rows.is_empty():
                continue
            if path.suffix == ".parquet":
                writer = writer or ParquetWriter(stream, rows.schema, statistics=True)
                writer.write(rows, GROUP)
                continue
            content = BytesIO()  # several versions of polars that write a file themselves do not say the disk is full
            if path.suffix == ".csv":
                guarded(rows).write_csv(content, include_header=not number)
            else:
                rows.write_ndjson(content)
            stream.write(content.getbuffer())
        if writer:
            writer.close()


_FORMULA = r"^('*[=+\-@\t\r])"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """A table for CSV: texts that spreadsheets take for formulas have an apostrophe before them."""
    return frame.with_columns(pl.col(pl.String).str.replace(_FORMULA, "'${1}"))


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """The table that ``guarded`` made a CSV file of."""
    return frame.with_columns(pl.col(pl.String).str.replace(_FORMULA.replace("('*", "'('*"), "${1}"))


def in_slices(rows: pl.LazyFrame) -> Iterator[pl.LazyFrame]:
    """Slices of at most ``LARGE`` rows, in order; at least one.

    A query over a whole file decodes as many row groups ahead as it likes: 4 GB of a table of ten million rows.

    Args:
        rows: The rows of one file, or rows in memory, with other columns at most. What was filtered or put together
            would be read from its start for every slice.
    """
    count = int(rows.select(pl.len()).collect(engine="streaming").item())
    for start in range(0, max(count, 1), LARGE):
        yield rows.slice(start, LARGE)


def _check_parquet(path: Path) -> None:
    """Check a file before polars reads it as a whole, with the types that Arrow had."""
    types = ParquetFile(path).metadata.get("ARROW:schema")
    if types:
        with decoding():
            ArrowStream(BytesIO(b64decode(types)))


def read_table(path: Path) -> pl.DataFrame:
    """Read any table, in any format of ``documents.records.TABLES``; all columns except those of Parquet are texts.

    Args:
        path: A file, also with ``.gz`` or ``.zst``, or a ZIP archive with one table.

    Raises:
        FathomError: The file is missing, is not a table, or cannot be read.
    """
    file = _table_in(path)
    suffix = format_of(file.name.name)
    with readable_table(str(file), suffix), unpacked(file) as place:
        plain = place.suffix.lower() == suffix
        if suffix == ".parquet" and plain:
            _check_parquet(place)
            return pl.read_parquet(place, glob=False)
        if suffix in (".csv", ".tsv"):
            # All columns as text first: the first rows do not show whether a column holds numbers later.
            delimiter = plain_delimiter(place, "," if suffix == ".csv" else "\t")
            if delimiter is not None:
                source = place if plain and _is_utf8(place) else read_whole(place)
                return pl.read_csv(source, infer_schema=False, glob=False, separator=delimiter)
        return _as_texts(fields for _, fields in checked_records(file))


def _is_utf8(path: Path) -> bool:
    with path.open("rb") as file:
        return encoding_of(file.read(PROBED))[0] == "utf-8"


def column_names(path: Path) -> tuple[str, ...]:
    """Names of the columns of a table by its first row; empty without rows or if it cannot be read."""
    try:
        first = next(read_records(_table_in(path), frozenset()), None)
    except FathomError:
        return ()
    return tuple(first.fields) if isinstance(first, Record) else ()


def _table_in(path: Path) -> File:
    if format_of(path.name) not in TABLES and path.suffix.lower() != ARCHIVE:
        kinds = f"{', '.join(TABLES)} file, also with {' or '.join(COMPRESSED)}, or one in a {ARCHIVE}"
        raise FathomError(f"{path}: a table must be a {kinds}, not {path.suffix or 'one without a suffix'}.")
    if not path.is_file():
        raise FathomError(f"{path}: no such file.")
    listing = find_files(path, TABLES)
    if len(listing.files) == 1:
        return listing.files[0]
    if listing.problems:
        raise FathomError(str(listing.problems[0]))
    held = ", ".join(file.inside for file in listing.files) or "none"
    raise FathomError(f"{path}: expected one table in the archive, found {held}; unpack it and name one.")


def _as_texts(records: Iterable[Mapping[str, object]]) -> pl.DataFrame:
    """Records as a table of texts, like CSV: objects (facets) as JSON, numbers as written."""
    rows = list(records)
    # A file without rows is a table without columns, which cannot be known.
    names = dict.fromkeys(name for record in rows for name in record) if rows else dict.fromkeys(SCHEMA)
    return pl.DataFrame(
        {name: [_text(record.get(name)) for record in rows] for name in names}, dict.fromkeys(names, pl.String)
    )


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _cast(rows: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    types = rows.collect_schema()
    columns: list[pl.Expr] = []
    for name, kind in SCHEMA.items():
        column = cast = pl.col(name)
        if kind == pl.Boolean and types[name] == pl.String:
            cast = column.str.to_lowercase().replace_strict(_BOOLEANS, default=None, return_dtype=pl.Boolean)
        elif types[name] != kind:
            cast = column.cast(kind, strict=False)
        if types[name] != kind:
            _check_cast(rows, path, name, cast)
        columns.append(cast if _DEFAULTS.get(name) is None else cast.fill_null(pl.lit(_DEFAULTS[name], dtype=kind)))
    return rows.select(columns)


def _check_cast(rows: pl.LazyFrame, path: Path, name: str, cast: pl.Expr) -> None:
    """Refuse a column with a value that is not of its type.

    Raises:
        FathomError: The message names the first such row.
    """
    lost = cast.is_null() & pl.col(name).is_not_null()
    expected = SCHEMA[name].__name__.lower()
    try:
        several = rows.select(lost.any()).collect(engine="streaming").item()
    except pl.exceptions.PolarsError:
        kind = rows.collect_schema()[name]
        raise FathomError(f"{path}: column {name} holds {kind}, expected {expected}.") from None
    if several:
        first, value = _first(rows, name, lost)
        raise FathomError(f"{path}: row {first + 1}: {name} is {value!r}, expected {expected}.")
