"""Caveats for comparing entries: incomplete runs, and different rules or judges."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fathom.board.model import Entry
from fathom.stats.outcomes import LOST, Unmeasured
from fathom.stats.substitutes import not_the_benchmarks
from fathom.suites import registry
from fathom.suites.registry import task_title
from fathom.tokens.length import format_length
from fathom.types import Json
from fathom.types.boards import Board

DROPPED = "unanswered"
"""Key in the settings of an entry whose means are over answered replies; in others unanswered replies count 0."""
NAMED = 3
"""Number of tasks that a sentence names; the others are counted."""
_JUDGE = "judge "  # prefix of the grader of rows that a judge scored (``fathom.rows.scoring``)


def caveats(
    board: Board, entry: Entry, gaps: Sequence[Unmeasured] = (), others: Mapping[str, str] | None = None
) -> str:
    """Caveats about an entry that no paper published; "" if none.

    Args:
        entry: One of its entries.
        gaps: Its cells that are not used in any mean.
        others: Its tasks of other data than the benchmark's (``fathom.stats.substitutes``).
    """
    sentences = (
        *not_the_benchmarks(others or {}),
        *_not_measured(gaps),
        *_ended(entry, bool(gaps)),
        *_coverage(board, entry),
        *_asked_less(board, entry),
        *_judged(board, entry),
    )
    return " ".join(sentences)


def graded_otherwise(board: Board, entries: Iterable[Entry]) -> Iterator[str]:
    """A sentence for each difference in grading between entries that no paper published."""
    lines = list(entries)
    facts = [_facts(entry) for entry in lines]
    apart: dict[tuple[str, ...], list[str]] = {}
    for task in board.tasks:
        ways = tuple(sorted({_way(task, own[task]) for own in facts if task in own}))
        if len(ways) > 1:
            apart.setdefault(ways, []).append(task)
    if any(DROPPED in entry.settings for entry in lines):
        yield "Unanswered replies are left out of the means of entries that no paper published."
    for ways, tasks in apart.items():
        yield f"Graded differently in some entries: {_listed(map(task_title, tasks))} ({'; '.join(ways)})."


def whole(board: Board, task: str) -> int | None:
    """How many items a task has in its whole suite; None if unknown."""
    if task in board.items:
        return board.items[task]
    known = registry.suites()
    for suite in (known[name] for name in board.suites if name in known):
        if task in suite.grids:
            return suite.grids[task].items
        if suite.only:
            return sum(item.split("/")[0] == task for item in suite.only)
        if task in suite.tasks:
            return suite.items
    return None


def counted_lengths(board: Board, task: str) -> tuple[int, ...]:
    """The lengths that a task's score is over: the board's, or all lengths of the same items in the suite.

    Records of published benchmarks have their own lengths (unless the board names lengths); none is missing then.

    Args:
        task: One of its tasks.

    Returns:
        Lengths in tokens; empty if all lengths that were asked count.
    """
    if task in board.counted:
        return board.counted[task]
    declared = registry.tasks().get(task)
    if declared is None or declared.gold == ("record",):
        return ()
    suites = (registry.suites()[suite] for suite in board.suites if suite in registry.suites())
    return next((suite.grids[task].lengths for suite in suites if task in suite.grids), ())


def _not_measured(gaps: Sequence[Unmeasured]) -> Iterator[str]:
    if gaps:
        cells = [f"{task_title(gap.task)} at {format_length(gap.length)} ({gap})" for gap in gaps]
        yield f"Not measured: {_listed(cells)}."


def _ended(entry: Entry, unfit: bool) -> Iterator[str]:
    """How many replies are incomplete or missing, and how they count; nothing if all are complete."""
    counts = {name: entry.outcomes.get(name, 0) for name in ("unanswered", "overflow", "cut", *LOST)}
    if not any(counts.values()):
        return
    zero = "left out of the means" if DROPPED in entry.settings else "count 0"
    words = {
        "unanswered": f"unanswered ({zero})",
        "overflow": "with a prompt that did not fit the window" + ("" if unfit else f" ({zero})"),
        "cut": "truncated at the output cap",
        "missing": "missing, so that the entry is not complete",
        "scorer_error": "that the scorer could not score, so that the entry is not complete",
    }
    parts = [f"{count:,} {words[name]}" for name, count in counts.items() if count]
    yield f"Of {sum(entry.outcomes.values()):,} replies {', '.join(parts)}."


def _coverage(board: Board, entry: Entry) -> Iterator[str]:
    """How many tasks and lengths a score is over, if others were not asked."""
    cells = [(task, length) for task in board.tasks for length in counted_lengths(board, task) or (0,)]
    scores = [entry.cells.get(cell) is not None for cell in cells]
    if any(scores) and not all(scores) and not entry.blank:
        yield f"Its score is over {sum(scores):,} of {len(scores):,} tasks and lengths; it is not ranked."


def _asked_less(board: Board, entry: Entry) -> Iterator[str]:
    less = []
    for task in board.tasks:
        cell, items = entry.cells.get((task, 0)), whole(board, task)
        if cell is not None and cell.n is not None and items is not None and cell.n < items:
            less.append(f"{task_title(task)} {cell.n:,} of {items:,}")
    if less:
        yield f"Scores over fewer items than the benchmark has: {_listed(less)}."


def _judged(board: Board, entry: Entry) -> Iterator[str]:
    """Who scored the tasks that a judge can score."""
    by: dict[str, list[str]] = {}
    for task, fact in _facts(entry).items():
        declared = registry.tasks().get(task)
        if task in board.tasks and declared is not None and declared.rubric:
            by.setdefault(_judge(fact), []).append(task)
    for judge, tasks in by.items():
        yield f"Scored {judge or 'by rule, without a judge'}: {_listed(map(task_title, tasks))}."


def _way(task: str, fact: Mapping[str, Json]) -> str:
    declared = registry.tasks().get(task)
    judged = [_judge(fact) or "no judge"] if declared is not None and declared.rubric else []
    return ", ".join((f"rule {fact.get('rule')}", f"task version {fact.get('version')}", *judged))


def _judge(fact: Mapping[str, Json]) -> str:
    """The judges among the graders of a task: ``by judge NAME (RUBRIC v1)``; "" without one."""
    graders = str(fact.get("grader") or "").split(", ")
    judges = [grader for grader in graders if grader.startswith(_JUDGE)]
    return f"by {', '.join(judges)}" if judges else ""


def _facts(entry: Entry) -> Mapping[str, Mapping[str, Json]]:
    """The recorded facts about the scores of tasks; empty for published entries."""
    tasks = entry.settings.get("tasks")
    if entry.origin.provenance == "published" or not isinstance(tasks, Mapping):
        return {}
    return {task: fact for task, fact in tasks.items() if isinstance(fact, Mapping)}


def _listed(names: Iterable[str]) -> str:
    every: Sequence[str] = list(names)
    more = len(every) - NAMED
    return ", ".join(every) if more <= 1 else f"{', '.join(every[:NAMED])} and {more} more"
