"""Converts results to rows: our runs, and logs of other harnesses.

A rows table is a polars frame with the columns of :data:`SCHEMA`; analysis, reports and the leaderboard read only rows.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from fathom.registry import results
from fathom.rows.inspect_log import rows_from_inspect
from fathom.rows.labels import read_labels
from fathom.rows.lm_eval_log import rows_from_lm_eval
from fathom.rows.runs import fingerprints, load, rows_from_run, unfinished, unread_files
from fathom.rows.schema import SCHEMA, check_rows, read_rows, rows_from_results, to_frame, write_rows
from fathom.types import FathomError

__all__ = [
    "SCHEMA",
    "check_rows",
    "fingerprints",
    "load",
    "read",
    "read_labels",
    "read_rows",
    "rows_from_inspect",
    "rows_from_lm_eval",
    "rows_from_results",
    "rows_from_run",
    "to_frame",
    "unfinished",
    "unread_files",
    "write_rows",
]


def read(
    paths: Sequence[Path],
    origin: str = "fathom",
    rule: str = "strict",
    judge: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> pl.DataFrame:
    """One rows table of results.

    Args:
        paths: Run folders and rows files; or logs of another harness, or published results.
        origin: Whose they are: ``fathom``, ``inspect``, ``lm-eval`` or a benchmark with published results.
        rule: See ``load``.
        judge: See ``load``.
        tell: Called with what the reader of the rows must know.

    Raises:
        FathomError: There is no such origin, or a path cannot be read.
    """
    known = results()
    if origin == "fathom":
        return load(paths, rule, judge)
    if origin == "inspect":
        return pl.concat([rows_from_inspect(path) for path in paths])
    if origin == "lm-eval":
        return pl.concat([rows_from_lm_eval(path, tell=tell) for path in paths])
    if origin in known:
        return pl.concat([rows_from_results(known[origin], path, tell) for path in paths])
    raise FathomError(f"--from {origin}: choose {', '.join(('fathom', 'inspect', 'lm-eval', *known))}")
