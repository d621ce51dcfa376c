"""Converts results to rows: our runs, and logs of other harnesses.

A rows table is a polars frame with the columns of :data:`SCHEMA`; analysis, reports and the leaderboard read only rows.
"""

from fathom.rows.inspect_log import rows_from_inspect
from fathom.rows.labels import read_labels
from fathom.rows.lm_eval_log import rows_from_lm_eval
from fathom.rows.runs import load, rows_from_run, unfinished
from fathom.rows.schema import SCHEMA, check_rows, read_rows, rows_from_results, to_frame, write_rows

__all__ = [
    "SCHEMA",
    "check_rows",
    "load",
    "read_labels",
    "read_rows",
    "rows_from_inspect",
    "rows_from_lm_eval",
    "rows_from_results",
    "rows_from_run",
    "to_frame",
    "unfinished",
    "write_rows",
]
