"""The same replies under both rules."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.analysis.rules import RowsOfRules
    from fathom.rows.table import RowsTable
    from fathom.stats.outcomes import Unanswered

KEYS = ["suite", "task", "sample", "model", "variant", "epoch", "length"]


def under_both(
    table: "RowsTable",
    sources: Iterable[Path],
    judge: str | None,
    unanswered: "Unanswered",
    tell: Callable[[str], None] | None = None,
) -> "RowsOfRules":
    """Replies of tasks that a released code scores too, under both rules; only those of run folders have both.

    Args:
        table: Rows of the sources under the rule ``strict``; those of other rules are left out.
        sources: Run folders and rows files.
        judge: See ``fathom.rows.load``.
        unanswered: How unanswered replies count.
        tell: Called with what was not measured.
    """
    import polars as pl

    from fathom.analysis.rules import RowsOfRules
    from fathom.report.reading import counted_rows
    from fathom.rows import load
    from fathom.rows.runs import is_run
    from fathom.suites.registry import tasks

    released = [name for name, task in tasks().items() if task.official]
    chosen = table.rows.filter(pl.col("task").is_in(released), pl.col("rule") == "strict")
    strict = counted_rows(table.read(chosen), unanswered, tell)
    runs = [source for source in sources if is_run(source)] if len(strict) else []
    official = load(runs, rule="official", judge=judge, tasks=set(strict["task"]))
    official = official.join(strict.select(KEYS).unique(), on=KEYS, how="semi", maintain_order="left")
    own = strict.join(official.select(KEYS).unique(), on=KEYS, how="semi", maintain_order="left")
    return RowsOfRules(own, counted_rows(official, unanswered, None))
