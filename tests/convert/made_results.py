"""Small runs and rows for the tests of ``fathom convert``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fathom.rows import to_frame, write_rows
from fathom.types import Row

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
MODEL = "lab/../../odd model?key=<b>"


def row(number: int, length: int = 1024, value: float | None = 1.0, **fields: Any) -> Row:
    """One reply of ``lab/m`` to item ``number`` of ``passkey``."""
    plain = Row(
        suite="tiny",
        task="passkey",
        item=f"item{number}",
        sample=f"item{number}@{length}",
        model="lab/m",
        length=length,
        value=value,
        valid=value is not None,
        answer="nine" if value is not None else None,
        target="nine",
        tokens_in=100,
        tokens_out=7,
        seconds=0.5,
        metric="accuracy",
        answered=value is not None,
        chance=0.25,
        stop="stop",
        facets={"depth": 0.5},
    )
    return replace(plain, **fields)


def rows_file(folder: Path, rows: list[Row]) -> Path:
    """The rows as a file."""
    place = folder / "rows.parquet"
    write_rows(to_frame(rows), place)
    return place


def usual_rows() -> list[Row]:
    """Sixty replies at two lengths, one of which is missing at the second, and one refused."""
    rows = [row(number, length, float(number % 2)) for length in (1024, 2048) for number in range(60)]
    rows[61] = row(1, 2048, None, status="error", detail="timeout", answered=False)
    rows[62] = row(2, 2048, 0.0, status="refused", answered=False, answer=None, valid=False, stop="content_filter")
    return rows
