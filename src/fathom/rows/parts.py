"""What readers of other programs' results share: rows with their records, the choice of a metric, columns by name."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict

from fathom.rows.schema import SCHEMA
from fathom.storage.foreign import open_regular, read_regular
from fathom.tokens.length import parse_length
from fathom.types import FathomError, Row, Tell

Record: TypeAlias = Mapping[str, object]
COLUMNS = tuple(SCHEMA)
_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
LARGEST = 2 << 30
"""Bytes of a JSON file that is read as a whole."""
MOST = 2_000_000_000
"""Maximum length in tokens."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user chose for results of another program.

    Attributes:
        metric: The metric to use; "" for the first one that can be used.
        columns: Column of a row -> field of the program's record; dots enter nested fields.
        constants: Column of a row -> its value in all rows.
        tell: Called with what the reader of the rows must know.
    """

    metric: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    tell: Tell | None = None

    def note(self, note: str) -> None:
        """Pass on a note."""
        if self.tell is not None:
            self.tell(note)


@dataclass(frozen=True, slots=True)
class Part:
    """One file of results.

    Attributes:
        place: The file, for messages.
        rows: Its rows, each with the record that it was made of.
        settings: How the model was asked; settings in which runs of one model differ name its variants.
        mapped: Whether the reader has applied the user's columns and constants itself.
    """

    place: str
    rows: Iterable[tuple[Row, Record]]
    settings: Mapping[str, object] = field(default_factory=dict)
    mapped: bool = False


Reader: TypeAlias = Callable[[Path, ReadOptions], Iterator[Part]]


def unit(value: object) -> float | None:
    """A score in [0, 1]; None for anything else."""
    if isinstance(value, bool | int | float) and 0 <= value <= 1:  # false for NaN
        return float(value)
    return None


def is_absent(value: object) -> bool:
    """Whether a score is none at all: null, NaN or infinite, as a scorer gives it that could not compute one."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def usable_metrics(known: Iterable[str] | None, scores: Mapping[str, Any]) -> list[str]:
    """The metrics that can be used after one more sample: each of its scores is in [0, 1], or absent.

    Args:
        known: Those that could be used before it; None for the first sample.
    """
    names = scores if known is None else known
    return [name for name in names if unit(scores.get(name)) is not None or is_absent(scores.get(name))]


def whole(value: object) -> int | None:
    """A count of 0 or more; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:  # true for NaN
        return None
    return int(value)


def as_text(value: object) -> str:
    """A value as text: lists and objects as JSON, nothing as ""."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


# What a record of another program may have in a field: anything else counts as nothing, because programs change.
Count: TypeAlias = Annotated[int | None, BeforeValidator(whole)]
Text: TypeAlias = Annotated[str, BeforeValidator(as_text)]
Fields: TypeAlias = Annotated[Mapping[str, Any], BeforeValidator(as_mapping)]


