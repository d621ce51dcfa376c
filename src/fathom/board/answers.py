"""The replies of bundles and of runs, to be compared with those of other results (``fathom.board.likeness``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.board.bundles.bundle import Bundle, hashed
from fathom.board.likeness import Answer
from fathom.runfile.store import replies
from fathom.suites.registry import task_name

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

_NOTHING = hashed("")
_SAMPLE = ("task", "length", "sample", "epoch")


def answers_of(bundle: Bundle) -> Iterator[Answer]:
    """The replies of a bundle."""
    suites = {part.suite: task_name(part.suite) for part in bundle.parts}
    for result in bundle.results:
        row = result.rows[0]
        if result.reply_hash != _NOTHING:
            sample = suites[row.suite], task_name(row.task), row.length, row.sample, row.epoch
            text = result.log.text if result.log else None
            yield Answer(sample, result.reply_hash, text, row.value == 1.0)


def answers_of_run(folder: Path, suite: str, rows: pl.DataFrame) -> Iterator[Answer]:
    """The replies of a run.

    Args:
        suite: Its suite, as in rows.
        rows: Rows of its replies, which say which are correct.
    """
    import polars as pl

    right = set(rows.filter(pl.col("value") == 1.0).select(*_SAMPLE).rows())
    for reply in replies(folder):
        sample = task_name(reply.task), reply.length, reply.sample, reply.epoch
        if reply.reply.text:
            yield Answer((suite, *sample), hashed(reply.reply.text), reply.reply.text, sample in right)
