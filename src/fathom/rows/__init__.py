"""Converts results to rows: our runs, and results of other programs.

A rows table is a polars frame with the columns of :data:`SCHEMA`; analysis, reports and the leaderboard read only rows.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fathom.rows.inspect_log import rows_from_inspect as rows_from_inspect
from fathom.rows.labels import read_labels as read_labels
from fathom.rows.lm_eval_log import rows_from_lm_eval as rows_from_lm_eval
from fathom.rows.origins import origin_names, origins
from fathom.rows.parts import COLUMNS, ReadOptions
from fathom.rows.runs import fingerprints as fingerprints
from fathom.rows.runs import load as load
from fathom.rows.runs import questions_left_out as questions_left_out
from fathom.rows.runs import read_foreign
from fathom.rows.runs import rows_from_run as rows_from_run
from fathom.rows.runs import scan as scan
from fathom.rows.runs import scorer_failures as scorer_failures
from fathom.rows.runs import served as served
from fathom.rows.runs import servers as servers
from fathom.rows.runs import shared_contexts as shared_contexts
from fathom.rows.runs import unfinished as unfinished
from fathom.rows.runs import unread_files as unread_files
from fathom.rows.schema import SCHEMA as SCHEMA
from fathom.rows.schema import check_rows as check_rows
from fathom.rows.schema import read_rows as read_rows
from fathom.rows.schema import rows_from_results as rows_from_results
from fathom.rows.schema import to_frame as to_frame
from fathom.rows.schema import write_rows as write_rows
from fathom.rows.table import RowsTable as RowsTable
from fathom.types import FathomError
from fathom.types.origins import OWN


def read(paths: Sequence[Path], origin: str = OWN, **options: Any) -> pl.DataFrame:
    """The rows of :func:`open_results` in memory, with the same arguments."""
    return open_results(paths, origin, **options).read()


def open_results(
    paths: Sequence[Path],
    origin: str = OWN,
    rule: str = "strict",
    judge: str | None = None,
    metric: str = "",
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, object] | None = None,
    tell: Callable[[str], None] | None = None,
) -> RowsTable:
    """One rows table of results, of any size.

    Args:
        paths: Run folders, rows files, results of other programs, or published results.
        origin: Whose they are, one of ``fathom.rows.origins.origin_names``; with ``fathom``,
            results of other programs are recognised by their files.
        rule: See ``load``.
        judge: See ``load``.
        metric: The metric to use if results of another program have several; "" for the first one that can be used.
        columns: Column of a row -> field of the other program's records, with dots for nested ones.
        constants: Column of a row -> its value in all rows.
        tell: Called with what the reader of the rows must know.

    Raises:
        FathomError: There is no such origin, or a path cannot be read.
    """
    if origin not in origin_names():
        raise FathomError(f"`origin` {origin}: choose {', '.join(origin_names())}")
    options = ReadOptions(
        metric, dict(columns or {}), {name: str(value) for name, value in (constants or {}).items()}, tell
    )
    for option, given in (("`columns`", options.columns), ("`constants`", options.constants)):
        if unknown := [name for name in given if name not in COLUMNS]:
            raise FathomError(f"{option} {unknown[0]}: not a column of rows; choose {', '.join(COLUMNS)}")
    if origin == OWN:
        return scan(paths, rule, judge, options)
    return RowsTable(read_foreign(paths, origins()[origin], options))