class Schema(BaseModel):
    """The fields that are read of a record of another program, each of which may be missing."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=())


def with_score(row: Row, score: object, answered: bool | None) -> Row:
    """The row of a reply that another program scored.

    Args:
        row: The row without its score; its metric names the grader, its source the rule, and its ``detail`` says why
            there is no score, if there is more to say than that it is no number in [0, 1].
        score: The score as the program gives it.
        answered: Whether the reply has visible text, without which its score is 0; None if unknown.
    """
    value = 0.0 if answered is False else unit(score)
    reason = row.detail or f"{row.metric} is {score!r}, not a number in [0, 1]"
    return replace(
        row,
        value=value,
        valid=value is not None and answered is not False,
        grader=row.metric,
        rule=row.source,
        detail="" if value is not None else reason,
        answered=answered,
    )


def has_text(reply: object) -> bool | None:
    """Whether a reply has visible text; None if it is no text."""
    return bool(reply.strip()) if isinstance(reply, str) else None


def choose_metric(place: str, scores: Iterable[Record], options: ReadOptions) -> str:
    """The metric of a file: the one that the user named, else the first whose scores are all in [0, 1] or absent.

    A metric that is in [0, 1] in some samples only would mix two scales. If several can be used, one that is absent in
    the fewest samples comes first.

    Args:
        place: The file, for messages.
        scores: The scores of each sample by metric; a sample without any says nothing.
        options: What the user chose.

    Raises:
        FathomError: There is no such metric.
    """
    every: dict[str, None] = {}
    usable: list[str] | None = None
    present = Counter[str]()
    for sample in scores:
        every.update(dict.fromkeys(sample))
        present.update(name for name, score in sample.items() if not is_absent(score))
        if sample:
            usable = usable_metrics(usable, sample)
    usable = fullest(usable or (), present)
    listed = ", ".join(every) or "none"
    if options.metric:
        if options.metric not in every:
            raise FathomError(f"{place}: no sample has the metric {options.metric!r}; there are: {listed}")
        return options.metric
    if not usable:
        raise FathomError(
            f"{place}: no metric is a number in [0, 1] in every sample; there are: {listed}. "
            "`fathom rows --metric` names one"
        )
    if len(usable) > 1:
        report_metric(usable, usable[0], options)
    return usable[0]


def fullest(metrics: Iterable[str], present: Mapping[str, int]) -> list[str]:
    """The metrics that have scores, those with the most samples first, else in their order.

    Args:
        metrics: Names.
        present: Number of samples with a score by metric.
    """
    return sorted((name for name in metrics if present.get(name)), key=lambda name: -present[name])


def report_metric(names: Sequence[str], chosen: str, options: ReadOptions) -> None:
    """Tell which of several metrics is used."""
    options.note(f"Samples have several metrics ({', '.join(names)}): {chosen} is used; `fathom rows --metric` chooses")


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        FathomError: The file cannot be read, is larger than 2 GiB, or is not JSON.
    """
    try:
        return json.loads(read_regular(path, LARGEST))
    except (OSError, UnicodeError) as error:
        raise FathomError(f"{path}: cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FathomError(f"{path}: not JSON ({reason}); was it written to its end?") from None


def head_of(path: Path, size: int = 2048) -> str:
    """The start of a file as text; "" if it cannot be read."""
    try:
        with open_regular(path) as stream:
            return stream.read(size).decode("utf-8", "replace")
    except OSError:
        return ""


def first_key(path: Path) -> str:
    """The first name in a JSON object, by the start of the file; "" if there is none."""
    match = re.match(r'\s*\{\s*"([^"\\]{1,80})"\s*:', head_of(path))
    return match[1] if match else ""


def with_options(part: Part, options: ReadOptions) -> Iterator[Row]:
    """The rows of a part with the columns and constants that the user named.

    Raises:
        FathomError: A field is missing or has the wrong type; the message names the row.
    """
    sample_given = "sample" in options.columns or "sample" in options.constants
    for number, (row, record) in enumerate(part.rows, start=1):
        if part.mapped:
            yield row
            continue
        place = f"{part.place}: row {number}"
        changes: dict[str, object] = {}
        for column, name in options.columns.items():
            changes[column] = _taken(row, record, column, name, place)
        for column, text in options.constants.items():
            changes[column] = cell(column, text, place)
        if not changes:
            yield row
            continue
        made = replace(row, **changes)  # type: ignore[arg-type]  # checked by cell
        if not sample_given and made.item != row.item:
            made = replace(made, sample=f"{made.item}@{made.length}" if made.length else made.item)
        yield made


def _taken(row: Row, record: Record, column: str, name: str, place: str) -> object:
    value = look_up(record, name)
    if value is None and name in COLUMNS:
        value = getattr(row, name)
        if column == "length" and isinstance(value, int):
            return power_of_two(value)
    if value is None and column in ("length", "item", "sample", "model", "task"):
        raise FathomError(f"{place}: no field {name!r} for the column {column}; there are: {field_names(record)}")
    return cell(column, value, place)


def power_of_two(tokens: int) -> int:
    """The smallest power of two that is not below a number of tokens."""
    return 1 << max(0, tokens - 1).bit_length()


def look_up(record: Record, name: str) -> object:
    """A field by its name, or by its path with dots; None if there is none."""
    if name in record:
        return record[name]
    first, dot, rest = name.partition(".")
    inside = record.get(first)
    return look_up(inside, rest) if dot and isinstance(inside, Mapping) else None


def field_names(record: Record) -> str:
    """The names of the fields of a record, those of objects in it with dots, for messages."""
    names = []
    for name, value in record.items():
        names += [f"{name}.{field}" for field in value] if isinstance(value, Mapping) and value else [str(name)]
    return ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "") or "none"


def cell(column: str, value: object, place: str) -> object:
    """A value as the type of a column.

    Args:
        column: The column of a row.
        value: Any value; texts are read.
        place: File and row, for messages.

    Raises:
        FathomError: The value is not of the type.
    """
    kind = SCHEMA[column]
    if column == "length":
        return _length(value, place)
    if kind == pl.Boolean:
        return _flag(column, value, place)
    if kind == pl.String:
        return None if value is None and column == "answer" else as_text(value)
    return None if value is None or value == "" else _number(column, value, place, kind == pl.Int64)


def _flag(column: str, value: object, place: str) -> bool | None:
    if isinstance(value, bool) or value is None:
        return bool(value) if column == "valid" else value
    if (known := _WORDS.get(str(value).strip().lower())) is not None:
        return known
    raise FathomError(f"{place}: {column} is {value!r}, expected true or false")


def _number(column: str, value: object, place: str, is_whole: bool) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]  # any other type is an error
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if is_whole and (not math.isfinite(number) or number != int(number) or abs(number) > 1e15):
        raise FathomError(f"{place}: {column} is {value!r}, expected a whole number")
    scoreless = column == "value" and (isinstance(value, float) or str(value).strip().lower() == "nan")
    if math.isnan(number) and not scoreless:
        raise FathomError(f"{place}: {column} is {value!r}, expected a number")
    return int(number) if is_whole else number


def _length(value: object, place: str) -> int:
    if (known := whole(value)) is not None and known == value:
        return known
    text = str(value).strip()
    if text.isdecimal() and len(text) < 11:
        return int(text)
    try:
        return parse_length(text)
    except FathomError:
        raise FathomError(f"{place}: length is {value!r}, expected tokens such as 8192 or 8k") from None
