"""Scores with and without the items of published benchmarks that are known to be faulty.

Each benchmark's folder may have an ``errata.csv``; users add tables in the same form. An entry names items by a pattern
for their task, item and gold reply (``*`` for any), says under which rule they are faulty ("" for both), what is wrong,
who found it, and when. It has no text of the benchmark but a gold reply of one word.

Not to be confused with ``fathom.documents.sources.errata``, by which builds leave out questions of data sets: here
every item is asked, and only means change.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

from fathom.plugins.discovery import folders
from fathom.types import FathomError

TABLE = "errata.csv"
COLUMNS = ("task", "item", "target", "rule", "fault", "reason", "source", "date")
RULES = ("official", "strict")
FAULTS = ("wrong", "ambiguous", "absent", "scorer")
_PATTERNS = ("task", "item", "target")
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


@dataclass(frozen=True, slots=True)
class FaultyItems:
    """Items of one entry.

    Attributes:
        task: Pattern of the names of tasks.
        item: Pattern of the names of items.
        target: Pattern of gold replies.
        rule: The rule under which they are faulty; "" for both.
        fault: ``wrong`` (gold answer), ``ambiguous``, ``absent`` (from the text), or ``scorer`` (it cannot be right).
        reason: Why, in a sentence.
        source: Who found it, and where it can be read.
        date: When, ``YYYY-MM-DD`` or a part of it.
    """

    task: str
    item: str
    target: str
    rule: str
    fault: str
    reason: str
    source: str
    date: str


@dataclass(frozen=True, slots=True)
class WithAndWithout:
    """Means of one model on one task under one rule.

    Attributes:
        replies: Scored replies.
        faulty: Those to faulty items.
        mean: Mean over all of them, in [0, 1].
        without: Mean over the others; None if there are none.
        variant: Variant of the model, "" if there is only one.
    """

    model: str
    task: str
    rule: str
    replies: int
    faulty: int
    mean: float
    without: float | None
    variant: str = ""


def faulty_items(files: Iterable[str | Path] = ()) -> list[FaultyItems]:
    """The entries of all benchmarks, and of some files.

    Args:
        files: Tables of the user (CSV).

    Raises:
        FathomError: A file cannot be read, lacks a column or a value, or has a wrong fault, rule or date.
    """
    own = sorted(path for folder in folders() for path in folder.glob(TABLE))
    return [entry for path in (*own, *map(Path, files)) for entry in _read(path)]


def _read(path: Path) -> list[FaultyItems]:
    try:
        table = pl.read_csv(path, infer_schema=False).fill_null("")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FathomError(f"{path}: cannot be read as a table of faulty items: {error}") from None
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise FathomError(f"{path}: the column {missing[0]!r} is missing; expected {', '.join(COLUMNS)}")
    entries = [FaultyItems(**row) for row in table.select(COLUMNS).iter_rows(named=True)]
    for number, entry in enumerate(entries, 2):
        if empty := [name for name in ("reason", "source", *_PATTERNS) if not getattr(entry, name)]:
            raise FathomError(f"{path}:{number}: {empty[0]!r} is empty; * stands for any task, item or target")
        for name, right, expected in (
            ("fault", entry.fault in FAULTS, ", ".join(FAULTS)),
            ("rule", entry.rule in ("", *RULES), f"{', '.join(RULES)} or nothing"),
            ("date", _DATE.fullmatch(entry.date), "YYYY, YYYY-MM or YYYY-MM-DD"),
        ):
            if not right:
                raise FathomError(f"{path}:{number}: {name} is {getattr(entry, name)!r}; expected {expected}")
    return entries


def is_faulty(entry: FaultyItems, task: str, item: str, target: str, rule: str) -> bool:
    """Whether an entry is about an item under a rule."""
    named = zip((entry.task, entry.item, entry.target), (task, item, target), strict=True)
    return entry.rule in ("", rule) and all(fnmatchcase(value, pattern) for pattern, value in named)


def marked(rows: pl.DataFrame, entries: Sequence[FaultyItems]) -> pl.DataFrame:
    """The rows with the column ``faulty``: whether the item is known to be, under the rule of the row."""
    names = ("task", "item", "target", "rule")
    distinct = rows.select(names).unique()
    faulty = [any(is_faulty(entry, *map(_text, row)) for entry in entries) for row in distinct.iter_rows()]
    return rows.join(
        distinct.with_columns(faulty=pl.Series(faulty, dtype=pl.Boolean)),
        on=names,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def with_and_without(rows: pl.DataFrame, entries: Sequence[FaultyItems]) -> list[WithAndWithout]:
    """The mean score of every model on every task with faulty items under a rule, with and without those.

    Args:
        rows: A rows table, whose replies without a score do not count.
    """
    scored = marked(rows.drop_nulls("value"), entries)
    grouped = (
        scored.group_by("model", "variant", "task", "rule")
        .agg(
            replies=pl.len(),
            faulty=pl.col("faulty").sum(),
            mean=pl.col("value").mean(),
            without=pl.col("value").filter(~pl.col("faulty")).mean(),
        )
        .filter(pl.col("faulty") > 0)
        .sort("model", "variant", "task", "rule")
    )
    return [WithAndWithout(**row) for row in grouped.iter_rows(named=True)]
