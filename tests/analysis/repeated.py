"""Rows of many questions with their repeats, made at once: simulations need many."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.rows.schema import SCHEMA


def frame(scores: NDArray[np.float64], model: str = "m", variant: str = "", facets: str = "{}") -> pl.DataFrame:
    """Rows of questions x repeats, one model; NaN is a reply without a score."""
    questions, runs = scores.shape
    names = [f"kv/{number}" for number in range(questions) for _ in range(runs)]
    value = pl.Series(scores.ravel()).fill_nan(None)
    columns: dict[str, Any] = {
        "suite": "s", "task": "kv", "item": pl.Series(names), "sample": pl.Series(names), "model": model,
        "variant": variant, "epoch": pl.Series(np.tile(np.arange(1, runs + 1), questions)), "length": 8192,
        "language": "en", "value": value, "status": "ok", "valid": True, "facets": facets,
    }  # fmt: skip
    made = pl.DataFrame({"value": value}).with_columns(
        **{name: pl.lit(column) if isinstance(column, str | int | bool) else column for name, column in columns.items()}
    )
    return made.select(
        (pl.col(name) if name in columns else pl.lit(None)).cast(kind).alias(name) for name, kind in SCHEMA.items()
    )
