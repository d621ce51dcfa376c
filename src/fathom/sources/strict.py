"""Strict sources: rows that cannot be used stop the build, unless the user goes on without them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fathom.records import Problem
from fathom.sources.source import Shape, Source

LISTED = 10  # problems that an error names, and rows of each


def is_like(source: Source, fields: Collection[str]) -> bool:
    """Whether a record has at least half of the fields of a strict source, so that it is one with something missing."""
    expected = _nearest(source, fields).fields
    return source.strict and 2 * len(expected & set(fields)) >= len(expected)


def lacking(source: Source, fields: Collection[str]) -> str:
    """Which fields such a record lacks, for messages."""
    missing = sorted(_nearest(source, fields).fields - set(fields))
    what = "the field {} is missing" if len(missing) == 1 else "the fields {} are missing"
    return what.format(", ".join(map(repr, missing)))


def refusal(bad: Sequence[Problem]) -> str:
    """Why a build stops.

    Args:
        bad: All rows and files that cannot be used, and why.
    """
    count = "1 row or file cannot" if len(bad) == 1 else f"{len(bad):,} rows or files cannot"
    listed = "".join(f"\n  {line}" for line in in_short(bad))
    return f"{count} be used:{listed}\nMend the data, or go on without what cannot be used: --skip-bad"


def in_short(bad: Sequence[Problem]) -> list[str]:
    """Problems as lines to print: rows with the same problem stand together, and what is too much is counted."""
    lines: dict[tuple[str, str], list[int]] = {}
    for problem in bad:
        lines.setdefault((problem.path, problem.reason), []).extend([problem.line] if problem.line else [])
    listed = [_told(path, why, rows) for (path, why), rows in list(lines.items())[:LISTED]]
    more = len(lines) - LISTED
    return listed + ([f"and {more:,} more kinds of problem"] if more > 0 else [])


def _told(path: str, reason: str, rows: Sequence[int]) -> str:
    if len(rows) < 2:
        return str(Problem(path, rows[0] if rows else None, reason))
    more = f" and {len(rows) - LISTED:,} more" if len(rows) > LISTED else ""
    return f"{path}: rows {', '.join(map(str, rows[:LISTED]))}{more}: {reason}"


def _nearest(source: Source, fields: Collection[str]) -> Shape:
    return max(source.shapes, key=lambda shape: len(shape.fields & set(fields)) / len(shape.fields))
