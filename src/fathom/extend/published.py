"""Tables of papers that compare ways to read beyond the window.

The folder of a benchmark has them in ``extension.csv``, one figure per row, as printed::

    table,model,method,printed,setting,trained,task,length,column,metric,value,note
    Table 9,Vicuna-7b-v1.5,ntk,NTK,,zero-shot,bestanswer,1024,1k,accuracy,32.5,

``method`` is one of ``METHODS`` or empty, ``printed`` is the paper's name of the row, and ``setting`` what the paper
says of its options. ``task`` is named as in ``published.csv`` of the same folder, whose ``published.toml`` has the
source. ``length`` is in tokens, and empty where texts of several lengths are averaged or the paper does not say.
``column`` is the paper's name of the column, ``value`` a number or ``-``. ``note`` says where the paper disagrees with
itself. ``extension.toml`` groups rows into comparisons and says what each can be compared with.
"""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from fathom.extend.methods import METHODS
from fathom.plugins.discovery import folders
from fathom.plugins.names import listed
from fathom.storage.foreign import content_of, open_regular
from fathom.storage.toml import read_toml
from fathom.storage.validation import Items, Text, from_toml
from fathom.types import FathomError

Trained: TypeAlias = Literal["zero-shot", "fine-tuned", "vendor", "not stated", ""]
TRAINED: tuple[Trained, ...] = get_args(Trained)
NAME, SOURCE = "extension.csv", "published.toml"
COLUMNS = (
    "table", "model", "method", "printed", "setting", "trained", "task", "length", "column", "metric", "value", "note",
)  # fmt: skip
MISSING = "-"


@dataclass(frozen=True, slots=True)
class PublishedScore:
    """One figure of a table.

    Attributes:
        table: The table, such as "Table 9".
        model: The model; "" for a figure that is no model's, such as the guess level.
        method: One of ``METHODS``; "" if it is none of them or the paper does not say.
        printed: The paper's name of the method.
        setting: What the paper says of its options; "" for nothing.
        trained: Whether weights were changed for the method; "" for a figure that is no model's.
        task: Named as in ``published.csv``, or another name for what that file does not have.
        length: Tokens; None if texts of several lengths are averaged or the paper does not say.
        column: The paper's name of the column, or of the row where tasks are rows.
        metric: What was measured.
        text: The figure as printed, in percent unless the column says otherwise.
        value: The same as a number; None if the paper has none.
        note: Where the paper disagrees with itself or leaves something open; "" otherwise.
    """

    table: str
    model: str
    method: str
    printed: str
    setting: str
    trained: Trained
    task: str
    length: int | None
    column: str
    metric: str
    text: str
    value: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PublishedDifference:
    """A figure minus that of the same model without a method, in the units of the table.

    The questions are the same, so it is the mean of paired differences. It has no interval, because papers give none.

    Attributes:
        without: The figure without one.
        difference: The first minus the second, with the decimals of the table.
    """

    score: PublishedScore
    without: PublishedScore
    difference: float


@dataclass(frozen=True, slots=True)
class PublishedComparison:
    """Rows of a paper's tables that belong together.

    Attributes:
        id: Unique, and fit for an HTML id.
        paper: The folder of the benchmark.
        source: Title of the paper.
        date: When it was published, ``YYYY-MM``.
        url: Its address.
        tables: The tables that the figures are from; the first one has the methods.
        title: What is compared.
        training: What was trained, and on what.
        comparable: What the figures can be compared with; a sentence each.
        not_comparable: What they cannot be compared with.
        nearest: The command that builds the nearest suite; "" if there is none.
        scores: The figures, in the order of the table.
        differences: Differences to the rows without a method; none if the table has no such row.
    """

    id: str
    paper: str
    source: str
    date: str
    url: str
    tables: tuple[str, ...]
    title: str
    training: str
    comparable: tuple[str, ...]
    not_comparable: tuple[str, ...]
    nearest: str
    scores: tuple[PublishedScore, ...]
    differences: tuple[PublishedDifference, ...]


@dataclass(frozen=True, slots=True)
class _Described:
    """A comparison as ``extension.toml`` has it; see ``PublishedComparison``."""

    id: Text
    title: Text
    training: Text
    nearest: Text
    tables: Items[Text]
    comparable: Items[Text]
    not_comparable: Items[Text]
    models: Items[Text] | None = None
    unpaired: Items[Text] = ()


@dataclass(frozen=True, slots=True)
class _Comparisons:
    comparisons: Items[_Described]


@lru_cache(maxsize=1)
def published_comparisons() -> tuple[PublishedComparison, ...]:
    """The comparisons of all benchmarks' papers, by the name of their folder."""
    files = sorted(path for folder in folders() for path in folder.glob(NAME))
    return tuple(comparison for path in files for comparison in read_comparisons(path))


