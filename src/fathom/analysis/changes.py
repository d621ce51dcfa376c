"""What changed in published benchmarks, so that scores of before are stale.

A benchmark's folder may have a ``changes.csv``: the names of the benchmark, separated by ``|``, the dates from and up
to which scores are affected, what changed, and who says so.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from fathom.plugins.discovery import folders

TABLE = "changes.csv"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a benchmark.

    Attributes:
        benchmark: Its names, separated by ``|``.
        since: From when on scores are affected, ``YYYY-MM`` or ``YYYY-MM-DD``; "" for any earlier time.
        until: When it changed: later scores are not affected.
        change: What changed.
        source: Who says so.
    """

    benchmark: str
    since: str
    until: str
    change: str
    source: str


def benchmark_changes() -> list[Change]:
    """The changes of all benchmarks."""
    tables = (path for folder in folders() for path in sorted(folder.glob(TABLE)))
    frames = (pl.read_csv(path, infer_schema=False).fill_null("") for path in tables)
    return [Change(**row) for frame in frames for row in frame.iter_rows(named=True)]


def folded(benchmark: str) -> str:
    """What names a benchmark: without case and punctuation, and without the part of a fingerprint."""
    return re.sub(r"[\W_]+", "", benchmark.partition("#")[0].partition("@")[0]).casefold()


def stale(names: Iterable[str], date: str, changes: Sequence[Change]) -> str:
    """Why a score of that date is stale, the last change first; "" if it is not, or has no date.

    Args:
        names: The benchmark and its variants, by any of which changes may name it.
        date: When it was printed, ``YYYY-MM-DD`` or a part of it.
        changes: See :func:`benchmark_changes`.
    """
    own = set(map(folded, names))
    reasons = [
        change
        for change in changes
        if own & set(map(folded, change.benchmark.split("|")))
        and date
        and date < change.until[: len(date)]
        and date >= change.since[: len(date)]
    ]
    last = sorted(reasons, key=lambda change: change.until, reverse=True)
    return "; ".join(f"before {change.until}: {change.change}" for change in last)
