"""Input of reports and analyses: the rows of sources, without questions that models answer closed-book."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

import polars as pl

from fathom.analysis import Filtered, Policy, known_filter
from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.known import THRESHOLD
from fathom.plugins.names import system_name
from fathom.printing import several
from fathom.report.tally import sentence_on_filter
from fathom.rows import load, scan, served, shared_contexts, unfinished
from fathom.rows.parts import ReadOptions
from fathom.rows.scoring import NOT_JUDGED
from fathom.rows.table import RowsTable, notes_on_scorers
from fathom.stats.outcomes import (
    ASKED_AGAIN_AT_MOST,
    CHOSEN,
    Unanswered,
    asked_again,
    counted,
    scored_rows,
    unmeasured,
)
from fathom.suites.registry import task_name
from fathom.tokens.length import format_length, named_lengths
from fathom.types import FathomError

Tell = Callable[[str], None]
NAMED = 4
"""Cells without a score that a note names."""


def tell_unfinished(sources: Iterable[Path | str], tell: Tell | None) -> None:
    """Notes on unfinished runs and on servers; none if ``tell`` is None."""
    if tell is not None:
        for note in (*unfinished(map(Path, sources)), *served(map(Path, sources))):
            tell(note)


def tell_shared(sources: Iterable[Path | str], tell: Tell | None) -> None:
    """Notes on contexts that share most of their text, which intervals leave out; none if ``tell`` is None."""
    if tell is not None:
        for note in shared_contexts(map(Path, sources)):
            tell(note)


def filtered(
    sources: Iterable[Path | str],
    *,
    filter: str | None = None,
    threshold: float = THRESHOLD,
    panel: Sequence[Path | str] | None = None,
    judge: str | None = None,
    seed: int = 0,
    tell: Tell | None = None,
    tell_read: Tell | None = None,
) -> Filtered:
    """Rows without the questions that models answer closed-book, and what was excluded.

    Args:
        sources: Run folders and rows files.
        filter: ``own``, ``panel``, ``intersection`` or ``none`` (``fathom.analysis.known_filter``); by default
            ``panel`` if one is given, else ``intersection``.
        threshold: Minimum closed-book score of an answered question.
        panel: Runs or rows files of the panel, or names of models in the sources.
        judge: See ``fathom.rows.load``.
        seed: Seed of the intervals.
        tell: Called with notes on what the filter excluded, and on runs that are not finished or not judged.
        tell_read: Called with notes on how results of other programs were read; ``tell`` if it is None.

    Raises:
        FathomError: A source cannot be read, or see ``fathom.analysis.known_filter``.
    """
    paths = list(map(Path, sources))
    table = scan(paths, judge=judge, options=ReadOptions(tell=tell_read or tell))
    tell_unfinished(paths, tell)
    tell_shared(paths, tell)
    return without_known(table, filter=filter, threshold=threshold, panel=panel, judge=judge, seed=seed, tell=tell)


def without_known(
    table: RowsTable,
    *,
    filter: str | None,
    threshold: float,
    panel: Sequence[Path | str] | None,
    judge: str | None = None,
    seed: int = 0,
    tell: Tell | None = None,
) -> Filtered:
    """A rows table without the questions that models answer closed-book; arguments as in ``filtered``.

    Raises:
        FathomError: The panel names both runs and models.
    """
    named = [str(name) for name in panel or ()]
    missing = [name for name in named if not Path(name).exists()]
    if missing and len(missing) < len(named):
        raise FathomError(f"`panel`: give either runs or models, not both; no such run: {', '.join(missing)}")
    voices = load(list(map(Path, named)), judge=judge) if named and not missing else named or None
    if tell is not None:
        for note in (*_not_judged(table), *notes_on_scorers(table), *notes_on_requests(table)):
            tell(note)
    policy = cast(Policy, filter or ("panel" if named else "intersection"))
    filtered = known_filter(table, policy, threshold=threshold, panel=voices, seed=seed)
    if tell is not None and filtered.removed:
        for note in (sentence_on_filter(filtered), *filtered.notes):
            tell(note)
    return filtered


def _not_judged(table: RowsTable) -> Iterator[str]:
    """Notes on models without judgements on tasks that were judged for others: their means are over other tasks."""
    unscored = table.rows.filter(pl.col("value").is_null(), pl.col("detail").str.starts_with(NOT_JUDGED))
    waiting = table.read(unscored.select("model", "variant", "task"))
    for key, part in waiting.group_by("model", "variant", maintain_order=True):
        tasks = ", ".join(part["task"].unique(maintain_order=True))
        yield (
            f"{system_name(*map(str, key))}: {several(len(part), 'reply')} ({tasks}) not judged yet, "
            "which count as missing; run `fathom judge` on that run too, or compare with --judge none"
        )


def notes_on_requests(table: RowsTable) -> Iterator[str]:
    """Notes on models that were asked more than once for some replies."""
    columns = table.read(table.rows.select("model", "variant", "asked_again"))
    for key, part in columns.group_by("model", "variant", maintain_order=True):
        if words := asked_again(part):
            doubt = f"; {CHOSEN}" if asked_again(part, ASKED_AGAIN_AT_MOST) else ""
            yield f"{system_name(*map(str, key))}: {words}{doubt}"


def counted_rows(
    rows: pl.DataFrame, unanswered: Unanswered, tell: Tell | None, lengths: Sequence[int] | None = None
) -> pl.DataFrame:
    """Rows with the scores that count; ``tell`` is called with what was not measured.

    Args:
        rows: The rows that a study is of.
        unanswered: How unanswered replies count.
        tell: See ``filtered``.
        lengths: Only cells of these lengths are told of; None for all.
    """
    frame = counted(rows, unanswered)
    lost: dict[str, list[str]] = {}
    for cell in unmeasured(scored_rows(frame)) if tell is not None else ():
        if lengths is None or cell.length in lengths:
            description = f"{cell.task} at {format_length(cell.length)} ({cell})"
            lost.setdefault(system_name(cell.model, cell.variant), []).append(description)
    for model, cells in lost.items():
        assert tell is not None
        more = f" and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
        tell(f"{model} is not measured on {', '.join(cells[:NAMED])}{more}; means that these belong to are left out")
    return frame


def rows_of_tasks(frame: pl.DataFrame, tasks: Sequence[str] | None) -> pl.DataFrame:
    """The rows of some tasks.

    Raises:
        FathomError: A task has no row.
    """
    if tasks is None:
        return frame
    present = set(frame["task"])
    tasks = [task_name(name) for name in tasks]
    if missing := [name for name in tasks if name not in present]:
        raise FathomError(f"`tasks`: no row of {missing[0]!r}; there are rows of {', '.join(sorted(present))}")
    return frame.filter(frame["task"].is_in(tasks))


def rows_at_lengths(frame: pl.DataFrame, lengths: Sequence[int] | None) -> pl.DataFrame:
    """The rows at some lengths, at those of the base, and without a context.

    Raises:
        FathomError: A length has no row.
    """
    if lengths is None:
        return frame
    tested = sorted(set(frame["length"]) - {0})
    if missing := [format_length(length) for length in lengths if length not in tested]:
        at = named_lengths(tested)
        raise FathomError(f"`lengths`: no row at {', '.join(missing)}; there are rows at {at}")
    kept = frame["length"].is_in([0, *lengths, *BASE_LENGTHS])
    return frame.filter(kept)
