"""Single figures: ``plot``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fathom.api.studies import profiles_of, score_tables
from fathom.commands.reading import PriorKnowledge, load, unanswered_of, without_known
from fathom.commands.shared import THRESHOLD
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

    from fathom.report.plot import Kind


def plot(
    sources: Iterable[Path | str],
    kind: str,
    out: Path | str,
    *,
    models: Sequence[str] = (),
    seed: int = 0,
    judge: str | None = None,
    filter: str | None = None,
    threshold: float = THRESHOLD,
    panel: Sequence[Path | str] | None = None,
    tell: Callable[[str], None] | None = None,
    lengths: Sequence[int] | None = None,
    tasks: Sequence[str] | None = None,
    unanswered: str = "zero",
    **reading: Any,
) -> Path:
    """One figure as SVG, PNG, PDF, HTML or Vega-Lite JSON (command ``fathom plot``).

    Args:
        sources: Run folders and rows files; or tables of scores by model, task and length.
        kind: One of ``fathom.report.plot.KINDS``.
        out: The file to write.
        models: Only these models, in this order.
        seed: Seed of the bootstrap.
        judge: See ``rows``.
        filter: See ``filtered``.
        threshold: See ``filtered``.
        panel: See ``filtered``.
        tell: Told what the filter removed, and what that makes of comparisons.
        lengths: Only these lengths in tokens; those of the base stay.
        tasks: Only these tasks, of rows.
        unanswered: ``zero`` or ``drop``: how replies count that were not answered; of rows.
        reading: ``items``, ``scale``, ``where`` and ``chance`` for tables of scores (``fathom.analysis.read_scores``).

    Raises:
        FathomError: See ``fathom.report.plot.plot``.
    """
    from fathom.report import plot

    paths = [Path(source) for source in sources]
    how = PriorKnowledge(filter, threshold, panel, judge, seed, tell)
    counting = unanswered_of(unanswered)
    if score_tables(paths):
        ready = profiles_of(paths, how, None, reading, lengths, counting)
        return plot(ready, cast("Kind", kind), Path(out), models=models, seed=seed)
    left = without_known(_of_tasks(_at_lengths(load(paths, judge), lengths), tasks), how)
    return plot(left, cast("Kind", kind), Path(out), models=models, seed=seed, unanswered=counting)


def _of_tasks(frame: pl.DataFrame, tasks: Sequence[str] | None) -> pl.DataFrame:
    """The rows of some tasks."""
    from fathom.registry import task_name

    if tasks is None:
        return frame
    there = set(frame["task"])
    tasks = [task_name(name) for name in tasks]
    if missing := [name for name in tasks if name not in there]:
        raise FathomError(f"--tasks: no row of {missing[0]!r}; there are rows of {', '.join(sorted(there))}")
    return frame.filter(frame["task"].is_in(tasks))


def _at_lengths(frame: pl.DataFrame, lengths: Sequence[int] | None) -> pl.DataFrame:
    """The rows at some lengths, at those of the base, and without a context."""
    if lengths is None:
        return frame
    from fathom.analysis.base import BASE_LENGTHS
    from fathom.length import format_length, named_lengths

    tested = sorted(set(frame["length"]) - {0})
    if missing := [format_length(length) for length in lengths if length not in tested]:
        at = named_lengths(tested)
        raise FathomError(f"--lengths: no row at {', '.join(missing)}; there are rows at {at}")
    kept = frame["length"].is_in([0, *lengths, *BASE_LENGTHS])
    return frame.filter(kept)
