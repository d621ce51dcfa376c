"""Samples made from other data than the benchmark's, because those were not available (``Task.substitutes``)."""

from collections.abc import Iterator, Mapping

import polars as pl

from fathom.stats.columns import facet
from fathom.suites.registry import task_title, tasks


def substituted(rows: pl.DataFrame | pl.LazyFrame) -> dict[str, str]:
    """The tasks with such samples, in the order of the rows, each with what is different."""
    declared = {name: task.substitutes for name, task in tasks().items() if task.substitutes}
    some = rows.lazy().filter(pl.col("task").is_in(list(declared))).select("task", facet("form").alias("form"))
    substitutes: dict[str, list[str]] = {}
    for task, form in some.unique(maintain_order=True).collect().rows():
        if form in declared[task]:
            substitutes.setdefault(task, []).append(declared[task][form])
    return {task: ", ".join(reasons) for task, reasons in substitutes.items()}


def not_the_benchmarks(substitutes: Mapping[str, str]) -> Iterator[str]:
    """A sentence on such tasks; none without any.

    Args:
        substitutes: Result of ``substituted``.
    """
    if substitutes:
        named = "; ".join(f"{task_title(task)} ({reason})" for task, reason in substitutes.items())
        yield f"Not the data of the benchmark, so that scores are not comparable: {named}."
