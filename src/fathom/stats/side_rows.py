"""Rows beside the curves: questions without their long context, prompts that were cut, and published averages.

They are no points of any curve; each is of use to a study of its own (``closed_book``, ``truncation``, ``breakdown``).
"""

import polars as pl

from fathom.stats.columns import facet


def is_side_row() -> pl.Expr:
    """Which rows are no reply to a question over its whole context.

    They ask a question without its long context, so that their length 0 is no length, or over a cut prompt, or are
    averages that someone has published.
    """
    without = (pl.col("length") == 0) & facet("context").is_in(["none", "alone"]).fill_null(False)
    return without | cut_from().is_not_null() | is_aggregate()


def cut_from() -> pl.Expr:
    """The length of the prompt that a row's prompt was cut from (``fathom build --truncate``); null for whole ones."""
    return facet("cut_from").cast(pl.Int64, strict=False)


def is_aggregate() -> pl.Expr:
    """Which rows are published averages over many replies, and no replies themselves."""
    return facet("aggregate").is_not_null()
