"""Rows that are not points of a curve: closed-book questions, truncated prompts, and published averages.

Each is used by its own study (``known``, ``truncation``, ``breakdown``).
"""

import polars as pl

from fathom.stats.columns import facet


def is_side_row() -> pl.Expr:
    """Rows that are not replies to a question with its whole context.

    They are closed-book questions (length 0), replies to truncated prompts, or published averages.
    """
    without = (pl.col("length") == 0) & facet("context").is_in(["none", "alone"]).fill_null(False)
    return without | cut_from().is_not_null() | is_aggregate()


def cut_from() -> pl.Expr:
    """The length from which a row's prompt was truncated (``fathom build --truncate``); null for whole ones."""
    return facet("cut_from").cast(pl.Int64, strict=False)


def is_aggregate() -> pl.Expr:
    """Rows that are published averages over many replies."""
    return facet("aggregate").is_not_null()
