"""Rows that are not points of a curve: controls, truncated prompts, and published averages.

Each is used by its own study (``known``, ``recovery``, ``truncation``, ``breakdown``).
"""

import polars as pl

from fathom.stats.columns import facet
from fathom.types.samples import CONTROLS


def is_side_row() -> pl.Expr:
    """Rows that are not replies to a question with its whole context.

    They are closed-book questions and questions over the evidence alone (length 0), questions over evidence among
    neutral text, those that do not name their passage, replies to truncated prompts, or published averages.
    """
    context = facet("context")
    without = (pl.col("length") == 0) & context.is_in(["none", "alone"]).fill_null(False)
    return without | context.is_in(CONTROLS).fill_null(False) | cut_from().is_not_null() | is_aggregate()


def cut_from() -> pl.Expr:
    """The length from which a row's prompt was truncated (``fathom build --truncate``); null for whole ones."""
    return facet("cut_from").cast(pl.Int64, strict=False)


def is_aggregate() -> pl.Expr:
    """Rows that are published averages over many replies."""
    return facet("aggregate").is_not_null()
