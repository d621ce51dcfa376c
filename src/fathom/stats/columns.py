"""Expressions over a rows table that several analyses need."""

import json
from contextlib import suppress

import polars as pl

NAMED = "\x1fcluster\x1f"
"""What stands in the name of a cluster that the suite names, and not in that of an item."""


def facet(name: str) -> pl.Expr:
    """A facet of the sample as text; null if the sample has no such facet."""
    return pl.col("facets").str.json_path_match(f"$.{name}")


def facet_names(rows: pl.DataFrame) -> list[str]:
    """The names of the facets of some rows, sorted; a text that is no JSON object, as in tables of users, has none."""
    names: set[str] = set()
    for text in rows["facets"].drop_nulls().unique():
        with suppress(ValueError):
            facets = json.loads(text)
            names.update(facets if isinstance(facets, dict) else ())
    return sorted(names)


def mean_of(name: str) -> pl.Expr:
    """The mean of a column, summed in ascending order.

    polars splits the sum of a large group over its threads: the last bit of a plain mean depends on the machine.
    """
    return pl.col(name).sort().mean()


def item_name() -> pl.Expr:
    """The item as the column ``name``; items of different suites are different items."""
    return pl.concat_str("suite", pl.lit("\x1f"), "item").alias("name")


def cluster_name() -> pl.Expr:
    """What is resampled together, as the column ``cluster``: the facet ``cluster`` of a suite, or else the item."""
    own = facet("cluster")
    named = pl.concat_str("suite", pl.lit(NAMED), own)
    return (
        pl.when(own.is_not_null())
        .then(named)
        .otherwise(pl.concat_str("suite", pl.lit("\x1f"), "item"))
        .alias("cluster")
    )


def cluster_among_tasks() -> pl.Expr:
    """The same among the questions of all tasks: items of different tasks may have one name, named clusters are one."""
    own = pl.concat_str("task", cluster_name(), separator="\x1f")
    return pl.when(facet("cluster").is_null()).then(own).otherwise(cluster_name()).alias("cluster")
