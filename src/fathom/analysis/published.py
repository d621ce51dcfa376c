"""Published averages: rows that are averages over many replies of one model, whose replies are not at hand.

Their facets say of what: ``aggregate`` the dimension, ``group``, ``measure``, ``n`` (repeats), ``questions`` where that
is known, and ``thinking`` and ``model_kind`` as for replies.
"""

from __future__ import annotations

import polars as pl

from fathom.stats.columns import facet
from fathom.stats.side_rows import is_aggregate


def published(rows: pl.DataFrame) -> pl.DataFrame:
    """Published averages, one a line, in the order of the rows.

    Args:
        rows: A rows table; may be empty.

    Returns:
        ``model``, ``variant``, ``value``, ``dimension``, ``group``, ``measure``, ``n``, ``questions`` (null where not
        known), ``thinking`` and ``model_kind`` ("" where not said).
    """
    return rows.filter(is_aggregate(), pl.col("value").fill_nan(None).is_not_null()).select(
        "model",
        "variant",
        "value",
        dimension=facet("aggregate"),
        group=facet("group").fill_null(""),
        measure=facet("measure").fill_null("mean"),
        n=facet("n").cast(pl.Int64, strict=False).fill_null(1),
        questions=facet("questions").cast(pl.Int64, strict=False),
        thinking=facet("thinking").fill_null(""),
        model_kind=facet("model_kind").fill_null(""),
    )
