"""What reports and analyses read: the rows of sources, without the questions that are known closed-book."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fathom.commands.shared import THRESHOLD
from fathom.names import system_name
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

    from fathom.analysis import Filtered, Policy


def load(sources: Iterable[Path | str], judge: str | None = None) -> pl.DataFrame:
    """The rows of run folders and rows files, by the rule ``strict``.

    Args:
        sources: The folders and files.
        judge: See ``fathom.rows.load``.
    """
    from fathom.rows import load

    return load(list(map(Path, sources)), "strict", judge)


def unfinished(sources: Iterable[Path | str]) -> list[str]:
    """Of each run that is not finished, a sentence that says so: its scores rest on the part that was asked."""
    from fathom.run import status

    found = []
    for folder in map(Path, sources):
        one = status(folder) if folder.is_dir() else None
        if one is not None and one.finished < one.total:
            there = f"{one.finished:,} of {one.total:,} replies are there"
            found.append(
                f"{folder.name} ({one.model}) is unfinished, {there}: its scores are those of a part; run it to the end"
            )
    return found


def tell_unfinished(sources: Iterable[Path | str], tell: Callable[[str], None] | None) -> None:
    """Tell which runs are not finished; None tells nobody."""
    for note in unfinished(sources) if tell is not None else ():
        assert tell is not None
        tell(note)


def filtered(
    sources: Iterable[Path | str],
    *,
    filter: str | None = None,
    threshold: float = THRESHOLD,
    panel: Sequence[Path | str] | None = None,
    judge: str | None = None,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
) -> Filtered:
    """Rows without the questions that are known without reading, and what was removed.

    Args:
        sources: Run folders and rows files.
        filter: ``own``, ``panel``, ``intersection`` or ``none`` (``fathom.analysis.known_filter``); by default
            ``panel`` where there is one, else ``intersection``.
        threshold: Score without any context from which on a question is known.
        panel: Runs or rows files of the panel, or names of models in the sources.
        judge: See ``rows``.
        seed: Seed of the intervals.
        tell: Told what the filter removed, and what that makes of comparisons.

    Raises:
        FathomError: A source cannot be read, or see ``fathom.analysis.known_filter``.
    """
    how = PriorKnowledge(filter, threshold, panel, judge, seed, tell)
    paths = list(sources)
    frame = load(paths, judge)
    tell_unfinished(paths, tell)
    return without_known(frame, how)


@dataclass(frozen=True, slots=True)
class PriorKnowledge:
    """How questions that are known without reading are left out; the fields are arguments of ``filtered``."""

    filter: str | None = None
    threshold: float = THRESHOLD
    panel: Sequence[Path | str] | None = None
    judge: str | None = None
    seed: int = 0
    tell: Callable[[str], None] | None = None


def without_known(frame: pl.DataFrame, how: PriorKnowledge) -> Filtered:
    """A rows table without the questions that are known, and what was removed; ``how.tell`` is told of it.

    Raises:
        FathomError: See ``filtered``.
    """
    from fathom.analysis import known_filter

    panel = [str(one) for one in how.panel or ()]
    policy = how.filter or ("panel" if panel else "intersection")
    missing = [one for one in panel if not Path(one).exists()]
    if missing and len(missing) < len(panel):
        raise FathomError(f"--panel: name either runs or models, not both; no such run: {', '.join(missing)}")
    voices: pl.DataFrame | list[str] | None = panel or None
    if panel and not missing:
        voices = load(panel, how.judge)
    if how.tell is not None:
        for note in _not_judged(frame):
            how.tell(note)
    found = known_filter(frame, cast("Policy", policy), threshold=how.threshold, panel=voices, seed=how.seed)
    if how.tell is not None and found.removed:
        from fathom.report.known import said_of_filter

        for note in (said_of_filter(found), *found.notes):
            how.tell(note)
    return found


def _not_judged(frame: pl.DataFrame) -> Iterator[str]:
    """That models are without scores on tasks that a judge has scored for others: their means are over other tasks."""
    import polars

    from fathom.rows.scoring import NOT_JUDGED

    waiting = frame.filter(polars.col("value").is_null(), polars.col("detail").str.starts_with(NOT_JUDGED))
    for key, part in waiting.group_by("model", "variant", maintain_order=True):
        tasks = ", ".join(part["task"].unique(maintain_order=True))
        yield (
            f"{system_name(*map(str, key))}: {len(part):,} replies ({tasks}) are not judged yet, and so missing; "
            "run `fathom judge` on that run too, or compare with --judge none"
        )
