"""Rows with a known truth, for the tests of analysis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.rows import to_frame
from fathom.types import Facet, Row, Status

LENGTHS = (2048, 4096, 6144, 8192, 16384, 32768)


def row(
    value: float | None,
    *,
    task: str = "kv",
    item: int = 0,
    length: int = 2048,
    model: str = "m",
    variant: str = "",
    suite: str = "s",
    epoch: int = 1,
    status: Status = "ok",
    valid: bool = True,
    chance: float | None = 0.0,
    facets: dict[str, Facet] | None = None,
) -> Row:
    """One row; only what a test is about needs to be said."""
    name = f"{task}/{item}"
    return Row(
        suite, task, name, f"{name}@{length}", model, length, value,
        variant=variant, epoch=epoch, status=status, valid=valid, chance=chance, facets=facets or {},
    )  # fmt: skip


def table(scores: Sequence[Sequence[float | None]], **facts: str) -> pl.DataFrame:
    """Rows of one task: items x the first lengths of ``LENGTHS``."""
    return to_frame(
        row(value, item=item, length=LENGTHS[place], task=facts.get("task", "kv"), model=facts.get("model", "m"))
        for item, values in enumerate(scores)
        for place, value in enumerate(values)
    )


def drawn(probabilities: Sequence[float], items: int, rng: np.random.Generator, **facts: str) -> pl.DataFrame:
    """Rows of one task whose items are right with a given probability at each length."""
    right: NDArray[np.bool_] = rng.random((items, len(probabilities))) < np.array(probabilities)
    return table(right.astype(float).tolist(), **facts)