def read_comparisons(path: Path) -> tuple[PublishedComparison, ...]:
    """The comparisons of a file.

    Args:
        path: ``extension.csv``; ``extension.toml`` and ``published.toml`` are in the same folder.

    Raises:
        FathomError: A file is missing or invalid, a row is in no comparison, or it is in two; the message names it.
    """
    scores = tuple(_scores(path))
    described = path.with_suffix(".toml")
    source = read_toml(path.with_name(SOURCE))
    listed_in = from_toml(_Comparisons, content_of(described), str(described)).comparisons
    comparisons = tuple(_comparison(entry, scores, source, described) for entry in listed_in)
    for score in scores:
        holders = [comparison.id for comparison in comparisons if score in comparison.scores]
        if len(holders) != 1:
            row = ", ".join(filter(None, (score.table, score.model, score.printed, score.column)))
            found_in = listed(holders) or "none"
            raise FathomError(f"{described}: {row} is in {found_in}; expected each row in one comparison")
    return comparisons


def differences(scores: Sequence[PublishedScore], unpaired: Sequence[str] = ()) -> tuple[PublishedDifference, ...]:
    """Differences to the rows without a method, of the same model with the same training.

    Args:
        scores: Figures of one comparison.
        unpaired: Metrics that are not means over the same questions; they have no differences.
    """

    def place(figure: PublishedScore) -> tuple[object, ...]:
        return figure.table, figure.model, figure.trained, figure.task, figure.column, figure.metric

    without = {place(score): score for score in scores if score.method == "none"}
    paired = []
    for score in scores:
        other = without.get(place(score))
        if score.method == "none" or other is None or score.metric in unpaired:
            continue
        if score.value is not None and other.value is not None:
            digits = max(len(figure.text.partition(".")[2]) for figure in (score, other))
            paired.append(PublishedDifference(score, other, round(score.value - other.value, digits)))
    return tuple(paired)


def _comparison(
    described: _Described, scores: Sequence[PublishedScore], source: Mapping[str, Any], path: Path
) -> PublishedComparison:
    tables, models = described.tables, described.models
    chosen = tuple(score for score in scores if score.table in tables and (models is None or score.model in models))
    if not chosen:
        raise FathomError(f"{path}: comparison {described.id} has no rows")
    return PublishedComparison(
        id=described.id,
        paper=path.parent.name,
        source=str(source.get("title", "")),
        date=str(source.get("date", "")),
        url=str(source.get("url", "")),
        tables=tables,
        title=described.title,
        training=described.training,
        comparable=described.comparable,
        not_comparable=described.not_comparable,
        nearest=described.nearest,
        scores=chosen,
        differences=differences(chosen, described.unpaired),
    )


def _scores(path: Path) -> Iterator[PublishedScore]:
    try:
        with TextIOWrapper(open_regular(path), "utf-8", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise FathomError(f"{path}: expected the columns {', '.join(COLUMNS)}")
            for row in reader:
                where = f"{path}, row {reader.line_num}"
                if None in row or None in row.values():
                    raise FathomError(f"{where}: expected {len(COLUMNS)} fields")
                yield _score(row, where)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FathomError(f"{path}: cannot be read as CSV in UTF-8: {error}") from None


def _score(row: Mapping[str, str], where: str) -> PublishedScore:
    for name, text in row.items():
        if not text.isprintable() or text != text.strip():
            raise FathomError(f"{where}: {name} = {text!r}, expected one line without spaces around it")
    trained = next((kind for kind in TRAINED if kind == row["trained"]), None)
    if trained is None:
        raise FathomError(f"{where}: trained = {row['trained']!r}, expected one of {listed(TRAINED[:-1])}, or nothing")
    if row["method"] and row["method"] not in METHODS:
        raise FathomError(f"{where}: method = {row['method']!r}, expected one of {listed(list(METHODS))}, or nothing")
    if row["length"] and not (row["length"].isascii() and row["length"].isdigit()):
        raise FathomError(f"{where}: length = {row['length']!r}, expected a number of tokens, or nothing")
    named = {name: row[name] for name in ("table", "model", "method", "printed", "setting", "task", "column", "metric")}
    length = int(row["length"]) if row["length"] else None
    value = _value(row["value"], where)
    return PublishedScore(**named, trained=trained, length=length, text=row["value"], value=value, note=row["note"])


def _value(text: str, where: str) -> float | None:
    if text == MISSING:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FathomError(f"{where}: value = {text!r}, expected a number, or {MISSING}")
    return value
